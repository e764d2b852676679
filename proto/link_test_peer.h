/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of link share: links and raw ZeroMQ attackers with keys made from their names,
 * and peers in processes of their own, which can be killed. */
#ifndef PROTO_LINK_TEST_PEER_H
#define PROTO_LINK_TEST_PEER_H

#include <sys/types.h>

#include "proto/link_internal.h"

#define TEST_CLUSTER "test"
#define TEST_PATIENCE_MS 5000 /* for what must happen, on a busy machine with sanitizers */

struct peer {
    struct key_pair keys; /* first: a link keeps a pointer to it */
    struct link *link;
    char name[64];
    char endpoint[64];
};

/* The key of a name is a hash of it, so that processes agree on it. */
void test_keys(const char *name, struct key_pair *keys);
struct peer *peer_create(const char *name, const struct link_settings *settings, int hwm);
void peer_destroy(struct peer *p);
void peer_allow(struct peer *p, const char *name);
void peer_bind(struct peer *p);
/* Connects on CONTROL; the server's name makes its key. */
void peer_connect(struct peer *p, const char *server, const char *endpoint);
/* Takes events until one of this kind from `from` (NULL = anybody) comes, or the time is over. */
bool peer_await(struct peer *p, enum link_event_kind kind, const char *from, int timeout_ms,
                struct link_event *event);
/* Client connects to server, both know of it. */
void peer_join(struct peer *client, struct peer *server);

struct raw { /* a DEALER that obeys no rule of ours */
    void *ctx, *socket, *monitor;
};
/* name NULL: a random key; routing_id_len 0: none. */
struct raw raw_connect(const char *name, const char *server, const char *endpoint,
                       const void *routing_id, size_t routing_id_len);
/* Waits for the verdict of the handshake. */
bool raw_admitted(struct raw *r, int timeout_ms);
/* Reads a message; returns its length, -1 when none comes. */
int raw_receive(struct raw *r, void *buffer, size_t size, int timeout_ms);
void raw_close(struct raw *r);

/* A connection that says nothing. Returns its descriptor. */
int tcp_connect(const char *endpoint);

enum child_mode { CHILD_CONNECT, CHILD_BIND, CHILD_HANG };
struct child {
    pid_t pid;
    int output;
    char endpoint[64]; /* of CHILD_BIND */
};
/* Starts this program again as a peer of that name. CONNECT and HANG connect to server. */
struct child child_start(enum child_mode mode, const char *name, const char *server,
                         const char *endpoint);
void child_kill(struct child *c, int signal);
void child_end(struct child *c); /* SIGKILL and wait */
/* main() of a child: call it first; returns -1 if this is none. */
int child_main(int argc, char **argv);

#endif
