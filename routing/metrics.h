/* SPDX-License-Identifier: BSD-2-Clause */
/* How evenly tables spread traffic: three figures that others publish too, all of links between
 * switches, hosts as sources and destinations. Least is best; 1 is no contention at all.
 *   A2A  all to all: the greatest, over ports, of min(sources, destinations) through it
 *   RP   the median over random permutations of the greatest load of a port
 *   SP   the greatest load of a port over all shifts (host i sends to host i + k), or over some
 *        that are drawn */
#ifndef ROUTING_METRICS_H
#define ROUTING_METRICS_H

#include <stdint.h>

#include "routing/check.h"

struct rt_metrics {
    uint32_t a2a, rp, sp;
    double mean_hops; /* between switches, over all ordered pairs of hosts that have a path */
    uint64_t lost;    /* ordered pairs of hosts without a path: they load nothing */
};

struct rt_measuring {
    uint32_t permutations;
    uint32_t shifts; /* so many different ones are drawn; 0, or as many as there are: all */
    uint64_t seed;   /* of permutations and of shifts */
    /* Only parallel is used, NULL = one thread. The figures do not depend on it. */
    const struct rt_options *options;
};

/* hosts: destination numbers in the order of shifts, each once. */
void rt_measure_with(const struct rt_graph *g, const struct rt_tables *t, const uint32_t *hosts,
                     uint32_t host_count, const struct rt_measuring *how,
                     struct rt_metrics *metrics);
/* The same with all shifts, on one thread. */
void rt_measure(const struct rt_graph *g, const struct rt_tables *t, const uint32_t *hosts,
                uint32_t host_count, uint32_t permutations, uint64_t seed,
                struct rt_metrics *metrics);

#endif
