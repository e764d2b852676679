/* SPDX-License-Identifier: BSD-2-Clause */
/* The channel dependency graph of the checker and its cycles. */
#ifndef ROUTING_CHECK_CYCLES_H
#define ROUTING_CHECK_CYCLES_H

#include <stdio.h>

#include "routing/graph.h"

/* A node of the graph is a channel: one lane of one direction of a link, number link * lanes +
 * lane. What it waits for are ports of the switch that the link leads to, each with a lane: 256
 * bits for each lane, or for its own lane only where lanes never change on the way. */
struct rt_dependencies {
    const struct rt_graph *g;
    unsigned lanes;
    bool lanes_change;
    uint64_t (*waits)[4];
};

void rt_dependencies_init(struct rt_dependencies *d, const struct rt_graph *g, unsigned lanes,
                          bool lanes_change);
void rt_dependencies_clear(struct rt_dependencies *d);

/* The waits of a channel for ports at this lane. */
static inline uint64_t *rt_dependencies_waits(const struct rt_dependencies *d, uint32_t channel,
                                              unsigned lane)
{
    return d->lanes_change ? d->waits[(size_t)channel * d->lanes + lane] : d->waits[channel];
}

/* A packet that holds the channel waits for this port of the link's peer, at this lane (its own
 * where lanes do not change). */
static inline void rt_dependencies_add(struct rt_dependencies *d, uint32_t channel, uint8_t port,
                                       unsigned lane)
{
    rt_dependencies_waits(d, channel, lane)[port / 64] |= UINT64_C(1) << (port % 64);
}

/* How many channels lie on a cycle. One witness cycle of each of the first `limit` knots of cycles
 * is written to report, which may be NULL. */
uint64_t rt_dependencies_cycles(const struct rt_dependencies *d, FILE *report, unsigned limit);

#endif
