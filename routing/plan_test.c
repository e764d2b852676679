/* SPDX-License-Identifier: BSD-2-Clause */
/* What both engines promise: rows are a pure function of the graph, whatever the LIDs and the order
 * of insertion; hosts that come and go move nobody; odd fabrics are served. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "routing/check.h"
#include "routing/testing.h"

static void assert_good(const struct rt_plan *p)
{
    struct rt_check_result r;
    if (rt_check_plan(p, &r, NULL, 0))
        return;
    rt_check_plan(p, &r, stdout, 3);
    fail_msg("the checker refuses the plan");
}

/* Each engine on each of `rounds` random fabrics. */
static void for_random(uint32_t fallback_seed, unsigned rounds,
                       void (*test)(struct model *m, const char *engine, uint32_t seed))
{
    GRand *rand = g_rand_new_with_seed(test_seed(fallback_seed));
    for (unsigned round = 0; round < rounds; round++) {
        struct model *m = model_random(rand);
        test(m, updown_engines[round % 2], g_rand_int(rand) | 1);
        model_destroy(m);
    }
    g_rand_free(rand);
}

/* -- rows and single entries ---------------------------------------------------------------- */

static void check_row_is_next_hop(struct model *m, const char *engine, uint32_t seed)
{
    struct rt_graph *g = model_build(m, seed, NULL, NULL);
    struct rt_plan *p = plan_for(engine, g);
    g_autofree uint8_t *tables = plan_tables(p);
    size_t size = g->max_lid + 1u;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        uint8_t longer[4096], shorter[3];
        for (size_t lid = 0; lid < size; lid++)
            assert_int_equal(rt_plan_next_hop(p, s, lid), tables[s * size + lid]);
        rt_plan_row(p, s, longer, sizeof longer);
        assert_memory_equal(longer, tables + s * size, size);
        assert_int_equal(longer[size], RT_NO_PATH);
        assert_int_equal(longer[sizeof longer - 1], RT_NO_PATH);
        rt_plan_row(p, s, shorter, sizeof shorter);
        assert_memory_equal(shorter, tables + s * size, MIN(size, sizeof shorter));
    }
    rt_plan_destroy(p);
    rt_graph_unref(g);
}

static void test_row_is_next_hop(void **state)
{
    for_random(1, 120, check_row_is_next_hop);
}

struct sharing {
    const struct rt_plan *plan;
    const uint8_t *tables;
    size_t size;
};

static gpointer read_plan(gpointer argument)
{
    const struct sharing *share = argument;
    const struct rt_graph *g = rt_plan_graph(share->plan);
    g_autofree uint8_t *row = g_malloc(share->size);
    unsigned wrong = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const uint8_t *expected = share->tables + s * share->size;
        for (size_t lid = 0; lid < share->size; lid++)
            wrong += rt_plan_next_hop(share->plan, s, lid) != expected[lid];
        rt_plan_row(share->plan, s, row, share->size);
        wrong += memcmp(row, expected, share->size) != 0;
    }
    return GUINT_TO_POINTER(wrong);
}

static void test_threads_share_a_plan(void **state)
{
    struct model *m = model_tree(12, 4, 2, 8);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    for (const char *const *name = updown_engines; *name; name++) {
        struct rt_plan *p = plan_for(*name, g);
        g_autofree uint8_t *tables = plan_tables(p);
        struct sharing share = {.plan = p, .tables = tables, .size = g->max_lid + 1u};
        GThread *threads[4];
        for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
            threads[i] = g_thread_new("reader", read_plan, &share);
        for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
            assert_int_equal(GPOINTER_TO_UINT(g_thread_join(threads[i])), 0);
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
    model_destroy(m);
}

/* -- pure functions ------------------------------------------------------------------------- */

/* The port of every (switch GUID, port GUID, path) must be the same in both. */
static void assert_same_routes(const struct rt_plan *a, const struct rt_plan *b)
{
    const struct rt_graph *ga = rt_plan_graph(a), *gb = rt_plan_graph(b);
    for (uint32_t d = 0; d < ga->dest_count; d++) {
        uint32_t other = rt_find_dest_by_guid(gb, ga->dests[d].port_guid);
        if (other == RT_NONE || !ga->dests[d].lid)
            continue;
        for (uint32_t s = 0; s < ga->switch_count; s++)
            for (unsigned k = 0; k < 1u << ga->dests[d].lmc; k++)
                assert_int_equal(rt_plan_next_hop(a, s, ga->dests[d].lid + k),
                                 rt_plan_next_hop(b, s, gb->dests[other].lid + k));
    }
}

static void check_lids_do_not_matter(struct model *m, const char *engine, uint32_t seed)
{
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for(engine, g);
    model_number(m, seed);
    struct rt_graph *permuted = model_build(m, seed, NULL, NULL);
    struct rt_plan *q = plan_for(engine, permuted);
    assert_same_routes(p, q);
    rt_plan_destroy(p);
    rt_plan_destroy(q);
    rt_graph_unref(g);
    rt_graph_unref(permuted);
}

static void test_lids_do_not_matter(void **state)
{
    for_random(2, 120, check_lids_do_not_matter);
}

static void check_absence_does_not_matter(struct model *m, const char *engine, uint32_t seed)
{
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for(engine, g);
    g_autofree uint8_t *before = plan_tables(p);
    for (uint32_t d = 0; d < m->dests->len; d++)
        model_dest(m, d)->present = seed >> d % 32 & 1;
    struct rt_graph *changed = model_build(m, seed, NULL, NULL);
    struct rt_plan *q = plan_for(engine, changed);
    g_autofree uint8_t *after = plan_tables(q);
    assert_memory_equal(before, after, (g->max_lid + 1u) * g->switch_count);
    assert_good(q);
    rt_plan_destroy(p);
    rt_plan_destroy(q);
    rt_graph_unref(g);
    rt_graph_unref(changed);
}

static void test_absence_does_not_matter(void **state)
{
    for_random(3, 120, check_absence_does_not_matter);
}

/* -- numbers -------------------------------------------------------------------------------- */

static void test_numbers_of_an_intact_tree(void **state)
{
    struct model *m = model_tree(4, 2, 1, 3);
    model_add_dest(m, 4, RT_DEST_AGGREGATION, 0);
    uint32_t manager = model_add_dest(m, 5, RT_DEST_HOST, 0);
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for("ftree", g);
    const uint32_t *numbers = rt_plan_numbers(p);
    uint32_t expected = 0;
    for (uint32_t d = 0; d < g->dest_count; d++) {
        if (g->dests[d].kind == RT_DEST_HOST)
            assert_int_equal(numbers[d], expected++);
        else
            assert_int_equal(numbers[d], RT_NONE);
    }
    assert_int_equal(rt_find_dest_by_guid(g, model_dest(m, manager)->guid), g->dest_count - 1);
    assert_good(p);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    model_destroy(m);
}

/* A host less at first, which comes when all others have their numbers. */
static void test_new_host_moves_nobody(void **state)
{
    struct model *m = model_tree(4, 3, 1, 6);
    uint32_t late = 8;
    struct model_dest saved = *model_dest(m, late);
    g_array_remove_index(m->dests, late);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for("ftree", g);
    g_array_append_val(m->dests, saved);
    struct rt_graph *grown = model_build(m, 1, g, rt_plan_numbers(p));
    struct rt_plan *q = plan_for("ftree", grown);
    assert_same_routes(p, q);
    const uint32_t *numbers = rt_plan_numbers(q);
    uint32_t d = rt_find_dest_by_guid(grown, saved.guid);
    for (uint32_t other = 0; other < grown->dest_count; other++)
        assert_true(other == d || numbers[other] != numbers[d]);
    assert_int_equal(numbers[d] / 6, numbers[d - 1] / 6); /* in its leaf's gap */
    assert_good(q);

    g_array_set_size(m->dests, m->dests->len - 1); /* unplugged for good, its number is kept */
    struct rt_graph *shrunk = model_build(m, 2, grown, numbers);
    assert_int_equal(shrunk->kept_count, 1);
    struct rt_plan *r = plan_for("ftree", shrunk);
    assert_same_routes(r, q);
    rt_plan_destroy(r);
    rt_graph_unref(shrunk);
    rt_plan_destroy(p);
    rt_plan_destroy(q);
    rt_graph_unref(g);
    rt_graph_unref(grown);
    model_destroy(m);
}

static void check_known_numbers_stay(struct model *m, const char *engine, uint32_t seed)
{
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for("ftree", g);
    struct rt_graph *again = model_build(m, seed, g, rt_plan_numbers(p));
    struct rt_plan *q = plan_for("ftree", again);
    assert_memory_equal(rt_plan_numbers(p), rt_plan_numbers(q), g->dest_count * sizeof(uint32_t));
    assert_same_routes(p, q);
    rt_plan_destroy(p);
    rt_plan_destroy(q);
    rt_graph_unref(g);
    rt_graph_unref(again);
}

static void test_known_numbers_stay(void **state)
{
    for_random(4, 100, check_known_numbers_stay);
}

/* Leaves with one I/O node each, on another port of each, and one leaf with none. */
static struct model *model_with_storage(uint64_t *compute, size_t *compute_count, uint64_t *storage,
                                        size_t *storage_count)
{
    struct model *m = model_tree(6, 4, 1, 5);
    *compute_count = *storage_count = 0;
    for (uint32_t d = 0; d < m->dests->len; d++) {
        bool is_storage = d / 5 < 5 && d % 5 == d / 5;
        if (is_storage)
            storage[(*storage_count)++] = model_dest(m, d)->guid;
        else if (d != 29) /* in neither list */
            compute[(*compute_count)++] = model_dest(m, d)->guid;
    }
    return m;
}

static bool is_listed(uint64_t guid, const uint64_t *guids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (guids[i] == guid)
            return true;
    return false;
}

/* Compute nodes in their order, `block` numbers a leaf; I/O nodes follow them in a row; then the
 * host of neither list. */
static void assert_classes(const struct rt_graph *g, const uint32_t *numbers,
                           const struct rt_options *o, uint32_t block)
{
    uint32_t leaf = RT_NONE, leaves = 0, in_leaf = 0, io = 0;
    for (uint32_t d = 0; d < g->dest_count; d++) {
        if (g->dests[d].kind != RT_DEST_HOST)
            continue;
        bool is_io = is_listed(g->dests[d].port_guid, o->io_guids, o->io_count);
        bool is_compute =
            o->cn_guids ? is_listed(g->dests[d].port_guid, o->cn_guids, o->cn_count) : !is_io;
        leaves += g->dests[d].sw != leaf;
        in_leaf = g->dests[d].sw != leaf ? 0 : in_leaf;
        leaf = g->dests[d].sw;
        if (is_compute)
            assert_int_equal(numbers[d], (leaves - 1) * block + in_leaf++);
        else if (is_io)
            assert_int_equal(numbers[d], 6 * block + io++);
        else
            assert_int_equal(numbers[d], 6 * block + 5);
    }
    assert_int_equal(leaves, 6);
    assert_int_equal(io, o->io_guids ? 5 : 0);
}

static void test_classes_of_nodes(void **state)
{
    uint64_t compute[30], storage[30];
    struct rt_options all = {.cn_guids = compute, .io_guids = storage};
    struct model *m = model_with_storage(compute, &all.cn_count, storage, &all.io_count);
    struct rt_graph *g = model_build(m, 3, NULL, NULL);
    struct rt_options only_io = {.io_guids = storage, .io_count = all.io_count};
    const struct rt_options *options[] = {&all, &only_io};
    const uint32_t block[] = {4, 5};
    for (unsigned i = 0; i < G_N_ELEMENTS(options); i++) {
        struct rt_plan *p = NULL, *q = NULL;
        char error[128];
        assert_int_equal(rt_engine_find("ftree")->prepare(g, options[i], &p, error, sizeof error),
                         0);
        assert_classes(g, rt_plan_numbers(p), options[i], block[i]);
        assert_good(p);
        struct rt_graph *again = model_build(m, 9, g, rt_plan_numbers(p));
        assert_int_equal(
            rt_engine_find("ftree")->prepare(again, options[i], &q, error, sizeof error), 0);
        assert_same_routes(p, q);
        rt_plan_destroy(p);
        rt_plan_destroy(q);
        rt_graph_unref(again);
    }
    rt_graph_unref(g);
    model_destroy(m);
}

/* With four compute nodes a leaf and four spines, each uplink of a leaf carries one of each other
 * leaf, whatever ports the I/O nodes are on; without the lists it does not. */
static void test_storage_does_not_disturb(void **state)
{
    uint64_t compute[30], storage[30];
    struct rt_options o = {.cn_guids = compute, .io_guids = storage};
    struct model *m = model_with_storage(compute, &o.cn_count, storage, &o.io_count);
    struct rt_graph *g = model_build(m, 3, NULL, NULL);
    struct rt_plan *p = NULL;
    char error[128];
    assert_int_equal(rt_engine_find("ftree")->prepare(g, &o, &p, error, sizeof error), 0);
    for (uint32_t leaf = 0; leaf < 6; leaf++) {
        unsigned load[2][64] = {0};
        for (uint32_t d = 0; d < g->dest_count; d++) {
            const struct rt_dest *dest = &g->dests[d];
            bool is_io = is_listed(dest->port_guid, storage, o.io_count);
            if (dest->kind == RT_DEST_HOST && dest->sw != leaf &&
                (is_io || is_listed(dest->port_guid, compute, o.cn_count)))
                load[is_io][rt_plan_next_hop(p, leaf, dest->lid)]++;
        }
        for (unsigned port = 1; port <= 4; port++) {
            assert_int_equal(load[0][port], 5);
            assert_in_range(load[1][port], 0, 2);
        }
    }
    rt_plan_destroy(p);
    rt_graph_unref(g);
    model_destroy(m);
}

/* -- evenness ------------------------------------------------------------------------------- */

/* With as many spines as hosts a leaf, each uplink carries one host of each other leaf. */
static void test_spreads_evenly(void **state)
{
    struct model *m = model_tree(6, 4, 1, 4);
    struct rt_graph *g = model_build(m, 5, NULL, NULL);
    for (const char *const *name = updown_engines; *name; name++) {
        struct rt_plan *p = plan_for(*name, g);
        for (uint32_t leaf = 0; leaf < 6; leaf++) {
            unsigned load[64] = {0};
            for (uint32_t d = 0; d < g->dest_count; d++)
                if (g->dests[d].kind == RT_DEST_HOST && g->dests[d].sw != leaf)
                    load[rt_plan_next_hop(p, leaf, g->dests[d].lid)]++;
            for (unsigned port = 1; port <= 4; port++)
                assert_int_equal(load[port], 5);
        }
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
    model_destroy(m);
}

/* Lost links give the pivot order work to do, which must not draw hosts' traffic together: the
 * leaves that take part in it still use all of their uplinks. */
static void test_spreads_evenly_when_damaged(void **state)
{
    for (unsigned lost = 0; lost < 24; lost++) {
        struct model *m = model_tree(6, 4, 1, 4);
        g_array_remove_index(m->links, lost);
        g_array_remove_index(m->links, (lost * 7 + 5) % 23);
        struct rt_graph *g = model_build(m, 5, NULL, NULL);
        for (const char *const *name = updown_engines; *name; name++) {
            struct rt_plan *p = plan_for(*name, g);
            assert_good(p);
            for (uint32_t leaf = 0; leaf < 6; leaf++) {
                unsigned load[64] = {0};
                for (uint32_t d = 0; d < g->dest_count; d++)
                    if (g->dests[d].kind == RT_DEST_HOST && g->dests[d].sw != leaf)
                        load[rt_plan_next_hop(p, leaf, g->dests[d].lid)]++;
                for (unsigned port = 1; port <= 4; port++)
                    assert_true(load[port] <= 12); /* of 20, on two uplinks or more */
            }
            rt_plan_destroy(p);
        }
        rt_graph_unref(g);
        model_destroy(m);
    }
}

static void test_lmc_paths_differ(void **state)
{
    struct model *m = model_tree(3, 2, 2, 2);
    uint32_t host = model_add_dest(m, 2, RT_DEST_HOST, 2);
    model_number(m, 3);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    for (const char *const *name = updown_engines; *name; name++) {
        struct rt_plan *p = plan_for(*name, g);
        unsigned seen[64] = {0};
        for (unsigned k = 0; k < 4; k++)
            seen[rt_plan_next_hop(p, 0, model_dest(m, host)->lid + k)]++;
        for (unsigned port = 1; port <= 4; port++)
            assert_int_equal(seen[port], 1);
        assert_good(p);
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
    model_destroy(m);
}

/* -- odd fabrics ---------------------------------------------------------------------------- */

static void serve(struct model *m)
{
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 3, NULL, NULL);
    for (const char *const *name = updown_engines; *name; name++) {
        struct rt_plan *p = plan_for(*name, g);
        assert_good(p);
        assert_int_equal(rt_plan_properties(p).vls, 1);
        assert_int_equal(rt_plan_sl(p, 1, 2), 0);
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
    model_destroy(m);
}

static void test_one_and_two_switches(void **state)
{
    struct model *one = model_create();
    model_add_switch(one, 1);
    serve(one);
    struct model *full = model_create();
    model_add_switch(full, 1);
    for (unsigned i = 0; i < 10; i++)
        model_add_dest(full, 0, RT_DEST_HOST, 0);
    serve(full);
    struct model *two = model_create();
    model_add_switch(two, 1);
    model_add_switch(two, 2);
    model_cable(two, 0, 1, 2);
    for (unsigned i = 0; i < 4; i++)
        model_add_dest(two, i % 2, RT_DEST_HOST, 0);
    serve(two);
}

static void test_torus(void **state)
{
    struct model *m = model_create();
    enum { SIDE = 6 };
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        model_add_switch(m, 0x50 + (i * 7) % (SIDE * SIDE));
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            model_cable(m, y * SIDE + x, y * SIDE + (x + 1) % SIDE, 1);
            model_cable(m, y * SIDE + x, (y + 1) % SIDE * SIDE + x, 1);
            model_add_dest(m, y * SIDE + x, RT_DEST_HOST, 0);
        }
    serve(m);
}

static void test_given_roots(void **state)
{
    struct model *m = model_tree(5, 3, 1, 4);
    for (unsigned i = 0; i < 4; i++) /* as many hosts on a spine as on a leaf */
        model_add_dest(m, 5, RT_DEST_HOST, 0);
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    uint64_t roots[] = {0x105, 0x106, 0x107, 0xDEAD};
    struct rt_options options = {.root_guids = roots, .root_count = 4, .max_vls = 1};
    for (const char *const *name = updown_engines; *name; name++) {
        struct rt_plan *p;
        char error[256];
        assert_int_equal(rt_engine_find(*name)->prepare(g, &options, &p, error, sizeof error), 0);
        struct rt_check_result r;
        assert_true(rt_check_plan(p, &r, stdout, 3));
        assert_int_equal(r.max_hops, 2);
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
    model_destroy(m);
}

static void test_line(unsigned switches, bool served)
{
    struct model *m = model_create();
    for (unsigned i = 0; i < switches; i++)
        model_add_switch(m, 0x1000 + i);
    for (unsigned i = 1; i < switches; i++)
        model_cable(m, i - 1, i, 1);
    model_add_dest(m, 0, RT_DEST_HOST, 0);
    model_add_dest(m, switches - 1, RT_DEST_HOST, 0);
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    for (const char *const *name = updown_engines; *name; name++) {
        struct rt_plan *p = NULL;
        struct rt_options options = {.max_vls = 1};
        char error[256] = "";
        int rc = rt_engine_find(*name)->prepare(g, &options, &p, error, sizeof error);
        assert_int_equal(rc, served ? 0 : ENOTSUP);
        if (served)
            assert_good(p);
        else
            assert_non_null(strstr(error, "more than 254 hops apart"));
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
    model_destroy(m);
}

static void test_long_lines(void **state)
{
    test_line(255, true);
    test_line(300, false);
}

static void test_registry(void **state)
{
    assert_non_null(rt_engine_find("ftree"));
    assert_non_null(rt_engine_find("updn"));
    assert_null(rt_engine_find("no such engine"));
    assert_string_equal(rt_engine_names()[0], "ftree");
    rt_plan_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_is_next_hop),
        cmocka_unit_test(test_threads_share_a_plan),
        cmocka_unit_test(test_lids_do_not_matter),
        cmocka_unit_test(test_absence_does_not_matter),
        cmocka_unit_test(test_numbers_of_an_intact_tree),
        cmocka_unit_test(test_new_host_moves_nobody),
        cmocka_unit_test(test_known_numbers_stay),
        cmocka_unit_test(test_classes_of_nodes),
        cmocka_unit_test(test_storage_does_not_disturb),
        cmocka_unit_test(test_spreads_evenly),
        cmocka_unit_test(test_spreads_evenly_when_damaged),
        cmocka_unit_test(test_lmc_paths_differ),
        cmocka_unit_test(test_one_and_two_switches),
        cmocka_unit_test(test_torus),
        cmocka_unit_test(test_given_roots),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
