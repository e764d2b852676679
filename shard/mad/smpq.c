/* SPDX-License-Identifier: BSD-2-Clause */
/* Outstanding SMPs: windows, time-outs and retries.
 *
 * An entry (one request) is in exactly one place: waiting at its target, out, or in the list of
 * those that a running call has yet to complete. Targets that have something to send and room for
 * it stand in one of three trees ("lanes") ordered by their first entry, so that the next request
 * to go is found in O(log targets) and the order of submission holds between targets. Targets that
 * have just timed out stand in the slow lane, which may fill a part of the window only while others
 * wait; those that never answered yet must leave a part of it to those that did: hundreds of mute
 * ports so cost the others nothing but a share.
 *
 * The window is halved when targets in good standing time out together. One that never answered may
 * be mute, which says nothing of the load; it counts when it answers later: then its first SMP was
 * lost.
 *
 * Each transmission has a transaction id of its own: the kernel refuses a second one of the same
 * id. Ids of earlier transmissions stay valid until the request ends, so that a late answer
 * counts. */
#include "shard/mad/smpq.h"

#include <errno.h>
#include <string.h>

#include <glib.h>

#define HARD_PORT_LIMIT 256u /* the kernel posts 512 receives a port */
#define INITIAL_WINDOW 64u
#define MIN_WINDOW 8u
#define MUTE_TIMEOUTS 2u         /* in a row: one SMP at a time from then on */
#define SLOW_SHARE 4u            /* part of the window that the slow lane may fill */
#define KNOWN_SHARE 4u           /* part of it that is kept for targets that have answered */
#define CLUSTER_TARGETS 4u       /* targets that time out together .. */
#define CLUSTER_SHARE 8u         /* .. and at least this part of what was answered */
#define REMEMBERED_TARGETS 65536 /* beyond it idle targets are forgotten */
#define KEPT_TIDS 4u             /* transmissions whose late answer still counts */
#define STATUS_BUSY 0x0001u      /* IBA 13.4.7 */

struct position { /* of an entry in the order of sending */
    uint64_t seq;
    bool urgent;
};

enum lane { LANE_KNOWN, LANE_NEW, LANE_SLOW, LANES };

struct target {
    uint64_t id;
    GQueue waiting;   /* entries, by position */
    uint32_t entries; /* that name it, wherever they are */
    uint32_t out;
    uint32_t timeouts;    /* in a row */
    bool known;           /* has answered once */
    GTree *in;            /* the lane where it stands now, or NULL */
    struct position head; /* its key there */
};

struct entry {
    struct smp_request r;
    struct target *target;
    struct position position;
    GList all;  /* in smpq.all */
    GList link; /* in target.waiting, smpq.out or smpq.done */
    GQueue *in; /* the queue of link */
    uint64_t deadline_ms;
    uint32_t retries_left;
    enum lane lane; /* by which it went out */
    int result;
    uint32_t tids[KEPT_TIDS];
    uint32_t transmissions;
};

struct smpq {
    struct smpq_config c;
    GHashTable *by_tid;  /* uint32 -> entry */
    GHashTable *targets; /* &target.id -> target */
    GTree *lanes[LANES]; /* &target.head -> target */
    GQueue all, out, expired, cancelled;
    uint32_t waiting, lane_out[LANES];
    uint32_t window, credit; /* credit: answers since the last increase */
    uint64_t period_end_ms;  /* of the counters of clustering */
    uint32_t period_losses, period_answers;
    uint64_t next_deadline_ms; /* a lower bound */
    uint64_t next_seq;
    uint32_t next_tid;
    struct smpq_counters counters;
};

static int compare_positions(const void *a, const void *b, void *user)
{
    (void)user;
    const struct position *x = a, *y = b;
    if (x->urgent != y->urgent)
        return x->urgent ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void apply_limits(struct smpq *q, const struct smpq_config *c)
{
    q->c.max_per_port = CLAMP(c->max_per_port ? c->max_per_port : 128u, 1u, HARD_PORT_LIMIT);
    q->c.max_per_target = MAX(c->max_per_target ? c->max_per_target : 4u, 1u);
    q->c.timeout_ms = c->timeout_ms ? c->timeout_ms : 200u;
    q->c.retries = c->retries;
    q->c.max_queued = c->max_queued ? c->max_queued : 1u << 20;
    if (c->send != NULL) {
        q->c.send = c->send;
        q->c.user = c->user;
    }
    if (q->window == 0)
        q->window = INITIAL_WINDOW;
    q->window = MIN(q->window, q->c.max_per_port);
}

static void free_target(void *data)
{
    g_free(data);
}

struct smpq *smpq_create(const struct smpq_config *config)
{
    struct smpq *q = g_new0(struct smpq, 1);
    apply_limits(q, config);
    q->next_tid = config->tid_seed;
    q->next_deadline_ms = UINT64_MAX;
    q->by_tid = g_hash_table_new(g_direct_hash, g_direct_equal);
    q->targets = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_target);
    for (unsigned i = 0; i < LANES; i++)
        q->lanes[i] = g_tree_new_full(compare_positions, NULL, NULL, NULL);
    return q;
}

void smpq_destroy(struct smpq *q)
{
    if (q == NULL)
        return;
    for (GList *l = q->all.head; l != NULL;) {
        struct entry *e = l->data;
        l = l->next;
        g_free(e);
    }
    for (unsigned i = 0; i < LANES; i++)
        g_tree_destroy(q->lanes[i]);
    g_hash_table_destroy(q->targets);
    g_hash_table_destroy(q->by_tid);
    g_free(q);
}

/* -- targets and lanes ------------------------------------------------------------------------- */

static struct target *target_get(struct smpq *q, uint64_t id)
{
    struct target *t = g_hash_table_lookup(q->targets, &id);
    if (t == NULL) {
        t = g_new0(struct target, 1);
        t->id = id;
        g_queue_init(&t->waiting);
        g_hash_table_insert(q->targets, &t->id, t);
    }
    return t;
}

static enum lane target_lane(const struct target *t)
{
    return t->timeouts > 0 ? LANE_SLOW : t->known ? LANE_KNOWN : LANE_NEW;
}

/* Puts a target where it belongs after any change; forgets it when nothing is left to know. */
static void target_settle(struct smpq *q, struct target *t)
{
    if (t->in != NULL)
        g_tree_remove(t->in, &t->head);
    t->in = NULL;
    if (t->waiting.length == 0) {
        if (t->entries == 0 && g_hash_table_size(q->targets) > REMEMBERED_TARGETS)
            g_hash_table_remove(q->targets, &t->id);
        return;
    }
    uint32_t limit = t->timeouts >= MUTE_TIMEOUTS ? 1 : q->c.max_per_target;
    if (t->out >= limit)
        return;
    const struct entry *first = t->waiting.head->data;
    t->head = first->position;
    t->in = q->lanes[target_lane(t)];
    g_tree_insert(t->in, &t->head, t);
}

/* -- entries ----------------------------------------------------------------------------------- */

static void entry_move(struct entry *e, GQueue *to)
{
    if (e->in != NULL)
        g_queue_unlink(e->in, &e->link);
    e->in = to;
    if (to != NULL)
        g_queue_push_tail_link(to, &e->link);
}

static void entry_wait(struct smpq *q, struct entry *e)
{
    GQueue *w = &e->target->waiting;
    GList *before = NULL;
    if (e->r.urgent || e->transmissions > 0) /* others go to the end */
        for (before = w->head; before != NULL; before = before->next) {
            const struct entry *other = before->data;
            if (compare_positions(&e->position, &other->position, NULL) < 0)
                break;
        }
    if (e->in != NULL)
        g_queue_unlink(e->in, &e->link);
    e->in = w;
    g_queue_insert_before_link(w, before, &e->link);
    q->waiting++;
}

/* Takes an outstanding or waiting entry out of its place and of the counts. */
static void entry_leave(struct smpq *q, struct entry *e, GQueue *to)
{
    if (e->in == &q->out) {
        e->target->out--;
        q->lane_out[e->lane]--;
    } else if (e->in == &e->target->waiting) {
        q->waiting--;
    }
    entry_move(e, to);
}

static void entry_finish(struct smpq *q, struct entry *e, int error, const uint8_t *mad)
{
    struct target *t = e->target;
    entry_leave(q, e, NULL);
    for (unsigned i = 0; i < MIN(e->transmissions, KEPT_TIDS); i++)
        g_hash_table_remove(q->by_tid, GUINT_TO_POINTER(e->tids[i]));
    g_queue_unlink(&q->all, &e->all);
    t->entries--;
    target_settle(q, t);
    if (e->r.done != NULL)
        e->r.done(e->r.user, e->r.tag, &e->r, error, mad);
    g_free(e);
}

static uint32_t new_tid(struct smpq *q)
{
    do
        q->next_tid++;
    while (q->next_tid == 0 || g_hash_table_contains(q->by_tid, GUINT_TO_POINTER(q->next_tid)));
    return q->next_tid;
}

static void entry_send(struct smpq *q, struct entry *e, uint64_t now_ms)
{
    uint32_t tid = new_tid(q);
    uint32_t *slot = &e->tids[e->transmissions % KEPT_TIDS];
    if (e->transmissions >= KEPT_TIDS)
        g_hash_table_remove(q->by_tid, GUINT_TO_POINTER(*slot));
    *slot = tid;
    g_hash_table_insert(q->by_tid, GUINT_TO_POINTER(tid), e);
    if (e->transmissions++ == 0)
        q->counters.sent++;
    else
        q->counters.resent++;

    uint32_t timeout_ms = e->r.timeout_ms ? e->r.timeout_ms : q->c.timeout_ms;
    e->deadline_ms = now_ms + timeout_ms;
    q->next_deadline_ms = MIN(q->next_deadline_ms, e->deadline_ms);
    e->lane = target_lane(e->target);
    q->lane_out[e->lane]++;
    e->target->out++;
    q->waiting--;
    entry_move(e, &q->out);
    target_settle(q, e->target);

    uint8_t mad[MAD_BYTES];
    smp_build(mad, e->r.method, e->r.attribute, e->r.modifier, e->r.directed ? &e->r.path : NULL,
              e->r.mkey, tid);
    if (e->r.method == MAD_SET)
        memcpy(smp_data(mad), e->r.data, SMP_DATA_BYTES);
    const struct mad_address to = {.lid = e->r.directed ? 0xffff : e->r.dlid};
    q->c.send(q->c.user, mad, &to, timeout_ms);
}

static bool lane_has_room(const struct smpq *q, enum lane lane)
{
    if (lane == LANE_KNOWN)
        return true;
    bool others = g_tree_nnodes(q->lanes[LANE_KNOWN]) > 0 || g_tree_nnodes(q->lanes[LANE_NEW]) > 0;
    if (lane == LANE_SLOW && others && q->lane_out[LANE_SLOW] >= MAX(q->window / SLOW_SHARE, 1u))
        return false;
    return q->lane_out[LANE_NEW] + q->lane_out[LANE_SLOW] < q->window - q->window / KNOWN_SHARE;
}

/* The target whose first request is the next to go, or NULL. Urgent ones know no quota. */
static struct target *next_target(struct smpq *q)
{
    struct target *best = NULL;
    for (unsigned lane = 0; lane < LANES; lane++) {
        GTreeNode *n = g_tree_node_first(q->lanes[lane]);
        if (n == NULL)
            continue;
        struct target *t = g_tree_node_value(n);
        if (!t->head.urgent && !lane_has_room(q, lane))
            continue;
        if (best == NULL || compare_positions(&t->head, &best->head, NULL) < 0)
            best = t;
    }
    return best;
}

static void let_out(struct smpq *q, uint64_t now_ms)
{
    while (q->out.length < q->window) {
        struct target *t = next_target(q);
        if (t == NULL)
            return;
        entry_send(q, t->waiting.head->data, now_ms);
    }
}

/* -- the shard's window ------------------------------------------------------------------------ */

static void period(struct smpq *q, uint64_t now_ms)
{
    if (now_ms >= q->period_end_ms) {
        q->period_end_ms = now_ms + q->c.timeout_ms;
        q->period_losses = q->period_answers = 0;
    }
}

static void window_answered(struct smpq *q, uint64_t now_ms)
{
    period(q, now_ms);
    q->period_answers++;
    if (++q->credit >= q->window) {
        q->credit = 0;
        q->window = MIN(q->window + 1, q->c.max_per_port);
    }
}

/* An SMP was lost. One alone says nothing of the fabric's load. */
static void window_lost(struct smpq *q, uint64_t now_ms)
{
    period(q, now_ms);
    if (++q->period_losses < MAX(CLUSTER_TARGETS, q->period_answers / CLUSTER_SHARE))
        return;
    q->window = MAX(q->window / 2, MIN(MIN_WINDOW, q->c.max_per_port));
    q->credit = 0;
    /* What was in flight may still time out: that is the same cluster. */
    q->period_end_ms = now_ms + 2 * q->c.timeout_ms;
    q->period_answers = UINT32_MAX / 2;
}

/* -- the interface ----------------------------------------------------------------------------- */

void smpq_configure(struct smpq *q, const struct smpq_config *config)
{
    apply_limits(q, config);
}

int smpq_submit(struct smpq *q, const struct smp_request *r, uint64_t now_ms)
{
    if (q->waiting >= q->c.max_queued)
        return ENOBUFS;
    struct entry *e = g_new0(struct entry, 1);
    e->r = *r;
    e->retries_left = r->retries < 0 ? q->c.retries : (uint32_t)r->retries;
    e->position = (struct position){.seq = q->next_seq++, .urgent = r->urgent};
    e->target = target_get(q, r->target);
    e->target->entries++;
    e->link.data = e->all.data = e;
    g_queue_push_tail_link(&q->all, &e->all);
    entry_wait(q, e);
    target_settle(q, e->target);
    let_out(q, now_ms);
    return 0;
}

static bool answers(const struct entry *e, const uint8_t *mad)
{
    return mad_method(mad) == MAD_GET_RESP &&
           mad_class(mad) == (e->r.directed ? SMP_CLASS_DR : SMP_CLASS_LID) &&
           mad_attribute(mad) == e->r.attribute && mad_modifier(mad) == e->r.modifier;
}

bool smpq_receive(struct smpq *q, const uint8_t mad[MAD_BYTES], uint64_t now_ms)
{
    struct entry *e =
        g_hash_table_lookup(q->by_tid, GUINT_TO_POINTER((uint32_t)(mad_tid(mad) & UINT32_MAX)));
    if (e == NULL || !answers(e, mad)) {
        q->counters.unmatched++;
        return false;
    }
    unsigned status = mad_status(mad);
    if (!e->target->known && e->target->timeouts > 0)
        window_lost(q, now_ms);
    e->target->timeouts = 0;
    e->target->known = true;
    window_answered(q, now_ms);
    if ((status & STATUS_BUSY) != 0) {
        /* Asked again when its time is over, as if it had said nothing. */
        q->counters.refused++;
        target_settle(q, e->target);
    } else {
        q->counters.answered++;
        if (status != 0)
            q->counters.refused++;
        entry_finish(q, e, status == 0 ? 0 : EPROTO, mad);
    }
    let_out(q, now_ms);
    return true;
}

/* The current transmission of e is lost: again, or the end. */
static void time_out(struct smpq *q, struct entry *e, uint64_t now_ms)
{
    struct target *t = e->target;
    if (t->timeouts == 0 && t->known)
        window_lost(q, now_ms);
    if (t->timeouts < MUTE_TIMEOUTS)
        t->timeouts++;
    if (e->retries_left > 0) {
        e->retries_left--;
        entry_wait(q, e);
        target_settle(q, t);
        return;
    }
    q->counters.timed_out++;
    entry_finish(q, e, ETIMEDOUT, NULL);
}

static void finish_expired(struct smpq *q, uint64_t now_ms)
{
    while (q->expired.head != NULL)
        time_out(q, q->expired.head->data, now_ms);
}

void smpq_send_failed(struct smpq *q, uint64_t tid, uint64_t now_ms)
{
    uint32_t low = (uint32_t)(tid & UINT32_MAX);
    struct entry *e = g_hash_table_lookup(q->by_tid, GUINT_TO_POINTER(low));
    if (e == NULL || e->in != &q->out || e->tids[(e->transmissions - 1) % KEPT_TIDS] != low)
        return;
    entry_leave(q, e, &q->expired);
    finish_expired(q, now_ms);
    let_out(q, now_ms);
}

void smpq_tick(struct smpq *q, uint64_t now_ms, uint64_t read_ms)
{
    if (read_ms >= q->next_deadline_ms) {
        q->next_deadline_ms = UINT64_MAX;
        for (GList *l = q->out.head; l != NULL;) {
            struct entry *e = l->data;
            l = l->next;
            if (e->deadline_ms <= read_ms)
                entry_leave(q, e, &q->expired);
            else
                q->next_deadline_ms = MIN(q->next_deadline_ms, e->deadline_ms);
        }
        finish_expired(q, now_ms);
    }
    let_out(q, now_ms);
}

uint64_t smpq_deadline(const struct smpq *q)
{
    return q->out.length > 0 ? q->next_deadline_ms : UINT64_MAX;
}

static void cancel_entry(struct smpq *q, struct entry *e)
{
    if (e->in == &q->cancelled)
        return;
    entry_leave(q, e, &q->cancelled);
    target_settle(q, e->target);
}

static void finish_cancelled(struct smpq *q)
{
    while (q->cancelled.head != NULL)
        entry_finish(q, q->cancelled.head->data, ECANCELED, NULL);
}

void smpq_cancel(struct smpq *q, const void *user)
{
    for (GList *l = q->all.head; l != NULL; l = l->next) {
        struct entry *e = l->data;
        if (user == NULL || e->r.user == user)
            cancel_entry(q, e);
    }
    finish_cancelled(q);
}

void smpq_cancel_sets(struct smpq *q, uint32_t group)
{
    for (GList *l = q->all.head; l != NULL; l = l->next) {
        struct entry *e = l->data;
        if (e->r.method == MAD_SET && (group == 0 || e->r.group == group) && e->in != &q->out)
            cancel_entry(q, e);
    }
    finish_cancelled(q);
}

uint32_t smpq_outstanding(const struct smpq *q)
{
    return q->out.length;
}

uint32_t smpq_waiting(const struct smpq *q)
{
    return q->waiting;
}

struct smpq_counters smpq_counters(const struct smpq *q)
{
    return q->counters;
}
