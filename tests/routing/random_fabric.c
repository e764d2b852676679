/* SPDX-License-Identifier: BSD-2-Clause */
/* Small fabrics of all shapes, whole and damaged, drawn from a seed. */
#include "tests/routing/random_fabric.h"

#include <stdio.h>

#include <glib.h>

#include "fabric/generate.h"

#define SPARE_PORTS 3u /* of each switch, for what is cabled to it besides */
#define MAX_LMC 2u

static unsigned pick(GRand *rand, unsigned low, unsigned high)
{
    return g_rand_int_range(rand, low, high + 1);
}

static void pick_spec(GRand *rand, char *spec, size_t size)
{
    unsigned a = pick(rand, 1, 3), b = pick(rand, 2, 4), c = pick(rand, 2, 3), d = pick(rand, 1, 2);
    switch (pick(rand, 0, 8)) {
    case 0:
        snprintf(spec, size, "pgft:2:%u,%u:1,%u:1,%u", a, b + 1, c, d);
        break;
    case 1:
        snprintf(spec, size, "pgft:3:%u,%u,%u:1,%u,%u:1,1,%u", a, c, b, c, d, d);
        break;
    case 2:
        snprintf(spec, size, "rail:%u:2:%u:%u:%u%s", b + 2, a + 1, c, d, a == 1 ? ":an" : "");
        break;
    case 3:
        snprintf(spec, size, "torus:%ux%u:%u:%u", b, c + 1, d, a == 3 ? 2 : 1);
        break;
    case 4:
        snprintf(spec, size, "torus:%ux%ux%u:1", c, b, d + 1);
        break;
    case 5:
        snprintf(spec, size, "mesh:%ux%u:%u", b + 1, c, d);
        break;
    case 6:
        snprintf(spec, size, "dragonfly:%u:%u:%u:1", b, c, d);
        break;
    case 7:
        snprintf(spec, size, "dragonfly+:%u:2:2:%u:%u", c, d, d);
        break;
    default:
        snprintf(spec, size, "random:%u:%u:%u:%u", pick(rand, 2, 14), pick(rand, 2, 16), c + d - 1,
                 pick(rand, 0, 1000000));
    }
}

/* The same with spare ports and other GUIDs, nodes in the same order. */
static struct fabric *copy(const struct fabric *from, GRand *rand)
{
    struct fabric *f = fabric_create();
    for (uint32_t i = 0; i < from->node_count; i++) {
        const struct fabric_node *n = &from->nodes[i];
        uint64_t guid = (uint64_t)g_rand_int(rand) << 28 | (uint64_t)i << 12 | 0x2000000000000000;
        unsigned spare = n->type == FABRIC_SWITCH ? SPARE_PORTS : 0;
        fabric_add_node(f, guid, n->type, n->nports + spare, n->desc);
    }
    for (uint32_t i = 0; i < from->node_count; i++)
        for (unsigned p = 1; p <= from->nodes[i].nports; p++) {
            const struct fabric_port *port = &from->nodes[i].ports[p];
            if (port->peer_node != FABRIC_NONE) /* the second end is there already */
                fabric_connect(f, i, p, port->peer_node, port->peer_port);
        }
    return f;
}

static void add_guests(struct fabric *f, uint32_t switches, GRand *rand)
{
    for (uint32_t s = 0; s < switches; s++) {
        if (pick(rand, 0, 4))
            continue;
        bool aggregation = pick(rand, 0, 1), router = !aggregation && pick(rand, 0, 4) == 0;
        uint64_t guid = 0x3000000000000000 | (uint64_t)g_rand_int(rand) << 24 | s << 8;
        uint32_t n = fabric_add_node(f, guid, router ? FABRIC_ROUTER : FABRIC_CA, 1,
                                     aggregation ? "Mellanox Technologies Aggregation Node"
                                                 : "manager \"quoted\" lid 7 lmc 3");
        fabric_connect(f, n, 1, s, f->nodes[s].nports);
    }
}

static void damage(struct fabric *f, uint32_t switches, GRand *rand)
{
    double share = pick(rand, 0, 1) ? 0 : g_rand_double(rand) * 0.3;
    for (uint32_t s = 0; s < switches; s++)
        for (unsigned p = 1; p <= f->nodes[s].nports; p++) {
            const struct fabric_port *port = &f->nodes[s].ports[p];
            if (port->peer_node != FABRIC_NONE && f->nodes[port->peer_node].type == FABRIC_SWITCH &&
                g_rand_double(rand) < share)
                fabric_disconnect(f, s, p);
        }
    if (pick(rand, 0, 5) == 0) { /* one switch loses all that it has */
        uint32_t s = pick(rand, 0, switches - 1);
        for (unsigned p = 1; p <= f->nodes[s].nports; p++)
            fabric_disconnect(f, s, p);
    }
}

static void give_lids(struct fabric *f, GRand *rand)
{
    g_autoptr(GPtrArray) ports = g_ptr_array_new();
    bool with_lmc = pick(rand, 0, 3) == 0;
    uint32_t next = pick(rand, 1, 9);
    for (uint32_t i = 0; i < f->node_count; i++) {
        bool is_switch = f->nodes[i].type == FABRIC_SWITCH;
        for (unsigned p = is_switch ? 0 : 1; p <= (is_switch ? 0 : f->nodes[i].nports); p++) {
            f->nodes[i].ports[p].lmc = with_lmc && !is_switch ? pick(rand, 0, MAX_LMC) : 0;
            g_ptr_array_add(ports, &f->nodes[i].ports[p]);
        }
    }
    for (guint left = ports->len; left > 0; left--) {
        struct fabric_port *port = g_ptr_array_remove_index(ports, pick(rand, 0, left - 1));
        uint32_t count = 1u << port->lmc;
        port->lid = (next + count - 1) / count * count; /* aligned, IBA 4.1.3 */
        next = port->lid + count;
    }
}

struct fabric *random_fabric(uint32_t seed, char *spec, size_t size)
{
    GRand *rand = g_rand_new_with_seed(seed);
    char error[256];
    pick_spec(rand, spec, size);
    struct fabric *made = fabric_generate(spec, error, sizeof error);
    if (!made)
        g_error("seed %u, %s: %s", seed, spec, error);
    uint32_t switches = fabric_count(made).switches;
    struct fabric *f = copy(made, rand);
    add_guests(f, switches, rand);
    damage(f, switches, rand);
    give_lids(f, rand);
    fabric_destroy(made);
    g_rand_free(rand);
    return f;
}
