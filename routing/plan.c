/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry of engines, and what is the same in all plans. */
#include "routing/plan.h"

#include <glib.h>
#include <string.h>

#include "routing/engine.h"

static const struct rt_engine *const engines[] = {&rt_ftree, &rt_updn,       &rt_dnup, &rt_minhop,
                                                  &rt_dor,   &rt_nue,        &rt_sssp, &rt_dfsssp,
                                                  &rt_lash,  &rt_torus_2qos, &rt_file};

const struct rt_engine *rt_engine_find(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(engines); i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    return NULL;
}

const char *const *rt_engine_names(void)
{
    static const char *const names[] = {"ftree", "updn",   "dnup", "minhop",     "dor",  "nue",
                                        "sssp",  "dfsssp", "lash", "torus-2qos", "file", NULL};
    _Static_assert(G_N_ELEMENTS(names) == G_N_ELEMENTS(engines) + 1, "a name for each engine");
    return names;
}

void rt_parallel(const struct rt_options *options, unsigned count,
                 void (*job)(void *context, unsigned index), void *context)
{
    if (options && options->parallel) {
        options->parallel(options->pool, count, job, context);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        job(context, i);
}

void rt_plan_destroy(struct rt_plan *p)
{
    if (!p)
        return;
    struct rt_graph *graph = p->graph;
    p->ops->destroy(p);
    rt_graph_unref(graph);
}

const struct rt_graph *rt_plan_graph(const struct rt_plan *p)
{
    return p->graph;
}

struct rt_properties rt_plan_properties(const struct rt_plan *p)
{
    return p->properties;
}

bool rt_is_source(const struct rt_graph *g, uint32_t sw)
{
    for (uint32_t i = 0; i < g->switches[sw].dest_count; i++) {
        const struct rt_dest *d = &g->dests[g->switches[sw].first_dest + i];
        if (d->present && d->lid)
            return true;
    }
    return false;
}

uint8_t **rt_row_cache_new(const struct rt_graph *g)
{
    return g_new0(uint8_t *, g->switch_count + 1);
}

void rt_row_cache_free(const struct rt_plan *p, uint8_t **rows)
{
    for (uint32_t s = 0; s < p->graph->switch_count; s++)
        g_free(rows[s]);
    g_free(rows);
}

const uint8_t *rt_cached_row(const struct rt_plan *p, uint8_t **rows, uint32_t sw)
{
    uint8_t *row = g_atomic_pointer_get(&rows[sw]);
    if (row)
        return row;
    row = g_malloc(p->graph->max_lid + 1u);
    memset(row, RT_NO_PATH, p->graph->max_lid + 1u);
    p->ops->row(p, sw, row);
    if (!g_atomic_pointer_compare_and_exchange(&rows[sw], NULL, row)) {
        g_free(row);
        row = g_atomic_pointer_get(&rows[sw]);
    }
    return row;
}

void rt_fill_own(const struct rt_graph *g, uint32_t sw, uint8_t *row)
{
    for (uint32_t i = 0; i < g->switches[sw].dest_count; i++) {
        const struct rt_dest *d = &g->dests[g->switches[sw].first_dest + i];
        if (d->lid)
            memset(row + d->lid, d->port, (size_t)1 << d->lmc);
    }
}

void rt_plan_row(const struct rt_plan *p, uint32_t sw, uint8_t *row, size_t size)
{
    size_t wanted = (size_t)p->graph->max_lid + 1;
    g_autofree uint8_t *own = size < wanted ? g_malloc(wanted) : NULL;
    uint8_t *target = own ? own : row;
    memset(target, RT_NO_PATH, MAX(size, wanted));
    p->ops->row(p, sw, target);
    if (own && size)
        memcpy(row, own, size);
}

unsigned rt_plan_next_hop(const struct rt_plan *p, uint32_t sw, uint16_t dlid)
{
    const struct rt_graph *g = p->graph;
    uint32_t dest = rt_find_dest_by_lid(g, dlid);
    if (dest == RT_NONE)
        return RT_NO_PATH;
    const struct rt_dest *d = &g->dests[dest];
    return d->sw == sw ? d->port : p->ops->next_hop(p, sw, dest, dlid - d->lid);
}

unsigned rt_plan_sl(const struct rt_plan *p, uint16_t slid, uint16_t dlid)
{
    const struct rt_graph *g = p->graph;
    uint32_t source = rt_find_dest_by_lid(g, slid), dest = rt_find_dest_by_lid(g, dlid);
    if (source == RT_NONE || dest == RT_NONE)
        return 0;
    return rt_plan_sl_from(p, g->dests[source].sw, dest, dlid - g->dests[dest].lid);
}

unsigned rt_plan_sl_from(const struct rt_plan *p, uint32_t source_switch, uint32_t dest,
                         unsigned path)
{
    return p->ops->sl ? p->ops->sl(p, source_switch, dest, path) : 0;
}

unsigned rt_plan_vl(const struct rt_plan *p, uint32_t sw, unsigned in_port, unsigned out_port,
                    unsigned sl)
{
    return p->ops->vl ? p->ops->vl(p, sw, in_port, out_port, sl) : sl;
}

bool rt_plan_changes_lanes(const struct rt_plan *p)
{
    return p->ops->vl != NULL;
}

const uint32_t *rt_plan_numbers(const struct rt_plan *p)
{
    return p->numbers;
}

size_t rt_plan_unreachable(const struct rt_plan *p, uint32_t (*pairs)[2], size_t capacity)
{
    return p->ops->unreachable ? p->ops->unreachable(p, pairs, capacity) : 0;
}

size_t rt_list_apart(const struct rt_graph *g,
                     bool (*joins)(const void *context, uint32_t a, uint32_t b),
                     const void *context, uint32_t (*pairs)[2], size_t capacity)
{
    size_t count = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        for (uint32_t d = 0; rt_is_source(g, s) && d < g->dest_count; d++) {
            const struct rt_dest *dest = &g->dests[d];
            if (!dest->present || !dest->lid || joins(context, s, dest->sw))
                continue;
            if (count < capacity) {
                pairs[count][0] = s;
                pairs[count][1] = d;
            }
            count++;
        }
    }
    return count;
}
