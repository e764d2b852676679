/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees by least hops and least load: a search outwards from the destination (Dijkstra), as in
 * Hoefler, Schneider and Lumsdaine, "Optimized routing for large-scale InfiniBand networks" (2009).
 */
#include "routing/trees.h"

#include <string.h>

#define HOP_COST (UINT64_C(1) << 40)

void rt_trees_init(struct rt_trees *t, const struct rt_graph *g)
{
    size_t n = (size_t)g->switch_count + 1, channels = (size_t)g->group_count + 1;
    *t = (struct rt_trees){.g = g, .reverse = rt_reverse_channels(g)};
    t->sources = g_new0(uint32_t, n);
    t->load = g_new0(uint64_t, channels);
    t->turn = g_new0(uint32_t, channels);
    t->toward = g_new(uint32_t, n);
    t->cost = g_new(uint64_t, n);
    t->order = g_new(uint32_t, n);
    t->flow = g_new(uint64_t, n);
    for (uint32_t d = 0; d < g->dest_count; d++) {
        const struct rt_dest *dest = &g->dests[d];
        t->sources[dest->sw] +=
            dest->lid && (dest->kind == RT_DEST_HOST || dest->kind == RT_DEST_ROUTER);
    }
}

void rt_trees_clear(struct rt_trees *t)
{
    void *all[] = {t->reverse, t->sources, t->load, t->turn, t->toward,
                   t->cost,    t->order,   t->flow, t->heap};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
    memset(t, 0, sizeof *t);
}

/* -- a binary heap, the least first; among equal costs by switch and channel -- */

static bool is_before(const struct rt_candidate *a, const struct rt_candidate *b)
{
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->sw != b->sw ? a->sw < b->sw : a->channel < b->channel;
}

static void push(struct rt_trees *t, struct rt_candidate new)
{
    if (t->heap_size == t->heap_capacity) {
        t->heap_capacity = MAX(64, 2 * t->heap_capacity);
        t->heap = g_renew(struct rt_candidate, t->heap, t->heap_capacity);
    }
    size_t i = t->heap_size++;
    for (; i > 0 && is_before(&new, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = new;
}

static struct rt_candidate pop(struct rt_trees *t)
{
    struct rt_candidate first = t->heap[0], last = t->heap[--t->heap_size];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < t->heap_size) {
        if (child + 1 < t->heap_size && is_before(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!is_before(&t->heap[child], &last))
            break;
        t->heap[i] = t->heap[child];
        i = child;
    }
    t->heap[i] = last;
    return first;
}

/* -- trees -- */

void rt_trees_offer(struct rt_trees *t, uint32_t sw)
{
    const struct rt_graph *g = t->g;
    for (uint32_t i = 0; i < g->switches[sw].group_count; i++) {
        uint32_t channel = g->switches[sw].first_group + i, back = t->reverse[channel];
        uint32_t next = g->groups[channel].peer;
        uint64_t load = t->load[back] / g->groups[back].link_count;
        if (t->cost[next] == UINT64_MAX)
            push(t, (struct rt_candidate){t->cost[sw] + HOP_COST + load, next, back});
    }
}

void rt_trees_settle(struct rt_trees *t, uint32_t sw, uint32_t channel)
{
    t->toward[sw] = channel;
    t->cost[sw] = 0;
    if (channel != RT_NONE) {
        const struct rt_group *group = &t->g->groups[channel];
        t->cost[sw] = t->cost[group->peer] + HOP_COST + t->load[channel] / group->link_count;
    }
    t->order[t->settled++] = sw;
    rt_trees_offer(t, sw);
}

void rt_trees_start(struct rt_trees *t, uint32_t x)
{
    memset(t->toward, 0xff, t->g->switch_count * sizeof *t->toward);
    memset(t->cost, 0xff, t->g->switch_count * sizeof *t->cost);
    t->settled = 0;
    t->heap_size = 0;
    rt_trees_settle(t, x, RT_NONE);
}

void rt_trees_grow(struct rt_trees *t, struct rt_acyclic *a)
{
    while (t->heap_size > 0) {
        struct rt_candidate c = pop(t);
        if (t->cost[c.sw] != UINT64_MAX)
            continue;
        uint32_t next = t->g->groups[c.channel].peer, beyond = t->toward[next];
        if (a && beyond != RT_NONE && !rt_acyclic_add(a, c.channel, rt_slot(t->g, next, beyond)))
            continue;
        rt_trees_settle(t, c.sw, c.channel);
    }
}

void rt_trees_write(struct rt_trees *t, struct rt_table_plan *p, uint32_t column)
{
    const struct rt_graph *g = t->g;
    uint8_t *ports = p->ports + (size_t)column * g->switch_count;
    for (uint32_t i = 1; i < t->settled; i++) {
        uint32_t s = t->order[i], channel = t->toward[s];
        const struct rt_group *group = &g->groups[channel];
        ports[s] = g->links[group->first_link + t->turn[channel]++ % group->link_count].port;
    }
    ports[t->order[0]] = g->dests[p->columns.all[column].dest].port;
}

/* Those reached last come first here, so that each switch's flow is whole when it is passed on. (Of
 * a switch that nue moved to a later one the flow is counted as far as that one only.) */
void rt_trees_count(struct rt_trees *t)
{
    memset(t->flow, 0, t->g->switch_count * sizeof *t->flow);
    for (uint32_t i = t->settled; i-- > 1;) {
        uint32_t s = t->order[i], channel = t->toward[s];
        t->flow[s] += t->sources[s];
        t->load[channel] += t->flow[s];
        t->flow[t->g->groups[channel].peer] += t->flow[s];
    }
}

/* -- trees that are written already -- */

#define PORTS 256u

uint32_t *rt_port_channels(const struct rt_graph *g)
{
    size_t size = (size_t)g->switch_count * PORTS;
    uint32_t *channels = g_new(uint32_t, size + 1);
    memset(channels, 0xff, size * sizeof *channels);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_switch *sw = &g->switches[s];
        for (uint32_t c = sw->first_group; c < sw->first_group + sw->group_count; c++)
            for (uint32_t i = 0; i < g->groups[c].link_count; i++)
                channels[s * PORTS + g->links[g->groups[c].first_link + i].port] = c;
    }
    return channels;
}

void rt_trees_follow(struct rt_trees *t, const struct rt_table_plan *p, uint32_t column,
                     const uint32_t *port_channels)
{
    const struct rt_graph *g = t->g;
    const uint8_t *ports = p->ports + (size_t)column * g->switch_count;
    uint32_t x = g->dests[p->columns.all[column].dest].sw;
    for (uint32_t s = 0; s < g->switch_count; s++)
        t->toward[s] = ports[s] == RT_NO_PATH ? RT_NONE : port_channels[s * PORTS + ports[s]];
    t->toward[x] = RT_NONE;
    t->settled = 0;
    t->order[t->settled++] = x;
    for (uint32_t i = 0; i < t->settled; i++) {
        const struct rt_switch *sw = &g->switches[t->order[i]];
        for (uint32_t c = sw->first_group; c < sw->first_group + sw->group_count; c++)
            if (t->toward[g->groups[c].peer] == t->reverse[c])
                t->order[t->settled++] = g->groups[c].peer;
    }
}
