/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways of packets through tables. */
#include "routing/walk.h"

#include <glib.h>
#include <string.h>

void rt_walk_init(struct rt_walk *w, const struct rt_graph *g, const struct rt_tables *t)
{
    *w = (struct rt_walk){.g = g, .t = t};
    w->link_at = g_new(uint32_t, (size_t)g->switch_count * 256u + 1);
    memset(w->link_at, 0xFF, (size_t)g->switch_count * 256u * sizeof *w->link_at);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t i = 0; i < g->switches[s].group_count; i++) {
            const struct rt_group *group = &g->groups[g->switches[s].first_group + i];
            for (uint32_t l = group->first_link; l < group->first_link + group->link_count; l++)
                w->link_at[(size_t)s * 256u + g->links[l].port] = l;
        }
}

void rt_walk_clear(struct rt_walk *w)
{
    g_free(w->link_at);
}

bool rt_walk_arrives(const struct rt_walk *w, uint32_t sw, const struct rt_dest *to)
{
    for (uint32_t hops = 0; sw != to->sw; hops++) {
        uint32_t link = rt_walk_next(w, sw, to);
        if (link == RT_NONE || hops > w->g->switch_count)
            return false;
        sw = w->g->links[link].peer;
    }
    return true;
}
