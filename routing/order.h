/* SPDX-License-Identifier: BSD-2-Clause */
/* Orders of the switches: who is above whom.
 *
 * An order is a permutation of the switches from top to bottom. A link leads up when its peer
 * stands higher. Routes that go up first and then down only, with respect to one order, make an
 * acyclic channel dependency graph: that is up*-down* routing.
 *
 * Two orders are made of a graph:
 *  - the *tree* order: by rank (distance from the leaves, or from given roots), the greatest first,
 *    then by GUID. Ordinary traffic follows it. Where several switches have nobody above them (the
 *    tops of a fat tree), pairs exist that it does not join: two tops, for example.
 *  - the *pivot* order: the tree order with one leaf, the pivot, and its ancestors put in front,
 *    upside down: the pivot is above its ancestors of rank 1, these above theirs, and so on. One
 *    switch of each connected piece is then above all others, so every pair is joined. In a fat
 *    tree all that the tree order allows stays allowed, other than turns at a top between two
 *    ancestors of the pivot; see routing/README.md for the whole argument.
 * Switches of the front part are "in the list"; the list is closed upwards in the tree order. */
#ifndef ROUTING_ORDER_H
#define ROUTING_ORDER_H

#include "routing/graph.h"
#include "routing/plan.h"

struct rt_order {
    uint32_t *at;  /* switch numbers from top to bottom */
    uint32_t *pos; /* of a switch in at[] */
};

struct rt_orders {
    uint32_t *rank;  /* 0 = leaf */
    bool *leaf;      /* has hosts and is no spine with a management host or two */
    uint32_t *piece; /* connected piece, numbered by its first switch */
    bool *in_list;
    struct rt_order tree, pivot;
};

/* by_distance: rank = distance from the roots also when none are given (the roots are then the
 * tops, or the centre of a fabric whose switches all have hosts). */
void rt_orders_make(const struct rt_graph *g, const struct rt_options *options, bool by_distance,
                    struct rt_orders *orders);
void rt_orders_clear(struct rt_orders *orders);

#endif
