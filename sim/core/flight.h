/* SPDX-License-Identifier: BSD-2-Clause */
/* One packet on its way, as the files transit*.c see it.
 *
 * A flight is at a node, came in by a port of it, and has a next step. Each step either leads to
 * another one at once, puts the flight to sleep, or ends it. A flight starts on the stack of who
 * sends it; only one that falls asleep moves to the heap, and everything that happens to it later
 * happens there. Steps look at the model anew: what changed while a flight slept counts. */
#ifndef SIM_CORE_FLIGHT_H
#define SIM_CORE_FLIGHT_H

#include "sim/core/timers.h"
#include "sim/core/transit.h"

#define SIM_FIRST_MLID 0xc000u
#define SIM_CLASS_DIRECTED 0x81u
#define SIM_CLASS_LID_ROUTED 0x01u
#define SIM_DR_HOPS 63u /* IBA 14.2.1.2: entries 1 to 63 of the paths */

enum { /* bytes of a MAD: IBA 13.4.3, of an SMP: IBA 14.2.1 */
       MAD_CLASS = 1,
       MAD_METHOD = 3,
       MAD_STATUS = 4, /* its first bit is D of a directed route */
       DR_HOP_POINTER = 6,
       DR_HOP_COUNT = 7,
       DR_SLID = 32,
       DR_DLID = 34,
       DR_INITIAL_PATH = 128,
       DR_RETURN_PATH = 192,
       MAD_RESPONSE = 0x80,
       METHOD_GET = 0x01,
       METHOD_SET = 0x02,
};

enum flight_step {
    STEP_ARRIVE, /* at the node; its processor may have to work on it first */
    STEP_ROUTE,  /* where to: an agent of this node, or another port */
    STEP_LEAVE,  /* by the port `out` */
    STEP_CROSS,  /* the link behind `out` */
};

enum flight_state { FLIGHT_GOES, FLIGHT_SLEEPS, FLIGHT_ENDED };

/* The copies of one multicast packet: whom they reached and what became of the others. */
struct burst {
    unsigned refs;   /* flights on the heap, and the sender while it sends */
    unsigned copies; /* made so far */
    unsigned limit;
    bool exhausted; /* the limit was reached */
    struct sim_packet p;
    enum sim_kind kind;
    GHashTable *reached; /* node << 8 | port, of int64 keys; the sender's port is in it */
    uint64_t doubled;
    enum sim_drop why; /* of the first loss; SIM_DROP_COUNT = none */
    uint32_t lost_node;
    unsigned lost_port;
};

struct flight {
    struct sim_packet p;
    enum sim_kind kind;
    enum flight_step step;
    uint32_t node;
    uint8_t in, out; /* `in` where it started: the sender's port, 0 in a switch */
    uint8_t pointer; /* hop pointer of a directed route; in the MAD itself it stays 0 */
    uint8_t hops;    /* links crossed in this part of the way */
    bool origin;     /* still in the node that sent it */
    bool directed;   /* in the directed part of its way */
    bool vl15;
    bool copy;                /* made by a disturbance: its loss is told to nobody */
    bool heap, buffered;      /* buffered: holds a place of the node's VL15 buffer */
    uint16_t matched;         /* the receiver's P_Key that let it in: its answer carries it */
    struct burst *burst;      /* NULL = unicast */
    struct sim_port *held_at; /* the port that keeps it back to let a later packet pass */
    struct sim_timer *timer;
    GList link; /* of the sleeping ones */
};

struct sim_flights {
    GQueue asleep;    /* of flights, by their `link`, in the order in which they fell asleep */
    GHashTable *held; /* struct sim_port * -> the flight that it keeps back */
    unsigned depth;   /* calls of sim_transit_send that are under way */
};

/* -- transit.c -- */
void flight_run(struct sim *s, struct flight *f);
/* Goes on with `step` at that time; works on a copy when f is on the stack. */
struct flight *flight_sleep(struct sim *s, struct flight *f, int64_t at, enum flight_step step);
bool flight_crowded(const struct sim *s); /* too many sleep: a packet more is lost */
void flight_wake_at(struct sim *s, struct flight *f, int64_t at); /* another time */
/* Ends it; the place is f->node and this port. */
enum flight_state flight_drop(struct sim *s, struct flight *f, enum sim_drop why, unsigned port);

/* -- transit_link.c -- */
enum flight_state flight_leave(struct sim *s, struct flight *f);
enum flight_state flight_cross(struct sim *s, struct flight *f);

/* -- transit_direct.c -- */
bool direct_valid(const struct sim_packet *p);
void direct_start(struct flight *f); /* f->origin: which part of a route comes first */
bool direct_is_return(const struct flight *f);
bool direct_needs_processor(const struct flight *f);
enum flight_state direct_route(struct sim *s, struct flight *f);
/* The LID-routed part before or after the directed one arrived at its LID. */
enum flight_state direct_arrived(struct sim *s, struct flight *f);

/* -- transit_lid.c -- */
bool lid_is_of(const struct sim_port *p, unsigned lid); /* base LID to base LID + 2^LMC - 1 */
bool lid_needs_processor(struct sim *s, const struct flight *f);
enum flight_state lid_route(struct sim *s, struct flight *f);

/* -- transit_multicast.c -- */
struct burst *burst_new(struct sim *s, const struct flight *f);
void burst_unref(struct sim *s, struct burst *b); /* s NULL: nothing is told */
enum flight_state multicast_route(struct sim *s, struct flight *f);

/* -- transit_keys.c -- */
/* The entry of the port's P_Key table that lets this key in, 0 = none (IBA 10.9.3). */
uint16_t key_match(const struct sim *s, uint32_t node, unsigned port, uint16_t pkey);
/* P_Key and Q_Key at an end port; drops, counts and raises traps 257 and 258. */
bool keys_allow(struct sim *s, struct flight *f, enum flight_state *state);
/* Partition enforcement of a switch's external port; trap 259. */
bool keys_enforce(struct sim *s, struct flight *f, unsigned port, bool inbound);

/* -- transit_deliver.c -- */
enum flight_state flight_deliver(struct sim *s, struct flight *f);

#endif
