/* SPDX-License-Identifier: BSD-2-Clause */
/* The builder: errors, the order of things, LIDs, numbers, graphs from fabrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/generate.h"
#include "routing/testing.h"

static void test_refuses_nonsense(void **state)
{
    struct rt_builder *b = rt_builder_create();
    assert_int_equal(rt_add_switch(b, 0, 4, 1, 0), EINVAL);
    assert_int_equal(rt_add_switch(b, 1, 0, 1, 0), EINVAL);
    assert_int_equal(rt_add_switch(b, 1, 255, 1, 0), EINVAL);
    assert_int_equal(rt_add_switch(b, 1, 4, RT_MAX_LID + 1, 0), ERANGE);
    assert_int_equal(rt_add_switch(b, 1, 4, RT_MAX_LID, 1), ERANGE);
    assert_int_equal(rt_add_switch(b, 1, 4, 1, 8), ERANGE);
    assert_int_equal(rt_add_switch(b, 1, 4, RT_MAX_LID, 0), 0);
    assert_int_equal(rt_add_switch(b, 1, 4, 2, 0), EEXIST);
    assert_int_equal(rt_add_switch(b, 2, 4, 0, 0), 0);
    assert_int_equal(rt_add_link(b, 1, 0, 2, 1), EINVAL);
    assert_int_equal(rt_add_link(b, 1, 1, 2, 5), EINVAL);
    assert_int_equal(rt_add_link(b, 1, 1, 3, 1), EINVAL);
    assert_int_equal(rt_add_link(b, 1, 1, 2, 1), 0);
    assert_int_equal(rt_add_link(b, 1, 1, 2, 2), EEXIST);
    assert_int_equal(rt_add_link(b, 1, 2, 1, 3), 0); /* a self-loop */
    assert_int_equal(rt_add_dest(b, 1, 2, 9, 3, 0, RT_DEST_HOST, true), EEXIST);
    assert_int_equal(rt_add_dest(b, 1, 0, 9, 3, 0, RT_DEST_HOST, true), EINVAL);
    assert_int_equal(rt_add_dest(b, 1, 4, 0, 3, 0, RT_DEST_HOST, true), EINVAL);
    assert_int_equal(rt_add_dest(b, 1, 4, 9, 3, 0, RT_DEST_SWITCH, true), EINVAL);
    assert_int_equal(rt_add_dest(b, 1, 4, 9, RT_MAX_LID, 1, RT_DEST_HOST, true), ERANGE);
    assert_int_equal(rt_add_dest(b, 1, 4, 9, 3, 0, RT_DEST_HOST, true), 0);
    assert_int_equal(rt_add_number(b, 3, 1, 1), EINVAL);
    assert_int_equal(rt_add_number(b, 1, 1, RT_MAX_NUMBER), ERANGE);
    struct rt_graph *g;
    assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
    assert_int_equal(g->link_count, 2);
    assert_int_equal(g->max_lid, RT_MAX_LID);
    rt_graph_unref(g);
    rt_builder_destroy(NULL);
    rt_graph_unref(NULL);
}

static void test_refuses_duplicate_lids(void **state)
{
    struct rt_builder *b = rt_builder_create();
    rt_add_switch(b, 1, 8, 9, 0);
    rt_add_dest(b, 1, 1, 11, 4, 2, RT_DEST_HOST, true); /* 4 to 7 */
    rt_add_dest(b, 1, 2, 12, 7, 0, RT_DEST_HOST, false);
    uint16_t duplicate = 0;
    struct rt_graph *g = NULL;
    assert_int_equal(rt_builder_finish(b, &g, &duplicate), EEXIST);
    assert_int_equal(duplicate, 7);
    assert_null(g);
}

static void test_order(void **state)
{
    struct model *m = model_create();
    uint32_t a = model_add_switch(m, 30), b = model_add_switch(m, 10), c = model_add_switch(m, 20);
    model_cable(m, a, c, 2);
    model_cable(m, a, b, 1);
    model_cable(m, c, a, 1);
    model_add_dest(m, c, RT_DEST_HOST, 1);
    model_add_dest(m, a, RT_DEST_ROUTER, 0);
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    assert_int_equal(g->switches[0].guid, 10);
    assert_int_equal(g->switches[2].guid, 30);
    const struct rt_switch *s = &g->switches[2];
    assert_int_equal(s->group_count, 2);
    assert_int_equal(g->groups[s->first_group].peer, 0);
    const struct rt_group *group = &g->groups[s->first_group + 1];
    assert_int_equal(group->peer, 1);
    assert_int_equal(group->link_count, 3);
    assert_int_equal(g->links[group->first_link].port, 1);
    assert_int_equal(g->links[group->first_link + 2].port, 4);
    assert_int_equal(g->dests[s->first_dest].port, 0);
    assert_int_equal(g->dests[s->first_dest + 1].kind, RT_DEST_ROUTER);
    assert_int_equal(rt_find_switch(g, 20), 1);
    assert_int_equal(rt_find_switch(g, 21), RT_NONE);
    uint16_t lid = model_dest(m, 0)->lid;
    uint32_t d = rt_find_dest_by_guid(g, model_dest(m, 0)->guid);
    assert_int_equal(g->dests[d].lid, lid);
    assert_int_equal(rt_find_dest_by_lid(g, lid), d);
    assert_int_equal(rt_find_dest_by_lid(g, lid + 1), d);
    assert_int_not_equal(rt_find_dest_by_lid(g, lid + 2), d);
    assert_int_equal(rt_find_dest_by_lid(g, 0), RT_NONE);
    assert_int_equal(rt_find_dest_by_lid(g, 0xFFFF), RT_NONE);
    rt_graph_unref(g);
    model_destroy(m);
}

static void test_digest(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(7));
    for (unsigned round = 0; round < 50; round++) {
        struct model *m = model_random(rand);
        uint8_t first[32], other[32];
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        rt_graph_digest(g, first);
        for (uint32_t seed = 1; seed < 4; seed++) {
            struct rt_graph *again = model_build(m, seed, NULL, NULL);
            rt_graph_digest(again, other);
            assert_memory_equal(first, other, 32);
            rt_graph_unref(again);
        }
        model_number(m, 12345 + round);
        struct rt_graph *changed = model_build(m, 0, NULL, NULL);
        rt_graph_digest(changed, other);
        bool same_lids = true;
        for (uint32_t d = 0; d < g->dest_count; d++)
            same_lids &= g->dests[d].lid == changed->dests[d].lid;
        assert_int_equal(memcmp(first, other, 32) == 0, same_lids);
        rt_graph_unref(changed);
        rt_graph_unref(g);
        model_destroy(m);
    }
    g_rand_free(rand);
}

static void test_from_fabric(void **state)
{
    char error[200];
    struct fabric *f = fabric_generate("pgft:2:4,3:1,2:1,1", error, sizeof error);
    assert_non_null(f);
    uint32_t an = fabric_add_node(f, 0xA0, FABRIC_CA, 1, "Mellanox AGGREGATION Node");
    uint32_t leaf = fabric_find_desc(f, "s1-00001");
    assert_true(an != FABRIC_NONE && leaf != FABRIC_NONE);
    bool cabled = false;
    for (unsigned p = 1; p <= f->nodes[leaf].nports && !cabled; p++)
        cabled = fabric_connect(f, leaf, p, an, 1) == 0;
    struct rt_graph *g;
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    assert_int_equal(g->switch_count, 5);
    assert_int_equal(g->link_count, 12);
    assert_int_equal(g->dest_count, 5 + 12 + cabled);
    assert_int_equal(g->max_lid, g->dest_count); /* dense */
    unsigned aggregation = 0;
    for (uint32_t d = 0; d < g->dest_count; d++) {
        aggregation += g->dests[d].kind == RT_DEST_AGGREGATION;
        assert_true(g->dests[d].kind != RT_DEST_SWITCH || g->dests[d].lid <= g->switch_count);
    }
    assert_int_equal(aggregation, cabled);
    rt_graph_unref(g);
    fabric_destroy(f);
}

static void test_empty(void **state)
{
    struct rt_graph *g;
    assert_int_equal(rt_builder_finish(rt_builder_create(), &g, NULL), 0);
    assert_int_equal(g->switch_count + g->dest_count + g->max_lid, 0);
    for (const char *const *name = updown_engines; *name; name++) {
        struct rt_plan *p = plan_for(*name, g);
        assert_int_equal(rt_plan_next_hop(p, 0, 1), RT_NO_PATH);
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_nonsense),
        cmocka_unit_test(test_refuses_duplicate_lids),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_from_fabric),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
