/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of pings: sending, echoes, losses. A packet is known by its first 8 bytes, stream and
 * sequence number; the ninth tells an echo. */
#include "sim/core/ping.h"

#include "sim/core/timers.h"
#include "sim/core/transit.h"

#define NS_PER_SECOND 1000000000ll
#define MAX_STREAMS 1024u /* that send, and as many ended ones whose results are kept */
#define MAX_LOSSES 10000u
#define MAX_RATE 1000000u
#define ECHO 8 /* byte of the packet: */
#define ECHO_FIRST 1
#define ECHO_AGAIN 2 /* of a copy that arrived after another: the other one counted it */
#define DATA_QP 2u

struct loss {
    unsigned stream;
    uint32_t sequence;
    int64_t at;
    uint32_t node;
    unsigned port;
    enum sim_drop why;
};

struct way { /* of one packet that is not settled yet */
    unsigned copies;
    bool received, answered; /* by the first packet, whose copies are doubles */
    bool echoed;
};

struct stream {
    unsigned number;
    struct sim_ping_spec spec;
    struct sim_ping_result result;
    struct sim_timer *timer; /* NULL = it sends no more */
    uint32_t next;           /* sequence number */
    GHashTable *open;        /* sequence number -> struct way */
    GArray *switches;        /* of a multicast stream: all of the fabric, uint32_t */
    int64_t started;
    int64_t last_answer;
    bool lost_since;
};

struct sim_pings {
    GHashTable *streams; /* number -> struct stream */
    GQueue ended;        /* numbers, the oldest first */
    GQueue losses;       /* struct loss, the oldest first */
    unsigned next_number, sending;
};

static void stream_free(void *arg)
{
    struct stream *t = arg;
    g_hash_table_destroy(t->open);
    if (t->switches)
        g_array_unref(t->switches);
    g_free(t);
}

struct sim_pings *sim_pings_create(void)
{
    struct sim_pings *p = g_new0(struct sim_pings, 1);
    p->streams = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, stream_free);
    g_queue_init(&p->ended);
    g_queue_init(&p->losses);
    return p;
}

void sim_pings_destroy(struct sim_pings *p)
{
    if (!p)
        return;
    g_hash_table_destroy(p->streams);
    g_queue_clear(&p->ended);
    g_queue_clear_full(&p->losses, g_free);
    g_free(p);
}

static struct stream *find(const struct sim *s, unsigned number)
{
    return g_hash_table_lookup(s->pings->streams, GUINT_TO_POINTER(number));
}

/* The stream of a packet, and its sequence number. */
static struct stream *stream_of(const struct sim *s, const struct sim_packet *p, uint32_t *sequence)
{
    *sequence = get32(p->mad + 4);
    return find(s, get32(p->mad));
}

/* -- results -- */

static void lose(struct sim *s, struct stream *t, uint32_t sequence, enum sim_drop why,
                 uint32_t node, unsigned port)
{
    struct sim_ping_result *r = &t->result;
    struct loss l = {t->number, sequence, s->now, node, port, why};
    r->lost++;
    r->by_cause[why]++;
    r->last_loss = s->now;
    if (!r->first_loss)
        r->first_loss = s->now;
    t->lost_since = true;
    g_queue_push_tail(&s->pings->losses, g_memdup2(&l, sizeof l));
    if (s->pings->losses.length > MAX_LOSSES)
        g_free(g_queue_pop_head(&s->pings->losses));
}

static void answered(struct sim *s, struct stream *t, uint64_t ports)
{
    struct sim_ping_result *r = &t->result;
    r->answered += ports;
    if (t->lost_since)
        r->longest_gap = MAX(r->longest_gap, s->now - t->last_answer);
    t->lost_since = false;
    t->last_answer = s->now;
}

/* One copy less; the packet is settled with its last one. */
static void settle(struct sim *s, struct stream *t, uint32_t sequence, struct way *w,
                   enum sim_drop why, uint32_t node, unsigned port)
{
    if (--w->copies > 0)
        return;
    if (!w->answered)
        lose(s, t, sequence, why, node, port);
    g_hash_table_remove(t->open, GUINT_TO_POINTER(sequence));
}

/* -- sending -- */

static void end(struct sim *s, struct stream *t)
{
    struct sim_pings *p = s->pings;
    if (!t->timer)
        return;
    sim_timer_cancel(s, t->timer);
    t->timer = NULL;
    p->sending--;
    g_queue_push_tail(&p->ended, GUINT_TO_POINTER(t->number));
    if (p->ended.length > MAX_STREAMS)
        g_hash_table_remove(p->streams, g_queue_pop_head(&p->ended));
}

static void send_one(struct sim *s, struct stream *t)
{
    const struct sim_ping_spec *spec = &t->spec;
    struct sim_packet p = {
        .dqp = DATA_QP, .sqp = DATA_QP, .sl = spec->sl, .pkey = spec->pkey, .qkey = spec->qkey};
    uint32_t sequence = t->next++;
    put32(p.mad, t->number);
    put32(p.mad + 4, sequence);
    t->result.sent++;
    p.dlid = spec->mlid ? spec->mlid : sim_lid(sim_end_port(s, spec->to_node, spec->to_port));
    if (!p.dlid) { /* nobody has told the sender a LID */
        s->drops[SIM_DROP_NO_ENTRY]++;
        lose(s, t, sequence, SIM_DROP_NO_ENTRY, spec->from_node, spec->from_port);
        return;
    }
    if (!spec->mlid) {
        struct way *w = g_new0(struct way, 1);
        w->copies = 1;
        g_hash_table_insert(t->open, GUINT_TO_POINTER(sequence), w);
    }
    sim_transit_send(s, spec->from_node, spec->from_port, SIM_KIND_PING, &p);
}

static void tick(struct sim *s, void *arg)
{
    struct stream *t = find(s, GPOINTER_TO_UINT(arg));
    /* Counted from the start, so that rounding does not add up. */
    int64_t number = (int64_t)t->result.sent + 1;
    t->timer = sim_timer_at(s,
                            t->started + number / t->spec.rate * NS_PER_SECOND +
                                number % t->spec.rate * NS_PER_SECOND / t->spec.rate,
                            tick, arg);
    if (t->spec.count && t->result.sent + 1 >= t->spec.count)
        end(s, t);
    send_one(s, t);
}

static bool has_port(const struct sim *s, uint32_t node, unsigned port)
{
    return node < s->node_count && port <= s->nodes[node].nports &&
           (s->nodes[node].sw ? port == 0 : port > 0);
}

static GArray *find_switches(const struct sim *s)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].sw)
            g_array_append_val(all, i);
    return all;
}

unsigned sim_ping_start(struct sim *s, const struct sim_ping_spec *spec, char *error, size_t size)
{
    const char *why = NULL;
    if (spec->rate < 1 || spec->rate > MAX_RATE)
        why = "ping: a rate is 1 to 1000000 packets a second";
    else if (!has_port(s, spec->from_node, spec->from_port) ||
             (!spec->mlid && !has_port(s, spec->to_node, spec->to_port)))
        why = "ping: streams go between CA ports and port 0 of switches";
    else if (spec->mlid && (spec->mlid < 0xc000 || spec->mlid == SIM_LID_PERMISSIVE))
        why = "ping: a multicast LID is 0xc000 to 0xfffe";
    else if (s->pings->sending >= MAX_STREAMS)
        why = "ping: 1024 streams are running; stop one first";
    if (why) {
        g_strlcpy(error, why, size);
        return 0;
    }
    struct stream *t = g_new0(struct stream, 1);
    t->number = ++s->pings->next_number;
    t->spec = *spec;
    t->open = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    if (spec->mlid)
        t->switches = find_switches(s);
    t->last_answer = t->started = s->now;
    g_hash_table_insert(s->pings->streams, GUINT_TO_POINTER(t->number), t);
    s->pings->sending++;
    t->timer = sim_timer_at(s, s->now, tick, GUINT_TO_POINTER(t->number));
    return t->number;
}

static int by_number(const void *a, const void *b)
{
    unsigned x = GPOINTER_TO_UINT(a), y = GPOINTER_TO_UINT(b);
    return (x > y) - (x < y);
}

bool sim_ping_stop(struct sim *s, unsigned number)
{
    if (number) {
        struct stream *t = find(s, number);
        if (t)
            end(s, t);
        return t != NULL;
    }
    GList *all = g_list_sort(g_hash_table_get_keys(s->pings->streams), by_number);
    for (GList *l = all; l; l = l->next)
        if (find(s, GPOINTER_TO_UINT(l->data)))
            end(s, find(s, GPOINTER_TO_UINT(l->data)));
    g_list_free(all);
    return true;
}

bool sim_ping_result(const struct sim *s, unsigned number, struct sim_ping_result *r)
{
    const struct stream *t = find(s, number);
    if (!t)
        return false;
    *r = t->result;
    if (t->lost_since) /* an outage that may last */
        r->longest_gap = MAX(r->longest_gap, r->last_loss - t->last_answer);
    return true;
}

unsigned sim_ping_count(const struct sim *s)
{
    return s->pings->sending;
}

void sim_ping_losses(const struct sim *s, unsigned number, GString *out)
{
    for (const GList *at = s->pings->losses.head; at; at = at->next) {
        const struct loss *l = at->data;
        if (number && l->stream != number)
            continue;
        g_string_append_printf(out, "ping %u %u %" G_GINT64_FORMAT " lost at %s %s\n", l->stream,
                               l->sequence, l->at, sim_port_name(s, l->node, l->port),
                               sim_drop_name(l->why));
    }
}

/* -- what transit tells -- */

void sim_ping_copied(struct sim *s, const struct sim_packet *p)
{
    uint32_t sequence;
    struct stream *t = stream_of(s, p, &sequence);
    struct way *w = t ? g_hash_table_lookup(t->open, GUINT_TO_POINTER(sequence)) : NULL;
    if (w)
        w->copies++;
}

static void echo(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p,
                 bool again)
{
    struct sim_packet back = *p;
    back.dlid = p->slid;
    back.slid = p->dlid;
    back.mad[ECHO] = again ? ECHO_AGAIN : ECHO_FIRST;
    sim_transit_send(s, node, port, SIM_KIND_PING, &back);
}

void sim_ping_arrived(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p)
{
    uint32_t sequence;
    struct stream *t = stream_of(s, p, &sequence);
    struct way *w = t ? g_hash_table_lookup(t->open, GUINT_TO_POINTER(sequence)) : NULL;
    bool is_echo = p->mad[ECHO];
    if (!w)
        return;
    bool right = is_echo ? node == t->spec.from_node && port == t->spec.from_port
                         : node == t->spec.to_node && port == t->spec.to_port;
    if (!right) { /* somebody else has that LID as well */
        s->drops[SIM_DROP_NOT_FOR_US]++;
        settle(s, t, sequence, w, SIM_DROP_NOT_FOR_US, node, port);
        return;
    }
    if (!is_echo) {
        bool again = w->received;
        t->result.doubled += again;
        w->received = true;
        echo(s, node, port, p, again);
        return;
    }
    if (p->mad[ECHO] == ECHO_FIRST) {
        t->result.doubled += w->echoed;
        w->echoed = true;
    }
    if (!w->answered)
        answered(s, t, 1);
    w->answered = true;
    settle(s, t, sequence, w, SIM_DROP_COUNT, node, port);
}

void sim_ping_dropped(struct sim *s, const struct sim_packet *p, enum sim_drop why, uint32_t node,
                      unsigned port)
{
    uint32_t sequence;
    struct stream *t = stream_of(s, p, &sequence);
    struct way *w = t ? g_hash_table_lookup(t->open, GUINT_TO_POINTER(sequence)) : NULL;
    if (w)
        settle(s, t, sequence, w, why, node, port);
}

/* -- multicast -- */

struct coverage { /* of one packet */
    GHashTable *reached;
    uint32_t sequence;
    enum sim_drop why;
    uint64_t missing;
};

static void check_reached(struct sim *s, struct stream *t, struct coverage *c, uint32_t node,
                          unsigned port)
{
    gint64 key = (gint64)node << 8 | port;
    if (g_hash_table_contains(c->reached, &key))
        return;
    c->missing++;
    lose(s, t, c->sequence, c->why, node, port);
}

/* The members are the ports behind this switch's ports in the entry of the MLID, if they have
 * power, and the switch's own port 0. */
static void check_switch(struct sim *s, struct stream *t, struct coverage *c, uint32_t node)
{
    const struct sim_node *n = &s->nodes[node];
    uint64_t mask[4];
    if (!n->powered)
        return;
    sim_mft(s, node, t->spec.mlid, mask);
    if (mask[0] & 1)
        check_reached(s, t, c, node, 0);
    for (unsigned p = 1; p <= n->nports; p++) {
        uint32_t peer = n->ports[p].peer_node;
        if (!(mask[p / 64] >> (p % 64) & 1) || peer == SIM_NONE)
            continue;
        if (!s->nodes[peer].sw && s->nodes[peer].powered)
            check_reached(s, t, c, peer, n->ports[p].peer_port);
    }
}

void sim_ping_burst(struct sim *s, const struct sim_packet *p, GHashTable *reached,
                    uint64_t doubled, enum sim_drop why, uint32_t node, unsigned port)
{
    uint32_t sequence;
    struct stream *t = stream_of(s, p, &sequence);
    if (!t || !t->switches)
        return;
    struct coverage c = {.reached = reached, .sequence = sequence};
    uint64_t others = g_hash_table_size(reached) - 1; /* without the sender */
    c.why = why == SIM_DROP_COUNT ? SIM_DROP_NO_ENTRY : why;
    t->result.doubled += doubled;
    for (guint i = 0; i < t->switches->len; i++)
        check_switch(s, t, &c, g_array_index(t->switches, uint32_t, i));
    if (!c.missing && !others && why != SIM_DROP_COUNT) /* it got nowhere near any member */
        lose(s, t, sequence, why, node, port);
    else if (!c.missing)
        answered(s, t, others);
    else
        t->result.answered += others;
}
