/* SPDX-License-Identifier: BSD-2-Clause */
/* From one node to the next: the checks at the port that a packet leaves by, what disturbs it on
 * the way, and its arrival at the other end. */
#include "sim/agents/agent.h"
#include "sim/core/flight.h"
#include "sim/core/ping.h"

/* LRH 8, BTH 12, DETH 8, the MAD and the ICRC 4, in words of 4 bytes (IBA 16.1.3.5) */
#define PACKET_WORDS ((8u + 12u + 8u + SIM_MAD_BYTES + 4u) / 4u)
#define HOLD_NS 10000000 /* how long a packet waits at most for one that passes it */

static bool link_passes(struct sim *s, const struct flight *f)
{
    const struct sim_port *port = sim_port(s, f->node, f->out);
    return port->peer_node != SIM_NONE && sim_link_carries(s, f->node, f->out, f->vl15) &&
           s->nodes[port->peer_node].powered;
}

/* OperationalVLs: VL0, VL0-1, VL0-3, VL0-7, VL0-14 (IBA 14.2.5.6) */
static unsigned operational_vls(const struct sim_port *p)
{
    static const uint8_t vls[] = {1, 1, 2, 4, 8, 15};
    unsigned code = p->info[43] >> 4;
    return vls[MIN(code, G_N_ELEMENTS(vls) - 1)];
}

/* SL2VL (IBA 14.2.5.8) of the port that it leaves by, for the port that it came by. VL 15 there
 * means: discard, as does a VL that the port does not run (IBA 7.6.6). What a port without a table
 * does is up to it; it discards nothing. */
static bool has_vl(struct sim *s, const struct flight *f)
{
    const struct sim_node *n = &s->nodes[f->node];
    const uint8_t *table = n->ports[f->out].sl2vl;
    if (!table || f->vl15)
        return true;
    unsigned sl = f->p.sl & 0x0f;
    uint8_t pair = table[(n->sw ? f->in * 8u : 0) + sl / 2];
    return (sl % 2 ? pair & 0x0fu : pair >> 4) < operational_vls(&n->ports[f->out]);
}

static void count_packet(struct sim *s, const struct flight *f, unsigned port, bool leaves)
{
    struct sim_port *p = sim_port(s, f->node, port);
    if (!p->counters)
        p->counters = g_new0(uint64_t, SIM_CNT_COUNT);
    uint64_t *c = p->counters;
    if (leaves) {
        c[SIM_CNT_XMIT_DATA] += PACKET_WORDS;
        c[SIM_CNT_XMIT_PKTS]++;
        c[f->burst ? SIM_CNT_MULTICAST_XMIT_PKTS : SIM_CNT_UNICAST_XMIT_PKTS]++;
    } else {
        c[SIM_CNT_RCV_DATA] += PACKET_WORDS;
        c[SIM_CNT_RCV_PKTS]++;
        c[f->burst ? SIM_CNT_MULTICAST_RCV_PKTS : SIM_CNT_UNICAST_RCV_PKTS]++;
    }
}

/* -- disturbances -- */

static bool chance(struct sim *s, uint32_t ppm)
{
    return ppm && (uint32_t)g_rand_int_range(s->random, 0, 1000000) < ppm;
}

static int64_t delay(struct sim *s, const struct sim_disturbance *d)
{
    int64_t jitter = d->jitter_ns > 0 ? (int64_t)(g_rand_double(s->random) * d->jitter_ns) : 0;
    return MAX(d->delay_ns, 0) + jitter;
}

static void duplicate(struct sim *s, const struct flight *f, const struct sim_disturbance *d)
{
    struct flight twin = *f;
    twin.heap = false; /* so that flight_sleep makes one of its own */
    twin.copy = true;
    if (f->kind == SIM_KIND_PING && !f->burst)
        sim_ping_copied(s, &f->p);
    flight_sleep(s, &twin, s->now + delay(s, d), STEP_CROSS);
}

static enum flight_state disturb(struct sim *s, struct flight *f, struct sim_port *port)
{
    const struct sim_disturbance *d = port->disturbance;
    if (chance(s, d->loss_ppm))
        return flight_drop(s, f, SIM_DROP_DISTURBED, f->out);
    if (flight_crowded(s))
        return flight_drop(s, f, SIM_DROP_BUFFER, f->out);
    if (chance(s, d->duplicate_ppm))
        duplicate(s, f, d);
    int64_t at = s->now + delay(s, d);
    struct flight *held = g_hash_table_lookup(s->flights->held, port);
    if (!held && chance(s, d->reorder_ppm)) {
        held = flight_sleep(s, f, at + HOLD_NS, STEP_CROSS);
        held->held_at = port;
        g_hash_table_insert(s->flights->held, port, held);
        return FLIGHT_SLEEPS;
    }
    enum flight_state state = FLIGHT_GOES;
    if (at > s->now) {
        flight_sleep(s, f, at, STEP_CROSS);
        state = FLIGHT_SLEEPS;
    }
    if (held) { /* its timer comes after the one of the packet that passes it */
        g_hash_table_remove(s->flights->held, port);
        held->held_at = NULL;
        flight_wake_at(s, held, at);
    }
    return state;
}

/* -- steps -- */

enum flight_state flight_leave(struct sim *s, struct flight *f)
{
    const struct sim_node *n = &s->nodes[f->node];
    struct sim_port *port = &n->ports[f->out];
    if (!link_passes(s, f)) {
        sim_count(s, f->node, f->out, SIM_CNT_XMIT_DISCARDS, 1);
        return flight_drop(s, f, SIM_DROP_LINK_DOWN, f->out);
    }
    if (!has_vl(s, f)) { /* IBA 16.1.3.5: a switch's relay counts it at the port of arrival */
        if (n->sw && !f->origin)
            sim_count(s, f->node, f->in, SIM_CNT_RCV_SWITCH_RELAY_ERRORS, 1);
        else
            sim_count(s, f->node, f->out, SIM_CNT_XMIT_DISCARDS, 1);
        return flight_drop(s, f, SIM_DROP_VL, f->out);
    }
    if (!f->vl15 && n->sw && !keys_enforce(s, f, f->out, false))
        return flight_drop(s, f, SIM_DROP_PKEY, f->out);
    count_packet(s, f, f->out, true);
    f->step = STEP_CROSS;
    return port->disturbance ? disturb(s, f, port) : FLIGHT_GOES;
}

enum flight_state flight_cross(struct sim *s, struct flight *f)
{
    const struct sim_port *port = sim_port(s, f->node, f->out);
    /* One that slept may find the link gone. */
    if (f->heap && !link_passes(s, f))
        return flight_drop(s, f, SIM_DROP_LINK_DOWN, f->out);
    f->node = port->peer_node;
    f->in = port->peer_port;
    f->origin = false;
    count_packet(s, f, f->in, false);
    if (++f->hops > SIM_MAX_HOPS)
        return flight_drop(s, f, SIM_DROP_LOOP, f->in);
    if (!f->vl15 && s->nodes[f->node].sw && !keys_enforce(s, f, f->in, true))
        return flight_drop(s, f, SIM_DROP_PKEY, f->in);
    f->step = STEP_ARRIVE;
    return FLIGHT_GOES;
}
