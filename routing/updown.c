/* SPDX-License-Identifier: BSD-2-Clause */
/* Up*-down* distances as byte vectors, and candidate groups from them. */
#include "routing/updown.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VECTOR_BYTES 64u
#define MAX_DIVIDER (1u << 30)

/* One compilation for each width of vector that the processor may have. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&             \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define VECTORISED
#endif

static bool is_above(const struct rt_order *o, uint32_t a, uint32_t b)
{
    return o->pos[a] < o->pos[b];
}

/* -- distances ------------------------------------------------------------------------------ */

/* mine = min(mine, theirs + 1), where 255 stays 255 and 254 + 1 becomes it. */
VECTORISED static void relax(uint8_t *restrict mine, const uint8_t *restrict theirs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t next = theirs[i] + (theirs[i] != RT_FAR);
        mine[i] = mine[i] < next ? mine[i] : next;
    }
}

static void find_distances(const struct rt_graph *g, const struct rt_order *order,
                           const uint32_t *column, uint32_t columns, struct rt_distances *d)
{
    uint32_t n = g->switch_count;
    d->order = order;
    d->stride = (columns + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
    d->down = g_malloc(d->stride * n + 1);
    d->any = g_malloc(d->stride * n + 1);
    memset(d->down, RT_FAR, d->stride * n);
    for (uint32_t x = 0; x < n; x++)
        if (column[x] != RT_NONE)
            d->down[d->stride * x + column[x]] = 0;
    for (uint32_t i = n; i-- > 0;) { /* from the bottom */
        uint32_t s = order->at[i];
        for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
            uint32_t peer = rt_group_of(g, s, k)->peer;
            if (is_above(order, peer, s))
                relax(d->down + d->stride * peer, d->down + d->stride * s, d->stride);
        }
    }
    memcpy(d->any, d->down, d->stride * n);
    for (uint32_t i = 0; i < n; i++) { /* from the top */
        uint32_t s = order->at[i];
        for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
            uint32_t peer = rt_group_of(g, s, k)->peer;
            if (is_above(order, peer, s))
                relax(d->any + d->stride * s, d->any + d->stride * peer, d->stride);
        }
    }
}

/* mine = min(mine, theirs + 1) where the tree order does not lead on. */
VECTORISED static void relax_far(uint8_t *restrict mine, const uint8_t *restrict theirs,
                                 const uint8_t *restrict any, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t next = theirs[i] + (theirs[i] != RT_FAR);
        uint8_t less = mine[i] < next ? mine[i] : next;
        mine[i] = any[i] == RT_FAR ? less : mine[i];
    }
}

static bool has_far(const uint8_t *row, size_t n)
{
    return n > 0 && memchr(row, RT_FAR, n);
}

static void find_climbs(struct rt_updown *u)
{
    const struct rt_graph *g = u->graph;
    size_t stride = u->tree.stride;
    u->climb = g_malloc(stride * g->switch_count + 1);
    memcpy(u->climb, u->tree.any, stride * g->switch_count);
    for (uint32_t i = 0; i < g->switch_count; i++) { /* from the top */
        uint32_t s = u->orders.pivot.at[i];
        const uint8_t *any = u->tree.any + stride * s;
        for (uint32_t k = 0; has_far(any, g->switch_count) && k < g->switches[s].group_count; k++) {
            uint32_t peer = rt_group_of(g, s, k)->peer;
            if (is_above(&u->orders.pivot, peer, s))
                relax_far(u->climb + stride * s, u->climb + stride * peer, any, stride);
        }
    }
}

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

/* What a rule compares: the distances to a column, of peers above or below in an order. */
struct comparison {
    const struct rt_order *order;
    const uint8_t *column; /* of the first switch; the others follow at strides */
    size_t stride;
    bool up;
};

static struct comparison compare_by(const struct rt_updown *u, enum rt_rule rule, uint32_t x)
{
    bool pivot = rule == RT_RULE_PIVOT_DOWN || rule == RT_RULE_PIVOT_UP;
    const struct rt_distances *d = pivot ? &u->pivot : &u->tree;
    struct comparison c = {.order = d->order, .stride = d->stride};
    c.up = rule != RT_RULE_TREE_DOWN && rule != RT_RULE_PIVOT_DOWN;
    c.column = (c.up ? d->any : d->down) + (pivot ? u->column[x] : x);
    if (rule == RT_RULE_CLIMB) {
        c.order = &u->orders.pivot;
        c.column = u->climb + x;
    }
    return c;
}

static inline bool is_candidate(const struct comparison *c, uint32_t s, uint32_t peer)
{
    return c->column[c->stride * peer] < c->column[c->stride * s] &&
           is_above(c->order, peer, s) == c->up;
}

unsigned rt_updown_candidates(const struct rt_updown *u, uint32_t s, uint32_t x,
                              uint8_t groups[RT_MAX_GROUPS])
{
    enum rt_rule rule = rt_updown_rule(u, s, x);
    unsigned count = 0;
    if (rule == RT_RULE_NONE)
        return 0;
    struct comparison c = compare_by(u, rule, x);
    for (uint32_t k = 0; k < u->graph->switches[s].group_count; k++)
        if (is_candidate(&c, s, rt_group_of(u->graph, s, k)->peer))
            groups[count++] = k;
    return count;
}

/* -- candidates of a row -------------------------------------------------------------------- */

/* Counts where theirs < mine; remembers k there. */
VECTORISED static void pick(uint8_t *restrict count, uint8_t *restrict single,
                            const uint8_t *restrict theirs, const uint8_t *restrict mine, uint8_t k,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t mask = theirs[i] < mine[i] ? 0xFF : 0;
        count[i] -= mask; /* minus minus one */
        single[i] = (single[i] & ~mask) | (k & mask);
    }
}

static size_t row_stride(const struct rt_updown *u)
{
    return MAX(u->tree.stride, u->pivot.stride);
}

void rt_row_groups_init(struct rt_row_groups *r, const struct rt_updown *u)
{
    r->count = g_malloc(row_stride(u) + 1);
    r->single = g_malloc(row_stride(u) + 1);
    r->full = g_new0(bool, row_stride(u) + 1);
    r->scratch = g_malloc(10 * row_stride(u) + 1);
    r->rule = g_malloc(u->graph->switch_count + 1);
    r->first = g_new(uint32_t, u->graph->switch_count + 1);
    r->of_rule = g_new(uint32_t, u->graph->switch_count + 1);
    r->cursors = g_new(uint32_t, u->graph->switch_count + 1);
    r->lists_size = 0;
    r->lists = NULL;
}

void rt_row_groups_clear(struct rt_row_groups *r)
{
    g_free(r->count);
    g_free(r->single);
    g_free(r->full);
    g_free(r->scratch);
    g_free(r->rule);
    g_free(r->first);
    g_free(r->of_rule);
    g_free(r->cursors);
    g_free(r->lists);
}

/* Where the counts and singles of s are put: lower groups by `down`, upper ones by `any`. */
struct picks {
    uint8_t *down_count, *down_single, *up_count, *up_single;
};

static void pick_all(const struct rt_updown *u, const struct rt_distances *d, uint32_t s,
                     const struct picks *out)
{
    uint8_t *all[] = {out->down_count, out->down_single, out->up_count, out->up_single};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        memset(all[i], 0, d->stride);
    for (uint32_t k = 0; k < u->graph->switches[s].group_count; k++) {
        uint32_t peer = rt_group_of(u->graph, s, k)->peer;
        bool up = is_above(d->order, peer, s);
        const uint8_t *matrix = up ? d->any : d->down;
        pick(up ? out->up_count : out->down_count, up ? out->up_single : out->down_single,
             matrix + d->stride * peer, matrix + d->stride * s, k, d->stride);
    }
}

static void pick_climbs(const struct rt_updown *u, uint32_t s, uint8_t *count, uint8_t *single)
{
    size_t stride = u->tree.stride;
    memset(count, 0, stride);
    memset(single, 0, stride);
    for (uint32_t k = 0; k < u->graph->switches[s].group_count; k++) {
        uint32_t peer = rt_group_of(u->graph, s, k)->peer;
        if (is_above(&u->orders.pivot, peer, s))
            pick(count, single, u->climb + stride * peer, u->climb + stride * s, k, stride);
    }
}

static void find_upper(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s)
{
    r->upper_count = 0;
    for (uint32_t k = 0; k < u->graph->switches[s].group_count; k++)
        if (is_above(u->tree.order, rt_group_of(u->graph, s, k)->peer, s))
            r->upper[r->upper_count++] = k;
}

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
    struct comparison c = compare_by(u, rule, r->of_rule[0]);
    c.column -= pivot ? u->column[r->of_rule[0]] : r->of_rule[0];
    for (uint32_t k = 0; k < u->graph->switches[s].group_count; k++) {
        uint32_t peer = rt_group_of(u->graph, s, k)->peer;
        const uint8_t *mine = c.column + c.stride * s, *theirs = c.column + c.stride * peer;
        if (is_above(c.order, peer, s) != c.up)
            continue;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t at = pivot ? u->column[r->of_rule[i]] : r->of_rule[i];
            if (theirs[at] < mine[at])
                r->lists[r->cursors[i]++] = k;
        }
    }
}

static void make_lists(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s)
{
    uint32_t total = 0;
    for (uint32_t x = 0; x < u->graph->switch_count; x++) {
        r->first[x] = total;
        total += r->count[x] < 2 || r->full[x] ? 0 : r->count[x];
    }
    if (total > r->lists_size) {
        r->lists = g_realloc(r->lists, total);
        r->lists_size = total;
    }
    for (enum rt_rule rule = RT_RULE_TREE_DOWN; total && rule <= RT_RULE_PIVOT_UP; rule++)
        list_rule(r, u, s, rule);
}

static void take(struct rt_row_groups *r, uint32_t x, enum rt_rule rule, uint8_t count,
                 uint8_t single)
{
    r->rule[x] = rule;
    r->count[x] = count;
    r->single[x] = single;
}

void rt_row_groups_fill(struct rt_row_groups *r, const struct rt_updown *u, uint32_t s)
{
    uint8_t *part[10];
    for (unsigned i = 0; i < G_N_ELEMENTS(part); i++)
        part[i] = r->scratch + i * row_stride(u);
    const struct picks tree = {part[0], part[1], part[2], part[3]};
    const struct picks pivot = {part[4], part[5], part[6], part[7]};
    uint32_t n = u->graph->switch_count;
    const uint8_t *down = u->tree.down + u->tree.stride * s,
                  *any = u->tree.any + u->tree.stride * s;
    const uint8_t *climb = u->climb + u->tree.stride * s;
    const uint8_t *pivot_down = u->pivot.down + u->pivot.stride * s;
    find_upper(r, u, s);
    pick_all(u, &u->tree, s, &tree);
    if (u->column_count)
        pick_all(u, &u->pivot, s, &pivot);
    if (has_far(any, n))
        pick_climbs(u, s, part[8], part[9]);
    for (uint32_t x = 0; x < n; x++) {
        uint32_t c = u->column[x];
        if (c != RT_NONE && (u->pure[x] || climb[x] == RT_FAR)) {
            if (pivot_down[c] != RT_FAR)
                take(r, x, RT_RULE_PIVOT_DOWN, pivot.down_count[c], pivot.down_single[c]);
            else
                take(r, x, RT_RULE_PIVOT_UP, pivot.up_count[c], pivot.up_single[c]);
        } else if (down[x] != RT_FAR) {
            take(r, x, RT_RULE_TREE_DOWN, tree.down_count[x], tree.down_single[x]);
        } else if (any[x] != RT_FAR) {
            take(r, x, RT_RULE_TREE_UP, tree.up_count[x], tree.up_single[x]);
        } else {
            take(r, x, RT_RULE_CLIMB, part[8][x], part[9][x]);
        }
        /* Outside the list the upper groups of both orders are the same. */
        r->full[x] = r->count[x] == r->upper_count &&
                     (r->rule[x] == RT_RULE_TREE_UP ||
                      (r->rule[x] == RT_RULE_CLIMB && !u->orders.in_list[s]));
    }
    make_lists(r, u, s);
}

/* -- columns that need the pivot order ------------------------------------------------------ */

VECTORISED static void mark_far(uint8_t *restrict far, const uint8_t *restrict any, size_t n)
{
    for (size_t i = 0; i < n; i++)
        far[i] |= any[i] == RT_FAR;
}

/* Makes columns pure in which v may be entered from s above it and be left upwards, in the pivot
 * order. */
static void find_impure_turns(struct rt_updown *u, uint32_t s, uint32_t v, const uint32_t *above,
                              unsigned above_count)
{
    for (uint32_t x = 0; x < u->graph->switch_count; x++) {
        enum rt_rule rule = x == s || x == v || u->pure[x] ? RT_RULE_NONE : rt_updown_rule(u, v, x);
        if (rule == RT_RULE_NONE)
            continue;
        struct comparison c = compare_by(u, rule, x);
        bool leaves_up = false;
        for (unsigned i = 0; i < above_count && !leaves_up; i++)
            leaves_up = is_candidate(&c, v, above[i]);
        rule = leaves_up ? rt_updown_rule(u, s, x) : RT_RULE_NONE;
        if (rule == RT_RULE_NONE)
            continue;
        c = compare_by(u, rule, x);
        if (is_candidate(&c, s, v))
            u->pure[x] = true;
    }
}

/* Outside the list the two orders agree, and the list is closed upwards, so that a turn which the
 * pivot order forbids has all of its three switches in the list. */
static void find_impure(struct rt_updown *u)
{
    const struct rt_graph *g = u->graph;
    for (uint32_t v = 0; v < g->switch_count; v++) {
        uint32_t above[RT_MAX_GROUPS];
        unsigned count = 0;
        for (uint32_t k = 0; u->orders.in_list[v] && k < g->switches[v].group_count; k++) {
            uint32_t peer = rt_group_of(g, v, k)->peer;
            if (is_above(&u->orders.pivot, peer, v))
                above[count++] = peer;
        }
        for (unsigned i = 0; i < count; i++)
            find_impure_turns(u, above[i], v, above, count);
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

static void find_columns(struct rt_updown *u)
{
    uint32_t n = u->graph->switch_count;
    g_autofree uint8_t *far = g_malloc0(u->tree.stride + 1);
    find_climbs(u);
    for (uint32_t s = 0; s < n; s++)
        mark_far(far, u->climb + u->tree.stride * s, u->tree.stride);
    for (uint32_t x = 0; x < n; x++)
        u->column[x] = RT_NONE;
    find_impure(u);
    while (number_columns(u, far)) {
        g_free(u->pivot.down);
        g_free(u->pivot.any);
        find_distances(u->graph, &u->orders.pivot, u->column, u->column_count, &u->pivot);
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
        const uint8_t *any = u->pivot.any + u->pivot.stride * s;
        if (!has_far(any, u->column_count))
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

uint32_t *rt_dividers_make(const struct rt_updown *u)
{
    const struct rt_graph *g = u->graph;
    const struct rt_order *tree = &u->orders.tree;
    uint32_t *divider = g_new(uint32_t, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        divider[s] = 1;
    for (uint32_t i = g->switch_count; i-- > 0;) {
        uint32_t s = tree->at[i], upper = 0;
        for (uint32_t k = 0; k < g->switches[s].group_count; k++)
            upper += tree->pos[rt_group_of(g, s, k)->peer] < tree->pos[s];
        uint64_t product = MIN((uint64_t)divider[s] * upper, MAX_DIVIDER);
        for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
            uint32_t peer = rt_group_of(g, s, k)->peer;
            if (tree->pos[peer] < tree->pos[s])
                divider[peer] = MAX(divider[peer], product);
        }
    }
    return divider;
}

int rt_updown_make(struct rt_graph *g, const struct rt_options *options, bool by_distance,
                   struct rt_updown *u, char *error, size_t error_size)
{
    memset(u, 0, sizeof *u);
    u->graph = rt_graph_ref(g);
    rt_orders_make(g, options, by_distance, &u->orders);
    u->column = g_new(uint32_t, g->switch_count + 1);
    u->pure = g_new0(bool, g->switch_count + 1);
    for (uint32_t x = 0; x < g->switch_count; x++)
        u->column[x] = x;
    find_distances(g, &u->orders.tree, u->column, g->switch_count, &u->tree);
    find_columns(u);
    int rc = count_unreachable(u, error, error_size);
    if (rc)
        rt_updown_clear(u);
    return rc;
}

void rt_updown_clear(struct rt_updown *u)
{
    rt_orders_clear(&u->orders);
    g_free(u->tree.down);
    g_free(u->tree.any);
    g_free(u->climb);
    g_free(u->pivot.down);
    g_free(u->pivot.any);
    g_free(u->column);
    g_free(u->pure);
    rt_graph_unref(u->graph);
    memset(u, 0, sizeof *u);
}
