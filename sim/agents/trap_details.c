/* SPDX-License-Identifier: BSD-2-Clause */
/* The DataDetails of each trap number (IBA 14.2.5.1, tables of Notice DataDetails). */
#include <string.h>

#include "sim/agents/agent.h"
#include "sim/agents/link.h"

#define CLASS_SUBN_DIRECTED_ROUTE 0x81u
#define DR_NOTICE 0x80u
#define DR_TRUNCATED 0x40u
#define DR_PATH_BYTES 30u
#define LOCAL_CHANGE_NODE_DESCRIPTION 0x0001u
#define OTHER_LOCAL_CHANGES 0x01u
#define FIRST_MLID 0xc000u
#define SUPPRESS_MULTICAST 1u
/* DataValid of trap 259, a bit for each field in their order: both LIDs, P_Key, SL, both QPs; the
 * GIDs are those of a GRH, which no packet has here. */
#define TRAP_259_VALID 0x003fu

void sim_trap_link_state(struct sim *s, uint32_t node)
{
    uint8_t d[54] = {0};
    if (!s->nodes[node].sw)
        return;
    put16(d, sim_lid(sim_port(s, node, 0)));
    sim_trap(s, node, 0, 128, d);
}

void sim_trap_threshold(struct sim *s, uint32_t node, unsigned port, unsigned number)
{
    uint8_t d[54] = {0};
    put16(d + 2, sim_lid(sim_end_port(s, node, port)));
    d[4] = (uint8_t)port;
    sim_trap(s, node, port, number, d);
}

static void local_change(struct sim *s, uint32_t node, unsigned port, uint32_t needs,
                         uint16_t flags)
{
    struct sim_port *end = sim_end_port(s, node, port);
    uint8_t d[54] = {0};
    if (!(sim_capability_mask(end) & needs))
        return;
    put16(d + 2, sim_lid(end));
    d[5] = flags ? OTHER_LOCAL_CHANGES : 0;
    put32(d + 6, sim_capability_mask(end));
    put16(d + 10, flags);
    put16(d + 12, get16(end->info + 60));
    sim_trap(s, node, port, 144, d);
}

void sim_trap_capability(struct sim *s, uint32_t node, unsigned port)
{
    local_change(s, node, port, SIM_CAP_MASK_NOTICE, 0);
}

void sim_trap_description(struct sim *s, uint32_t node, unsigned port)
{
    local_change(s, node, port, SIM_CAP_OTHER_LOCAL_CHANGES, LOCAL_CHANGE_NODE_DESCRIPTION);
}

void sim_trap_system_guid(struct sim *s, uint32_t node, unsigned port)
{
    uint8_t d[54] = {0};
    put16(d + 2, sim_lid(sim_end_port(s, node, port)));
    memcpy(d + 6, s->nodes[node].info + 4, 8);
    sim_trap(s, node, port, 145, d);
}

/* The offender's SMP: method, attribute, modifier, key, and how it came. */
void sim_trap_mkey(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p)
{
    uint8_t d[54] = {0};
    put16(d + 2, p->slid);
    d[6] = p->mad[3];
    memcpy(d + 8, p->mad + 16, 2);
    memcpy(d + 10, p->mad + 20, 4);
    memcpy(d + 14, p->mad + 24, 8);
    if (p->mad[1] == CLASS_SUBN_DIRECTED_ROUTE) {
        unsigned hops = p->mad[7] & 0x3f;
        memcpy(d + 4, p->mad + 32, 2); /* DrSLID */
        d[23] = (uint8_t)(DR_NOTICE | (hops >= DR_PATH_BYTES ? DR_TRUNCATED : 0) | hops);
        memcpy(d + 24, p->mad + 192, DR_PATH_BYTES); /* the return path from its entry 0 on */
    }
    sim_trap(s, node, port, 256, d);
}

static void external_port_key(struct sim *s, uint32_t node, unsigned port,
                              const struct sim_packet *p)
{
    uint8_t d[54] = {0};
    put16(d, TRAP_259_VALID);
    put16(d + 2, p->slid);
    put16(d + 4, p->dlid);
    put16(d + 6, p->pkey);
    put32(d + 8, (uint32_t)(p->sl & 0x0f) << 28 | (p->sqp & 0xffffff));
    put32(d + 12, p->dqp & 0xffffff);
    put16(d + 48, sim_lid(sim_port(s, node, 0)));
    d[50] = (uint8_t)port;
    sim_trap(s, node, port, 259, d);
}

void sim_trap_key(struct sim *s, uint32_t node, unsigned port, unsigned number,
                  const struct sim_packet *p)
{
    uint8_t d[54] = {0};
    const struct sim_port *end = sim_end_port(s, node, port);
    if (number == 257 && p->dlid >= FIRST_MLID && p->dlid != SIM_LID_PERMISSIVE &&
        (end->info[51] >> 5 & 3) == SUPPRESS_MULTICAST)
        return;
    if (number == 259) {
        external_port_key(s, node, port, p);
        return;
    }
    put16(d + 2, p->slid);
    put16(d + 4, p->dlid);
    put32(d + 6, number == 257 ? p->pkey : p->qkey);
    put32(d + 10, (uint32_t)(p->sl & 0x0f) << 28 | (p->sqp & 0xffffff));
    put32(d + 14, p->dqp & 0xffffff);
    sim_trap(s, node, port, number, d);
}
