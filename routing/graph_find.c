/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding things in a routing graph, its digest, and graphs from fabric files. */
#include <errno.h>
#include <glib.h>
#include <sodium.h>
#include <string.h>

#include "fabric/fabric.h"
#include "routing/graph.h"

uint32_t rt_find_switch(const struct rt_graph *g, uint64_t guid)
{
    uint32_t low = 0, high = g->switch_count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->switches[mid].guid < guid)
            low = mid + 1;
        else
            high = mid;
    }
    return low < g->switch_count && g->switches[low].guid == guid ? low : RT_NONE;
}

uint32_t rt_find_dest_by_lid(const struct rt_graph *g, uint16_t lid)
{
    uint32_t low = 0, high = g->by_lid_count; /* the last whose base LID is <= lid */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->dests[g->by_lid[mid]].lid <= lid)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return RT_NONE;
    uint32_t d = g->by_lid[low - 1];
    return lid - g->dests[d].lid < 1 << g->dests[d].lmc ? d : RT_NONE;
}

uint32_t rt_find_dest_by_guid(const struct rt_graph *g, uint64_t port_guid)
{
    uint32_t low = 0, high = g->dest_count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->dests[g->by_guid[mid]].port_guid < port_guid)
            low = mid + 1;
        else
            high = mid;
    }
    return low < g->dest_count && g->dests[g->by_guid[low]].port_guid == port_guid ? g->by_guid[low]
                                                                                   : RT_NONE;
}

/* -- digest --------------------------------------------------------------------------------- */

static void put(crypto_generichash_state *h, uint64_t value)
{
    uint64_t big_endian = GUINT64_TO_BE(value);
    crypto_generichash_update(h, (const unsigned char *)&big_endian, sizeof big_endian);
}

/* Whether a destination is present is left out: no row depends on it. */
void rt_graph_digest(const struct rt_graph *g, uint8_t digest[32])
{
    crypto_generichash_state h;
    crypto_generichash_init(&h, NULL, 0, 32);
    put(&h, g->switch_count);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_switch *sw = &g->switches[s];
        put(&h, sw->guid);
        put(&h, (uint64_t)sw->nports << 32 | sw->group_count);
        for (uint32_t i = 0; i < sw->group_count; i++) {
            const struct rt_group *group = &g->groups[sw->first_group + i];
            put(&h, (uint64_t)group->peer << 32 | group->link_count);
            for (uint32_t l = 0; l < group->link_count; l++) {
                const struct rt_link *link = &g->links[group->first_link + l];
                put(&h, (uint64_t)link->port << 8 | link->peer_port);
            }
        }
    }
    put(&h, g->dest_count);
    for (uint32_t i = 0; i < g->dest_count; i++) {
        const struct rt_dest *d = &g->dests[i];
        put(&h, d->port_guid);
        put(&h, (uint64_t)d->sw << 32 | d->number);
        put(&h, (uint64_t)d->lid << 24 | d->port << 16 | d->lmc << 8 | d->kind);
    }
    put(&h, g->kept_count);
    for (uint32_t i = 0; i < g->kept_count; i++) {
        put(&h, (uint64_t)g->kept[i].sw << 32 | g->kept[i].number);
        put(&h, g->kept[i].port);
    }
    crypto_generichash_final(&h, digest, 32);
}

/* -- from a fabric -------------------------------------------------------------------------- */

struct end { /* an end port cabled to a switch */
    uint64_t switch_guid, guid;
    enum rt_dest_kind kind;
    uint16_t lid;
    uint8_t port, lmc;
};

static enum rt_dest_kind kind_of(const struct fabric_node *n)
{
    if (n->type == FABRIC_ROUTER)
        return RT_DEST_ROUTER;
    g_autofree char *lower = g_ascii_strdown(n->desc, -1);
    return strstr(lower, "aggregation node") ? RT_DEST_AGGREGATION : RT_DEST_HOST;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    const struct end *x = a, *y = b;
    if (x->switch_guid != y->switch_guid)
        return x->switch_guid < y->switch_guid ? -1 : 1;
    return x->port - y->port;
}

static GArray *collect_ends(const struct fabric *f)
{
    GArray *ends = g_array_new(FALSE, FALSE, sizeof(struct end));
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct fabric_node *n = &f->nodes[i];
        for (unsigned p = 1; n->type != FABRIC_SWITCH && p <= n->nports; p++) {
            const struct fabric_port *port = &n->ports[p];
            if (port->peer_node == FABRIC_NONE || f->nodes[port->peer_node].type != FABRIC_SWITCH)
                continue;
            struct end e = {.switch_guid = f->nodes[port->peer_node].guid,
                            .guid = port->guid ? port->guid : n->guid + p,
                            .kind = kind_of(n),
                            .lid = port->lid,
                            .port = port->peer_port,
                            .lmc = port->lmc};
            g_array_append_val(ends, e);
        }
    }
    g_array_sort(ends, by_place);
    return ends;
}

static gint by_node_guid(gconstpointer a, gconstpointer b)
{
    const struct fabric_node *x = *(struct fabric_node *const *)a;
    const struct fabric_node *y = *(struct fabric_node *const *)b;
    return (x->guid > y->guid) - (x->guid < y->guid);
}

static GPtrArray *collect_switches(const struct fabric *f)
{
    GPtrArray *switches = g_ptr_array_new();
    for (uint32_t i = 0; i < f->node_count; i++)
        if (f->nodes[i].type == FABRIC_SWITCH)
            g_ptr_array_add(switches, &f->nodes[i]);
    g_ptr_array_sort(switches, by_node_guid);
    return switches;
}

static bool all_have_lids(const GPtrArray *switches, const GArray *ends)
{
    for (guint i = 0; i < switches->len; i++)
        if (((struct fabric_node *)switches->pdata[i])->ports[0].lid == 0)
            return false;
    for (guint i = 0; i < ends->len; i++)
        if (g_array_index(ends, struct end, i).lid == 0)
            return false;
    return true;
}

static int add_links(struct rt_builder *b, const struct fabric *f, const GPtrArray *switches)
{
    int rc = 0;
    for (guint i = 0; i < switches->len && rc == 0; i++) {
        const struct fabric_node *n = switches->pdata[i];
        for (unsigned p = 1; p <= n->nports && rc == 0; p++) {
            if (n->ports[p].peer_node == FABRIC_NONE)
                continue;
            const struct fabric_node *peer = &f->nodes[n->ports[p].peer_node];
            unsigned peer_port = n->ports[p].peer_port;
            if (peer->type == FABRIC_SWITCH &&
                (n->guid < peer->guid || (n == peer && p < peer_port)))
                rc = rt_add_link(b, n->guid, p, peer->guid, peer_port);
        }
    }
    return rc;
}

static int add_all(struct rt_builder *b, const struct fabric *f, const GPtrArray *switches,
                   const GArray *ends)
{
    bool given = all_have_lids(switches, ends);
    uint32_t next = 1; /* dense LIDs: switches, then end ports, both by GUID and port */
    if (!given && switches->len + ends->len > RT_MAX_LID)
        return ERANGE;
    int rc = 0;
    for (guint i = 0; i < switches->len && rc == 0; i++) {
        const struct fabric_node *n = switches->pdata[i];
        rc = rt_add_switch(b, n->guid, n->nports, given ? n->ports[0].lid : next++,
                           given ? n->ports[0].lmc : 0);
    }
    if (rc == 0)
        rc = add_links(b, f, switches);
    for (guint i = 0; i < ends->len && rc == 0; i++) {
        const struct end *e = &g_array_index(ends, struct end, i);
        rc = rt_add_dest(b, e->switch_guid, e->port, e->guid, given ? e->lid : next++,
                         given ? e->lmc : 0, e->kind, true);
    }
    return rc;
}

int rt_graph_from_fabric(const struct fabric *f, struct rt_graph **graph, uint16_t *duplicate_lid)
{
    struct rt_builder *b = rt_builder_create();
    GPtrArray *switches = collect_switches(f);
    GArray *ends = collect_ends(f);
    int rc = add_all(b, f, switches, ends);
    g_ptr_array_free(switches, TRUE);
    g_array_free(ends, TRUE);
    if (rc) {
        rt_builder_destroy(b);
        return rc;
    }
    return rt_builder_finish(b, graph, duplicate_lid);
}
