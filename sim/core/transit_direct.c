/* SPDX-License-Identifier: BSD-2-Clause */
/* Directed routes (IBA 14.2.2). A route is up to three parts: by LID to the switch where the
 * directed part starts (DrSLID not permissive), the directed part, by LID from its end to DrDLID.
 * An answer goes back over the same parts, the directed one by the return path.
 *
 * `pointer` is the number of links of the directed part that lie between the flight and its start.
 * Clients count hops as ibsim's do: in the MAD the hop pointer is 0 at both ends. */
#include "sim/agents/agent.h"
#include "sim/core/flight.h"

static bool starts_by_lid(const uint8_t *mad)
{
    return get16(mad + DR_SLID) != SIM_LID_PERMISSIVE;
}

static bool ends_by_lid(const uint8_t *mad)
{
    return get16(mad + DR_DLID) != SIM_LID_PERMISSIVE;
}

bool direct_is_return(const struct flight *f)
{
    return f->p.mad[MAD_STATUS] & 0x80;
}

bool direct_valid(const struct sim_packet *p)
{
    const uint8_t *mad = p->mad;
    if (mad[DR_HOP_COUNT] > SIM_DR_HOPS || mad[DR_HOP_POINTER] != 0)
        return false;
    bool back = mad[MAD_STATUS] & 0x80;
    if (back != !!(mad[MAD_METHOD] & MAD_RESPONSE))
        return false;
    bool lid_first = back ? ends_by_lid(mad) : starts_by_lid(mad);
    return !lid_first || (p->dlid != SIM_LID_PERMISSIVE && p->dlid < SIM_FIRST_MLID);
}

/* IBA 14.2.2.2: within the directed part both LIDs are permissive. */
static void go_directed(struct flight *f)
{
    f->directed = true;
    f->p.dlid = f->p.slid = SIM_LID_PERMISSIVE;
}

void direct_start(struct flight *f)
{
    const uint8_t *mad = f->p.mad;
    bool back = direct_is_return(f);
    f->pointer = back ? mad[DR_HOP_COUNT] : 0;
    if (!(back ? ends_by_lid(mad) : starts_by_lid(mad)))
        go_directed(f);
}

/* Every node that it passes handles it, but for the sender, and a requester that gets its answer.
 */
bool direct_needs_processor(const struct flight *f)
{
    return !f->origin && !(direct_is_return(f) && f->pointer == 0);
}

/* The directed part is over: on to this LID, as a packet from this node. */
static enum flight_state go_by_lid(struct sim *s, struct flight *f, uint16_t lid)
{
    f->directed = false;
    f->p.dlid = lid;
    f->p.slid = sim_lid(sim_end_port(s, f->node, f->in));
    f->hops = 0;
    if (s->nodes[f->node].sw)
        f->in = 0;
    return FLIGHT_GOES;
}

static enum flight_state leave_by(struct sim *s, struct flight *f, uint8_t out)
{
    const struct sim_node *n = &s->nodes[f->node];
    /* A CA port sends by itself only, and passes nothing on. */
    if (out == 0 || out > n->nports || (!n->sw && (!f->origin || out != f->in)))
        return flight_drop(s, f, SIM_DROP_BAD_PORT, out <= n->nports ? out : f->in);
    f->out = out;
    f->step = STEP_LEAVE;
    return FLIGHT_GOES;
}

enum flight_state direct_route(struct sim *s, struct flight *f)
{
    uint8_t *mad = f->p.mad;
    if (direct_is_return(f)) {
        if (f->pointer > 0)
            return leave_by(s, f, mad[DR_RETURN_PATH + f->pointer--]);
        if (starts_by_lid(mad))
            return go_by_lid(s, f, get16(mad + DR_SLID));
        return flight_deliver(s, f);
    }
    if (f->pointer > 0)
        mad[DR_RETURN_PATH + f->pointer] = f->in;
    if (f->pointer < mad[DR_HOP_COUNT])
        return leave_by(s, f, mad[DR_INITIAL_PATH + ++f->pointer]);
    if (ends_by_lid(mad))
        return go_by_lid(s, f, get16(mad + DR_DLID));
    return flight_deliver(s, f);
}

enum flight_state direct_arrived(struct sim *s, struct flight *f)
{
    const uint8_t *mad = f->p.mad;
    bool back = direct_is_return(f);
    bool before = back ? f->pointer == mad[DR_HOP_COUNT] && ends_by_lid(mad)
                       : f->pointer == 0 && starts_by_lid(mad);
    if (!before || mad[DR_HOP_COUNT] == 0)
        return flight_deliver(s, f);
    go_directed(f);
    f->hops = 0;
    return FLIGHT_GOES;
}
