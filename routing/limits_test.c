/* SPDX-License-Identifier: BSD-2-Clause */
/* The largest switches and LIDs that there can be: radix 254, all ports in use, LIDs up to 49,151.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>

#include "routing/check.h"
#include "routing/testing.h"

#define RADIX 254u
#define SPINES 63u
#define HOSTS (RADIX - SPINES) /* a leaf */

/* A leaf for each port of the spines; LIDs from the last downwards. */
static struct rt_graph *make_largest(void)
{
    struct rt_builder *b = rt_builder_create();
    struct rt_graph *g;
    uint16_t lid = RT_MAX_LID;
    for (unsigned i = 0; i < RADIX + SPINES; i++)
        assert_int_equal(rt_add_switch(b, 0x1000 + i, RADIX, lid--, 0), 0);
    for (unsigned l = 0; l < RADIX; l++) {
        for (unsigned s = 0; s < SPINES; s++)
            assert_int_equal(rt_add_link(b, 0x1000 + l, HOSTS + 1 + s, 0x1000 + RADIX + s, l + 1),
                             0);
        for (unsigned h = 0; h < HOSTS; h++)
            assert_int_equal(rt_add_dest(b, 0x1000 + l, h + 1, 0x100000 + l * RADIX + h, lid--, 0,
                                         RT_DEST_HOST, true),
                             0);
    }
    assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
    return g;
}

/* Two switches with 253 links between them, and one host each. */
static struct rt_graph *make_widest(void)
{
    struct rt_builder *b = rt_builder_create();
    struct rt_graph *g;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(rt_add_switch(b, 0x1000 + i, RADIX, RT_MAX_LID - i, 0), 0);
        assert_int_equal(
            rt_add_dest(b, 0x1000 + i, RADIX, 0x2000 + i, 1 + 128 * i, 7, RT_DEST_HOST, true), 0);
    }
    for (unsigned p = 1; p < RADIX; p++)
        assert_int_equal(rt_add_link(b, 0x1000, p, 0x1001, p), 0);
    assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
    return g;
}

static void check(struct rt_graph *g)
{
    static const char *const engines[] = {"ftree", "updn", "minhop"};
    assert_int_equal(g->max_lid, RT_MAX_LID);
    for (unsigned i = 0; i < G_N_ELEMENTS(engines); i++) {
        struct rt_plan *p = plan_for(engines[i], g);
        struct rt_check_result r;
        rt_check_plan(p, &r, NULL, 0); /* minhop promises nothing about credit loops */
        assert_int_equal(r.unreachable + r.disconnected + r.loops + r.dead_ports, 0);
        assert_true(r.pairs > 0);
        assert_true(rt_plan_properties(p).vls == 0 || r.credit_loop_channels == 0);
        assert_int_equal(rt_plan_unreachable(p, NULL, 0), 0);
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
}

static void test_largest_tree(void **state)
{
    check(make_largest());
}

static void test_widest_group(void **state)
{
    check(make_widest());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_largest_tree),
        cmocka_unit_test(test_widest_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
