/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways of packets through tables, link by link: what meters of load walk. */
#ifndef ROUTING_WALK_H
#define ROUTING_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "routing/check.h"

struct rt_walk {
    const struct rt_graph *g;
    const struct rt_tables *t;
    uint32_t *link_at; /* by (switch, port), 256 a switch; RT_NONE = leads to no switch */
};

/* Both must outlive the walk. */
void rt_walk_init(struct rt_walk *w, const struct rt_graph *g, const struct rt_tables *t);
void rt_walk_clear(struct rt_walk *w);

/* The link (index into g->links) by which switch sw sends to a destination; RT_NONE = none. */
static inline uint32_t rt_walk_next(const struct rt_walk *w, uint32_t sw, const struct rt_dest *to)
{
    const uint8_t *row = w->t->rows[sw];
    if (!row || to->lid == 0 || to->lid >= w->t->row_size)
        return RT_NONE;
    return w->link_at[(size_t)sw * 256u + row[to->lid]];
}

/* Whether packets from switch sw arrive: a way with more hops than switches is a loop. */
bool rt_walk_arrives(const struct rt_walk *w, uint32_t sw, const struct rt_dest *to);

#endif
