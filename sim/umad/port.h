/* SPDX-License-Identifier: BSD-2-Clause */
/* A CA port attached to the simulator, and the kernel's work for it: time-outs and retries,
 * matching of responses, RMPP, registrations, receive queues.
 *
 * port     one client slot; owns a thread that receives, keeps the timers and sends what could not
 *          be sent at once.
 * file     one umad_open_port(): a descriptor that polls readable while MADs wait, its agents and
 *          its receive queue.
 * request  a MAD sent with a time-out; lives until its response, its last time-out, or the end of
 *          its agent. The wire's transaction id is {slot, agent's uid, low 32 bits}; the caller
 *          gets back the id it sent.
 *
 * All state of a port and its files is under port->lock, which nobody holds while he sends or
 * receives: what goes out is copied to the outbox, which belongs to the one thread that has set
 * port->sending. While little is on the way the caller's thread sends by itself, for the sake of
 * the latency; otherwise it leaves the MAD to the port's thread, which takes many at a time.
 * Nothing in here waits for the simulator except port_open and port_close.
 * At most PORT_WINDOW (by UDP PORT_WINDOW_UDP) requests that the simulator's own agents answer are
 * on the way at once, so that its send buffer cannot fill up even while this process is stopped;
 * the rest queue.
 */
#ifndef SIM_UMAD_PORT_H
#define SIM_UMAD_PORT_H

#include "link.h"
#include "match.h"
#include "rmpp.h"
#include <glib.h>
#include <infiniband/umad.h>

enum {
    PORT_WINDOW = 128,
    PORT_WINDOW_UDP = 64,        /* by UDP what is too much is dropped */
    PORT_MAX_QUEUED = 1 << 16,   /* MADs that wait to be sent */
    PORT_OUTBOX = 32,            /* packets given to the socket at once */
    PORT_MAX_TRANSFERS = 64,     /* RMPP receptions at once */
    FILE_MAX_RECEIVED = 1 << 14, /* MADs that wait to be read; more are dropped */
    FILE_MAX_AGENTS = 32,
};

/* A packet that waits to be sent. */
struct port_tx {
    GList queued;
    bool is_queued;
    struct port_request *request; /* NULL: freed once sent */
    struct wire_packet packet;
};

struct port_request {
    struct port_tx tx;
    uint64_t key; /* transaction id without the slot */
    uint64_t order;
    uint64_t caller_tid;
    struct match_agent *agent;
    ib_mad_addr_t address;
    int64_t timeout_ns;
    int64_t deadline; /* CLOCK_NEVER until it is given to the socket */
    unsigned retries_left;
    bool windowed;
    bool on_the_way; /* counted in port->on_the_way */
};

struct port {
    char name[UMAD_CA_NAME_LEN];
    struct link link;
    uint8_t node_info[WIRE_CTL_DATA_BYTES];
    int number; /* of the port on its node */

    pthread_mutex_t lock;
    pthread_t thread;
    bool has_thread;
    bool stopping;
    bool dead; /* the simulator has gone */
    int wake;
    int64_t sleeps_until; /* of the thread; 0 while it is awake */
    bool sleeps_for_output;

    struct match_set agents;
    GHashTable *requests; /* key -> struct port_request */
    uint64_t last_order;
    int64_t first_deadline; /* no request is due before */
    GQueue unlimited;       /* struct port_tx: answers, traps, RMPP, requests to other clients */
    GQueue windowed;        /* struct port_tx: requests that the simulator itself answers */
    unsigned window;        /* of requests in `windowed` that may be on the way */
    unsigned on_the_way;
    bool blocked; /* the socket took no more; the thread goes on when it does */
    bool sending; /* a thread works on the outbox, without the lock */
    unsigned outbox_sent, outbox_used;
    struct wire_packet outbox[PORT_OUTBOX]; /* counted as sent */
    GPtrArray *sends;                       /* struct transfer_send */
    GPtrArray *receives;                    /* struct transfer_receive */
    GPtrArray *files;
    uint64_t unclaimed; /* MADs that no agent wanted */
};

struct file {
    int fd;
    int references;
    bool closed;
    bool signalled; /* the descriptor is readable */
    bool has_news;  /* it has to become so before the lock is released */
    struct port *port;
    GQueue received; /* struct file_item */
    uint64_t dropped;
    struct match_agent *agents[FILE_MAX_AGENTS];
};

struct file_item {
    GList queued;
    uint32_t agent;
    uint32_t status;
    ib_mad_addr_t address;
    size_t length;
    uint8_t mad[];
};

/* port.c: the port and its thread. */
int port_open(struct port **port, const char *name, const char *node);
void port_close(struct port *p);
/* After a fork, in the child. */
void port_abandon(struct port *p);
/* Send the MAD of `length` bytes in `umad` as agent `id` of `f`; timeout 0: expect no response. */
int port_send(struct file *f, uint32_t id, const struct ib_user_mad *umad, size_t length,
              int timeout_ms, int retries);
/* Deal with time-outs that have come due. */
void port_expire(struct port *p);

/* queue.c: requests and sending; with the lock held. */
struct port_request *request_new(struct port *p, struct match_agent *agent, uint64_t caller_tid,
                                 const ib_mad_addr_t *address, int timeout_ms, int retries);
bool request_exists(const struct port *p, uint64_t key);
/* Has the wire's transaction id, without the slot: the key of a request. */
uint64_t request_key(const uint8_t *mad);
struct port_request *request_find(const struct port *p, const uint8_t *mad);
/* Take it out of the port and free it. */
void request_end(struct port *p, struct port_request *r);
void request_expect(struct port *p, struct port_request *r, int64_t now);
void request_expire_due(struct port *p, int64_t now);
/* The packet of a request came back undelivered: it is no longer on the way. */
void request_bounced(struct port *p, struct port_request *r);
void queue_packet(struct port *p, const struct wire_packet *packet);
void queue_request(struct port *p, struct port_request *r);
/* Send what may be sent, waking the thread if it has to go on. Releases the lock meanwhile. Where
 * another thread is at it already, that one does it. */
void queue_flush(struct port *p);
/* See that the packets queued are sent: at once where few are on the way, else with others. */
void queue_flush_soon(struct port *p);
/* The simulator has gone: all requests time out, all files become readable. */
void port_die(struct port *p);

/* transfer.c: RMPP over a port; with the lock held. */
int transfer_start(struct port *p, struct match_agent *agent, const struct ib_user_mad *umad,
                   const uint8_t *mad, size_t length, int timeout_ms, int retries,
                   const struct wire_packet *packet);
void transfer_input(struct port *p, struct match_agent *agent, const struct wire_packet *packet,
                    int64_t now);
int64_t transfer_deadline(const struct port *p);
void transfer_expire(struct port *p, int64_t now);
void transfer_forget_agent(struct port *p, const struct match_agent *agent);
void transfer_init(struct port *p);
void transfer_clear(struct port *p);

/* file.c: open ports. */
int file_open(struct port *p, struct file **file);
void file_close(struct file *f);
/* file_get: the file of a descriptor with a reference, or NULL. */
struct file *file_get(int fd);
void file_put(struct file *f);
int file_register(struct file *f, struct match_agent *agent);
int file_unregister(struct file *f, uint32_t id);
/* With the port's lock held: queue a MAD for the file's reader; port_announce wakes the readers of
 * all files that got any. */
void port_announce(struct port *p);
void file_deliver(struct file *f, uint32_t agent, uint32_t status, const ib_mad_addr_t *address,
                  const uint8_t *mad, size_t length);
void file_signal(struct file *f);
/* Take the first MAD; EAGAIN: none; ENOSPC: it has *length bytes, more than there is room for, and
 * stays; EIO: the simulator has gone. `room` counts bytes after the umad header. */
int file_read(struct file *f, struct ib_user_mad *umad, size_t room, size_t *length);
/* Number of files that are open. */
unsigned file_count(void);
void file_abandon_all(void);

/* What a packet's receiver is told about where it came from. */
void port_source(const struct wire_packet *packet, ib_mad_addr_t *address);

#endif
