/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is attached, and to whom a packet goes that reached a port.
 *
 * A client has a slot, a port and an outbox. This part makes no system call: data.h moves packets
 * between outboxes and sockets, ctl.h attaches and detaches.
 *
 * Ways to a client (the simulator puts the slot of the asker into the top 16 bits of a request's
 * transaction id, so that the answer finds back):
 * - an answer goes to the slot in its transaction id, if that client sits at the port;
 * - a request on QP 0 goes to the holder of IsSM. Other MADs of the SM classes (traps) go to it
 *   too, or, where the port has none, to those who have sent such MADs;
 * - on QP 1, an SA request goes to the holder of IsSM; where the port has none, and for all other
 *   MADs (Reports above all), to each client there that has sent MADs of the class;
 * - other QPs: to the client that named this QP when it attached. */
#ifndef SIM_SERVER_CLIENTS_H
#define SIM_SERVER_CLIENTS_H

#include <glib.h>
#include <sys/types.h>

#include "sim/core/sim.h"
#include "sim/server/address.h"
#include "sim/server/loop.h"
#include "sim/server/outbox.h"

struct client {
    struct watch watch; /* the data socket */
    unsigned slot;
    bool attached;
    bool issm;
    bool is_dirty; /* is in clients.dirty: its outbox wants to be sent */
    enum address_kind kind;
    struct address ctl, data; /* where it asks from, and where its packets go */
    uint32_t id;              /* as it said: its pid, or its UDP port */
    pid_t pid;                /* as the kernel says; 0 = unknown */
    uint32_t qp;
    uint32_t node;
    unsigned port;
    uint64_t classes[4]; /* bit C: it has sent a MAD of class C */
    struct outbox outbox;
    uint64_t received, sent, dropped, malformed; /* packets */
};

struct clients {
    struct client *slots;
    unsigned count;    /* slots */
    GPtrArray *active; /* those attached, by slot */
    GPtrArray *dirty;
    uint64_t unclaimed; /* packets that nobody at their port takes */
};

void clients_create(struct clients *c, unsigned count, uint32_t queue_limit);
void clients_destroy(struct clients *c);
/* The lowest free slot at or above `from`, or NULL. */
struct client *clients_free_slot(struct clients *c, unsigned from);
/* Fills nothing but the lists: the slot's fields are the caller's. */
void clients_attach(struct clients *c, struct client *client);
void clients_detach(struct clients *c, struct client *client); /* forgets what waits for it */
struct client *clients_holder(const struct clients *c, uint32_t node, unsigned port);
/* The client whose control socket has this address, or NULL. */
struct client *clients_by_address(const struct clients *c, const struct address *ctl);

/* What came from a client's socket as the simulator takes it. false: it is malformed (counted). */
bool clients_take(struct client *client, const struct wire_packet *in, struct sim_packet *out);

/* Hooks of the simulator; user is struct clients. */
bool clients_deliver(void *user, uint32_t node, unsigned port, const struct sim_packet *p);
void clients_lost(void *user, const struct sim_packet *p);

#endif
