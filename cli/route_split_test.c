/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards as processes: their union, their figures, and what is said when one lies, fails, dies or
 * hangs. Nothing is left running. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/route_split.h"
#include "fabric/generate.h"
#include "routing/check.h"
#include "routing/testing.h"

#define VLS 15u

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

static void check_nothing_runs(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* -- all engines ------------------------------------------------------------------------------- */

static void check_figures(const struct split_result *r, const struct rt_graph *g)
{
    uint64_t entries = 0;
    for (unsigned i = 0; i < r->shards; i++) {
        const struct split_shard *s = &r->each[i];
        assert_true(s->prepare_s >= 0 && s->total_s >= s->prepare_s && s->cpu_s > 0);
        assert_true(r->wall_s >= s->total_s);
        assert_true(r->critical_s >= s->cpu_s);
        entries += s->entries;
    }
    uint64_t row = strcmp(r->how, "rows") == 0 ? g->max_lid + 1u : 0, lids = 0;
    for (uint32_t d = 0; d < g->dest_count; d++)
        lids += g->dests[d].lid ? 1u << g->dests[d].lmc : 0;
    assert_int_equal(entries, (row > 0 ? row : lids) * g->switch_count);
    assert_true(r->unsplit_s > 0);
}

static void check_split(struct rt_graph *g, const char *engine, const struct rt_plan *whole,
                        const struct rt_options *o, unsigned shards)
{
    struct split_result r;
    char error[512] = "";
    if (split_run(g, rt_engine_find(engine), o, shards, whole, &r, error, sizeof error))
        fail_msg("%s: %s", engine, error);
    check_nothing_runs();
    check_figures(&r, g);
    if (r.exact || shards == 1) {
        assert_true(r.identical);
        assert_int_equal(r.differing_entries + r.differing_sls, 0);
        assert_int_equal(r.vls, rt_plan_properties(whole).vls);
    }
    assert_int_equal(r.exact, strcmp(r.how, "columns") != 0);
    struct rt_check_result check;
    bool good = rt_check(g, &r.tables, r.lanes.vls > 1 ? &r.lanes : NULL, &check, NULL, 0);
    assert_true(good || r.vls == 0);
    assert_int_equal(check.unreachable + check.loops + check.dead_ports + check.bad_lanes, 0);
    split_clear(&r);
    assert_null(r.of);
}

/* Engines that refuse a fabric are passed over; those that have no options here as well. */
static void test_all_engines(void **state)
{
    static const char *const specs[] = {"pgft:2:4,6:1,3:1,2", "torus:4x3:1", "random:12:20:4:3"};
    static const unsigned counts[] = {1, 2, 3, 64};
    unsigned splits = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(specs); i++) {
        struct rt_graph *g = generate(specs[i]);
        for (const char *const *name = rt_engine_names(); *name; name++) {
            struct rt_options o = {.max_vls = VLS};
            struct rt_plan *whole;
            char error[512];
            if (rt_engine_find(*name)->prepare(g, &o, &whole, error, sizeof error))
                continue;
            for (unsigned k = 0; k < G_N_ELEMENTS(counts); k++, splits++)
                check_split(g, *name, whole, &o, counts[k]);
            rt_plan_destroy(whole);
        }
        rt_graph_unref(g);
    }
    assert_true(splits >= 4 * 3 * 9);
}

static void test_models(void **state)
{
    static const char *const names[] = {"ftree", "updn", "minhop", "nue", "dfsssp", "lash"};
    GRand *rand = g_rand_new_with_seed(test_seed(20261215));
    for (unsigned round = 0; round < 8; round++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
            struct rt_options o = {.max_vls = strcmp(names[i], "nue") ? VLS : 1 + round % 4};
            struct rt_plan *whole = plan_for_vls(names[i], g, o.max_vls);
            check_split(g, names[i], whole, &o, 1 + (round + i) % 5);
            rt_plan_destroy(whole);
        }
        rt_graph_unref(g);
        model_destroy(m);
    }
    g_rand_free(rand);
}

/* Columns of shards that know nothing of each other's loads are others than those of one. */
static void test_inexact(void **state)
{
    struct rt_graph *g = generate("random:20:60:4:5");
    struct rt_options o = {.max_vls = VLS};
    struct rt_plan *whole = plan_for_vls("dfsssp", g, VLS);
    struct split_result r;
    char error[512];
    assert_int_equal(split_run(g, rt_engine_find("dfsssp"), &o, 4, whole, &r, error, sizeof error),
                     0);
    assert_string_equal(r.how, "columns");
    assert_false(r.identical);
    assert_true(r.differing_entries > 0);
    assert_true(r.vls >= 1 && r.central_s > 0);
    split_clear(&r);
    rt_plan_destroy(whole);
    rt_graph_unref(g);
}

/* -- shards that misbehave --------------------------------------------------------------------- */

static pid_t parent;
static enum { LIE, REFUSE, DIE, LEAVE, HANG } manner;

/* As ftree in the parent. */
static int misbehave(struct rt_graph *g, const struct rt_options *o, struct rt_plan **plan,
                     char *error, size_t error_size)
{
    const char *name = getpid() != parent && manner == LIE ? "updn" : "ftree";
    assert_null(o->parallel);
    if (getpid() != parent && manner == REFUSE) {
        snprintf(error, error_size, "no such luck");
        return ENOTSUP;
    }
    if (getpid() != parent && manner == DIE)
        raise(SIGKILL);
    if (getpid() != parent && manner == LEAVE)
        _exit(3);
    while (getpid() != parent && manner == HANG)
        pause();
    return rt_engine_find(name)->prepare(g, o, plan, error, error_size);
}

static const struct rt_engine bad_engine = {.name = "bad", .prepare = misbehave};

static int run_badly(unsigned shards, double limit_s, struct split_result *r, char *error)
{
    struct rt_graph *g = generate("pgft:2:4,6:1,3:1,1");
    struct rt_plan *whole = plan_for("ftree", g);
    parent = getpid();
    int rc = split_run_within(g, &bad_engine, NULL, shards, whole, limit_s, r, error, 512);
    check_nothing_runs();
    if (rc == 0) {
        assert_false(r->identical);
        assert_true(r->differing_entries > 0);
        split_clear(r);
    }
    assert_null(r->of);
    assert_null(r->each);
    rt_plan_destroy(whole);
    rt_graph_unref(g);
    return rc;
}

static void test_misbehaviour(void **state)
{
    struct split_result r;
    char error[512];
    manner = LIE;
    assert_int_equal(run_badly(3, 60, &r, error), 0);
    manner = REFUSE;
    assert_int_equal(run_badly(3, 60, &r, error), ENOTSUP);
    assert_non_null(strstr(error, "no such luck"));
    manner = DIE;
    assert_int_equal(run_badly(3, 60, &r, error), ECHILD);
    assert_non_null(strstr(error, "was ended by signal 9"));
    manner = LEAVE;
    assert_int_equal(run_badly(3, 60, &r, error), ECHILD);
    assert_non_null(strstr(error, "ended with status 3 and no result"));
    manner = HANG;
    assert_int_equal(run_badly(3, 0.05, &r, error), ETIMEDOUT);
    assert_non_null(strstr(error, "have not ended"));
}

static void test_bad_counts(void **state)
{
    struct split_result r;
    char error[512];
    manner = LIE;
    assert_int_equal(run_badly(0, 1, &r, error), EINVAL);
    assert_non_null(strstr(error, "must be 1 to 1024, not 0"));
    assert_int_equal(run_badly(SPLIT_MAX_SHARDS + 1, 1, &r, error), EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_engines), cmocka_unit_test(test_models),
        cmocka_unit_test(test_inexact),     cmocka_unit_test(test_misbehaviour),
        cmocka_unit_test(test_bad_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
