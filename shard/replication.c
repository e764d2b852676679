/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication: peers, the assignment, dispatch of messages, timers, ownership. */
#include "shard/replication_private.h"

#include "base/log.h"

#include <string.h>

/* -- life -- */

static void peer_free(gpointer p)
{
    g_hash_table_destroy(((struct repl_peer *)p)->domains);
    g_free(p);
}

static void stream_free(gpointer p)
{
    struct stream *s = p;
    delta_log_clear(&s->log);
    repl_staging_clear(s);
    g_hash_table_destroy(s->answers);
    g_hash_table_destroy(s->ack_to);
    g_clear_pointer(&s->grant, g_bytes_unref);
    g_free(s);
}

struct replication *replication_create(struct view *view,
                                       const struct replication_callbacks *callbacks,
                                       const char *self)
{
    struct replication *r = g_new0(struct replication, 1);
    r->view = view;
    r->cb = *callbacks;
    g_strlcpy(r->self, self, sizeof r->self);
    r->peers = g_ptr_array_new_with_free_func(peer_free);
    r->streams = g_ptr_array_new_with_free_func(stream_free);
    r->by_id = g_hash_table_new(g_direct_hash, g_direct_equal);
    r->deadline_ms = UINT64_MAX;
    return r;
}

void replication_destroy(struct replication *r)
{
    if (r == NULL)
        return;
    g_ptr_array_free(r->peers, TRUE);
    g_ptr_array_free(r->streams, TRUE);
    g_hash_table_destroy(r->by_id);
    g_free(r);
}

/* -- small things -- */

void repl_arm(struct replication *r, uint64_t at_ms)
{
    r->deadline_ms = MIN(r->deadline_ms, at_ms);
}

uint64_t replication_deadline(const struct replication *r)
{
    return r->deadline_ms;
}

struct position repl_position(const struct replication *r, uint32_t domain)
{
    const struct view_domain *d = view_domain(r->view, domain);
    return d != NULL ? (struct position){d->epoch, d->seq} : (struct position){0, 0};
}

struct repl_peer *repl_peer(struct replication *r, const char *name)
{
    for (guint i = 0; i < r->peers->len; i++) {
        struct repl_peer *p = g_ptr_array_index(r->peers, i);
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

static gint compare_peers(gconstpointer a, gconstpointer b)
{
    const struct repl_peer *x = *(void *const *)a, *y = *(void *const *)b;
    return strcmp(x->name, y->name);
}

static struct repl_peer *need_peer(struct replication *r, const char *name)
{
    struct repl_peer *p = repl_peer(r, name);
    if (p != NULL)
        return p;
    p = g_new0(struct repl_peer, 1);
    g_strlcpy(p->name, name, sizeof p->name);
    p->domains = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    g_ptr_array_add(r->peers, p);
    g_ptr_array_sort(r->peers, compare_peers);
    return p;
}

static gint compare_streams(gconstpointer a, gconstpointer b)
{
    const struct stream *x = *(void *const *)a, *y = *(void *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

struct stream *repl_stream(struct replication *r, uint32_t id)
{
    struct stream *s = g_hash_table_lookup(r->by_id, GUINT_TO_POINTER(id));
    if (s != NULL)
        return s;
    s = g_new0(struct stream, 1);
    s->id = id;
    s->answers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    s->ack_to = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_hash_table_insert(r->by_id, GUINT_TO_POINTER(id), s);
    g_ptr_array_add(r->streams, s);
    g_ptr_array_sort(r->streams, compare_streams);
    return s;
}

void repl_send(struct replication *r, enum shard_channel channel, const char *peer, uint32_t type,
               uint32_t domain, struct position at, ProtobufCMessage *body)
{
    struct envelope m = {
        .type = type, .domain = domain, .epoch = at.epoch, .seq = at.seq, .body = body};
    r->cb.send(r->cb.user, channel, peer, &m);
}

/* An owner also hands on what its predecessors published. */
bool repl_is_owner(const struct replication *r, const struct stream *s, const char *peer,
                   uint64_t epoch)
{
    return (epoch <= s->assigned_epoch && strcmp(s->assigned_owner, peer) == 0) ||
           (epoch <= s->epoch_owner_epoch && strcmp(s->epoch_owner, peer) == 0);
}

/* -- hellos -- */

/* Says what we have. Repeated, so that whatever got lost is found out. */
void repl_hello(struct replication *r, struct repl_peer *p)
{
    Heddle__PeerHello body = HEDDLE__PEER_HELLO__INIT;
    g_autoptr(GArray) ids = view_domain_ids(r->view);
    g_autofree Heddle__Position *positions = g_new0(Heddle__Position, ids->len + 1);
    g_autofree Heddle__Position **list = g_new0(Heddle__Position *, ids->len + 1);
    for (guint i = 0; i < ids->len; i++) {
        struct position at = repl_position(r, g_array_index(ids, uint32_t, i));
        if (at.epoch == 0)
            continue;
        Heddle__Position *one = &positions[body.n_positions];
        heddle__position__init(one);
        one->domain = g_array_index(ids, uint32_t, i);
        one->epoch = at.epoch;
        one->seq = at.seq;
        list[body.n_positions++] = one;
    }
    body.positions = list;
    p->hello_sent = true;
    p->hello_at_ms = r->now_ms + REPL_HELLO_MS;
    repl_arm(r, p->hello_at_ms);
    repl_send(r, SHARD_DELTA, p->name, HEDDLE__MESSAGE_TYPE__MSG_PEER_HELLO, 0,
              (struct position){0, 0}, &body.base);
}

static bool owner_reachable(struct replication *r, const struct stream *s)
{
    struct repl_peer *p = repl_peer(r, s->assigned_owner);
    return p != NULL && p->live && p->up;
}

static void heard_position(struct replication *r, struct repl_peer *p, struct stream *s,
                           struct position at)
{
    struct peer_domain *d = repl_peer_domain(p, s->id);
    bool behind = position_compare(at, repl_position(r, s->id)) > 0;
    repl_peer_at(r, p, s, at, !d->known);
    /* The owner sends what we lack by itself; for an owner that is away its peers step in. */
    if (behind && !s->own && !owner_reachable(r, s))
        repl_pull(r, s, p->name);
}

static void on_hello(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    const Heddle__PeerHello *body = (const Heddle__PeerHello *)m->body;
    g_autoptr(GHashTable) listed = g_hash_table_new(g_direct_hash, g_direct_equal);
    if (!p->hello_sent)
        repl_hello(r, p);
    for (size_t i = 0; body != NULL && i < body->n_positions; i++) {
        const Heddle__Position *one = body->positions[i];
        if (r->streams->len >= REPL_MAX_DOMAINS &&
            !g_hash_table_contains(r->by_id, GUINT_TO_POINTER(one->domain)))
            continue;
        g_hash_table_add(listed, GUINT_TO_POINTER(one->domain));
        heard_position(r, p, repl_stream(r, one->domain), (struct position){one->epoch, one->seq});
    }
    for (guint i = 0; i < r->streams->len; i++) {
        struct stream *s = g_ptr_array_index(r->streams, i);
        if (!g_hash_table_contains(listed, GUINT_TO_POINTER(s->id)))
            heard_position(r, p, s, (struct position){0, 0});
    }
}

/* -- peers -- */

static void new_session(struct replication *r, struct repl_peer *p, uint64_t boot_id)
{
    p->boot_id = boot_id;
    p->hello_sent = false;
    repl_forget_sent(p);
}

static void came_up(struct replication *r, struct repl_peer *p)
{
    bool was_up = p->up;
    p->up = p->was_up = true;
    repl_hello(r, p);
    if (!was_up)
        repl_collect_peer_up(r, p);
    for (guint i = 0; i < r->streams->len; i++)
        repl_pump(r, p, g_ptr_array_index(r->streams, i));
}

void replication_link_up(struct replication *r, const char *peer, uint64_t now_ms)
{
    r->now_ms = now_ms;
    came_up(r, need_peer(r, peer));
}

void replication_link_down(struct replication *r, const char *peer, uint64_t now_ms)
{
    struct repl_peer *p = repl_peer(r, peer);
    r->now_ms = now_ms;
    if (p == NULL)
        return;
    p->up = false;
    new_session(r, p, p->boot_id);
    repl_collect_peer_down(r, p);
}

static bool member_live(const Heddle__Member *m)
{
    return m->state == HEDDLE__MEMBER_STATE__MEMBER_LIVE ||
           m->state == HEDDLE__MEMBER_STATE__MEMBER_SUSPECT;
}

static void take_members(struct replication *r, const Heddle__Assignment *a)
{
    for (guint i = 0; i < r->peers->len; i++)
        ((struct repl_peer *)g_ptr_array_index(r->peers, i))->live = false;
    for (size_t i = 0; i < a->n_members; i++) {
        const Heddle__Member *m = a->members[i];
        if (strcmp(m->name, r->self) == 0)
            continue;
        need_peer(r, m->name)->live = member_live(m);
    }
}

void replication_set_assignment(struct replication *r, const Heddle__Assignment *a)
{
    take_members(r, a);
    for (size_t i = 0; i < a->n_domains; i++) {
        struct stream *s = repl_stream(r, a->domains[i]->id);
        g_strlcpy(s->assigned_owner, a->domains[i]->owner, sizeof s->assigned_owner);
        s->assigned_epoch = a->domains[i]->epoch;
        if (s->own && s->assigned_epoch > s->own_epoch && strcmp(s->assigned_owner, r->self) != 0)
            replication_disown(r, s->id);
    }
    /* Fewer live peers may make enough of the acknowledgements that are here. */
    for (guint i = 0; i < r->streams->len; i++) {
        struct stream *s = g_ptr_array_index(r->streams, i);
        if (s->own && s->collect == COLLECT_DONE)
            r->cb.acked(r->cb.user, s->id);
    }
}

/* -- messages -- */

static void dispatch(struct replication *r, struct repl_peer *p, const struct envelope *m)
{
    switch (m->type) {
    case HEDDLE__MESSAGE_TYPE__MSG_PEER_HELLO:
        on_hello(r, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_DELTA:
        repl_on_delta(r, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_DELTA_ACK:
        repl_on_ack(r, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_PULL:
        repl_on_pull(r, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_SUFFIX_ASK:
        repl_on_suffix_ask(r, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_SUFFIX:
        repl_on_suffix(r, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT_ASK:
        repl_on_snapshot_ask(r, p, m);
        break;
    case HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT:
        repl_on_snapshot(r, p, m);
        break;
    default:
        break;
    }
}

void replication_message(struct replication *r, enum shard_channel channel, const char *peer,
                         const struct envelope *m, uint64_t now_ms)
{
    struct repl_peer *p = need_peer(r, peer);
    r->now_ms = now_ms;
    if (r->streams->len >= REPL_MAX_DOMAINS &&
        !g_hash_table_contains(r->by_id, GUINT_TO_POINTER(m->domain)))
        return;
    if (m->boot_id != p->boot_id)
        new_session(r, p, m->boot_id); /* another process under this name */
    if (!p->up)
        came_up(r, p); /* its connection to us is there before ours to it */
    dispatch(r, p, m);
}

/* -- time -- */

static void tick_peer(struct replication *r, struct repl_peer *p)
{
    if (p->up && r->now_ms >= p->hello_at_ms)
        repl_hello(r, p);
    if (p->up)
        repl_arm(r, p->hello_at_ms);
    for (guint i = 0; i < r->streams->len; i++)
        repl_send_tick(r, p, g_ptr_array_index(r->streams, i));
}

void replication_tick(struct replication *r, uint64_t now_ms)
{
    r->now_ms = now_ms;
    if (now_ms < r->deadline_ms)
        return;
    r->deadline_ms = UINT64_MAX;
    for (guint i = 0; i < r->streams->len; i++) {
        struct stream *s = g_ptr_array_index(r->streams, i);
        repl_flush_acks(r, s);
        repl_collect_tick(r, s);
    }
    for (guint i = 0; i < r->peers->len; i++)
        tick_peer(r, g_ptr_array_index(r->peers, i));
}

/* -- ownership -- */

void replication_own(struct replication *r, uint32_t domain, uint64_t epoch, const uint8_t *grant,
                     size_t grant_len, uint64_t now_ms)
{
    struct stream *s = repl_stream(r, domain);
    r->now_ms = now_ms;
    if (s->own && s->own_epoch >= epoch)
        return;
    if (repl_position(r, domain).epoch > epoch)
        return; /* an older grant that came late */
    s->own = true;
    s->own_epoch = epoch;
    g_clear_pointer(&s->grant, g_bytes_unref);
    s->grant = g_bytes_new(grant, grant_len);
    repl_collect_start(r, s);
}

void replication_disown(struct replication *r, uint32_t domain)
{
    struct stream *s = repl_stream(r, domain);
    s->own = false;
    s->notify = false;
    s->collect = COLLECT_NONE;
}

static void open_epoch(struct stream *s, struct position base, Heddle__Delta *d)
{
    gsize size;
    const void *grant = g_bytes_get_data(s->grant, &size);
    d->grant.len = size;
    d->grant.data = g_memdup2(grant, size);
    d->base_epoch = base.epoch;
    d->base_seq = base.seq;
}

uint64_t replication_publish(struct replication *r, uint32_t domain, Heddle__Delta *d,
                             uint64_t now_ms)
{
    struct stream *s = repl_stream(r, domain);
    struct position base = repl_position(r, domain), at = {s->own_epoch, base.seq + 1};
    r->now_ms = now_ms;
    if (!s->own || s->collect != COLLECT_DONE) {
        heddle__delta__free_unpacked(d, NULL);
        return 0;
    }
    if (base.epoch != s->own_epoch) {
        at.seq = 1;
        open_epoch(s, base, d);
    }
    unsigned changed = view_apply(r->view, domain, d);
    view_set_position(r->view, domain, at.epoch, at.seq);
    delta_log_add(&s->log, at, base, d);
    repl_pump_all(r, s);
    r->cb.applied(r->cb.user, domain, d, changed, true);
    heddle__delta__free_unpacked(d, NULL);
    return at.seq;
}

bool replication_acked(const struct replication *r, uint32_t domain, uint64_t seq)
{
    const struct stream *s = g_hash_table_lookup(r->by_id, GUINT_TO_POINTER(domain));
    unsigned live = 0, have = 0;
    if (s == NULL || !s->own)
        return false;
    struct position at = {s->own_epoch, seq};
    for (guint i = 0; i < r->peers->len; i++) {
        const struct repl_peer *p = g_ptr_array_index(r->peers, i);
        const struct peer_domain *d = g_hash_table_lookup(p->domains, GUINT_TO_POINTER(domain));
        if (!p->live)
            continue;
        live++;
        have += d != NULL && d->known && d->acked.epoch == at.epoch &&
                position_compare(d->acked, at) >= 0;
    }
    return have >= MIN(live, 2u);
}
