/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets on their way: hop by hop, by directed route, LFT and MFT. Private to sim/.
 *
 * Every packet, whoever sends it (a client, an agent that answers, a trap, a modelled host, a ping
 * stream), goes the same way. Service times and delays put it to sleep between hops; without them
 * it arrives before sim_transit_send returns. */
#ifndef SIM_CORE_TRANSIT_H
#define SIM_CORE_TRANSIT_H

#include "sim/core/model.h"

enum sim_kind {
    SIM_KIND_CLIENT, /* sent by a client, or the answer to one: a loss is told to hooks.lost */
    SIM_KIND_AGENT,  /* traps and other MADs of agents */
    SIM_KIND_HOST,   /* a modelled host */
    SIM_KIND_PING,   /* a data packet: mad[0..7] is its number, no agent looks at it */
};

struct sim_flights *sim_flights_create(void);
void sim_flights_destroy(struct sim_flights *f);
void sim_transit_send(struct sim *s, uint32_t node, unsigned port, enum sim_kind kind,
                      const struct sim_packet *p);
/* Packets that sleep, and those that sleep in one node (faults/ loses them with the node). */
unsigned sim_transit_count(const struct sim *s);
void sim_transit_lose_node(struct sim *s, uint32_t node);
void sim_drop(struct sim *s, enum sim_kind kind, const struct sim_packet *p, enum sim_drop why,
              uint32_t node, unsigned port);
const char *sim_drop_name(enum sim_drop why);

#endif
