/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of cables: pulled, moved, cut, flapping. */
#include "sim/faults/private.h"

/* A cable is known by its lower end. */
static gint64 cable_key(struct sim *s, uint32_t node, unsigned port)
{
    const struct sim_port *p = sim_port(s, node, port);
    gint64 here = fault_key(node, port), there = fault_key(p->peer_node, p->peer_port);
    return MIN(here, there);
}

static void set_plugged(struct sim *s, uint32_t node, unsigned port, bool plugged)
{
    struct sim_port *p = sim_port(s, node, port);
    if (p->unplugged != plugged)
        return;
    p->unplugged = !plugged;
    sim_port(s, p->peer_node, p->peer_port)->unplugged = !plugged;
    sim_link_update(s, node, port);
}

void fault_pull(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause)
{
    if (sim_port(s, node, port)->peer_node == SIM_NONE)
        return;
    fault_hold(s->faults->cables, cable_key(s, node, port), cause);
    set_plugged(s, node, port, false);
}

void fault_plug(struct sim *s, uint32_t node, unsigned port, enum fault_cause cause)
{
    if (sim_port(s, node, port)->peer_node == SIM_NONE)
        return;
    if (fault_release(s->faults->cables, cable_key(s, node, port), cause))
        set_plugged(s, node, port, true);
}

static bool has_cable(struct sim *s, uint32_t node, unsigned port, char *error, size_t size)
{
    if (port > 0 && sim_port(s, node, port)->peer_node != SIM_NONE)
        return true;
    g_snprintf(error, size, "%s has no cable: name a port that has one",
               sim_port_name(s, node, port));
    return false;
}

bool sim_fault_cable(struct sim *s, uint32_t node, unsigned port, bool plugged, char *error,
                     size_t size)
{
    if (!has_cable(s, node, port, error, size))
        return false;
    if (!plugged) {
        fault_pull(s, node, port, FAULT_HAND);
        return true;
    }
    gint64 key = cable_key(s, node, port);
    g_hash_table_remove(s->faults->cables, &key);
    set_plugged(s, node, port, true);
    return true;
}

static bool may_move(struct sim *s, uint32_t node, unsigned port, uint32_t to_node,
                     unsigned to_port, char *error, size_t size)
{
    const struct sim_port *p = sim_port(s, node, port);
    const char *to = sim_port_name(s, to_node, to_port);
    if (!has_cable(s, node, port, error, size))
        return false;
    if (p->peer_node == to_node && p->peer_port == to_port)
        return true;
    if (to_port == 0 || (to_node == node && to_port == port)) {
        g_snprintf(error, size, "%s cannot take the far end of the cable at %s: name another port",
                   to, sim_port_name(s, node, port));
        return false;
    }
    const struct sim_port *there = sim_port(s, to_node, to_port);
    if (there->peer_node != SIM_NONE) {
        g_snprintf(error, size, "%s has a cable already, to %s: move that one first", to,
                   sim_port_name(s, there->peer_node, there->peer_port));
        return false;
    }
    return true;
}

bool sim_fault_move(struct sim *s, uint32_t node, unsigned port, uint32_t to_node, unsigned to_port,
                    char *error, size_t size)
{
    if (!may_move(s, node, port, to_node, to_port, error, size))
        return false;
    gint64 key = cable_key(s, node, port);
    g_hash_table_remove(s->faults->cables, &key);
    set_plugged(s, node, port, false);
    struct sim_port *near = sim_port(s, node, port), *far = sim_port(s, to_node, to_port);
    struct sim_port *old = sim_port(s, near->peer_node, near->peer_port);
    old->peer_node = SIM_NONE;
    old->peer_port = 0;
    old->unplugged = false;
    near->peer_node = to_node;
    near->peer_port = (uint8_t)to_port;
    far->peer_node = node;
    far->peer_port = (uint8_t)port;
    far->unplugged = true;
    set_plugged(s, node, port, true);
    return true;
}

/* -- cut --------------------------------------------------------------------------------------- */

unsigned sim_fault_cut(struct sim *s, const uint32_t *nodes, unsigned count)
{
    unsigned pulled = 0;
    for (uint32_t i = 0; i < s->node_count; i++)
        s->nodes[i].cut = false;
    for (unsigned i = 0; i < count; i++)
        s->nodes[nodes[i]].cut = true;
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        for (unsigned port = 1; n->cut && port <= n->nports; port++) {
            const struct sim_port *p = &n->ports[port];
            if (p->peer_node == SIM_NONE || s->nodes[p->peer_node].cut)
                continue;
            pulled += !p->unplugged;
            fault_pull(s, i, port, FAULT_CUT);
        }
    }
    return pulled;
}

unsigned sim_fault_heal(struct sim *s)
{
    unsigned plugged = 0;
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        for (unsigned port = 1; port <= n->nports; port++) {
            if (!n->ports[port].unplugged)
                continue;
            fault_plug(s, i, port, FAULT_CUT);
            plugged += !n->ports[port].unplugged;
        }
        s->nodes[i].cut = false;
    }
    return plugged;
}

/* -- flap -------------------------------------------------------------------------------------- */

struct flap {
    uint32_t node;
    unsigned port, left;
    int64_t down_ns, up_ns;
    bool down;
    struct sim_timer *timer;
};

static void flap_step(struct sim *s, void *arg)
{
    struct flap *f = arg;
    f->timer = NULL;
    f->down = !f->down;
    if (f->down) {
        fault_pull(s, f->node, f->port, FAULT_FLAP);
        f->left--;
    } else {
        fault_plug(s, f->node, f->port, FAULT_FLAP);
    }
    if (f->down || f->left > 0) {
        f->timer = sim_timer_at(s, s->now + (f->down ? f->down_ns : f->up_ns), flap_step, f);
        return;
    }
    gint64 key = fault_key(f->node, f->port);
    g_hash_table_remove(s->faults->flaps, &key);
}

void sim_fault_flap(struct sim *s, uint32_t node, unsigned port, unsigned count, int64_t down_ns,
                    int64_t up_ns)
{
    gint64 key = fault_key(node, port);
    struct flap *f = g_hash_table_lookup(s->faults->flaps, &key);
    if (f != NULL) {
        sim_timer_cancel(s, f->timer);
        fault_plug(s, node, port, FAULT_FLAP);
        g_hash_table_remove(s->faults->flaps, &key);
    }
    if (count == 0)
        return;
    f = g_new0(struct flap, 1);
    *f = (struct flap){
        .node = node, .port = port, .left = count, .down_ns = down_ns, .up_ns = up_ns};
    g_hash_table_insert(s->faults->flaps, g_memdup2(&key, sizeof(key)), f);
    flap_step(s, f);
}
