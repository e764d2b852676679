/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths through the fabric, hop by hop along the plan, with what they can carry. */
#ifndef SHARD_SA_WALK_H
#define SHARD_SA_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "routing/plan.h"
#include "shard/view.h"

struct sa_end { /* a port that owns LIDs; exactly one of the pointers is set */
    const struct view_switch *s;
    const struct view_end_port *e;
};
uint16_t sa_end_lid(const struct sa_end *x);
unsigned sa_end_lmc(const struct sa_end *x);
uint64_t sa_end_guid(const struct sa_end *x); /* of the port */

struct sa_capacity {
    uint8_t mtu;  /* IBA 15.2.5.16 code */
    uint8_t rate; /* code */
};

struct sa_walker;

struct sa_walker *sa_walker_create(const struct view *v, const struct rt_plan *plan);
void sa_walker_destroy(struct sa_walker *w);
/* Whether packets from `from` to dlid, a LID of `to`, arrive; and what the path carries. */
bool sa_walk(struct sa_walker *w, const struct sa_end *from, const struct sa_end *to, uint16_t dlid,
             struct sa_capacity *capacity);

/* Rates in 0.1 Gb/s by code, 0 = no such code; codes are not in the order of speed. */
unsigned sa_rate_value(unsigned code);
/* The fastest rate below this one, 0 = none. */
unsigned sa_rate_below(unsigned code);

#endif
