/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of dependencies between channels that is kept free of cycles: what deadlock freedom on one
 * virtual lane asks for (Dally and Seitz 1987).
 *
 * A channel here is a port group, graph->groups[c]: all parallel links from one switch to another.
 * That is coarser than single links, so what has no cycle here has none there. A dependency goes
 * from channel c, which leads to switch v, to the `slot`-th group of v. One that would close a
 * cycle is refused, and remembered: dependencies are only taken back in the order of a journal,
 * which may leave some refused that would fit again.
 *
 * The order of channels is maintained as in Pearce and Kelly, "A dynamic topological sort algorithm
 * for directed acyclic graphs", JEA 11 (2006): adding costs nothing where the order fits already.
 */
#ifndef ROUTING_ACYCLIC_H
#define ROUTING_ACYCLIC_H

#include <glib.h>

#include "routing/graph.h"

struct rt_dependency {
    uint32_t channel;
    uint8_t slot;
};

struct rt_acyclic {
    const struct rt_graph *g;
    const uint32_t *reverse; /* of each channel, the one that leads back */
    uint64_t (*used)[4];     /* of each channel, by slot */
    uint64_t (*refused)[4];
    uint32_t *place; /* of each channel in a topological order */
    GArray *journal; /* struct rt_dependency, in the order of their adding */
    bool *seen;      /* below: private to the search */
    uint32_t *stack, *ahead, *behind, *pool;
};

/* reverse must live as long as the set: see rt_reverse_channels. */
void rt_acyclic_init(struct rt_acyclic *a, const struct rt_graph *g, const uint32_t *reverse);
void rt_acyclic_clear(struct rt_acyclic *a);
uint32_t *rt_reverse_channels(const struct rt_graph *g);

/* False when it would close a cycle; then nothing changed. */
bool rt_acyclic_add(struct rt_acyclic *a, uint32_t channel, unsigned slot);
/* The journal's length is a mark; back to a mark takes away what was added since. */
void rt_acyclic_back(struct rt_acyclic *a, guint mark);
/* What was refused is tried again when it comes next. */
void rt_acyclic_forget_refused(struct rt_acyclic *a);

/* The slot of a channel among those of the switch that it leaves. */
static inline unsigned rt_slot(const struct rt_graph *g, uint32_t sw, uint32_t channel)
{
    return channel - g->switches[sw].first_group;
}

#endif
