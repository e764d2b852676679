/* SPDX-License-Identifier: BSD-2-Clause */
/* Links: authenticated messages between heddle's processes over ZeroMQ. The only user of zmq.h.
 *
 * A process has one `struct link`. It may bind (ROUTER) and connect (DEALER) on three channels,
 * which are separate sockets: CONTROL (heartbeats, grants, operators), DELTA and BULK. A peer is
 * addressed by its enrolled name; the name of a sender is the User-Id that ZAP gave its connection
 * (CURVE public key -> name), never a field of a message. Several connections of one peer (it
 * restarted, or two processes hold its key) are told apart by its routing id, name + boot id. One
 * of them is used to send: it stays in use until it ends, or until nothing of it was heard for a
 * second and another one is. So a second process with a peer's key gets none of its answers.
 *
 * Facts that this module enforces, each with a test that fails without it: a ZAP handler runs
 * before the first bind, with ZMQ_ZAP_DOMAIN and ZMQ_ZAP_ENFORCE_DOMAIN (option 93); a canary
 * connection with a random key is refused, else link_bind fails; ROUTER_HANDOVER 0,
 * ROUTER_MANDATORY 1; MAXMSGSIZE; HANDSHAKE_IVL 500 ms; finite high-water marks; LINGER 0;
 * drained monitors; after link_revoke a live session's messages are dropped.
 *
 * Threads: a link belongs to the thread of the loop; the ZAP handler has one of its own inside.
 * Nothing here blocks but link_wait. */
#ifndef PROTO_LINK_H
#define PROTO_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/keys.h"

enum link_channel { LINK_CONTROL, LINK_DELTA, LINK_BULK, LINK_CHANNELS };

struct link;

struct link_config {
    const char *name;    /* enrolled name of this process */
    const char *cluster; /* ZAP domain */
    uint64_t boot_id;
    const struct key_pair *keys; /* CURVE; must outlive the link */
    int send_hwm, receive_hwm;   /* messages a peer; 0 = 4096 */
};

struct link *link_create(const struct link_config *config, char *error, size_t error_size);
void link_destroy(struct link *l); /* NULL allowed; LINGER 0: unsent messages are dropped */

/* Lets the holder of this key connect under this name, on all channels. A name has one key:
 * another call with a new key replaces it and drops the sessions of the old one; a key has one
 * name. An invalid name is ignored. */
void link_allow(struct link *l, const char *name, const uint8_t public_key[32]);
/* The key is refused from now on and messages of its live sessions are dropped; connections of ours
 * to that peer are closed for good. */
void link_revoke(struct link *l, const char *name);

/* Returns 0 or errno with one line in error (address in use, canary accepted, ...). */
int link_bind(struct link *l, enum link_channel channel, const char *endpoint, char *error,
              size_t error_size);
/* The endpoint really bound (for port 0 / wildcard), or NULL. */
const char *link_bound_endpoint(const struct link *l, enum link_channel channel);
/* Connects to a peer that must own server_key; reconnects by itself. Calling it again with the
 * same values does nothing, with others replaces the connection. Give addresses, not host names:
 * libzmq asks the resolver from the thread that moves all messages. */
int link_connect(struct link *l, enum link_channel channel, const char *peer,
                 const uint8_t server_key[32], const char *endpoint, char *error,
                 size_t error_size);
void link_disconnect(struct link *l, enum link_channel channel, const char *peer);

/* Sends to a peer, over our own connection to it where there is one, else over the session in
 * use that it opened to us. Never blocks. Returns 0, EAGAIN (its queue is full), EHOSTUNREACH (no
 * session), EMSGSIZE (above PROTO_MAX_MESSAGE) or EINVAL (empty). */
int link_send(struct link *l, enum link_channel channel, const char *peer, const uint8_t *bytes,
              size_t len);

enum link_event_kind {
    LINK_MESSAGE,
    LINK_UP, /* a session of ours to `peer` is ready (handshake done) */
    /* A session of or to `peer` broke: a hint of its death. What it sent before comes first. Of
     * several sessions to us on one channel only the end of the one in use is told. */
    LINK_DOWN,
    LINK_REFUSED, /* the server refused our key or is not who we expect */
};
struct link_event {
    enum link_event_kind kind;
    enum link_channel channel;
    char peer[64];
    const uint8_t *bytes; /* LINK_MESSAGE: valid until the next link_receive */
    size_t len;
};
/* The next event without waiting: 0, or EAGAIN when there is none. */
int link_receive(struct link *l, struct link_event *event);
/* Waits for events of the link or of `extra` descriptors (revents are filled), at most timeout_ms
 * (-1 = for ever). Returns 0, or EINTR. */
int link_wait(struct link *l, struct pollfd *extra, size_t extra_count, int timeout_ms);

struct link_counters {
    uint64_t refused_handshakes, dropped_revoked, dropped_full, dropped_oversized;
};
struct link_counters link_counters(const struct link *l);

#endif
