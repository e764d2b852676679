/* SPDX-License-Identifier: BSD-2-Clause */
/* Our own connections to peers: attempts, handshakes, ends. */
#include "proto/link_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>
#include <zmq.h>

#define ATTEMPT_US (2 * G_USEC_PER_SEC) /* connection and handshake, before a new attempt */
#define FIRST_RETRY_US 10000
#define LAST_RETRY_US 500000

void events_push(struct link_base *b, enum link_event_kind kind, enum link_channel channel,
                 const char *peer)
{
    struct link_event *e = g_new0(struct link_event, 1);
    e->kind = kind;
    e->channel = channel;
    g_strlcpy(e->peer, peer, sizeof e->peer);
    g_queue_push_tail(&b->events, e);
}

struct conn *conn_create(enum link_channel channel, const char *peer,
                         const uint8_t server_key[LINK_KEY_BYTES], const char *endpoint)
{
    struct conn *c = g_new0(struct conn, 1);
    c->channel = channel;
    g_strlcpy(c->peer, peer, sizeof c->peer);
    memcpy(c->server_key, server_key, LINK_KEY_BYTES);
    c->endpoint = g_strdup(endpoint);
    return c;
}

void conn_free(struct conn *c)
{
    socket_close(&c->socket, &c->monitor);
    g_free(c->endpoint);
    g_free(c);
}

/* name, 0, boot id, and a nonce: nobody can take a routing id before its owner comes. */
static size_t make_routing_id(const struct link_base *b, uint8_t id[LINK_MAX_ROUTING_ID])
{
    size_t n = strlen(b->name);
    memcpy(id, b->name, n);
    id[n++] = 0;
    for (int shift = 56; shift >= 0; shift -= 8)
        id[n++] = (uint8_t)(b->boot_id >> shift);
    randombytes_buf(id + n, 8);
    return n + 8;
}

static void conn_fail(struct conn *c, gint64 now, bool refused)
{
    gint64 delay = (gint64)FIRST_RETRY_US << MIN(c->failures, 8u);
    socket_close(&c->socket, &c->monitor);
    c->state = CONN_WAITING;
    c->retry_us = now + (refused ? LAST_RETRY_US : MIN(delay, LAST_RETRY_US));
    c->failures++;
}

int conn_open(struct link_base *b, struct conn *c, gint64 now, char *error, size_t error_size)
{
    uint8_t id[LINK_MAX_ROUTING_ID];
    size_t id_len = make_routing_id(b, id);
    int ipv6 = strchr(c->endpoint, '[') != NULL;
    c->socket = socket_create(b->ctx, &b->sockets, c->server_key, &c->monitor, error, error_size);
    if (!c->socket)
        return errno;
    if (zmq_setsockopt(c->socket, ZMQ_ROUTING_ID, id, id_len) != 0 ||
        zmq_setsockopt(c->socket, ZMQ_IPV6, &ipv6, sizeof ipv6) != 0 ||
        zmq_connect(c->socket, c->endpoint) != 0) {
        int rc = errno;
        snprintf(error, error_size, "%s: %s", c->endpoint, zmq_strerror(rc));
        socket_close(&c->socket, &c->monitor);
        return rc;
    }
    watch_start(&c->watch, c->socket);
    watch_start(&c->monitor_watch, c->monitor);
    c->state = CONN_TRYING;
    c->retry_us = now + ATTEMPT_US;
    return 0;
}

/* A handshake that ends without a reason: a server with another key hangs up like this, but so does
 * one that stops at that moment; the second time tells. */
static void conn_refused(struct link_base *b, struct conn *c, bool certain)
{
    c->handshakes++;
    if (c->refusal_told || (!certain && c->handshakes < 2))
        return;
    c->refusal_told = true;
    events_push(b, LINK_REFUSED, c->channel, c->peer);
}

static void conn_event(struct link_base *b, struct conn *c, uint16_t event, gint64 now)
{
    switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        c->state = CONN_UP;
        c->failures = c->handshakes = 0;
        c->refusal_told = false;
        events_push(b, LINK_UP, c->channel, c->peer);
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        conn_refused(b, c, true);
        conn_fail(c, now, true);
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        conn_refused(b, c, false);
        conn_fail(c, now, false);
        break;
    default: /* disconnected, or the attempt ended */
        if (c->state == CONN_UP)
            c->state = CONN_BROKEN;
        else if (c->state == CONN_TRYING)
            conn_fail(c, now, false);
        break;
    }
}

void conn_upkeep(struct link_base *b, struct conn *c, gint64 now)
{
    uint16_t event;
    uint32_t value;
    char error[128];
    while (c->monitor && !c->monitor_watch.quiet) {
        if (monitor_next(c->monitor, &event, &value)) {
            conn_event(b, c, event, now);
        } else {
            watch_failed(&c->monitor_watch);
            break;
        }
    }
    if ((c->state != CONN_WAITING && c->state != CONN_TRYING) || c->retry_us > now)
        return;
    if (c->state == CONN_TRYING)
        conn_fail(c, now, false);
    else if (conn_open(b, c, now, error, sizeof error) != 0)
        conn_fail(c, now, false);
}

/* Called when everything that a broken connection had received is read. */
void conn_down(struct link_base *b, struct conn *c)
{
    conn_fail(c, g_get_monotonic_time(), false);
    events_push(b, LINK_DOWN, c->channel, c->peer);
}
