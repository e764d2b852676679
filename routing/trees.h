/* SPDX-License-Identifier: BSD-2-Clause */
/* Engines that make one tree for each destination LID, and keep all of their tables.
 *
 * A *column* is one LID of a destination: (destination, path), in the order of destinations, paths
 * ascending; only destinations with a LID have columns. A tree leads from every switch to the
 * column's switch. Trees are grown outwards from there by least hops and then least load, where the
 * load of a channel (a port group, see acyclic.h) is the number of pairs of a host and a column
 * that use it already, for each of its links. So a column depends on those before it. */
#ifndef ROUTING_TREES_H
#define ROUTING_TREES_H

#include "routing/acyclic.h"
#include "routing/engine.h"

struct rt_column {
    uint32_t dest;
    uint8_t path;
};

struct rt_columns {
    struct rt_column *all;
    uint32_t count;
    uint32_t *first; /* of each destination; RT_NONE for those without a LID */
};

void rt_columns_make(const struct rt_graph *g, struct rt_columns *c);
void rt_columns_clear(struct rt_columns *c);

/* -- a plan that is its tables -- */

struct rt_table_plan {
    struct rt_plan plan;
    struct rt_columns columns;
    uint8_t *ports;   /* switch_count bytes a column: output ports, RT_NO_PATH = none */
    bool *absent;     /* of each column: another share makes it, its ports are not set; or NULL */
    uint8_t *lanes;   /* SL of each column, or NULL */
    uint8_t *pair_sl; /* switch_count bytes a column: SL by source switch, or NULL */
};

/* Columns and empty tables; graph referenced. */
struct rt_table_plan *rt_table_plan_create(struct rt_graph *g);
/* The same for a share: memory only for the columns of destinations at switches that are `mine`. */
struct rt_table_plan *rt_table_plan_create_share(struct rt_graph *g, const bool *mine);
extern const struct rt_plan_ops rt_table_plan_ops;

/* Shares (rt_options.part, .parts) of sssp, dfsssp and lash: which switches' destinations are in
 * this one, for g_free; NULL = all. The switches with most LIDs first, they are dealt out in turn.
 */
bool *rt_share_switches(const struct rt_graph *g, const struct rt_options *options);

/* Puts the paths of tables that are trees, none of them absent, into layers without cycles (see
 * layers.c), and sets pair_sl and properties.vls. each_lid: as dfsssp, else as lash. False when
 * more than `allowed` layers are needed. */
bool rt_layers_make(struct rt_table_plan *p, unsigned allowed, bool each_lid);

/* -- growing -- */

struct rt_candidate {
    uint64_t cost; /* hops << 40 | sum of loads */
    uint32_t sw, channel;
};

struct rt_trees {
    const struct rt_graph *g;
    uint32_t *reverse;         /* rt_reverse_channels */
    uint32_t *sources;         /* of each switch: hosts with a LID, absent ones too */
    uint64_t *load;            /* of each channel */
    uint32_t *turn;            /* of each channel: columns so far, to take its links in turn */
    uint32_t *toward;          /* of each switch: its channel in the present tree, RT_NONE = none */
    uint64_t *cost;            /* of each switch in the present tree, UINT64_MAX = not reached */
    uint32_t *order;           /* switches in the order in which they were reached ... */
    uint32_t settled;          /* ... this many */
    struct rt_candidate *heap; /* private, as all below */
    size_t heap_size, heap_capacity;
    uint64_t *flow;
};

void rt_trees_init(struct rt_trees *t, const struct rt_graph *g);
void rt_trees_clear(struct rt_trees *t);
/* Starts a tree at switch x. */
void rt_trees_start(struct rt_trees *t, uint32_t x);
/* Grows the tree as far as it goes. With a set of dependencies only by those that it admits, which
 * are added to it. */
void rt_trees_grow(struct rt_trees *t, struct rt_acyclic *a);
/* Puts the neighbours of a switch in the tree among the candidates. */
void rt_trees_offer(struct rt_trees *t, uint32_t sw);
/* Puts a switch into the tree by this channel, and offers its neighbours. */
void rt_trees_settle(struct rt_trees *t, uint32_t sw, uint32_t channel);
/* Writes the present tree into a column of the plan; links of a channel are taken in turn. */
void rt_trees_write(struct rt_trees *t, struct rt_table_plan *p, uint32_t column);
/* Adds the present tree to the loads. */
void rt_trees_count(struct rt_trees *t);
/* The channel of each port, 256 a switch; RT_NONE = no link to a switch. */
uint32_t *rt_port_channels(const struct rt_graph *g);
/* Makes `toward`, `order` and `settled` those of a column that was written before; breadth first
 * from its switch, so that they do not depend on loads. No costs. */
void rt_trees_follow(struct rt_trees *t, const struct rt_table_plan *p, uint32_t column,
                     const uint32_t *port_channels);

#endif
