/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast: at each switch a copy by every port of the MLID's entry but the one it came by (IBA
 * 18.2.4.3.3). A burst keeps what its copies share, so that one that arrives twice is known. */
#include "sim/core/flight.h"
#include "sim/core/ping.h"

/* Copies of one packet: tables with loops make them without end. A tree has one a link, and a link
 * for each node. */
#define MAX_COPIES 65536u
#define SPARE_COPIES 1024u

static gint64 key_of(uint32_t node, unsigned port)
{
    return (gint64)node << 8 | port;
}

static bool has_reached(const struct burst *b, uint32_t node, unsigned port)
{
    gint64 key = key_of(node, port);
    return g_hash_table_contains(b->reached, &key);
}

static void add_reached(struct burst *b, uint32_t node, unsigned port)
{
    gint64 key = key_of(node, port);
    g_hash_table_add(b->reached, g_memdup2(&key, sizeof key));
}

struct burst *burst_new(struct sim *s, const struct flight *f)
{
    struct burst *b = g_new0(struct burst, 1);
    b->refs = 1;
    b->limit = MIN(MAX_COPIES, 2 * s->node_count + SPARE_COPIES);
    b->p = f->p;
    b->kind = f->kind;
    b->why = SIM_DROP_COUNT;
    b->reached = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    add_reached(b, f->node, f->in);
    return b;
}

void burst_unref(struct sim *s, struct burst *b)
{
    if (--b->refs > 0)
        return;
    if (s && b->kind == SIM_KIND_PING)
        sim_ping_burst(s, &b->p, b->reached, b->doubled, b->why, b->lost_node, b->lost_port);
    g_hash_table_destroy(b->reached);
    g_free(b);
}

static enum flight_state reach(struct sim *s, struct flight *f, unsigned port)
{
    enum flight_state state = FLIGHT_ENDED;
    if (has_reached(f->burst, f->node, port)) {
        s->doubled++;
        f->burst->doubled++;
        return FLIGHT_ENDED;
    }
    if (!keys_allow(s, f, &state))
        return state;
    add_reached(f->burst, f->node, port);
    return flight_deliver(s, f);
}

/* Copies run to their end, or to sleep, one after the other. */
static bool send_copies(struct sim *s, struct flight *f, const uint64_t mask[4])
{
    struct burst *b = f->burst;
    for (unsigned port = 1; port <= s->nodes[f->node].nports; port++) {
        if (!(mask[port / 64] >> (port % 64) & 1) || port == f->in)
            continue;
        if (b->exhausted || ++b->copies > b->limit) {
            b->exhausted = true;
            return false;
        }
        struct flight twin = *f;
        twin.heap = twin.buffered = false;
        twin.timer = NULL;
        twin.held_at = NULL;
        twin.out = (uint8_t)port;
        twin.step = STEP_LEAVE;
        flight_run(s, &twin);
    }
    return true;
}

enum { /* SwitchInfo bytes */
       DEFAULT_PRIMARY = 9,
       DEFAULT_NOT_PRIMARY = 10,
};

/* An MLID beyond the table goes to the default multicast port: the primary one, or the other one if
 * it came by that (IBA 14.2.5.4, 18.2.4.3.3). 0, the value of a power-up, and 255 are none. */
static unsigned default_port(const struct sim_node *n, const struct flight *f)
{
    const uint8_t *info = n->sw->info;
    unsigned top = get16(info + 18),
             last = SIM_FIRST_MLID + get16(info + 4) - 1; /* MulticastFDBCap */
    if (f->p.dlid <= (top ? MIN(top, last) : last))
        return 0;
    unsigned port =
        info[DEFAULT_PRIMARY] == f->in ? info[DEFAULT_NOT_PRIMARY] : info[DEFAULT_PRIMARY];
    return port <= n->nports && port != f->in ? port : 0;
}

enum flight_state multicast_route(struct sim *s, struct flight *f)
{
    const struct sim_node *n = &s->nodes[f->node];
    if (!n->sw && !f->origin)
        return reach(s, f, f->in);
    if (!n->sw) {
        f->out = f->in;
        f->step = STEP_LEAVE;
        return FLIGHT_GOES;
    }
    uint64_t mask[4];
    sim_mft(s, f->node, f->p.dlid, mask);
    unsigned out = default_port(n, f);
    mask[out / 64] |= out ? 1ull << (out % 64) : 0;
    if (!(mask[0] | mask[1] | mask[2] | mask[3])) {
        if (f->in > 0)
            sim_count(s, f->node, f->in, SIM_CNT_RCV_SWITCH_RELAY_ERRORS, 1);
        return flight_drop(s, f, SIM_DROP_NO_ENTRY, f->in);
    }
    if ((mask[0] & 1) && !f->origin) { /* the switch itself is a member; its copy is one more */
        struct flight own = *f;
        own.heap = own.buffered = false;
        own.timer = NULL;
        reach(s, &own, 0);
    }
    if (!send_copies(s, f, mask))
        return flight_drop(s, f, SIM_DROP_LOOP, f->in);
    return FLIGHT_ENDED;
}
