/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans that are their tables: what sssp, dfsssp, lash and nue have in common. */
#include <stdlib.h>
#include <string.h>

#include "routing/trees.h"

void rt_columns_make(const struct rt_graph *g, struct rt_columns *c)
{
    size_t count = 0;
    for (uint32_t d = 0; d < g->dest_count; d++)
        count += g->dests[d].lid ? (size_t)1 << g->dests[d].lmc : 0;
    *c = (struct rt_columns){.all = g_new(struct rt_column, count + 1),
                             .first = g_new(uint32_t, g->dest_count + 1)};
    for (uint32_t d = 0; d < g->dest_count; d++) {
        c->first[d] = g->dests[d].lid ? c->count : RT_NONE;
        for (unsigned k = 0; g->dests[d].lid && k < 1u << g->dests[d].lmc; k++)
            c->all[c->count++] = (struct rt_column){d, (uint8_t)k};
    }
}

void rt_columns_clear(struct rt_columns *c)
{
    g_free(c->all);
    g_free(c->first);
    *c = (struct rt_columns){0};
}

struct weighed {
    uint32_t sw, lids;
};

static int most_lids_first(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->lids != y->lids)
        return x->lids > y->lids ? -1 : 1;
    return x->sw < y->sw ? -1 : x->sw > y->sw;
}

bool *rt_share_switches(const struct rt_graph *g, const struct rt_options *options)
{
    if (!options || options->parts == 0)
        return NULL;
    bool *mine = g_new0(bool, g->switch_count + 1);
    g_autofree struct weighed *all = g_new0(struct weighed, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        all[s].sw = s;
    for (uint32_t d = 0; d < g->dest_count; d++)
        all[g->dests[d].sw].lids += g->dests[d].lid ? 1u << g->dests[d].lmc : 0;
    qsort(all, g->switch_count, sizeof *all, most_lids_first);
    for (uint32_t i = 0; i < g->switch_count; i++)
        mine[all[i].sw] = i % options->parts == options->part;
    return mine;
}

struct rt_table_plan *rt_table_plan_create(struct rt_graph *g)
{
    return rt_table_plan_create_share(g, NULL);
}

struct rt_table_plan *rt_table_plan_create_share(struct rt_graph *g, const bool *mine)
{
    struct rt_table_plan *p = g_new0(struct rt_table_plan, 1);
    p->plan.ops = &rt_table_plan_ops;
    p->plan.graph = rt_graph_ref(g);
    rt_columns_make(g, &p->columns);
    /* Pages that nobody writes to take no memory. */
    p->ports = g_malloc((size_t)p->columns.count * g->switch_count + 1);
    p->absent = mine ? g_new0(bool, p->columns.count + 1) : NULL;
    for (uint32_t c = 0; c < p->columns.count; c++) {
        if (mine && !mine[g->dests[p->columns.all[c].dest].sw])
            p->absent[c] = true;
        else
            memset(p->ports + (size_t)c * g->switch_count, RT_NO_PATH, g->switch_count);
    }
    return p;
}

static unsigned port_of(const struct rt_table_plan *p, uint32_t column, uint32_t s)
{
    if (p->absent && p->absent[column])
        return RT_NO_PATH;
    return p->ports[(size_t)column * p->plan.graph->switch_count + s];
}

static void table_destroy(struct rt_plan *plan)
{
    struct rt_table_plan *p = (struct rt_table_plan *)plan;
    rt_columns_clear(&p->columns);
    g_free(p->ports);
    g_free(p->absent);
    g_free(p->lanes);
    g_free(p->pair_sl);
    g_free(p);
}

static void table_row(const struct rt_plan *plan, uint32_t s, uint8_t *row)
{
    const struct rt_table_plan *p = (const struct rt_table_plan *)plan;
    const struct rt_graph *g = plan->graph;
    for (uint32_t i = 0; i < p->columns.count; i++) {
        const struct rt_column *c = &p->columns.all[i];
        row[g->dests[c->dest].lid + c->path] = (uint8_t)port_of(p, i, s);
    }
    rt_fill_own(g, s, row);
}

static unsigned table_next_hop(const struct rt_plan *plan, uint32_t s, uint32_t dest, unsigned path)
{
    const struct rt_table_plan *p = (const struct rt_table_plan *)plan;
    return port_of(p, p->columns.first[dest] + path, s);
}

static unsigned table_sl(const struct rt_plan *plan, uint32_t source, uint32_t dest, unsigned path)
{
    const struct rt_table_plan *p = (const struct rt_table_plan *)plan;
    if (p->columns.first[dest] == RT_NONE)
        return 0;
    uint32_t column = p->columns.first[dest] + path;
    if (p->pair_sl)
        return p->pair_sl[(size_t)column * plan->graph->switch_count + source];
    return p->lanes ? p->lanes[column] : 0;
}

static size_t table_unreachable(const struct rt_plan *plan, uint32_t (*pairs)[2], size_t capacity)
{
    const struct rt_table_plan *p = (const struct rt_table_plan *)plan;
    const struct rt_graph *g = plan->graph;
    size_t count = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        for (uint32_t i = 0; rt_is_source(g, s) && i < p->columns.count; i++) {
            const struct rt_column *c = &p->columns.all[i];
            const struct rt_dest *d = &g->dests[c->dest];
            if (!d->present || d->sw == s || c->path > 0 || port_of(p, i, s) != RT_NO_PATH)
                continue;
            if (count < capacity) {
                pairs[count][0] = s;
                pairs[count][1] = c->dest;
            }
            count++;
        }
    }
    return count;
}

const struct rt_plan_ops rt_table_plan_ops = {.destroy = table_destroy,
                                              .row = table_row,
                                              .next_hop = table_next_hop,
                                              .sl = table_sl,
                                              .unreachable = table_unreachable};
