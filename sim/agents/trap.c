/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices: their queue at a port, and the Traps that tell them (IBA 13.4.8, 13.4.9). */
#include "sim/agents/trap.h"

#include <string.h>

#include "sim/agents/agent.h"
#include "sim/agents/link.h"

#define METHOD_TRAP 0x05u
#define CLASS_SUBN_LID_ROUTED 0x01u
#define ATTR_NOTICE 0x0002u
#define NOTICE_AT 64u /* in the SMP */
#define NOTICE_BYTES 64u
#define NOTICE_HEAD 6u /* generic bit, type, producer, number */
#define DETAILS_AT 10u
#define DETAILS_BYTES 54u
#define GENERIC 0x80u
#define EMPTY_NOTICE 0x7fu
#define TOGGLE 0x8000u
#define STATUS_UNSUPPORTED 0x000cu /* method and attribute together */
#define STATUS_INVALID 0x001cu

enum notice_type { URGENT = 1, SECURITY = 2, INFORMATIONAL = 4 };

struct notice {
    uint32_t tid;
    bool sent;
    uint64_t age; /* the oldest has the smallest */
    bool again;   /* it happened once more after it was sent */
    uint8_t data[NOTICE_BYTES];
};

struct sim_port_traps *sim_port_traps(struct sim_port *p)
{
    if (!p->traps) {
        p->traps = g_new0(struct sim_port_traps, 1);
        g_queue_init(&p->traps->pending);
    }
    return p->traps;
}

void sim_port_traps_tidy(struct sim_port *p)
{
    const struct sim_port_traps *t = p->traps;
    if (!t || t->timer || t->training || t->command || t->overflowed || t->toggle ||
        !g_queue_is_empty((GQueue *)&t->pending))
        return;
    g_free(p->traps);
    p->traps = NULL;
}

unsigned sim_traps_pending(const struct sim_port *p)
{
    return p->traps ? p->traps->pending.length : 0;
}

uint64_t sim_traps_overflowed(const struct sim_port *p)
{
    return p->traps ? p->traps->overflowed : 0;
}

/* 4.096 us * 2^SubnetTimeOut (IBA 14.2.5.6), within bounds that suit a simulation. */
static int64_t interval(const struct sim_port *p)
{
    int64_t ns = 4096LL << (p->info[51] & 0x1f);
    return CLAMP(ns, SIM_TRAP_MIN_NS, SIM_TRAP_MAX_NS);
}

static void send_trap(struct sim *s, uint32_t node, struct sim_port *p, const struct notice *n)
{
    struct sim_packet packet = {
        .dlid = get16(p->info + 18), .slid = sim_lid(p), .sl = p->info[36] & 0x0f};
    if (!packet.dlid || !packet.slid || p->mute)
        return;
    packet.mad[0] = 1; /* BaseVersion */
    packet.mad[1] = CLASS_SUBN_LID_ROUTED;
    packet.mad[2] = 1; /* ClassVersion */
    packet.mad[3] = METHOD_TRAP;
    put64(packet.mad + 8, n->tid);
    put16(packet.mad + 16, ATTR_NOTICE);
    memcpy(packet.mad + NOTICE_AT, n->data, NOTICE_BYTES);
    put16(packet.mad + NOTICE_AT + 6, sim_lid(p)); /* IssuerLID */
    sim_transit_send(s, node, p->number, SIM_KIND_AGENT, &packet);
}

/* The next notice has its turn, and the port is silent for an interval. */
static void turn(struct sim *s, void *key)
{
    uint32_t node = sim_key_node(key);
    struct sim_port *p = sim_port(s, node, sim_key_port(key));
    struct sim_port_traps *t = p->traps;
    t->timer = NULL;
    bool traps = sim_capability_mask(p) & SIM_CAP_TRAP;
    struct notice *n = traps ? g_queue_pop_head(&t->pending) : NULL;
    if (!n) {
        sim_port_traps_tidy(p);
        return;
    }
    n->sent = true;
    n->again = false;
    t->timer = sim_timer_at(s, s->now + interval(p), turn, key);
    struct notice sending = *n;
    g_queue_push_tail(&t->pending, n);
    send_trap(s, node, p, &sending); /* last: the answer may come from within */
}

/* -- notices -- */

static enum notice_type type_of(unsigned number)
{
    if (number >= 256)
        return SECURITY;
    return number >= 144 ? INFORMATIONAL : URGENT;
}

static bool supported(const struct sim_port *end, unsigned number)
{
    uint32_t cap = sim_capability_mask(end);
    if (number == 259 && !(cap & SIM_CAP_PKEY_EXTERNAL_PORT_TRAP))
        return false;
    return cap & (SIM_CAP_TRAP | SIM_CAP_NOTICE);
}

/* The same event, pending already: told once more only where the manager may have looked before. */
static bool is_pending(struct sim_port_traps *t, const struct notice *n)
{
    for (GList *l = t->pending.head; l; l = l->next) {
        struct notice *old = l->data;
        if (memcmp(old->data, n->data, NOTICE_BYTES) != 0)
            continue;
        old->again = old->sent;
        return true;
    }
    return false;
}

/* Behind the other new ones, before those that were sent. */
static void queue_new(struct sim_port_traps *t, struct notice *n)
{
    GList *l = t->pending.head;
    while (l && !((struct notice *)l->data)->sent)
        l = l->next;
    if (l)
        g_queue_insert_before(&t->pending, l, n);
    else
        g_queue_push_tail(&t->pending, n);
}

static uint32_t new_tid(struct sim *s)
{
    return g_rand_int(s->random) | 1; /* never 0 */
}

void sim_trap(struct sim *s, uint32_t node, unsigned port, unsigned number,
              const uint8_t details[54])
{
    struct sim_port *end = sim_end_port(s, node, port);
    if (s->traps_off || !s->nodes[node].powered || !sim_lid(end) || !get16(end->info + 18) ||
        !supported(end, number))
        return;
    struct sim_port_traps *t = sim_port_traps(end);
    struct notice n = {0};
    n.data[0] = (uint8_t)(GENERIC | type_of(number));
    n.data[3] = s->nodes[node].type; /* ProducerType, as NodeType */
    put16(n.data + 4, (uint16_t)number);
    put16(n.data + 6, sim_lid(end));
    memcpy(n.data + DETAILS_AT, details, DETAILS_BYTES);
    if (is_pending(t, &n))
        return;
    if (t->pending.length >= SIM_TRAP_QUEUE) {
        t->overflowed++;
        return;
    }
    n.tid = new_tid(s);
    n.age = t->raised++;
    queue_new(t, g_memdup2(&n, sizeof n));
    if (!t->timer && sim_capability_mask(end) & SIM_CAP_TRAP)
        t->timer = sim_timer_at(s, s->now, turn, sim_port_key(node, end->number));
}

/* IBA 13.4.9: a TrapRepress has the transaction id of its Trap. Simulators and kernels put marks of
 * their own into the upper half on the way, so the lower one decides, and the notice. */
void sim_trap_repressed(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p)
{
    struct sim_port_traps *t = sim_end_port(s, node, port)->traps;
    if (!t || get16(p->mad + 16) != ATTR_NOTICE)
        return;
    for (GList *l = t->pending.head; l; l = l->next) {
        struct notice *n = l->data;
        if (!n->sent || n->tid != get32(p->mad + 12) ||
            memcmp(n->data, p->mad + NOTICE_AT, NOTICE_HEAD) != 0)
            continue;
        g_queue_delete_link(&t->pending, l);
        if (n->again) {
            n->tid = new_tid(s);
            n->sent = false;
            n->again = false;
            queue_new(t, n);
        } else {
            g_free(n);
        }
        return; /* the turn that comes tidies up */
    }
}

static void forget(struct sim *s, struct sim_port *p)
{
    struct sim_port_traps *t = p->traps;
    if (!t)
        return;
    sim_timer_cancel(s, t->timer);
    t->timer = NULL;
    sim_timer_cancel(s, t->command);
    t->command = NULL;
    g_queue_clear_full(&t->pending, g_free);
    t->overflowed = 0;
    t->toggle = false;
    sim_port_traps_tidy(p);
}

void sim_traps_forget(struct sim *s, uint32_t node)
{
    for (unsigned i = 0; i <= s->nodes[node].nports; i++)
        forget(s, sim_port(s, node, i));
}

void sim_traps_free(struct sim_port *p)
{
    if (!p->traps)
        return;
    g_queue_clear_full(&p->traps->pending, g_free);
    g_free(p->traps);
    p->traps = NULL;
}

/* -- the attribute Notice (IBA 14.2.5.1): the queue, for managers that poll -- */

/* Traps take turns, so the oldest may be anywhere. */
static GList *oldest(const struct sim_port_traps *t)
{
    GList *found = t ? t->pending.head : NULL;
    for (GList *l = found; l; l = l->next)
        if (((struct notice *)l->data)->age < ((struct notice *)found->data)->age)
            found = l;
    return found;
}

static void show_head(const struct sim_port_traps *t, uint8_t data[64])
{
    const GList *head = oldest(t);
    memset(data, 0, 64);
    if (!head) {
        data[0] = GENERIC | EMPTY_NOTICE;
        put16(data + 8, t && t->toggle ? TOGGLE : 0);
        return;
    }
    const struct notice *n = head->data;
    memcpy(data, n->data, NOTICE_BYTES);
    put16(data + 8, (uint16_t)(t->pending.length | (t->toggle ? TOGGLE : 0)));
}

uint16_t sim_sma_notice(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                        uint8_t data[64])
{
    struct sim_port *end = sim_end_port(s, node, port);
    if (!(sim_capability_mask(end) & SIM_CAP_NOTICE))
        return STATUS_UNSUPPORTED;
    if (modifier)
        return STATUS_INVALID;
    struct sim_port_traps *t = end->traps;
    /* A Set with the head's toggle bit takes the head away (IBA 13.4.8.2). */
    GList *head = oldest(t);
    if (set && head && !(get16(data + 8) & TOGGLE) == !t->toggle) {
        g_free(head->data);
        g_queue_delete_link(&t->pending, head);
        t->toggle = !t->toggle;
    }
    show_head(t, data);
    return 0;
}
