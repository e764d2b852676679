/* SPDX-License-Identifier: BSD-2-Clause */
/* SMInfo: what other managers and hosts are told, and who else claims to be MASTER. */
#include "shard/sminfo.h"

#include <infiniband/mad.h>
#include <inttypes.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/sa/sa.h"
#include "shard/explore.h"

enum sm_state { SM_NOT_ACTIVE, SM_DISCOVERING, SM_STANDBY, SM_MASTER }; /* IBA 14.4.1 */

#define CAPMASK_IS_SM (1u << 1)
#define STATUS_BAD_METHOD 0x0008u /* IBA 13.4.7: method not supported */
#define DIRECTION_BIT 0x8000u

/* LID routed: a host asks the SM that its port names. Directed: how managers ask each other. */
static enum sm_state state_shown_to(const struct shard_core *c, const uint8_t *mad,
                                    const struct mad_address *from)
{
    struct view_switch *s;
    struct view_end_port *e;
    if (!c->assignment)
        return SM_STANDBY;
    if (mad_class(mad) == SMP_CLASS_LID && view_by_lid(c->view, from->lid, &s, &e) &&
        core_owned_switch(c, s ? s->guid : e->switch_guid))
        return SM_MASTER;
    return core_is_lead(c) ? SM_MASTER : SM_STANDBY;
}

void sminfo_request(struct shard_core *c, const uint8_t *mad, const struct mad_address *from)
{
    uint8_t answer[MAD_BYTES];
    memcpy(answer, mad, sizeof answer);
    unsigned status = mad_class(mad) == SMP_CLASS_DR ? DIRECTION_BIT : 0;
    /* Handing over, disabling and the like are not for others to order here. */
    if (mad_method(mad) != MAD_GET)
        status |= STATUS_BAD_METHOD;
    /* libibmad counts the response bit as a field of its own. */
    mad_set_field(answer, 0, IB_MAD_METHOD_F, MAD_GET);
    mad_set_field(answer, 0, IB_MAD_RESPONSE_F, 1);
    mad_set_field(answer, 0, IB_MAD_STATUS_F, status);
    uint8_t *info = smp_data(answer);
    memset(info, 0, SMP_DATA_BYTES);
    uint64_t sm_key = c->cluster ? core_options(c)->sm_key : 1;
    mad_set_field64(info, 0, IB_SMINFO_GUID_F, c->own.port_guid);
    mad_set_field64(info, 0, IB_SMINFO_KEY_F, sm_key);
    mad_set_field(info, 0, IB_SMINFO_ACT_F, c->act_count);
    mad_set_field(info, 0, IB_SMINFO_PRIO_F, c->cfg.priority);
    mad_set_field(info, 0, IB_SMINFO_STATE_F, state_shown_to(c, mad, from));
    core_send_mad(c, answer, sizeof answer, from, 0, false);
}

static bool is_ours(const struct shard_core *c, uint64_t port_guid)
{
    if (port_guid == c->own.port_guid)
        return true;
    for (size_t i = 0; c->assignment && i < c->assignment->n_members; i++) {
        if (c->assignment->members[i]->port_guid == port_guid)
            return true;
    }
    return false;
}

static void foreign_answered(void *user, uint64_t port_guid, const struct smp_request *r, int error,
                             const uint8_t *mad)
{
    struct shard_core *c = user;
    if (--c->foreign_asked == 0)
        explore_wake(c); /* domains that are explored wait for it */
    bool master =
        error == 0 && mad_get_field((void *)smp_data_const(mad), 0, IB_SMINFO_STATE_F) == SM_MASTER;
    if (is_ours(c, port_guid))
        master = false;
    const struct view_end_port *e = view_end_port_by_guid(c->view, port_guid);
    struct owned_domain *d = core_owned_switch(c, e ? e->switch_guid : 0);
    struct view_domain *v = d ? view_domain(c->view, d->id) : NULL;
    if (!v || (master ? v->foreign_sm_guid != 0 : v->foreign_sm_guid != port_guid))
        return;
    v->foreign_sm_guid = master ? port_guid : 0;
    domain_dirty_state(c, d);
    core_foreign_sm_changed(c);
}

void sminfo_check_end_port(struct shard_core *c, const struct view_end_port *e)
{
    bool is_sm = mad_get_field((void *)e->portinfo, 0, IB_PORT_CAPMASK_F) & CAPMASK_IS_SM;
    bool recheck = c->foreign_sm_guid == e->port_guid;
    if ((!is_sm && !recheck) || is_ours(c, e->port_guid))
        return;
    struct smp_request r = {.method = MAD_GET,
                            .attribute = SMP_SM_INFO,
                            .target = e->node_guid,
                            .retries = 1,
                            .done = foreign_answered,
                            .user = c,
                            .tag = e->port_guid};
    if (core_address_end_port(c, e, &r) && smpq_submit(c->smpq, &r, c->now_ms) == 0)
        c->foreign_asked++;
}

void sminfo_port_gone(struct shard_core *c, struct owned_domain *d, uint64_t port_guid)
{
    struct view_domain *v = view_domain(c->view, d->id);
    if (!v || v->foreign_sm_guid != port_guid)
        return;
    v->foreign_sm_guid = 0;
    domain_dirty_state(c, d);
    core_foreign_sm_changed(c);
}

GArray *sminfo_managers(const struct shard_core *c)
{
    GArray *list = g_array_new(FALSE, TRUE, sizeof(struct sa_manager));
    const Heddle__Assignment *a = c->assignment;
    const char *lead = a && a->n_domains && a->domains[0]->id == 0 ? a->domains[0]->owner : "";
    for (size_t i = 0; a && i < a->n_members; i++) {
        const Heddle__Member *m = a->members[i];
        if (m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE || !m->lid)
            continue;
        struct sa_manager x = {.lid = (uint16_t)m->lid};
        mad_set_field64(x.sminfo, 0, IB_SMINFO_GUID_F, m->port_guid);
        /* Only the own count is known here. */
        if (m->port_guid == c->own.port_guid)
            mad_set_field(x.sminfo, 0, IB_SMINFO_ACT_F, c->act_count);
        mad_set_field(x.sminfo, 0, IB_SMINFO_PRIO_F, m->priority);
        mad_set_field(x.sminfo, 0, IB_SMINFO_STATE_F,
                      strcmp(m->name, lead) == 0 ? SM_MASTER : SM_STANDBY);
        g_array_append_val(list, x);
    }
    return list;
}
