/* SPDX-License-Identifier: BSD-2-Clause */
/* nue: any connected fabric, free of deadlocks on any number k >= 1 of virtual lanes (after Domke,
 * Hoefler and Matsuoka, "Routing on the dependency graph", HPDC 2016).
 *
 * Destination switches are split into k parts of about as many destinations, neighbours together;
 * part v uses SL and VL v. Within a part every tree is grown inside one set of dependencies without
 * cycles (acyclic.h), which starts with the *escape paths*: a spanning tree from the most central
 * switch, as far as it leads to destinations of the part. Where a tree gets stuck, a switch that it
 * has already is moved to another channel (Nue's local backtracking); where that does not help, the
 * column uses the escape paths alone. So there is always an answer, also for k = 1.
 *
 * A fabric has odd ways that few packets take, such as those of a top switch's own LID to another
 * top. If they came first, they would spoil the dependencies that ordinary traffic needs. So trees
 * are made in two passes: first from hosts (to hosts, then to all others), each cut to the switches
 * that a packet of a host passes; then every tree is completed.
 *
 * Parts know nothing of each other: each may be made by another thread or process. Share i of n
 * (rt_options.part, .parts) makes the parts v with v % n == i. */
#include <errno.h>
#include <string.h>

#include "routing/partition.h"
#include "routing/trees.h"

#define MAX_PARTS 15u /* data VLs, IBA 7.6.4 */

struct part {
    struct rt_table_plan *plan;
    const uint32_t *part_of; /* of each switch */
    uint32_t number;
    struct rt_trees trees;
    struct rt_acyclic acyclic;
    uint32_t *piece;  /* of each switch: the root of its connected piece */
    bool *escaped;    /* of each column: uses the escape paths */
    uint32_t *parent; /* channel towards the root of the spanning tree, RT_NONE = a root */
};

/* -- parts ---------------------------------------------------------------------------------- */

static uint32_t weight_of(const struct rt_graph *g, uint32_t s)
{
    uint32_t weight = 0;
    for (uint32_t i = 0; i < g->switches[s].dest_count; i++)
        weight += g->dests[g->switches[s].first_dest + i].lid != 0;
    return weight;
}

/* By METIS, as in Nue: on trees, tori and irregular fabrics its parts load links more evenly than
 * pieces of a line of neighbours, which small fabrics get that METIS cuts unevenly. */
static uint32_t *split(const struct rt_graph *g, unsigned parts)
{
    uint32_t *part_of = g_new(uint32_t, g->switch_count + 1);
    g_autofree uint32_t *weight = g_new(uint32_t, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        weight[s] = weight_of(g, s);
    if (!rt_partition_metis(g, weight, parts, part_of))
        rt_partition_line(g, weight, parts, part_of);
    return part_of;
}

/* -- escape paths --------------------------------------------------------------------------- */

/* The sum of the distances of each switch to the part's destinations: breadth first from each
 * switch that has some. */
static uint64_t *centrality(const struct part *p)
{
    const struct rt_graph *g = p->trees.g;
    uint64_t *sum = g_new0(uint64_t, g->switch_count + 1);
    g_autofree uint32_t *queue = g_new(uint32_t, g->switch_count + 1);
    g_autofree uint32_t *distance = g_new(uint32_t, g->switch_count + 1);
    for (uint32_t x = 0; x < g->switch_count; x++) {
        uint64_t weight = p->part_of[x] == p->number ? weight_of(g, x) : 0;
        if (weight == 0)
            continue;
        memset(distance, 0xff, g->switch_count * sizeof *distance);
        uint32_t head = 0, tail = 0;
        queue[tail++] = x;
        distance[x] = 0;
        for (; head < tail; head++) {
            const struct rt_switch *sw = &g->switches[queue[head]];
            sum[queue[head]] += weight * distance[queue[head]];
            for (uint32_t i = 0; i < sw->group_count; i++) {
                uint32_t next = g->groups[sw->first_group + i].peer;
                if (distance[next] != UINT32_MAX)
                    continue;
                distance[next] = distance[queue[head]] + 1;
                queue[tail++] = next;
            }
        }
    }
    return sum;
}

struct spanning { /* of one part: all pieces, in the order of the search */
    uint32_t *order, count;
    bool *seen;
    uint64_t *below; /* weight of the part's destinations at and below each switch */
};

/* Breadth first from the most central switch of the piece of `from`. */
static void span_piece(struct part *p, struct spanning *t, uint32_t from, const uint64_t *sum)
{
    const struct rt_graph *g = p->trees.g;
    uint32_t first = t->count, root = from;
    for (int pass = 0; pass < 2;
         pass++) { /* the piece is found first, then searched from its root */
        for (uint32_t i = first; i < t->count; i++)
            t->seen[t->order[i]] = false;
        t->count = first;
        t->order[t->count++] = root;
        t->seen[root] = true;
        p->parent[root] = RT_NONE;
        for (uint32_t i = first; i < t->count; i++) {
            const struct rt_switch *sw = &g->switches[t->order[i]];
            if (sum[t->order[i]] < sum[root] && pass == 0)
                root = t->order[i];
            for (uint32_t c = sw->first_group; c < sw->first_group + sw->group_count; c++) {
                uint32_t next = g->groups[c].peer;
                if (t->seen[next])
                    continue;
                t->seen[next] = true;
                p->parent[next] = p->trees.reverse[c];
                t->order[t->count++] = next;
            }
        }
    }
}

/* A packet from w by u to v along the tree needs (w->u) to wait for (u->v), if anything of the part
 * lies on v's side. */
static void add_escape_of(struct part *p, const struct spanning *t, uint32_t u, uint64_t total)
{
    const struct rt_graph *g = p->trees.g;
    const struct rt_switch *sw = &g->switches[u];
    g_autofree uint32_t *tree = g_new(uint32_t, sw->group_count + 1); /* channels from u */
    uint32_t count = 0;
    for (uint32_t c = sw->first_group; c < sw->first_group + sw->group_count; c++)
        if (p->parent[u] == c || p->parent[g->groups[c].peer] == p->trees.reverse[c])
            tree[count++] = c;
    for (uint32_t out = 0; out < count; out++) {
        bool is_up = p->parent[u] == tree[out];
        uint64_t beyond = is_up ? total - t->below[u] : t->below[g->groups[tree[out]].peer];
        for (uint32_t in = 0; in < count && beyond > 0; in++)
            if (in != out)
                rt_acyclic_add(&p->acyclic, p->trees.reverse[tree[in]], rt_slot(g, u, tree[out]));
    }
}

static void make_escape_paths(struct part *p)
{
    const struct rt_graph *g = p->trees.g;
    size_t n = (size_t)g->switch_count + 1;
    g_autofree uint64_t *sum = centrality(p);
    struct spanning t = {g_new(uint32_t, n), 0, g_new0(bool, n), g_new0(uint64_t, n)};
    for (uint32_t s = 0; s < g->switch_count; s++) {
        if (t.seen[s])
            continue;
        uint32_t first = t.count;
        span_piece(p, &t, s, sum);
        for (uint32_t i = t.count; i-- > first;) {
            uint32_t u = t.order[i];
            t.below[u] += p->part_of[u] == p->number ? weight_of(g, u) : 0;
            if (p->parent[u] != RT_NONE)
                t.below[g->groups[p->parent[u]].peer] += t.below[u];
        }
        for (uint32_t i = first; i < t.count; i++)
            p->piece[t.order[i]] = t.order[first];
        for (uint32_t i = first; i < t.count; i++)
            add_escape_of(p, &t, t.order[i], t.below[t.order[first]]);
    }
    g_array_set_size(p->acyclic.journal, 0); /* these stay */
    g_free(t.order);
    g_free(t.seen);
    g_free(t.below);
}

static void take_escape_paths(struct part *p, uint32_t x)
{
    struct rt_trees *t = &p->trees;
    const struct rt_graph *g = t->g;
    rt_trees_start(t, x);
    for (uint32_t i = 0; i < t->settled; i++) {
        uint32_t u = t->order[i];
        const struct rt_switch *sw = &g->switches[u];
        for (uint32_t c = sw->first_group; c < sw->first_group + sw->group_count; c++) {
            uint32_t next = g->groups[c].peer, back = t->reverse[c];
            bool in_tree = p->parent[u] == c || p->parent[next] == back;
            if (in_tree && t->cost[next] == UINT64_MAX)
                rt_trees_settle(t, next, back);
        }
    }
}

/* -- backtracking --------------------------------------------------------------------------- */

static bool passes(const struct rt_trees *t, uint32_t from, uint32_t by)
{
    while (from != by && t->toward[from] != RT_NONE)
        from = t->g->groups[t->toward[from]].peer;
    return from == by;
}

/* Whether `u` may use `channel` instead of its own, with all who come through it, and `w` as well.
 */
static bool may_move(struct part *p, uint32_t u, uint32_t channel, uint32_t entry)
{
    const struct rt_trees *t = &p->trees;
    const struct rt_graph *g = t->g;
    uint32_t next = g->groups[channel].peer;
    unsigned slot = rt_slot(g, u, channel);
    if (t->toward[next] != RT_NONE &&
        !rt_acyclic_add(&p->acyclic, channel, rt_slot(g, next, t->toward[next])))
        return false;
    if (!rt_acyclic_add(&p->acyclic, entry, slot))
        return false;
    for (uint32_t i = 0; i < g->switches[u].group_count; i++) {
        uint32_t c = g->switches[u].first_group + i, child = g->groups[c].peer;
        if (t->toward[child] == t->reverse[c] && t->cost[child] != UINT64_MAX &&
            !rt_acyclic_add(&p->acyclic, t->reverse[c], slot))
            return false;
    }
    return true;
}

/* Moves a neighbour u of w, so that w can go through it. */
static bool rescue(struct part *p, uint32_t w)
{
    struct rt_trees *t = &p->trees;
    const struct rt_graph *g = t->g;
    for (uint32_t i = 0; i < g->switches[w].group_count; i++) {
        uint32_t entry = g->switches[w].first_group + i, u = g->groups[entry].peer;
        if (t->cost[u] == UINT64_MAX || t->toward[u] == RT_NONE)
            continue;
        for (uint32_t k = 0; k < g->switches[u].group_count; k++) {
            uint32_t channel = g->switches[u].first_group + k, next = g->groups[channel].peer;
            if (channel == t->toward[u] || t->cost[next] == UINT64_MAX || passes(t, next, u))
                continue;
            guint mark = p->acyclic.journal->len;
            if (!may_move(p, u, channel, entry)) {
                rt_acyclic_back(&p->acyclic, mark);
                continue;
            }
            t->toward[u] = channel;
            rt_trees_settle(t, w, entry);
            rt_trees_offer(t, u);
            return true;
        }
    }
    return false;
}

/* -- trees ---------------------------------------------------------------------------------- */

/* The next switch, from s on, that the present tree should have and does not; switch_count = none.
 */
static uint32_t missing(const struct part *p, uint32_t s, bool hosts_only)
{
    const struct rt_trees *t = &p->trees;
    for (; s < t->g->switch_count; s++)
        if (t->cost[s] == UINT64_MAX && p->piece[s] == p->piece[t->order[0]] &&
            (!hosts_only || t->sources[s] > 0))
            break;
    return s;
}

static bool grow(struct part *p, bool hosts_only)
{
    uint32_t n = p->trees.g->switch_count;
    for (;;) {
        rt_trees_grow(&p->trees, &p->acyclic);
        uint32_t w = missing(p, 0, hosts_only);
        if (w == n)
            return true;
        while (w < n && !rescue(p, w))
            w = missing(p, w + 1, hosts_only);
        if (w == n)
            return false;
    }
}

static uint32_t switch_of(const struct part *p, uint32_t column)
{
    return p->trees.g->dests[p->plan->columns.all[column].dest].sw;
}

static uint8_t *slots_of(const struct part *p, uint32_t column)
{
    return p->plan->ports + (size_t)column * p->trees.g->switch_count;
}

static void escape(struct part *p, uint32_t column)
{
    rt_acyclic_back(&p->acyclic, 0);
    rt_acyclic_forget_refused(&p->acyclic);
    take_escape_paths(p, switch_of(p, column));
    p->escaped[column] = true;
}

/* Keeps of the tree what hosts need: their switches' slots in the column, and the dependencies. */
static void keep(struct part *p, uint32_t column)
{
    const struct rt_trees *t = &p->trees;
    const struct rt_graph *g = t->g;
    uint8_t *slots = slots_of(p, column);
    rt_acyclic_back(&p->acyclic, 0);
    for (uint32_t i = 1; i < t->settled; i++) {
        uint32_t s = t->order[i];
        if (t->sources[s] == 0)
            continue;
        while (t->toward[s] != RT_NONE && slots[s] == RT_NO_PATH) {
            uint32_t channel = t->toward[s], next = g->groups[channel].peer;
            slots[s] = (uint8_t)rt_slot(g, s, channel);
            if (t->toward[next] != RT_NONE)
                rt_acyclic_add(&p->acyclic, channel, rt_slot(g, next, t->toward[next]));
            s = next;
        }
    }
}

/* The first pass. */
static void begin_column(struct part *p, uint32_t column)
{
    g_array_set_size(p->acyclic.journal, 0);
    rt_trees_start(&p->trees, switch_of(p, column));
    if (!grow(p, true))
        escape(p, column);
    else
        keep(p, column);
    rt_trees_count(&p->trees);
}

static void restore(struct part *p, uint32_t column)
{
    struct rt_trees *t = &p->trees;
    const struct rt_graph *g = t->g;
    const uint8_t *slots = slots_of(p, column);
    rt_trees_start(t, switch_of(p, column));
    for (uint32_t i = 0; i < t->settled; i++) {
        const struct rt_switch *sw = &g->switches[t->order[i]];
        for (uint32_t c = sw->first_group; c < sw->first_group + sw->group_count; c++) {
            uint32_t next = g->groups[c].peer, back = t->reverse[c];
            if (t->cost[next] == UINT64_MAX && slots[next] == rt_slot(g, next, back))
                rt_trees_settle(t, next, back);
        }
    }
}

/* The second pass. */
static void complete_column(struct part *p, uint32_t column)
{
    if (p->escaped[column]) {
        take_escape_paths(p, switch_of(p, column));
    } else {
        g_array_set_size(p->acyclic.journal, 0);
        restore(p, column);
        if (!grow(p, false))
            escape(p, column);
    }
    memset(slots_of(p, column), RT_NO_PATH, p->trees.g->switch_count);
    rt_trees_write(&p->trees, p->plan, column);
}

static void make_columns(struct part *p)
{
    const struct rt_graph *g = p->trees.g;
    const struct rt_columns *columns = &p->plan->columns;
    for (int others = 0; others < 2; others++)
        for (uint32_t c = 0; c < columns->count; c++) {
            const struct rt_dest *d = &g->dests[columns->all[c].dest];
            bool host = d->kind == RT_DEST_HOST || d->kind == RT_DEST_ROUTER;
            if (p->part_of[d->sw] == p->number && host != others)
                begin_column(p, c);
        }
    for (uint32_t c = 0; c < columns->count; c++)
        if (p->part_of[switch_of(p, c)] == p->number)
            complete_column(p, c);
}

struct job {
    struct rt_table_plan *plan;
    const uint32_t *part_of;
    unsigned first, step; /* parts first, first + step, .. are made here */
};

static void make_part(void *context, unsigned index)
{
    const struct job *job = context;
    const struct rt_graph *g = job->plan->plan.graph;
    uint32_t number = job->first + index * job->step;
    struct part p = {.plan = job->plan, .part_of = job->part_of, .number = number};
    rt_trees_init(&p.trees, g);
    rt_acyclic_init(&p.acyclic, g, p.trees.reverse);
    p.parent = g_new(uint32_t, g->switch_count + 1);
    p.piece = g_new(uint32_t, g->switch_count + 1);
    p.escaped = g_new0(bool, job->plan->columns.count + 1);
    make_escape_paths(&p);
    make_columns(&p);
    g_free(p.parent);
    g_free(p.piece);
    g_free(p.escaped);
    rt_acyclic_clear(&p.acyclic);
    rt_trees_clear(&p.trees);
}

/* Also of columns that another share makes: which part they are in. */
static void fill_lanes(struct rt_table_plan *p, const uint32_t *part_of)
{
    p->lanes = g_new0(uint8_t, p->columns.count + 1);
    for (uint32_t c = 0; c < p->columns.count; c++)
        p->lanes[c] = (uint8_t)part_of[p->plan.graph->dests[p->columns.all[c].dest].sw];
}

static int nue_prepare(struct rt_graph *graph, const struct rt_options *options,
                       struct rt_plan **plan, char *error, size_t error_size)
{
    unsigned parts = CLAMP(options ? options->max_vls : 1, 1, MAX_PARTS), made;
    g_autofree uint32_t *part_of = split(graph, parts);
    g_autofree bool *mine = g_new(bool, graph->switch_count + 1);
    struct job job = {.part_of = part_of, .step = 1};
    if (options && options->parts > 0) {
        job.first = options->part;
        job.step = options->parts;
    }
    made = job.first < parts ? (parts - 1 - job.first) / job.step + 1 : 0;
    for (uint32_t s = 0; s < graph->switch_count; s++)
        mine[s] = part_of[s] % job.step == job.first;
    struct rt_table_plan *p = rt_table_plan_create_share(graph, mine);
    job.plan = p;
    fill_lanes(p, part_of);
    p->plan.properties = (struct rt_properties){
        .vls = parts, .rows_independent = false, .columns_independent = true, .mix_safe = false};
    rt_parallel(options, made, make_part, &job);
    *plan = &p->plan;
    return 0;
}

const struct rt_engine rt_nue = {
    .name = "nue",
    .summary = "any connected fabric, free of deadlocks on any number of VLs",
    .prepare = nue_prepare,
};
