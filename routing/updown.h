/* SPDX-License-Identifier: BSD-2-Clause */
/* What ftree and updn share: the up*-down* distances of all switches from all switches, and the
 * candidate groups of each (switch, destination switch).
 *
 * Distances are bytes (255 = none), a row of them a vector over destination switches ("columns").
 * `down` is the length of a path that only goes down, `any` of one that goes up first, both in one
 * order. `climb` is the length of a path that goes up in the pivot order until it meets a switch
 * from which the tree order leads on.
 *
 * An entry of s for a destination on x, the *rule*:
 *   RT_RULE_TREE_DOWN   tree.down finite: the lower groups whose tree.down is less than s's
 *   RT_RULE_TREE_UP     else tree.any finite: the upper groups whose tree.any is less than s's
 *   RT_RULE_CLIMB       else climb finite: the groups above s in the pivot order with less climb
 *   RT_RULE_PIVOT_DOWN, RT_RULE_PIVOT_UP   else as the first two, in the pivot order
 * Each of these shortens its distance, and what follows it comes earlier in this list or is the
 * same (after PIVOT_UP, PIVOT_DOWN), so no packet loops. A column where that would come to a turn
 * that the pivot order forbids is `pure`: there all switches use the last two rules alone. So every
 * column obeys the pivot order, which makes the whole plan free of credit loops; rt_updown_make
 * looks at each possible turn, it does not assume. */
#ifndef ROUTING_UPDOWN_H
#define ROUTING_UPDOWN_H

#include "routing/graph.h"
#include "routing/order.h"

#define RT_FAR 255u
#define RT_MAX_GROUPS 254u

enum rt_rule {
    RT_RULE_NONE,
    RT_RULE_TREE_DOWN,
    RT_RULE_TREE_UP,
    RT_RULE_CLIMB,
    RT_RULE_PIVOT_DOWN,
    RT_RULE_PIVOT_UP,
};

struct rt_distances {
    const struct rt_order *order;
    size_t stride;       /* bytes a row, padded for vectors */
    uint8_t *down, *any; /* switch_count rows */
};

struct rt_updown {
    struct rt_graph *graph;
    struct rt_orders orders;
    struct rt_distances tree;  /* column = switch number */
    uint8_t *climb;            /* rows as those of tree */
    struct rt_distances pivot; /* column = column[x] */
    uint32_t *column;          /* RT_NONE: x needs no distances in the pivot order */
    uint32_t column_count;
    bool *pure;
    size_t unreachable; /* (source switch, present destination with a LID), see plan.h */
};

/* Takes a reference to the graph. Returns 0, or ENOTSUP with a line in error. */
int rt_updown_make(struct rt_graph *g, const struct rt_options *options, bool by_distance,
                   struct rt_updown *u, char *error, size_t error_size);
void rt_updown_clear(struct rt_updown *u);

/* Dividers of all switches: P(u) = max over lower neighbours s of P(s) * the number of upper groups
 * of s; 1 at the bottom. Hosts whose numbers differ by a multiple of P(s) share their way to s. */
uint32_t *rt_dividers_make(const struct rt_graph *g, const struct rt_order *tree);

enum rt_rule rt_updown_rule(const struct rt_updown *u, uint32_t s, uint32_t x);
/* The candidate groups of s for x != s, as indices among the groups of s, ascending. */
unsigned rt_updown_candidates(const struct rt_updown *u, uint32_t s, uint32_t x,
                              uint8_t groups[RT_MAX_GROUPS]);

/* The same for all x at once (row_groups.c). count[x] is the number of candidates, single[x] the
 * candidate where there is one only (index among the groups of s). full[x]: all upper groups of the
 * tree order. Where neither holds, the candidates are lists[first[x]..], count[x] of them. */
struct rt_row_groups {
    uint8_t *count, *single;
    bool *full;
    bool *all_full;               /* of each RT_VECTOR columns: full[x] for all of them */
    uint8_t upper[RT_MAX_GROUPS]; /* upper groups of s in the tree order */
    unsigned upper_count;
    uint8_t *lists;
    uint32_t *first;
    uint8_t *rule;               /* of each x: enum rt_rule */
    size_t lists_size;           /* private, as all below */
    uint32_t *of_rule, *cursors; /* x by rule, for the lists */
    uint8_t *pivot;              /* counts and singles in the pivot order */
};
void rt_row_groups_init(struct rt_row_groups *r, const struct rt_updown *u);
void rt_row_groups_fill(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s);
void rt_row_groups_clear(struct rt_row_groups *r);

/* -- distances.c ---------------------------------------------------------------------------- */

void rt_distances_clear(struct rt_distances *d);
/* Memory for the distances of the tree order and the climbs, part by part (0 ..), by any thread;
 * needs the graph and tree.stride. */
#define RT_TREE_PARTS 3u
void rt_fetch_tree(struct rt_updown *u, unsigned part);
/* Of the tree order, with climbs, all columns at once; into that memory. far[x]: some switch has
 * neither an `any` nor a climb to x; pure[x]: the rules would come to a turn that the pivot order
 * forbids. Both have rt_stride(switch_count) entries. Needs the orders. */
void rt_find_tree(struct rt_updown *u, const struct rt_options *options, uint8_t *far,
                  uint8_t *pure);
/* Of the pivot order, the columns that have a number. */
void rt_find_pivot(struct rt_updown *u, const struct rt_options *options);

/* What a rule compares: the distances to a column, of peers above or below in an order. */
struct rt_comparison {
    const struct rt_order *order;
    const uint8_t *column; /* of the first switch; the others follow at strides */
    size_t stride;
    bool up;
};
struct rt_comparison rt_compare_by(const struct rt_updown *u, enum rt_rule rule, uint32_t x);

static inline const struct rt_group *rt_group_of(const struct rt_graph *g, uint32_t s, unsigned i)
{
    return &g->groups[g->switches[s].first_group + i];
}

#endif
