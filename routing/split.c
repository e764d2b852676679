/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of a routing. */
#include "routing/split.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "routing/partition.h"
#include "routing/trees.h"

/* Engines that make trees one after the other, each by the loads of those before. */
static const struct by_columns {
    const struct rt_engine *engine;
    bool layers, each_lid; /* as in rt_layers_make */
} by_columns[] = {{&rt_sssp, false, true}, {&rt_dfsssp, true, true}, {&rt_lash, true, false}};

static const struct by_columns *find_by_columns(const struct rt_engine *e)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(by_columns); i++)
        if (by_columns[i].engine == e)
            return &by_columns[i];
    return NULL;
}

enum rt_split_way rt_split_way(const struct rt_engine *e, const struct rt_plan *whole)
{
    if (whole->properties.rows_independent)
        return RT_SPLIT_ROWS;
    if (whole->properties.columns_independent && whole->ops == &rt_table_plan_ops)
        return RT_SPLIT_LANES;
    return find_by_columns(e) ? RT_SPLIT_COLUMNS : RT_SPLIT_NONE;
}

const char *rt_split_way_name(enum rt_split_way way)
{
    static const char *const names[] = {"none", "rows", "lanes", "columns"};
    return names[way];
}

void rt_split_init(struct rt_split *s, const struct rt_engine *e, const struct rt_options *o,
                   const struct rt_plan *whole, unsigned parts)
{
    struct rt_graph *g = whole->graph;
    *s = (struct rt_split){.graph = rt_graph_ref(g), .engine = e, .parts = parts};
    if (o)
        s->options = *o;
    s->way = rt_split_way(e, whole);
    s->has_sls = s->way != RT_SPLIT_COLUMNS && whole->ops->sl != NULL && whole->properties.vls != 1;
    if (s->way == RT_SPLIT_ROWS) {
        s->part_of = g_new(uint32_t, g->switch_count + 1);
        rt_partition(g, NULL, parts, s->part_of);
    }
}

void rt_split_clear(struct rt_split *s)
{
    g_free(s->part_of);
    rt_graph_unref(s->graph);
    *s = (struct rt_split){0};
}

static bool has_rows(const struct rt_split *s, unsigned part)
{
    for (uint32_t i = 0; i < s->graph->switch_count; i++)
        if (s->part_of[i] == part)
            return true;
    return false;
}

int rt_split_prepare(const struct rt_split *s, unsigned part, struct rt_plan **plan, char *error,
                     size_t error_size)
{
    struct rt_options o = s->options;
    *plan = NULL;
    if (s->way == RT_SPLIT_NONE) {
        snprintf(error, error_size, "%s cannot be split: each of its routes depends on others",
                 s->engine->name);
        return ENOTSUP;
    }
    if (s->way == RT_SPLIT_ROWS && !has_rows(s, part))
        return 0;
    if (s->way != RT_SPLIT_ROWS) {
        o.part = part;
        o.parts = s->parts;
    }
    return s->engine->prepare(s->graph, &o, plan, error, error_size);
}

/* -- writing -------------------------------------------------------------------------------- */

/* SLs from one switch to all LIDs. */
static void write_sls(const struct rt_plan *p, uint32_t sw, uint8_t *sls)
{
    const struct rt_graph *g = p->graph;
    for (uint32_t d = 0; d < g->dest_count; d++)
        for (unsigned k = 0; g->dests[d].lid && k < 1u << g->dests[d].lmc; k++)
            sls[g->dests[d].lid + k] = (uint8_t)rt_plan_sl_from(p, sw, d, k);
}

static uint64_t write_rows(const struct rt_split *s, unsigned part, const struct rt_plan *p,
                           struct rt_union *u)
{
    uint64_t entries = 0;
    for (uint32_t sw = 0; sw < s->graph->switch_count; sw++) {
        if (s->part_of[sw] != part)
            continue;
        rt_plan_row(p, sw, u->rows + sw * u->row_size, u->row_size);
        if (u->sls)
            write_sls(p, sw, u->sls + sw * u->row_size);
        entries += u->row_size;
    }
    return entries;
}

/* The LIDs of this worker's columns: uint16_t. */
static GArray *list_lids(const struct rt_split *s, unsigned part, const struct rt_table_plan *p)
{
    const struct rt_graph *g = s->graph;
    GArray *lids = g_array_new(FALSE, FALSE, sizeof(uint16_t));
    for (uint32_t c = 0; c < p->columns.count; c++) {
        if (p->absent && p->absent[c])
            continue;
        uint16_t lid = g->dests[p->columns.all[c].dest].lid + p->columns.all[c].path;
        g_array_append_val(lids, lid);
    }
    return lids;
}

/* Lanes and columns are shares of struct rt_table_plan: entries of a column stand side by side, so
 * they are taken column by column. */
static uint64_t write_columns(const struct rt_split *s, unsigned part, const struct rt_plan *plan,
                              struct rt_union *u)
{
    const struct rt_table_plan *p = (const struct rt_table_plan *)plan;
    const struct rt_graph *g = s->graph;
    g_autofree uint8_t *row = g_malloc(u->row_size);
    GArray *lids = list_lids(s, part, p);
    for (uint32_t sw = 0; sw < g->switch_count; sw++) {
        uint8_t *to = u->rows + sw * u->row_size;
        rt_plan_row(plan, sw, row, u->row_size);
        for (guint i = 0; i < lids->len; i++) {
            uint16_t lid = g_array_index(lids, uint16_t, i);
            to[lid] = row[lid];
        }
    }
    for (uint32_t c = 0; u->sls && c < p->columns.count; c++) {
        const struct rt_column *column = &p->columns.all[c];
        for (uint32_t sw = 0; sw < g->switch_count && !(p->absent && p->absent[c]); sw++)
            u->sls[sw * u->row_size + g->dests[column->dest].lid + column->path] =
                (uint8_t)rt_plan_sl_from(plan, sw, column->dest, column->path);
    }
    uint64_t entries = (uint64_t)lids->len * g->switch_count;
    g_array_free(lids, TRUE);
    return entries;
}

uint64_t rt_split_write(const struct rt_split *s, unsigned part, const struct rt_plan *plan,
                        struct rt_union *u)
{
    if (!plan)
        return 0;
    return (s->way == RT_SPLIT_ROWS ? write_rows : write_columns)(s, part, plan, u);
}

/* -- afterwards ----------------------------------------------------------------------------- */

int rt_split_finish(const struct rt_split *s, const struct rt_union *u, struct rt_plan **plan,
                    char *error, size_t error_size)
{
    const struct by_columns *how = find_by_columns(s->engine);
    struct rt_table_plan *p = rt_table_plan_create(s->graph);
    uint32_t n = s->graph->switch_count;
    for (uint32_t c = 0; c < p->columns.count; c++) {
        const struct rt_column *column = &p->columns.all[c];
        const uint8_t *entry = u->rows + s->graph->dests[column->dest].lid + column->path;
        for (uint32_t sw = 0; sw < n; sw++)
            p->ports[(size_t)c * n + sw] = entry[sw * u->row_size];
    }
    *plan = &p->plan;
    if (!how->layers || rt_layers_make(p, s->options.max_vls, how->each_lid))
        return 0;
    snprintf(error, error_size, "the shares of %s together need more than %u virtual lanes",
             s->engine->name, MAX(s->options.max_vls, 1));
    rt_plan_destroy(&p->plan);
    *plan = NULL;
    return ENOTSUP;
}
