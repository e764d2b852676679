/* SPDX-License-Identifier: BSD-2-Clause */
/* LIDs: the pools of the domains, the LIDs of the shards' own ports, those found on the fabric.
 * Pools begin at multiples of 64, follow each other and are never taken back: LIDs stay. */
#include <string.h>

#include "coordinator/internal.h"

#define POOL_ALIGN 64u

static uint32_t first_free(const struct coord_core *c)
{
    uint32_t end = COORD_FIRST_LID;
    for (size_t i = 0; i < c->work->n_domains; i++)
        for (size_t j = 0; j < c->work->domains[i]->n_pools; j++) {
            const Heddle__LidPool *p = c->work->domains[i]->pools[j];
            end = MAX(end, p->first + p->count);
        }
    return MIN((end + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN, COORD_END_LID);
}

uint32_t coord_pools_free(const struct coord_core *c)
{
    return COORD_END_LID - first_free(c);
}

bool coord_pools_fit(struct coord_core *c, Heddle__Domain *d, uint32_t lids, bool with_growth)
{
    uint32_t have = domain_pool_lids(d), free_lids = coord_pools_free(c);
    if (have >= lids && have > 0)
        return true;
    uint64_t missing = MAX(lids, 1u) - have;
    /* Little: LIDs without a port cost every switch table entries, and pools grow on demand. */
    if (with_growth)
        missing += missing / 16;
    missing = (missing + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    uint32_t count = (uint32_t)MIN(missing, free_lids);
    if (count == 0)
        return false; /* status says so: the domain reports more nodes than LIDs */
    Heddle__LidPool *p = g_new(Heddle__LidPool, 1);
    heddle__lid_pool__init(p);
    p->first = first_free(c);
    p->count = count;
    record_append(&d->n_pools, &d->pools, p);
    coord_dirty(c);
    return domain_pool_lids(d) >= lids;
}

/* -- the shards' own ports ------------------------------------------------------------------- */

static bool valid_range(uint32_t lid, uint32_t lmc)
{
    uint32_t size = 1u << lmc;
    return lid > 0 && lid % size == 0 && lid + size <= COORD_END_LID;
}

static bool ranges_meet(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/* Whether no other port is known to have one of these LIDs. */
static bool lid_is_free(const struct coord_core *c, const Heddle__Member *m, uint32_t lid,
                        uint32_t lmc)
{
    uint32_t size = 1u << lmc;
    if (!valid_range(lid, lmc))
        return false;
    for (size_t i = 0; i < c->work->n_members; i++) {
        const Heddle__Member *other = c->work->members[i];
        if (other != m && other->lid && other->port_guid != m->port_guid &&
            ranges_meet(lid, size, other->lid, 1u << coord_lmc(c)))
            return false;
    }
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->lids); /* any order: the answer is the same */
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        const Heddle__FoundLid *f = value;
        if (f->port_guid != m->port_guid && ranges_meet(lid, size, f->lid, 1u << f->lmc))
            return false;
    }
    return true;
}

uint32_t coord_pools_member_lid(struct coord_core *c, const Heddle__Member *m, uint32_t wanted)
{
    uint32_t lmc = coord_lmc(c);
    const Heddle__FoundLid *known = g_hash_table_lookup(c->lids, &m->port_guid);
    /* As for every other port: what the ledger knows goes before what is set on the port. */
    uint32_t first_choices[] = {m->lid, known ? known->lid : 0, wanted};
    for (size_t i = 0; i < G_N_ELEMENTS(first_choices); i++)
        if (lid_is_free(c, m, first_choices[i], lmc))
            return first_choices[i];
    const Heddle__Domain *d = assignment_domain(c->work, 0);
    for (size_t i = 0; d && i < d->n_pools; i++)
        for (uint32_t lid = d->pools[i]->first;
             lid + (1u << lmc) <= d->pools[i]->first + d->pools[i]->count; lid += 1u << lmc)
            if (lid_is_free(c, m, lid, lmc))
                return lid;
    coord_log(c, HL_ERROR, "no_lid_for_shard",
              "name=%s msg=\"the pool for the shards' own ports is used up\"", m->name);
    return 0;
}

/* -- LIDs found on the fabric ------------------------------------------------------------------ */

void coord_pools_found(struct coord_core *c, Heddle__FoundLid *const *lids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Heddle__FoundLid *f = lids[i];
        if (f->port_guid == 0 || f->lmc > 7 || f->lid == 0 || f->lid >= COORD_END_LID)
            continue;
        Heddle__FoundLid *known = g_hash_table_lookup(c->lids, &f->port_guid);
        if (known && known->lid == f->lid && known->lmc == f->lmc)
            continue;
        if (known == NULL && g_hash_table_size(c->lids) >= COORD_MAX_LIDS)
            continue;
        Heddle__FoundLid *copy = g_new(Heddle__FoundLid, 1);
        heddle__found_lid__init(copy);
        copy->port_guid = f->port_guid;
        copy->lid = f->lid;
        copy->lmc = f->lmc;
        g_hash_table_insert(c->lids, g_memdup2(&f->port_guid, sizeof f->port_guid), copy);
        c->lids_dirty = true;
    }
}

static int compare_found(const void *a, const void *b)
{
    const Heddle__FoundLid *const *x = a, *const *y = b;
    return record_compare_u64(&(*x)->port_guid, &(*y)->port_guid);
}

Heddle__LidBackup *coord_pools_backup(const struct coord_core *c)
{
    Heddle__LidBackup *b = g_new(Heddle__LidBackup, 1);
    heddle__lid_backup__init(b);
    b->lids = g_new(Heddle__FoundLid *, g_hash_table_size(c->lids) + 1);
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->lids); /* sorted below */
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        b->lids[b->n_lids] = g_memdup2(value, sizeof(Heddle__FoundLid));
        b->n_lids++;
    }
    qsort(b->lids, b->n_lids, sizeof b->lids[0], compare_found);
    return b;
}
