/* SPDX-License-Identifier: BSD-2-Clause */
/* Authenticated messages between heddle's processes over ZeroMQ. */
#include "proto/link.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>
#include <zmq.h>

#include "proto/check.h"
#include "proto/link_internal.h"

#define DEFAULT_HWM 4096
#define PROBE_US 1000         /* between probes after a connection to us broke .. */
#define PROBE_WINDOW_US 50000 /* .. and how long: libzmq drops the pipe after the event */
#define BUSY_PROBE_US 5000    /* a flood of messages delays a probe by no more than this */
#define BUSY_MESSAGES 64      /* messages between two looks at monitors and timers */
#define MAX_SKIPPED 256       /* ignored messages in one link_receive */
#define MAX_MONITOR_EVENTS 4096

struct server { /* a bound ROUTER */
    void *socket, *monitor;
    struct watch watch, monitor_watch;
    char *endpoint;
    struct sessions *sessions;
    bool suspects;             /* sessions whose end is to be confirmed .. */
    gint64 probe_us, broke_us; /* .. next at, and since */
};

struct link {
    struct link_base base;
    char *cluster;
    struct zap *zap;
    struct server servers[LINK_CHANNELS];
    GPtrArray *conns;
    zmq_msg_t message;
    guint next_source, since_upkeep;
    GArray *fds;        /* struct pollfd, of link_wait: of the watches and the caller's .. */
    GPtrArray *watches; /* .. struct watch */
    struct link_counters counters;
};

static int fail(int code, char *error, size_t error_size, const char *what)
{
    snprintf(error, error_size, "%s: %s", what, zmq_strerror(code));
    return code;
}

struct link *link_create_with(const struct link_config *config,
                              const struct link_settings *settings, char *error, size_t error_size)
{
    if (!config->name[0] || !check_name(config->name) || !config->cluster[0] ||
        !check_name(config->cluster)) {
        snprintf(error, error_size, "a name must have 1 to %u bytes of printable UTF-8",
                 PROTO_MAX_NAME);
        return NULL;
    }
    if (sodium_init() < 0 || !zmq_has("curve")) {
        snprintf(error, error_size, "libzmq without CURVE, or libsodium does not start");
        return NULL;
    }
    struct link *l = g_new0(struct link, 1);
    g_strlcpy(l->base.name, config->name, sizeof l->base.name);
    l->cluster = g_strdup(config->cluster);
    l->base.boot_id = config->boot_id;
    l->base.settings = *settings;
    l->base.sockets = (struct link_socket_config){
        .settings = &l->base.settings,
        .domain = l->cluster,
        .keys = config->keys,
        .send_hwm = config->send_hwm > 0 ? config->send_hwm : DEFAULT_HWM,
        .receive_hwm = config->receive_hwm > 0 ? config->receive_hwm : DEFAULT_HWM,
    };
    l->conns = g_ptr_array_new_with_free_func((GDestroyNotify)conn_free);
    l->fds = g_array_new(FALSE, TRUE, sizeof(struct pollfd));
    l->watches = g_ptr_array_new();
    g_queue_init(&l->base.events);
    zmq_msg_init(&l->message);
    l->base.ctx = zmq_ctx_new();
    if (l->base.ctx)
        l->zap = zap_create(l->base.ctx, l->cluster, settings->zap_handler, error, error_size);
    else
        fail(errno, error, error_size, "no ZeroMQ context");
    if (l->zap)
        return l;
    link_destroy(l);
    return NULL;
}

struct link *link_create(const struct link_config *config, char *error, size_t error_size)
{
    return link_create_with(config, &link_default_settings, error, error_size);
}

static void server_clear(struct server *s)
{
    socket_close(&s->socket, &s->monitor);
    sessions_destroy(s->sessions);
    g_free(s->endpoint);
    memset(s, 0, sizeof *s);
}

void link_destroy(struct link *l)
{
    if (!l)
        return;
    g_ptr_array_free(l->conns, TRUE);
    for (int c = 0; c < LINK_CHANNELS; c++)
        server_clear(&l->servers[c]);
    zmq_msg_close(&l->message);
    if (l->base.ctx) {
        zmq_ctx_shutdown(l->base.ctx); /* ends the handler's thread */
        zap_destroy(l->zap);
        zmq_ctx_term(l->base.ctx);
    }
    g_queue_clear_full(&l->base.events, g_free);
    g_array_free(l->fds, TRUE);
    g_ptr_array_free(l->watches, TRUE);
    g_free(l->cluster);
    g_free(l);
}

void link_allow(struct link *l, const char *name, const uint8_t public_key[32])
{
    if (name[0] && check_name(name))
        zap_allow(l->zap, name, public_key);
}

void link_revoke(struct link *l, const char *name)
{
    zap_revoke(l->zap, name);
    for (int c = 0; c < LINK_CHANNELS; c++)
        link_disconnect(l, c, name);
}

int link_bind(struct link *l, enum link_channel channel, const char *endpoint, char *error,
              size_t error_size)
{
    struct server *s = &l->servers[channel];
    if (s->socket)
        return fail(EBUSY, error, error_size, "this channel is bound already");
    s->socket = socket_create(l->base.ctx, &l->base.sockets, NULL, &s->monitor, error, error_size);
    if (!s->socket)
        return errno;
    int ipv6 = strchr(endpoint, '[') != NULL, rc = 0;
    char bound[256];
    size_t size = sizeof bound;
    s->sessions = sessions_create();
    zmq_setsockopt(s->socket, ZMQ_IPV6, &ipv6, sizeof ipv6);
    if (zmq_bind(s->socket, endpoint) != 0 ||
        zmq_getsockopt(s->socket, ZMQ_LAST_ENDPOINT, bound, &size) != 0)
        rc = fail(errno, error, error_size, endpoint);
    if (!rc && l->base.settings.canary)
        rc = socket_canary(l->base.ctx, &l->base.sockets, bound, error, error_size);
    if (rc) {
        server_clear(s);
        return rc;
    }
    uint16_t event;
    uint32_t value;
    while (monitor_next(s->monitor, &event, &value))
        ; /* the canary's refusal is no news */
    watch_start(&s->watch, s->socket);
    watch_start(&s->monitor_watch, s->monitor);
    s->endpoint = g_strdup(bound);
    return 0;
}

const char *link_bound_endpoint(const struct link *l, enum link_channel channel)
{
    return l->servers[channel].endpoint;
}

/* --- our own connections --- */

static struct conn *find_conn(const struct link *l, enum link_channel channel, const char *peer)
{
    for (guint i = 0; i < l->conns->len; i++) {
        struct conn *c = g_ptr_array_index(l->conns, i);
        if (c->channel == channel && strcmp(c->peer, peer) == 0)
            return c;
    }
    return NULL;
}

int link_connect(struct link *l, enum link_channel channel, const char *peer,
                 const uint8_t server_key[32], const char *endpoint, char *error, size_t error_size)
{
    if (!peer[0] || !check_name(peer))
        return fail(EINVAL, error, error_size, "name of a peer");
    struct conn *c = find_conn(l, channel, peer);
    if (c && memcmp(c->server_key, server_key, LINK_KEY_BYTES) == 0 &&
        strcmp(c->endpoint, endpoint) == 0)
        return 0;
    link_disconnect(l, channel, peer);
    c = conn_create(channel, peer, server_key, endpoint);
    int rc = conn_open(&l->base, c, g_get_monotonic_time(), error, error_size);
    if (rc)
        conn_free(c);
    else
        g_ptr_array_add(l->conns, c);
    return rc;
}

void link_disconnect(struct link *l, enum link_channel channel, const char *peer)
{
    struct conn *c = find_conn(l, channel, peer);
    if (c)
        g_ptr_array_remove(l->conns, c);
}

/* --- connections to us --- */

/* The event names a descriptor, and libzmq drops the pipe of the connection a little later. */
static void server_event(struct link *l, struct server *s, uint16_t event, uint32_t value,
                         gint64 now)
{
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ||
        event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL || event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        l->counters.refused_handshakes++;
    if (event != ZMQ_EVENT_DISCONNECTED ||
        !sessions_suspect(s->sessions, (int)value, now + PROBE_WINDOW_US))
        return;
    if (!s->suspects)
        s->broke_us = now;
    s->suspects = true;
    s->probe_us = now;
}

static void server_probe(struct link *l, enum link_channel channel, gint64 now)
{
    struct server *s = &l->servers[channel];
    g_autoptr(GPtrArray) gone = g_ptr_array_new_with_free_func(g_free);
    s->suspects = sessions_probe(s->sessions, s->socket, now, gone);
    s->watch.quiet = false;
    s->probe_us = now + PROBE_US;
    for (guint i = 0; i < gone->len; i++)
        events_push(&l->base, LINK_DOWN, channel, g_ptr_array_index(gone, i));
}

/* `drained`: no message waits. A probe before that could forget a session whose last messages,
 * read after it, would make it known again. */
static void server_upkeep(struct link *l, enum link_channel channel, gint64 now, bool drained)
{
    struct server *s = &l->servers[channel];
    uint16_t event;
    uint32_t value;
    if (!s->socket || !l->base.settings.drain_monitors)
        return;
    for (int i = 0; i < MAX_MONITOR_EVENTS && !s->monitor_watch.quiet; i++) {
        if (monitor_next(s->monitor, &event, &value)) {
            server_event(l, s, event, value, now);
        } else {
            watch_failed(&s->monitor_watch);
            break;
        }
    }
    if (s->suspects && now >= s->probe_us && (drained || now >= s->broke_us + BUSY_PROBE_US))
        server_probe(l, channel, now);
}

static void upkeep(struct link *l, bool drained)
{
    gint64 now = g_get_monotonic_time();
    l->since_upkeep = 0;
    for (int c = 0; c < LINK_CHANNELS; c++)
        server_upkeep(l, c, now, drained);
    for (guint i = 0; i < l->conns->len; i++)
        conn_upkeep(&l->base, g_ptr_array_index(l->conns, i), now);
}

/* --- sending --- */

static int send_body(struct link *l, void *socket, struct watch *w, const uint8_t *bytes,
                     size_t len)
{
    w->quiet = false;
    if (zmq_send(socket, bytes, len, ZMQ_DONTWAIT) >= 0)
        return 0;
    if (errno == EAGAIN)
        l->counters.dropped_full++;
    return errno;
}

static bool session_current(const struct link *l, const struct session *s)
{
    char name[PROTO_MAX_NAME + 1];
    bool current;
    return !l->base.settings.drop_revoked ||
           (zap_user(l->zap, s->user_id, name, &current) && current);
}

static int send_session(struct link *l, enum link_channel channel, const char *peer,
                        const uint8_t *bytes, size_t len)
{
    struct server *server = &l->servers[channel];
    const struct session *s;
    server->watch.quiet = false;
    while (server->socket && (s = sessions_in_use(server->sessions, peer))) {
        bool current = session_current(l, s);
        if (current && zmq_send(server->socket, s->id, s->id_len, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
            return send_body(l, server->socket, &server->watch, bytes, len);
        if (current && errno != EHOSTUNREACH) {
            l->counters.dropped_full += errno == EAGAIN;
            return errno;
        }
        if (current)
            events_push(&l->base, LINK_DOWN, channel, peer);
        sessions_forget(server->sessions, s);
    }
    return EHOSTUNREACH;
}

int link_send(struct link *l, enum link_channel channel, const char *peer, const uint8_t *bytes,
              size_t len)
{
    if (len == 0)
        return EINVAL; /* reserved for probes */
    if (len > PROTO_MAX_MESSAGE) {
        l->counters.dropped_oversized++;
        return EMSGSIZE;
    }
    struct conn *c = find_conn(l, channel, peer);
    if (c && c->state == CONN_UP)
        return send_body(l, c->socket, &c->watch, bytes, len);
    return send_session(l, channel, peer, bytes, len);
}

/* --- receiving --- */

/* Reads a message into l->message. Returns 0, EAGAIN, or EBADMSG when it has more than one part,
 * which no link of ours sends. */
static int read_body(struct link *l, void *socket, struct watch *w)
{
    if (w->quiet)
        return EAGAIN;
    if (zmq_msg_recv(&l->message, socket, ZMQ_DONTWAIT) < 0) {
        watch_failed(w);
        return EAGAIN;
    }
    if (!zmq_msg_more(&l->message))
        return 0;
    while (zmq_msg_more(&l->message) && zmq_msg_recv(&l->message, socket, ZMQ_DONTWAIT) >= 0)
        ;
    return EBADMSG;
}

/* Who sent l->message, and may it? */
static bool identify(struct link *l, const uint8_t *id, size_t id_len, char peer[64],
                     const char **user_id)
{
    bool current;
    *user_id = zmq_msg_gets(&l->message, "User-Id");
    if (!*user_id || !zap_user(l->zap, *user_id, peer, &current))
        return false;
    if (!l->base.settings.sender_is_user_id) {
        size_t n = strnlen((const char *)id, MIN(id_len, PROTO_MAX_NAME));
        memcpy(peer, id, n);
        peer[n] = 0;
    }
    if (current || !l->base.settings.drop_revoked)
        return true;
    l->counters.dropped_revoked++;
    return false;
}

static void fill_message(struct link *l, enum link_channel channel, struct link_event *e)
{
    e->kind = LINK_MESSAGE;
    e->channel = channel;
    e->bytes = zmq_msg_data(&l->message);
    e->len = zmq_msg_size(&l->message);
}

/* 0 = a message for the caller, EAGAIN = none waits, EBADMSG = one was ignored. */
static int receive_server(struct link *l, enum link_channel channel, struct link_event *e)
{
    struct server *s = &l->servers[channel];
    zmq_msg_t id;
    const char *user_id;
    int rc = EBADMSG;
    if (!s->socket || s->watch.quiet)
        return EAGAIN;
    zmq_msg_init(&id);
    if (zmq_msg_recv(&id, s->socket, ZMQ_DONTWAIT) < 0) {
        watch_failed(&s->watch);
        sessions_drained(s->sessions, g_get_monotonic_time());
        rc = EAGAIN;
    } else if (zmq_msg_more(&id) && read_body(l, s->socket, &s->watch) == 0 &&
               identify(l, zmq_msg_data(&id), zmq_msg_size(&id), e->peer, &user_id)) {
        sessions_seen(s->sessions, zmq_msg_data(&id), zmq_msg_size(&id),
                      zmq_msg_get(&l->message, ZMQ_SRCFD), e->peer, user_id,
                      g_get_monotonic_time());
        fill_message(l, channel, e);
        rc = e->len ? 0 : EBADMSG;
    }
    zmq_msg_close(&id);
    return rc;
}

static int receive_conn(struct link *l, struct conn *c, struct link_event *e)
{
    if (c->state != CONN_UP && c->state != CONN_BROKEN)
        return EAGAIN;
    int rc = read_body(l, c->socket, &c->watch);
    if (rc == EAGAIN && c->state == CONN_BROKEN)
        conn_down(&l->base, c);
    if (rc)
        return rc;
    fill_message(l, c->channel, e);
    g_strlcpy(e->peer, c->peer, sizeof e->peer);
    return e->len ? 0 : EBADMSG;
}

/* Takes sources in turn, so that a busy one does not starve the others. */
static int receive_any(struct link *l, struct link_event *e)
{
    guint sources = LINK_CHANNELS + l->conns->len, idle = 0, skipped = 0;
    while (idle < sources && skipped < MAX_SKIPPED) {
        guint at = l->next_source++ % sources;
        int rc = at < LINK_CHANNELS
                     ? receive_server(l, at, e)
                     : receive_conn(l, g_ptr_array_index(l->conns, at - LINK_CHANNELS), e);
        if (rc == 0)
            return 0;
        idle = rc == EAGAIN ? idle + 1 : 0;
        skipped += rc == EBADMSG;
    }
    return EAGAIN;
}

static bool pop_event(struct link *l, struct link_event *event)
{
    struct link_event *e = g_queue_pop_head(&l->base.events);
    if (!e)
        return false;
    *event = *e;
    g_free(e);
    return true;
}

int link_receive(struct link *l, struct link_event *event)
{
    memset(event, 0, sizeof *event);
    zmq_msg_close(&l->message);
    zmq_msg_init(&l->message);
    if (pop_event(l, event))
        return 0;
    if (++l->since_upkeep >= BUSY_MESSAGES) {
        upkeep(l, false);
        if (pop_event(l, event))
            return 0;
    }
    if (receive_any(l, event) == 0)
        return 0;
    upkeep(l, true);
    memset(event, 0, sizeof *event);
    if (pop_event(l, event))
        return 0;
    /* A connection that just came up, or broke, may have messages or an end to tell. */
    if (receive_any(l, event) == 0)
        return 0;
    memset(event, 0, sizeof *event);
    return pop_event(l, event) ? 0 : EAGAIN;
}

/* --- waiting --- */

static void add_watch(struct link *l, struct watch *w, void *socket, bool *news)
{
    struct pollfd fd = {.fd = w->fd, .events = POLLIN};
    *news |= watch_ask(w, socket);
    g_array_append_val(l->fds, fd);
    g_ptr_array_add(l->watches, w);
}

/* Fills l->fds; does a socket have something already? One of which libzmq gave no descriptor is
 * taken to have. */
static bool collect_fds(struct link *l, const struct pollfd *extra, size_t extra_count)
{
    bool news = false;
    g_array_set_size(l->fds, 0);
    g_ptr_array_set_size(l->watches, 0);
    for (int c = 0; c < LINK_CHANNELS; c++) {
        struct server *s = &l->servers[c];
        if (!s->socket)
            continue;
        add_watch(l, &s->watch, s->socket, &news);
        if (l->base.settings.drain_monitors)
            add_watch(l, &s->monitor_watch, s->monitor, &news);
    }
    for (guint i = 0; i < l->conns->len; i++) {
        struct conn *c = g_ptr_array_index(l->conns, i);
        if (!c->socket)
            continue;
        add_watch(l, &c->monitor_watch, c->monitor, &news);
        if (c->state != CONN_TRYING) /* else nobody would read it */
            add_watch(l, &c->watch, c->socket, &news);
    }
    g_array_append_vals(l->fds, extra, (guint)extra_count);
    return news;
}

/* After a poll: notes which sockets have commands; did it tell anything about `extra`? */
static bool note_events(struct link *l, struct pollfd *extra, size_t extra_count)
{
    const struct pollfd *fd = (const struct pollfd *)l->fds->data;
    bool told = false;
    for (guint i = 0; i < l->watches->len; i++, fd++)
        if (fd->revents)
            ((struct watch *)g_ptr_array_index(l->watches, i))->quiet = false;
    for (size_t i = 0; i < extra_count; i++, fd++) {
        extra[i].revents = fd->revents;
        told |= fd->revents != 0;
    }
    return told;
}

/* When upkeep has something to do although no socket says so; G_MAXINT64 = never. */
static gint64 next_timer(const struct link *l)
{
    gint64 next = G_MAXINT64;
    for (int c = 0; c < LINK_CHANNELS; c++)
        if (l->servers[c].suspects)
            next = MIN(next, l->servers[c].probe_us);
    for (guint i = 0; i < l->conns->len; i++) {
        const struct conn *c = g_ptr_array_index(l->conns, i);
        if (c->state == CONN_WAITING || c->state == CONN_TRYING)
            next = MIN(next, c->retry_us);
        else if (c->state == CONN_BROKEN)
            next = 0;
    }
    return next;
}

/* Milliseconds from now on, rounded up, for poll(). */
static int poll_ms(gint64 end)
{
    gint64 left = end == G_MAXINT64 ? -1 : end - g_get_monotonic_time();
    return end == G_MAXINT64 ? -1 : left <= 0 ? 0 : (int)MIN((left + 999) / 1000, INT_MAX);
}

int link_wait(struct link *l, struct pollfd *extra, size_t extra_count, int timeout_ms)
{
    gint64 end = timeout_ms < 0 ? G_MAXINT64 : g_get_monotonic_time() + (gint64)timeout_ms * 1000;
    end = g_queue_is_empty(&l->base.events) ? MIN(end, next_timer(l)) : 0;
    for (;;) {
        bool news = collect_fds(l, extra, extra_count);
        int n = poll((struct pollfd *)l->fds->data, l->fds->len, news ? 0 : poll_ms(end));
        if (n < 0)
            return errno;
        if (note_events(l, extra, extra_count) || news || n == 0)
            return 0;
        /* Commands wait for some socket, which may bring messages or not. */
    }
}

struct link_counters link_counters(const struct link *l)
{
    return l->counters;
}

size_t link_routing_id(const struct link *l, enum link_channel channel, const char *peer,
                       uint8_t id[LINK_MAX_ROUTING_ID])
{
    const struct server *server = &l->servers[channel];
    const struct session *s = server->socket ? sessions_in_use(server->sessions, peer) : NULL;
    if (!s)
        return 0;
    memcpy(id, s->id, s->id_len);
    return s->id_len;
}

struct link_settings *link_settings(struct link *l)
{
    return &l->base.settings;
}
