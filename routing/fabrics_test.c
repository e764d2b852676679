/* SPDX-License-Identifier: BSD-2-Clause */
/* Real fabrics and a generated one, intact and with 1, 2 and 5 % of the links between switches
 * gone: every pair has a path, nothing loops, no credit loop, the LIDs of switches and the CAs on
 * spines included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/read.h"
#include "routing/check.h"
#include "routing/testing.h"

static struct fabric *load(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    for (size_t i = 0; !f && i < fabric_messages_total(messages); i++)
        print_message("%s\n", fabric_messages_text(messages, i));
    fabric_messages_destroy(messages);
    assert_non_null(f);
    return f;
}

static void remove_links(struct fabric *f, unsigned percent, uint32_t seed)
{
    GRand *rand = g_rand_new_with_seed(seed);
    for (uint32_t n = 0; n < f->node_count; n++)
        for (unsigned p = 1; p <= f->nodes[n].nports; p++) {
            uint32_t peer = f->nodes[n].ports[p].peer_node;
            if (peer == FABRIC_NONE || peer <= n || f->nodes[n].type != FABRIC_SWITCH ||
                f->nodes[peer].type != FABRIC_SWITCH)
                continue;
            if (g_rand_double(rand) * 100 < percent)
                fabric_disconnect(f, n, p);
        }
    g_rand_free(rand);
}

#define VLS 8u /* for engines that use several */

/* Engines for any fabric beside those of updown_engines; they take longer. */
static const char *const other_engines[] = {"dnup", "minhop", "dor",  "nue",
                                            "sssp", "dfsssp", "lash", NULL};
static bool full; /* all engines on all cases */

static void check_engines(const char *spec, unsigned percent, uint32_t seed,
                          const char *const *names)
{
    struct fabric *f = load(spec);
    remove_links(f, percent, seed);
    struct rt_graph *g;
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    for (const char *const *name = names; *name; name++) {
        struct rt_plan *p = plan_for_vls(*name, g, VLS);
        struct rt_check_result r;
        bool good = rt_check_plan(p, &r, stdout, rt_plan_properties(p).vls ? 3 : 0);
        if (rt_plan_properties(p).vls == 0) /* promises nothing about credit loops */
            good = r.unreachable == 0 && r.loops == 0 && r.dead_ports == 0;
        print_message("%s -%u%% seed %u %s: %" PRIu64 " pairs, at most %u hops\n", spec, percent,
                      seed, *name, r.pairs, r.max_hops);
        assert_true(good);
        assert_int_equal(r.disconnected, rt_plan_unreachable(p, NULL, 0));
        if (percent == 0)
            assert_int_equal(r.disconnected, 0);
        rt_plan_destroy(p);
    }
    rt_graph_unref(g);
    fabric_destroy(f);
}

static void check_all(const char *spec, bool others)
{
    static const unsigned percents[] = {0, 1, 2, 5};
    for (unsigned i = 0; i < G_N_ELEMENTS(percents); i++)
        for (uint32_t seed = 1; seed <= (percents[i] ? 2 : 1); seed++) {
            check_engines(spec, percents[i], seed, updown_engines);
            if (full || (others && percents[i] == 5 && seed == 1))
                check_engines(spec, percents[i], seed, other_engines);
        }
}

static void test_real_fabrics(void **state)
{
    static const char *const names[] = {"director-edr-1470", "rail-dgx-140", "rail-ndr-542",
                                        "small-qdr-144"};
    const char *dir = getenv("HEDDLE_FABRICS"), *source = getenv("HEDDLE_SOURCE");
    g_autofree char *beside =
        g_build_filename(source ? source : "..", "..", "shared", "fabrics", NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strdup_printf("%s/%s.net", dir ? dir : beside, names[i]);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            check_all(path, true);
        else
            print_message("skipped: %s is absent (set HEDDLE_FABRICS)\n", path);
    }
}

static void test_generated_fabric(void **state)
{
    check_all("pgft:3:16,16,8:1,16,4:1,1,1", false);
}

int main(int argc, char **argv)
{
    full = argc > 1 && strcmp(argv[1], "full") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_fabrics),
        cmocka_unit_test(test_generated_fabric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
