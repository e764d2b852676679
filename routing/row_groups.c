/* SPDX-License-Identifier: BSD-2-Clause */
/* Candidate groups of one switch for all destination switches, RT_VECTOR of them at a time. */
#include <glib.h>

#include "routing/updown.h"
#include "routing/vector.h"

void rt_row_groups_init(struct rt_row_groups *r, const struct rt_updown *u)
{
    size_t n = u->tree.stride;
    r->count = g_malloc(n);
    r->single = g_malloc(n);
    r->full = g_malloc(n);
    r->rule = g_malloc(n);
    r->all_full = g_malloc(n / RT_VECTOR);
    r->first = g_new(uint32_t, n);
    r->of_rule = g_new(uint32_t, n);
    r->cursors = g_new(uint32_t, n);
    r->pivot = g_malloc(4 * u->pivot.stride + 1);
    r->lists_size = 0;
    r->lists = NULL;
}

void rt_row_groups_clear(struct rt_row_groups *r)
{
    g_free(r->count);
    g_free(r->single);
    g_free(r->full);
    g_free(r->rule);
    g_free(r->all_full);
    g_free(r->first);
    g_free(r->of_rule);
    g_free(r->cursors);
    g_free(r->pivot);
    g_free(r->lists);
}

/* -- counts --------------------------------------------------------------------------------- */

struct picks {
    rt_bytes count, single;
};

RT_INLINE void load(rt_bytes *to, const uint8_t *from)
{
    memcpy(to, from, RT_VECTOR);
}

/* Of the neighbours on one side: how many are nearer than s, and the last such group. */
RT_INLINE void pick(const struct rt_side *side, uint32_t s, const uint8_t *matrix, size_t stride,
                    struct picks *result)
{
    rt_bytes count = {0}, single = {0}, mine, theirs;
    load(&mine, matrix + stride * s);
    for (uint32_t k = side->first[s]; k < side->first[s + 1]; k++) {
        load(&theirs, matrix + stride * side->peer[k]);
        rt_bytes nearer = (rt_bytes)(theirs < mine);
        count -= nearer; /* minus minus one */
        single = (single & ~nearer) | (side->group[k] & nearer);
    }
    *result = (struct picks){count, single};
}

/* The rules of the tree order and the climb. Returns whether there are lists to make. */
RT_VECTORISED static bool fill_tree(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s,
                                    size_t from)
{
    size_t stride = u->tree.stride;
    struct picks by_down = {0}, by_up = {0}, by_climb = {0};
    rt_bytes down, any;
    load(&down, u->tree.down + stride * s + from);
    load(&any, u->tree.any + stride * s + from);
    rt_bytes goes_down = (rt_bytes)(down != RT_FAR), climbs = (rt_bytes)(any == RT_FAR);
    rt_bytes goes_up = ~goes_down & ~climbs;
    if (rt_is_any_set(&goes_down))
        pick(&u->orders.tree.lower, s, u->tree.down + from, stride, &by_down);
    if (rt_is_any_set(&goes_up))
        pick(&u->orders.tree.upper, s, u->tree.any + from, stride, &by_up);
    if (rt_is_any_set(&climbs))
        pick(&u->orders.pivot.upper, s, u->climb + from, stride, &by_climb);
    rt_bytes count =
        (by_down.count & goes_down) | (by_up.count & goes_up) | (by_climb.count & climbs);
    rt_bytes single =
        (by_down.single & goes_down) | (by_up.single & goes_up) | (by_climb.single & climbs);
    rt_bytes rule =
        (RT_RULE_TREE_DOWN & goes_down) | (RT_RULE_TREE_UP & goes_up) | (RT_RULE_CLIMB & climbs);
    /* Outside the list the upper groups of both orders are the same. */
    uint8_t climbs_fully = u->orders.in_list[s] ? 0 : 0xFF;
    rt_bytes full =
        (goes_up | (climbs & climbs_fully)) & (rt_bytes)(count == (uint8_t)r->upper_count);
    rt_bytes partial = (rt_bytes)(count > 1) & ~full, not_full = ~full;
    full &= 1;
    memcpy(r->count + from, &count, RT_VECTOR);
    memcpy(r->single + from, &single, RT_VECTOR);
    memcpy(r->rule + from, &rule, RT_VECTOR);
    memcpy(r->full + from, &full, RT_VECTOR);
    r->all_full[from / RT_VECTOR] = !rt_is_any_set(&not_full);
    return rt_is_any_set(&partial);
}

RT_VECTORISED static void pick_pivot(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s)
{
    size_t stride = u->pivot.stride;
    for (size_t from = 0; from < stride; from += RT_VECTOR) {
        struct picks p;
        pick(&u->orders.pivot.lower, s, u->pivot.down + from, stride, &p);
        memcpy(r->pivot + from, &p.count, RT_VECTOR);
        memcpy(r->pivot + stride + from, &p.single, RT_VECTOR);
        pick(&u->orders.pivot.upper, s, u->pivot.any + from, stride, &p);
        memcpy(r->pivot + 2 * stride + from, &p.count, RT_VECTOR);
        memcpy(r->pivot + 3 * stride + from, &p.single, RT_VECTOR);
    }
}

/* Columns that use the pivot order instead. Returns whether any has several candidates. */
static bool fill_pivot(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s)
{
    const uint8_t *climb = u->climb + u->tree.stride * s;
    const uint8_t *down = u->pivot.down + u->pivot.stride * s;
    bool partial = false;
    pick_pivot(r, u, s);
    for (uint32_t x = 0; x < u->graph->switch_count; x++) {
        uint32_t c = u->column[x];
        if (c == RT_NONE || !(u->pure[x] || climb[x] == RT_FAR))
            continue;
        const uint8_t *from = r->pivot + (down[c] != RT_FAR ? 0 : 2 * u->pivot.stride) + c;
        r->rule[x] = down[c] != RT_FAR ? RT_RULE_PIVOT_DOWN : RT_RULE_PIVOT_UP;
        r->count[x] = from[0];
        r->single[x] = from[u->pivot.stride];
        r->full[x] = r->all_full[x / RT_VECTOR] = false;
        partial |= from[0] > 1;
    }
    return partial;
}

/* -- lists ---------------------------------------------------------------------------------- */

/* Group by group rather than x by x: rows of distances lie one behind the other in memory. */
static void list_rule(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s,
                      enum rt_rule rule)
{
    uint32_t count = 0;
    for (uint32_t x = 0; x < u->graph->switch_count; x++) {
        if (r->rule[x] != rule || r->count[x] < 2 || r->full[x])
            continue;
        r->of_rule[count] = x;
        r->cursors[count++] = r->first[x];
    }
    if (count == 0)
        return;
    bool pivot = rule == RT_RULE_PIVOT_DOWN || rule == RT_RULE_PIVOT_UP;
    struct rt_comparison c = rt_compare_by(u, rule, r->of_rule[0]);
    c.column -= pivot ? u->column[r->of_rule[0]] : r->of_rule[0];
    for (uint32_t i = 0; pivot && i < count; i++)
        r->of_rule[i] = u->column[r->of_rule[i]];
    for (uint32_t k = 0; k < u->graph->switches[s].group_count; k++) {
        uint32_t peer = rt_group_of(u->graph, s, k)->peer;
        const uint8_t *mine = c.column + c.stride * s, *theirs = c.column + c.stride * peer;
        if (rt_is_above(c.order, peer, s) != c.up)
            continue;
        for (uint32_t i = 0; i < count; i++) { /* the store is overwritten when it is none */
            uint32_t at = r->of_rule[i];
            r->lists[r->cursors[i]] = k;
            r->cursors[i] += theirs[at] < mine[at];
        }
    }
}

static void make_lists(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s)
{
    uint32_t total = 0;
    for (uint32_t x = 0; x < u->graph->switch_count; x++) {
        r->first[x] = total;
        total += r->count[x] < 2 || r->full[x] ? 0 : r->count[x] + 1u; /* one for list_rule */
    }
    if (total > r->lists_size) {
        r->lists = g_realloc(r->lists, total);
        r->lists_size = total;
    }
    for (enum rt_rule rule = RT_RULE_TREE_DOWN; total && rule <= RT_RULE_PIVOT_UP; rule++)
        list_rule(r, u, s, rule);
}

void rt_row_groups_fill(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s)
{
    const struct rt_side *upper = &u->orders.tree.upper;
    bool partial = false;
    r->upper_count = upper->first[s + 1] - upper->first[s];
    memcpy(r->upper, upper->group + upper->first[s], r->upper_count);
    for (size_t from = 0; from < u->tree.stride; from += RT_VECTOR)
        partial |= fill_tree(r, u, s, from);
    if (u->column_count)
        partial |= fill_pivot(r, u, s);
    if (partial)
        make_lists(r, u, s);
}
