/* SPDX-License-Identifier: BSD-2-Clause */
/* By LID: at each switch the linear forwarding table tells the port (IBA 18.2.4.3). */
#include "sim/core/flight.h"

bool lid_is_of(const struct sim_port *p, unsigned lid)
{
    unsigned base = sim_lid(p), lmc = p->info[34] & 0x07;
    return base != 0 && lid >= base && lid < base + (1u << lmc);
}

/* Only requests that are for this node's agents; answers go to processes. */
bool lid_needs_processor(struct sim *s, const struct flight *f)
{
    return !(f->p.mad[MAD_METHOD] & MAD_RESPONSE) &&
           lid_is_of(sim_end_port(s, f->node, f->in), f->p.dlid);
}

static enum flight_state arrived(struct sim *s, struct flight *f)
{
    if (f->vl15 && f->p.mad[MAD_CLASS] == SIM_CLASS_DIRECTED)
        return direct_arrived(s, f);
    return flight_deliver(s, f);
}

static enum flight_state leave(struct flight *f, uint8_t out)
{
    f->out = out;
    f->step = STEP_LEAVE;
    return FLIGHT_GOES;
}

static enum flight_state refuse(struct sim *s, struct flight *f, enum sim_drop why)
{
    if (f->in > 0) /* IBA 16.1.3.5: the relay had no way on */
        sim_count(s, f->node, f->in, SIM_CNT_RCV_SWITCH_RELAY_ERRORS, 1);
    return flight_drop(s, f, why, f->in);
}

static enum flight_state switch_route(struct sim *s, struct flight *f)
{
    const struct sim_node *n = &s->nodes[f->node];
    if (lid_is_of(&n->ports[0], f->p.dlid))
        return arrived(s, f);
    uint8_t out = sim_lft(s, f->node, f->p.dlid);
    if (out == SIM_NO_PORT)
        return refuse(s, f, SIM_DROP_NO_ENTRY);
    if (out == 0)
        return flight_drop(s, f, SIM_DROP_NOT_FOR_US, 0);
    if (out > n->nports || out == f->in)
        return refuse(s, f, SIM_DROP_BAD_PORT);
    return leave(f, out);
}

enum flight_state lid_route(struct sim *s, struct flight *f)
{
    const struct sim_node *n = &s->nodes[f->node];
    if (n->sw)
        return switch_route(s, f);
    if (lid_is_of(&n->ports[f->in], f->p.dlid))
        return arrived(s, f);
    if (!f->origin)
        return flight_drop(s, f, SIM_DROP_NOT_FOR_US, f->in);
    return leave(f, f->in);
}
