/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine that takes given tables: the plan is the tables, and wrong ones are refused. */
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

#define ERROR_BYTES 512u

/* Tables that can be changed, with their rows. */
struct given {
    uint8_t *bytes;
    const uint8_t **rows;
    struct rt_tables tables;
};

static struct given given_by(const struct rt_plan *p)
{
    const struct rt_graph *g = rt_plan_graph(p);
    size_t size = g->max_lid + 1u;
    struct given t = {.bytes = plan_tables(p),
                      .rows = g_new0(const uint8_t *, g->switch_count + 1)};
    for (uint32_t s = 0; s < g->switch_count; s++)
        t.rows[s] = t.bytes + s * size;
    t.tables = (struct rt_tables){.rows = t.rows, .row_size = size};
    return t;
}

static void given_clear(struct given *t)
{
    g_free(t->bytes);
    g_free(t->rows);
}

static int prepare(struct rt_graph *g, const struct rt_tables *tables, struct rt_plan **plan,
                   char *error)
{
    struct rt_options options = {.tables = tables, .max_vls = 1};
    *error = '\0';
    *plan = NULL;
    return rt_engine_find("file")->prepare(g, &options, plan, error, ERROR_BYTES);
}

static void refused(struct rt_graph *g, const struct rt_tables *tables, const char *part)
{
    char error[ERROR_BYTES];
    struct rt_plan *plan;
    assert_int_equal(prepare(g, tables, &plan, error), ENOTSUP);
    assert_null(plan);
    assert_null(strchr(error, '\n'));
    if (!strstr(error, part))
        fail_msg("\"%s\" is not in \"%s\"", part, error);
}

static void check_same(const struct rt_plan *p, const struct given *t)
{
    const struct rt_graph *g = rt_plan_graph(p);
    size_t size = g->max_lid + 1u;
    g_autofree uint8_t *rows = plan_tables(p);
    assert_memory_equal(rows, t->bytes, size * g->switch_count);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t lid = 0; lid < size; lid++)
            assert_int_equal(rt_plan_next_hop(p, s, lid), rows[s * size + lid]);
}

static void check_findings(const struct rt_plan *p)
{
    struct rt_check_result r;
    rt_check_plan(p, &r, NULL, 0);
    assert_int_equal(r.unreachable + r.loops + r.dead_ports, 0);
    assert_int_equal(rt_plan_properties(p).vls, r.credit_loop_channels == 0);
    size_t count = rt_plan_unreachable(p, NULL, 0);
    assert_int_equal(count > 0, r.disconnected > 0);
    uint32_t(*pairs)[2] = g_malloc_n(count + 1, sizeof *pairs);
    assert_int_equal(rt_plan_unreachable(p, pairs, count), count);
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(rt_plan_graph(p)->dests[pairs[i][1]].sw, pairs[i][0]);
    g_free(pairs);
}

static void test_all_engines(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261201));
    unsigned deadlock_free = 0, others = 0;
    for (unsigned i = 0; i < 60; i++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        for (const char *const *name = rt_engine_names(); *name; name++) {
            struct rt_options options = {.max_vls = 8};
            char error[ERROR_BYTES];
            struct rt_plan *p = NULL, *q;
            if (rt_engine_find(*name)->prepare(g, &options, &p, error, sizeof error))
                continue; /* file without tables; shapes that an engine does not serve */
            struct given t = given_by(p);
            if (prepare(g, &t.tables, &q, error))
                fail_msg("tables of %s: %s", *name, error);
            check_same(q, &t);
            check_findings(q);
            *(rt_plan_properties(q).vls ? &deadlock_free : &others) += 1;
            rt_plan_destroy(q);
            given_clear(&t);
            rt_plan_destroy(p);
        }
        rt_graph_unref(g);
        model_destroy(m);
    }
    printf("%u plans on one VL, %u not free of deadlocks\n", deadlock_free, others);
    assert_true(deadlock_free > 100 && others > 0);
    g_rand_free(rand);
}

/* Leaves 0x100 and 0x101 with two hosts each, and spines 0x102 and 0x103. */
static struct rt_graph *make_tree(struct model **model)
{
    *model = model_tree(2, 2, 1, 2);
    return model_build(*model, 0, NULL, NULL);
}

static void test_absent_tables(void **state)
{
    struct model *m;
    struct rt_graph *g = make_tree(&m);
    struct rt_plan *p = plan_for("updn", g);
    struct given t = given_by(p);
    const uint8_t *row = t.rows[2];
    struct rt_tables none = {0};
    refused(g, NULL, "no tables are given");
    refused(g, &none, "no tables are given");
    t.rows[2] = NULL;
    refused(g, &t.tables, "none of switch 0x0000000000000102 (none of 1 of 4 switches)");
    t.rows[3] = NULL;
    refused(g, &t.tables, "none of switch 0x0000000000000102 (none of 2 of 4 switches)");
    t.rows[2] = row;
    t.rows[3] = row + t.tables.row_size;
    t.tables.row_size -= 1; /* the highest LID has no entry anywhere */
    refused(g, &t.tables, "unreachable: ");
    given_clear(&t);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    model_destroy(m);
}

static void test_wrong_entries(void **state)
{
    struct model *m;
    struct rt_graph *g = make_tree(&m);
    struct rt_plan *p = plan_for("updn", g);
    struct given t = given_by(p);
    uint32_t far = g->switches[1].first_dest + 1; /* a host of the other leaf */
    uint16_t lid = g->dests[far].lid;
    uint8_t *leaf = t.bytes + lid, *spine = leaf + 2 * t.tables.row_size, port = *leaf;
    g_autofree char *named = g_strdup_printf("LID %u", lid);
    *leaf = 60;
    refused(g, &t.tables, "dead port: switch 0x0000000000000100");
    refused(g, &t.tables, named);
    *leaf = RT_NO_PATH;
    refused(g, &t.tables, "unreachable: from switch 0x0000000000000100");
    refused(g, &t.tables, named);
    /* To spine 0x102 and back again. */
    *leaf = g->links[g->groups[g->switches[0].first_group].first_link].port;
    *spine = g->links[g->groups[g->switches[2].first_group].first_link].port;
    refused(g, &t.tables, "loop: from switch 0x0000000000000100");
    refused(g, &t.tables, named);
    /* The wrong host of the right leaf. */
    *leaf = port;
    *spine = g->links[g->groups[g->switches[2].first_group + 1].first_link].port;
    t.bytes[t.tables.row_size + lid] = g->dests[far + 1].port;
    refused(g, &t.tables, "unreachable: ");
    t.bytes[t.tables.row_size + lid] = g->dests[far].port;
    struct rt_plan *q;
    char error[ERROR_BYTES];
    assert_int_equal(prepare(g, &t.tables, &q, error), 0);
    rt_plan_destroy(q);
    given_clear(&t);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    model_destroy(m);
}

/* Nobody walks to a host that is away: a loop of its entries is found all the same. */
static void test_absent_host(void **state)
{
    struct model *m = model_tree(2, 2, 1, 2);
    uint16_t lid = model_dest(m, 2)->lid; /* the first of leaf 0x101 */
    model_dest(m, 2)->present = false;
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for("updn", g), *q;
    struct given t = given_by(p);
    char error[ERROR_BYTES];
    assert_int_equal(prepare(g, &t.tables, &q, error), 0);
    check_same(q, &t);
    rt_plan_destroy(q);
    t.bytes[lid] = g->links[g->groups[g->switches[0].first_group].first_link].port;
    t.bytes[2 * t.tables.row_size + lid] =
        g->links[g->groups[g->switches[2].first_group].first_link].port;
    refused(g, &t.tables, "loop: ");
    /* No entries are as good as others for who is not there, but for those of its own switch. */
    for (unsigned s = 0; s < 4; s++)
        t.bytes[s * t.tables.row_size + lid] = RT_NO_PATH;
    assert_int_equal(prepare(g, &t.tables, &q, error), 0);
    assert_int_equal(rt_plan_next_hop(q, 0, lid), RT_NO_PATH);
    assert_int_equal(rt_plan_next_hop(q, 1, lid), model_dest(m, 2)->port);
    rt_plan_destroy(q);
    given_clear(&t);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    model_destroy(m);
}

/* LIDs of the dump that nobody has any more get no entry, and longer rows do no harm. */
static void test_strangers(void **state)
{
    struct model *m;
    struct rt_graph *g = make_tree(&m);
    struct rt_plan *p = plan_for("updn", g), *q;
    size_t size = g->max_lid + 1u, longer = size + 100;
    g_autofree uint8_t *bytes = g_malloc(longer * g->switch_count);
    g_autofree const uint8_t **rows = g_new(const uint8_t *, g->switch_count);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        rt_plan_row(p, s, bytes + s * longer, longer);
        memset(bytes + s * longer + size, 1, longer - size);
        rows[s] = bytes + s * longer;
    }
    struct rt_tables tables = {.rows = rows, .row_size = longer};
    char error[ERROR_BYTES];
    assert_int_equal(prepare(g, &tables, &q, error), 0);
    struct given t = given_by(p);
    check_same(q, &t);
    uint8_t row[512];
    assert_true(longer <= sizeof row);
    rt_plan_row(q, 0, row, longer);
    for (size_t lid = size; lid < longer; lid++)
        assert_int_equal(row[lid], RT_NO_PATH);
    given_clear(&t);
    rt_plan_destroy(q);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_engines),   cmocka_unit_test(test_absent_tables),
        cmocka_unit_test(test_wrong_entries), cmocka_unit_test(test_absent_host),
        cmocka_unit_test(test_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
