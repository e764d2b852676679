/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration of torus-2qos: files as torus-2QoS.conf(5) describes them, wrong ones, hostile
 * ones; and what shapes that are given make of fabrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/generate.h"
#include "routing/check.h"
#include "routing/testing.h"
#include "routing/torus.h"

static const char *const good_text = "# a torus of 4 x 5\n"
                                     "  torus 1 4 5m ignored\r\n"
                                     "\n"
                                     "yp_link 0x200000 0x200005 # up\n"
                                     "ym_link 2097152 0x20000f\n"
                                     "\tzp_link 0x200000 0x200001\n"
                                     "portgroup_max_ports 20\n"
                                     "max_changes 5\n"
                                     "port_order 7 10 8\n"
                                     "next_seed\n"
                                     "yp_link 0x20000b 0x200010\n"
                                     "y_dateline -2\n"
                                     "z_dateline -1";

static void test_good(void **state)
{
    struct rt_torus_shape *s;
    char error[256] = "";
    assert_int_equal(rt_torus_parse(good_text, &s, error, sizeof error), 0);
    assert_int_equal(s->size[0], 1);
    assert_int_equal(s->size[1], 4);
    assert_int_equal(s->size[2], 5);
    assert_true(s->wraps[1] && !s->wraps[2]);
    assert_int_equal(s->seed_count, 2);
    assert_int_equal(s->seeds[0].from, 0x200000);
    assert_int_equal(s->seeds[0].neighbours[2], 0x200005);
    assert_int_equal(s->seeds[0].neighbours[3], 0x20000f);
    assert_int_equal(s->seeds[0].neighbours[4], 0x200001);
    assert_int_equal(s->seeds[0].neighbours[5], 0);
    assert_int_equal(s->seeds[1].from, 0x20000b);
    assert_int_equal(s->seeds[1].dateline[1], -2);
    assert_int_equal(s->seeds[1].dateline[2], -1);
    rt_torus_shape_free(s);
    assert_int_equal(rt_torus_parse("mesh 3T 4 5", &s, error, sizeof error), 0);
    assert_true(s->wraps[0] && !s->wraps[1] && !s->wraps[2]);
    assert_int_equal(s->seed_count, 0);
    rt_torus_shape_free(s);
}

struct bad_case {
    const char *text, *error;
};

static const struct bad_case bad[] = {
    {"", "line 1: a torus configuration starts with"},
    {"# nothing\n\n", "line 3: a torus configuration starts with"},
    {"xp_link 1 2\n", "line 1: a torus configuration starts with"},
    {"torus 3 3\n", "line 1: a radix, 1 or more, perhaps with m or t is missing after torus"},
    {"torus 3 0 3\n", "line 1: \"0\" after torus is not a radix"},
    {"torus 3 -3 3\n", "line 1: \"-3\" after torus is not a radix"},
    {"torus 3 3x 3\n", "line 1: \"3x\" after torus is not a radix"},
    {"torus 3 3mm 3\n", "line 1: \"3mm\" after torus is not a radix"},
    {"torus 99999999999999999999 1 1\n", "line 1: \"99999999999999999999\" after torus"},
    {"torus 300 300 300\n", "line 1: more switches than there are LIDs"},
    {"torus 3 3 3\nmesh 3 3 3\n", "line 2: a second torus or mesh"},
    {"torus 3 3 3\nxp_link 1\n", "line 2: the GUID of a switch is missing after xp_link"},
    {"torus 3 3 3\nxp_link 1 zwei\n", "line 2: \"zwei\" after xp_link is not the GUID"},
    {"torus 3 3 3\nxp_link 0 2\n", "line 2: \"0\" after xp_link is not the GUID"},
    {"torus 3 3 3\nxp_link 2 2\n", "line 2: a link from 0x0000000000000002 to itself"},
    {"torus 3 3 3\nxp_link 1 2\nyp_link 3 4\n", "line 3: all links of a seed come from one"},
    {"torus 3 3 3\nxp_link 1 2\nxp_link 1 4\n", "line 3: a second xp_link in one seed"},
    {"torus 3 3 3\nxp_link 1 2\nyp_link 1 2\n", "line 3: 0x0000000000000002 is named in two"},
    {"torus 3 3 3\nx_dateline\n", "line 2: a position is missing after x_dateline"},
    {"torus 3 3 3\nx_dateline 1\n", "line 3: seed 1 has no link"},
    {"torus 3 3 3\nx_dateline 1e9\n", "line 2: \"1e9\" after x_dateline is not a position"},
    {"torus 3 3 3\nmax_changes -1\n", "line 2: \"-1\" after max_changes is not a number"},
    {"torus 3 3 3\nport_order\n", "line 2: a port number is missing after port_order"},
    {"torus 3 3 3\nport_order 1 255\n", "line 2: \"255\" after port_order is not a port number"},
    {"torus 3 3 3\nwhat\x1b[2J\n", "line 2: \"what?[2J\" is no keyword"},
    {"torus 3 3 3\nxp_link 1 2\nnext_seed\n", "line 4: seed 2 has no link"},
    {"torus 3 3 1\nzp_link 1 2", "line 2: seed 1 has a link in dimension z, which has radix 1"},
};

static void test_bad(void **state)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        struct rt_torus_shape *s = (struct rt_torus_shape *)1;
        char error[256] = "";
        assert_int_equal(rt_torus_parse(bad[i].text, &s, error, sizeof error), EINVAL);
        assert_null(s);
        if (!g_str_has_prefix(error, bad[i].error))
            fail_msg("\"%s\", expected \"%s\"", error, bad[i].error);
    }
}

/* Bytes changed, put in and taken out: a shape or one printable line. */
static void test_hostile(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261224));
    unsigned good = 0;
    for (unsigned round = 0; round < 5000; round++) {
        GString *text = g_string_new(good_text);
        for (int i = g_rand_int_range(rand, 0, 4); i >= 0; i--) {
            gssize at = g_rand_int_range(rand, 0, (int)text->len);
            if (g_rand_boolean(rand))
                g_string_erase(text, at, 1);
            if (g_rand_boolean(rand))
                g_string_insert_c(text, at, (char)g_rand_int_range(rand, 1, 256));
        }
        struct rt_torus_shape *s;
        char error[256] = "";
        if (rt_torus_parse(text->str, &s, error, sizeof error) == 0) {
            good++;
            assert_in_range((uint64_t)s->size[0] * s->size[1] * s->size[2], 1, RT_MAX_LID);
        } else {
            assert_true(g_str_has_prefix(error, "line "));
            for (const char *c = error; *c; c++)
                assert_true(g_ascii_isprint(*c));
        }
        rt_torus_shape_free(s);
        g_string_free(text, TRUE);
    }
    assert_in_range(good, 100, 4900);
    g_rand_free(rand);
}

/* -- given shapes --------------------------------------------------------------------------- */

static struct rt_graph *generate(const char *spec)
{
    char error[256];
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    struct rt_graph *g = NULL;
    if (!f)
        fail_msg("%s", error);
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    fabric_destroy(f);
    return g;
}

static uint64_t guid_of(const struct rt_graph *g, uint32_t sw)
{
    return g->switches[sw].guid;
}

static int find(const struct rt_graph *g, const char *text, struct rt_torus_grid *grid, char *error)
{
    struct rt_torus_shape *shape = NULL;
    if (rt_torus_parse(text, &shape, error, 256))
        fail_msg("%s in %s", error, text);
    int rc = rt_torus_find(g, shape, grid, error, 256);
    rt_torus_shape_free(shape);
    return rc;
}

/* Switches are numbered x + 4 * (y + 5 * z) by the generator and by GUID. */
static void test_seeds_agree(void **state)
{
    struct rt_graph *g = generate("torus:4x5x3:1");
    struct rt_torus_grid grid;
    char error[256] = "";
    /* The first seed does not exist; the second is at (1, 2, 1) and moves the datelines back. */
    g_autofree char *text =
        g_strdup_printf("torus 4 5 3\nxp_link 0x77 0x78\nnext_seed\n"
                        "xp_link %#" G_GINT64_MODIFIER "x %#" G_GINT64_MODIFIER "x\n"
                        "xm_link %#" G_GINT64_MODIFIER "x %#" G_GINT64_MODIFIER "x\n"
                        "yp_link %#" G_GINT64_MODIFIER "x %#" G_GINT64_MODIFIER "x\n"
                        "zp_link %#" G_GINT64_MODIFIER "x %#" G_GINT64_MODIFIER "x\n"
                        "x_dateline -1\ny_dateline -2\nz_dateline -1\n",
                        guid_of(g, 29), guid_of(g, 30), guid_of(g, 29), guid_of(g, 28),
                        guid_of(g, 29), guid_of(g, 33), guid_of(g, 29), guid_of(g, 49));
    if (find(g, text, &grid, error))
        fail_msg("%s", error);
    for (uint32_t s = 0; s < g->switch_count; s++)
        assert_int_equal(grid.cell[s], s);
    rt_torus_grid_clear(&grid);
    /* Found without help: the same coordinates, they follow the order of GUIDs. */
    assert_int_equal(rt_torus_find(g, NULL, &grid, error, sizeof error), 0);
    for (uint32_t s = 0; s < g->switch_count; s++)
        assert_int_equal(grid.cell[s], s);
    rt_torus_grid_clear(&grid);
    rt_graph_unref(g);
}

/* From the corner of a mesh one neighbour in each dimension is all there is. */
static void test_corner(void **state)
{
    struct rt_graph *g = generate("mesh:4x5x2:1");
    struct rt_torus_grid grid;
    char error[256] = "";
    g_autofree char *text =
        g_strdup_printf("mesh 4 5 2\nxp_link %#" G_GINT64_MODIFIER "x %#" G_GINT64_MODIFIER "x\n"
                        "yp_link %#" G_GINT64_MODIFIER "x %#" G_GINT64_MODIFIER "x\n",
                        guid_of(g, 0), guid_of(g, 1), guid_of(g, 0), guid_of(g, 4));
    if (find(g, text, &grid, error))
        fail_msg("%s", error);
    for (uint32_t s = 0; s < g->switch_count; s++)
        assert_int_equal(grid.cell[s], s);
    rt_torus_grid_clear(&grid);
    rt_graph_unref(g);
}

/* What does not fit is refused with a line that names a switch or what is wrong. */
static void refuse(const char *spec, const char *text, const char *expected)
{
    struct rt_graph *g = generate(spec);
    struct rt_torus_grid grid;
    char error[256] = "";
    int rc =
        text ? find(g, text, &grid, error) : rt_torus_find(g, NULL, &grid, error, sizeof error);
    assert_int_equal(rc, ENOTSUP);
    assert_null(grid.sw);
    if (!strstr(error, expected))
        fail_msg("%s: \"%s\", expected \"%s\"", spec, error, expected);
    rt_graph_unref(g);
}

static void test_refused(void **state)
{
    refuse("pgft:2:4,8:1,4:1,1", NULL, "is joined to 8 others");
    refuse("pgft:2:4,4:1,4:1,1", NULL, "no torus or mesh: ");
    refuse("dragonfly:5:4:1:1", NULL, "no torus or mesh: ");
    refuse("random:40:40:4:1", NULL, "0x0248");
    refuse("mesh:3x3x3x3:1", NULL, "is joined to 7 others");
    refuse("torus:5x5:1", "torus 5 6 1", "not as configured");
    refuse("torus:5x5:1", "mesh 5 5 1", "not as configured");
    refuse("torus:5x5:1", "torus 5 5 1\nxp_link 1 2\n",
           "switch 0x0000000000000001 of the torus configuration is not there");
    refuse("torus:5x5:1", "torus 5 6 1\nxp_link 0x248020100000100 0x248020100000200\n",
           "dimension");
    refuse("torus:5x5:1", "torus 5 5 1\nxp_link 0x248020100000100 0x248020100000300\n",
           "is not joined to 0x0248020100000300 (xp_link");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),    cmocka_unit_test(test_bad),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_seeds_agree),
        cmocka_unit_test(test_corner),  cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
