/* SPDX-License-Identifier: BSD-2-Clause */
/* Changed blocks. An entry of s for a destination on x depends on the groups of s, on who of its
 * neighbours is above it, on the distances to x of s and its neighbours, and on what the engine
 * knows of s and of the destination. Where all of that is the same in both plans, so is the entry;
 * elsewhere it is asked for in both. */
#include "routing/change.h"

#include <string.h>

#include "routing/engine.h"

/* Beyond that many the whole rows are compared: making a row costs as much. */
#define MAX_ENTRIES 128u
#define MAX_COLUMNS 128u
#define WORD_BITS 64u

struct change {
    const struct rt_plan *before, *after;
    bool by_inputs;  /* else all rows are compared */
    uint32_t *old;   /* of each switch: its number before, RT_NONE = none */
    size_t size;     /* of rows */
    uint32_t words;  /* a set of columns */
    uint64_t *moved; /* of each switch: columns where its distances differ */
    bool *has_moved;
    uint64_t *all;   /* columns to look at everywhere */
    GArray *lids;    /* uint16_t: to look at everywhere */
    GArray *ways;    /* destinations that only come down another way; numbers in `after` */
    GArray **blocks; /* of each switch; NULL = none */
};

static const struct rt_updown *updown_of(const struct rt_plan *p)
{
    return &((const struct rt_updown_plan *)p)->updown;
}

static void add_block(struct change *c, uint32_t s, uint16_t block)
{
    struct rt_block b = {.sw = s, .block = block};
    if (!c->blocks[s])
        c->blocks[s] = g_array_new(FALSE, FALSE, sizeof b);
    g_array_append_val(c->blocks[s], b);
}

/* -- what differs --------------------------------------------------------------------------- */

static bool has_same_switches(const struct rt_graph *a, const struct rt_graph *b)
{
    if (a->switch_count != b->switch_count)
        return false;
    for (uint32_t s = 0; s < a->switch_count; s++)
        if (a->switches[s].guid != b->switches[s].guid)
            return false;
    return true;
}

static void mark(uint64_t *set, uint32_t x)
{
    set[x / WORD_BITS] |= UINT64_C(1) << (x % WORD_BITS);
}

static void mark_moved(uint64_t *set, const uint8_t *a, const uint8_t *b, uint32_t n)
{
    if (memcmp(a, b, n) == 0)
        return;
    for (uint32_t from = 0; from < n; from += WORD_BITS) {
        uint32_t to = MIN(from + WORD_BITS, n);
        bool same = memcmp(a + from, b + from, to - from) == 0;
        for (uint32_t x = from; !same && x < to; x++)
            if (a[x] != b[x])
                mark(set, x);
    }
}

static bool is_empty(const struct change *c, const uint64_t *set)
{
    for (uint32_t w = 0; w < c->words; w++)
        if (set[w])
            return false;
    return true;
}

static void find_moved(void *context, unsigned s)
{
    struct change *c = context;
    const struct rt_updown *a = updown_of(c->before), *b = updown_of(c->after);
    uint64_t *set = c->moved + (size_t)s * c->words;
    size_t at = a->tree.stride * s; /* strides go by the number of switches */
    uint32_t n = a->graph->switch_count;
    mark_moved(set, a->tree.down + at, b->tree.down + at, n);
    mark_moved(set, a->tree.any + at, b->tree.any + at, n);
    mark_moved(set, a->climb + at, b->climb + at, n);
    c->has_moved[s] = !is_empty(c, set);
}

/* Columns of the pivot order are few, or the fabric is no tree. */
static void mark_pivot_columns(struct change *c)
{
    const struct rt_updown *a = updown_of(c->before), *b = updown_of(c->after);
    for (uint32_t x = 0; x < a->graph->switch_count; x++)
        if (a->column[x] != RT_NONE || b->column[x] != RT_NONE || a->pure[x] != b->pure[x])
            mark(c->all, x);
}

static void list_dest(GArray *lids, const struct rt_dest *d)
{
    for (uint32_t k = 0; d->lid && k < 1u << d->lmc; k++) {
        uint16_t lid = d->lid + k;
        g_array_append_val(lids, lid);
    }
}

static bool is_same_dest(const struct change *c, uint32_t old, uint32_t dest)
{
    const struct rt_dest *a = &c->before->graph->dests[old], *b = &c->after->graph->dests[dest];
    return a->sw == b->sw && a->port == b->port && a->lid == b->lid && a->lmc == b->lmc &&
           a->kind == b->kind && c->after->ops->same_dest(c->before, old, c->after, dest);
}

/* Destinations of both graphs are sorted by (switch, port). */
static void find_lids(struct change *c)
{
    const struct rt_graph *a = c->before->graph, *b = c->after->graph;
    uint32_t i = 0, j = 0;
    while (i < a->dest_count || j < b->dest_count) {
        uint64_t x =
            i < a->dest_count ? (uint64_t)a->dests[i].sw << 8 | a->dests[i].port : UINT64_MAX;
        uint64_t y =
            j < b->dest_count ? (uint64_t)b->dests[j].sw << 8 | b->dests[j].port : UINT64_MAX;
        if (x == y && is_same_dest(c, i, j)) {
            if (!c->after->ops->same_way(c->before, i, c->after, j))
                g_array_append_val(c->ways, j);
            i++;
            j++;
            continue;
        }
        if (x <= y)
            list_dest(c->lids, &a->dests[i++]);
        if (y <= x)
            list_dest(c->lids, &b->dests[j++]);
    }
}

/* Whether the groups of s, their ports and who is above it are the same. */
static bool is_same_switch(const struct change *c, uint32_t s)
{
    const struct rt_updown *ua = updown_of(c->before), *ub = updown_of(c->after);
    const struct rt_graph *a = ua->graph, *b = ub->graph;
    if (a->switches[s].group_count != b->switches[s].group_count)
        return false;
    for (uint32_t k = 0; k < a->switches[s].group_count; k++) {
        const struct rt_group *x = rt_group_of(a, s, k), *y = rt_group_of(b, s, k);
        if (x->peer != y->peer || x->link_count != y->link_count ||
            rt_is_above(ua->tree.order, x->peer, s) != rt_is_above(ub->tree.order, x->peer, s) ||
            rt_is_above(ua->pivot.order, x->peer, s) != rt_is_above(ub->pivot.order, x->peer, s))
            return false;
        for (uint32_t l = 0; l < x->link_count; l++)
            if (a->links[x->first_link + l].port != b->links[y->first_link + l].port)
                return false;
    }
    return c->after->ops->same_switch(c->before, c->after, s);
}

/* -- comparing ------------------------------------------------------------------------------ */

static void compare_rows(struct change *c, uint32_t s)
{
    g_autofree uint8_t *a = g_malloc(c->size), *b = g_malloc(c->size);
    rt_plan_row(c->before, c->old[s], a, c->size);
    rt_plan_row(c->after, s, b, c->size);
    for (size_t from = 0; from < c->size; from += RT_LFT_BLOCK)
        if (memcmp(a + from, b + from, RT_LFT_BLOCK))
            add_block(c, s, from / RT_LFT_BLOCK);
}

/* The columns in which s or a neighbour has moved, and those to look at everywhere. */
static uint64_t *find_columns(const struct change *c, uint32_t s)
{
    const struct rt_graph *g = c->after->graph;
    uint64_t *set = g_memdup2(c->moved + (size_t)s * c->words, c->words * sizeof *set);
    for (uint32_t w = 0; w < c->words; w++)
        set[w] |= c->all[w];
    for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
        uint32_t peer = rt_group_of(g, s, k)->peer;
        const uint64_t *theirs = c->moved + (size_t)peer * c->words;
        for (uint32_t w = 0; c->has_moved[peer] && w < c->words; w++)
            set[w] |= theirs[w];
    }
    return set;
}

static uint32_t count_columns(const struct change *c, const uint64_t *columns)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < c->words; w++)
        count += __builtin_popcountll(columns[w]);
    return count;
}

static bool has_same_candidates(const struct change *c, uint32_t s, uint32_t x)
{
    const struct rt_updown *a = updown_of(c->before), *b = updown_of(c->after);
    uint8_t groups_a[RT_MAX_GROUPS], groups_b[RT_MAX_GROUPS];
    if (rt_updown_rule(a, s, x) != rt_updown_rule(b, s, x))
        return false;
    unsigned count = x == s ? 0 : rt_updown_candidates(a, s, x, groups_a);
    return x == s || (count == rt_updown_candidates(b, s, x, groups_b) &&
                      memcmp(groups_a, groups_b, count) == 0);
}

/* LIDs whose entries at s may differ. */
static GArray *list_lids(const struct change *c, uint32_t s, const uint64_t *columns)
{
    const struct rt_graph *g = c->after->graph;
    GArray *lids = g_array_new(FALSE, FALSE, sizeof(uint16_t));
    g_array_append_vals(lids, c->lids->data, c->lids->len);
    for (uint32_t w = 0; w < c->words; w++) {
        for (uint64_t left = columns[w]; left; left &= left - 1) {
            uint32_t x = w * WORD_BITS + __builtin_ctzll(left);
            uint32_t first = g->switches[x].first_dest, count = g->switches[x].dest_count;
            for (uint32_t d = first; !has_same_candidates(c, s, x) && d < first + count; d++)
                list_dest(lids, &g->dests[d]);
        }
    }
    /* Which way down is asked only where several groups lead down. */
    for (guint i = 0; i < c->ways->len; i++) {
        const struct rt_dest *d = &g->dests[g_array_index(c->ways, uint32_t, i)];
        if (rt_updown_rule(updown_of(c->after), s, d->sw) == RT_RULE_TREE_DOWN)
            list_dest(lids, d);
    }
    return lids;
}

static gint by_lid(gconstpointer a, gconstpointer b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static void compare_entries(struct change *c, uint32_t s, GArray *lids)
{
    uint32_t done = RT_NONE;
    g_array_sort(lids, by_lid);
    for (guint i = 0; i < lids->len; i++) {
        uint16_t lid = g_array_index(lids, uint16_t, i);
        if (lid / RT_LFT_BLOCK == done ||
            rt_plan_next_hop(c->before, s, lid) == rt_plan_next_hop(c->after, s, lid))
            continue;
        done = lid / RT_LFT_BLOCK;
        add_block(c, s, done);
    }
}

/* An engine whose columns depend on each other has to make the row for any of them. */
static void compare_inputs(struct change *c, uint32_t s)
{
    g_autofree uint64_t *columns = find_columns(c, s);
    uint32_t count = count_columns(c, columns);
    if (count > MAX_COLUMNS || !c->after->properties.columns_independent) {
        if (count > 0 || c->lids->len > 0)
            compare_rows(c, s);
        return;
    }
    if (count == 0 && c->lids->len == 0 && c->ways->len == 0)
        return;
    GArray *lids = list_lids(c, s, columns);
    if (lids->len > MAX_ENTRIES)
        compare_rows(c, s);
    else
        compare_entries(c, s, lids);
    g_array_free(lids, TRUE);
}

static void compare_switch(void *context, unsigned s)
{
    struct change *c = context;
    if (c->old[s] == RT_NONE) {
        for (size_t from = 0; from < c->size; from += RT_LFT_BLOCK)
            add_block(c, s, from / RT_LFT_BLOCK);
        return;
    }
    if (c->by_inputs && is_same_switch(c, s))
        compare_inputs(c, s);
    else
        compare_rows(c, s);
}

GArray *rt_changed_blocks(const struct rt_plan *before, const struct rt_plan *after,
                          const struct rt_options *options)
{
    const struct rt_graph *a = before->graph, *b = after->graph;
    uint32_t n = b->switch_count;
    struct change c = {.before = before, .after = after, .words = n / WORD_BITS + 1};
    c.size = (MAX(a->max_lid, b->max_lid) / RT_LFT_BLOCK + 1u) * RT_LFT_BLOCK;
    c.by_inputs =
        before->ops == after->ops && after->ops->same_dest != NULL && has_same_switches(a, b);
    c.old = g_new(uint32_t, n + 1);
    c.blocks = g_new0(GArray *, n + 1);
    c.moved = g_new0(uint64_t, (size_t)n * c.words + 1);
    c.all = g_new0(uint64_t, c.words);
    c.has_moved = g_new0(bool, n + 1);
    c.lids = g_array_new(FALSE, FALSE, sizeof(uint16_t));
    c.ways = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t s = 0; s < n; s++)
        c.old[s] = rt_find_switch(a, b->switches[s].guid);
    if (c.by_inputs) {
        rt_parallel(options, n, find_moved, &c);
        mark_pivot_columns(&c);
        find_lids(&c);
    }
    rt_parallel(options, n, compare_switch, &c);
    GArray *blocks = g_array_new(FALSE, FALSE, sizeof(struct rt_block));
    for (uint32_t s = 0; s < n; s++) {
        if (!c.blocks[s])
            continue;
        g_array_append_vals(blocks, c.blocks[s]->data, c.blocks[s]->len);
        g_array_free(c.blocks[s], TRUE);
    }
    g_array_free(c.lids, TRUE);
    g_array_free(c.ways, TRUE);
    g_free(c.has_moved);
    g_free(c.old);
    g_free(c.blocks);
    g_free(c.moved);
    g_free(c.all);
    return blocks;
}
