/* SPDX-License-Identifier: BSD-2-Clause */
/* The load that jobs put on the links between switches: what a training run sees of a routing.
 *
 * A job has servers in a fixed order; a server has *rails*, its end ports in order. Three patterns:
 *   ring   rail r of server i sends one flow to rail r of the next server that has a rail r, the
 *          last one to the first: a rail-aligned ring all-reduce in the order given. A ring that
 *          runs backwards is the same job with its servers reversed.
 *   rails  all to all among the ports of equal rail number, each rail for itself
 *   full   all to all among all ports of the job
 * The load of a link in one direction is the number of flows through it. Its *contention* is the
 * lesser of the numbers of ports that send and of ports that receive through it: so many flows meet
 * there at most at one time when each port sends to one and receives from one (A2A of metrics.h).
 * Paths are those to base LIDs. Flows between ports of one switch load nothing; flows without a
 * path load nothing and are counted as lost.
 *
 * Time: O(flows * hops) for rings; for each destination of an all-to-all O(switches on its paths),
 * and as many times the sending switches / 64. Memory: 1 KiB a switch and a bit for each (link,
 * switch that sends). */
#ifndef ROUTING_JOBS_H
#define ROUTING_JOBS_H

#include <stdint.h>

#include "routing/check.h"
#include "routing/graph.h"

/* -- tiers ----------------------------------------------------------------------------------- */

#define RT_TIERS 16u /* links between switches further up belong to the last one */

enum rt_direction {
    RT_UP = 0,    /* to a switch of greater rank (order.h) */
    RT_DOWN = 1,  /* to one of lesser rank */
    RT_LEVEL = 2, /* between switches of one rank: irregular fabrics, tori */
    RT_DIRECTIONS = 3,
};

/* The tier of a link is the lesser rank of its ends: tier 0 begins at leaves. Where all switches
 * have hosts (tori) ranks say nothing: one tier, all links level. */
struct rt_tiers {
    unsigned count;     /* highest tier + 1, 0 without links */
    uint8_t *tier;      /* of each of g->links */
    uint8_t *direction; /* enum rt_direction */
};

void rt_tiers_make(const struct rt_graph *g, struct rt_tiers *tiers);
void rt_tiers_clear(struct rt_tiers *tiers);

/* -- jobs ------------------------------------------------------------------------------------ */

struct rt_job {
    uint32_t server_count;
    /* Rails of server i: destination numbers dests[first[i]] .. dests[first[i + 1] - 1], in order.
     * A destination may stand in a job once. */
    const uint32_t *first; /* server_count + 1 entries */
    const uint32_t *dests;
};

enum rt_pattern { RT_RING = 0, RT_ALL_TO_ALL_RAILS = 1, RT_ALL_TO_ALL = 2, RT_PATTERNS = 3 };

struct rt_load {
    uint64_t flows; /* ordered pairs, lost ones included */
    uint64_t lost;  /* without a path */
    uint32_t links_used;
    uint32_t max;                               /* flows through a link */
    double mean;                                /* the same over links that are used, 0 = none is */
    uint32_t contention;                        /* greatest of a link */
    double mean_contention;                     /* over links that are used */
    uint32_t tier_max[RT_TIERS][RT_DIRECTIONS]; /* flows */
};

struct rt_job_loads {
    struct rt_load of[RT_PATTERNS];
};

/* results: one for each job, alone on the fabric. together: all jobs at one time, each with its own
 * pattern; sums beyond 32 bits stay at UINT32_MAX. A LID of 0 or beyond the rows has no path. */
void rt_measure_jobs(const struct rt_graph *g, const struct rt_tables *t, const struct rt_job *jobs,
                     uint32_t job_count, struct rt_job_loads *results,
                     struct rt_job_loads *together);

/* Flows through each link (g->link_count entries, in the order of g->links) when each of the hosts
 * (destination numbers, each once) sends one to each other. Returns the pairs without a path. */
uint64_t rt_link_loads(const struct rt_graph *g, const struct rt_tables *t, const uint32_t *hosts,
                       uint32_t host_count, uint32_t *load_of_link);

#endif
