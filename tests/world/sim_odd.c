/* SPDX-License-Identifier: BSD-2-Clause */
/* Odd nodes of the simulated subnet, and changes by hands that are not ours. */
#include "tests/world/sim_fabric_private.h"

#include <string.h>

#define CAPABILITY_IS_SM 0x02u /* of PortInfo byte 23 */

static void add(struct sim_counters *sum, const struct sim_counters *c)
{
    sum->mads += c->mads;
    sum->sets += c->sets;
    sum->lft_sets += c->lft_sets;
    sum->lft_changes += c->lft_changes;
    sum->lid_changes += c->lid_changes;
}

struct sim_counters sim_fabric_counters(const struct sim_fabric *s, uint32_t node)
{
    struct sim_counters sum = {0};
    for (uint32_t i = 0; i < s->f->node_count; i++)
        if (node == FABRIC_NONE || node == i)
            add(&sum, &s->nodes[i].count);
    return sum;
}

void sim_fabric_mute(struct sim_fabric *s, uint32_t node, bool mute)
{
    s->nodes[node].mute = mute;
}

void sim_fabric_show_guid(struct sim_fabric *s, uint32_t node, uint64_t guid)
{
    s->nodes[node].shown_guid = guid;
}

void sim_fabric_leave_out(struct sim_fabric *s, uint32_t node, bool out)
{
    s->nodes[node].left_out = out;
}

void sim_fabric_foreign_sm(struct sim_fabric *s, uint32_t node, unsigned state)
{
    uint8_t *capabilities = &s->nodes[node].ports[sim_ca_port(s, node)].info[23];
    s->nodes[node].sm_state = state;
    *capabilities = (uint8_t)(state != 0 ? *capabilities | CAPABILITY_IS_SM
                                         : *capabilities & ~CAPABILITY_IS_SM);
}

void sim_fabric_preset_lid(struct sim_fabric *s, uint32_t node, unsigned port, unsigned lid,
                           bool stays)
{
    uint64_t guid = s->f->nodes[node].ports[port].guid;
    sim_put16(&s->nodes[node].ports[port].info[16], lid);
    if (!stays)
        return;
    s->guid_of[lid] = guid;
    g_hash_table_insert(s->lid_of, g_memdup2(&guid, sizeof guid), GUINT_TO_POINTER(lid));
}

unsigned sim_fabric_lid(const struct sim_fabric *s, uint32_t node, unsigned port)
{
    return sim_lid(&s->nodes[node].ports[port]);
}

unsigned sim_fabric_sm_lid(const struct sim_fabric *s, uint32_t node, unsigned port)
{
    return sim_get16(&s->nodes[node].ports[port].info[18]);
}

unsigned sim_fabric_port_state(const struct sim_fabric *s, uint32_t node, unsigned port)
{
    return sim_state(&s->nodes[node].ports[port]);
}

uint8_t sim_fabric_lft(const struct sim_fabric *s, uint32_t node, unsigned lid)
{
    return s->nodes[node].lft[lid];
}

void sim_fabric_write_lft(struct sim_fabric *s, uint32_t node, unsigned lid, uint8_t port)
{
    s->nodes[node].lft[lid] = port;
}

void sim_fabric_trap(struct sim_fabric *s, uint32_t to, unsigned number, unsigned lid)
{
    uint8_t mad[MAD_BYTES];
    if (s->nodes[to].process != SIM_PROCESS_LIVE)
        return;
    sim_build_trap(mad, true, number, lid);
    s->cb.deliver(s->cb.user, to, mad, &(struct mad_address){.lid = (uint16_t)lid});
}

static void pull(struct sim_fabric *s, struct fabric *f, uint32_t node, unsigned port)
{
    const struct fabric_port *p = &f->nodes[node].ports[port];
    if (p->peer_node != FABRIC_NONE && !sim_is_switch(&s->nodes[p->peer_node])) {
        s->nodes[p->peer_node].last_leaf = node;
        s->nodes[p->peer_node].last_port = port;
    }
    sim_fabric_cable(s, node, port, false);
    fabric_disconnect(f, node, port);
}

void sim_fabric_recable(struct sim_fabric *s, struct fabric *f, uint32_t a, unsigned port_a,
                        uint32_t b, unsigned port_b)
{
    pull(s, f, a, port_a);
    pull(s, f, b, port_b);
    if (fabric_connect(f, a, port_a, b, port_b) == 0)
        sim_fabric_cable(s, a, port_a, true);
}
