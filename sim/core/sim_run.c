/* SPDX-License-Identifier: BSD-2-Clause */
/* What a client does to the simulated fabric: packets, time, IsSM. */
#include "sim/agents/agent.h"
#include "sim/core/timers.h"
#include "sim/core/transit.h"

#define CAPABILITY_MASK 20  /* byte of PortInfo */
#define CAP_IS_SM (1u << 1) /* IBA 14.2.5.6 */

void sim_send(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p, int64_t now)
{
    sim_timers_run(s, now);
    if (node < s->node_count && port <= s->nodes[node].nports && (port || s->nodes[node].sw))
        sim_transit_send(s, node, port, SIM_KIND_CLIENT, p);
}

void sim_run(struct sim *s, int64_t now)
{
    sim_timers_run(s, now);
}

int64_t sim_next(const struct sim *s)
{
    return sim_timers_next(s->timers);
}

void sim_set_issm(struct sim *s, uint32_t node, unsigned port, bool issm, int64_t now)
{
    struct sim_port *p = sim_end_port(s, node, port);
    sim_timers_run(s, now);
    uint32_t mask = get32(p->info + CAPABILITY_MASK);
    uint32_t wanted = issm ? mask | CAP_IS_SM : mask & ~CAP_IS_SM;
    p->has_sm = issm;
    if (wanted == mask)
        return;
    put32(p->info + CAPABILITY_MASK, wanted);
    sim_trap_capability(s, node, p->number);
}
