/* SPDX-License-Identifier: BSD-2-Clause */
/* Cutting a fabric into domains: ranks, pods, bundles, METIS for what has no levels. */
#include "coordinator/partition.h"

#include <glib.h>
#include <metis.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_RANK UINT32_MAX
#define LEAF_SHARE                                                                                 \
    8u /* a leaf has at least an eighth of its cables, and of the fullest, in hosts */

struct edge {
    uint32_t from, to, links;
};

struct cutter {
    Heddle__TopologySwitch *const *switches;
    uint32_t count;
    GArray *edges;   /* both directions, by (from, to) */
    uint32_t *first; /* count + 1 offsets into edges */
    uint32_t *weight, *rank;
    uint32_t *mark; /* scratch: piece of a switch, NO_RANK outside of the set */
};

/* -- the graph ----------------------------------------------------------------------------- */

static uint32_t find(const struct cutter *c, uint64_t guid)
{
    uint32_t low = 0, high = c->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->switches[middle]->guid < guid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->count && c->switches[low]->guid == guid ? low : NO_RANK;
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->links > y->links ? -1 : x->links < y->links;
}

/* Adds the links of one switch, counted, in both directions: the other end may not list them. */
static void add_links(struct cutter *c, uint32_t from)
{
    const Heddle__TopologySwitch *s = c->switches[from];
    g_autofree uint32_t *to = g_new(uint32_t, s->n_neighbours + 1);
    for (size_t i = 0; i < s->n_neighbours; i++)
        to[i] = find(c, s->neighbours[i]);
    for (size_t i = 0; i < s->n_neighbours; i++) {
        if (to[i] == NO_RANK || to[i] == from)
            continue;
        uint32_t links = 0;
        bool counted = false;
        for (size_t j = 0; j < s->n_neighbours; j++) {
            counted = counted || (j < i && to[j] == to[i]);
            links += to[j] == to[i];
        }
        if (counted)
            continue;
        struct edge there = {from, to[i], links}, back = {to[i], from, links};
        g_array_append_val(c->edges, there);
        g_array_append_val(c->edges, back);
    }
}

static void build_graph(struct cutter *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        add_links(c, i);
    g_array_sort(c->edges, compare_edges);
    guint kept = 0; /* of two counts of one pair the larger, which comes first */
    struct edge *e = (struct edge *)(void *)c->edges->data;
    for (guint i = 0; i < c->edges->len; i++)
        if (kept == 0 || e[kept - 1].from != e[i].from || e[kept - 1].to != e[i].to)
            e[kept++] = e[i];
    g_array_set_size(c->edges, kept);
    guint at = 0;
    for (uint32_t i = 0; i <= c->count; i++) {
        while (at < kept && e[at].from < i)
            at++;
        c->first[i] = at;
    }
}

static const struct edge *edge_at(const struct cutter *c, uint32_t i)
{
    return &g_array_index(c->edges, struct edge, i);
}

/* -- ranks --------------------------------------------------------------------------------- */

static bool is_leaf(const struct cutter *c, uint32_t i, uint32_t fullest)
{
    uint32_t hosts = c->switches[i]->hosts, links = 0;
    for (uint32_t j = c->first[i]; j < c->first[i + 1]; j++)
        links += edge_at(c, j)->links;
    return hosts && hosts * LEAF_SHARE >= fullest && hosts * LEAF_SHARE >= hosts + links;
}

static void find_ranks(struct cutter *c)
{
    uint32_t fullest = 0, head = 0, tail = 0;
    g_autofree uint32_t *queue = g_new(uint32_t, c->count + 1);
    for (uint32_t i = 0; i < c->count; i++)
        fullest = MAX(fullest, c->switches[i]->hosts);
    for (uint32_t i = 0; i < c->count; i++) {
        c->weight[i] = 1 + c->switches[i]->hosts;
        c->rank[i] = is_leaf(c, i, fullest) ? 0 : NO_RANK;
        if (c->rank[i] == 0)
            queue[tail++] = i;
    }
    while (head < tail) {
        uint32_t i = queue[head++];
        for (uint32_t j = c->first[i]; j < c->first[i + 1]; j++) {
            uint32_t to = edge_at(c, j)->to;
            if (c->rank[to] != NO_RANK)
                continue;
            c->rank[to] = c->rank[i] + 1;
            queue[tail++] = to;
        }
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (c->rank[i] == NO_RANK)
            c->rank[i] = 0; /* no leaf is joined to it */
}

/* -- sets of switches: GArrays of numbers, ascending ------------------------------------------- */

static GArray *set_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(uint32_t));
}

static void set_free(void *set)
{
    g_array_unref(set);
}

static uint32_t at(const GArray *set, guint i)
{
    return g_array_index(set, uint32_t, i);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t set_weight(const struct cutter *c, const GArray *set)
{
    uint64_t weight = 0;
    for (guint i = 0; i < set->len; i++)
        weight += c->weight[at(set, i)];
    return weight;
}

static GPtrArray *list_new(void)
{
    return g_ptr_array_new_with_free_func(set_free);
}

/* Moves the sets of `from` to the end of `to`. */
static void list_take(GPtrArray *to, GPtrArray *from)
{
    for (guint i = 0; i < from->len; i++)
        g_ptr_array_add(to, g_array_ref(g_ptr_array_index(from, i)));
    g_ptr_array_unref(from);
}

/* ends[j] = where group j of k ends, when n weights in a row are cut into k groups that are as
 * even as the order allows and never empty (k <= n). */
static void split_row(const uint64_t *weights, guint n, guint k, guint *ends)
{
    uint64_t total = 0, sum = 0;
    for (guint i = 0; i < n; i++)
        total += weights[i];
    guint i = 0;
    for (guint j = 0; j < k; j++) {
        while (i < n && (sum + weights[i] / 2) * k < total * (j + 1))
            sum += weights[i++];
        guint low = (j ? ends[j - 1] : 0) + 1, high = n - (k - 1 - j);
        guint end = j + 1 == k ? n : CLAMP(i, low, high);
        for (; i < end; i++)
            sum += weights[i];
        for (; i > end; i--)
            sum -= weights[i - 1];
        ends[j] = end;
    }
}

/* The sets of a list joined into k neighbours' bundles. */
static GPtrArray *bundle(const struct cutter *c, const GPtrArray *sets, guint k)
{
    g_autofree uint64_t *weights = g_new(uint64_t, sets->len);
    g_autofree guint *ends = g_new(guint, k);
    for (guint i = 0; i < sets->len; i++)
        weights[i] = set_weight(c, g_ptr_array_index(sets, i));
    split_row(weights, sets->len, k, ends);
    GPtrArray *out = list_new();
    for (guint j = 0, i = 0; j < k; j++) {
        GArray *joined = set_new();
        for (; i < ends[j]; i++) {
            const GArray *s = g_ptr_array_index(sets, i);
            g_array_append_vals(joined, s->data, s->len);
        }
        g_array_sort(joined, compare_numbers);
        g_ptr_array_add(out, joined);
    }
    return out;
}

static GPtrArray *split_by_order(const struct cutter *c, const GArray *set, guint k)
{
    g_autoptr(GPtrArray) singles = list_new();
    for (guint i = 0; i < set->len; i++) {
        GArray *one = set_new();
        g_array_append_val(one, g_array_index(set, uint32_t, i));
        g_ptr_array_add(singles, one);
    }
    return bundle(c, singles, k);
}

/* -- no levels: METIS ----------------------------------------------------------------------------
 */

static bool run_metis(struct cutter *c, const GArray *set, guint k, idx_t *part)
{
    idx_t n = (idx_t)set->len, constraints = 1, parts = (idx_t)k, cut = 0;
    g_autofree idx_t *offsets = g_new(idx_t, set->len + 1);
    g_autofree idx_t *weights = g_new(idx_t, set->len);
    g_autoptr(GArray) to = g_array_new(FALSE, FALSE, sizeof(idx_t));
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(idx_t));
    for (guint i = 0; i < set->len; i++)
        c->mark[at(set, i)] = i;
    for (guint i = 0; i < set->len; i++) {
        offsets[i] = (idx_t)to->len;
        weights[i] = (idx_t)c->weight[at(set, i)];
        for (uint32_t j = c->first[at(set, i)]; j < c->first[at(set, i) + 1]; j++) {
            idx_t other = (idx_t)c->mark[edge_at(c, j)->to];
            idx_t count = (idx_t)edge_at(c, j)->links;
            if (c->mark[edge_at(c, j)->to] == NO_RANK)
                continue;
            g_array_append_val(to, other);
            g_array_append_val(links, count);
        }
    }
    offsets[set->len] = (idx_t)to->len;
    for (guint i = 0; i < set->len; i++)
        c->mark[at(set, i)] = NO_RANK;
    if (to->len == 0)
        return false;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1; /* the same cut each time */
    return METIS_PartGraphKway(&n, &constraints, offsets, (idx_t *)(void *)to->data, weights, NULL,
                               (idx_t *)(void *)links->data, &parts, NULL, NULL, options, &cut,
                               part) == METIS_OK;
}

static GPtrArray *split_flat(struct cutter *c, const GArray *set, guint k)
{
    g_autofree idx_t *part = g_new0(idx_t, set->len);
    if (k >= set->len || !run_metis(c, set, k, part))
        return split_by_order(c, set, k);
    GPtrArray *out = list_new();
    for (guint j = 0; j < k; j++)
        g_ptr_array_add(out, set_new());
    for (guint i = 0; i < set->len; i++)
        g_array_append_val((GArray *)g_ptr_array_index(out, (guint)part[i]),
                           g_array_index(set, uint32_t, i));
    for (guint j = 0; j < k; j++) {
        if (((GArray *)g_ptr_array_index(out, j))->len > 0)
            continue;
        g_ptr_array_unref(out); /* METIS leaves parts empty where there are few switches */
        return split_by_order(c, set, k);
    }
    return out;
}

/* -- levels: pods and what joins them ------------------------------------------------------------
 */

/* The connected pieces of `set`, by their lowest number; c->mark holds each switch's piece. */
static GPtrArray *find_pieces(struct cutter *c, const GArray *set)
{
    GPtrArray *pieces = list_new();
    g_autofree bool *inside = g_new0(bool, c->count);
    g_autoptr(GArray) stack = set_new();
    for (guint i = 0; i < set->len; i++)
        inside[at(set, i)] = true;
    for (guint i = 0; i < set->len; i++) {
        uint32_t start = at(set, i);
        if (!inside[start])
            continue;
        GArray *piece = set_new();
        inside[start] = false;
        g_array_append_val(stack, start);
        while (stack->len) {
            uint32_t s = at(stack, stack->len - 1);
            g_array_set_size(stack, stack->len - 1);
            g_array_append_val(piece, s);
            c->mark[s] = pieces->len;
            for (uint32_t j = c->first[s]; j < c->first[s + 1]; j++) {
                uint32_t to = edge_at(c, j)->to;
                if (!inside[to])
                    continue;
                inside[to] = false;
                g_array_append_val(stack, to);
            }
        }
        g_array_sort(piece, compare_numbers);
        g_ptr_array_add(pieces, piece);
    }
    return pieces;
}

/* A switch of the top rank that is joined to one pod only belongs to it: a leaf with few hosts
 * looks like this. */
static void return_strays(struct cutter *c, GPtrArray *pods, GArray *above)
{
    guint kept = 0;
    for (guint i = 0; i < above->len; i++) {
        uint32_t s = at(above, i), home = NO_RANK;
        bool many = pods->len < 2;
        for (uint32_t j = c->first[s]; j < c->first[s + 1]; j++) {
            uint32_t pod = c->mark[edge_at(c, j)->to];
            many = many || (home != NO_RANK && pod != NO_RANK && pod != home);
            home = home == NO_RANK ? pod : home;
        }
        if (many || home == NO_RANK)
            g_array_index(above, uint32_t, kept++) = s;
        else
            g_array_append_val((GArray *)g_ptr_array_index(pods, home), s);
    }
    g_array_set_size(above, kept);
}

static GPtrArray *cut_set(struct cutter *c, const GArray *set, guint k);

/* Fewer pods than parts: each pod gets parts in proportion to its weight, one at least. */
static GPtrArray *cut_pods(struct cutter *c, const GPtrArray *pods, guint k)
{
    g_autofree guint *share = g_new(guint, pods->len);
    guint given = pods->len;
    for (guint i = 0; i < pods->len; i++)
        share[i] = 1;
    while (given < k) {
        guint best = pods->len;
        double best_weight = 0;
        for (guint i = 0; i < pods->len; i++) {
            const GArray *pod = g_ptr_array_index(pods, i);
            double weight = (double)set_weight(c, pod) / share[i];
            if (share[i] < pod->len && weight > best_weight) {
                best = i;
                best_weight = weight;
            }
        }
        if (best == pods->len)
            break; /* every switch has a part of its own already */
        share[best]++;
        given++;
    }
    GPtrArray *out = list_new();
    for (guint i = 0; i < pods->len; i++)
        list_take(out, cut_set(c, g_ptr_array_index(pods, i), share[i]));
    return out;
}

/* Pieces of more than one and a half parts are cut, so that bundles come out even. */
static GPtrArray *cut_heavy(struct cutter *c, const GPtrArray *pods, guint k)
{
    uint64_t total = 0;
    for (guint i = 0; i < pods->len; i++)
        total += set_weight(c, g_ptr_array_index(pods, i));
    uint64_t share = MAX(total / k, 1u);
    GPtrArray *out = list_new();
    for (guint i = 0; i < pods->len; i++) {
        uint64_t weight = set_weight(c, g_ptr_array_index(pods, i));
        guint pieces = weight * 2 > share * 3 ? (guint)((weight + share - 1) / share) : 1;
        list_take(out, cut_set(c, g_ptr_array_index(pods, i), pieces));
    }
    return out;
}

static GPtrArray *bundle_pods(struct cutter *c, const GPtrArray *pods, guint k)
{
    g_autoptr(GPtrArray) pieces = cut_heavy(c, pods, k);
    return bundle(c, pieces, k);
}

static void deal(GPtrArray *parts, const GArray *above)
{
    for (guint i = 0; i < above->len; i++) {
        guint j = (guint)((uint64_t)i * parts->len / above->len);
        g_array_append_val((GArray *)g_ptr_array_index(parts, j),
                           g_array_index(above, uint32_t, i));
    }
    for (guint j = 0; j < parts->len; j++)
        g_array_sort(g_ptr_array_index(parts, j), compare_numbers);
}

static GPtrArray *cut_levels(struct cutter *c, const GArray *below, GArray *above, guint k,
                             bool real_pods)
{
    g_autoptr(GPtrArray) pods = find_pieces(c, below);
    return_strays(c, pods, above);
    for (guint i = 0; i < below->len; i++)
        c->mark[at(below, i)] = NO_RANK;
    guint n = pods->len, wanted = k;
    if (real_pods && n >= 2 && n * 3 >= k * 2 && n * 2 <= k * 3)
        wanted = n; /* near enough: a domain a pod */
    GPtrArray *out = n >= wanted ? bundle_pods(c, pods, wanted) : cut_pods(c, pods, wanted);
    guint own = out->len < k ? MIN(k - out->len, above->len) : 0;
    if (own > 0 && wanted == k)
        list_take(out, split_by_order(c, above, own));
    else
        deal(out, above);
    return out;
}

/* Cuts a set into about k parts, none empty; at least 2 when k and the set are at least 2. */
static GPtrArray *cut_set(struct cutter *c, const GArray *set, guint k)
{
    uint32_t top = 0;
    k = MIN(k, set->len);
    if (k <= 1) {
        GPtrArray *whole = list_new();
        GArray *copy = set_new();
        g_array_append_vals(copy, set->data, set->len);
        g_ptr_array_add(whole, copy);
        return whole;
    }
    for (guint i = 0; i < set->len; i++)
        top = MAX(top, c->rank[at(set, i)]);
    g_autoptr(GArray) below = set_new();
    g_autoptr(GArray) above = set_new();
    for (guint i = 0; i < set->len; i++) {
        uint32_t s = at(set, i);
        if (c->rank[s] < top)
            g_array_append_val(below, s);
        else
            g_array_append_val(above, s);
    }
    if (below->len == 0)
        return split_flat(c, set, k);
    return cut_levels(c, below, above, k, top >= 2);
}

/* -- all of it ----------------------------------------------------------------------------- */

static GPtrArray *within_limit(struct cutter *c, GPtrArray *parts, uint32_t max_nodes)
{
    bool again = true;
    while (again) {
        again = false;
        GPtrArray *next = list_new();
        for (guint i = 0; i < parts->len; i++) {
            const GArray *set = g_ptr_array_index(parts, i);
            uint64_t weight = set_weight(c, set);
            bool split = weight > max_nodes && set->len > 1;
            again = again || split;
            list_take(next,
                      cut_set(c, set, split ? (guint)((weight + max_nodes - 1) / max_nodes) : 1));
        }
        g_ptr_array_unref(parts);
        parts = next;
    }
    return parts;
}

static int compare_first(const void *a, const void *b)
{
    const GArray *const *x = a, *const *y = b;
    return compare_numbers((*x)->data, (*y)->data);
}

uint32_t partition_cut(Heddle__TopologySwitch *const *switches, size_t count, uint32_t domains,
                       uint32_t max_nodes, uint32_t *part)
{
    if (count == 0 || count >= NO_RANK)
        return 0;
    struct cutter c = {.switches = switches, .count = (uint32_t)count};
    c.edges = g_array_new(FALSE, FALSE, sizeof(struct edge));
    c.first = g_new0(uint32_t, count + 1);
    c.weight = g_new0(uint32_t, count);
    c.rank = g_new0(uint32_t, count);
    c.mark = g_new(uint32_t, count);
    memset(c.mark, 0xff, count * sizeof c.mark[0]); /* NO_RANK */
    build_graph(&c);
    find_ranks(&c);

    g_autoptr(GArray) all = set_new();
    for (uint32_t i = 0; i < c.count; i++)
        g_array_append_val(all, i);
    max_nodes = MAX(max_nodes, 1u);
    uint64_t needed = (set_weight(&c, all) + max_nodes - 1) / max_nodes;
    GPtrArray *parts = cut_set(&c, all, (guint)MIN(MAX(domains, needed), count));
    parts = within_limit(&c, parts, max_nodes);
    g_ptr_array_sort(parts, compare_first);
    for (guint j = 0; j < parts->len; j++) {
        const GArray *set = g_ptr_array_index(parts, j);
        for (guint i = 0; i < set->len; i++)
            part[at(set, i)] = j;
    }
    uint32_t n = parts->len;
    g_ptr_array_unref(parts);
    g_array_unref(c.edges);
    g_free(c.first);
    g_free(c.weight);
    g_free(c.rank);
    g_free(c.mark);
    return n;
}
