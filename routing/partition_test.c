/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of switches: even, the same whatever the order of building, pods whole where there are
 * some, and few links between parts where METIS cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "fabric/generate.h"
#include "routing/partition.h"
#include "routing/testing.h"

static struct rt_graph *generate(const char *spec)
{
    char error[256] = "";
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    struct rt_graph *g = NULL;
    if (!f)
        fail_msg("%s: %s", spec, error);
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    fabric_destroy(f);
    return g;
}

static uint64_t sum_of(const struct rt_graph *g, const uint32_t *weight, const uint32_t *part,
                       unsigned which)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        sum += part[s] == which ? (weight ? weight[s] : 1) : 0;
    return sum;
}

/* What the header promises of any cut. */
static void check_parts(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                        const uint32_t *part)
{
    uint64_t total = 0, heaviest = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        assert_true(part[s] < parts);
        total += weight ? weight[s] : 1;
        heaviest = MAX(heaviest, weight ? weight[s] : 1);
    }
    unsigned empty = 0;
    for (unsigned i = 0; i < parts; i++) {
        uint64_t sum = sum_of(g, weight, part, i);
        assert_true(sum <= total * 110 / 100 / parts + heaviest);
        empty += sum == 0;
    }
    if (!weight && g->switch_count >= parts)
        assert_int_equal(empty, 0);
}

static uint32_t links_between(const struct rt_graph *g, const uint32_t *part)
{
    uint32_t cut = 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t i = 0; i < g->switches[s].group_count; i++) {
            const struct rt_group *group = &g->groups[g->switches[s].first_group + i];
            cut += part[group->peer] != part[s] ? group->link_count : 0;
        }
    return cut / 2;
}

static const unsigned part_counts[] = {1, 2, 3, 5, 8, 64};

static void test_random_fabrics(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261211));
    for (unsigned round = 0; round < 150; round++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        struct rt_graph *shuffled = model_build(m, 1 + round, NULL, NULL);
        g_autofree uint32_t *weight = g_new(uint32_t, g->switch_count + 1);
        g_autofree uint32_t *a = g_new(uint32_t, g->switch_count + 1);
        g_autofree uint32_t *b = g_new(uint32_t, g->switch_count + 1);
        for (uint32_t s = 0; s < g->switch_count; s++)
            weight[s] = g_rand_int_range(rand, 0, 40);
        for (unsigned i = 0; i < 2 * G_N_ELEMENTS(part_counts); i++) {
            unsigned parts = part_counts[i / 2];
            const uint32_t *w = i % 2 ? weight : NULL;
            rt_partition(g, w, parts, a);
            check_parts(g, w, parts, a);
            rt_partition(shuffled, w, parts, b);
            assert_memory_equal(a, b, g->switch_count * sizeof *a);
            rt_partition_line(g, w, parts, a);
            check_parts(g, w, parts, a);
        }
        rt_graph_unref(g);
        rt_graph_unref(shuffled);
        model_destroy(m);
    }
    g_rand_free(rand);
}

/* See fabric/generate.h. */
static unsigned level_of(const struct rt_graph *g, uint32_t s)
{
    return g->switches[s].guid >> 32 & 0xff;
}

/* 8 pods of 8 + 4 switches under 16 tops: no link inside a pod is cut. */
static void test_pods_stay_whole(void **state)
{
    struct rt_graph *g = generate("pgft:3:4,8,8:1,4,4:1,1,1");
    uint32_t part[8 * 12 + 16];
    assert_int_equal(g->switch_count, G_N_ELEMENTS(part));
    for (unsigned parts = 2; parts <= 8; parts *= 2) {
        assert_int_equal(rt_partition(g, NULL, parts, part), RT_PARTITION_PODS);
        for (unsigned i = 0; i < parts; i++)
            assert_int_equal(sum_of(g, NULL, part, i), g->switch_count / parts);
        for (uint32_t s = 0; s < g->switch_count; s++)
            for (uint32_t i = 0; i < g->switches[s].group_count; i++) {
                uint32_t peer = g->groups[g->switches[s].first_group + i].peer;
                if (level_of(g, s) < 3 && level_of(g, peer) < 3)
                    assert_int_equal(part[peer], part[s]);
            }
    }
    rt_graph_unref(g);
}

/* More parts than pods, or a pod that outweighs the rest: still even. */
static void test_more_parts_than_pods(void **state)
{
    struct rt_graph *g = generate("pgft:3:4,8,8:1,4,4:1,1,1");
    g_autofree uint32_t *part = g_new(uint32_t, g->switch_count);
    assert_int_not_equal(rt_partition(g, NULL, 24, part), RT_PARTITION_PODS);
    check_parts(g, NULL, 24, part);
    rt_graph_unref(g);
}

static void test_metis_where_no_pods_are(void **state)
{
    static const char *const specs[] = {"torus:6x6x4:2", "mesh:8x8:2", "dragonfly:9:4:2:1",
                                        "dragonfly+:9:8:8:4:8", "random:90:300:6:1"};
    unsigned by_metis = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(specs); i++) {
        struct rt_graph *g = generate(specs[i]);
        g_autofree uint32_t *a = g_new(uint32_t, g->switch_count);
        g_autofree uint32_t *line = g_new(uint32_t, g->switch_count);
        for (unsigned parts = 2; parts <= 8; parts++) {
            enum rt_partition_way way = rt_partition(g, NULL, parts, a);
            check_parts(g, NULL, parts, a);
            rt_partition_line(g, NULL, parts, line);
            print_message("%s in %u: way %d cuts %u links, the line %u\n", specs[i], parts, way,
                          links_between(g, a), links_between(g, line));
            by_metis += way == RT_PARTITION_METIS;
            assert_true(links_between(g, a) <= links_between(g, line));
        }
        rt_graph_unref(g);
    }
    assert_true(by_metis >= 30); /* of 35 */
}

/* Nothing at all, one switch, and switches without links. */
static void test_small_ones(void **state)
{
    for (unsigned count = 0; count < 4; count++) {
        struct model *m = model_create();
        for (unsigned i = 0; i < count; i++)
            model_add_switch(m, 0x10 + i);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        uint32_t part[4] = {9, 9, 9, 9}, none[4] = {0};
        for (unsigned i = 0; i < G_N_ELEMENTS(part_counts); i++) {
            assert_int_equal(rt_partition(g, NULL, part_counts[i], part), RT_PARTITION_LINE);
            check_parts(g, NULL, part_counts[i], part);
            rt_partition_line(g, none, part_counts[i], part);
            for (unsigned s = 0; s < count; s++)
                assert_int_equal(part[s], 0);
            assert_int_equal(part[3], 9); /* not written */
            assert_false(rt_partition_metis(g, NULL, part_counts[i], part));
        }
        rt_graph_unref(g);
        model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_fabrics),       cmocka_unit_test(test_pods_stay_whole),
        cmocka_unit_test(test_more_parts_than_pods), cmocka_unit_test(test_metis_where_no_pods_are),
        cmocka_unit_test(test_small_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
