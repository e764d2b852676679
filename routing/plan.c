/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry of engines, and what is the same in all plans. */
#include "routing/plan.h"

#include <glib.h>
#include <string.h>

#include "routing/engine.h"

static const struct rt_engine *const engines[] = {&rt_ftree, &rt_updn};

const struct rt_engine *rt_engine_find(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(engines); i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    return NULL;
}

const char *const *rt_engine_names(void)
{
    static const char *const names[] = {"ftree", "updn", NULL};
    return names;
}

void rt_plan_destroy(struct rt_plan *p)
{
    if (p)
        p->ops->destroy(p);
}

const struct rt_graph *rt_plan_graph(const struct rt_plan *p)
{
    return p->updown.graph;
}

struct rt_properties rt_plan_properties(const struct rt_plan *p)
{
    return p->properties;
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
    size_t wanted = (size_t)p->updown.graph->max_lid + 1;
    g_autofree uint8_t *own = size < wanted ? g_malloc(wanted) : NULL;
    uint8_t *target = own ? own : row;
    memset(target, RT_NO_PATH, MAX(size, wanted));
    p->ops->row(p, sw, target);
    if (own && size)
        memcpy(row, own, size);
}

unsigned rt_plan_next_hop(const struct rt_plan *p, uint32_t sw, uint16_t dlid)
{
    const struct rt_graph *g = p->updown.graph;
    uint32_t dest = rt_find_dest_by_lid(g, dlid);
    if (dest == RT_NONE)
        return RT_NO_PATH;
    const struct rt_dest *d = &g->dests[dest];
    return d->sw == sw ? d->port : p->ops->next_hop(p, sw, dest, dlid - d->lid);
}

unsigned rt_plan_sl(const struct rt_plan *p, uint16_t slid, uint16_t dlid)
{
    return 0;
}

const uint32_t *rt_plan_numbers(const struct rt_plan *p)
{
    return p->numbers;
}

static bool is_wanted(const struct rt_dest *d)
{
    return d->present && d->lid;
}

static bool is_source(const struct rt_graph *g, uint32_t sw)
{
    for (uint32_t i = 0; i < g->switches[sw].dest_count; i++)
        if (is_wanted(&g->dests[g->switches[sw].first_dest + i]))
            return true;
    return false;
}

size_t rt_plan_unreachable(const struct rt_plan *p, uint32_t (*pairs)[2], size_t capacity)
{
    const struct rt_updown *u = &p->updown;
    size_t stored = 0;
    for (uint32_t s = 0; s < u->graph->switch_count && stored < MIN(capacity, u->unreachable);
         s++) {
        for (uint32_t d = 0; is_source(u->graph, s) && d < u->graph->dest_count; d++) {
            const struct rt_dest *dest = &u->graph->dests[d];
            if (stored == capacity)
                break;
            if (dest->sw == s || !is_wanted(dest) || rt_updown_rule(u, s, dest->sw) != RT_RULE_NONE)
                continue;
            pairs[stored][0] = s;
            pairs[stored++][1] = d;
        }
    }
    return u->unreachable;
}
