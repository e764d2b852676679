/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions that peers opened to a ROUTER of ours. */
#include "proto/link_internal.h"

#include <errno.h>
#include <string.h>

#include <zmq.h>

struct sessions {
    GHashTable *by_id; /* struct session -> itself */
    uint64_t last_order;
    gint64 drained_us;
};

static guint hash_id(gconstpointer p)
{
    const struct session *s = p;
    guint h = 5381;
    for (size_t i = 0; i < s->id_len; i++)
        h = h * 33 + s->id[i];
    return h;
}

static gboolean equal_id(gconstpointer pa, gconstpointer pb)
{
    const struct session *a = pa, *b = pb;
    return a->id_len == b->id_len && memcmp(a->id, b->id, a->id_len) == 0;
}

struct sessions *sessions_create(void)
{
    struct sessions *ss = g_new0(struct sessions, 1);
    ss->by_id = g_hash_table_new_full(hash_id, equal_id, g_free, NULL);
    return ss;
}

void sessions_destroy(struct sessions *ss)
{
    if (!ss)
        return;
    g_hash_table_destroy(ss->by_id);
    g_free(ss);
}

static struct session *find_in_use(const struct sessions *ss, const char *peer)
{
    GHashTableIter it;
    gpointer key;
    g_hash_table_iter_init(&it, ss->by_id);
    while (g_hash_table_iter_next(&it, &key, NULL)) {
        struct session *s = key;
        if (s->in_use && strcmp(s->peer, peer) == 0)
            return s;
    }
    return NULL;
}

const struct session *sessions_in_use(const struct sessions *ss, const char *peer)
{
    return find_in_use(ss, peer);
}

void sessions_drained(struct sessions *ss, gint64 now)
{
    ss->drained_us = now;
}

/* `s` was heard just now. */
static void use_if_free(struct sessions *ss, struct session *s)
{
    if (s->in_use)
        return;
    struct session *used = find_in_use(ss, s->peer);
    if (used && ss->drained_us < used->heard_us + LINK_SESSION_SILENT_US)
        return;
    if (used)
        used->in_use = false;
    s->in_use = true;
}

static void forget_surplus(struct sessions *ss, const char *peer)
{
    GHashTableIter it;
    gpointer key;
    const struct session *oldest = NULL;
    unsigned count = 0;
    g_hash_table_iter_init(&it, ss->by_id);
    while (g_hash_table_iter_next(&it, &key, NULL)) {
        const struct session *s = key;
        if (strcmp(s->peer, peer) != 0)
            continue;
        count++;
        if (!s->in_use && (!oldest || s->order < oldest->order))
            oldest = s;
    }
    if (count > LINK_MAX_SESSIONS)
        sessions_forget(ss, oldest);
}

void sessions_seen(struct sessions *ss, const uint8_t *id, size_t id_len, int fd, const char *peer,
                   const char *user_id, gint64 now)
{
    struct session probe = {.id_len = (uint8_t)id_len};
    if (id_len > LINK_MAX_ROUTING_ID)
        return;
    memcpy(probe.id, id, id_len);
    struct session *s = g_hash_table_lookup(ss->by_id, &probe);
    if (s && strcmp(s->peer, peer) == 0 && strcmp(s->user_id, user_id) == 0) {
        s->heard_us = now;
        use_if_free(ss, s);
        return;
    }
    if (s)
        sessions_forget(ss, s);
    s = g_new0(struct session, 1);
    *s = probe;
    g_strlcpy(s->peer, peer, sizeof s->peer);
    g_strlcpy(s->user_id, user_id, sizeof s->user_id);
    s->fd = fd;
    s->order = ++ss->last_order;
    s->heard_us = now;
    g_hash_table_add(ss->by_id, s);
    use_if_free(ss, s);
    forget_surplus(ss, s->peer);
}

/* Brings the one of peer that was heard last into use; of two, the newer. */
static void use_another(struct sessions *ss, const char *peer)
{
    GHashTableIter it;
    gpointer key;
    struct session *best = NULL;
    g_hash_table_iter_init(&it, ss->by_id);
    while (g_hash_table_iter_next(&it, &key, NULL)) {
        struct session *s = key;
        if (strcmp(s->peer, peer) == 0 &&
            (!best || s->heard_us > best->heard_us ||
             (s->heard_us == best->heard_us && s->order > best->order)))
            best = s;
    }
    if (best)
        best->in_use = true;
}

void sessions_forget(struct sessions *ss, const struct session *s)
{
    char peer[PROTO_MAX_NAME + 1];
    bool used = s->in_use;
    g_strlcpy(peer, s->peer, sizeof peer);
    g_hash_table_remove(ss->by_id, s);
    if (used)
        use_another(ss, peer);
}

bool sessions_suspect(struct sessions *ss, int fd, gint64 until)
{
    GHashTableIter it;
    gpointer key;
    bool any = false;
    g_hash_table_iter_init(&it, ss->by_id);
    while (g_hash_table_iter_next(&it, &key, NULL)) {
        struct session *s = key;
        if (s->fd != fd && s->fd != -1)
            continue;
        s->probe_us = until;
        any = true;
    }
    return any;
}

static bool unreachable(void *router, const struct session *s)
{
    if (zmq_send(router, s->id, s->id_len, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return errno == EHOSTUNREACH; /* EAGAIN: its queue is full, which says nothing */
    zmq_send(router, "", 0, ZMQ_DONTWAIT);
    return false;
}

/* A peer that ends with two sessions is told once: by the one in use, which comes last. */
static gint probe_order(gconstpointer pa, gconstpointer pb)
{
    const struct session *a = *(struct session *const *)pa, *b = *(struct session *const *)pb;
    if (a->in_use != b->in_use)
        return a->in_use ? 1 : -1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Pointers to the suspects, in probe_order. */
static GPtrArray *suspects(struct sessions *ss)
{
    GPtrArray *all = g_ptr_array_new();
    GHashTableIter it;
    gpointer key;
    g_hash_table_iter_init(&it, ss->by_id);
    while (g_hash_table_iter_next(&it, &key, NULL))
        if (((struct session *)key)->probe_us)
            g_ptr_array_add(all, key);
    g_ptr_array_sort(all, probe_order);
    return all;
}

bool sessions_probe(struct sessions *ss, void *router, gint64 now, GPtrArray *gone)
{
    int events;
    size_t size = sizeof events;
    bool remain = false;
    zmq_getsockopt(router, ZMQ_EVENTS, &events, &size); /* makes it see what ended until now */
    g_autoptr(GPtrArray) all = suspects(ss);
    for (guint i = 0; i < all->len; i++) {
        struct session *s = g_ptr_array_index(all, i);
        if (unreachable(router, s)) {
            if (s->in_use)
                g_ptr_array_add(gone, g_strdup(s->peer));
            sessions_forget(ss, s);
        } else if (now >= s->probe_us) {
            s->probe_us = 0;
        } else {
            remain = true;
        }
    }
    return remain;
}
