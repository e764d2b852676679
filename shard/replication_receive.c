/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication: deltas and snapshots in, acknowledgements and pulls out. */
#include "shard/replication_private.h"

#include "base/log.h"
#include "shard/view_private.h"

#include <string.h>

/* -- acknowledging -- */

static void acknowledge(struct replication *r, struct stream *s, const char *peer)
{
    g_hash_table_add(s->ack_to, g_strdup(peer));
    s->ack_count++;
    repl_arm(r, r->now_ms);
    if (s->ack_count >= REPL_ACK_DELTAS)
        repl_flush_acks(r, s);
}

void repl_flush_acks(struct replication *r, struct stream *s)
{
    s->ack_count = 0;
    if (g_hash_table_size(s->ack_to) == 0)
        return;
    for (guint i = 0; i < r->peers->len; i++) {
        struct repl_peer *p = g_ptr_array_index(r->peers, i);
        if (g_hash_table_contains(s->ack_to, p->name))
            repl_send(r, SHARD_DELTA, p->name, HEDDLE__MESSAGE_TYPE__MSG_DELTA_ACK, s->id,
                      repl_position(r, s->id), NULL);
    }
    g_hash_table_remove_all(s->ack_to);
}

/* To the sender, and to the owner where another one sent it. */
static void acknowledge_all(struct replication *r, struct stream *s, const char *sender)
{
    uint64_t epoch = repl_position(r, s->id).epoch;
    acknowledge(r, s, sender);
    for (guint i = 0; i < r->peers->len; i++) {
        struct repl_peer *p = g_ptr_array_index(r->peers, i);
        if (p->up && strcmp(p->name, sender) != 0 && repl_is_owner(r, s, p->name, epoch))
            acknowledge(r, s, p->name);
    }
}

/* -- who may say what -- */

static bool asked(const struct replication *r, const struct stream *s, const char *peer)
{
    return strcmp(s->pulling_from, peer) == 0 && s->pulled_at_ms != 0 &&
           r->now_ms < s->pulled_at_ms + REPL_TRUST_PULL_MS;
}

/* Whether anything at this position may be taken from this peer at all. */
static bool acceptable(const struct replication *r, const struct stream *s, const char *peer,
                       struct position at)
{
    struct position here = repl_position(r, s->id);
    if (at.epoch == 0 || at.seq == 0 || at.epoch < here.epoch)
        return false;
    if (s->own && s->collect == COLLECT_DONE && at.epoch <= s->own_epoch)
        return false;
    return !repl_promised_away(r, s, peer, at.epoch);
}

/* The first delta of an epoch says by its grant who the owner is. */
static bool granted(struct replication *r, struct stream *s, const char *peer, struct position at,
                    const Heddle__Delta *d)
{
    char owner[64];
    if (at.seq == 1) {
        if (!r->cb.grant_ok(r->cb.user, d->grant.data, d->grant.len, s->id, at.epoch, owner)) {
            r->cb.log(r->cb.user, HL_WARNING, "delta_refused",
                      "peer=%s domain=%u epoch=%lu reason=grant", peer, s->id, at.epoch);
            return false;
        }
        if (at.epoch >= s->epoch_owner_epoch) {
            g_strlcpy(s->epoch_owner, owner, sizeof s->epoch_owner);
            s->epoch_owner_epoch = at.epoch;
        }
    }
    return repl_is_owner(r, s, peer, at.epoch) || asked(r, s, peer);
}

/* Somebody else was granted a newer epoch: this shard's ownership is history. */
static void step_down(struct replication *r, struct stream *s, struct position at)
{
    if (!s->own || at.epoch <= s->own_epoch)
        return;
    r->cb.log(r->cb.user, HL_NOTICE, "domain_superseded", "domain=%u epoch=%lu newer=%lu", s->id,
              s->own_epoch, at.epoch);
    replication_disown(r, s->id);
    if (r->cb.superseded != NULL)
        r->cb.superseded(r->cb.user, s->id, at.epoch);
}

/* -- pulls -- */

static bool pull_due(struct replication *r, struct stream *s, const char *peer)
{
    struct position here = repl_position(r, s->id);
    bool same = strcmp(s->pulling_from, peer) == 0 && position_compare(s->pulled, here) == 0;
    if (same && s->pulled_at_ms != 0 && r->now_ms < s->pulled_at_ms + REPL_PULL_MS)
        return false;
    g_strlcpy(s->pulling_from, peer, sizeof s->pulling_from);
    s->pulled = here;
    s->pulled_at_ms = r->now_ms;
    return true;
}

void repl_pull(struct replication *r, struct stream *s, const char *peer)
{
    if (s->staging != NULL && strcmp(s->staging->peer, peer) == 0 &&
        r->now_ms < s->staging->last_ms + REPL_PULL_MS)
        return; /* a snapshot is coming in */
    if (!pull_due(r, s, peer))
        return;
    Heddle__Pull body = HEDDLE__PULL__INIT;
    body.from_seq = s->pulled.seq + 1;
    repl_send(r, SHARD_DELTA, peer, HEDDLE__MESSAGE_TYPE__MSG_PULL, s->id,
              (struct position){s->pulled.epoch, 0}, &body.base);
}

/* -- deltas -- */

void repl_on_delta(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    const Heddle__Delta *d = (const Heddle__Delta *)m->body;
    struct stream *s = repl_stream(r, m->domain);
    struct position at = {m->epoch, m->seq}, here = repl_position(r, s->id);
    if (d == NULL || !acceptable(r, s, p->name, at))
        return;
    if (position_compare(at, here) <= 0) {
        acknowledge(r, s, p->name); /* our acknowledgement was lost */
        return;
    }
    if (!granted(r, s, p->name, at, d))
        return;
    struct position after = {at.epoch, at.seq - 1};
    if (at.seq == 1)
        after = (struct position){d->base_epoch, d->base_seq};
    if (position_compare(after, here) != 0) {
        repl_pull(r, s, p->name);
        return;
    }
    step_down(r, s, at);
    unsigned changed = view_apply(r->view, s->id, d);
    view_set_position(r->view, s->id, at.epoch, at.seq);
    delta_log_add(&s->log, at, after, d);
    repl_staging_clear(s);
    if (asked(r, s, p->name))
        s->pulled_at_ms = r->now_ms;
    acknowledge_all(r, s, p->name);
    repl_collect_progress(r, s);
    r->cb.applied(r->cb.user, s->id, d, changed, false);
}

/* -- snapshots -- */

void repl_staging_clear(struct stream *s)
{
    if (s->staging == NULL)
        return;
    g_ptr_array_free(s->staging->chunks, TRUE);
    g_clear_pointer(&s->staging, g_free);
}

static void free_delta(gpointer d)
{
    heddle__delta__free_unpacked(d, NULL);
}

static void stage_start(struct replication *r, struct stream *s, const char *peer,
                        struct position at)
{
    repl_staging_clear(s);
    s->staging = g_new0(struct staging, 1);
    s->staging->chunks = g_ptr_array_new_with_free_func(free_delta);
    s->staging->at = at;
    g_strlcpy(s->staging->peer, peer, sizeof s->staging->peer);
}

/* Adds a chunk to those that wait; false when it does not fit to them. */
static bool stage(struct replication *r, struct stream *s, const char *peer, struct position at,
                  const Heddle__Snapshot *body)
{
    if (body->chunk == 0)
        stage_start(r, s, peer, at);
    struct staging *g = s->staging;
    if (g == NULL || strcmp(g->peer, peer) != 0 || position_compare(g->at, at) != 0 ||
        g->next_chunk != body->chunk)
        return false;
    Heddle__Delta none = HEDDLE__DELTA__INIT;
    const Heddle__Delta *content = body->content != NULL ? body->content : &none;
    size_t size = heddle__delta__get_packed_size(content);
    if (g->bytes + size > REPL_STAGED_BYTES)
        return false;
    g_autofree uint8_t *bytes = g_malloc(size + 1);
    heddle__delta__pack(content, bytes);
    Heddle__Delta *copy = heddle__delta__unpack(NULL, size, bytes);
    if (copy == NULL)
        return false;
    g_ptr_array_add(g->chunks, copy);
    g->bytes += size;
    g->next_chunk++;
    g->last_ms = r->now_ms;
    return true;
}

/* All chunks are here: the domain becomes what they say. */
static void load(struct replication *r, struct stream *s, const char *peer)
{
    struct staging *g = g_steal_pointer(&s->staging);
    g_autofree unsigned *changed = g_new0(unsigned, g->chunks->len);
    step_down(r, s, g->at);
    view_snapshot_removals(r->view, s->id, g->chunks, g_ptr_array_index(g->chunks, 0));
    for (guint i = 0; i < g->chunks->len; i++)
        changed[i] = view_apply(r->view, s->id, g_ptr_array_index(g->chunks, i));
    view_set_position(r->view, s->id, g->at.epoch, g->at.seq);
    delta_log_clear(&s->log);
    if (asked(r, s, peer))
        s->pulled_at_ms = r->now_ms;
    acknowledge_all(r, s, peer);
    repl_collect_progress(r, s);
    for (guint i = 0; i < g->chunks->len; i++)
        r->cb.applied(r->cb.user, s->id, g_ptr_array_index(g->chunks, i), changed[i], false);
    g_ptr_array_free(g->chunks, TRUE);
    g_free(g);
}

void repl_on_snapshot(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    const Heddle__Snapshot *body = (const Heddle__Snapshot *)m->body;
    struct stream *s = repl_stream(r, m->domain);
    struct position at = {m->epoch, m->seq};
    if (body == NULL || !acceptable(r, s, p->name, at))
        return;
    if (position_compare(at, repl_position(r, s->id)) <= 0) {
        acknowledge(r, s, p->name);
        return;
    }
    if (!repl_is_owner(r, s, p->name, at.epoch) && !asked(r, s, p->name))
        return;
    if (!stage(r, s, p->name, at, body)) {
        repl_staging_clear(s);
        if (pull_due(r, s, p->name))
            repl_send(r, SHARD_BULK, p->name, HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT_ASK, s->id,
                      (struct position){0, 0}, NULL);
        return;
    }
    if (body->last)
        load(r, s, p->name);
    else
        repl_collect_progress(r, s);
}
