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
#define ECHO 8 /* byte of the packet */
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
    bool received, answered;
};

struct stream {
    unsigned number;
    struct sim_ping_spec spec;
    struct sim_ping_result result;
    struct sim_timer *timer; /* NULL = it sends no more */
    uint32_t next;           /* sequence number */
    GHashTable *open;        /* sequence number -> struct way */
    GHashTable *members;     /* of a multicast stream: ports that were reached once */
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
    if (t->members)
        g_hash_table_destroy(t->members);
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

static void answered(struct sim *s, struct stream *t)
{
    struct sim_ping_result *r = &t->result;
    r->answered++;
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
    t->timer = sim_timer_at(s, s->now + NS_PER_SECOND / t->spec.rate, tick, arg);
    if (t->spec.count && t->result.sent + 1 >= t->spec.count)
        end(s, t);
    send_one(s, t);
}

static bool has_port(const struct sim *s, uint32_t node, unsigned port)
{
    return node < s->node_count && port <= s->nodes[node].nports &&
           (s->nodes[node].sw ? port == 0 : port > 0);
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
        t->members = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    t->last_answer = s->now;
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
    if (t)
        *r = t->result;
    return t != NULL;
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

static void echo(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p)
{
    struct sim_packet back = *p;
    back.dlid = p->slid;
    back.slid = p->dlid;
    back.mad[ECHO] = 1;
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
        t->result.doubled += w->received;
        w->received = true;
        echo(s, node, port, p);
        return;
    }
    if (!w->answered)
        answered(s, t);
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

/* A port that an earlier packet reached and this one did not: the least in (node, port), so that it
 * does not depend on hashing; -1 = none. New ports become members. */
static gint64 compare_members(struct stream *t, GHashTable *reached)
{
    GHashTableIter iter;
    gpointer key;
    gint64 missing = -1;
    g_hash_table_iter_init(&iter, t->members);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        gint64 member = *(gint64 *)key;
        if (!g_hash_table_contains(reached, key) && (missing < 0 || member < missing))
            missing = member;
    }
    g_hash_table_iter_init(&iter, reached);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        if (!g_hash_table_contains(t->members, key))
            g_hash_table_add(t->members, g_memdup2(key, sizeof(gint64)));
    return missing;
}

void sim_ping_burst(struct sim *s, const struct sim_packet *p, GHashTable *reached,
                    uint64_t doubled, enum sim_drop why, uint32_t node, unsigned port)
{
    uint32_t sequence;
    struct stream *t = stream_of(s, p, &sequence);
    if (!t || !t->members)
        return;
    t->result.doubled += doubled;
    gint64 missing = compare_members(t, reached);
    if (why != SIM_DROP_COUNT)
        lose(s, t, sequence, why, node, port);
    else if (missing >= 0)
        lose(s, t, sequence, SIM_DROP_NO_ENTRY, (uint32_t)(missing >> 8), missing & 0xff);
    else
        answered(s, t);
}
