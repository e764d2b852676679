/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranks, leaves, the tree order and the pivot order. */
#include "routing/order.h"

#include <glib.h>
#include <string.h>

#define WORD_BITS 64u
#define NEARLY_ALL 8u /* a pivot may miss one top of so many */

/* -- leaves and ranks ----------------------------------------------------------------------- */

static uint32_t count_hosts(const struct rt_graph *g, uint32_t sw)
{
    const struct rt_switch *s = &g->switches[sw];
    uint32_t hosts = 0;
    for (uint32_t i = 1; i < s->dest_count; i++)
        hosts += g->dests[s->first_dest + i].kind != RT_DEST_AGGREGATION;
    return hosts;
}

/* A switch with hosts is a leaf, unless it has less than half as many as the fullest and is cabled
 * to at least two switches with more than twice as many: those are leaves, and this is a spine with
 * management hosts. (A leaf with few hosts is cabled to spines, so it stays one.) Hosts count
 * whether they are present or not, so that ranks do not move when hosts come and go. */
static void find_leaves(const struct rt_graph *g, bool *leaf)
{
    g_autofree uint32_t *hosts = g_new(uint32_t, g->switch_count + 1);
    uint32_t most = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        hosts[s] = count_hosts(g, s);
        most = MAX(most, hosts[s]);
    }
    for (uint32_t s = 0; s < g->switch_count; s++) {
        uint32_t fuller = 0;
        for (uint32_t i = 0; i < g->switches[s].group_count; i++) {
            uint32_t peer = g->groups[g->switches[s].first_group + i].peer;
            fuller += 2 * hosts[peer] >= most && hosts[peer] > 2 * hosts[s];
        }
        leaf[s] = hosts[s] > 0 && fuller < 2;
    }
}

/* Breadth first from the switches whose distance is 0; the others must be RT_NONE. Returns the
 * greatest distance. */
static uint32_t spread(const struct rt_graph *g, uint32_t *distance)
{
    g_autofree uint32_t *queue = g_new(uint32_t, g->switch_count + 1);
    uint32_t head = 0, tail = 0, greatest = 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        if (distance[s] == 0)
            queue[tail++] = s;
    while (head < tail) {
        const struct rt_switch *s = &g->switches[queue[head]];
        uint32_t next = distance[queue[head++]] + 1;
        for (uint32_t i = 0; i < s->group_count; i++) {
            uint32_t peer = g->groups[s->first_group + i].peer;
            if (distance[peer] != RT_NONE)
                continue;
            distance[peer] = greatest = next;
            queue[tail++] = peer;
        }
    }
    return greatest;
}

/* Returns whether there are switches above the leaves at all. */
static bool rank_from_leaves(const struct rt_graph *g, const bool *leaf, uint32_t *rank)
{
    for (uint32_t s = 0; s < g->switch_count; s++)
        rank[s] = leaf[s] ? 0 : RT_NONE;
    bool layered = spread(g, rank) > 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        if (rank[s] == RT_NONE) /* a piece without hosts */
            rank[s] = 0;
    return layered;
}

/* rank holds 0 for roots and RT_NONE for others; on return the farthest have rank 0. */
static void rank_from_roots(const struct rt_graph *g, uint32_t *rank)
{
    uint32_t greatest = spread(g, rank);
    for (uint32_t s = 0; s < g->switch_count; s++)
        rank[s] = rank[s] == RT_NONE ? 0 : greatest - rank[s];
}

static bool mark_given_roots(const struct rt_graph *g, const struct rt_options *o, uint32_t *rank)
{
    bool any = false;
    for (uint32_t s = 0; s < g->switch_count; s++)
        rank[s] = RT_NONE;
    for (size_t i = 0; o && i < o->root_count; i++) {
        uint32_t s = rt_find_switch(g, o->root_guids[i]);
        if (s == RT_NONE)
            continue;
        rank[s] = 0;
        any = true;
    }
    return any;
}

static bool has_higher_neighbour(const struct rt_graph *g, const uint32_t *rank, uint32_t sw)
{
    const struct rt_switch *s = &g->switches[sw];
    for (uint32_t i = 0; i < s->group_count; i++)
        if (rank[g->groups[s->first_group + i].peer] > rank[sw])
            return true;
    return false;
}

/* The switch of a piece with the least sum of distances to all others of it. */
static uint32_t find_centre(const struct rt_graph *g, const uint32_t *piece, uint32_t wanted)
{
    g_autofree uint32_t *distance = g_new(uint32_t, g->switch_count + 1);
    uint64_t best_sum = UINT64_MAX;
    uint32_t best = wanted;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        if (piece[s] != wanted)
            continue;
        for (uint32_t i = 0; i < g->switch_count; i++)
            distance[i] = i == s ? 0 : RT_NONE;
        spread(g, distance);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < g->switch_count; i++)
            sum += distance[i] == RT_NONE ? 0 : distance[i];
        if (sum < best_sum) {
            best_sum = sum;
            best = s;
        }
    }
    return best;
}

/* Roots for updn: in each piece the switches of rank 1 or more that have nobody above them, else
 * the centre. */
static void mark_found_roots(const struct rt_graph *g, const uint32_t *piece, uint32_t *rank)
{
    g_autofree uint32_t *from_leaves = g_memdup2(rank, g->switch_count * sizeof *rank);
    g_autofree bool *has_tops = g_new0(bool, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        bool top = from_leaves[s] > 0 && !has_higher_neighbour(g, from_leaves, s);
        rank[s] = top ? 0 : RT_NONE;
        has_tops[piece[s]] |= top;
    }
    for (uint32_t s = 0; s < g->switch_count; s++)
        if (piece[s] == s && !has_tops[s])
            rank[find_centre(g, piece, s)] = 0;
}

static void find_pieces(const struct rt_graph *g, uint32_t *piece)
{
    g_autofree uint32_t *queue = g_new(uint32_t, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        piece[s] = RT_NONE;
    for (uint32_t first = 0; first < g->switch_count; first++) {
        if (piece[first] != RT_NONE)
            continue;
        uint32_t head = 0, tail = 0;
        queue[tail++] = first;
        piece[first] = first;
        while (head < tail) {
            const struct rt_switch *s = &g->switches[queue[head++]];
            for (uint32_t i = 0; i < s->group_count; i++) {
                uint32_t peer = g->groups[s->first_group + i].peer;
                if (piece[peer] != RT_NONE)
                    continue;
                piece[peer] = first;
                queue[tail++] = peer;
            }
        }
    }
}

/* -- the tree order ------------------------------------------------------------------------- */

static gint by_rank(gconstpointer a, gconstpointer b, gpointer ranks)
{
    const uint32_t *rank = ranks;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (rank[x] != rank[y])
        return rank[x] > rank[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static void number_positions(struct rt_order *o, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        o->pos[o->at[i]] = i;
}

/* -- the pivot order ------------------------------------------------------------------------ */

struct pivoting {
    const struct rt_graph *g;
    struct rt_orders *o;
    uint32_t words;
    uint64_t *tops; /* words a switch: the tops that it reaches by going up */
    bool *top;
    uint32_t *top_bit;
    bool *rooted; /* has a way up to the list */
    bool *ancestor;
    uint32_t listed; /* pivot.at[0..listed-1] is the list */
};

/* Each upper neighbour of a switch in the tree order. */
#define FOR_UPPER(o, sw, peer_)                                                                    \
    for (uint32_t i_ = (o)->tree.upper.first[sw], peer_;                                           \
         i_ < (o)->tree.upper.first[(sw) + 1] && (peer_ = (o)->tree.upper.peer[i_], true); i_++)

static void find_tops(struct pivoting *p)
{
    const struct rt_graph *g = p->g;
    const struct rt_side *upper = &p->o->tree.upper;
    uint32_t tops = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        p->top[s] = upper->first[s] == upper->first[s + 1];
        if (p->top[s])
            p->top_bit[s] = tops++;
    }
    p->words = tops / WORD_BITS + 1;
    p->tops = g_new0(uint64_t, (size_t)p->words * (g->switch_count + 1));
    for (uint32_t s = 0; s < g->switch_count; s++)
        if (p->top[s])
            p->tops[(size_t)s * p->words + p->top_bit[s] / WORD_BITS] |=
                UINT64_C(1) << (p->top_bit[s] % WORD_BITS);
    for (uint32_t i = 0; i < g->switch_count; i++) { /* from the top; twins with their first */
        uint32_t first = p->o->tree.at[i];
        const uint64_t *found = p->tops + (size_t)first * p->words;
        if (p->top[first] || !upper->leads[first])
            continue;
        FOR_UPPER(p->o, first, peer)
        for (uint32_t w = 0; w < p->words; w++)
            p->tops[(size_t)first * p->words + w] |= p->tops[(size_t)peer * p->words + w];
        for (uint32_t s = upper->twin[first]; s != RT_NONE; s = upper->twin[s])
            memcpy(p->tops + (size_t)s * p->words, found, p->words * sizeof *found);
    }
}

/* How many tops a switch reaches of those that have no way to the list. */
static uint32_t count_loose_tops(const struct pivoting *p, uint32_t sw, const uint64_t *loose)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < p->words; w++)
        count += __builtin_popcountll(p->tops[(size_t)sw * p->words + w] & loose[w]);
    return count;
}

static void mark_ancestors(struct pivoting *p, uint32_t sw)
{
    memset(p->ancestor, 0, p->g->switch_count);
    p->ancestor[sw] = true;
    for (uint32_t i = p->o->tree.pos[sw] + 1; i-- > 0;) {
        uint32_t s = p->o->tree.at[i];
        if (!p->ancestor[s])
            continue;
        FOR_UPPER(p->o, s, peer)
        p->ancestor[peer] = true;
    }
}

static void list(struct pivoting *p, uint32_t sw)
{
    if (p->o->in_list[sw])
        return;
    p->o->in_list[sw] = true;
    p->o->pivot.at[p->listed++] = sw;
}

/* Puts sw into the list: its ancestors that have a way to the list already keep their place above
 * it, the others come below it, upside down. */
static void list_pivot(struct pivoting *p, uint32_t sw)
{
    mark_ancestors(p, sw);
    for (uint32_t i = 0; i < p->o->tree.pos[sw]; i++) {
        uint32_t s = p->o->tree.at[i];
        if (p->ancestor[s] && p->rooted[s])
            list(p, s);
    }
    for (uint32_t i = p->o->tree.pos[sw] + 1; i-- > 0;)
        if (p->ancestor[p->o->tree.at[i]])
            list(p, p->o->tree.at[i]);
}

static void find_rooted(struct pivoting *p)
{
    for (uint32_t i = 0; i < p->g->switch_count; i++) {
        uint32_t s = p->o->tree.at[i];
        p->rooted[s] = p->o->in_list[s];
        FOR_UPPER(p->o, s, peer)
        p->rooted[s] |= p->rooted[peer];
    }
}

static uint32_t lowest_of_piece(const struct pivoting *p, uint32_t piece)
{
    for (uint32_t i = p->g->switch_count; i-- > 0;)
        if (p->o->piece[p->o->tree.at[i]] == piece)
            return p->o->tree.at[i];
    return RT_NONE;
}

/* The first pivot of a piece: the leaf with the lowest GUID of those that reach nearly as many tops
 * as any. Nearly, so that a lost link does not move the pivot to another pod and with it all
 * entries between switches above the leaves; the tops that it misses get a pivot of their own. */
static uint32_t choose_first_pivot(const struct pivoting *p, uint32_t piece, const uint64_t *loose)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < p->g->switch_count; s++)
        if (p->o->piece[s] == piece && p->o->leaf[s])
            most = MAX(most, count_loose_tops(p, s, loose));
    for (uint32_t s = 0; s < p->g->switch_count; s++)
        if (p->o->piece[s] == piece && p->o->leaf[s] &&
            count_loose_tops(p, s, loose) >= most - most / NEARLY_ALL)
            return s;
    return lowest_of_piece(p, piece); /* it has no leaves */
}

static bool joins_loose(const struct pivoting *p, uint32_t sw)
{
    if (!p->rooted[sw])
        return false;
    FOR_UPPER(p->o, sw, peer)
    if (!p->rooted[peer])
        return true;
    return false;
}

/* A further pivot: the highest switch that joins loose tops to the list. Among equals the one with
 * most loose tops, then with the lowest GUID. */
static uint32_t choose_next_pivot(const struct pivoting *p, uint32_t piece, const uint64_t *loose)
{
    uint32_t best = RT_NONE, best_count = 0, best_rank = 0;
    for (uint32_t s = 0; s < p->g->switch_count; s++) {
        uint32_t rank = p->o->rank[s];
        if (p->o->piece[s] != piece || (best != RT_NONE && rank < best_rank) || !joins_loose(p, s))
            continue;
        uint32_t count = count_loose_tops(p, s, loose);
        if (best != RT_NONE && rank == best_rank && count <= best_count)
            continue;
        best = s;
        best_count = count;
        best_rank = rank;
    }
    return best;
}

/* Sets the bits of the loose tops of a piece; returns how many there are. */
static uint32_t find_loose(const struct pivoting *p, uint32_t piece, uint64_t *loose)
{
    uint32_t count = 0;
    memset(loose, 0, p->words * sizeof *loose);
    for (uint32_t s = piece; s < p->g->switch_count; s++) {
        if (p->o->piece[s] != piece || !p->top[s] || p->rooted[s])
            continue;
        loose[p->top_bit[s] / WORD_BITS] |= UINT64_C(1) << (p->top_bit[s] % WORD_BITS);
        count++;
    }
    return count;
}

static void make_pivot_order(const struct rt_graph *g, struct rt_orders *o)
{
    uint32_t n = g->switch_count;
    struct pivoting p = {.g = g,
                         .o = o,
                         .top = g_new0(bool, n + 1),
                         .top_bit = g_new0(uint32_t, n + 1),
                         .rooted = g_new0(bool, n + 1),
                         .ancestor = g_new0(bool, n + 1)};
    find_tops(&p);
    g_autofree uint64_t *loose = g_new(uint64_t, p.words);
    for (uint32_t piece = 0; piece < n; piece++) {
        if (o->piece[piece] != piece || find_loose(&p, piece, loose) < 2)
            continue;
        list_pivot(&p, choose_first_pivot(&p, piece, loose));
        for (find_rooted(&p); find_loose(&p, piece, loose) > 0; find_rooted(&p))
            list_pivot(&p, choose_next_pivot(&p, piece, loose));
    }
    for (uint32_t i = 0; i < n; i++)
        if (!o->in_list[o->tree.at[i]])
            o->pivot.at[p.listed++] = o->tree.at[i];
    number_positions(&o->pivot, n);
    g_free(p.tops);
    g_free(p.top);
    g_free(p.top_bit);
    g_free(p.rooted);
    g_free(p.ancestor);
}

/* -- all ------------------------------------------------------------------------------------ */

void rt_orders_make(const struct rt_graph *g, const struct rt_options *options, bool by_distance,
                    struct rt_orders *o)
{
    uint32_t n = g->switch_count;
    o->rank = g_new0(uint32_t, n + 1);
    o->leaf = g_new0(bool, n + 1);
    o->piece = g_new0(uint32_t, n + 1);
    o->in_list = g_new0(bool, n + 1);
    struct rt_order *both[] = {&o->tree, &o->pivot};
    for (unsigned i = 0; i < 2; i++) {
        both[i]->at = g_new0(uint32_t, n + 1);
        both[i]->pos = g_new0(uint32_t, n + 1);
    }
    find_pieces(g, o->piece);
    find_leaves(g, o->leaf);
    if (mark_given_roots(g, options, o->rank)) {
        for (uint32_t s = 0; s < n; s++)
            o->leaf[s] &= o->rank[s] != 0;
        rank_from_roots(g, o->rank);
    } else {
        bool layered = rank_from_leaves(g, o->leaf, o->rank);
        if (by_distance || !layered) {
            mark_found_roots(g, o->piece, o->rank);
            rank_from_roots(g, o->rank);
        }
    }
    for (uint32_t s = 0; s < n; s++)
        o->tree.at[s] = s;
    if (n)
        g_qsort_with_data(o->tree.at, n, sizeof *o->tree.at, by_rank, o->rank);
    number_positions(&o->tree, n);
    rt_sides_make(g, &o->tree);
    make_pivot_order(g, o);
    rt_sides_make(g, &o->pivot);
}

void rt_orders_clear(struct rt_orders *o)
{
    g_free(o->rank);
    g_free(o->leaf);
    g_free(o->piece);
    g_free(o->in_list);
    rt_sides_clear(&o->tree);
    rt_sides_clear(&o->pivot);
    g_free(o->tree.at);
    g_free(o->tree.pos);
    g_free(o->pivot.at);
    g_free(o->pivot.pos);
}
