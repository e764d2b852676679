/* SPDX-License-Identifier: BSD-2-Clause */
/* Registrations and the choice of the agent for a MAD. */
#include "match.h"
#include "mad.h"
#include "rmpp.h"
#include <errno.h>

enum {
    MATCH_MAX_VERSION = 7,
    VENDOR_OUI_OFFSET = 37,
    MAX_AGENTS_A_PORT = 0xfff0,
};

void match_init(struct match_set *set)
{
    set->agents = g_ptr_array_new();
    set->last_uid = 0;
}

void match_clear(struct match_set *set)
{
    g_ptr_array_unref(set->agents);
    set->agents = NULL;
}

static bool has_oui(uint8_t class)
{
    return class >= MAD_CLASS_VENDOR2_FIRST && class <= MAD_CLASS_VENDOR2_LAST;
}

static bool uid_taken(const struct match_set *set, uint16_t uid)
{
    for (guint i = 0; i < set->agents->len; i++) {
        const struct match_agent *a = g_ptr_array_index(set->agents, i);
        if (a->uid == uid)
            return true;
    }
    return false;
}

static bool overlaps(const struct match_agent *a, const struct match_agent *b)
{
    if (a->class != b->class || a->version != b->version)
        return false;
    if (has_oui(a->class) && memcmp(a->oui, b->oui, sizeof a->oui))
        return false;
    return (a->methods[0] & b->methods[0]) || (a->methods[1] & b->methods[1]);
}

int match_add(struct match_set *set, struct match_agent *agent)
{
    if (agent->version > MATCH_MAX_VERSION)
        return EINVAL;
    if (agent->rmpp && !rmpp_class_has_rmpp(agent->class))
        return EINVAL;
    if (set->agents->len >= MAX_AGENTS_A_PORT)
        return ENOMEM;
    for (guint i = 0; i < set->agents->len; i++)
        if (overlaps(agent, g_ptr_array_index(set->agents, i)))
            return EBUSY;
    do
        set->last_uid++;
    while (set->last_uid == 0 || uid_taken(set, set->last_uid));
    agent->uid = set->last_uid;
    g_ptr_array_add(set->agents, agent);
    return 0;
}

void match_remove(struct match_set *set, const struct match_agent *agent)
{
    g_ptr_array_remove(set->agents, (gpointer)agent);
}

static bool wants(const struct match_agent *a, const uint8_t *mad)
{
    unsigned method = mad_method(mad) & ~MAD_METHOD_RESPONSE;

    if (a->class != mad_class(mad) || a->version != mad_class_version(mad))
        return false;
    if (has_oui(a->class) && memcmp(a->oui, mad + VENDOR_OUI_OFFSET, sizeof a->oui))
        return false;
    return a->methods[method / 64] >> (method % 64) & 1;
}

struct match_agent *match_find(const struct match_set *set, const uint8_t *mad)
{
    bool response = mad_is_response(mad);
    uint16_t uid = (uint16_t)(mad_tid(mad) >> 32);

    for (guint i = 0; i < set->agents->len; i++) {
        struct match_agent *a = g_ptr_array_index(set->agents, i);
        if (response ? a->uid == uid : wants(a, mad))
            return a;
    }
    return NULL;
}
