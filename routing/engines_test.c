/* SPDX-License-Identifier: BSD-2-Clause */
/* nue, sssp, dfsssp, lash, minhop, dor and dnup, and the set of dependencies that keeps them free
 * of cycles, on random fabrics of all shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "routing/acyclic.h"
#include "routing/check.h"
#include "routing/testing.h"

/* -- acyclic.h against a search from scratch ------------------------------------------------- */

struct naive {
    const struct rt_graph *g;
    uint8_t *waits; /* group_count x group_count */
};

static bool leads_to(const struct naive *n, uint32_t from, uint32_t to, bool *seen)
{
    if (from == to)
        return true;
    seen[from] = true;
    for (uint32_t next = 0; next < n->g->group_count; next++)
        if (n->waits[from * n->g->group_count + next] && !seen[next] && leads_to(n, next, to, seen))
            return true;
    return false;
}

static void add_at_random(struct rt_acyclic *a, struct naive *n, GRand *rand, unsigned *refused)
{
    const struct rt_graph *g = n->g;
    uint32_t c = g_rand_int_range(rand, 0, g->group_count);
    const struct rt_switch *next = &g->switches[g->groups[c].peer];
    unsigned slot = g_rand_int_range(rand, 0, next->group_count);
    uint32_t to = next->first_group + slot;
    g_autofree bool *seen = g_new0(bool, g->group_count);
    bool good = !leads_to(n, to, c, seen);
    assert_int_equal(rt_acyclic_add(a, c, slot), good);
    if (good)
        n->waits[c * g->group_count + to] = 1;
    else
        (*refused)++;
}

static void go_back(struct rt_acyclic *a, struct naive *n, GRand *rand)
{
    const struct rt_graph *g = n->g;
    guint mark = g_rand_int_range(rand, 0, a->journal->len + 1);
    for (guint i = mark; i < a->journal->len; i++) {
        const struct rt_dependency *d = &g_array_index(a->journal, struct rt_dependency, i);
        uint32_t to = g->switches[g->groups[d->channel].peer].first_group + d->slot;
        n->waits[d->channel * g->group_count + to] = 0;
    }
    rt_acyclic_back(a, mark);
    rt_acyclic_forget_refused(a);
}

static void test_acyclic(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261202));
    unsigned refused = 0, rounds = 0;
    while (rounds < 60) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        g_autofree uint32_t *reverse = rt_reverse_channels(g);
        for (uint32_t c = 0; c < g->group_count; c++) {
            assert_int_equal(reverse[reverse[c]], c);
            assert_int_equal(g->groups[reverse[reverse[c]]].peer, g->groups[c].peer);
        }
        struct rt_acyclic a;
        rt_acyclic_init(&a, g, reverse);
        struct naive n = {g, g_malloc0((size_t)g->group_count * g->group_count + 1)};
        for (unsigned i = 0; g->group_count > 0 && i < 400; i++) {
            if (i % 97 == 96)
                go_back(&a, &n, rand);
            add_at_random(&a, &n, rand, &refused);
        }
        rounds += g->group_count > 0;
        g_free(n.waits);
        rt_acyclic_clear(&a);
        rt_graph_unref(g);
        model_destroy(m);
    }
    printf("refused %u\n", refused);
    assert_true(refused > 200);
    g_rand_free(rand);
}

/* -- engines -------------------------------------------------------------------------------- */

static const char *const engines[] = {"nue", "dfsssp", "lash", "sssp", "minhop", "dor", "dnup"};

static void check_plan(struct rt_plan *p, unsigned vls)
{
    struct rt_check_result r;
    unsigned used = rt_plan_properties(p).vls;
    bool good = rt_check_plan(p, &r, NULL, 0);
    if (!good && used > 0)
        rt_check_plan(p, &r, stdout, 3);
    assert_true(good || used == 0);
    assert_true(used <= vls);
    assert_int_equal(r.unreachable + r.loops + r.dead_ports, 0);
    assert_int_equal(r.disconnected > 0, rt_plan_unreachable(p, NULL, 0) > 0);
}

/* Rows, single entries and the order of building tell the same. */
static void check_rows(struct model *m, const struct rt_graph *g, struct rt_plan *p,
                       const char *engine, unsigned vls, uint32_t seed)
{
    struct rt_graph *shuffled = model_build(m, seed | 1, NULL, NULL);
    struct rt_plan *q = plan_for_vls(engine, shuffled, vls);
    g_autofree uint8_t *tables = plan_tables(p), *others = plan_tables(q);
    size_t size = g->max_lid + 1u;
    assert_memory_equal(tables, others, size * g->switch_count);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t d = 0; d < g->dest_count; d++) {
            const struct rt_dest *dest = &g->dests[d];
            assert_int_equal(rt_plan_sl_from(p, s, d, 0), rt_plan_sl_from(q, s, d, 0));
            if (dest->lid && dest->sw != s)
                assert_int_equal(tables[s * size + dest->lid], rt_plan_next_hop(p, s, dest->lid));
        }
    rt_plan_destroy(q);
    rt_graph_unref(shuffled);
}

static void test_random_fabrics(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261203));
    for (unsigned round = 0; round < 300; round++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        for (unsigned i = 0; i < G_N_ELEMENTS(engines); i++) {
            unsigned vls = i == 0 ? 1 + round % 5 : 15;
            struct rt_plan *p = plan_for_vls(engines[i], g, vls);
            check_plan(p, vls);
            check_rows(m, g, p, engines[i], vls, g_rand_int(rand));
            rt_plan_destroy(p);
        }
        rt_graph_unref(g);
        model_destroy(m);
    }
    g_rand_free(rand);
}

static void run_backwards(void *pool, unsigned count, void (*job)(void *context, unsigned index),
                          void *context)
{
    (*(unsigned *)pool)++;
    while (count-- > 0)
        job(context, count);
}

/* The parts of nue do not look at each other. */
static void test_nue_parts_in_any_order(void **state)
{
    struct model *m = model_tree(6, 3, 2, 5);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for_vls("nue", g, 4), *q;
    unsigned calls = 0;
    struct rt_options options = {.max_vls = 4, .parallel = run_backwards, .pool = &calls};
    char error[256];
    assert_int_equal(rt_engine_find("nue")->prepare(g, &options, &q, error, sizeof error), 0);
    assert_int_equal(calls, 1);
    g_autofree uint8_t *a = plan_tables(p), *b = plan_tables(q);
    assert_memory_equal(a, b, (g->max_lid + 1u) * g->switch_count);
    unsigned lanes = 0;
    for (uint32_t d = 0; d < g->dest_count; d++) {
        assert_int_equal(rt_plan_sl_from(p, 0, d, 0), rt_plan_sl_from(q, 0, d, 0));
        lanes |= 1u << rt_plan_sl_from(p, 0, d, 0);
    }
    assert_int_equal(lanes, 0xf);
    rt_plan_destroy(p);
    rt_plan_destroy(q);
    rt_graph_unref(g);
    model_destroy(m);
}

/* A ring of seven with shortest paths has a credit loop on one lane. */
static void test_lanes_run_out(void **state)
{
    struct model *m = model_create();
    for (unsigned i = 0; i < 7; i++)
        model_add_switch(m, 0x10 + i);
    for (unsigned i = 0; i < 7; i++)
        model_cable(m, i, (i + 1) % 7, 1);
    for (unsigned i = 0; i < 7; i++)
        model_add_dest(m, i, RT_DEST_HOST, 0);
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    static const char *const layered[] = {"dfsssp", "lash"};
    for (unsigned i = 0; i < 2; i++) {
        struct rt_options options = {.max_vls = 1};
        struct rt_plan *p = NULL;
        char error[256] = "";
        assert_int_equal(rt_engine_find(layered[i])->prepare(g, &options, &p, error, sizeof error),
                         ENOTSUP);
        assert_non_null(strstr(error, "more than 1 virtual lane"));
        assert_null(p);
        p = plan_for_vls(layered[i], g, 2);
        assert_int_equal(rt_plan_properties(p).vls, 2);
        check_plan(p, 2);
        rt_plan_destroy(p);
    }
    struct rt_plan *p = plan_for("nue", g);
    check_plan(p, 1);
    rt_plan_destroy(p);
    p = plan_for("sssp", g);
    struct rt_check_result r;
    assert_false(rt_check_plan(p, &r, NULL, 0));
    assert_true(r.credit_loop_channels > 0);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    model_destroy(m);
}

/* dor on a mesh whose cables use the same ports in each dimension, and on the torus of it. */
static void test_dor(void **state)
{
    for (int torus = 0; torus < 2; torus++) {
        struct rt_builder *b = rt_builder_create();
        for (unsigned i = 0; i < 25; i++)
            assert_int_equal(rt_add_switch(b, 0x100 + i, 8, 1 + i, 0), 0);
        for (unsigned i = 0; i < 25; i++) {
            unsigned x = i % 5, y = i / 5, right = y * 5 + (x + 1) % 5, up = (y + 1) % 5 * 5 + x;
            if (torus || x < 4)
                assert_int_equal(rt_add_link(b, 0x100 + i, 1, 0x100 + right, 2), 0);
            if (torus || y < 4)
                assert_int_equal(rt_add_link(b, 0x100 + i, 3, 0x100 + up, 4), 0);
        }
        struct rt_graph *g;
        assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
        struct rt_plan *p = plan_for("dor", g);
        assert_int_equal(rt_plan_properties(p).vls, !torus);
        check_plan(p, 1);
        if (!torus) /* first all the way along x: from (0,0) to (2,3) by port 1, 1, then 3 */
            assert_int_equal(rt_plan_next_hop(p, 1, 1 + 17), 1);
        rt_plan_destroy(p);
        rt_graph_unref(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acyclic),
        cmocka_unit_test(test_random_fabrics),
        cmocka_unit_test(test_nue_parts_in_any_order),
        cmocka_unit_test(test_lanes_run_out),
        cmocka_unit_test(test_dor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
