/* SPDX-License-Identifier: BSD-2-Clause */
/* The pairs that the orders of updown.h do not join, one by one. */
#include <glib.h>

#include "routing/engine.h"

static bool is_wanted(const struct rt_dest *d)
{
    return d->present && d->lid;
}

size_t rt_updown_unreachable(const struct rt_plan *p, uint32_t (*pairs)[2], size_t capacity)
{
    const struct rt_updown *u = &((const struct rt_updown_plan *)p)->updown;
    size_t stored = 0;
    for (uint32_t s = 0; s < u->graph->switch_count && stored < MIN(capacity, u->unreachable);
         s++) {
        for (uint32_t d = 0; rt_is_source(u->graph, s) && d < u->graph->dest_count; d++) {
            const struct rt_dest *dest = &u->graph->dests[d];
            if (stored == capacity)
                break;
            if (dest->sw == s || !is_wanted(dest) || rt_updown_rule(u, s, dest->sw) != RT_RULE_NONE)
                continue;
            pairs[stored][0] = s;
            pairs[stored++][1] = d;
        }
    }
    return u->unreachable;
}
