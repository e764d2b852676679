/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes without power: by hand, reboots, hosts that leave and join. */
#include "sim/faults/private.h"
#include "sim/hosts/host.h"

struct reboot {
    uint32_t node;
    struct sim_timer *timer;
};

/* Neighbours see their links go down; in the node nothing survives. */
static void lose_power(struct sim *s, uint32_t node)
{
    struct sim_node *n = &s->nodes[node];
    if (!n->powered)
        return;
    n->powered = false;
    for (unsigned port = 1; port <= n->nports; port++)
        sim_link_update(s, node, port);
    sim_transit_lose_node(s, node);
    sim_traps_forget(s, node);
    sim_samples_forget(s, node);
    sim_hosts_forget(s, node);
    sim_node_reset(s, node);
    for (unsigned port = 0; port <= n->nports; port++)
        g_clear_pointer(&n->ports[port].counters, g_free);
}

static void get_power(struct sim *s, uint32_t node)
{
    struct sim_node *n = &s->nodes[node];
    if (n->powered)
        return;
    n->powered = true;
    n->busy_until = s->now;
    for (unsigned port = 1; port <= n->nports; port++)
        sim_link_update(s, node, port);
}

void fault_power_off(struct sim *s, uint32_t node, enum fault_cause cause)
{
    fault_hold(s->faults->power, fault_key(node, 0), cause);
    lose_power(s, node);
}

void fault_power_on(struct sim *s, uint32_t node, enum fault_cause cause)
{
    if (fault_release(s->faults->power, fault_key(node, 0), cause))
        get_power(s, node);
}

static void end_reboot(struct sim *s, uint32_t node)
{
    gint64 key = fault_key(node, 0);
    struct reboot *r = g_hash_table_lookup(s->faults->reboots, &key);
    if (r == NULL)
        return;
    sim_timer_cancel(s, r->timer);
    g_hash_table_remove(s->faults->reboots, &key);
}

void sim_fault_power(struct sim *s, uint32_t node, bool on)
{
    end_reboot(s, node);
    fault_release(s->faults->power, fault_key(node, 0), FAULT_REBOOT);
    if (!on) {
        fault_power_off(s, node, FAULT_HAND);
        return;
    }
    gint64 key = fault_key(node, 0);
    g_hash_table_remove(s->faults->power, &key);
    get_power(s, node);
}

static void rebooted(struct sim *s, void *arg)
{
    struct reboot *r = arg;
    uint32_t node = r->node;
    r->timer = NULL;
    end_reboot(s, node);
    fault_power_on(s, node, FAULT_REBOOT);
}

void sim_fault_reboot(struct sim *s, uint32_t node, int64_t off_ns)
{
    gint64 key = fault_key(node, 0);
    end_reboot(s, node);
    fault_power_off(s, node, FAULT_REBOOT);
    struct reboot *r = g_new0(struct reboot, 1);
    r->node = node;
    r->timer = sim_timer_at(s, s->now + off_ns, rebooted, r);
    g_hash_table_insert(s->faults->reboots, g_memdup2(&key, sizeof(key)), r);
}

unsigned sim_fault_leave(struct sim *s, unsigned count)
{
    g_autoptr(GArray) there = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].type == FABRIC_CA && s->nodes[i].powered && !fault_has_manager(s, i))
            g_array_append_val(there, i);
    count = MIN(count, there->len);
    for (unsigned i = 0; i < count; i++) {
        unsigned pick = (unsigned)g_rand_int_range(s->random, (gint32)i, (gint32)there->len);
        uint32_t node = g_array_index(there, uint32_t, pick);
        g_array_index(there, uint32_t, pick) = g_array_index(there, uint32_t, i);
        fault_power_off(s, node, FAULT_LEAVE);
    }
    return count;
}

unsigned sim_fault_join(struct sim *s)
{
    unsigned joined = 0;
    for (uint32_t i = 0; i < s->node_count; i++) {
        bool off = !s->nodes[i].powered;
        fault_power_on(s, i, FAULT_LEAVE);
        joined += off && s->nodes[i].powered;
    }
    return joined;
}
