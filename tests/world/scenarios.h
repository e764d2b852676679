/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios: named stories that the real cores are driven through, each on a fabric of its own.
 *
 * A story begins with a world that is made and not started, and ends with a world that failed or
 * did not (world_fail; later steps of a failed world do nothing). Times are virtual. */
#ifndef WORLD_SCENARIOS_H
#define WORLD_SCENARIOS_H

#include "tests/world/world.h"

struct scenario {
    const char *name;
    const char *fabric; /* of fabric/generate.h */
    int shards;
    unsigned spares; /* CAs with one port and no cable, spare1 .. */
    void (*run)(struct world *w);
    unsigned variants; /* it is told so often, with w->variant 0 .. ; 0 = once */
};
extern const struct scenario scenarios_odd[]; /* ended by a NULL name */
extern const struct scenario scenarios_change[];
extern const struct scenario scenarios_cluster[];

#define NODE_NONE FABRIC_NONE
#define UP_MS 60000u /* a bring-up, a repair: longer is a failure */

#define expect(w, condition, ...)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_fail(w, __VA_ARGS__);                                                            \
    } while (0)

/* Starts the coordinator and all shards; ends when the world is whole. Returns how long it took. */
void story_start(struct world *w);
uint64_t story_bring_up(struct world *w);
/* Runs until the world is whole, or fails; returns the time. `why` is told in the failure. */
uint64_t story_whole(struct world *w, uint32_t limit_ms, const char *why);
void story_run(struct world *w, uint32_t ms);
bool story_until(struct world *w, uint32_t limit_ms, bool (*done)(struct world *w));

uint32_t story_node(const struct world *w, const char *name);
uint32_t story_host(const struct world *w, unsigned k); /* the k-th CA without a shard, from 0 */
uint32_t story_leaf(const struct world *w, uint32_t host, unsigned *port); /* what it hangs on */
int story_owner(const struct world *w, uint32_t switch_node);              /* process, 0 = none */
uint32_t story_domain(const struct world *w, uint32_t switch_node);
bool story_problem(struct world *w, const char *part); /* status has a problem with this text */
/* What this process's view has of a host's port; NULL = nothing. */
const struct view_end_port *story_seen(const struct world *w, int process, uint32_t host);
uint64_t story_mads(const struct world *w);
struct sim_counters story_counters(const struct world *w);

#endif
