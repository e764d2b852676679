/* SPDX-License-Identifier: BSD-2-Clause */
/* Flights: their start, their steps, sleep and end. */
#include "sim/core/flight.h"

#include "sim/core/ping.h"

/* A packet's delivery may send another one (a trap, a host's next request). Beyond this depth it
 * starts by a timer, so that no exchange of packets can use up the stack. */
#define MAX_DEPTH 8u
/* Flights that sleep: clients that send faster than processors work must not fill the memory. */
#define MAX_ASLEEP 262144u

struct sim_flights *sim_flights_create(void)
{
    struct sim_flights *all = g_new0(struct sim_flights, 1);
    g_queue_init(&all->asleep);
    all->held = g_hash_table_new(g_direct_hash, g_direct_equal);
    return all;
}

static void free_flight(struct sim *s, struct flight *f)
{
    if (f->burst)
        burst_unref(s, f->burst);
    g_free(f);
}

void sim_flights_destroy(struct sim_flights *all)
{
    if (!all)
        return;
    for (GList *l = g_queue_pop_head_link(&all->asleep); l; l = g_queue_pop_head_link(&all->asleep))
        free_flight(NULL, l->data);
    g_hash_table_unref(all->held);
    g_free(all);
}

bool flight_crowded(const struct sim *s)
{
    return s->flights->asleep.length >= MAX_ASLEEP;
}

unsigned sim_transit_count(const struct sim *s)
{
    return s->flights->asleep.length;
}

/* -- steps -- */

static enum flight_state route(struct sim *s, struct flight *f)
{
    if (f->directed)
        return direct_route(s, f);
    return f->burst ? multicast_route(s, f) : lid_route(s, f);
}

/* SMPs of this node, and directed ones that it passes on, are work for its processor, which takes
 * them one by one in the order of their arrival. Those that wait take room in its buffer. */
static enum flight_state arrive(struct sim *s, struct flight *f)
{
    struct sim_node *n = &s->nodes[f->node];
    f->step = STEP_ROUTE;
    if (!n->service_ns || !f->vl15)
        return FLIGHT_GOES;
    if (f->directed ? !direct_needs_processor(f) : !lid_needs_processor(s, f))
        return FLIGHT_GOES;
    if ((n->vl15_size && n->vl15_used >= n->vl15_size) || flight_crowded(s)) {
        sim_count(s, f->node, f->in, SIM_CNT_VL15_DROPPED, 1);
        return flight_drop(s, f, SIM_DROP_BUFFER, f->in);
    }
    n->vl15_used++;
    n->busy_until = MAX(n->busy_until, s->now) + n->service_ns;
    flight_sleep(s, f, n->busy_until, STEP_ROUTE)->buffered = true;
    return FLIGHT_SLEEPS;
}

void flight_run(struct sim *s, struct flight *f)
{
    enum flight_state state;
    do {
        switch (f->step) {
        case STEP_ARRIVE:
            state = arrive(s, f);
            break;
        case STEP_ROUTE:
            state = route(s, f);
            break;
        case STEP_LEAVE:
            state = flight_leave(s, f);
            break;
        default:
            state = flight_cross(s, f);
            break;
        }
    } while (state == FLIGHT_GOES);
    if (state == FLIGHT_ENDED && f->heap)
        free_flight(s, f);
}

/* -- sleep -- */

/* Takes a flight out of what it waits in; its timer is gone or fires now. */
static void leave_bed(struct sim *s, struct flight *f)
{
    struct sim_node *n = &s->nodes[f->node];
    g_queue_unlink(&s->flights->asleep, &f->link);
    if (f->held_at)
        g_hash_table_remove(s->flights->held, f->held_at);
    if (f->buffered && n->vl15_used)
        n->vl15_used--;
    f->held_at = NULL;
    f->buffered = false;
    f->timer = NULL;
}

static void wake(struct sim *s, void *arg)
{
    struct flight *f = arg;
    leave_bed(s, f);
    flight_run(s, f);
}

struct flight *flight_sleep(struct sim *s, struct flight *f, int64_t at, enum flight_step step)
{
    if (!f->heap) {
        f = g_memdup2(f, sizeof *f);
        f->heap = true;
        if (f->burst)
            f->burst->refs++;
    }
    f->step = step;
    f->link = (GList){.data = f};
    g_queue_push_tail_link(&s->flights->asleep, &f->link);
    f->timer = sim_timer_at(s, at, wake, f);
    return f;
}

void flight_wake_at(struct sim *s, struct flight *f, int64_t at)
{
    sim_timer_cancel(s, f->timer);
    f->timer = sim_timer_at(s, at, wake, f);
}

/* -- start -- */

/* What the sender leaves open, as its hardware would fill it in. The lower bits of the SLID may
 * choose one of the port's LIDs; all others are the port's. */
static void fill_in(struct sim *s, struct flight *f)
{
    struct sim_port *end = sim_end_port(s, f->node, f->in);
    unsigned mask = (1u << (end->info[34] & 0x07)) - 1; /* LMC */
    struct sim_packet *p = &f->p;
    if (p->dlid == SIM_LID_PERMISSIVE)
        p->slid = SIM_LID_PERMISSIVE;
    else
        p->slid = (uint16_t)((sim_lid(end) & ~mask) | (p->slid & mask));
    if (f->vl15)
        return;
    if (!p->pkey)
        p->pkey = sim_pkey(s, f->node, end->number, 0);
    if (!p->qkey)
        p->qkey = SIM_GSI_QKEY;
}

static bool valid(const struct flight *f)
{
    const struct sim_packet *p = &f->p;
    if (f->kind == SIM_KIND_PING)
        return p->dlid != SIM_LID_PERMISSIVE;
    if (p->mad[MAD_CLASS] == SIM_CLASS_DIRECTED)
        return f->vl15 && direct_valid(p);
    if (f->vl15 && p->dlid >= SIM_FIRST_MLID)
        return false;
    return p->dlid != SIM_LID_PERMISSIVE;
}

static void start(struct sim *s, struct flight *f)
{
    if (!s->nodes[f->node].powered) {
        flight_drop(s, f, SIM_DROP_POWER, f->in);
        return;
    }
    if (f->kind == SIM_KIND_AGENT && s->nodes[f->node].ports[f->in].mute) {
        flight_drop(s, f, SIM_DROP_MUTE, f->in);
        return;
    }
    if (!valid(f)) {
        flight_drop(s, f, SIM_DROP_MALFORMED, f->in);
        return;
    }
    fill_in(s, f);
    if (!f->vl15 && !(f->p.pkey & 0x7fff)) { /* IBA 10.9.1.2: such an entry cannot be used */
        flight_drop(s, f, SIM_DROP_PKEY, f->in);
        return;
    }
    if (f->vl15 && f->p.mad[MAD_CLASS] == SIM_CLASS_DIRECTED)
        direct_start(f);
    struct burst *b = f->p.dlid >= SIM_FIRST_MLID && !f->directed ? burst_new(s, f) : NULL;
    f->burst = b;
    flight_run(s, f);
    if (b)
        burst_unref(s, b);
}

static void start_later(struct sim *s, void *arg)
{
    struct flight *f = arg;
    struct flight again = *f;
    g_queue_unlink(&s->flights->asleep, &f->link);
    g_free(f);
    again.timer = NULL;
    again.heap = false;
    s->flights->depth++;
    start(s, &again);
    s->flights->depth--;
}

void sim_transit_send(struct sim *s, uint32_t node, unsigned port, enum sim_kind kind,
                      const struct sim_packet *p)
{
    struct flight f;
    f.p = *p;
    f.kind = kind;
    f.step = STEP_ARRIVE;
    f.node = node;
    f.in = s->nodes[node].sw ? 0 : (uint8_t)port;
    f.out = f.pointer = f.hops = 0;
    f.origin = true;
    f.directed = f.copy = f.heap = f.buffered = false;
    f.vl15 = kind != SIM_KIND_PING && p->dqp == 0;
    f.matched = 0;
    f.burst = NULL;
    f.held_at = NULL;
    f.timer = NULL;
    if (s->flights->depth >= MAX_DEPTH) {
        if (flight_crowded(s)) {
            flight_drop(s, &f, SIM_DROP_BUFFER, f.in);
            return;
        }
        struct flight *later = flight_sleep(s, &f, s->now, STEP_ARRIVE);
        sim_timer_cancel(s, later->timer);
        later->timer = sim_timer_at(s, s->now, start_later, later);
        return;
    }
    s->flights->depth++;
    start(s, &f);
    s->flights->depth--;
}

/* -- end -- */

const char *sim_drop_name(enum sim_drop why)
{
    static const char *const names[SIM_DROP_COUNT] = {
        [SIM_DROP_MALFORMED] = "malformed",
        [SIM_DROP_LINK_DOWN] = "link-down",
        [SIM_DROP_NO_ENTRY] = "no-entry",
        [SIM_DROP_BAD_PORT] = "bad-port",
        [SIM_DROP_LOOP] = "loop",
        [SIM_DROP_NOT_FOR_US] = "not-for-us",
        [SIM_DROP_VL] = "vl",
        [SIM_DROP_PKEY] = "pkey",
        [SIM_DROP_QKEY] = "qkey",
        [SIM_DROP_MKEY] = "mkey",
        [SIM_DROP_BUFFER] = "buffer",
        [SIM_DROP_DISTURBED] = "disturbed",
        [SIM_DROP_MUTE] = "mute",
        [SIM_DROP_POWER] = "power",
        [SIM_DROP_UNCLAIMED] = "unclaimed",
    };
    return (unsigned)why < SIM_DROP_COUNT && names[why] ? names[why] : "unknown";
}

void sim_drop(struct sim *s, enum sim_kind kind, const struct sim_packet *p, enum sim_drop why,
              uint32_t node, unsigned port)
{
    s->drops[why]++;
    if (kind == SIM_KIND_PING)
        sim_ping_dropped(s, p, why, node, port);
    else if (kind == SIM_KIND_CLIENT && s->hooks.lost)
        s->hooks.lost(s->hooks.user, p);
}

enum flight_state flight_drop(struct sim *s, struct flight *f, enum sim_drop why, unsigned port)
{
    struct burst *b = f->burst;
    if (b && b->why == SIM_DROP_COUNT) {
        b->why = why;
        b->lost_node = f->node;
        b->lost_port = port;
    }
    if (b || (f->copy && f->kind != SIM_KIND_PING))
        s->drops[why]++;
    else
        sim_drop(s, f->kind, &f->p, why, f->node, port);
    return FLIGHT_ENDED;
}

void sim_transit_lose_node(struct sim *s, uint32_t node)
{
    g_autoptr(GPtrArray) lost = g_ptr_array_new();
    for (GList *l = s->flights->asleep.head; l; l = l->next)
        if (((struct flight *)l->data)->node == node)
            g_ptr_array_add(lost, l->data);
    for (guint i = 0; i < lost->len; i++) {
        struct flight *f = lost->pdata[i];
        sim_timer_cancel(s, f->timer);
        leave_bed(s, f);
        flight_drop(s, f, SIM_DROP_POWER, f->in);
        free_flight(s, f);
    }
    s->nodes[node].busy_until = s->now;
}
