/* SPDX-License-Identifier: BSD-2-Clause */
/* Least hops between all switches, as byte vectors, and the groups that lie on least paths. */
#ifndef ROUTING_HOPS_H
#define ROUTING_HOPS_H

#include "routing/updown.h"

struct rt_hops {
    const struct rt_graph *g;
    size_t stride;     /* bytes a row */
    uint8_t *distance; /* switch_count rows by destination switch; RT_FAR = none */
};

/* Returns 0, or ENOTSUP with a line in error when two switches are more than 254 hops apart. */
int rt_hops_make(const struct rt_graph *g, struct rt_hops *h, char *error, size_t error_size);
void rt_hops_clear(struct rt_hops *h);

static inline unsigned rt_hops_between(const struct rt_hops *h, uint32_t s, uint32_t x)
{
    return h->distance[h->stride * s + x];
}

/* For each destination switch x: the groups of s whose peers are nearer to x, as bits by their
 * index among the groups of s. switch_count entries. */
void rt_hops_nearer(const struct rt_hops *h, uint32_t s, uint64_t (*nearer)[4]);

#endif
