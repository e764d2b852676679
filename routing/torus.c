/* SPDX-License-Identifier: BSD-2-Clause */
/* torus-2qos: dimension order with datelines; torus.h says how. */
#include "routing/torus.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "routing/torus_plan.h"

/* -- paths ---------------------------------------------------------------------------------- */

/* Of an intact line or ring: 0 towards higher coordinates, 1 towards lower ones. */
static unsigned shorter_way(const struct torus_plan *p, unsigned d, uint32_t from, uint32_t to)
{
    uint32_t size = p->grid.size[d];
    if (!p->grid.wraps[d])
        return to < from;
    uint32_t ahead = (to + size - from) % size;
    return 2 * ahead == size ? from % 2 : 2 * ahead > size;
}

static uint32_t steps(const struct torus_plan *p, unsigned d, unsigned way, uint32_t from,
                      uint32_t to)
{
    uint32_t size = p->grid.size[d];
    return way ? (from + size - to) % size : (to + size - from) % size;
}

/* Towards a place on the line of dimension d whose switch is missing: up to its neighbour, where
 * the path turns early into the next dimension that it has to take. */
static unsigned step_beside(const struct torus_plan *p, uint32_t cell, uint32_t dest, unsigned d)
{
    const uint16_t *from = p->at[cell], *to = p->at[dest];
    unsigned shorter = shorter_way(p, d, from[d], to[d]);
    for (unsigned i = 0; i < (p->grid.wraps[d] ? 2u : 1u); i++) {
        unsigned way = shorter ^ i, k = 2 * d + way;
        uint32_t far = steps(p, d, way, from[d], to[d]) - 1;
        if (far > 0 && p->run[cell][k] >= far)
            return k;
        if (far > 0)
            continue;
        unsigned e = d + 1;
        while (e < RT_TORUS_DIMENSIONS && from[e] == to[e])
            e++;
        if (e == RT_TORUS_DIMENSIONS)
            return TORUS_STAY;
        k = 2 * e + shorter_way(p, e, from[e], to[e]);
        return p->run[cell][k] > 0 ? k : TORUS_STAY;
    }
    return TORUS_STAY;
}

unsigned torus_step(const struct torus_plan *p, uint32_t cell, uint32_t dest)
{
    const uint16_t *from = p->at[cell], *to = p->at[dest];
    unsigned d = 0;
    while (d < RT_TORUS_DIMENSIONS && from[d] == to[d])
        d++;
    if (d == RT_TORUS_DIMENSIONS)
        return TORUS_STAY;
    uint32_t stride = rt_torus_stride(&p->grid, d);
    if (p->grid.sw[cell - from[d] * stride + to[d] * stride] == RT_NONE)
        return step_beside(p, cell, dest, d);
    unsigned way = shorter_way(p, d, from[d], to[d]);
    if (p->run[cell][2 * d + way] >= steps(p, d, way, from[d], to[d]))
        return 2 * d + way;
    way ^= 1;
    bool longer = p->grid.wraps[d] && p->run[cell][2 * d + way] >= steps(p, d, way, from[d], to[d]);
    return longer ? 2 * d + way : TORUS_STAY;
}

unsigned torus_sl(const struct torus_plan *p, uint32_t source, uint32_t dest)
{
    unsigned sl = 0;
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
        uint32_t from = p->at[source][d], to = p->at[dest][d];
        if (!p->grid.wraps[d] || p->grid.size[d] < TORUS_LONG_RING || from == to)
            continue;
        bool crosses = shorter_way(p, d, from, to) ? to > from : to < from;
        sl |= (unsigned)crosses << d;
    }
    return sl;
}

unsigned torus_scheme_vls(enum torus_scheme scheme)
{
    static const uint8_t vls[TORUS_SCHEMES] = {1, 2, 2, 3, 4};
    return vls[scheme];
}

unsigned torus_lane(enum torus_scheme scheme, unsigned sl, unsigned direction, bool turned)
{
    unsigned bit = sl >> (direction / 2) & 1;
    switch (scheme) {
    case TORUS_BIT:
        return bit;
    case TORUS_TURN:
        return turned;
    case TORUS_BIT_OR_TURN:
        return turned ? 2 : bit;
    case TORUS_BIT_AND_TURN:
        return bit + 2 * turned;
    default:
        return 0;
    }
}

/* -- the plan ------------------------------------------------------------------------------- */

static void torus_destroy(struct rt_plan *plan)
{
    struct torus_plan *p = (struct torus_plan *)plan;
    rt_torus_grid_clear(&p->grid);
    g_free(p->at);
    g_free(p->run);
    g_free(p->port_direction);
    g_free(p);
}

/* Parallel links in turn by the place of the LID among those of its switch. */
static uint8_t take_port(const struct torus_plan *p, uint32_t s, unsigned direction, uint32_t turn)
{
    const struct rt_graph *g = p->plan.graph;
    if (direction == TORUS_STAY)
        return RT_NO_PATH;
    const struct rt_group *group = &g->groups[p->grid.group[s][direction]];
    return g->links[group->first_link + turn % group->link_count].port;
}

/* By the place of the destination among those of its switch; port 0 is the first. */
static uint32_t turn_of(const struct rt_graph *g, uint32_t dest, unsigned path)
{
    uint32_t place = dest - g->switches[g->dests[dest].sw].first_dest;
    return (place > 0 ? place - 1 : 0) + path;
}

static void torus_row(const struct rt_plan *plan, uint32_t s, uint8_t *row)
{
    const struct torus_plan *p = (const struct torus_plan *)plan;
    const struct rt_graph *g = plan->graph;
    for (uint32_t x = 0; x < g->switch_count; x++) {
        const struct rt_switch *sw = &g->switches[x];
        if (x == s)
            continue;
        unsigned direction = torus_step(p, p->grid.cell[s], p->grid.cell[x]);
        for (uint32_t i = sw->first_dest; i < sw->first_dest + sw->dest_count; i++)
            for (unsigned k = 0; g->dests[i].lid && k < 1u << g->dests[i].lmc; k++)
                row[g->dests[i].lid + k] = take_port(p, s, direction, turn_of(g, i, k));
    }
    rt_fill_own(g, s, row);
}

static unsigned torus_next_hop(const struct rt_plan *plan, uint32_t s, uint32_t dest, unsigned path)
{
    const struct torus_plan *p = (const struct torus_plan *)plan;
    uint32_t x = plan->graph->dests[dest].sw;
    unsigned direction = torus_step(p, p->grid.cell[s], p->grid.cell[x]);
    return take_port(p, s, direction, turn_of(plan->graph, dest, path));
}

static unsigned torus_plan_sl(const struct rt_plan *plan, uint32_t source, uint32_t dest,
                              unsigned path)
{
    const struct torus_plan *p = (const struct torus_plan *)plan;
    (void)path; /* all LIDs of a port are reached the same way */
    return torus_sl(p, p->grid.cell[source], p->grid.cell[plan->graph->dests[dest].sw]);
}

static unsigned torus_vl(const struct rt_plan *plan, uint32_t sw, unsigned in_port,
                         unsigned out_port, unsigned sl)
{
    const struct torus_plan *p = (const struct torus_plan *)plan;
    const uint8_t *direction = p->port_direction + (size_t)sw * 256;
    unsigned in = direction[in_port & 255], out = direction[out_port & 255];
    return out == TORUS_STAY ? 0 : torus_lane(p->scheme, sl, out, torus_is_forbidden(in, out));
}

static const struct rt_plan_ops torus_ops = {.destroy = torus_destroy,
                                             .row = torus_row,
                                             .next_hop = torus_next_hop,
                                             .sl = torus_plan_sl,
                                             .vl = torus_vl};

/* Where all paths go on one VL and no SL is asked for. */
static const struct rt_plan_ops plain_ops = {
    .destroy = torus_destroy, .row = torus_row, .next_hop = torus_next_hop};

static void list_directions(struct torus_plan *p)
{
    const struct rt_graph *g = p->plan.graph;
    p->port_direction = g_malloc((size_t)g->switch_count * 256 + 1);
    memset(p->port_direction, TORUS_STAY, (size_t)g->switch_count * 256);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++) {
            if (p->grid.group[s][k] == RT_NONE)
                continue;
            const struct rt_group *group = &g->groups[p->grid.group[s][k]];
            for (uint32_t l = 0; l < group->link_count; l++)
                p->port_direction[(size_t)s * 256 + g->links[group->first_link + l].port] =
                    (uint8_t)k;
        }
}

static void find_runs(struct torus_plan *p)
{
    const struct rt_torus_grid *grid = &p->grid;
    p->at = g_malloc((grid->cells + 1) * sizeof *p->at);
    p->run = g_malloc0((grid->cells + 1) * sizeof *p->run);
    for (uint32_t c = 0; c < grid->cells; c++)
        for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++) {
            uint32_t at = c;
            p->at[c][k / 2] = (uint16_t)rt_torus_coordinate(grid, c, k / 2);
            while (p->run[c][k] < grid->size[k / 2] && grid->sw[at] != RT_NONE &&
                   grid->group[grid->sw[at]][k] != RT_NONE) {
                at = rt_torus_next_cell(grid, at, k);
                p->run[c][k]++;
            }
        }
}

/* Intact: the theory of dimension order and datelines holds. Else all paths are followed. */
static int choose_scheme(struct torus_plan *p, unsigned max_vls, char *error, size_t error_size)
{
    const struct rt_torus_grid *grid = &p->grid;
    if (grid->missing_switches > 0 || grid->missing_links > 0)
        return torus_prove(p, max_vls, &p->scheme, error, error_size);
    unsigned ring = RT_TORUS_DIMENSIONS;
    for (unsigned d = RT_TORUS_DIMENSIONS; d-- > 0;)
        if (grid->wraps[d] && grid->size[d] >= TORUS_LONG_RING)
            ring = d;
    p->scheme = ring < RT_TORUS_DIMENSIONS ? TORUS_BIT : TORUS_ONE;
    if (torus_scheme_vls(p->scheme) <= max_vls)
        return 0;
    snprintf(error, error_size,
             "the ring of %" PRIu32 " in dimension %c through switch 0x%016" PRIx64
             " needs 2 VLs, %u may be used",
             grid->size[ring], 'x' + (int)ring, p->plan.graph->switches[0].guid, max_vls);
    return ENOTSUP;
}

static int torus_prepare(struct rt_graph *graph, const struct rt_options *options,
                         struct rt_plan **plan, char *error, size_t error_size)
{
    unsigned max_vls = options && options->max_vls > 0 ? options->max_vls : 1;
    struct rt_torus_grid grid;
    int rc = rt_torus_find(graph, options ? options->torus : NULL, &grid, error, error_size);
    if (rc)
        return rc;
    struct torus_plan *p = g_new0(struct torus_plan, 1);
    p->plan.ops = &torus_ops;
    p->plan.graph = rt_graph_ref(graph);
    p->grid = grid;
    find_runs(p);
    list_directions(p);
    rc = choose_scheme(p, max_vls, error, error_size);
    if (rc) {
        rt_plan_destroy(&p->plan);
        return rc;
    }
    p->plan.properties =
        (struct rt_properties){.vls = torus_scheme_vls(p->scheme), .rows_independent = true};
    bool long_ring = false;
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++)
        long_ring |= grid.wraps[d] && grid.size[d] >= TORUS_LONG_RING;
    if (p->scheme == TORUS_ONE && !long_ring)
        p->plan.ops = &plain_ops;
    *plan = &p->plan;
    return 0;
}

const struct rt_engine rt_torus_2qos = {
    .name = "torus-2qos",
    .summary = "dimension order on tori and meshes of up to 3 dimensions; datelines, 2 VLs",
    .prepare = torus_prepare,
};
