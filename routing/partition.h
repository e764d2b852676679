/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches in parts of nearly equal weight, each as connected as can be: who makes which rows, and
 * which destinations share a virtual lane.
 *
 * Deterministic: by GUIDs, links and weights alone. Sizes: O(switches + links). Thread safe.
 * METIS seeds and draws from rand(), which a process has once: calls of it wait for each other, and
 * nothing else in the process may use rand() or METIS meanwhile. */
#ifndef ROUTING_PARTITION_H
#define ROUTING_PARTITION_H

#include <stdbool.h>

#include "routing/graph.h"

enum rt_partition_way {
    RT_PARTITION_PODS,  /* whole pods of a tree; the tops even out the weights */
    RT_PARTITION_METIS, /* no pods: few links between parts, METIS with a fixed seed */
    RT_PARTITION_LINE,  /* a line of neighbours cut into equal pieces, where METIS's parts are
                         * uneven or cut more links (small or dense fabrics) */
};

/* Writes the part (0 .. parts - 1) of each switch. weight: of each switch, NULL = 1 each; parts at
 * least 1. No part weighs more than 1.1 times the mean and the heaviest switch together. Parts are
 * empty only where there are more of them than switches with a weight, or where switches are very
 * unequal. Equal on all machines with the same METIS library; without METIS's help (pods, line) on
 * all machines. */
enum rt_partition_way rt_partition(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                                   uint32_t *part);

/* The same, by the line alone: all switches breadth first, each connected piece from its lowest
 * GUID, cut where the weight reaches the next of `parts` equal shares. Needs no METIS. */
void rt_partition_line(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                       uint32_t *part);

/* By METIS alone; false = it cannot (one part, no links, parts left empty or unequal), and part[]
 * is as it was. */
bool rt_partition_metis(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                        uint32_t *part);

#endif
