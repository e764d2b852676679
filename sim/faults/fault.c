/* SPDX-License-Identifier: BSD-2-Clause */
/* Causes of faults, and the faults of single ports and nodes: mute, guid, disturb, service. */
#include "sim/faults/fault.h"

#include <string.h>

#include "sim/faults/private.h"

static GHashTable *new_table(void)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

static GHashTable *new_owner(void)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
}

struct sim_faults *sim_faults_create(void)
{
    struct sim_faults *f = g_new0(struct sim_faults, 1);
    f->cables = new_table();
    f->power = new_table();
    f->mute = new_table();
    f->disturbed = new_table();
    f->reboots = new_owner();
    f->guids = new_owner();
    f->flaps = new_owner();
    f->broken = g_ptr_array_new();
    return f;
}

void sim_faults_destroy(struct sim_faults *f)
{
    if (f == NULL)
        return;
    fault_random_free(f);
    g_hash_table_destroy(f->cables);
    g_hash_table_destroy(f->power);
    g_hash_table_destroy(f->mute);
    g_hash_table_destroy(f->disturbed);
    g_hash_table_destroy(f->reboots);
    g_hash_table_destroy(f->guids);
    g_hash_table_destroy(f->flaps);
    g_free(f);
}

/* -- causes ------------------------------------------------------------------------------------ */

static unsigned causes(GHashTable *table, gint64 key)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(table, &key));
}

static void set_causes(GHashTable *table, gint64 key, unsigned bits)
{
    if (bits == 0)
        g_hash_table_remove(table, &key);
    else
        g_hash_table_replace(table, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(bits));
}

bool fault_held(GHashTable *table, gint64 key)
{
    return causes(table, key) != 0;
}

bool fault_hold(GHashTable *table, gint64 key, enum fault_cause cause)
{
    unsigned bits = causes(table, key);
    set_causes(table, key, bits | cause);
    return bits == 0;
}

bool fault_release(GHashTable *table, gint64 key, enum fault_cause cause)
{
    unsigned bits = causes(table, key);
    if ((bits & cause) == 0)
        return false;
    set_causes(table, key, bits & ~(unsigned)cause);
    return bits == (unsigned)cause;
}

/* -- mute -------------------------------------------------------------------------------------- */

static gint64 agent_key(struct sim *s, uint32_t node, unsigned port)
{
    return fault_key(node, s->nodes[node].sw ? 0 : port);
}

void fault_set_mute(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause)
{
    fault_hold(s->faults->mute, agent_key(s, node, port), cause);
    sim_end_port(s, node, port)->mute = true;
}

void fault_end_mute(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause)
{
    if (fault_release(s->faults->mute, agent_key(s, node, port), cause))
        sim_end_port(s, node, port)->mute = false;
}

void sim_fault_mute(struct sim *s, uint32_t node, unsigned port, bool mute)
{
    if (mute) {
        fault_set_mute(s, node, port, FAULT_HAND);
        return;
    }
    set_causes(s->faults->mute, agent_key(s, node, port), 0);
    sim_end_port(s, node, port)->mute = false;
}

/* -- what a node shows and how fast it is ------------------------------------------------------ */

static const struct sim_node *node_with(const struct sim *s, uint64_t guid)
{
    gpointer number = g_hash_table_lookup(s->by_guid, &guid);
    return number ? &s->nodes[GPOINTER_TO_UINT(number) - 1] : NULL;
}

/* 0 = its own again. */
static void show_port_guid(struct sim *s, uint32_t node, unsigned port, uint64_t guid)
{
    struct sim_port *p = sim_port(s, node, port);
    gint64 key = fault_key(node, port);
    const uint64_t *own = g_hash_table_lookup(s->faults->guids, &key);
    if (guid == 0 && own == NULL)
        return;
    if (own == NULL)
        g_hash_table_insert(s->faults->guids, g_memdup2(&key, sizeof(key)),
                            g_memdup2(&p->guid, sizeof(p->guid)));
    p->guid = guid != 0 ? guid : *own;
    if (guid == 0)
        g_hash_table_remove(s->faults->guids, &key);
    if (p->guids != NULL)
        p->guids[0] = p->guid;
}

void sim_fault_guid(struct sim *s, uint32_t node, uint64_t guid)
{
    struct sim_node *n = &s->nodes[node];
    put64(n->info + 12, guid != 0 ? guid : n->guid); /* NodeInfo.NodeGUID, IBA 14.2.5.3 */
    const struct sim_node *twin = node_with(s, guid);
    for (unsigned i = n->sw ? 0 : 1; i <= n->nports; i++) {
        if (twin && twin != n && i <= twin->nports && !n->sw == !twin->sw)
            show_port_guid(s, node, i, twin->ports[i].guid);
        else
            show_port_guid(s, node, i, 0);
    }
}

void sim_fault_service(struct sim *s, uint32_t node, unsigned type, int64_t service_ns,
                       uint32_t vl15_size)
{
    for (uint32_t i = 0; i < s->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        if ((node != SIM_NONE && node != i) || (node == SIM_NONE && type != 0 && type != n->type))
            continue;
        n->service_ns = service_ns;
        n->vl15_size = vl15_size;
    }
}

bool fault_has_manager(const struct sim *s, uint32_t node)
{
    const struct sim_node *n = &s->nodes[node];
    for (unsigned i = 0; i <= n->nports; i++)
        if (n->ports[i].has_sm)
            return true;
    return false;
}

/* -- disturbances ------------------------------------------------------------------------------ */

void fault_disturb_port(struct sim *s, uint32_t node, unsigned port,
                        const struct sim_disturbance *d)
{
    struct sim_port *p = sim_port(s, node, port);
    bool none = d->loss_ppm == 0 && d->duplicate_ppm == 0 && d->reorder_ppm == 0 &&
                d->delay_ns == 0 && d->jitter_ns == 0;
    if (none) {
        g_clear_pointer(&p->disturbance, g_free);
        return;
    }
    if (p->disturbance == NULL)
        p->disturbance = g_new(struct sim_disturbance, 1);
    *p->disturbance = *d;
}

static void disturb_by_hand(struct sim *s, uint32_t node, unsigned port,
                            const struct sim_disturbance *d)
{
    set_causes(s->faults->disturbed, fault_key(node, port), 0);
    fault_disturb_port(s, node, port, d);
}

void sim_fault_disturb(struct sim *s, uint32_t node, unsigned port, const struct sim_disturbance *d)
{
    uint32_t first = node == SIM_NONE ? 0 : node,
             last = node == SIM_NONE ? s->node_count : node + 1;
    for (uint32_t i = first; i < last; i++)
        for (unsigned j = 1; j <= s->nodes[i].nports; j++)
            if (node == SIM_NONE || port == 0 || port == j)
                disturb_by_hand(s, i, j, d);
}
