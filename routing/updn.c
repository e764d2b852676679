/* SPDX-License-Identifier: BSD-2-Clause */
/* updn: up*-down* from given or found roots for any connected graph, least hops, then the least
 * loaded port. The counters are local to a switch, so rows stay independent; destinations are
 * counted in the order (switch GUID, port), hosts first, present or not. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "routing/engine.h"

struct updn {
    struct rt_plan base;
    uint8_t **rows; /* filled on the first next_hop of a switch; atomic pointers */
};

struct counters {
    const struct rt_graph *g;
    uint32_t s;
    uint32_t load[256]; /* by port */
};

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

static void fill_switch(struct counters *c, uint32_t x, const uint8_t *groups, unsigned count,
                        bool hosts, uint8_t *row)
{
    const struct rt_switch *to = &c->g->switches[x];
    for (uint32_t i = 0; i < to->dest_count; i++) {
        const struct rt_dest *d = &c->g->dests[to->first_dest + i];
        if (d->lid == 0 || hosts != (d->kind == RT_DEST_HOST || d->kind == RT_DEST_ROUTER))
            continue;
        for (uint32_t k = 0; k < 1u << d->lmc; k++)
            row[d->lid + k] = take_port(c, groups, count);
    }
}

static void updn_row(const struct rt_plan *p, uint32_t s, uint8_t *row)
{
    const struct rt_updown *u = &p->updown;
    struct counters c = {.g = u->graph, .s = s};
    struct rt_row_groups r;
    rt_row_groups_init(&r, u);
    rt_row_groups_fill(&r, u, s);
    for (int hosts = 1; hosts >= 0; hosts--) {
        for (uint32_t x = 0; x < u->graph->switch_count; x++) {
            uint8_t groups[RT_MAX_GROUPS];
            if (x == s || r.count[x] == 0)
                continue;
            if (r.full[x])
                fill_switch(&c, x, r.upper, r.upper_count, hosts, row);
            else if (r.count[x] == 1)
                fill_switch(&c, x, &r.single[x], 1, hosts, row);
            else
                fill_switch(&c, x, groups, rt_updown_candidates(u, s, x, groups), hosts, row);
        }
    }
    rt_fill_own(u->graph, s, row);
    rt_row_groups_clear(&r);
}

/* An entry depends on all that were counted before it, so the row is made once and kept. */
static unsigned updn_next_hop(const struct rt_plan *p, uint32_t s, uint32_t dest, unsigned path)
{
    const struct updn *plan = (const struct updn *)p;
    const struct rt_graph *g = p->updown.graph;
    uint8_t *row = g_atomic_pointer_get(&plan->rows[s]);
    if (!row) {
        row = g_malloc(g->max_lid + 1u);
        memset(row, RT_NO_PATH, g->max_lid + 1u);
        updn_row(p, s, row);
        if (!g_atomic_pointer_compare_and_exchange(&plan->rows[s], NULL, row)) {
            g_free(row);
            row = g_atomic_pointer_get(&plan->rows[s]);
        }
    }
    return row[g->dests[dest].lid + path];
}

static void updn_destroy(struct rt_plan *p)
{
    struct updn *plan = (struct updn *)p;
    for (uint32_t s = 0; s < p->updown.graph->switch_count; s++)
        g_free(plan->rows[s]);
    g_free(plan->rows);
    rt_updown_clear(&p->updown);
    g_free(plan);
}

static const struct rt_plan_ops updn_ops = {updn_destroy, updn_row, updn_next_hop};

static int updn_prepare(struct rt_graph *graph, const struct rt_options *options,
                        struct rt_plan **plan, char *error, size_t error_size)
{
    struct updn *p = g_new0(struct updn, 1);
    p->base.ops = &updn_ops;
    p->base.properties = (struct rt_properties){
        .vls = 1, .rows_independent = true, .columns_independent = false, .mix_safe = false};
    int rc = rt_updown_make(graph, options, true, &p->base.updown, error, error_size);
    if (rc) {
        g_free(p);
        return rc;
    }
    p->rows = g_new0(uint8_t *, graph->switch_count + 1);
    *plan = &p->base;
    return 0;
}

const struct rt_engine rt_updn = {
    .name = "updn",
    .summary = "up*-down* from given or found roots, any connected fabric; one VL",
    .prepare = updn_prepare,
};
