/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions that peers opened to a ROUTER of ours. */
#include "proto/link_internal.h"

#include <errno.h>
#include <string.h>

#include <zmq.h>

struct sessions {
    GHashTable *by_id; /* struct session -> itself */
    uint64_t last_order;
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
        if (!oldest || s->order < oldest->order)
            oldest = s;
    }
    if (count > LINK_MAX_SESSIONS)
        sessions_forget(ss, oldest);
}

void sessions_seen(struct sessions *ss, const uint8_t *id, size_t id_len, int fd, const char *peer,
                   const char *user_id)
{
    struct session probe = {.id_len = (uint8_t)id_len};
    if (id_len > LINK_MAX_ROUTING_ID)
        return;
    memcpy(probe.id, id, id_len);
    struct session *s = g_hash_table_lookup(ss->by_id, &probe);
    if (s && strcmp(s->peer, peer) == 0 && strcmp(s->user_id, user_id) == 0)
        return;
    s = g_new0(struct session, 1);
    *s = probe;
    g_strlcpy(s->peer, peer, sizeof s->peer);
    g_strlcpy(s->user_id, user_id, sizeof s->user_id);
    s->fd = fd;
    s->order = ++ss->last_order;
    g_hash_table_replace(ss->by_id, s, s);
    forget_surplus(ss, s->peer);
}

const struct session *sessions_newest(const struct sessions *ss, const char *peer)
{
    GHashTableIter it;
    gpointer key;
    const struct session *newest = NULL;
    g_hash_table_iter_init(&it, ss->by_id);
    while (g_hash_table_iter_next(&it, &key, NULL)) {
        const struct session *s = key;
        if (strcmp(s->peer, peer) == 0 && (!newest || s->order > newest->order))
            newest = s;
    }
    return newest;
}

void sessions_forget(struct sessions *ss, const struct session *s)
{
    g_hash_table_remove(ss->by_id, s);
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

static gint oldest_first(gconstpointer pa, gconstpointer pb)
{
    const struct session *a = *(struct session *const *)pa, *b = *(struct session *const *)pb;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Pointers to the suspects, oldest first: a peer that ends with two sessions is told once. */
static GPtrArray *suspects(struct sessions *ss)
{
    GPtrArray *all = g_ptr_array_new();
    GHashTableIter it;
    gpointer key;
    g_hash_table_iter_init(&it, ss->by_id);
    while (g_hash_table_iter_next(&it, &key, NULL))
        if (((struct session *)key)->probe_us)
            g_ptr_array_add(all, key);
    g_ptr_array_sort(all, oldest_first);
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
            if (sessions_newest(ss, s->peer) == s)
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
