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

/* Neighbours of all switches on one side, by group: those of s are entries first[s] to
 * first[s + 1] - 1. */
struct rt_side {
    uint32_t *first, *peer;
    uint8_t *group; /* index among the groups of s */
    /* Of the upper side: switches with the same peers are twins, and what is found of all peers of
     * one holds for all of them. twin[s]: the next of them in the order, RT_NONE = s is the last;
     * leads[s]: s is the first. NULL on the lower side. */
    uint32_t *twin;
    bool *leads;
};

struct rt_order {
    uint32_t *at;  /* switch numbers from top to bottom */
    uint32_t *pos; /* of a switch in at[] */
    struct rt_side upper, lower;
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

/* Finds both sides of an order whose at[] and pos[] are known (sides.c). */
void rt_sides_make(const struct rt_graph *g, struct rt_order *order);
void rt_sides_clear(struct rt_order *order);

static inline bool rt_is_above(const struct rt_order *o, uint32_t a, uint32_t b)
{
    return o->pos[a] < o->pos[b];
}

#endif
