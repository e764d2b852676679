/* SPDX-License-Identifier: BSD-2-Clause */
/* Tori and meshes of up to three dimensions: their shape, given or found, and the engine
 * torus-2qos.
 *
 * The engine routes by dimension order (x, then y, then z), the shorter way round each ring; of two
 * equal ways even coordinates go up and odd ones down. Each ring has a *dateline* between its last
 * coordinate and 0. Bit d of the SL says whether the path crosses that of dimension d; a switch
 * takes the VL of an outgoing link from the bit of the link's dimension. So a ring is two lines,
 * and without rings of five or more one VL is enough (in a ring of four no path of two hops follows
 * on another one).
 *
 * A ring that is broken in one place is a line: it is walked the other way, the SL stays. Where a
 * path would turn at a missing switch it turns one hop earlier, into the dimension that comes next,
 * and comes back into dimension order by a turn that this order forbids; the hop after such a turn
 * may have a VL of its own. With anything missing nothing is believed: prepare() follows every pair
 * of switches and takes the least number of VLs (1 to 4) on which the dependencies of all paths
 * have no cycle (Dally and Seitz 1987); if there is none, or a pair is not joined, it refuses. SLs
 * depend on coordinates only, so that a fault changes none.
 *
 * A *cell* is a place of the grid, x + size[0] * (y + size[1] * z), with a switch or without.
 * A *direction* is 2 * dimension, + 1 for that towards lower coordinates. A ring of two is a line:
 * all of its links are parallel. Dimensions of size 1 are none. */
#ifndef ROUTING_TORUS_H
#define ROUTING_TORUS_H

#include "routing/graph.h"

#define RT_TORUS_DIMENSIONS 3u
#define RT_TORUS_DIRECTIONS (2 * RT_TORUS_DIMENSIONS)

/* Where to start: a switch and some of its neighbours, by direction; 0 = not given. */
struct rt_torus_seed {
    uint64_t from; /* 0: no neighbour is given */
    uint64_t neighbours[RT_TORUS_DIRECTIONS];
    int32_t dateline[RT_TORUS_DIMENSIONS]; /* coordinate 0, counted from the switch `from` */
};

struct rt_torus_shape {
    uint32_t size[RT_TORUS_DIMENSIONS];
    bool wraps[RT_TORUS_DIMENSIONS];
    struct rt_torus_seed *seeds; /* tried in this order */
    unsigned seed_count;
};

/* Reads a configuration as torus-2QoS.conf(5) has it: `torus` or `mesh` with three radices (suffix
 * m or t for one that differs), then the links of seeds (xp_link .. zm_link FROM TO), x_dateline
 * .. z_dateline, next_seed; # starts a comment, what follows the tokens of a line is ignored.
 * portgroup_max_ports, port_order and max_changes are checked and have no effect: there is no
 * limit to ports here, and links are taken in turn by the port of the destination. The text may be
 * hostile.
 * Returns 0 and a shape, or EINVAL with one line in error that starts with the line's number. */
int rt_torus_parse(const char *text, struct rt_torus_shape **shape, char *error, size_t error_size);
void rt_torus_shape_free(struct rt_torus_shape *shape); /* NULL allowed */

struct rt_torus_grid {
    uint32_t size[RT_TORUS_DIMENSIONS];
    bool wraps[RT_TORUS_DIMENSIONS];
    uint32_t cells;
    uint32_t *sw;   /* of each cell; RT_NONE = no switch there */
    uint32_t *cell; /* of each switch */
    uint32_t (
        *group)[RT_TORUS_DIRECTIONS]; /* of each switch: the group that leads there, RT_NONE */
    uint32_t missing_switches;
    uint32_t missing_links; /* neighbouring cells with switches that are not joined */
};

/* Places all switches. Without a shape one is found from the graph: the smallest grid among those
 * that explain the links around a switch with most neighbours; then coordinates are 0 at the switch
 * with the lowest GUID in rings, and begin at the end next to it in lines, dimensions in the order
 * of its neighbours. Returns 0, or ENOTSUP with one line in error. */
int rt_torus_find(const struct rt_graph *g, const struct rt_torus_shape *shape,
                  struct rt_torus_grid *grid, char *error, size_t error_size);
void rt_torus_grid_clear(struct rt_torus_grid *grid);

/* The cell next to this one, RT_NONE beyond the end of a line. */
uint32_t rt_torus_next_cell(const struct rt_torus_grid *grid, uint32_t cell, unsigned direction);

static inline uint32_t rt_torus_stride(const struct rt_torus_grid *grid, unsigned dimension)
{
    return dimension == 0 ? 1 : dimension == 1 ? grid->size[0] : grid->size[0] * grid->size[1];
}

static inline uint32_t rt_torus_coordinate(const struct rt_torus_grid *grid, uint32_t cell,
                                           unsigned dimension)
{
    return cell / rt_torus_stride(grid, dimension) % grid->size[dimension];
}

#endif
