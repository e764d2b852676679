/* SPDX-License-Identifier: BSD-2-Clause */
/* ZAP handler (ZeroMQ RFC 27): which CURVE keys may connect, and under which name. */
#include "proto/link_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#define ZAP_ENDPOINT "inproc://zeromq.zap.01"
#define ZAP_FRAME_BYTES 256u
#define USER_ID_BYTES (PROTO_MAX_NAME + 24u)

enum zap_frame { /* of a request, in this order */
                 ZAP_VERSION,
                 ZAP_REQUEST_ID,
                 ZAP_DOMAIN,
                 ZAP_ADDRESS,
                 ZAP_ROUTING_ID,
                 ZAP_MECHANISM,
                 ZAP_CREDENTIALS,
                 ZAP_FRAMES
};

struct frame {
    uint8_t bytes[ZAP_FRAME_BYTES];
    size_t len;
};

struct entry {
    char name[PROTO_MAX_NAME + 1];
    uint8_t key[LINK_KEY_BYTES];
    uint64_t generation;
};

struct zap {
    pthread_mutex_t lock; /* not GLib's, which thread sanitizers do not see */
    GHashTable *entries;  /* name -> struct entry, under lock */
    uint64_t last_generation;
    char *domain;
    void *socket; /* the thread's after its start */
    GThread *thread;
};

static bool frame_is(const struct frame *f, const char *text)
{
    return f->len == strlen(text) && memcmp(f->bytes, text, f->len) == 0;
}

/* Reads one request of any number of frames; frames beyond the known and bytes beyond a frame's
 * room make it invalid. False when the context ends. */
static bool read_request(void *socket, struct frame frames[ZAP_FRAMES], bool *valid)
{
    int more = 1;
    size_t size = sizeof more;
    *valid = true;
    memset(frames, 0, ZAP_FRAMES * sizeof *frames);
    for (size_t n = 0; more; n++) {
        struct frame spare;
        struct frame *f = n < ZAP_FRAMES ? &frames[n] : &spare;
        int rc;
        do {
            rc = zmq_recv(socket, f->bytes, sizeof f->bytes, 0);
        } while (rc < 0 && errno == EINTR);
        if (rc < 0 || zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0)
            return false;
        f->len = (size_t)rc;
        if (f == &spare || f->len > sizeof f->bytes || (!more && n + 1 != ZAP_FRAMES))
            *valid = false;
        f->len = MIN(f->len, sizeof f->bytes);
    }
    return true;
}

static struct entry *find_key(struct zap *z, const uint8_t key[LINK_KEY_BYTES])
{
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, z->entries);
    while (g_hash_table_iter_next(&it, NULL, &value))
        if (memcmp(((struct entry *)value)->key, key, LINK_KEY_BYTES) == 0)
            return value;
    return NULL;
}

static bool judge(struct zap *z, const struct frame frames[ZAP_FRAMES], char *user_id, size_t size)
{
    if (!frame_is(&frames[ZAP_VERSION], "1.0") || !frame_is(&frames[ZAP_DOMAIN], z->domain) ||
        !frame_is(&frames[ZAP_MECHANISM], "CURVE") || frames[ZAP_CREDENTIALS].len != LINK_KEY_BYTES)
        return false;
    pthread_mutex_lock(&z->lock);
    const struct entry *e = find_key(z, frames[ZAP_CREDENTIALS].bytes);
    if (e)
        snprintf(user_id, size, "%" G_GUINT64_FORMAT " %s", e->generation, e->name);
    pthread_mutex_unlock(&z->lock);
    return e != NULL;
}

static bool reply(void *socket, const struct frame *request_id, bool accepted, const char *user_id)
{
    const char *code = accepted ? "200" : "400";
    const char *text = accepted ? "OK" : "key not enrolled";
    return zmq_send(socket, "1.0", 3, ZMQ_SNDMORE) >= 0 &&
           zmq_send(socket, request_id->bytes, request_id->len, ZMQ_SNDMORE) >= 0 &&
           zmq_send(socket, code, 3, ZMQ_SNDMORE) >= 0 &&
           zmq_send(socket, text, strlen(text), ZMQ_SNDMORE) >= 0 &&
           zmq_send(socket, user_id, strlen(user_id), ZMQ_SNDMORE) >= 0 &&
           zmq_send(socket, "", 0, 0) >= 0;
}

static gpointer run(gpointer data)
{
    struct zap *z = data;
    struct frame frames[ZAP_FRAMES];
    bool valid;
    while (read_request(z->socket, frames, &valid)) {
        char user_id[USER_ID_BYTES] = "";
        bool accepted = valid && judge(z, frames, user_id, sizeof user_id);
        if (!reply(z->socket, &frames[ZAP_REQUEST_ID], accepted, user_id) && errno == ETERM)
            break;
    }
    zmq_close(z->socket);
    return NULL;
}

static bool start(struct zap *z, void *ctx, char *error, size_t error_size)
{
    int linger = 0;
    z->socket = zmq_socket(ctx, ZMQ_REP);
    if (z->socket && zmq_setsockopt(z->socket, ZMQ_LINGER, &linger, sizeof linger) == 0 &&
        zmq_bind(z->socket, ZAP_ENDPOINT) == 0) {
        z->thread = g_thread_new("heddle-zap", run, z);
        return true;
    }
    snprintf(error, error_size, "no ZAP handler: %s", zmq_strerror(errno));
    if (z->socket)
        zmq_close(z->socket);
    return false;
}

struct zap *zap_create(void *ctx, const char *domain, bool handler, char *error, size_t error_size)
{
    struct zap *z = g_new0(struct zap, 1);
    pthread_mutex_init(&z->lock, NULL);
    z->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    z->domain = g_strdup(domain);
    if (!handler || start(z, ctx, error, error_size))
        return z;
    zap_destroy(z);
    return NULL;
}

void zap_destroy(struct zap *z)
{
    if (!z)
        return;
    if (z->thread)
        g_thread_join(z->thread);
    g_hash_table_destroy(z->entries);
    pthread_mutex_destroy(&z->lock);
    g_free(z->domain);
    g_free(z);
}

void zap_allow(struct zap *z, const char *name, const uint8_t public_key[LINK_KEY_BYTES])
{
    pthread_mutex_lock(&z->lock);
    struct entry *e = find_key(z, public_key);
    if (!e || strcmp(e->name, name) != 0) {
        if (e) /* a key speaks for one name */
            g_hash_table_remove(z->entries, e->name);
        e = g_new0(struct entry, 1);
        g_strlcpy(e->name, name, sizeof e->name);
        memcpy(e->key, public_key, LINK_KEY_BYTES);
        e->generation = ++z->last_generation;
        g_hash_table_replace(z->entries, e->name, e);
    }
    pthread_mutex_unlock(&z->lock);
}

void zap_revoke(struct zap *z, const char *name)
{
    pthread_mutex_lock(&z->lock);
    g_hash_table_remove(z->entries, name);
    pthread_mutex_unlock(&z->lock);
}

bool zap_user(struct zap *z, const char *user_id, char name[PROTO_MAX_NAME + 1], bool *current)
{
    char *end;
    uint64_t generation = g_ascii_strtoull(user_id, &end, 10);
    *current = false;
    if (end == user_id || *end != ' ' || !end[1] || strlen(end + 1) > PROTO_MAX_NAME)
        return false;
    g_strlcpy(name, end + 1, PROTO_MAX_NAME + 1);
    pthread_mutex_lock(&z->lock);
    const struct entry *e = g_hash_table_lookup(z->entries, name);
    *current = e && e->generation == generation;
    pthread_mutex_unlock(&z->lock);
    return true;
}
