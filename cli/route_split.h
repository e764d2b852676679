/* SPDX-License-Identifier: BSD-2-Clause */
/* Routing split over processes, as the shards of a cluster split it, held against one process.
 *
 * Each shard is a process of its own that knows the graph and nothing of the others: it prepares
 * its own plan and makes its share (routing/split.h) on one thread. As many run at once as there
 * are cores. The entries of all shards are put together and compared with a plan that was made as a
 * whole. */
#ifndef CLI_ROUTE_SPLIT_H
#define CLI_ROUTE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "routing/check.h"

#define SPLIT_MAX_SHARDS 1024u
#define SPLIT_LIMIT_S 3600.0 /* split_run waits no longer for the shards */

struct split_shard {
    uint64_t entries; /* its part of all entries of all rows */
    double prepare_s; /* on the clock, from its start until its plan is ready ... */
    double total_s;   /* ... and until its share is made */
    double cpu_s;     /* processor time of the whole share */
};

struct split_result {
    unsigned shards;
    const char *how;            /* "rows", "lanes" (whole VLs) or "columns" */
    bool exact;                 /* the engine declares that the union is the unsplit result */
    bool identical;             /* all entries, all SLs and the number of VLs */
    uint64_t differing_entries; /* of the rows */
    uint64_t differing_sls;     /* pairs of a switch and a LID */
    double wall_s;              /* from the first fork until the last shard was ready */
    struct split_shard *each;   /* `shards` of them */
    double central_s;           /* processor time of what one process does afterwards: layers */
    /* Processor time of the slowest shard and central_s: how long it takes when each shard has a
     * core of its own. */
    double critical_s;
    double unsplit_s; /* processor time of one process that makes all, on one thread */
    unsigned vls;     /* of the split result; 0 = not free of deadlocks */
    /* The split result. rows[switch], valid until split_clear. */
    struct rt_tables tables;
    struct rt_lanes lanes;  /* vls 1 where there is only one */
    struct split_union *of; /* private */
};

/* Splits what made `whole`, a plan of g: e and o must be the engine and the options that it was
 * made with. o->parallel is not used. shards: 1 .. SPLIT_MAX_SHARDS, also more than there are
 * switches. `whole` must live until split_clear. Returns 0; else one line in error and r is empty:
 * EINVAL for the number of shards, ENOTSUP for an engine that cannot be split or where the union
 * needs more VLs than allowed, ETIMEDOUT, ECHILD for a shard that died, ENOMEM, or what a shard's
 * engine said. No process is left running. */
int split_run(struct rt_graph *g, const struct rt_engine *e, const struct rt_options *o,
              unsigned shards, const struct rt_plan *whole, struct split_result *r, char *error,
              size_t error_size);
/* The same with another limit, in seconds. */
int split_run_within(struct rt_graph *g, const struct rt_engine *e, const struct rt_options *o,
                     unsigned shards, const struct rt_plan *whole, double limit_s,
                     struct split_result *r, char *error, size_t error_size);
void split_clear(struct split_result *r);

#endif
