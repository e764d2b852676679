/* SPDX-License-Identifier: BSD-2-Clause */
/* minhop and dor: least hops on any fabric.
 *
 * minhop takes the least loaded port of those on least paths; the counters are local to a switch,
 * so rows stay independent. Hosts are counted first, absent ones too, in an order in which those
 * that come to a switch together stand together (see updn.c). Many destination switches share one
 * set of candidate ports; each set remembers where its least loaded port is, so that a choice costs
 * no look at all of them. Free of credit loops on trees only, so it promises nothing.
 *
 * dor takes the group with the lowest port number: where the cables of each dimension of a mesh or
 * hypercube use the same ports on all switches, that is dimension order routing. It looks whether
 * the dependencies have a cycle, and says so. */
#include <errno.h>
#include <string.h>

#include "routing/acyclic.h"
#include "routing/engine.h"
#include "routing/hops.h"

struct minhop {
    struct rt_plan plan;
    struct rt_hops hops;
    uint32_t *divider;
    uint32_t *dests; /* destinations with a LID: hosts and routers, then all others */
    uint32_t host_count, dest_count;
    bool in_order;  /* dor */
    uint8_t **rows; /* rt_cached_row */
};

/* -- sets of ports with their loads --------------------------------------------------------- */

struct port_set {
    uint64_t groups[4]; /* the key */
    uint8_t ports[256];
    uint16_t count, cursor; /* ports before the cursor have loads above the level */
    uint32_t level;
};

struct counters {
    const struct minhop *m;
    uint32_t s;
    uint32_t load[256];    /* by port */
    uint64_t (*nearer)[4]; /* of each destination switch */
    GHashTable *sets;
    struct port_set **of; /* the set of each destination switch */
};

static guint hash_groups(gconstpointer key)
{
    const uint64_t *groups = key;
    uint64_t h = groups[0] * 3 + groups[1] * 5 + groups[2] * 7 + groups[3] * 11;
    return (guint)(h ^ h >> 32);
}

static gboolean equal_groups(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, 4 * sizeof(uint64_t)) == 0;
}

static struct port_set *make_set(const struct counters *c, const uint64_t groups[4])
{
    const struct rt_graph *g = c->m->plan.graph;
    struct port_set *set = g_new0(struct port_set, 1);
    memcpy(set->groups, groups, sizeof set->groups);
    for (unsigned k = 0; k < g->switches[c->s].group_count; k++) {
        const struct rt_group *group = rt_group_of(g, c->s, k);
        for (uint32_t l = 0; (groups[k / 64] >> (k % 64) & 1) && l < group->link_count; l++)
            set->ports[set->count++] = g->links[group->first_link + l].port;
    }
    return set;
}

/* Loads only rise. So the least one of a set is where the cursor is, or after it, or has risen. */
static uint8_t take_port(struct counters *c, struct port_set *set)
{
    while (c->load[set->ports[set->cursor]] != set->level) {
        if (++set->cursor < set->count)
            continue;
        set->cursor = 0;
        set->level = UINT32_MAX;
        for (unsigned i = 0; i < set->count; i++)
            set->level = MIN(set->level, c->load[set->ports[i]]);
    }
    uint8_t port = set->ports[set->cursor];
    c->load[port]++;
    return port;
}

/* dor: all links of the group with the lowest port, in turn. */
static void keep_lowest(const struct counters *c, uint64_t groups[4])
{
    const struct rt_graph *g = c->m->plan.graph;
    unsigned best = RT_NO_PATH, best_group = 0;
    for (unsigned k = 0; k < g->switches[c->s].group_count; k++) {
        uint8_t port = g->links[rt_group_of(g, c->s, k)->first_link].port;
        if (!(groups[k / 64] >> (k % 64) & 1) || port >= best)
            continue;
        best = port;
        best_group = k;
    }
    if (best == RT_NO_PATH)
        return;
    memset(groups, 0, 4 * sizeof *groups);
    groups[best_group / 64] = UINT64_C(1) << (best_group % 64);
}

static void counters_init(struct counters *c, const struct minhop *m, uint32_t s)
{
    uint32_t n = m->plan.graph->switch_count;
    *c = (struct counters){.m = m, .s = s};
    c->nearer = g_malloc_n(n + 1, sizeof *c->nearer);
    rt_hops_nearer(&m->hops, s, c->nearer);
    c->sets = g_hash_table_new_full(hash_groups, equal_groups, NULL, g_free);
    c->of = g_new(struct port_set *, n + 1);
    for (uint32_t x = 0; x < n; x++) {
        if (m->in_order)
            keep_lowest(c, c->nearer[x]);
        c->of[x] = g_hash_table_lookup(c->sets, c->nearer[x]);
        if (c->of[x])
            continue;
        c->of[x] = make_set(c, c->nearer[x]);
        g_hash_table_insert(c->sets, c->of[x]->groups, c->of[x]);
    }
}

static void counters_clear(struct counters *c)
{
    g_hash_table_destroy(c->sets);
    g_free(c->of);
    g_free(c->nearer);
}

/* -- rows ----------------------------------------------------------------------------------- */

static void fill_dest(struct counters *c, uint32_t dest, uint8_t *row)
{
    const struct rt_dest *d = &c->m->plan.graph->dests[dest];
    struct port_set *set = c->of[d->sw];
    for (uint32_t k = 0; set->count > 0 && k < 1u << d->lmc; k++)
        row[d->lid + k] = take_port(c, set);
}

static void minhop_row(const struct rt_plan *plan, uint32_t s, uint8_t *row)
{
    const struct minhop *m = (const struct minhop *)plan;
    struct counters c;
    counters_init(&c, m, s);
    uint32_t divider = m->divider[s];
    for (uint32_t first = 0; first < MIN(divider, m->host_count); first++)
        for (uint32_t i = first; i < m->host_count; i += divider)
            fill_dest(&c, m->dests[i], row);
    for (uint32_t i = m->host_count; i < m->dest_count; i++)
        fill_dest(&c, m->dests[i], row);
    rt_fill_own(plan->graph, s, row);
    counters_clear(&c);
}

/* An entry depends on those counted before it, so the whole row is made, once. */
static unsigned minhop_next_hop(const struct rt_plan *plan, uint32_t s, uint32_t dest,
                                unsigned path)
{
    const struct minhop *m = (const struct minhop *)plan;
    return rt_cached_row(plan, m->rows, s)[plan->graph->dests[dest].lid + path];
}

static bool minhop_joins(const void *plan, uint32_t a, uint32_t b)
{
    return rt_hops_between(&((const struct minhop *)plan)->hops, a, b) != RT_FAR;
}

static size_t minhop_unreachable(const struct rt_plan *plan, uint32_t (*pairs)[2], size_t capacity)
{
    return rt_list_apart(plan->graph, minhop_joins, plan, pairs, capacity);
}

static void minhop_destroy(struct rt_plan *plan)
{
    struct minhop *m = (struct minhop *)plan;
    rt_row_cache_free(plan, m->rows);
    rt_hops_clear(&m->hops);
    g_free(m->divider);
    g_free(m->dests);
    g_free(m);
}

static const struct rt_plan_ops minhop_ops = {.destroy = minhop_destroy,
                                              .row = minhop_row,
                                              .next_hop = minhop_next_hop,
                                              .unreachable = minhop_unreachable};

/* -- preparation ---------------------------------------------------------------------------- */

static void list_dests(struct minhop *m)
{
    const struct rt_graph *g = m->plan.graph;
    m->dests = g_new(uint32_t, g->dest_count + 1);
    for (int others = 0; others < 2; others++) {
        for (uint32_t d = 0; d < g->dest_count; d++) {
            bool host = g->dests[d].kind == RT_DEST_HOST || g->dests[d].kind == RT_DEST_ROUTER;
            if (g->dests[d].lid && host != others)
                m->dests[m->dest_count++] = d;
        }
        m->host_count = others ? m->host_count : m->dest_count;
    }
}

/* P(s) of updown.h, by the tree order. */
static uint32_t *make_dividers(struct rt_graph *g, const struct rt_options *options)
{
    struct rt_orders orders;
    rt_orders_make(g, options, false, &orders);
    uint32_t *divider = rt_dividers_make(g, &orders.tree);
    rt_orders_clear(&orders);
    return divider;
}

/* What dor chooses at s for each destination switch: the slot, RT_NO_PATH = none. */
static void choose_in_order(const struct minhop *m, uint32_t s, uint8_t *slots)
{
    struct counters c = {.m = m, .s = s};
    uint32_t n = m->plan.graph->switch_count;
    c.nearer = g_malloc_n(n + 1, sizeof *c.nearer);
    rt_hops_nearer(&m->hops, s, c.nearer);
    for (uint32_t x = 0; x < n; x++) {
        keep_lowest(&c, c.nearer[x]);
        slots[x] = RT_NO_PATH;
        for (unsigned word = 0; word < 4; word++)
            if (c.nearer[x][word])
                slots[x] = word * 64 + __builtin_ctzll(c.nearer[x][word]);
    }
    g_free(c.nearer);
}

/* Whether the paths of dor, all of them, have no credit loop. */
static bool is_acyclic(const struct minhop *m)
{
    const struct rt_graph *g = m->plan.graph;
    size_t n = g->switch_count;
    g_autofree uint32_t *reverse = rt_reverse_channels(g);
    g_autofree uint8_t *slots = g_malloc(n * n + 1);
    struct rt_acyclic a;
    bool good = true;
    rt_acyclic_init(&a, g, reverse);
    for (uint32_t s = 0; s < n; s++)
        choose_in_order(m, s, slots + s * n);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t x = 0; good && x < n; x++) {
            if (slots[s * n + x] == RT_NO_PATH)
                continue;
            uint32_t channel = g->switches[s].first_group + slots[s * n + x];
            uint8_t beyond = slots[g->groups[channel].peer * n + x];
            good = beyond == RT_NO_PATH || rt_acyclic_add(&a, channel, beyond);
        }
    }
    rt_acyclic_clear(&a);
    return good;
}

static int prepare(struct rt_graph *graph, const struct rt_options *options, bool in_order,
                   struct rt_plan **plan, char *error, size_t error_size)
{
    struct minhop *m = g_new0(struct minhop, 1);
    int rc = rt_hops_make(graph, &m->hops, error, error_size);
    if (rc) {
        g_free(m);
        return rc;
    }
    m->plan.ops = &minhop_ops;
    m->plan.graph = rt_graph_ref(graph);
    m->in_order = in_order;
    m->divider = make_dividers(graph, options);
    m->rows = rt_row_cache_new(graph);
    list_dests(m);
    m->plan.properties = (struct rt_properties){.rows_independent = true};
    m->plan.properties.vls = in_order && is_acyclic(m);
    *plan = &m->plan;
    return 0;
}

static int minhop_prepare(struct rt_graph *graph, const struct rt_options *options,
                          struct rt_plan **plan, char *error, size_t error_size)
{
    return prepare(graph, options, false, plan, error, error_size);
}

static int dor_prepare(struct rt_graph *graph, const struct rt_options *options,
                       struct rt_plan **plan, char *error, size_t error_size)
{
    return prepare(graph, options, true, plan, error, error_size);
}

const struct rt_engine rt_minhop = {
    .name = "minhop",
    .summary = "least hops, any connected fabric; may have credit loops",
    .prepare = minhop_prepare,
};

const struct rt_engine rt_dor = {
    .name = "dor",
    .summary = "dimension order by port numbers; one VL on meshes and hypercubes, not on tori",
    .prepare = dor_prepare,
};
