/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of each entry, its candidate groups, and which columns need the pivot order. */
#include "routing/engine.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "routing/vector.h"

#define MAX_DIVIDER (1u << 30)

static uint8_t get(const struct rt_distances *d, const uint8_t *matrix, uint32_t s, uint32_t column)
{
    return matrix[d->stride * s + column];
}

/* -- candidates of one entry ---------------------------------------------------------------- */

static enum rt_rule tree_rule(const struct rt_updown *u, uint32_t s, uint32_t x)
{
    if (get(&u->tree, u->tree.down, s, x) != RT_FAR)
        return RT_RULE_TREE_DOWN;
    return get(&u->tree, u->tree.any, s, x) != RT_FAR ? RT_RULE_TREE_UP : RT_RULE_NONE;
}

enum rt_rule rt_updown_rule(const struct rt_updown *u, uint32_t s, uint32_t x)
{
    uint32_t c = u->column[x];
    if (!u->pure[x]) {
        enum rt_rule rule = tree_rule(u, s, x);
        if (rule != RT_RULE_NONE)
            return rule;
        if (get(&u->tree, u->climb, s, x) != RT_FAR)
            return RT_RULE_CLIMB;
    }
    if (c == RT_NONE)
        return RT_RULE_NONE;
    if (get(&u->pivot, u->pivot.down, s, c) != RT_FAR)
        return RT_RULE_PIVOT_DOWN;
    return get(&u->pivot, u->pivot.any, s, c) != RT_FAR ? RT_RULE_PIVOT_UP : RT_RULE_NONE;
}

struct rt_comparison rt_compare_by(const struct rt_updown *u, enum rt_rule rule, uint32_t x)
{
    bool pivot = rule == RT_RULE_PIVOT_DOWN || rule == RT_RULE_PIVOT_UP;
    const struct rt_distances *d = pivot ? &u->pivot : &u->tree;
    struct rt_comparison c = {.order = d->order, .stride = d->stride};
    c.up = rule != RT_RULE_TREE_DOWN && rule != RT_RULE_PIVOT_DOWN;
    c.column = (c.up ? d->any : d->down) + (pivot ? u->column[x] : x);
    if (rule == RT_RULE_CLIMB) {
        c.order = &u->orders.pivot;
        c.column = u->climb + x;
    }
    return c;
}

static inline bool is_candidate(const struct rt_comparison *c, uint32_t s, uint32_t peer)
{
    return c->column[c->stride * peer] < c->column[c->stride * s] &&
           rt_is_above(c->order, peer, s) == c->up;
}

unsigned rt_updown_candidates(const struct rt_updown *u, uint32_t s, uint32_t x,
                              uint8_t groups[RT_MAX_GROUPS])
{
    enum rt_rule rule = rt_updown_rule(u, s, x);
    unsigned count = 0;
    if (rule == RT_RULE_NONE)
        return 0;
    struct rt_comparison c = rt_compare_by(u, rule, x);
    for (uint32_t k = 0; k < u->graph->switches[s].group_count; k++)
        if (is_candidate(&c, s, rt_group_of(u->graph, s, k)->peer))
            groups[count++] = k;
    return count;
}

/* -- columns that need the pivot order ------------------------------------------------------ */

/* Makes columns of the pivot order pure in which v may be entered from s above it and be left
 * upwards, in the pivot order. */
static void find_impure_turns(struct rt_updown *u, uint32_t s, uint32_t v, const uint32_t *above,
                              unsigned above_count, const uint32_t *with_column)
{
    for (uint32_t i = 0; i < u->column_count; i++) {
        uint32_t x = with_column[i];
        enum rt_rule rule = x == s || x == v || u->pure[x] ? RT_RULE_NONE : rt_updown_rule(u, v, x);
        if (rule == RT_RULE_NONE)
            continue;
        struct rt_comparison c = rt_compare_by(u, rule, x);
        bool leaves_up = false;
        for (unsigned k = 0; k < above_count && !leaves_up; k++)
            leaves_up = is_candidate(&c, v, above[k]);
        rule = leaves_up ? rt_updown_rule(u, s, x) : RT_RULE_NONE;
        if (rule == RT_RULE_NONE)
            continue;
        c = rt_compare_by(u, rule, x);
        if (is_candidate(&c, s, v))
            u->pure[x] = true;
    }
}

/* Outside the list the two orders agree, and the list is closed upwards, so that a turn which the
 * pivot order forbids has all of its three switches in the list. What rt_find_tree has found for
 * columns without distances in the pivot order stands. */
static void find_impure(struct rt_updown *u)
{
    const struct rt_side *upper = &u->orders.pivot.upper;
    g_autofree uint32_t *with_column = g_new(uint32_t, u->column_count + 1);
    for (uint32_t x = 0; x < u->graph->switch_count; x++)
        if (u->column[x] != RT_NONE)
            with_column[u->column[x]] = x;
    for (uint32_t v = 0; v < u->graph->switch_count; v++) {
        const uint32_t *above = upper->peer + upper->first[v];
        unsigned count = u->orders.in_list[v] ? upper->first[v + 1] - upper->first[v] : 0;
        for (unsigned i = 0; i < count; i++)
            find_impure_turns(u, above[i], v, above, count, with_column);
    }
}

/* Gives a column in the pivot order to all that need one; false when all have theirs. */
static bool number_columns(struct rt_updown *u, const uint8_t *far)
{
    bool changed = false;
    for (uint32_t x = 0; x < u->graph->switch_count; x++) {
        if (u->column[x] != RT_NONE || !(far[x] || u->pure[x]))
            continue;
        u->column[x] = u->column_count++;
        changed = true;
    }
    return changed;
}

static void find_columns(struct rt_updown *u, const struct rt_options *options)
{
    uint32_t n = u->graph->switch_count;
    g_autofree uint8_t *far = g_malloc0(rt_stride(n));
    g_autofree uint8_t *pure = g_malloc0(rt_stride(n));
    rt_find_tree(u, options, far, pure);
    for (uint32_t x = 0; x < n; x++) {
        u->column[x] = RT_NONE;
        u->pure[x] = pure[x];
    }
    while (number_columns(u, far)) {
        rt_find_pivot(u, options);
        find_impure(u); /* with the rules that these distances add */
    }
}

/* -- pairs without a path ------------------------------------------------------------------- */

static uint32_t count_present(const struct rt_graph *g, uint32_t sw)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->switches[sw].dest_count; i++) {
        const struct rt_dest *d = &g->dests[g->switches[sw].first_dest + i];
        count += d->present && d->lid;
    }
    return count;
}

/* Pieces of the graph are joined in the pivot order by construction; what is not is too far apart
 * for a byte. */
static int count_unreachable(struct rt_updown *u, char *error, size_t error_size)
{
    const struct rt_graph *g = u->graph;
    g_autofree uint32_t *present = g_new(uint32_t, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        present[s] = count_present(g, s);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        if (!u->column_count ||
            !memchr(u->pivot.any + u->pivot.stride * s, RT_FAR, u->column_count))
            continue;
        for (uint32_t x = 0; x < g->switch_count; x++) {
            if (rt_updown_rule(u, s, x) != RT_RULE_NONE)
                continue;
            if (u->orders.piece[s] == u->orders.piece[x]) {
                snprintf(error, error_size,
                         "switches 0x%016" PRIx64 " and 0x%016" PRIx64
                         " are more than 254 hops apart",
                         g->switches[s].guid, g->switches[x].guid);
                return ENOTSUP;
            }
            u->unreachable += present[s] ? present[x] : 0;
        }
    }
    return 0;
}

/* From the bottom. The first of twins is met last; the lower neighbours of all of them are done. */
uint32_t *rt_dividers_make(const struct rt_graph *g, const struct rt_order *tree)
{
    const struct rt_side *upper = &tree->upper;
    uint32_t *divider = g_new(uint32_t, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        divider[s] = 1;
    for (uint32_t i = g->switch_count; i-- > 0;) {
        uint32_t first = tree->at[i], most = 1;
        if (!upper->leads[first])
            continue;
        for (uint32_t s = first; s != RT_NONE; s = upper->twin[s])
            most = MAX(most, divider[s]);
        uint32_t from = upper->first[first], to = upper->first[first + 1];
        uint32_t product = MIN((uint64_t)most * (to - from), MAX_DIVIDER);
        for (uint32_t k = from; k < to; k++)
            divider[upper->peer[k]] = MAX(divider[upper->peer[k]], product);
    }
    return divider;
}

struct start {
    struct rt_updown *u;
    const struct rt_options *options;
    bool by_distance;
};

/* Orders are found by one thread; others get memory meanwhile. */
static void start(void *context, unsigned what)
{
    const struct start *s = context;
    if (what == 0)
        rt_orders_make(s->u->graph, s->options, s->by_distance, &s->u->orders);
    else
        rt_fetch_tree(s->u, what - 1);
}

int rt_updown_make(struct rt_graph *g, const struct rt_options *options, bool by_distance,
                   struct rt_updown *u, char *error, size_t error_size)
{
    memset(u, 0, sizeof *u);
    u->graph = rt_graph_ref(g);
    struct start s = {.u = u, .options = options, .by_distance = by_distance};
    u->tree.stride = rt_stride(g->switch_count);
    rt_parallel(options, 1 + RT_TREE_PARTS, start, &s);
    u->column = g_new(uint32_t, g->switch_count + 1);
    u->pure = g_new0(bool, g->switch_count + 1);
    u->tree.order = &u->orders.tree;
    u->pivot.order = &u->orders.pivot;
    find_columns(u, options);
    int rc = count_unreachable(u, error, error_size);
    if (rc)
        rt_updown_clear(u);
    return rc;
}

void rt_updown_clear(struct rt_updown *u)
{
    rt_orders_clear(&u->orders);
    rt_distances_clear(&u->tree);
    rt_distances_clear(&u->pivot);
    free(u->climb);
    g_free(u->column);
    g_free(u->pure);
    rt_graph_unref(u->graph);
    memset(u, 0, sizeof *u);
}
