/* SPDX-License-Identifier: BSD-2-Clause */
/* Routing graphs for tables that were read back. */
#include "cli/tables.h"

#include <string.h>

#define NODE_TYPE_SWITCH 2u

/* -- the fabric in a scan ---------------------------------------------------------------------- */

static gint by_guid(gconstpointer a, gconstpointer b)
{
    uint64_t x = **(uint64_t *const *)a, y = **(uint64_t *const *)b;
    return (x > y) - (x < y);
}

/* Values of a table whose keys are their first field or point into them, in the order of keys. */
static GPtrArray *sorted_keys(GHashTable *table)
{
    GPtrArray *keys = g_ptr_array_new();
    GHashTableIter each;
    gpointer key;
    g_hash_table_iter_init(&each, table);
    while (g_hash_table_iter_next(&each, &key, NULL))
        g_ptr_array_add(keys, key);
    g_ptr_array_sort(keys, by_guid);
    return keys;
}

/* The highest port of each node that anything names: how many it has is not told. */
static GHashTable *count_ports(const struct lfts *l, const GPtrArray *guids)
{
    GHashTable *highest = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < l->links->len; i++) {
        struct lfts_link *k = &g_array_index(l->links, struct lfts_link, i);
        guint here = GPOINTER_TO_UINT(g_hash_table_lookup(highest, &k->guid));
        g_hash_table_insert(highest, &k->guid, GUINT_TO_POINTER(MAX(here, k->port)));
        guint there = GPOINTER_TO_UINT(g_hash_table_lookup(highest, &k->peer_guid));
        g_hash_table_insert(highest, &k->peer_guid, GUINT_TO_POINTER(MAX(there, k->peer_port)));
    }
    for (guint i = 0; i < guids->len; i++) {
        struct lfts_port *p = g_hash_table_lookup(l->lids, guids->pdata[i]);
        guint here = GPOINTER_TO_UINT(g_hash_table_lookup(highest, &p->node_guid));
        g_hash_table_insert(highest, &p->node_guid, GUINT_TO_POINTER(MAX(here, p->num)));
    }
    return highest;
}

static void add_port(struct fabric *f, const struct lfts_port *p, guint nports)
{
    enum fabric_node_type type = p->type == NODE_TYPE_SWITCH ? FABRIC_SWITCH
                                 : p->type == FABRIC_ROUTER  ? FABRIC_ROUTER
                                                             : FABRIC_CA;
    uint32_t i = fabric_find(f, p->node_guid);
    if (i == FABRIC_NONE)
        i = fabric_add_node(f, p->node_guid, type, MAX(nports, 1), NULL);
    if (i == FABRIC_NONE || p->num > f->nodes[i].nports)
        return;
    f->nodes[i].ports[p->num].guid = p->guid;
    f->nodes[i].ports[p->num].lid = p->lid;
}

struct fabric *tables_fabric(const struct lfts *l)
{
    struct fabric *f = fabric_create();
    g_autoptr(GPtrArray) guids = sorted_keys(l->lids);
    g_autoptr(GHashTable) highest = count_ports(l, guids);
    for (guint i = 0; i < guids->len; i++) {
        const struct lfts_port *p = g_hash_table_lookup(l->lids, guids->pdata[i]);
        add_port(f, p, GPOINTER_TO_UINT(g_hash_table_lookup(highest, &p->node_guid)));
    }
    for (guint i = 0; i < l->links->len; i++) {
        const struct lfts_link *k = &g_array_index(l->links, struct lfts_link, i);
        uint32_t a = fabric_find(f, k->guid), b = fabric_find(f, k->peer_guid);
        if (a != FABRIC_NONE && b != FABRIC_NONE) /* told by both ends: the second is refused */
            fabric_connect(f, a, k->port, b, k->peer_port);
    }
    return f;
}

/* -- graph and rows ---------------------------------------------------------------------------- */

/* The base LID and the LMC of a port. */
static uint16_t lid_of(const struct lfts *l, uint64_t port_guid, unsigned *lmc,
                       uint32_t *without_lid)
{
    const struct lfts_port *p = g_hash_table_lookup(l->lids, &port_guid);
    *lmc = p != NULL ? lfts_lmc(p) : 0;
    if (p != NULL && p->lid != 0)
        return p->lid;
    ++*without_lid;
    return 0;
}

static enum rt_dest_kind kind_of(const struct fabric_node *n)
{
    return n->type == FABRIC_ROUTER ? RT_DEST_ROUTER : RT_DEST_HOST;
}

static void add_switches(struct rt_builder *b, const struct fabric *f, const struct lfts *l,
                         uint32_t *without_lid)
{
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct fabric_node *n = &f->nodes[i];
        unsigned lmc;
        if (n->type != FABRIC_SWITCH)
            continue;
        uint16_t lid = lid_of(l, n->ports[0].guid, &lmc, without_lid);
        rt_add_switch(b, n->guid, n->nports, lid, lmc);
    }
}

static void add_cables(struct rt_builder *b, const struct fabric *f, const struct lfts *l,
                       const struct fabric_node *n, uint32_t *without_lid)
{
    for (unsigned p = 1; p <= n->nports; p++) {
        const struct fabric_port *port = &n->ports[p];
        if (port->peer_node == FABRIC_NONE)
            continue;
        const struct fabric_node *peer = &f->nodes[port->peer_node];
        bool first_end = n->guid < peer->guid || (n == peer && p < port->peer_port);
        if (peer->type != FABRIC_SWITCH) {
            uint64_t guid = peer->ports[port->peer_port].guid;
            unsigned lmc;
            uint16_t lid = lid_of(l, guid, &lmc, without_lid);
            rt_add_dest(b, n->guid, p, guid, lid, lmc, kind_of(peer), true);
        } else if (first_end) {
            rt_add_link(b, n->guid, p, peer->guid, port->peer_port);
        }
    }
}

int tables_graph(const struct fabric *f, const struct lfts *l, struct rt_graph **g,
                 uint32_t *without_lid, uint16_t *duplicate_lid)
{
    struct rt_builder *b = rt_builder_create();
    *without_lid = 0;
    add_switches(b, f, l, without_lid);
    for (uint32_t i = 0; i < f->node_count; i++)
        if (f->nodes[i].type == FABRIC_SWITCH)
            add_cables(b, f, l, &f->nodes[i], without_lid);
    return rt_builder_finish(b, g, duplicate_lid);
}

const uint8_t **tables_rows(const struct rt_graph *g, const struct lfts *l, uint32_t *missing)
{
    const uint8_t **rows = g_new0(const uint8_t *, g->switch_count + 1);
    *missing = 0;
    for (uint32_t i = 0; i < g->switch_count; i++) {
        const struct lfts_switch *s = g_hash_table_lookup(l->switches, &g->switches[i].guid);
        rows[i] = s != NULL ? s->row : NULL;
        *missing += rows[i] == NULL;
    }
    return rows;
}
