/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of a subnet: nodes in an array, found by GUID through an index. */
#include "fabric/fabric.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* Keys are GUIDs carried in the pointer itself. */
struct fabric_index {
    GHashTable *by_guid;
};

G_STATIC_ASSERT(sizeof(void *) >= sizeof(uint64_t));

/* g_direct_hash drops the upper half, in which the GUIDs of one vendor's levels may differ. */
static guint guid_hash(gconstpointer key)
{
    uint64_t x = (uintptr_t)key * 0x9e3779b97f4a7c15ull;
    return (guint)(x >> 32);
}

struct fabric *fabric_create(void)
{
    struct fabric *f = g_new0(struct fabric, 1);
    f->index = g_new0(struct fabric_index, 1);
    f->index->by_guid = g_hash_table_new(guid_hash, g_direct_equal);
    return f;
}

void fabric_destroy(struct fabric *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->node_count; i++)
        g_free(f->nodes[i].ports);
    g_free(f->nodes);
    g_hash_table_destroy(f->index->by_guid);
    g_free(f->index);
    g_free(f);
}

static struct fabric_port *new_ports(enum fabric_node_type type, uint64_t guid, unsigned nports)
{
    struct fabric_port *ports = g_new0(struct fabric_port, nports + 1);
    for (unsigned p = 0; p <= nports; p++) {
        ports[p].peer_node = FABRIC_NONE;
        ports[p].guid = type == FABRIC_SWITCH ? guid : p ? guid + p : 0;
    }
    return ports;
}

uint32_t fabric_add_node(struct fabric *f, uint64_t guid, enum fabric_node_type type,
                         unsigned nports, const char *desc)
{
    if (type < FABRIC_CA || type > FABRIC_ROUTER || nports == 0 || nports > FABRIC_MAX_PORTS)
        return FABRIC_NONE;
    if (f->node_count >= FABRIC_NONE - 1 || fabric_find(f, guid) != FABRIC_NONE)
        return FABRIC_NONE;
    if (f->node_count == f->node_capacity) {
        f->node_capacity = f->node_capacity ? f->node_capacity * 2 : 64;
        f->nodes = g_renew(struct fabric_node, f->nodes, f->node_capacity);
    }
    uint32_t number = f->node_count++;
    struct fabric_node *n = &f->nodes[number];
    *n = (struct fabric_node){.guid = guid, .type = type, .nports = nports};
    if (desc)
        memcpy(n->desc, desc, strnlen(desc, sizeof n->desc - 1));
    n->ports = new_ports(type, guid, nports);
    g_hash_table_insert(f->index->by_guid, (gpointer)(uintptr_t)guid, GUINT_TO_POINTER(number));
    return number;
}

uint32_t fabric_find(const struct fabric *f, uint64_t guid)
{
    gpointer number;
    if (!g_hash_table_lookup_extended(f->index->by_guid, (gpointer)(uintptr_t)guid, NULL, &number))
        return FABRIC_NONE;
    return GPOINTER_TO_UINT(number);
}

uint32_t fabric_find_desc(const struct fabric *f, const char *desc)
{
    for (uint32_t i = 0; i < f->node_count; i++)
        if (strcmp(f->nodes[i].desc, desc) == 0)
            return i;
    return FABRIC_NONE;
}

static struct fabric_port *external_port(const struct fabric *f, uint32_t node, unsigned port)
{
    if (node >= f->node_count || port == 0 || port > f->nodes[node].nports)
        return NULL;
    return &f->nodes[node].ports[port];
}

int fabric_connect(struct fabric *f, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b)
{
    struct fabric_port *pa = external_port(f, a, port_a);
    struct fabric_port *pb = external_port(f, b, port_b);
    if (!pa || !pb || pa == pb)
        return EINVAL;
    if (pa->peer_node != FABRIC_NONE || pb->peer_node != FABRIC_NONE)
        return EEXIST;
    pa->peer_node = b;
    pa->peer_port = port_b;
    pb->peer_node = a;
    pb->peer_port = port_a;
    return 0;
}

void fabric_disconnect(struct fabric *f, uint32_t node, unsigned port)
{
    struct fabric_port *p = external_port(f, node, port);
    if (!p || p->peer_node == FABRIC_NONE)
        return;
    struct fabric_port *peer = &f->nodes[p->peer_node].ports[p->peer_port];
    peer->peer_node = FABRIC_NONE;
    peer->peer_port = 0;
    p->peer_node = FABRIC_NONE;
    p->peer_port = 0;
}

struct fabric_counts fabric_count(const struct fabric *f)
{
    struct fabric_counts c = {0};
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct fabric_node *n = &f->nodes[i];
        c.switches += n->type == FABRIC_SWITCH;
        c.cas += n->type == FABRIC_CA;
        c.routers += n->type == FABRIC_ROUTER;
        c.ports += n->nports;
        for (unsigned p = 1; p <= n->nports; p++)
            c.ports_cabled += n->ports[p].peer_node != FABRIC_NONE;
    }
    c.links = c.ports_cabled / 2;
    return c;
}

const char *fabric_width_name(unsigned width)
{
    switch (width) {
    case 1:
        return "1x";
    case 2:
        return "4x";
    case 4:
        return "8x";
    case 8:
        return "12x";
    case 16:
        return "2x";
    default:
        return "?";
    }
}

const char *fabric_speed_name(unsigned speed)
{
    static const char *const names[] = {"?",   "SDR", "DDR", "QDR", "FDR10",
                                        "FDR", "EDR", "HDR", "NDR", "XDR"};
    return speed < G_N_ELEMENTS(names) ? names[speed] : "?";
}
