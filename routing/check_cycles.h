/* SPDX-License-Identifier: BSD-2-Clause */
/* The channel dependency graph of the checker and its cycles. */
#ifndef ROUTING_CHECK_CYCLES_H
#define ROUTING_CHECK_CYCLES_H

#include <stdio.h>

#include "routing/graph.h"

struct rt_dependencies {
    const struct rt_graph *g;
    uint64_t (*waits)[4]; /* of each channel: ports of the switch that it leads to */
};

void rt_dependencies_init(struct rt_dependencies *d, const struct rt_graph *g);
void rt_dependencies_clear(struct rt_dependencies *d);

/* A packet that holds the channel (a link number) waits for this port of the link's peer. */
static inline void rt_dependencies_add(struct rt_dependencies *d, uint32_t channel, uint8_t port)
{
    d->waits[channel][port / 64] |= UINT64_C(1) << (port % 64);
}

/* How many channels lie on a cycle. One witness cycle of each of the first `limit` knots of cycles
 * is written to report, which may be NULL. */
uint64_t rt_dependencies_cycles(const struct rt_dependencies *d, FILE *report, unsigned limit);

#endif
