/* SPDX-License-Identifier: BSD-2-Clause */
/* The view: the routing graph made of it, and the topological numbers kept in it. */
#include "shard/view_private.h"

#include <errno.h>
#include <string.h>

#define NODEINFO_TYPE 2u /* offset, IBA 14.2.5.3 */
#define NODE_TYPE_ROUTER 3u

enum rt_dest_kind view_end_port_kind(const struct view_end_port *e)
{
    if (e->nodeinfo[NODEINFO_TYPE] == NODE_TYPE_ROUTER)
        return RT_DEST_ROUTER;
    /* The name is how the vendor's switches present their reduction unit, and all that tells it
     * from a host; the text is hostile, so no more than this is concluded from it. */
    return strcasestr(e->description, "Aggregation Node") != NULL ? RT_DEST_AGGREGATION
                                                                  : RT_DEST_HOST;
}

static void add_switches(const struct view *v, struct rt_builder *b)
{
    const GPtrArray *all = view_switches(v);
    for (guint i = 0; i < all->len; i++) {
        const struct view_switch *s = g_ptr_array_index(all, i);
        uint16_t lid = view_switch_lid(s);
        unsigned lmc = lid != 0 ? view_portinfo_lmc(s->ports[0].portinfo) : 0;
        if (!s->reachable || s->nports == 0)
            continue;
        if (rt_add_switch(b, s->guid, s->nports, lid, lmc) == ERANGE)
            rt_add_switch(b, s->guid, s->nports, 0, 0);
    }
}

/* Whether port `num` of s is one end of a link that both ends agree on. */
static bool link_agreed(const struct view *v, const struct view_switch *s, unsigned num)
{
    const struct view_port *p = &s->ports[num];
    if (!view_port_up(p) || p->peer_guid == 0 || p->peer_port == 0)
        return false;
    const struct view_switch *peer = view_switch(v, p->peer_guid);
    if (peer == NULL || !peer->reachable || p->peer_port > peer->nports)
        return false;
    const struct view_port *back = &peer->ports[p->peer_port];
    return view_port_up(back) && back->peer_guid == s->guid && back->peer_port == num;
}

static void add_links(const struct view *v, struct rt_builder *b)
{
    const GPtrArray *all = view_switches(v);
    for (guint i = 0; i < all->len; i++) {
        const struct view_switch *s = g_ptr_array_index(all, i);
        for (unsigned num = 1; s->reachable && num <= s->nports; num++) {
            const struct view_port *p = &s->ports[num];
            bool first_end =
                s->guid < p->peer_guid || (s->guid == p->peer_guid && num < p->peer_port);
            if (first_end && link_agreed(v, s, num))
                rt_add_link(b, s->guid, num, p->peer_guid, p->peer_port);
        }
    }
}

/* Whether the switch's record speaks against this end port at its port. */
static bool contradicted(const struct view *v, const struct view_end_port *e)
{
    const struct view_switch *s = view_switch(v, e->switch_guid);
    if (s == NULL || !s->reachable || e->switch_port == 0 || e->switch_port > s->nports)
        return true;
    uint64_t peer = s->ports[e->switch_port].peer_guid;
    return e->present && peer != 0 && peer != e->node_guid;
}

/* Present ones first: an absent port that lost its place to another destination or to a link has
 * no entry (the builder says EEXIST). Two present ones at one port are both left out. */
static void add_destinations(const struct view *v, struct rt_builder *b, bool present)
{
    const GPtrArray *all = view_end_ports(v);
    for (guint i = 0; i < all->len; i++) {
        const struct view_end_port *e = g_ptr_array_index(all, i);
        if (e->present != present || e->lid == 0 || contradicted(v, e))
            continue;
        struct view_key key = {.guid = e->switch_guid, .num = e->switch_port};
        unsigned claims = 0;
        for (const GSList *l = g_hash_table_lookup(v->by_cable, &key); l != NULL; l = l->next) {
            const struct view_end_port *other = l->data;
            claims += other->present && other->lid != 0 && !contradicted(v, other);
        }
        if (claims > 1)
            continue;
        rt_add_dest(b, e->switch_guid, e->switch_port, e->port_guid, e->lid, e->lmc,
                    view_end_port_kind(e), present);
    }
}

int view_graph(const struct view *v, struct rt_graph **graph, uint16_t *duplicate_lid)
{
    struct rt_builder *b = rt_builder_create();
    add_switches(v, b);
    add_links(v, b);
    add_destinations(v, b, true);
    add_destinations(v, b, false);
    view_numbers_to_builder(v, b);
    return rt_builder_finish(b, graph, duplicate_lid);
}

void view_numbers_to_builder(const struct view *v, struct rt_builder *b)
{
    GHashTableIter i;
    gpointer p;
    g_hash_table_iter_init(&i, v->leaves);
    while (g_hash_table_iter_next(&i, NULL, &p)) {
        const struct leaf_entry *leaf = p;
        for (unsigned port = 0; port < 256; port++)
            if (leaf->number[port] != RT_NONE)
                rt_add_number(b, leaf->guid, port, leaf->number[port]);
    }
}

bool view_has_number(const struct view *v, uint64_t leaf_guid, unsigned port)
{
    const struct leaf_entry *leaf = g_hash_table_lookup(v->leaves, &leaf_guid);
    return leaf != NULL && port < 256 && leaf->number[port] != RT_NONE;
}
