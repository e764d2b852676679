/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle-sim's process: sockets around a struct sim.
 *
 * One thread. A turn of its loop reads what came (a bounded batch from each client), runs what is
 * due in the fabric, and sends what came of it. No socket ever blocks: what the kernel does not
 * take waits in the client's outbox; where that is full the newest packet is dropped and counted,
 * as a receive queue of a host does. So a stopped client harms nobody.
 *
 * Local clients' slots get their data socket at CONNECT, with the kind of name (address.h) of the
 * client's own control socket, and connected to the client's: the kernel lets nobody else send to
 * it. The end of a client is seen by a failing send, or by looking from time to time whether its
 * address is still there. */
#ifndef SIM_SERVER_SERVER_H
#define SIM_SERVER_SERVER_H

#include "sim/server/clients.h"
#include "sim/server/options.h"
#include "sim/server/unread.h"

enum { DATA_BATCH = 64 }; /* packets from or to a client at once */

struct console;

/* A control socket. */
struct listener {
    struct watch watch;
    enum address_kind kind;
    struct unread unread; /* local ones */
};

/* Message headers for one batch, made once: the kernel wants them at each call. */
struct batch {
    struct mmsghdr messages[DATA_BATCH];
    struct iovec vectors[DATA_BATCH];
};

/* Lines of the log about refused clients. */
struct refusals {
    int64_t second;  /* of loop_now() */
    unsigned lines;  /* asked for in this second */
    uint64_t untold; /* not written since the last one that was */
};

struct server {
    const struct options *options;
    struct sim *sim;
    struct loop loop;
    struct clients clients;
    struct listener listeners[ADDRESS_KINDS];
    struct watch signals;
    struct console *console;
    struct wire_packet input[DATA_BATCH];
    struct batch receiving, sending;
    int64_t next_look; /* when to look for clients that are gone */
    bool stop;
    uint64_t ignored, refused, unanswered; /* control requests */
    struct refusals refusals;
};

/* -- ctl.c -- */
/* Binds the control sockets. 0, or an errno with one line in error. */
int ctl_open(struct server *s, char *error, size_t error_size);
void ctl_close(struct server *s);
void ctl_detach(struct server *s, struct client *c, const char *why);

/* -- data.c -- */
void data_start(struct server *s);
/* Opens and connects the slot's data socket (kind and data address are set). 0 or an errno. */
int data_open(struct server *s, struct client *c);
void data_close(struct server *s, struct client *c);
/* Sends what waits in the outboxes of clients that are not blocked. */
void data_flush(struct server *s);
/* Detaches the clients whose sockets are gone. */
void data_look(struct server *s);
/* Whether the client's data socket still exists, as far as one can see. */
bool data_is_alive(const struct client *c);

/* -- console.c -- */
/* 0, or an errno with one line in error. */
int console_open(struct server *s, char *error, size_t error_size);
void console_close(struct server *s);
void console_tidy(struct server *s); /* at the end of a turn */

/* -- main.c -- */
/* What time it is for the fabric: loop_now(), or where the fabric lags behind (more is due than the
 * processor can do), the moment up to which all is done. */
int64_t server_now(const struct server *s);

/* -- commands.c -- */
void commands_start(struct server *s); /* clients, drop, quit */

#endif
