/* SPDX-License-Identifier: BSD-2-Clause */
/* Union of shares = the unsplit result, for every engine that declares it, on all generators,
 * intact and damaged; and what those that do not can be held to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/generate.h"
#include "routing/check.h"
#include "routing/split.h"
#include "routing/testing.h"

static const unsigned part_counts[] = {1, 2, 3, 5, 64};

/* -- a split in this process ----------------------------------------------------------------- */

struct united {
    struct rt_split split;
    struct rt_union u;
    uint64_t entries;
};

static void unite(struct united *x, const char *engine, const struct rt_options *o,
                  const struct rt_plan *whole, unsigned parts)
{
    struct rt_graph *g = rt_plan_graph(whole) ? (struct rt_graph *)rt_plan_graph(whole) : NULL;
    size_t size = g->max_lid + 1u, bytes = size * g->switch_count + 1;
    rt_split_init(&x->split, rt_engine_find(engine), o, whole, parts);
    x->u = (struct rt_union){.rows = g_malloc(bytes), .row_size = size};
    x->u.sls = x->split.has_sls ? g_malloc0(bytes) : NULL;
    x->entries = 0;
    memset(x->u.rows, RT_NO_PATH, bytes);
    for (unsigned part = 0; part < parts; part++) {
        struct rt_plan *p;
        char error[256] = "";
        if (rt_split_prepare(&x->split, part, &p, error, sizeof error))
            fail_msg("%s", error);
        x->entries += rt_split_write(&x->split, part, p, &x->u);
        rt_plan_destroy(p);
    }
}

static void united_clear(struct united *x)
{
    g_free(x->u.rows);
    g_free(x->u.sls);
    rt_split_clear(&x->split);
}

static bool same_rows(const struct united *x, const struct rt_plan *whole)
{
    g_autofree uint8_t *tables = plan_tables(whole);
    return memcmp(tables, x->u.rows, x->u.row_size * rt_plan_graph(whole)->switch_count) == 0;
}

static void check_sls(const struct united *x, const struct rt_plan *whole)
{
    const struct rt_graph *g = rt_plan_graph(whole);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t d = 0; d < g->dest_count; d++) {
            unsigned lid = g->dests[d].lid, sl = rt_plan_sl_from(whole, s, d, 0);
            if (lid)
                assert_int_equal(x->u.sls ? x->u.sls[s * x->u.row_size + lid] : 0, sl);
        }
}

static void check_exact(const char *engine, struct rt_graph *g, unsigned vls)
{
    struct rt_options o = {.max_vls = vls};
    struct rt_plan *whole = plan_for_vls(engine, g, vls);
    for (unsigned i = 0; i < G_N_ELEMENTS(part_counts); i++) {
        struct united x;
        unite(&x, engine, &o, whole, part_counts[i]);
        assert_true(rt_split_is_exact(x.split.way));
        assert_true(same_rows(&x, whole));
        check_sls(&x, whole);
        assert_true(x.entries > 0 || g->max_lid == 0);
        united_clear(&x);
    }
    rt_plan_destroy(whole);
}

/* -- exact ones ------------------------------------------------------------------------------ */

static const char *const by_rows[] = {"ftree", "updn", "dnup", "minhop", "dor", NULL};
static const unsigned lanes[] = {1, 2, 3, 4, 8};

static void check_all_exact(struct rt_graph *g)
{
    for (const char *const *name = by_rows; *name; name++)
        check_exact(*name, g, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(lanes); i++)
        check_exact("nue", g, lanes[i]);
}

static void test_random_models(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261212));
    for (unsigned round = 0; round < 25; round++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        check_all_exact(g);
        rt_graph_unref(g);
        model_destroy(m);
    }
    g_rand_free(rand);
}

static void remove_links(struct fabric *f, double probability, uint32_t seed)
{
    GRand *rand = g_rand_new_with_seed(seed);
    for (uint32_t n = 0; n < f->node_count; n++)
        for (unsigned p = 1; p <= f->nodes[n].nports; p++) {
            uint32_t peer = f->nodes[n].ports[p].peer_node;
            if (peer != FABRIC_NONE && peer > n && f->nodes[n].type == FABRIC_SWITCH &&
                f->nodes[peer].type == FABRIC_SWITCH && g_rand_double(rand) < probability)
                fabric_disconnect(f, n, p);
        }
    g_rand_free(rand);
}

/* Of `spec` without so many of its links. */
static struct rt_graph *generate(const char *spec, double probability, uint32_t seed)
{
    char error[256] = "";
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    struct rt_graph *g = NULL;
    if (!f)
        fail_msg("%s: %s", spec, error);
    remove_links(f, probability, seed);
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    fabric_destroy(f);
    return g;
}

static const char *const specs[] = {
    "pgft:2:4,6:1,3:1,2", "pgft:3:2,4,3:1,2,2:1,1,1", "rail:6:4:3:2:2:1:1:an", "torus:3x4:2",
    "mesh:3x3x2:1",       "dragonfly:5:3:2:1",        "dragonfly+:3:2:2:3:2",  "random:20:40:4:7",
};

static void test_generated_fabrics(void **state)
{
    uint32_t seed = test_seed(20261213);
    for (unsigned i = 0; i < G_N_ELEMENTS(specs); i++)
        for (unsigned faults = 0; faults < 4; faults++) {
            struct rt_graph *g = generate(specs[i], 0.05 * faults, seed + faults);
            check_all_exact(g);
            rt_graph_unref(g);
        }
}

/* -- those that do not split exactly ---------------------------------------------------------- */

static void check_finished(struct united *x, const struct rt_plan *whole, unsigned parts)
{
    struct rt_plan *p;
    char error[256] = "";
    if (rt_split_finish(&x->split, &x->u, &p, error, sizeof error)) {
        assert_non_null(strstr(error, "virtual lanes"));
        assert_true(parts > 1); /* as many as the whole needs are allowed */
        return;
    }
    struct rt_check_result r;
    bool promised = rt_plan_properties(whole).vls > 0;
    bool good = rt_check_plan(p, &r, NULL, 0);
    assert_true(good || !promised);
    assert_int_equal(r.unreachable + r.loops + r.dead_ports + r.bad_lanes, 0);
    g_autofree uint8_t *rows = plan_tables(p);
    const struct rt_graph *g = rt_plan_graph(p);
    assert_memory_equal(rows, x->u.rows, x->u.row_size * g->switch_count);
    for (uint32_t s = 0; parts == 1 && s < g->switch_count; s++)
        for (uint32_t d = 0; d < g->dest_count; d++)
            assert_int_equal(rt_plan_sl_from(p, s, d, 0), rt_plan_sl_from(whole, s, d, 0));
    rt_plan_destroy(p);
}

/* One worker makes what the engine makes; several make tables without a flaw, too. */
static unsigned check_columns(const char *engine, struct rt_graph *g)
{
    struct rt_options o = {.max_vls = 15};
    struct rt_plan *whole = plan_for_vls(engine, g, 15);
    unsigned differing = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(part_counts); i++) {
        struct united x;
        unite(&x, engine, &o, whole, part_counts[i]);
        assert_int_equal(x.split.way, RT_SPLIT_COLUMNS);
        assert_false(rt_split_is_exact(x.split.way));
        bool same = same_rows(&x, whole);
        assert_true(same || part_counts[i] > 1);
        differing += !same;
        check_finished(&x, whole, part_counts[i]);
        united_clear(&x);
    }
    rt_plan_destroy(whole);
    return differing;
}

static void test_columns(void **state)
{
    static const char *const engines[] = {"sssp", "dfsssp", "lash"};
    uint32_t seed = test_seed(20261214);
    unsigned differing = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(specs); i++)
        for (unsigned k = 0; k < 2 * G_N_ELEMENTS(engines); k++) {
            struct rt_graph *g = generate(specs[i], k % 2 ? 0.1 : 0, seed);
            differing += check_columns(engines[k / 2], g);
            rt_graph_unref(g);
        }
    assert_true(differing > 0); /* if this fails, sssp may be declared to split exactly */
}

/* The layers of the union may be more than are allowed: an error, not tables that lie. */
static void test_too_few_lanes(void **state)
{
    struct rt_graph *g = generate("torus:5x5:1", 0, 0);
    struct rt_options o = {.max_vls = 15};
    struct rt_plan *whole = plan_for_vls("dfsssp", g, 15), *p;
    assert_true(rt_plan_properties(whole).vls > 1);
    struct united x;
    char error[256] = "";
    unite(&x, "dfsssp", &o, whole, 2);
    x.split.options.max_vls = 1;
    assert_int_equal(rt_split_finish(&x.split, &x.u, &p, error, sizeof error), ENOTSUP);
    assert_non_null(strstr(error, "dfsssp together need more than 1 virtual lanes"));
    assert_null(p);
    united_clear(&x);
    rt_plan_destroy(whole);
    rt_graph_unref(g);
}

/* -- shares of nue ---------------------------------------------------------------------------- */

/* Share i of n holds exactly the columns with SL v, v % n == i; the rest has no entry. */
static void test_shares_of_nue(void **state)
{
    struct rt_graph *g = generate("torus:4x4:2", 0, 0);
    for (unsigned part = 0; part < 5; part++) {
        struct rt_options o = {.max_vls = 4, .part = part, .parts = 3};
        struct rt_plan *p;
        char error[256];
        assert_int_equal(rt_engine_find("nue")->prepare(g, &o, &p, error, sizeof error), 0);
        g_autofree uint8_t *rows = plan_tables(p);
        for (uint32_t s = 0; s < g->switch_count; s++)
            for (uint32_t d = 0; d < g->dest_count; d++) {
                bool mine = rt_plan_sl_from(p, s, d, 0) % 3 == part;
                unsigned lid = g->dests[d].lid;
                if (g->dests[d].sw == s)
                    continue;
                assert_int_equal(rows[s * (g->max_lid + 1u) + lid] != RT_NO_PATH, mine);
                assert_int_equal(rt_plan_next_hop(p, s, lid) != RT_NO_PATH, mine);
            }
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
}

/* An engine that declares nothing is not split. */
static void test_refusal(void **state)
{
    struct rt_graph *g = generate("torus:3x3:1", 0, 0);
    struct rt_plan *whole = plan_for("sssp", g), *p;
    struct rt_engine stranger = *rt_engine_find("sssp");
    stranger.name = "stranger";
    struct rt_split s;
    char error[256] = "";
    rt_split_init(&s, &stranger, NULL, whole, 2);
    assert_int_equal(s.way, RT_SPLIT_NONE);
    assert_int_equal(rt_split_prepare(&s, 0, &p, error, sizeof error), ENOTSUP);
    assert_non_null(strstr(error, "stranger cannot be split"));
    rt_split_clear(&s);
    rt_plan_destroy(whole);
    rt_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_models), cmocka_unit_test(test_generated_fabrics),
        cmocka_unit_test(test_columns),       cmocka_unit_test(test_too_few_lanes),
        cmocka_unit_test(test_shares_of_nue), cmocka_unit_test(test_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
