/* SPDX-License-Identifier: BSD-2-Clause */
/* LIDs: kept, adopted or new. */
#include "shard/lids.h"

#include <infiniband/mad.h>
#include <inttypes.h>

#include "shard/core_internal.h"
#include "shard/domain.h"
#include "shard/setup.h"

struct lid_book {
    uint64_t *holder; /* by LID: port GUID, 0 = free */
    uint32_t cursor;  /* pools are searched from here on: LIDs are not reused at once */
    bool exhausted;
};

static void hold(struct lid_book *b, uint16_t lid, unsigned lmc, uint64_t port_guid)
{
    for (uint32_t l = lid; lid && l < lid + (1u << lmc) && l <= RT_MAX_LID; l++) {
        if (!b->holder[l])
            b->holder[l] = port_guid;
    }
}

static void hold_found(struct lid_book *b, uint16_t lid, uint64_t port_guid, const uint64_t *firm)
{
    if (!lid || lid > RT_MAX_LID || firm[lid])
        return;
    if (!b->holder[lid] || port_guid < b->holder[lid])
        b->holder[lid] = port_guid;
}

static bool domain_has_lids(const struct shard_core *c, uint32_t domain)
{
    const struct view_domain *d = view_domain(c->view, domain);
    return d && d->phase >= HEDDLE__DOMAIN_PHASE__PHASE_LIDS;
}

static uint64_t switch_port_guid(const struct view_switch *s)
{
    return mad_get_field64((void *)s->nodeinfo, 0, IB_NODE_PORT_GUID_F);
}

static void hold_assigned(struct lid_book *b, const struct shard_core *c)
{
    const Heddle__Assignment *a = c->assignment;
    for (size_t i = 0; a && i < a->n_members; i++)
        hold(b, (uint16_t)a->members[i]->lid, 0, a->members[i]->port_guid);
    const GPtrArray *switches = view_switches(c->view);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        if (domain_has_lids(c, s->domain))
            hold(b, view_switch_lid(s), 0, switch_port_guid(s));
    }
    const GPtrArray *ends = view_end_ports(c->view);
    for (guint i = 0; i < ends->len; i++) {
        const struct view_end_port *e = g_ptr_array_index(ends, i);
        hold(b, e->lid, e->lmc, e->port_guid);
    }
}

static void hold_known(struct lid_book *b, const struct shard_core *c)
{
    GHashTableIter it;
    gpointer key, value;
    g_hash_table_iter_init(&it, c->known_lids);
    while (g_hash_table_iter_next(&it, &key, &value))
        hold(b, (uint16_t)GPOINTER_TO_UINT(value), 0, *(uint64_t *)key);
}

static void hold_all_found(struct lid_book *b, const struct shard_core *c)
{
    uint64_t *firm = g_memdup2(b->holder, sizeof(uint64_t) * (RT_MAX_LID + 1));
    const GPtrArray *switches = view_switches(c->view);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = g_ptr_array_index(switches, i);
        hold_found(b, view_switch_lid(s), switch_port_guid(s), firm);
    }
    const GPtrArray *ends = view_end_ports(c->view);
    for (guint i = 0; i < ends->len; i++) {
        const struct view_end_port *e = g_ptr_array_index(ends, i);
        hold_found(b, (uint16_t)mad_get_field((void *)e->portinfo, 0, IB_PORT_LID_F), e->port_guid,
                   firm);
    }
    g_free(firm);
}

struct lid_book *lid_book_create(struct shard_core *c)
{
    struct lid_book *b = g_new0(struct lid_book, 1);
    b->holder = g_new0(uint64_t, RT_MAX_LID + 1);
    hold_assigned(b, c);
    hold_known(b, c);
    if (!core_options(c)->reassign_lids)
        hold_all_found(b, c);
    return b;
}

void lid_book_destroy(struct lid_book *b)
{
    if (!b)
        return;
    g_free(b->holder);
    g_free(b);
}

static bool fits(const struct lid_book *b, uint32_t lid, unsigned lmc, uint64_t port_guid)
{
    uint32_t span = 1u << lmc;
    if (lid == 0 || lid % span || lid + span - 1 > RT_MAX_LID)
        return false;
    for (uint32_t l = lid; l < lid + span; l++) {
        if (b->holder[l] && b->holder[l] != port_guid)
            return false;
    }
    return true;
}

bool lid_book_conflict(const struct lid_book *b, uint16_t lid, uint64_t port_guid)
{
    return !fits(b, lid, 0, port_guid);
}

static uint16_t from_pools(struct lid_book *b, const struct shard_core *c,
                           const struct owned_domain *d, uint64_t port_guid, unsigned lmc)
{
    const Heddle__Assignment *a = c->assignment;
    uint32_t span = 1u << lmc;
    for (size_t i = 0; a && i < a->n_domains; i++) {
        const Heddle__Domain *dom = a->domains[i];
        for (size_t k = 0; dom->id == d->id && k < dom->n_pools; k++) {
            uint32_t first = dom->pools[k]->first, end = first + dom->pools[k]->count;
            uint32_t at = MAX(first, b->cursor < end ? b->cursor : first);
            for (at = (at + span - 1) / span * span; at + span <= end; at += span) {
                if (fits(b, at, lmc, port_guid)) {
                    b->cursor = at + span;
                    return (uint16_t)at;
                }
            }
        }
    }
    return 0;
}

static uint16_t member_lid(const struct shard_core *c, uint64_t port_guid)
{
    const Heddle__Assignment *a = c->assignment;
    for (size_t i = 0; a && i < a->n_members; i++) {
        if (a->members[i]->port_guid == port_guid)
            return (uint16_t)a->members[i]->lid;
    }
    return 0;
}

uint16_t lid_book_assign(struct lid_book *b, struct shard_core *c, const struct owned_domain *d,
                         uint64_t port_guid, uint16_t kept, uint16_t found, unsigned lmc)
{
    uint16_t known = GPOINTER_TO_UINT(g_hash_table_lookup(c->known_lids, &port_guid));
    uint16_t wanted[] = {member_lid(c, port_guid), kept, known,
                         core_options(c)->reassign_lids ? 0 : found};
    uint16_t lid = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(wanted) && !lid; i++) {
        if (wanted[i] && fits(b, wanted[i], lmc, port_guid))
            lid = wanted[i];
    }
    if (!lid)
        lid = from_pools(b, c, d, port_guid, lmc);
    if (!lid && !b->exhausted) {
        b->exhausted = true;
        core_log(c, HL_WARNING, "lid_pool_empty",
                 "domain=%u port_guid=0x%016" PRIx64
                 " hint=\"waiting for another pool from the coordinator\"",
                 d->id, port_guid);
    }
    if (found && lid && lid != found)
        core_log(c, HL_NOTICE, "lid_changed", "port_guid=0x%016" PRIx64 " found=%u assigned=%u",
                 port_guid, found, lid);
    hold(b, lid, lmc, port_guid);
    return lid;
}

static void assign_switch(struct lid_book *b, struct shard_core *c, struct owned_domain *d,
                          struct view_switch *s, Heddle__Delta *delta)
{
    uint16_t found = view_switch_lid(s);
    uint16_t lid = lid_book_assign(b, c, d, switch_port_guid(s), 0, found, 0);
    if (lid == found)
        return;
    Heddle__SwitchRecord *r = view_pack_switch(s);
    for (size_t i = 0; i < r->n_ports; i++) {
        if (r->ports[i]->num == 0 && r->ports[i]->portinfo.len == SMP_DATA_BYTES)
            mad_set_field(r->ports[i]->portinfo.data, 0, IB_PORT_LID_F, lid);
    }
    view_delta_add_switch(delta, r);
}

static void assign_end_port(struct lid_book *b, struct shard_core *c, struct owned_domain *d,
                            struct view_end_port *e, Heddle__Delta *delta)
{
    unsigned lmc = core_options(c)->lmc;
    uint16_t found = (uint16_t)mad_get_field(e->portinfo, 0, IB_PORT_LID_F);
    uint16_t lid = lid_book_assign(b, c, d, e->port_guid, e->lid, found, lmc);
    if (lid == e->lid && lmc == e->lmc)
        return;
    Heddle__EndPortRecord *r = view_pack_end_port(e);
    r->lid = lid;
    r->lmc = lmc;
    view_delta_add_end_port(delta, r);
}

/* Ports that found the pools used up get their LIDs when the coordinator has added one. */
void lids_assign_missing(struct shard_core *c, struct owned_domain *d)
{
    bool missing = false;
    GPtrArray *ends = view_domain_end_ports(c->view, d->id);
    for (guint i = 0; !missing && i < ends->len; i++) {
        const struct view_end_port *e = g_ptr_array_index(ends, i);
        missing = e->present && !e->lid;
    }
    g_ptr_array_unref(ends);
    GPtrArray *switches = view_domain_switches(c->view, d->id);
    for (guint i = 0; !missing && i < switches->len; i++)
        missing = !view_switch_lid(g_ptr_array_index(switches, i));
    if (missing) {
        lids_assign_domain(c, d);
        for (guint i = 0; i < switches->len; i++)
            setup_wake_switch(c, ((struct view_switch *)g_ptr_array_index(switches, i))->guid);
    }
    g_ptr_array_unref(switches);
}

void lids_assign_domain(struct shard_core *c, struct owned_domain *d)
{
    struct lid_book *b = lid_book_create(c);
    Heddle__Delta *delta = delta_new();
    GPtrArray *switches = view_domain_switches(c->view, d->id);
    for (guint i = 0; i < switches->len; i++)
        assign_switch(b, c, d, g_ptr_array_index(switches, i), delta);
    g_ptr_array_unref(switches);
    GPtrArray *ends = view_domain_end_ports(c->view, d->id);
    for (guint i = 0; i < ends->len; i++)
        assign_end_port(b, c, d, g_ptr_array_index(ends, i), delta);
    g_ptr_array_unref(ends);
    lid_book_destroy(b);
    struct view_domain *v = view_domain(c->view, d->id);
    v->phase = MAX(v->phase, HEDDLE__DOMAIN_PHASE__PHASE_LIDS);
    delta->state = view_pack_state(view_domain(c->view, d->id));
    domain_publish(c, d, delta);
}
