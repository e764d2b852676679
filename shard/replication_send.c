/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication: streams to peers. A peer gets at most a window of deltas that it has not
 * acknowledged; then nothing until it does, and after a silence one delta at a time as a probe. */
#include "shard/replication_private.h"

#include "base/log.h"

struct peer_domain *repl_peer_domain(struct repl_peer *p, uint32_t domain)
{
    struct peer_domain *d = g_hash_table_lookup(p->domains, GUINT_TO_POINTER(domain));
    if (d == NULL) {
        d = g_new0(struct peer_domain, 1);
        d->domain = domain;
        d->window = REPL_WINDOW;
        g_hash_table_insert(p->domains, GUINT_TO_POINTER(domain), d);
    }
    return d;
}

void repl_forget_sent(struct repl_peer *p)
{
    g_hash_table_remove_all(p->domains);
}

static bool publishes(const struct stream *s)
{
    return s->own && s->collect == COLLECT_DONE;
}

static void rest(struct peer_domain *d)
{
    d->in_flight = 0;
    d->window = REPL_WINDOW;
    d->resend_at_ms = 0;
    d->resend_ms = REPL_RESEND_MS;
    d->snapshot = false;
    d->snapshot_ms = REPL_SNAPSHOT_MS;
}

static void send_snapshot(struct replication *r, struct repl_peer *p, struct stream *s)
{
    struct peer_domain *d = repl_peer_domain(p, s->id);
    struct position at = repl_position(r, s->id);
    GPtrArray *chunks = view_snapshot(r->view, s->id, REPL_CHUNK_BYTES);
    for (guint i = 0; i < chunks->len; i++) {
        Heddle__Snapshot body = HEDDLE__SNAPSHOT__INIT;
        body.chunk = i;
        body.last = i + 1 == chunks->len;
        body.content = g_ptr_array_index(chunks, i);
        repl_send(r, SHARD_BULK, p->name, HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT, s->id, at,
                  &body.base);
    }
    r->cb.log(r->cb.user, HL_DEBUG, "snapshot_sent", "peer=%s domain=%u chunks=%u", p->name, s->id,
              chunks->len);
    g_ptr_array_free(chunks, TRUE);
    d->snapshot = true;
    d->sent = at;
    d->in_flight = 0;
    d->resend_at_ms = r->now_ms + MAX(d->snapshot_ms, REPL_SNAPSHOT_MS);
    repl_arm(r, d->resend_at_ms);
}

static void send_entry(struct replication *r, struct repl_peer *p, struct stream *s,
                       const struct log_entry *e)
{
    gsize size;
    const uint8_t *bytes = g_bytes_get_data(e->packed, &size);
    Heddle__Delta *delta = heddle__delta__unpack(NULL, size, bytes);
    if (delta == NULL)
        return; /* cannot happen: we packed it */
    repl_send(r, SHARD_DELTA, p->name, HEDDLE__MESSAGE_TYPE__MSG_DELTA, s->id, e->at, &delta->base);
    heddle__delta__free_unpacked(delta, NULL);
}

void repl_pump(struct replication *r, struct repl_peer *p, struct stream *s)
{
    struct peer_domain *d = repl_peer_domain(p, s->id);
    struct position end = repl_position(r, s->id);
    if (!p->up || !d->known || d->snapshot || (!publishes(s) && !d->serving))
        return;
    if (position_compare(d->sent, end) == 0) {
        d->serving = d->serving && d->in_flight > 0;
        return;
    }
    const GList *next = delta_log_after(&s->log, d->sent);
    if (next == NULL) {
        /* Ahead of us by what only it has: a new epoch will correct it, we have nothing for it. */
        if (!publishes(s) && position_compare(d->sent, end) > 0)
            return;
        send_snapshot(r, p, s);
        return;
    }
    for (; next != NULL && d->in_flight < d->window; next = next->next) {
        const struct log_entry *e = next->data;
        send_entry(r, p, s, e);
        d->sent = e->at;
        d->in_flight++;
    }
    if (d->in_flight > 0 && d->resend_at_ms == 0) {
        d->resend_at_ms = r->now_ms + MAX(d->resend_ms, REPL_RESEND_MS);
        repl_arm(r, d->resend_at_ms);
    }
}

void repl_pump_all(struct replication *r, struct stream *s)
{
    for (guint i = 0; i < r->peers->len; i++)
        repl_pump(r, g_ptr_array_index(r->peers, i), s);
}

static uint32_t count_in_flight(const struct stream *s, const struct peer_domain *d)
{
    uint32_t count = 0;
    if (position_compare(d->acked, d->sent) == 0)
        return 0;
    for (const GList *i = delta_log_after(&s->log, d->acked); i != NULL; i = i->next) {
        count++;
        if (position_compare(((const struct log_entry *)i->data)->at, d->sent) == 0)
            return count;
    }
    return 0; /* the log moved on: pump finds out */
}

/* The peer is at this position. restart: it says so itself, whatever we sent meanwhile. */
void repl_peer_at(struct replication *r, struct repl_peer *p, struct stream *s, struct position at,
                  bool restart)
{
    struct peer_domain *d = repl_peer_domain(p, s->id);
    bool moved = !d->known || position_compare(at, d->acked) > 0;
    if (!moved && !restart)
        return;
    if (!d->known || restart) {
        rest(d);
        d->sent = at;
    }
    d->known = true;
    d->acked = at;
    /* An answer to a snapshot is its position or a later one; anything else came before it. */
    if (d->snapshot && position_compare(at, d->sent) < 0)
        return;
    if (position_compare(at, d->sent) > 0)
        d->sent = at;
    rest(d);
    d->in_flight = count_in_flight(s, d);
    if (d->in_flight > 0) {
        d->resend_at_ms = r->now_ms + REPL_RESEND_MS;
        repl_arm(r, d->resend_at_ms);
    }
    if (s->own && at.epoch == s->own_epoch && moved)
        r->cb.acked(r->cb.user, s->id);
    repl_pump(r, p, s);
}

void repl_send_tick(struct replication *r, struct repl_peer *p, struct stream *s)
{
    struct peer_domain *d = g_hash_table_lookup(p->domains, GUINT_TO_POINTER(s->id));
    if (d == NULL || d->resend_at_ms == 0)
        return;
    if (!p->up || (!publishes(s) && !d->serving)) {
        d->resend_at_ms = 0;
        d->snapshot = false;
        return;
    }
    if (r->now_ms < d->resend_at_ms) {
        repl_arm(r, d->resend_at_ms);
        return;
    }
    if (d->snapshot) {
        d->snapshot_ms = MIN(MAX(d->snapshot_ms, REPL_SNAPSHOT_MS) * 2, REPL_SNAPSHOT_MAX_MS);
        send_snapshot(r, p, s);
        return;
    }
    d->resend_ms = MIN(MAX(d->resend_ms, REPL_RESEND_MS) * 2, REPL_RESEND_MAX_MS);
    d->resend_at_ms = 0;
    d->sent = d->acked;
    d->in_flight = 0;
    d->window = 1;
    repl_pump(r, p, s);
}

void repl_on_pull(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    const Heddle__Pull *body = (const Heddle__Pull *)m->body;
    struct stream *s = repl_stream(r, m->domain);
    struct peer_domain *d = repl_peer_domain(p, m->domain);
    uint64_t from = body != NULL ? body->from_seq : 1;
    struct position at = {m->epoch, from > 0 ? from - 1 : 0};
    if (d->snapshot) /* it comes with the snapshot */
        return;
    d->serving = true;
    repl_peer_at(r, p, s, at, true);
}

void repl_on_ack(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    struct stream *s = repl_stream(r, m->domain);
    struct peer_domain *d = repl_peer_domain(p, m->domain);
    if (!d->known) /* of an earlier session; its PEER_HELLO comes first in this one */
        return;
    repl_peer_at(r, p, s, (struct position){m->epoch, m->seq}, false);
}

void repl_on_snapshot_ask(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    struct stream *s = repl_stream(r, m->domain);
    struct peer_domain *d = repl_peer_domain(p, m->domain);
    if (repl_position(r, m->domain).epoch == 0 || (s->own && s->collect != COLLECT_DONE))
        return;
    d->serving = true;
    if (!d->known)
        rest(d);
    d->known = true;
    send_snapshot(r, p, s);
}
