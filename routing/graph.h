/* SPDX-License-Identifier: BSD-2-Clause */
/* The routing graph: an immutable snapshot of what routing depends on.
 *
 * Switches are numbered 0..switch_count-1 in the order of their GUIDs, whatever order they were
 * added in. A *destination* is a LID owner: an end port (CA or router port) cabled to a switch, or
 * port 0 of a switch itself. Destinations are numbered 0..dest_count-1 in the order (switch, port);
 * port 0 is the switch's own. A destination whose port is absent at the moment keeps its place
 * (DESIGN: nodes that vanish), so that losing and regaining a host changes no table.
 * A *port group* is the set of live ports from a switch to one neighbour, ports by number; the
 * groups of a switch are ordered by neighbour GUID. All shards so get the same bytes.
 *
 * *Numbers*: ftree spreads destinations by a topological number t, kept per (leaf GUID, port) in
 * the view. The builder is handed the numbers that are known; prepare() numbers the rest and says
 * so (plan.h, rt_plan_numbers). Nothing is ever derived from a LID's value: LIDs only say where in
 * a row an entry stands.
 *
 * Ownership: a graph is reference counted (atomic); plans keep a reference. Threads: immutable
 * after rt_builder_finish. Sizes: O(switches + links + destinations). */
#ifndef ROUTING_GRAPH_H
#define ROUTING_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fabric;

#define RT_NONE UINT32_MAX
#define RT_MAX_NUMBER (1u << 30) /* topological numbers stay below */
#define RT_MAX_LID 0xBFFFu       /* last unicast LID, IBA 4.1.3 */

struct rt_link {   /* one live port of a switch to another switch */
    uint32_t peer; /* switch number */
    uint8_t port;
    uint8_t peer_port;
};

struct rt_group {        /* all live ports of a switch to one neighbour */
    uint32_t peer;       /* switch number */
    uint32_t first_link; /* index into graph->links; ports ascending */
    uint32_t link_count;
};

struct rt_switch {
    uint64_t guid;
    uint32_t first_group, group_count; /* into graph->groups, by neighbour GUID */
    uint32_t first_dest, dest_count;   /* into graph->dests, by port; the first is port 0 */
    uint8_t nports;
};

enum rt_dest_kind {
    RT_DEST_SWITCH = 0, /* port 0 of a switch */
    RT_DEST_HOST = 1,
    RT_DEST_AGGREGATION =
        2, /* an aggregation node or another CA that does not make its switch a leaf */
    RT_DEST_ROUTER = 3,
};

struct rt_dest {
    uint64_t port_guid;
    uint32_t sw;     /* the switch it is cabled to, or is */
    uint32_t number; /* known topological number, RT_NONE = none yet */
    uint16_t lid;    /* 0 = has none: no entry */
    uint8_t port;    /* port of the switch, 0 = itself */
    uint8_t lmc;
    uint8_t kind; /* enum rt_dest_kind */
    bool present; /* its port is up now; absent ones keep their entries */
};

struct rt_graph {
    uint32_t switch_count, group_count, link_count, dest_count;
    struct rt_switch *switches; /* by GUID */
    struct rt_group *groups;
    struct rt_link *links;
    struct rt_dest *dests;
    uint16_t max_lid; /* highest LID incl. LMC ranges; 0 = none */
    /* Private to graph.c and numbers.c: */
    struct rt_kept_number *kept; /* numbers of ports without a destination, by (switch, port) */
    uint32_t kept_count;
    uint32_t *by_lid, *by_guid; /* destination numbers, sorted; by_lid has those with a LID */
    uint32_t by_lid_count;
    int refs;
};

struct rt_kept_number {
    uint32_t sw, number;
    uint8_t port;
};

/* -- building ------------------------------------------------------------------------------- */

struct rt_builder;

struct rt_builder *rt_builder_create(void);
void rt_builder_destroy(struct rt_builder *b); /* NULL allowed */
/* All return 0 or EINVAL (unknown switch, port 0 or beyond nports, GUID 0), EEXIST (the switch or
 * port is there already), ERANGE (LID or LID range outside 1..RT_MAX_LID; 0 is allowed = none). */
int rt_add_switch(struct rt_builder *b, uint64_t guid, unsigned nports, uint16_t lid, unsigned lmc);
/* One cable between two switches; self-loops are ignored (they carry no traffic). */
int rt_add_link(struct rt_builder *b, uint64_t guid_a, unsigned port_a, uint64_t guid_b,
                unsigned port_b);
int rt_add_dest(struct rt_builder *b, uint64_t switch_guid, unsigned switch_port,
                uint64_t port_guid, uint16_t lid, unsigned lmc, enum rt_dest_kind kind,
                bool present);
/* The topological number kept for (leaf, port); may name ports that have no destination now.
 * ERANGE for a number of RT_MAX_NUMBER or more, which prepare() never gives. */
int rt_add_number(struct rt_builder *b, uint64_t leaf_guid, unsigned port, uint32_t number);
/* Consumes the builder. Returns 0 and the graph, or EEXIST with the LID that two destinations
 * claim in *duplicate_lid (may be NULL). */
int rt_builder_finish(struct rt_builder *b, struct rt_graph **graph, uint16_t *duplicate_lid);

/* From a fabric file: LIDs of the file where every destination has one, else dense LIDs in the
 * order switches, hosts (for offline use). Returns 0 or as rt_builder_finish. */
int rt_graph_from_fabric(const struct fabric *f, struct rt_graph **graph, uint16_t *duplicate_lid);

struct rt_graph *rt_graph_ref(struct rt_graph *g);
void rt_graph_unref(struct rt_graph *g); /* NULL allowed */

uint32_t rt_find_switch(const struct rt_graph *g, uint64_t guid); /* RT_NONE = not there */
/* The destination that owns the LID (LMC ranges included), or RT_NONE. O(log dests). */
uint32_t rt_find_dest_by_lid(const struct rt_graph *g, uint16_t lid);
uint32_t rt_find_dest_by_guid(const struct rt_graph *g, uint64_t port_guid);
/* BLAKE2b-256 over everything that routing depends on (switch GUIDs, links, destinations with
 * LIDs, kinds, numbers), in a fixed byte order: equal digests = equal graphs. */
void rt_graph_digest(const struct rt_graph *g, uint8_t digest[32]);

#endif
