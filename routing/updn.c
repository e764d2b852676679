/* SPDX-License-Identifier: BSD-2-Clause */
/* updn: up*-down* from given or found roots for any connected graph, least hops, then the least
 * loaded port. dnup: the same with ranks that are distances from the leaves, as ftree has them. The
 * counters are local to a switch, so rows stay independent.
 *
 * Plain round robin has a flaw: leaves send each 9th host, say, to one spine, and a spine that
 * counts all hosts with 18 upper ports then uses two of them. So a switch counts hosts in an order
 * in which those that come to it together stand together: by index mod P(s), then by index, where
 * P(s) is the divider of updown.h. And it counts a host that it does not send upwards as if it did,
 * so that switches side by side stay in step. Hosts come first, absent ones too, then all others.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "routing/engine.h"

struct updn {
    struct rt_updown_plan base;
    uint8_t **rows; /* filled on the first next_hop of a switch; atomic pointers */
    uint32_t *divider;
    uint32_t *hosts, *others; /* destinations with a LID, by (switch GUID, port) */
    uint32_t host_count, other_count;
};

struct counters {
    const struct rt_graph *g;
    uint32_t s;
    uint32_t load[256]; /* by port */
    /* For the whole set of upper ports, in its order: those before the cursor have a load above
     * the level, the others at least the level. */
    uint8_t upper[RT_MAX_GROUPS];
    unsigned upper_count, cursor;
    uint32_t level;
};

static void find_upper_ports(struct counters *c, const struct rt_row_groups *r)
{
    for (unsigned i = 0; i < r->upper_count; i++) {
        const struct rt_group *group = rt_group_of(c->g, c->s, r->upper[i]);
        for (uint32_t l = 0; l < group->link_count; l++)
            c->upper[c->upper_count++] = c->g->links[group->first_link + l].port;
    }
}

/* What take_port would choose among all upper ports, without a look at each of them. */
static uint8_t take_upper_port(struct counters *c)
{
    while (c->load[c->upper[c->cursor]] != c->level) {
        if (++c->cursor < c->upper_count)
            continue;
        c->cursor = 0;
        c->level++;
    }
    uint8_t port = c->upper[c->cursor];
    c->load[port]++;
    return port;
}

/* The least loaded port of the groups; among equals the first by (neighbour GUID, port). */
static uint8_t take_port(struct counters *c, const uint8_t *groups, unsigned count)
{
    uint8_t best = RT_NO_PATH;
    uint32_t best_load = UINT32_MAX;
    for (unsigned i = 0; i < count; i++) {
        const struct rt_group *group = rt_group_of(c->g, c->s, groups[i]);
        const struct rt_link *link = &c->g->links[group->first_link];
        for (uint32_t l = 0; l < group->link_count; l++, link++) {
            if (c->load[link->port] >= best_load)
                continue;
            best = link->port;
            best_load = c->load[link->port];
        }
    }
    c->load[best]++;
    return best;
}

/* Destinations on the switch itself or below it still take their turn among the upper ports. */
static void fill_dest(struct counters *c, const struct rt_row_groups *r, uint32_t dest,
                      uint8_t *row)
{
    const struct rt_dest *d = &c->g->dests[dest];
    const uint8_t *from = &r->single[d->sw];
    bool full = r->full[d->sw] && d->sw != c->s;
    unsigned count = d->sw == c->s ? 0 : r->count[d->sw];
    if (count > 1 && !full)
        from = r->lists + r->first[d->sw];
    bool up = count > 0 && r->rule[d->sw] == RT_RULE_TREE_UP;
    for (uint32_t k = 0; k < 1u << d->lmc; k++) {
        if (count)
            row[d->lid + k] = full ? take_upper_port(c) : take_port(c, from, count);
        if (!up && !full && c->upper_count)
            take_upper_port(c);
    }
}

static void updn_row(const struct rt_plan *plan, uint32_t s, uint8_t *row)
{
    const struct updn *p = (const struct updn *)plan;
    struct counters c = {.g = plan->graph, .s = s};
    struct rt_row_groups r;
    rt_row_groups_init(&r, &p->base.updown);
    rt_row_groups_fill(&r, &p->base.updown, s);
    find_upper_ports(&c, &r);
    uint32_t divider = p->divider[s];
    for (uint32_t first = 0; first < MIN(divider, p->host_count); first++)
        for (uint32_t i = first; i < p->host_count; i += divider)
            fill_dest(&c, &r, p->hosts[i], row);
    for (uint32_t i = 0; i < p->other_count; i++)
        fill_dest(&c, &r, p->others[i], row);
    rt_fill_own(c.g, s, row);
    rt_row_groups_clear(&r);
}

static void list_dests(struct updn *p)
{
    const struct rt_graph *g = p->base.plan.graph;
    p->hosts = g_new(uint32_t, g->dest_count + 1);
    p->others = g_new(uint32_t, g->dest_count + 1);
    for (uint32_t d = 0; d < g->dest_count; d++) {
        bool host = g->dests[d].kind == RT_DEST_HOST || g->dests[d].kind == RT_DEST_ROUTER;
        if (g->dests[d].lid && host)
            p->hosts[p->host_count++] = d;
        else if (g->dests[d].lid)
            p->others[p->other_count++] = d;
    }
}

/* An entry depends on all that were counted before it, so the row is made once and kept. */
static unsigned updn_next_hop(const struct rt_plan *p, uint32_t s, uint32_t dest, unsigned path)
{
    const struct updn *plan = (const struct updn *)p;
    return rt_cached_row(p, plan->rows, s)[p->graph->dests[dest].lid + path];
}

static void updn_destroy(struct rt_plan *p)
{
    struct updn *plan = (struct updn *)p;
    rt_row_cache_free(p, plan->rows);
    g_free(plan->divider);
    g_free(plan->hosts);
    g_free(plan->others);
    rt_updown_clear(&plan->base.updown);
    g_free(plan);
}

static bool updn_same_switch(const struct rt_plan *a, const struct rt_plan *b, uint32_t s)
{
    return ((const struct updn *)a)->divider[s] == ((const struct updn *)b)->divider[s];
}

static bool updn_same_dest(const struct rt_plan *a, uint32_t dest_a, const struct rt_plan *b,
                           uint32_t dest_b)
{
    return true;
}

static const struct rt_plan_ops updn_ops = {.destroy = updn_destroy,
                                            .row = updn_row,
                                            .next_hop = updn_next_hop,
                                            .unreachable = rt_updown_unreachable,
                                            .same_switch = updn_same_switch,
                                            .same_dest = updn_same_dest,
                                            .same_way = updn_same_dest};

static int prepare(struct rt_graph *graph, const struct rt_options *options, bool by_distance,
                   struct rt_plan **plan, char *error, size_t error_size)
{
    struct updn *p = g_new0(struct updn, 1);
    p->base.plan.ops = &updn_ops;
    p->base.plan.properties = (struct rt_properties){
        .vls = 1, .rows_independent = true, .columns_independent = false, .mix_safe = false};
    int rc = rt_updown_make(graph, options, by_distance, &p->base.updown, error, error_size);
    if (rc) {
        g_free(p);
        return rc;
    }
    p->base.plan.graph = rt_graph_ref(graph);
    p->divider = rt_dividers_make(graph, &p->base.updown.orders.tree);
    list_dests(p);
    p->rows = rt_row_cache_new(graph);
    *plan = &p->base.plan;
    return 0;
}

static int updn_prepare(struct rt_graph *graph, const struct rt_options *options,
                        struct rt_plan **plan, char *error, size_t error_size)
{
    return prepare(graph, options, true, plan, error, error_size);
}

static int dnup_prepare(struct rt_graph *graph, const struct rt_options *options,
                        struct rt_plan **plan, char *error, size_t error_size)
{
    return prepare(graph, options, false, plan, error, error_size);
}

const struct rt_engine rt_updn = {
    .name = "updn",
    .summary = "up*-down* from given or found roots, any connected fabric; one VL",
    .prepare = updn_prepare,
};

const struct rt_engine rt_dnup = {
    .name = "dnup",
    .summary = "as updn, with ranks counted from the leaves: for fabrics of unequal depth; one VL",
    .prepare = dnup_prepare,
};
