/* SPDX-License-Identifier: BSD-2-Clause */
/* The attachment of one port to the simulator: two sockets, a client slot, and its guardian.
 *
 * Where the simulator is comes from the environment, as for ibsim's own clients: IBSIM_SOCKNAME
 * (abstract unix sockets, default "sim"), or IBSIM_SERVER_NAME and IBSIM_SERVER_PORT (UDP).
 * Nothing here waits longer than LINK_ANSWER_MS for the simulator. link_ctl may be called by any
 * thread; the data socket belongs to the port that owns the link.
 */
#ifndef SIM_UMAD_LINK_H
#define SIM_UMAD_LINK_H

#include "guardian.h"
#include "wire.h"
#include <pthread.h>
#include <sys/socket.h>

enum { LINK_ANSWER_MS = 2000 };

struct link {
    int ctl;
    int data;
    int probe; /* to see whether the simulator still exists */
    bool udp;
    bool name_ends_in_zero; /* abstract socket names */
    uint32_t slot;
    struct guardian guardian;
    pthread_mutex_t ctl_lock;
    struct sockaddr_storage server;
    socklen_t server_length;
    char where[160]; /* the simulator's address, for messages */
};

/* Attach to `node` ("" = the simulator's first). 0 or an errno; says on stderr what went wrong. */
int link_open(struct link *l, const char *node);

/* Disconnect and close. Skips the DISCONNECT where the simulator is known to be gone. */
void link_close(struct link *l, bool simulator_alive);

/* Tell the simulator only: for the exit of a process whose threads still use the sockets. */
void link_disconnect(struct link *l);

/* After a fork, in the child: close the descriptors, which the parent goes on using. */
void link_abandon(struct link *l);

/* One control request; `data` of `length` bytes goes out and is overwritten by the answer. */
int link_ctl(struct link *l, enum wire_ctl_type type, void *data, size_t length);

/* Set or clear IsSM at the port. */
int link_set_issm(struct link *l, bool issm);

/* Is the simulator's control socket still there? Cheap, does not disturb it. */
bool link_alive(struct link *l);

/* NodeInfo of the port that the link is attached to, by a directed-route Get of no hops. Only
 * before the data socket is in other hands. 0 or an errno. */
int link_get_node_info(struct link *l, uint8_t node_info[WIRE_CTL_DATA_BYTES]);

#endif
