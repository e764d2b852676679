/* SPDX-License-Identifier: BSD-2-Clause */
/* At its destination: agents, modelled hosts, processes; and the answer's start. */
#include "sim/agents/agent.h"
#include "sim/core/flight.h"
#include "sim/core/ping.h"
#include "sim/hosts/host.h"

/* What a host's kernel answers to a Get or Set that no process of it takes (IBA 13.4.7: method and
 * attribute not supported). */
#define STATUS_UNSUPPORTED 0x000cu

/* The packet goes back where it came from. */
static enum flight_state answer(struct sim *s, struct flight *f)
{
    struct sim_packet *p = &f->p;
    p->length = 0;
    if (p->dlid != SIM_LID_PERMISSIVE || p->slid != SIM_LID_PERMISSIVE) {
        uint16_t lid = p->dlid;
        p->dlid = p->slid;
        p->slid = lid;
    }
    uint32_t qp = p->dqp;
    p->dqp = p->sqp;
    p->sqp = qp;
    if (!f->vl15) {
        p->pkey = f->matched;
        p->qkey = SIM_GSI_QKEY;
    }
    f->origin = true;
    if (s->nodes[f->node].sw)
        f->in = 0;
    f->hops = 0;
    f->directed = false;
    if (f->vl15 && p->mad[MAD_CLASS] == SIM_CLASS_DIRECTED)
        direct_start(f);
    f->step = STEP_ROUTE;
    return FLIGHT_GOES;
}

static bool is_request(const uint8_t *mad)
{
    return mad[MAD_METHOD] == METHOD_GET || mad[MAD_METHOD] == METHOD_SET;
}

static bool taken(struct sim *s, const struct flight *f, unsigned port)
{
    if (f->p.dqp == 1 && s->nodes[f->node].ports[port].host &&
        sim_host_receive(s, f->node, port, &f->p))
        return true;
    return s->hooks.deliver && s->hooks.deliver(s->hooks.user, f->node, port, &f->p);
}

static enum flight_state to_process(struct sim *s, struct flight *f)
{
    unsigned port = s->nodes[f->node].sw ? 0 : f->in;
    if (taken(s, f, port))
        return FLIGHT_ENDED;
    if (sim_port(s, f->node, port)->mute)
        return flight_drop(s, f, SIM_DROP_MUTE, port);
    if (f->burst || !is_request(f->p.mad))
        return flight_drop(s, f, SIM_DROP_UNCLAIMED, port);
    sim_mad_answer(f->p.mad, STATUS_UNSUPPORTED);
    return answer(s, f);
}

enum flight_state flight_deliver(struct sim *s, struct flight *f)
{
    enum flight_state state = FLIGHT_ENDED;
    if (!s->nodes[f->node].powered)
        return flight_drop(s, f, SIM_DROP_POWER, f->in);
    if (!f->vl15 && !keys_allow(s, f, &state))
        return state;
    if (f->kind == SIM_KIND_PING) {
        if (!f->burst)
            sim_ping_arrived(s, f->node, s->nodes[f->node].sw ? 0 : f->in, &f->p);
        return FLIGHT_ENDED;
    }
    if (f->burst)
        return to_process(s, f);
    switch (sim_agent(s, f->node, f->in, f->kind, &f->p)) {
    case SIM_REPLY:
        return answer(s, f);
    case SIM_FORWARD:
        return to_process(s, f);
    default:
        return FLIGHT_ENDED; /* the agent told of it */
    }
}
