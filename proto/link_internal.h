/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the link: settings that only tests alter, the ZAP handler, sockets. Not for others.
 *
 * Each setting is one fact of DESIGN.md's list. link_create uses link_default_settings; link_test
 * shows for each that an attack fails with it and succeeds without it. */
#ifndef PROTO_LINK_INTERNAL_H
#define PROTO_LINK_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "proto/envelope.h"
#include "proto/link.h"

#define LINK_MAX_ROUTING_ID 255u /* ZMTP */
#define LINK_KEY_BYTES 32u

struct link_settings {
    bool zap_handler;       /* without one libzmq accepts any key */
    bool zap_domain;        /* an enforced empty domain means that the handler is not asked */
    bool zap_enforce;       /* without it a handler that went missing is ignored in silence */
    bool canary;            /* link_bind fails when a random key gets in */
    bool sender_is_user_id; /* else: the name in the routing id, which the peer chooses */
    bool drop_revoked;
    bool drain_monitors; /* a full one blocks the I/O thread */
    bool finite_hwm;
    int router_handover;
    int router_mandatory;
    int64_t max_message_bytes; /* -1 = no limit */
    int handshake_ivl_ms;      /* 0 = no limit */
    int linger_ms;
    int heartbeat_ivl_ms, heartbeat_timeout_ms; /* ZMTP's: they find dead hosts, not hung loops */
};
extern const struct link_settings link_default_settings;

struct link *link_create_with(const struct link_config *config,
                              const struct link_settings *settings, char *error, size_t error_size);
/* Routing id of the session in use that peer opened to us; returns its length, 0 = none. */
size_t link_routing_id(const struct link *l, enum link_channel channel, const char *peer,
                       uint8_t id[LINK_MAX_ROUTING_ID]);

struct link_settings *link_settings(struct link *l);

/* --- link_zap.c: who may connect. The table is shared with the handler's thread. --- */

struct zap;

/* Binds the handler in ctx and starts its thread, unless handler is false. */
struct zap *zap_create(void *ctx, const char *domain, bool handler, char *error, size_t error_size);
/* Waits for the thread, which ends when the context is shut down: call zmq_ctx_shutdown first. */
void zap_destroy(struct zap *z);
void zap_allow(struct zap *z, const char *name, const uint8_t public_key[LINK_KEY_BYTES]);
void zap_revoke(struct zap *z, const char *name);
/* A User-Id is "<generation> <name>"; each change of a name's key has a new generation, which
 * tells live sessions of the old key from the new. False if it is malformed; *current says whether
 * the session's key is still the allowed one. */
bool zap_user(struct zap *z, const char *user_id, char name[PROTO_MAX_NAME + 1], bool *current);

/* --- link_socket.c: sockets with every setting applied, and their monitors. --- */

struct link_socket_config {
    const struct link_settings *settings;
    const char *domain;
    const struct key_pair *keys;
    int send_hwm, receive_hwm;
};

/* With server_key NULL a ROUTER that is a CURVE server, else a DEALER for that server. *monitor
 * gets its monitor. NULL with one line in error. */
void *socket_create(void *ctx, const struct link_socket_config *c, const uint8_t *server_key,
                    void **monitor, char *error, size_t error_size);
void socket_close(void **socket, void **monitor);
/* The next event of a monitor without waiting; false if there is none, with errno. */
bool monitor_next(void *monitor, uint16_t *event, uint32_t *value);

/* What is known of a socket's news. libzmq's descriptor of a socket tells that commands wait for
 * it, not messages, and whoever calls the socket takes them from it: so it says all only while the
 * socket is left alone after it had nothing more. Asking libzmq costs system calls, each time. */
struct watch {
    int fd;
    bool quiet; /* had nothing more, and was not touched since */
};

void watch_start(struct watch *w, void *socket);
/* A call of libzmq to receive from the socket failed, with errno. */
void watch_failed(struct watch *w);
/* Something may be there to receive: asks libzmq, unless the socket is quiet. */
bool watch_ask(struct watch *w, void *socket);
/* Connects to our own ROUTER with a random key. 0 = it was refused, as it must be. */
int socket_canary(void *ctx, const struct link_socket_config *c, const char *endpoint, char *error,
                  size_t error_size);

/* --- link_conn.c: our own connections. --- */

struct link_base { /* what link.c and link_conn.c share */
    void *ctx;
    struct link_settings settings;
    struct link_socket_config sockets;
    char name[PROTO_MAX_NAME + 1];
    uint64_t boot_id;
    GQueue events; /* struct link_event without bytes, for the caller of link_receive */
};

enum conn_state {
    CONN_WAITING, /* no socket; until retry_us */
    CONN_TRYING,  /* until retry_us */
    CONN_UP,
    CONN_BROKEN, /* what it received before is still to be read */
};

struct conn { /* ours to a peer */
    enum link_channel channel;
    char peer[PROTO_MAX_NAME + 1];
    uint8_t server_key[LINK_KEY_BYTES];
    char *endpoint;
    void *socket, *monitor;
    struct watch watch, monitor_watch;
    enum conn_state state;
    gint64 retry_us;
    unsigned failures;   /* attempts in a row that did not come up .. */
    unsigned handshakes; /* .. of them, those that reached a listener */
    bool refusal_told;
};

void events_push(struct link_base *b, enum link_event_kind kind, enum link_channel channel,
                 const char *peer);
struct conn *conn_create(enum link_channel channel, const char *peer,
                         const uint8_t server_key[LINK_KEY_BYTES], const char *endpoint);
void conn_free(struct conn *c);
/* Starts an attempt. 0, or errno with one line in error. */
int conn_open(struct link_base *b, struct conn *c, gint64 now, char *error, size_t error_size);
/* Reads its monitor and runs its timers. */
void conn_upkeep(struct link_base *b, struct conn *c, gint64 now);
/* A CONN_BROKEN one whose messages are all read: tells its end and starts anew. */
void conn_down(struct link_base *b, struct conn *c);

/* --- link_session.c: what connects to our ROUTERs. --- */

#define LINK_MAX_SESSIONS 16u          /* of one peer; the oldest unused is forgotten beyond that */
#define LINK_SESSION_SILENT_US 1000000 /* after that another session may come into use */

struct session { /* a live connection, by the routing id that it chose */
    uint8_t id[LINK_MAX_ROUTING_ID];
    uint8_t id_len;
    char peer[PROTO_MAX_NAME + 1];
    char user_id[PROTO_MAX_NAME + 24];
    int fd;          /* its socket in this process, -1 = unknown */
    uint64_t order;  /* of arrival */
    gint64 heard_us; /* when its last message was read */
    bool in_use;     /* to send to its peer: one of each peer's sessions is */
    gint64 probe_us; /* it may have ended: probe it until then; 0 = no */
};

struct sessions; /* of one ROUTER */

struct sessions *sessions_create(void);
void sessions_destroy(struct sessions *ss);
/* Notes the sender of a message, which comes into use if its peer has no session in use, or has one
 * that is silent. */
void sessions_seen(struct sessions *ss, const uint8_t *id, size_t id_len, int fd, const char *peer,
                   const char *user_id, gint64 now);
/* No message waits: silence is counted until here, lest one be taken for silent whose messages wait
 * while this process stands still. */
void sessions_drained(struct sessions *ss, gint64 now);
/* The one of peer to send to, or NULL. Valid until the next call that changes the set. */
const struct session *sessions_in_use(const struct sessions *ss, const char *peer);
/* If it was in use, the one of its peer that was heard last comes into use. */
void sessions_forget(struct sessions *ss, const struct session *s);
/* The connection of this descriptor ended. Descriptors are used again, so this is a suspicion:
 * the sessions are probed until `until`. Returns whether there are any. */
bool sessions_suspect(struct sessions *ss, int fd, gint64 until);
/* Sends each suspect an empty frame, which links ignore; one that cannot be reached is forgotten
 * and its peer appended to `gone` (free each with g_free) if it was in use. Returns whether
 * suspects remain. */
bool sessions_probe(struct sessions *ss, void *router, gint64 now, GPtrArray *gone);

#endif
