/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of a link with every setting applied, their monitors, and the canary. */
#include "proto/link_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>
#include <zmq.h>

/* In Debian's libzmq 4.3.4, though zmq.h shows it to users of the draft interface only. */
#define OPTION_ZAP_ENFORCE_DOMAIN 93
#define CONNECT_TIMEOUT_MS 1000
#define NEVER_MS (24 * 3600 * 1000)
#define CURVE_OVERHEAD_BYTES 33 /* command name, nonce, tag, flags: libzmq's limit counts them */
#define CANARY_TIMEOUT_MS 2000
#define LISTEN_BACKLOG 1024 /* a burst of connections must not make a peer wait for a SYN retry */
#define MONITOR_EVENTS                                                                             \
    (ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |                   \
     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                  \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

const struct link_settings link_default_settings = {
    .zap_handler = true,
    .zap_domain = true,
    .zap_enforce = true,
    .canary = true,
    .sender_is_user_id = true,
    .drop_revoked = true,
    .drain_monitors = true,
    .finite_hwm = true,
    .router_handover = 0,
    .router_mandatory = 1,
    .max_message_bytes = PROTO_MAX_MESSAGE + CURVE_OVERHEAD_BYTES,
    .handshake_ivl_ms = 500,
    .linger_ms = 0,
    .heartbeat_ivl_ms = 1000,
    .heartbeat_timeout_ms = 3000,
};

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static bool set_common(void *s, const struct link_socket_config *c)
{
    const struct link_settings *o = c->settings;
    int64_t max = o->max_message_bytes;
    return zmq_setsockopt(s, ZMQ_MAXMSGSIZE, &max, sizeof max) == 0 &&
           set_int(s, ZMQ_HANDSHAKE_IVL, o->handshake_ivl_ms) &&
           set_int(s, ZMQ_LINGER, o->linger_ms) &&
           set_int(s, ZMQ_SNDHWM, o->finite_hwm ? c->send_hwm : 0) &&
           set_int(s, ZMQ_RCVHWM, o->finite_hwm ? c->receive_hwm : 0) &&
           set_int(s, ZMQ_HEARTBEAT_IVL, o->heartbeat_ivl_ms) &&
           set_int(s, ZMQ_HEARTBEAT_TIMEOUT, o->heartbeat_timeout_ms) &&
           zmq_setsockopt(s, ZMQ_CURVE_PUBLICKEY, c->keys->public_key, LINK_KEY_BYTES) == 0 &&
           zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, c->keys->secret, LINK_KEY_BYTES) == 0;
}

static bool set_router(void *s, const struct link_socket_config *c)
{
    const struct link_settings *o = c->settings;
    if (o->zap_domain && zmq_setsockopt(s, ZMQ_ZAP_DOMAIN, c->domain, strlen(c->domain)) != 0)
        return false;
    return set_int(s, OPTION_ZAP_ENFORCE_DOMAIN, o->zap_enforce) &&
           set_int(s, ZMQ_CURVE_SERVER, 1) && set_int(s, ZMQ_ROUTER_HANDOVER, o->router_handover) &&
           set_int(s, ZMQ_ROUTER_MANDATORY, o->router_mandatory) &&
           set_int(s, ZMQ_BACKLOG, LISTEN_BACKLOG);
}

/* A DEALER lives for one connection: the link makes a new one with a new routing id instead of
 * letting libzmq reconnect, since with ROUTER_HANDOVER 0 a server that has not yet noticed the end
 * of the old connection would ignore the new one for ever. An interval of -1 would be the setting
 * for that, but it drops what was received and not yet read. The probe makes us known to the
 * server's link before we have anything to say. */
static bool set_dealer(void *s, const uint8_t *server_key)
{
    return zmq_setsockopt(s, ZMQ_CURVE_SERVERKEY, server_key, LINK_KEY_BYTES) == 0 &&
           set_int(s, ZMQ_RECONNECT_IVL, NEVER_MS) &&
           set_int(s, ZMQ_CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS) && set_int(s, ZMQ_PROBE_ROUTER, 1);
}

/* The address of a new socket is unique among the living ones of the context; its monitor is
 * closed before it, so the name is free again when the address is. */
static void *open_monitor(void *ctx, void *socket)
{
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "inproc://monitor-%p-%08x", socket, randombytes_random());
    if (zmq_socket_monitor(socket, endpoint, MONITOR_EVENTS) != 0)
        return NULL;
    void *m = zmq_socket(ctx, ZMQ_PAIR);
    if (m && set_int(m, ZMQ_LINGER, 0) && zmq_connect(m, endpoint) == 0)
        return m;
    if (m)
        zmq_close(m);
    return NULL;
}

void *socket_create(void *ctx, const struct link_socket_config *c, const uint8_t *server_key,
                    void **monitor, char *error, size_t error_size)
{
    *monitor = NULL;
    void *s = zmq_socket(ctx, server_key ? ZMQ_DEALER : ZMQ_ROUTER);
    if (s && set_common(s, c) && (server_key ? set_dealer(s, server_key) : set_router(s, c))) {
        *monitor = open_monitor(ctx, s);
        if (*monitor)
            return s;
    }
    int code = errno;
    snprintf(error, error_size, "no ZeroMQ socket: %s", zmq_strerror(code));
    socket_close(&s, monitor);
    errno = code;
    return NULL;
}

void socket_close(void **socket, void **monitor)
{
    if (*socket && *monitor)
        zmq_socket_monitor(*socket, NULL, 0);
    if (*monitor)
        zmq_close(*monitor);
    if (*socket)
        zmq_close(*socket);
    *socket = *monitor = NULL;
}

bool monitor_next(void *monitor, uint16_t *event, uint32_t *value)
{
    uint8_t frame[6]; /* event and value, in the order of this machine */
    int rc;
    do {
        rc = zmq_recv(monitor, frame, sizeof frame, ZMQ_DONTWAIT);
        if (rc < 0)
            return false;
        zmq_recv(monitor, NULL, 0, ZMQ_DONTWAIT); /* the endpoint */
    } while (rc != sizeof frame);
    memcpy(event, frame, sizeof *event);
    memcpy(value, frame + sizeof *event, sizeof *value);
    return true;
}

void watch_start(struct watch *w, void *socket)
{
    size_t size = sizeof w->fd;
    w->quiet = false;
    if (zmq_getsockopt(socket, ZMQ_FD, &w->fd, &size) != 0)
        w->fd = -1;
}

void watch_failed(struct watch *w)
{
    w->quiet = w->fd >= 0 && errno == EAGAIN;
}

bool watch_ask(struct watch *w, void *socket)
{
    int events = 0;
    size_t size = sizeof events;
    if (w->quiet)
        return false;
    /* This takes all commands that wait. */
    if (zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) != 0 || (events & ZMQ_POLLIN))
        return true;
    w->quiet = w->fd >= 0;
    return false;
}

static int canary_verdict(void *monitor, char *error, size_t error_size)
{
    gint64 end = g_get_monotonic_time() + CANARY_TIMEOUT_MS * 1000;
    while (g_get_monotonic_time() < end) {
        zmq_pollitem_t item = {.socket = monitor, .events = ZMQ_POLLIN};
        uint16_t event;
        uint32_t value;
        if (zmq_poll(&item, 1, 10) < 0 && errno != EINTR)
            break;
        while (monitor_next(monitor, &event, &value)) {
            if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
                snprintf(error, error_size,
                         "a random key was accepted: authentication is off, "
                         "this libzmq cannot be used");
                return EPERM;
            }
            if (event != ZMQ_EVENT_CLOSED)
                return 0; /* refused */
        }
    }
    snprintf(error, error_size, "no answer to a test connection: authentication is not proved");
    return ETIMEDOUT;
}

/* What to dial to reach a wildcard address that was bound. */
static char *dial_endpoint(const char *endpoint)
{
    static const char any4[] = "tcp://0.0.0.0:", any6[] = "tcp://[::]:";
    if (g_str_has_prefix(endpoint, any4))
        return g_strdup_printf("tcp://127.0.0.1:%s", endpoint + strlen(any4));
    if (g_str_has_prefix(endpoint, any6))
        return g_strdup_printf("tcp://[::1]:%s", endpoint + strlen(any6));
    return g_strdup(endpoint);
}

int socket_canary(void *ctx, const struct link_socket_config *c, const char *endpoint, char *error,
                  size_t error_size)
{
    struct key_pair stranger;
    memset(&stranger, 0, sizeof stranger);
    randombytes_buf(stranger.secret, LINK_KEY_BYTES);
    crypto_scalarmult_base(stranger.public_key, stranger.secret);
    struct link_socket_config canary = *c;
    canary.keys = &stranger;
    void *monitor;
    void *s = socket_create(ctx, &canary, c->keys->public_key, &monitor, error, error_size);
    sodium_memzero(&stranger, sizeof stranger);
    if (!s)
        return errno;
    g_autofree char *dial = dial_endpoint(endpoint);
    int ipv6 = strchr(dial, '[') != NULL;
    int rc;
    if (set_int(s, ZMQ_IPV6, ipv6) && zmq_connect(s, dial) == 0) {
        rc = canary_verdict(monitor, error, error_size);
    } else {
        rc = errno;
        snprintf(error, error_size, "test connection to %s: %s", dial, zmq_strerror(rc));
    }
    socket_close(&s, &monitor);
    return rc;
}
