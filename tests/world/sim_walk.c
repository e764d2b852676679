/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of packets through the simulated subnet. */
#include "tests/world/sim_fabric_private.h"

#include <infiniband/mad.h>

#define MAX_HOPS 64u

bool sim_link_up(const struct sim_fabric *s, uint32_t node, unsigned port)
{
    const struct sim_node *n = &s->nodes[node];
    if (!n->on || port == 0 || port > n->n->nports || !n->ports[port].plugged)
        return false;
    uint32_t peer = n->n->ports[port].peer_node;
    return peer != FABRIC_NONE && s->nodes[peer].on;
}

bool sim_hop(const struct sim_fabric *s, struct sim_place *at, unsigned out_port)
{
    if (!sim_link_up(s, at->node, out_port))
        return false;
    const struct fabric_port *p = &s->nodes[at->node].n->ports[out_port];
    *at = (struct sim_place){p->peer_node, p->peer_port};
    return true;
}

bool sim_walk_directed(const struct sim_fabric *s, const uint8_t *mad, struct sim_place *at)
{
    uint8_t path[64];
    unsigned hops = mad_get_field((void *)mad, 0, IB_DRSMP_HOPCNT_F);
    mad_get_array((void *)mad, 0, IB_DRSMP_PATH_F, path);
    if (!s->nodes[at->node].on || hops > DR_MAX_HOPS)
        return false;
    for (unsigned i = 1; i <= hops; i++) {
        if (i > 1 && !sim_is_switch(&s->nodes[at->node]))
            return false;
        if (!sim_hop(s, at, path[i]))
            return false;
    }
    return true;
}

unsigned sim_ca_port(const struct sim_fabric *s, uint32_t node)
{
    const struct fabric_node *n = s->nodes[node].n;
    for (unsigned i = 1; i <= n->nports; i++)
        if (n->ports[i].peer_node != FABRIC_NONE)
            return i;
    return 1;
}

unsigned sim_own_port(const struct sim_fabric *s, const struct sim_place *at)
{
    if (sim_is_switch(&s->nodes[at->node]))
        return 0;
    return at->in_port != 0 ? at->in_port : sim_ca_port(s, at->node);
}

static bool has_lid(const struct sim_port *p, unsigned lid)
{
    unsigned base = sim_lid(p), lmc = p->info[34] & 7u;
    return base != 0 && lid >= base && lid < base + (1u << lmc);
}

bool sim_walk_lid(const struct sim_fabric *s, unsigned dlid, struct sim_place *at)
{
    if (dlid == 0 || dlid >= SIM_LIDS || !s->nodes[at->node].on)
        return false;
    for (unsigned hop = 0; hop < MAX_HOPS; hop++) {
        const struct sim_node *n = &s->nodes[at->node];
        if (has_lid(&n->ports[sim_own_port(s, at)], dlid))
            return true;
        if (!sim_is_switch(n) && hop > 0)
            return false;
        unsigned out = sim_is_switch(n) ? n->lft[dlid] : sim_ca_port(s, at->node);
        if (!sim_hop(s, at, out))
            return false;
    }
    return false;
}
