/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of data packets between two ports, that tell each loss with time, place and cause.
 *
 * A ping goes from A's port to the LID of B's port, hop by hop through the LFTs, on SL `sl` with
 * P_Key `pkey`, and comes back (an echo). The LID is the one that B has when the ping is sent. A loss
 * is known at once from the drop.
 *
 * Multicast streams go to an MLID, without an echo: `answered` counts the ports that got a packet,
 * `doubled` what arrived there once more, `lost` the members that did not get it (with the cause
 * of the first copy that was lost, or no-entry when none was: the tree does not lead there).
 * Members are the powered ports that a switch's entry for the MLID names, port 0 among them.
 *
 * Losses are logged as
 *   ping <stream> <sequence> <time ns> lost at "<node>"[<port>] <cause> */
#ifndef SIM_CORE_PING_H
#define SIM_CORE_PING_H

#include "sim/core/model.h"

struct sim_ping_spec {
    uint32_t from_node, to_node;
    unsigned from_port, to_port;
    uint16_t mlid;      /* not 0: to this multicast LID, to_* unused */
    uint32_t rate;      /* packets a second, 1..1000000 */
    uint64_t count;     /* 0 = until stopped */
    uint8_t sl;
    uint16_t pkey;      /* 0 = entry 0 of the sender's table */
    uint32_t qkey;      /* 0 = as expected */
};

struct sim_ping_result {
    uint64_t sent, answered, lost, doubled;
    uint64_t by_cause[SIM_DROP_COUNT];
    int64_t first_loss, last_loss; /* times; 0 = none */
    int64_t longest_gap;           /* ns between two answers with losses in between; from the start
                                    * to the first, and from the last one to the latest loss, too */
};

struct sim_pings *sim_pings_create(void);
void sim_pings_destroy(struct sim_pings *p);
/* Returns the stream's number (from 1); 0 with one line in error. At most 1,024 run at once; the
 * results of the last 1,024 that ended are kept. */
unsigned sim_ping_start(struct sim *s, const struct sim_ping_spec *spec, char *error, size_t size);
bool sim_ping_stop(struct sim *s, unsigned stream); /* 0 = all */
bool sim_ping_result(const struct sim *s, unsigned stream, struct sim_ping_result *r);
unsigned sim_ping_count(const struct sim *s); /* of those that run */
/* Losses since the start, appended to out as the lines above; of all streams (0) together, at most
 * the last 10,000 are kept. */
void sim_ping_losses(const struct sim *s, unsigned stream, GString *out);
/* -- called by transit -- */
/* A disturbance made a second one of this packet. */
void sim_ping_copied(struct sim *s, const struct sim_packet *p);
/* All copies of a multicast packet ended: keys of `reached` are node << 8 | port (int64), the
 * sender's among them. `why` is that of the first loss, SIM_DROP_COUNT = none. */
void sim_ping_burst(struct sim *s, const struct sim_packet *p, GHashTable *reached,
                    uint64_t doubled, enum sim_drop why, uint32_t node, unsigned port);
void sim_ping_arrived(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p);
void sim_ping_dropped(struct sim *s, const struct sim_packet *p, enum sim_drop why, uint32_t node,
                      unsigned port);

#endif
