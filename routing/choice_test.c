/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of engines: what is refused, and what is tried in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "routing/choice.h"
#include "routing/testing.h"

static void holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void test_names(void **state)
{
    static const char *const bad[][2] = {
        {"", "no engine is named"},
        {"magic", "no engine \"magic\": expected ftree, updn"},
        {"ftree,magic", "no engine \"magic\""},
        {"ftree,", "an empty name"},
        {",ftree", "an empty name"},
        {"ftree,,updn", "an empty name"},
        {" ", "an empty name"},
        {"updn,ftree,updn", "names updn twice"},
        {"FTREE", "no engine \"FTREE\""},
    };
    char error[512];
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        assert_int_equal(rt_choice_check(bad[i][0], error, sizeof error), EINVAL);
        holds(error, bad[i][1]);
    }
    assert_int_equal(rt_choice_check("ftree", error, sizeof error), 0);
    assert_int_equal(rt_choice_check(" ftree , updn,file", error, sizeof error), 0);
    for (const char *const *name = rt_engine_names(); *name; name++)
        assert_int_equal(rt_choice_check(*name, error, sizeof error), 0);
}

/* A ring of so many switches with a host each: no least paths on one VL are free of cycles. */
static struct rt_graph *make_ring(unsigned n)
{
    struct model *m = model_create();
    for (unsigned i = 0; i < n; i++)
        model_add_switch(m, 0x100 + i);
    for (unsigned i = 0; i < n; i++)
        model_cable(m, i, (i + 1) % n, 1);
    for (unsigned i = 0; i < n; i++)
        model_add_dest(m, i, RT_DEST_HOST, 0);
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    model_destroy(m);
    return g;
}

struct outcome {
    int rc;
    const struct rt_engine *used;
    struct rt_plan *plan;
    GPtrArray *refusals;
    char error[512];
};

static struct outcome choose(struct rt_graph *g, const char *names, const struct rt_options *o)
{
    struct outcome r = {.refusals = g_ptr_array_new_with_free_func(g_free)};
    r.rc = rt_prepare_first(g, names, o, &r.used, &r.plan, r.refusals, r.error, sizeof r.error);
    assert_int_equal(r.rc == 0, r.plan != NULL);
    assert_int_equal(r.rc == 0, r.used != NULL);
    return r;
}

static void clear(struct outcome *r)
{
    rt_plan_destroy(r->plan);
    g_ptr_array_free(r->refusals, TRUE);
}

static void test_order(void **state)
{
    struct rt_graph *g = make_ring(6);
    struct outcome r = choose(g, "updn,ftree", NULL);
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.used->name, "updn");
    assert_int_equal(r.refusals->len, 0);
    clear(&r);
    r = choose(g, "file, lash ,updn,nue", NULL); /* no tables; too few VLs; serves */
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.used->name, "updn");
    assert_int_equal(r.refusals->len, 2);
    holds(r.refusals->pdata[0], "file: no tables are given");
    assert_true(g_str_has_prefix(r.refusals->pdata[1], "lash: "));
    clear(&r);
    assert_int_equal(g->refs, 1); /* refused plans are gone */
    rt_graph_unref(g);
}

static void test_lanes(void **state)
{
    struct rt_graph *g = make_ring(6);
    struct rt_options few = {.max_vls = 1}, enough = {.max_vls = 8};
    struct outcome r = choose(g, "dfsssp,lash", &enough);
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.used->name, "dfsssp");
    assert_in_range(rt_plan_properties(r.plan).vls, 2, 8);
    clear(&r);
    r = choose(g, "dfsssp,lash", &few);
    assert_int_equal(r.rc, ENOTSUP);
    assert_int_equal(r.refusals->len, 2);
    assert_true(g_str_has_prefix(r.refusals->pdata[0], "dfsssp: "));
    assert_true(g_str_has_prefix(r.error, r.refusals->pdata[0]));
    holds(r.error, r.refusals->pdata[1]);
    clear(&r);
    rt_graph_unref(g);
}

/* No engine is tried, and none refuses, when one of the list is not there. */
static void test_unknown(void **state)
{
    struct rt_graph *g = make_ring(4);
    struct outcome r = choose(g, "file,updn,magic", NULL);
    assert_int_equal(r.rc, EINVAL);
    assert_int_equal(r.refusals->len, 0);
    holds(r.error, "magic");
    clear(&r);
    struct rt_plan *plan = NULL;
    char error[8];
    assert_int_equal(rt_prepare_first(g, "file", NULL, NULL, &plan, NULL, error, sizeof error),
                     ENOTSUP);
    assert_string_equal(error, "file: n"); /* cut, and ended */
    assert_int_equal(rt_prepare_first(g, "file,minhop", NULL, NULL, &plan, NULL, NULL, 0), 0);
    rt_plan_destroy(plan);
    rt_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
