/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the shapes that generators make: which port is cabled to which, as generate.h says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib.h>
#include <string.h>

#include "fabric/generate.h"

static struct fabric *generate(const char *spec)
{
    char error[256] = "";
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    assert_string_equal(error, "");
    assert_non_null(f);
    return f;
}

static uint32_t node(const struct fabric *f, const char *name)
{
    uint32_t n = fabric_find_desc(f, name);
    if (n == FABRIC_NONE)
        fail_msg("there is no %s", name);
    return n;
}

static void assert_cable(const struct fabric *f, const char *a, unsigned pa, const char *b,
                         unsigned pb)
{
    uint32_t from = node(f, a);
    assert_in_range(pa, 1, f->nodes[from].nports);
    const struct fabric_port *p = &f->nodes[from].ports[pa];
    if (p->peer_node != node(f, b) || p->peer_port != pb)
        fail_msg("%s port %u is joined to %s port %u, not to %s port %u", a, pa,
                 p->peer_node == FABRIC_NONE ? "nothing" : f->nodes[p->peer_node].desc,
                 p->peer_port, b, pb);
}

/* Hops from a node to each other one. */
static unsigned *distances(const struct fabric *f, uint32_t from)
{
    unsigned *hops = g_new(unsigned, f->node_count);
    g_autofree uint32_t *queue = g_new(uint32_t, f->node_count);
    memset(hops, 0xff, f->node_count * sizeof *hops);
    uint32_t tail = 0;
    hops[from] = 0;
    queue[tail++] = from;
    for (uint32_t head = 0; head < tail; head++)
        for (unsigned p = 1; p <= f->nodes[queue[head]].nports; p++) {
            uint32_t peer = f->nodes[queue[head]].ports[p].peer_node;
            if (peer == FABRIC_NONE || hops[peer] != UINT_MAX)
                continue;
            hops[peer] = hops[queue[head]] + 1;
            queue[tail++] = peer;
        }
    return hops;
}

/* The most hops between two switches of a level. */
static unsigned diameter(const struct fabric *f, unsigned level)
{
    unsigned most = 0;
    for (uint32_t a = 0; a < f->node_count; a++) {
        if (f->nodes[a].type != FABRIC_SWITCH || (f->nodes[a].guid >> 32 & 0xff) != level)
            continue;
        g_autofree unsigned *hops = distances(f, a);
        for (uint32_t b = 0; b < f->node_count; b++)
            if (f->nodes[b].type == FABRIC_SWITCH && (f->nodes[b].guid >> 32 & 0xff) == level)
                most = MAX(most, hops[b]);
    }
    return most;
}

static void rails_without_cores(void **state)
{
    struct fabric *f = generate("rail:7:2:4:3:2:an"); /* groups of 4 and 3 hosts */
    assert_int_equal(fabric_count(f).switches, 4 + 3);
    assert_int_equal(f->nodes[node(f, "s1-00001")].nports, 4 + 3 * 2 + 1);
    assert_int_equal(f->nodes[node(f, "s2-00001")].nports, 4 * 2 + 1);
    assert_cable(f, "h00001-r1", 1, "s1-00001", 1);
    assert_cable(f, "h00001-r2", 1, "s1-00002", 1);
    assert_cable(f, "h00004-r2", 1, "s1-00002", 4);
    assert_cable(f, "h00005-r1", 1, "s1-00003", 1);
    assert_cable(f, "h00007-r2", 1, "s1-00004", 3);
    assert_cable(f, "s1-00002", 5, "s2-00001", 2); /* spine b at 1 + b + 3 k behind 4 hosts */
    assert_cable(f, "s1-00002", 8, "s2-00001", 6); /* leaf a at 1 + a + 4 k */
    assert_cable(f, "s1-00004", 10, "s2-00003", 8);
    assert_int_equal(f->nodes[node(f, "s1-00004")].ports[4].peer_node, FABRIC_NONE);
    const struct fabric_node *an = &f->nodes[f->nodes[node(f, "s2-00002")].ports[9].peer_node];
    assert_string_equal(an->desc, "Aggregation Node");
    assert_true(an->guid == 0x0248010200000200ull); /* a CA of level 2, the second */
    assert_true(f->nodes[node(f, "h00002-r2")].guid == 0x0248010000000400ull);
    assert_string_equal(f->nodes[7].desc, "h00001-r1");
    assert_string_equal(f->nodes[8].desc, "h00001-r2");
    fabric_destroy(f);
}

static void rails_with_cores(void **state)
{
    struct fabric *f = generate("rail:6:2:2:3:1:2:2"); /* 3 groups, 3 planes of 2 cores */
    assert_int_equal(fabric_count(f).switches, 6 + 6 + 6);
    assert_cable(f, "s1-00001", 3, "s2-00001", 1); /* rail 1 has spines 1 to 3 */
    assert_cable(f, "s1-00002", 3, "s2-00004", 1);
    assert_cable(f, "s1-00006", 5, "s2-00006", 3);
    assert_cable(f, "s2-00001", 4, "s3-00001", 1); /* behind 3 leaves; rail a at 1 + a + 2 k */
    assert_cable(f, "s2-00001", 5, "s3-00002", 1);
    assert_cable(f, "s2-00001", 6, "s3-00001", 3);
    assert_cable(f, "s2-00004", 4, "s3-00001", 2);
    assert_cable(f, "s2-00006", 7, "s3-00006", 4);
    assert_int_equal(diameter(f, 1), 4);
    fabric_destroy(f);
}

static void tori(void **state)
{
    struct fabric *f = generate("torus:3x4:2:2"); /* x first; ports 1 and 5 +x, 2 and 6 -x, .. */
    assert_cable(f, "s1-00001", 1, "s1-00002", 2);
    assert_cable(f, "s1-00001", 5, "s1-00002", 6);
    assert_cable(f, "s1-00001", 3, "s1-00004", 4);
    assert_cable(f, "s1-00003", 1, "s1-00001", 2); /* around */
    assert_cable(f, "s1-00012", 7, "s1-00003", 8);
    assert_cable(f, "h00001", 1, "s1-00001", 9);
    assert_cable(f, "h00004", 1, "s1-00002", 10);
    assert_int_equal(diameter(f, 1), 1 + 2);
    fabric_destroy(f);
    f = generate("torus:2x3:1"); /* a ring of 2 is closed by a second link */
    assert_cable(f, "s1-00001", 1, "s1-00002", 2);
    assert_cable(f, "s1-00001", 2, "s1-00002", 1);
    fabric_destroy(f);
    f = generate("torus:5x5x8:1");
    assert_int_equal(diameter(f, 1), 2 + 2 + 4);
    fabric_destroy(f);
}

static void meshes(void **state)
{
    struct fabric *f = generate("mesh:3x4:2");
    assert_cable(f, "s1-00001", 1, "s1-00002", 2);
    assert_cable(f, "s1-00009", 3, "s1-00012", 4);
    assert_int_equal(f->nodes[node(f, "s1-00003")].ports[1].peer_node, FABRIC_NONE);
    assert_int_equal(f->nodes[node(f, "s1-00001")].ports[2].peer_node, FABRIC_NONE);
    assert_int_equal(diameter(f, 1), 2 + 3);
    fabric_destroy(f);
    f = generate("mesh:2x2x2x2x2x2x2:1"); /* a hypercube */
    assert_int_equal(diameter(f, 1), 7);
    fabric_destroy(f);
}

/* All switches of a group are one hop apart, groups are one cable apart. */
static void dragonflies(void **state)
{
    struct fabric *f = generate("dragonfly:9:4:2:1");
    assert_cable(f, "s1-00001", 3, "s1-00002", 5); /* local ports 3 to 5: next, second, third */
    assert_cable(f, "s1-00004", 3, "s1-00001", 5);
    assert_cable(f, "s1-00001", 4, "s1-00003", 4);
    assert_cable(f, "s1-00001", 6, "s1-00008", 7); /* distance 1 at slot 0; 8 there at slot 7 */
    assert_cable(f, "s1-00001", 7, "s1-00024", 6); /* distance 5: slot 4; 4 there at slot 3 */
    assert_int_equal(diameter(f, 1), 3);
    fabric_destroy(f);
}

static void dragonflies_plus(void **state)
{
    struct fabric *f = generate("dragonfly+:3:4:2:3:2"); /* GLOBAL = SPINES: spine k to spine k */
    assert_cable(f, "s1-00001", 4, "s2-00001", 1);
    assert_cable(f, "s1-00004", 5, "s2-00002", 4);
    assert_cable(f, "s1-00005", 4, "s2-00003", 1);
    assert_cable(f, "s2-00001", 5, "s2-00003", 6);
    assert_cable(f, "s2-00002", 5, "s2-00004", 6);
    assert_cable(f, "s2-00001", 6, "s2-00005", 5);
    assert_cable(f, "h00013", 1, "s1-00005", 1);
    assert_int_equal(diameter(f, 1), 3); /* up, across, down */
    fabric_destroy(f);
    f = generate("dragonfly+:9:4:4:2:1"); /* each spine reaches two of the other groups */
    assert_int_equal(diameter(f, 1), 3);
    fabric_destroy(f);
}

/* The numbers are part of the interface: a seed names one fabric for ever. */
static void random_fabrics(void **state)
{
    struct fabric *f = generate("random:5:4:3:1"), *other = generate("random:5:4:3:2");
    unsigned differ = 0;
    for (uint32_t i = 0; i < f->node_count; i++)
        differ += f->nodes[i].nports != other->nodes[i].nports;
    assert_true(differ > 0);
    fabric_destroy(other);
    assert_cable(f, "h00001", 1, "s1-00003", 1);
    assert_cable(f, "h00002", 1, "s1-00004", 1);
    assert_cable(f, "h00003", 1, "s1-00003", 2);
    assert_cable(f, "h00004", 1, "s1-00003", 3);
    assert_cable(f, "s1-00001", 1, "s1-00002", 1); /* the tree */
    assert_cable(f, "s1-00002", 2, "s1-00003", 4);
    assert_cable(f, "s1-00003", 5, "s1-00004", 2);
    assert_cable(f, "s1-00002", 3, "s1-00005", 1);
    assert_cable(f, "s1-00003", 6, "s1-00005", 2); /* 7 cables in all */
    assert_cable(f, "s1-00003", 7, "s1-00005", 3);
    assert_cable(f, "s1-00002", 4, "s1-00005", 4);
    fabric_destroy(f);
    f = generate("random:2:504:2:3"); /* all ports of both */
    assert_int_equal(f->nodes[0].nports, FABRIC_MAX_PORTS);
    assert_int_equal(f->nodes[1].nports, FABRIC_MAX_PORTS);
    fabric_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rails_without_cores),
        cmocka_unit_test(rails_with_cores),
        cmocka_unit_test(tori),
        cmocka_unit_test(meshes),
        cmocka_unit_test(dragonflies),
        cmocka_unit_test(dragonflies_plus),
        cmocka_unit_test(random_fabrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
