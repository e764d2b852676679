/* SPDX-License-Identifier: BSD-2-Clause */
/* Engines, plans and rows: graph -> engine.prepare -> plan -> rows.
 *
 * An engine is a table of functions with declared properties, found by name. prepare() does the
 * work that all rows share and returns an immutable plan, which threads share. A *row* is one
 * switch's linear forwarding table: row[lid] = output port, RT_NO_PATH (255) where there is no
 * entry, for lid 0..max_lid. A pure function of the graph and the options: no clock, no random
 * source, no pointer order, no LID value (other than as an index). */
#ifndef ROUTING_PLAN_H
#define ROUTING_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "routing/graph.h"

#define RT_NO_PATH 255u
#define RT_LFT_BLOCK 64u /* LIDs in a block, IBA 14.2.5.6 */

struct rt_tables;
struct rt_torus_shape;

struct rt_options {
    const uint64_t *root_guids; /* switches given as roots, NULL = found */
    size_t root_count;
    /* Port GUIDs of compute nodes (NULL = all hosts that are no I/O nodes) and of I/O nodes. An
     * engine that can spreads compute nodes first and evenly, and I/O nodes apart from them. */
    const uint64_t *cn_guids, *io_guids;
    size_t cn_count, io_count;
    const struct rt_tables *tables; /* check.h: what the engine "file" uses, as long as its plan */
    const struct rt_torus_shape *torus; /* torus.h: given shape, NULL = found */
    unsigned max_vls;                   /* data VLs that the engine may use, at least 1; 0 = 1 */
    /* split.h: of an engine with independent columns only share `part` (from 0) of `parts` is made,
     * the rest of each row is RT_NO_PATH; parts 0 = all. */
    unsigned part, parts;
    /* Runs job(context, 0) .. job(context, count - 1), on several threads at once if it likes, and
     * returns when all are done. NULL = one after the other. Results do not depend on it. */
    void (*parallel)(void *pool, unsigned count, void (*job)(void *context, unsigned index),
                     void *context);
    void *pool;
};

struct rt_properties {
    unsigned vls;          /* VLs needed for freedom from deadlock; 0 = not deadlock-free */
    bool rows_independent; /* a shard may compute its own rows only */
    bool columns_independent;
    bool mix_safe; /* rows of two consecutive views together stay free of loops and credit loops */
};

struct rt_plan;

struct rt_engine {
    const char *name;
    const char *summary; /* one line for --help */
    /* Returns 0 and a plan that holds a reference to the graph; ENOTSUP when the engine cannot
     * serve this fabric, with one clear line (what, which GUIDs) in error. */
    int (*prepare)(struct rt_graph *graph, const struct rt_options *options, struct rt_plan **plan,
                   char *error, size_t error_size);
};

/* ftree, updn; NULL = no such engine. Names of all of them: a NULL-terminated array. */
const struct rt_engine *rt_engine_find(const char *name);
const char *const *rt_engine_names(void);

void rt_plan_destroy(struct rt_plan *p); /* NULL allowed */
const struct rt_graph *rt_plan_graph(const struct rt_plan *p);
struct rt_properties rt_plan_properties(const struct rt_plan *p);

/* Fills row[0..size-1] (size > max_lid is padded with RT_NO_PATH). Thread safe. */
void rt_plan_row(const struct rt_plan *p, uint32_t sw, uint8_t *row, size_t size);
/* One entry without filling the row: the output port of switch sw for dlid, or RT_NO_PATH; 0 when
 * the switch itself owns the LID. */
unsigned rt_plan_next_hop(const struct rt_plan *p, uint32_t sw, uint16_t dlid);
/* Service level of the path from one LID to another; 0 for LIDs that nobody owns. */
unsigned rt_plan_sl(const struct rt_plan *p, uint16_t slid, uint16_t dlid);
/* The same from any end port of a switch to a destination; path is the offset of the LID from its
 * base LID. */
unsigned rt_plan_sl_from(const struct rt_plan *p, uint32_t source_switch, uint32_t dest,
                         unsigned path);
/* The VL of packets of this SL that come in by in_port (0 = from the switch's own port 0) and leave
 * by out_port: what the SL2VL tables must say. */
unsigned rt_plan_vl(const struct rt_plan *p, uint32_t sw, unsigned in_port, unsigned out_port,
                    unsigned sl);
/* Whether the VL may differ from the SL. */
bool rt_plan_changes_lanes(const struct rt_plan *p);

/* The numbers of all destinations (dest_count entries, RT_NONE for those that need none), those
 * known in the graph unchanged. Engines without numbers return NULL. */
const uint32_t *rt_plan_numbers(const struct rt_plan *p);

/* Pairs that have no path although both ends are present: found during prepare where the engine
 * knows it without walking (ftree, updn). The first `capacity` are stored as (source switch,
 * destination) numbers; returns how many there are. */
size_t rt_plan_unreachable(const struct rt_plan *p, uint32_t (*pairs)[2], size_t capacity);

#endif
