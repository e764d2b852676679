/* SPDX-License-Identifier: BSD-2-Clause */
/* Fabrics with cables and nodes taken away. */
#include "cli/route_damage.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "cli/cli.h"

struct cable { /* from the end that sorts first */
    uint64_t guid;
    uint32_t node;
    uint8_t port;
};

bool route_parse_named(const char *text, struct route_named *n)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", 2);
    uint64_t port = 0;
    if (parts[0] == NULL || !parse_guid(parts[0], &n->guid))
        return false;
    if (parts[1] != NULL && !parse_uint(parts[1], 1, FABRIC_MAX_PORTS, &port))
        return false;
    n->port = (uint8_t)port;
    return true;
}

/* -- copies ------------------------------------------------------------------------------------ */

static void copy_port(struct fabric_port *to, const struct fabric_port *from)
{
    uint32_t peer = to->peer_node;
    uint8_t peer_port = to->peer_port;
    *to = *from;
    to->peer_node = peer;
    to->peer_port = peer_port;
}

static void copy_node(struct fabric *to, const struct fabric_node *n, uint32_t *number)
{
    *number = fabric_add_node(to, n->guid, n->type, n->nports, n->desc);
    struct fabric_node *copy = &to->nodes[*number];
    copy->sys_guid = n->sys_guid;
    copy->vendor_id = n->vendor_id;
    copy->device_id = n->device_id;
    copy->enhanced_port0 = n->enhanced_port0;
    for (unsigned p = 0; p <= n->nports; p++)
        copy_port(&copy->ports[p], &n->ports[p]);
}

/* Without the nodes that are gone. */
static struct fabric *copy_without(const struct fabric *f, const bool *gone)
{
    struct fabric *to = fabric_create();
    g_autofree uint32_t *number = g_new(uint32_t, f->node_count + 1);
    for (uint32_t i = 0; i < f->node_count; i++)
        if (!gone[i])
            copy_node(to, &f->nodes[i], &number[i]);
    for (uint32_t i = 0; i < f->node_count; i++)
        for (unsigned p = 1; !gone[i] && p <= f->nodes[i].nports; p++) {
            const struct fabric_port *port = &f->nodes[i].ports[p];
            if (port->peer_node != FABRIC_NONE && !gone[port->peer_node])
                fabric_connect(to, number[i], p, number[port->peer_node], port->peer_port);
        } /* told by both ends: the second is refused */
    return to;
}

/* -- what is named ----------------------------------------------------------------------------- */

static int take_named(struct fabric *f, const struct route_named *n, bool *gone, const char *name)
{
    uint32_t i = fabric_find(f, n->guid);
    if (i == FABRIC_NONE)
        return cli_fail("--without 0x%016" PRIx64 ": %s has no such node", n->guid, name);
    if (n->port > f->nodes[i].nports)
        return cli_fail("--without 0x%016" PRIx64 "/%u: the node has %u ports", n->guid, n->port,
                        f->nodes[i].nports);
    if (n->port > 0 && f->nodes[i].ports[n->port].peer_node == FABRIC_NONE)
        return cli_fail("--without 0x%016" PRIx64 "/%u: there is no cable", n->guid, n->port);
    if (n->port > 0)
        fabric_disconnect(f, i, n->port);
    else
        gone[i] = true;
    return CLI_OK;
}

static int take_all_named(struct fabric *f, const struct route_damage *d, bool *gone,
                          const char *name)
{
    int result = CLI_OK;
    for (guint i = 0; d->named != NULL && i < d->named->len && result == CLI_OK; i++)
        result = take_named(f, &g_array_index(d->named, struct route_named, i), gone, name);
    return result;
}

/* -- what is drawn ----------------------------------------------------------------------------- */

/* splitmix64 (Steele et al. 2014): the same everywhere. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    const struct cable *x = a, *y = b;
    return x->guid != y->guid ? (x->guid > y->guid) - (x->guid < y->guid) : x->port - y->port;
}

/* Sorts, and brings a share of them, drawn from seed, to the front; returns how many. */
static uint32_t draw_share(GArray *all, double percent, uint64_t seed)
{
    uint32_t count = (uint32_t)ceil(all->len * percent / 100 - 1e-9); /* 5 % of 20 is 1 */
    struct cable *cables = (struct cable *)(void *)all->data;
    g_array_sort(all, by_place);
    count = MIN(count, all->len);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = i + (uint32_t)(draw(&seed) % (all->len - i));
        struct cable other = cables[j];
        cables[j] = cables[i];
        cables[i] = other;
    }
    return count;
}

static bool is_switch(const struct fabric *f, uint32_t node)
{
    return node != FABRIC_NONE && f->nodes[node].type == FABRIC_SWITCH;
}

static void take_switches(const struct fabric *f, const struct route_damage *d, bool *gone)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct cable));
    for (uint32_t i = 0; i < f->node_count; i++) {
        struct cable c = {.guid = f->nodes[i].guid, .node = i};
        if (is_switch(f, i) && !gone[i])
            g_array_append_val(all, c);
    }
    uint32_t count = draw_share(all, d->switches_percent, d->switches_seed);
    for (uint32_t i = 0; i < count; i++)
        gone[g_array_index(all, struct cable, i).node] = true;
}

/* A cable between switches, seen from the end that sorts first; loops are none. */
static bool is_first_end(const struct fabric *f, uint32_t node, unsigned port)
{
    uint32_t peer = f->nodes[node].ports[port].peer_node;
    return is_switch(f, node) && is_switch(f, peer) && f->nodes[node].guid < f->nodes[peer].guid;
}

static GArray *list_links(const struct fabric *f)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct cable));
    for (uint32_t i = 0; i < f->node_count; i++)
        for (unsigned p = 1; p <= f->nodes[i].nports; p++) {
            struct cable c = {.guid = f->nodes[i].guid, .node = i, .port = (uint8_t)p};
            if (is_first_end(f, i, p))
                g_array_append_val(all, c);
        }
    return all;
}

static void take_links(struct fabric *f, const struct route_damage *d)
{
    g_autoptr(GArray) all = list_links(f);
    uint32_t count = draw_share(all, d->links_percent, d->links_seed);
    for (uint32_t i = 0; i < count; i++) {
        const struct cable *c = &g_array_index(all, struct cable, i);
        fabric_disconnect(f, c->node, c->port);
    }
}

/* -- all --------------------------------------------------------------------------------------- */

struct counts {
    uint32_t switches, links, ends;
};

static struct counts count(const struct fabric *f)
{
    struct counts n = {0};
    for (uint32_t i = 0; i < f->node_count; i++) {
        n.switches += is_switch(f, i);
        for (unsigned p = 1; p <= f->nodes[i].nports; p++) {
            n.links += is_first_end(f, i, p);
            n.ends += !is_switch(f, i) && is_switch(f, f->nodes[i].ports[p].peer_node);
        }
    }
    return n;
}

static bool has_cable(const struct fabric_node *n)
{
    for (unsigned p = 1; p <= n->nports; p++)
        if (n->ports[p].peer_node != FABRIC_NONE)
            return true;
    return false;
}

/* Nobody finds a channel adapter without a cable. */
static struct fabric *without_loners(struct fabric *f, bool *gone)
{
    memset(gone, 0, f->node_count * sizeof *gone);
    for (uint32_t i = 0; i < f->node_count; i++)
        gone[i] = !is_switch(f, i) && !has_cable(&f->nodes[i]);
    struct fabric *left = copy_without(f, gone);
    fabric_destroy(f);
    return left;
}

struct fabric *route_damage_do(const struct fabric *f, struct route_damage *d, const char *name)
{
    g_autofree bool *gone = g_new0(bool, f->node_count + 1);
    struct fabric *whole = copy_without(f, gone);
    if (take_all_named(whole, d, gone, name) != CLI_OK) {
        fabric_destroy(whole);
        return NULL;
    }
    take_switches(whole, d, gone);
    struct fabric *left = copy_without(whole, gone);
    fabric_destroy(whole);
    take_links(left, d);
    left = without_loners(left, gone);
    struct counts before = count(f), after = count(left);
    d->switches_gone = before.switches - after.switches;
    d->links_gone = before.links - after.links;
    d->ends_gone = before.ends - after.ends;
    return left;
}
