/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of a routing: what several workers can make without asking each other, and how their
 * entries are put together. No processes here; see cli/route_split.h for those.
 *
 *   rows     engines with independent rows. Each worker prepares the whole plan and makes the rows
 *            of its switches, in parts of equal number that keep pods together (partition.h).
 *            Exact: the union is what one worker makes.
 *   lanes    engines with independent columns, but no independent rows (nue). A worker makes whole
 *            virtual lanes: worker i of n those v with v % n == i. Exact; more workers than lanes
 *            have nothing to do.
 *   columns  sssp, dfsssp and lash, whose trees depend on the loads of those before. Each worker
 *            makes the trees of its own destinations and knows nothing of the others' loads. Not
 *            exact (but with one worker): links are loaded less evenly. What has a promise to keep
 *            about deadlocks gets its layers afterwards, of all tables, from one process: layers of
 *            one worker say nothing about those of another, so this step is not split. For lash
 *            the same holds: its pairs go into layers one after the other, each depending on all
 *            before. */
#ifndef ROUTING_SPLIT_H
#define ROUTING_SPLIT_H

#include "routing/plan.h"

enum rt_split_way { RT_SPLIT_NONE, RT_SPLIT_ROWS, RT_SPLIT_LANES, RT_SPLIT_COLUMNS };

struct rt_split {
    struct rt_graph *graph; /* a reference */
    const struct rt_engine *engine;
    struct rt_options options; /* of the whole; what it points to must live as long */
    enum rt_split_way way;
    unsigned parts;
    uint32_t *part_of; /* rows: who makes the row of each switch; else NULL */
    bool has_sls;      /* the engine may give SLs other than 0 */
};

/* What workers write: row_size (max_lid + 1) bytes a switch. sls: NULL = all SLs are 0. Workers
 * write to different bytes and may do so at once. */
struct rt_union {
    uint8_t *rows, *sls;
    size_t row_size;
};

/* How an engine can be split that made this plan. */
enum rt_split_way rt_split_way(const struct rt_engine *e, const struct rt_plan *whole);
const char *rt_split_way_name(enum rt_split_way way); /* "rows", "lanes", "columns", "none" */
static inline bool rt_split_is_exact(enum rt_split_way way)
{
    return way == RT_SPLIT_ROWS || way == RT_SPLIT_LANES;
}

/* whole: a plan that the engine made with these options, for its properties. parts at least 1. */
void rt_split_init(struct rt_split *s, const struct rt_engine *e, const struct rt_options *o,
                   const struct rt_plan *whole, unsigned parts);
void rt_split_clear(struct rt_split *s);

/* The plan of one worker; as the engine's prepare(). 0 and *plan NULL: it has nothing to do. */
int rt_split_prepare(const struct rt_split *s, unsigned part, struct rt_plan **plan, char *error,
                     size_t error_size);
/* Writes the worker's share of rows and SLs; plan NULL allowed. Returns the number of entries. */
uint64_t rt_split_write(const struct rt_split *s, unsigned part, const struct rt_plan *plan,
                        struct rt_union *u);

/* columns: a plan of the united rows, for dfsssp and lash with layers. Returns 0, or ENOTSUP with
 * one line when the layers are more than the options allow. */
int rt_split_finish(const struct rt_split *s, const struct rt_union *u, struct rt_plan **plan,
                    char *error, size_t error_size);

#endif
