/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication: what a new owner asks before it publishes. It hears from all live peers how far
 * they are (at most REPL_COLLECT_MS), and pulls from the one that is farthest. Who has answered
 * takes nothing of older epochs any more, so that nothing is acknowledged behind its back. */
#include "shard/replication_private.h"

#include "base/log.h"

#include <string.h>

static void ask(struct replication *r, struct stream *s, struct repl_peer *p)
{
    if (!g_hash_table_contains(s->answers, p->name))
        g_hash_table_insert(s->answers, g_strdup(p->name), NULL);
    if (p->up)
        repl_send(r, SHARD_DELTA, p->name, HEDDLE__MESSAGE_TYPE__MSG_SUFFIX_ASK, s->id,
                  (struct position){s->own_epoch, 0}, NULL);
}

static void finish(struct replication *r, struct stream *s)
{
    s->collect = COLLECT_DONE;
    s->notify = true; /* not from here: the caller may be in the midst of a message */
    s->pulling_from[0] = '\0';
    repl_staging_clear(s);
    repl_arm(r, r->now_ms);
}

/* The peer whose answer is the farthest, beyond our own position; NULL = none. */
static const char *farthest(struct replication *r, struct stream *s)
{
    struct position best = repl_position(r, s->id);
    const char *name = NULL;
    for (guint i = 0; i < r->peers->len; i++) {
        struct repl_peer *p = g_ptr_array_index(r->peers, i);
        const struct position *at = g_hash_table_lookup(s->answers, p->name);
        if (at == NULL || position_compare(*at, best) <= 0)
            continue;
        best = *at;
        name = p->name;
    }
    return name;
}

static void decide(struct replication *r, struct stream *s)
{
    const char *peer = farthest(r, s);
    if (peer == NULL) {
        finish(r, s);
        return;
    }
    s->collect = COLLECT_PULLING;
    s->collect_until_ms = r->now_ms + REPL_SUFFIX_PULL_MS;
    repl_arm(r, s->collect_until_ms);
    s->pulled_at_ms = 0;
    repl_pull(r, s, peer);
}

static bool all_answered(struct stream *s)
{
    GHashTableIter i;
    gpointer at;
    g_hash_table_iter_init(&i, s->answers);
    while (g_hash_table_iter_next(&i, NULL, &at))
        if (at == NULL)
            return false;
    return true;
}

void repl_collect_start(struct replication *r, struct stream *s)
{
    s->collect = COLLECT_ASKING;
    s->notify = false;
    s->collect_until_ms = r->now_ms + REPL_COLLECT_MS;
    g_hash_table_remove_all(s->answers);
    for (guint i = 0; i < r->peers->len; i++) {
        struct repl_peer *p = g_ptr_array_index(r->peers, i);
        if (p->live && (p->up || !p->was_up))
            ask(r, s, p);
    }
    if (g_hash_table_size(s->answers) == 0)
        finish(r, s);
    repl_arm(r, s->collect_until_ms);
}

void repl_collect_tick(struct replication *r, struct stream *s)
{
    if (s->collect == COLLECT_ASKING && (r->now_ms >= s->collect_until_ms || all_answered(s)))
        decide(r, s);
    if (s->collect == COLLECT_PULLING && r->now_ms >= s->collect_until_ms) {
        r->cb.log(r->cb.user, HL_WARNING, "suffix_timeout", "domain=%u epoch=%lu peer=%s", s->id,
                  s->own_epoch, s->pulling_from);
        g_hash_table_remove(s->answers, s->pulling_from);
        decide(r, s);
    }
    if (s->collect == COLLECT_ASKING || s->collect == COLLECT_PULLING)
        repl_arm(r, s->collect_until_ms);
    if (s->notify) {
        s->notify = false;
        r->cb.suffix_done(r->cb.user, s->id);
    }
}

void repl_collect_peer_up(struct replication *r, struct repl_peer *p)
{
    for (guint i = 0; i < r->streams->len; i++) {
        struct stream *s = g_ptr_array_index(r->streams, i);
        if (s->collect == COLLECT_ASKING)
            ask(r, s, p);
    }
}

void repl_collect_peer_down(struct replication *r, struct repl_peer *p)
{
    for (guint i = 0; i < r->streams->len; i++) {
        struct stream *s = g_ptr_array_index(r->streams, i);
        if (s->collect != COLLECT_ASKING && s->collect != COLLECT_PULLING)
            continue;
        g_hash_table_remove(s->answers, p->name);
        if (s->collect == COLLECT_PULLING && strcmp(s->pulling_from, p->name) == 0)
            s->collect_until_ms = r->now_ms;
        repl_arm(r, r->now_ms);
    }
}

void repl_collect_progress(struct replication *r, struct stream *s)
{
    if (s->collect != COLLECT_PULLING)
        return;
    s->collect_until_ms = r->now_ms + REPL_SUFFIX_PULL_MS;
    if (farthest(r, s) == NULL)
        finish(r, s);
}

/* Whether we promised another new owner to take nothing of this epoch. */
bool repl_promised_away(const struct replication *r, const struct stream *s, const char *peer,
                        uint64_t epoch)
{
    if (s->own && s->collect == COLLECT_PULLING && strcmp(s->pulling_from, peer) == 0)
        return false;
    /* The new owner hands on what it collected. */
    if (strcmp(s->promised_to, peer) == 0 ||
        (s->assigned_epoch >= s->promised_epoch && strcmp(s->assigned_owner, peer) == 0))
        return false;
    return epoch < s->promised_epoch && (s->assigned_epoch >= s->promised_epoch ||
                                         r->now_ms < s->promised_at_ms + REPL_PROMISE_MS);
}

void repl_on_suffix_ask(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    struct stream *s = repl_stream(r, m->domain);
    if (m->epoch >= s->promised_epoch) {
        s->promised_epoch = m->epoch;
        g_strlcpy(s->promised_to, p->name, sizeof s->promised_to);
        s->promised_at_ms = r->now_ms;
    }
    repl_send(r, SHARD_DELTA, p->name, HEDDLE__MESSAGE_TYPE__MSG_SUFFIX, s->id,
              repl_position(r, s->id), NULL);
}

void repl_on_suffix(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    struct stream *s = repl_stream(r, m->domain);
    repl_peer_at(r, p, s, (struct position){m->epoch, m->seq}, false);
    if ((s->collect != COLLECT_ASKING && s->collect != COLLECT_PULLING) || m->epoch >= s->own_epoch)
        return;
    struct position at = {m->epoch, m->seq};
    g_hash_table_insert(s->answers, g_strdup(p->name), g_memdup2(&at, sizeof at));
    if (s->collect == COLLECT_ASKING && all_answered(s))
        decide(r, s);
}
