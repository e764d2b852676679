/* SPDX-License-Identifier: BSD-2-Clause */
/* The checker: walks tables, whatever made them, and says what is wrong with them.
 *
 * Tables are given as rows by switch number, from a plan or read back from switches. Checked:
 * every destination with a LID and present is reached from every switch that has a destination
 * (own port 0 included) and in particular between every pair of CAs; no loop; no entry at a dead
 * or absent port; no credit loop (the channel dependency graph of all pairs, per VL, is acyclic;
 * Dally and Seitz 1987). Exact: no sampling. */
#ifndef ROUTING_CHECK_H
#define ROUTING_CHECK_H

#include <stdint.h>
#include <stdio.h>

#include "routing/graph.h"
#include "routing/plan.h"

struct rt_tables { /* rows[sw] has row_size entries; NULL = the switch has no table */
    const uint8_t *const *rows;
    size_t row_size;
};

/* Which lane a packet takes. NULL instead of lanes: all of them take one. */
struct rt_lanes {
    unsigned vls; /* data VLs, 1..15 */
    const void *user;
    /* SL (0..15) of packets from any end port of a switch to a destination, see rt_plan_sl_from. */
    unsigned (*sl)(const void *user, uint32_t source_switch, uint32_t dest, unsigned path);
    /* As rt_plan_vl, asked for all ports where packets come in, those of end ports included. NULL:
     * the SL. */
    unsigned (*vl)(const void *user, uint32_t sw, unsigned in_port, unsigned out_port, unsigned sl);
};

struct rt_check_result {
    uint64_t pairs;        /* (source switch with a present end port or itself, destination) */
    uint64_t unreachable;  /* joined by the graph, but no path in the tables */
    uint64_t disconnected; /* not joined by the graph at all */
    uint64_t loops;        /* pairs whose walk returns to a switch */
    uint64_t dead_ports;   /* entries at ports that have no live link to anybody */
    uint64_t credit_loop_channels; /* channels that lie on a cycle */
    uint64_t bad_lanes; /* walks that end at an SL above 15 or a VL that is not there; a walk ends
                         * where another one has been, so more paths may be concerned */
    uint64_t down_up_turns; /* informative: pairs with a turn from down to up by given ranks */
    unsigned max_hops;
};

/* Checks. Details of the first `report_limit` findings of each kind are written to report, one
 * line each with GUIDs and LIDs (the witness cycle for a credit loop); report may be NULL. Channels
 * are counted once for each VL. True when nothing is wrong (unreachable, loops, dead_ports,
 * bad_lanes and credit_loop_channels all 0). */
bool rt_check(const struct rt_graph *g, const struct rt_tables *t, const struct rt_lanes *lanes,
              struct rt_check_result *result, FILE *report, unsigned report_limit);
/* The lanes of a plan, which must live as long as they are used. */
void rt_plan_lanes(const struct rt_plan *p, struct rt_lanes *lanes);
/* The same for a plan: fills the rows itself, and takes SLs and VLs from it where it has several.
 */
bool rt_check_plan(const struct rt_plan *p, struct rt_check_result *result, FILE *report,
                   unsigned report_limit);

#endif
