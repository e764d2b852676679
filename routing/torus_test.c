/* SPDX-License-Identifier: BSD-2-Clause */
/* torus-2qos on tori and meshes, intact and damaged; each plan is held against the checker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "routing/check.h"
#include "routing/testing.h"
#include "routing/torus.h"

#define MANY_VLS 4

/* -- fabrics -------------------------------------------------------------------------------- */

struct lattice {
    uint32_t size[3];
    bool wraps[3];
    unsigned links, hosts, lmc;
    uint32_t cells;
    uint64_t *guid; /* of each cell */
    bool *gone;     /* cells without a switch */
    bool (*cut)[3]; /* no link from a cell upwards in a dimension */
};

static struct lattice *lattice_new(uint32_t x, uint32_t y, uint32_t z, const char *wraps,
                                   GRand *rand)
{
    struct lattice *l = g_new0(struct lattice, 1);
    *l = (struct lattice){.size = {x, y, z}, .links = 1, .hosts = 1, .cells = x * y * z};
    l->guid = g_new0(uint64_t, l->cells);
    l->gone = g_new0(bool, l->cells);
    l->cut = g_malloc0(l->cells * sizeof *l->cut);
    for (unsigned d = 0; d < 3; d++)
        l->wraps[d] = wraps[d] == 't' && l->size[d] > 2;
    for (uint32_t i = 0; i < l->cells; i++)
        l->guid[i] = 0x1000 + i;
    for (uint32_t i = l->cells; rand && i > 1; i--) {
        uint32_t k = g_rand_int_range(rand, 0, i);
        uint64_t last = l->guid[i - 1];
        l->guid[i - 1] = l->guid[k];
        l->guid[k] = last;
    }
    return l;
}

static void lattice_free(struct lattice *l)
{
    g_free(l->guid);
    g_free(l->gone);
    g_free(l->cut);
    g_free(l);
}

static uint32_t stride(const struct lattice *l, unsigned d)
{
    return d == 0 ? 1 : d == 1 ? l->size[0] : l->size[0] * l->size[1];
}

static uint32_t beyond(const struct lattice *l, uint32_t cell, unsigned d)
{
    uint32_t at = cell / stride(l, d) % l->size[d];
    if (at + 1 < l->size[d])
        return cell + stride(l, d);
    return l->wraps[d] ? cell - at * stride(l, d) : RT_NONE;
}

/* LIDs go with cells, so that those of the same places are equal with and without damage. */
static struct rt_graph *lattice_build(const struct lattice *l, uint32_t seed)
{
    struct model *m = model_create();
    g_autofree uint32_t *index = g_new(uint32_t, l->cells);
    uint16_t lid = 1u << l->lmc;
    for (uint32_t i = 0; i < l->cells; i++)
        index[i] = l->gone[i] ? RT_NONE : model_add_switch(m, l->guid[i]);
    for (uint32_t i = 0; i < l->cells; i++)
        for (unsigned d = 0; d < 3; d++) {
            uint32_t next = beyond(l, i, d);
            if (next != RT_NONE && !l->gone[i] && !l->gone[next] && !l->cut[i][d])
                model_cable(m, index[i], index[next], l->links);
        }
    for (uint32_t i = 0; i < l->cells; i++) {
        for (unsigned h = 0; !l->gone[i] && h < l->hosts; h++) {
            struct model_dest *dest =
                model_dest(m, model_add_dest(m, index[i], RT_DEST_HOST, l->lmc));
            dest->lid = (uint16_t)(lid + (h << l->lmc));
        }
        lid += (uint16_t)(l->hosts << l->lmc);
    }
    for (uint32_t i = 0; i < l->cells; i++)
        if (!l->gone[i])
            model_switch(m, index[i])->lid = (uint16_t)(lid + i);
    struct rt_graph *g = model_build(m, seed, NULL, NULL);
    model_destroy(m);
    return g;
}

/* -- what must hold ------------------------------------------------------------------------- */

static int route(struct rt_graph *g, const struct rt_torus_shape *shape, unsigned vls,
                 struct rt_plan **p, char error[256])
{
    struct rt_options options = {.max_vls = vls, .torus = shape};
    *p = NULL;
    error[0] = '\0';
    return rt_engine_find("torus-2qos")->prepare(g, &options, p, error, 256);
}

static void assert_sound(const struct rt_plan *p)
{
    struct rt_check_result r;
    bool good = rt_check_plan(p, &r, NULL, 0);
    if (!good)
        rt_check_plan(p, &r, stdout, 3);
    assert_true(good);
    assert_int_equal(r.disconnected, 0);
    assert_int_equal(rt_plan_unreachable(p, NULL, 0), 0);
}

static void assert_rows(const struct rt_plan *p, const struct rt_plan *other)
{
    const struct rt_graph *g = rt_plan_graph(p);
    size_t size = g->max_lid + 1u;
    g_autofree uint8_t *tables = plan_tables(p), *others = plan_tables(other);
    assert_memory_equal(tables, others, size * g->switch_count);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (unsigned lid = 1; lid < size; lid++) {
            if (rt_find_dest_by_lid(g, (uint16_t)lid) == RT_NONE)
                continue;
            assert_int_equal(tables[s * size + lid], rt_plan_next_hop(p, s, (uint16_t)lid));
        }
}

static bool is_refused(struct rt_graph *g, const struct rt_torus_shape *shape, unsigned vls)
{
    struct rt_plan *p;
    char error[256];
    int rc = route(g, shape, vls, &p, error);
    if (rc == 0) {
        rt_plan_destroy(p);
        return false;
    }
    assert_int_equal(rc, ENOTSUP);
    assert_null(p);
    assert_non_null(strstr(error, "0x0000"));
    assert_null(strchr(error, '\n'));
    return true;
}

/* -- intact --------------------------------------------------------------------------------- */

struct intact_case {
    uint32_t size[3];
    const char *wraps;
    unsigned links, hosts, lmc, vls;
};

static const struct intact_case intact[] = {
    {{5, 1, 1}, "ttt", 1, 3, 0, 2}, {{2, 1, 1}, "ttt", 2, 2, 1, 1}, {{1, 1, 1}, "mmm", 1, 4, 0, 1},
    {{3, 3, 1}, "ttt", 1, 2, 3, 1}, {{5, 5, 1}, "ttt", 2, 3, 2, 2}, {{4, 4, 4}, "ttt", 1, 1, 0, 1},
    {{3, 3, 3}, "ttt", 2, 3, 0, 1}, {{5, 3, 2}, "ttt", 1, 2, 1, 2}, {{5, 5, 5}, "ttt", 1, 1, 0, 2},
    {{8, 4, 3}, "ttt", 1, 2, 0, 2}, {{8, 8, 1}, "ttt", 1, 2, 0, 2}, {{6, 5, 1}, "ttt", 3, 5, 0, 2},
    {{5, 4, 1}, "mmm", 1, 2, 0, 1}, {{2, 2, 2}, "mmm", 1, 2, 0, 1}, {{3, 4, 5}, "mmm", 2, 1, 1, 1},
    {{9, 1, 1}, "mmm", 1, 1, 0, 1}, {{6, 3, 5}, "tmt", 1, 2, 0, 2}, {{4, 2, 1}, "mmm", 1, 1, 0, 1},
    {{8, 2, 5}, "tmm", 2, 2, 0, 2}, {{3, 3, 1}, "mmm", 1, 1, 0, 1}, {{7, 3, 3}, "mtt", 1, 1, 0, 1},
};

/* The sizes as found, in any order; rings of 4 may be found as squares. */
static void assert_shape(const struct lattice *l, const struct rt_graph *g)
{
    struct rt_torus_grid grid;
    char error[256] = "";
    assert_int_equal(rt_torus_find(g, NULL, &grid, error, sizeof error), 0);
    assert_int_equal(grid.cells, l->cells);
    assert_int_equal(grid.missing_switches + grid.missing_links, 0);
    for (unsigned d = 0; d < 3; d++) {
        unsigned wanted = 0, found = 0;
        for (unsigned e = 0; e < 3; e++) {
            wanted += l->size[e] == l->size[d] && l->wraps[e] == l->wraps[d];
            found += grid.size[e] == l->size[d] && grid.wraps[e] == l->wraps[d];
        }
        assert_int_equal(wanted, found);
    }
    rt_torus_grid_clear(&grid);
}

static void test_intact(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261221));
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(intact); i++) {
        const struct intact_case *c = &intact[i / 2];
        struct lattice *l =
            lattice_new(c->size[0], c->size[1], c->size[2], c->wraps, i % 2 ? rand : NULL);
        l->links = c->links;
        l->hosts = c->hosts;
        l->lmc = c->lmc;
        struct rt_graph *g = lattice_build(l, 0), *shuffled = lattice_build(l, i + 1);
        struct rt_plan *p = NULL, *q = NULL;
        char error[256];
        assert_shape(l, g);
        if (c->vls > 1)
            assert_true(is_refused(g, NULL, c->vls - 1));
        if (route(g, NULL, c->vls, &p, error) || route(shuffled, NULL, 15, &q, error))
            fail_msg("%s", error);
        assert_int_equal(rt_plan_properties(p).vls, c->vls);
        assert_sound(p);
        assert_rows(p, q);
        rt_plan_destroy(p);
        rt_plan_destroy(q);
        rt_graph_unref(g);
        rt_graph_unref(shuffled);
        lattice_free(l);
    }
    g_rand_free(rand);
}

/* The datelines are needed, and the checker would see that they are not there. */
static void test_one_lane_has_loops(void **state)
{
    struct lattice *l = lattice_new(5, 5, 1, "ttt", NULL);
    struct rt_graph *g = lattice_build(l, 0);
    struct rt_plan *p;
    struct rt_check_result r;
    char error[256];
    assert_int_equal(route(g, NULL, 2, &p, error), 0);
    g_autofree uint8_t *bytes = plan_tables(p);
    g_autofree const uint8_t **rows = g_new(const uint8_t *, g->switch_count);
    for (uint32_t s = 0; s < g->switch_count; s++)
        rows[s] = bytes + s * (g->max_lid + 1u);
    struct rt_tables t = {rows, g->max_lid + 1u};
    assert_false(rt_check(g, &t, NULL, &r, NULL, 0));
    assert_int_equal(r.credit_loop_channels, 2 * 2 * 25);
    assert_int_equal(r.unreachable + r.loops + r.dead_ports, 0);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    lattice_free(l);
}

/* -- damaged -------------------------------------------------------------------------------- */

static struct lattice *random_torus(GRand *rand, bool meshes)
{
    uint32_t size[3];
    char wraps[4] = "ttt";
    for (unsigned d = 0; d < 3; d++) {
        size[d] = d == 2 && g_rand_boolean(rand) ? 1 : g_rand_int_range(rand, 3, 8);
        if (meshes && g_rand_boolean(rand))
            wraps[d] = 'm';
    }
    while (size[0] * size[1] * size[2] > 160)
        size[g_rand_int_range(rand, 0, 3)] = 3;
    struct lattice *l = lattice_new(size[0], size[1], size[2], wraps, rand);
    l->links = g_rand_int_range(rand, 1, 3);
    l->hosts = g_rand_int_range(rand, 1, 3);
    l->lmc = g_rand_int_range(rand, 0, 3);
    return l;
}

/* A configuration that names all neighbours of a switch. */
static struct rt_torus_shape *shape_at(const struct lattice *l, uint32_t cell)
{
    GString *text = g_string_new("torus");
    for (unsigned d = 0; d < 3; d++)
        g_string_append_printf(text, " %u%s", l->size[d], l->wraps[d] ? "" : "m");
    for (unsigned d = 0; d < 3; d++) {
        uint32_t next = beyond(l, cell, d);
        if (l->size[d] > 1 && next != RT_NONE)
            g_string_append_printf(text, "\n%cp_link 0x%" PRIx64 " 0x%" PRIx64, 'x' + (int)d,
                                   l->guid[cell], l->guid[next]);
        for (uint32_t i = 0; i < l->cells; i++)
            if (l->size[d] > 2 && beyond(l, i, d) == cell)
                g_string_append_printf(text, "\n%cm_link %" PRIu64 " 0x%" PRIx64, 'x' + (int)d,
                                       l->guid[cell], l->guid[i]);
        g_string_append_printf(text, "\n%c_dateline -%u # zero", 'x' + (int)d,
                               cell / stride(l, d) % l->size[d]);
    }
    struct rt_torus_shape *shape = NULL;
    char error[256] = "";
    if (rt_torus_parse(text->str, &shape, error, sizeof error))
        fail_msg("%s in %s", error, text->str);
    g_string_free(text, TRUE);
    return shape;
}

/* A switch far from the damage, none of whose neighbours is gone. */
static uint32_t whole_cell(const struct lattice *l)
{
    for (uint32_t i = 0; i < l->cells; i++) {
        bool whole = !l->gone[i];
        for (unsigned d = 0; d < 3; d++) {
            uint32_t next = beyond(l, i, d);
            whole &= next == RT_NONE || (!l->gone[next] && !l->cut[i][d]);
            for (uint32_t k = 0; k < l->cells; k++)
                whole &= beyond(l, k, d) != i || (!l->gone[k] && !l->cut[k][d]);
        }
        if (whole)
            return i;
    }
    return RT_NONE;
}

static void damage_links(struct lattice *l, GRand *rand, unsigned one_in)
{
    for (unsigned d = 0; d < 3; d++)
        for (uint32_t i = 0; i < l->cells; i++) {
            if (i / stride(l, d) % l->size[d] != 0 || l->size[d] < 3)
                continue; /* one of each ring at most */
            uint32_t at = g_rand_int_range(rand, 0, l->size[d]);
            if (g_rand_int_range(rand, 0, one_in) == 0)
                l->cut[i + at * stride(l, d)][d] = true;
        }
}

struct tally {
    unsigned served, refused, vls[MANY_VLS + 1];
};

/* SLs are those of the intact torus. */
static void assert_same_sls(struct lattice *l, const struct rt_torus_shape *shape,
                            const struct rt_plan *damaged)
{
    struct lattice whole = *l;
    whole.gone = g_new0(bool, l->cells);
    whole.cut = g_malloc0(l->cells * sizeof *whole.cut);
    struct rt_graph *g = lattice_build(&whole, 0);
    const struct rt_graph *after = rt_plan_graph(damaged);
    struct rt_plan *p;
    char error[256];
    if (route(g, shape, MANY_VLS, &p, error))
        fail_msg("%s", error);
    for (uint32_t i = 0; i < after->dest_count; i++)
        for (uint32_t k = 0; k < after->dest_count; k++)
            assert_int_equal(rt_plan_sl(p, after->dests[i].lid, after->dests[k].lid),
                             rt_plan_sl(damaged, after->dests[i].lid, after->dests[k].lid));
    rt_plan_destroy(p);
    rt_graph_unref(g);
    g_free(whole.gone);
    g_free(whole.cut);
}

static bool try_damaged(struct lattice *l, bool must, bool given, struct tally *tally)
{
    struct rt_graph *g = lattice_build(l, 0);
    uint32_t cell = given ? whole_cell(l) : RT_NONE;
    struct rt_torus_shape *shape = cell == RT_NONE ? NULL : shape_at(l, cell);
    struct rt_plan *p;
    char error[256];
    int rc = route(g, shape, MANY_VLS, &p, error);
    if (rc && must && (shape || !given))
        fail_msg("torus %ux%ux%u: %s", l->size[0], l->size[1], l->size[2], error);
    if (rc == 0) {
        unsigned vls = rt_plan_properties(p).vls;
        assert_in_range(vls, 1, MANY_VLS);
        assert_sound(p);
        if (vls > 1)
            assert_true(is_refused(g, shape, vls - 1));
        if (shape)
            assert_same_sls(l, shape, p);
        tally->vls[vls]++;
        rt_plan_destroy(p);
    } else {
        assert_int_equal(rc, ENOTSUP);
        assert_non_null(strstr(error, "0x0000"));
    }
    *(rc ? &tally->refused : &tally->served) += 1;
    rt_torus_shape_free(shape);
    rt_graph_unref(g);
    return rc == 0;
}

static void print_tally(const char *what, const struct tally *t)
{
    printf("%s: %u served (%u, %u, %u, %u on 1 to 4 VLs), %u refused\n", what, t->served, t->vls[1],
           t->vls[2], t->vls[3], t->vls[4], t->refused);
}

static void cut_one_link(struct lattice *l, GRand *rand)
{
    unsigned d;
    do
        d = g_rand_int_range(rand, 0, 3);
    while (l->size[d] < 3);
    l->cut[g_rand_int_range(rand, 0, l->cells)][d] = true;
}

/* One switch or one link: always served. One link of each of several rings: nearly always; where
 * most of the squares of a small torus are open its shape may not be found. */
static void test_one_fault(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261222));
    struct tally switches = {0}, link = {0}, links = {0};
    for (unsigned round = 0; round < 80; round++) {
        struct lattice *l = random_torus(rand, false);
        uint32_t victim = g_rand_int_range(rand, 0, l->cells);
        l->gone[victim] = true;
        try_damaged(l, true, round % 2, &switches);
        l->gone[victim] = false;
        cut_one_link(l, rand);
        try_damaged(l, true, round % 2, &link);
        memset(l->cut, 0, l->cells * sizeof *l->cut);
        damage_links(l, rand, 8);
        try_damaged(l, false, round % 2, &links);
        lattice_free(l);
    }
    print_tally("a switch", &switches);
    print_tally("a link", &link);
    print_tally("links", &links);
    assert_in_range(links.served, 72, 80);
    g_rand_free(rand);
}

/* Anything: served soundly, or refused. */
static void test_many_faults(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261223));
    struct tally tally = {0};
    for (unsigned round = 0; round < 150; round++) {
        struct lattice *l = random_torus(rand, true);
        unsigned victims = g_rand_int_range(rand, 0, 4);
        for (unsigned i = 0; i < victims; i++)
            l->gone[g_rand_int_range(rand, 0, l->cells)] = true;
        for (unsigned i = g_rand_int_range(rand, 0, 5); i > 0; i--)
            l->cut[g_rand_int_range(rand, 0, l->cells)][g_rand_int_range(rand, 0, 3)] = true;
        try_damaged(l, false, round % 2, &tally);
        lattice_free(l);
    }
    print_tally("anything", &tally);
    assert_true(tally.served > 20 && tally.refused > 20);
    g_rand_free(rand);
}

/* The two failures of torus-2QoS(8): switches next to each other in the last dimension are served;
 * in another dimension they may be refused, but the plan must be sound. */
static void test_two_switches(void **state)
{
    struct tally tally = {0};
    struct lattice *l = lattice_new(6, 6, 1, "ttt", NULL);
    l->gone[3 + 6 * 1] = l->gone[3 + 6 * 2] = true;
    try_damaged(l, true, false, &tally);
    try_damaged(l, true, true, &tally);
    l->gone[3 + 6 * 2] = false;
    l->gone[4 + 6 * 1] = true;
    try_damaged(l, false, true, &tally);
    print_tally("two switches", &tally);
    lattice_free(l);
}

/* A ring that is cut twice has no way left in dimension order. */
static void test_two_cuts(void **state)
{
    struct lattice *l = lattice_new(6, 5, 1, "ttt", NULL);
    l->cut[2][0] = true;
    struct rt_graph *g = lattice_build(l, 0);
    assert_false(is_refused(g, NULL, 2));
    rt_graph_unref(g);
    l->cut[4][0] = true;
    g = lattice_build(l, 0);
    assert_true(is_refused(g, NULL, 15));
    rt_graph_unref(g);
    lattice_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intact),       cmocka_unit_test(test_one_lane_has_loops),
        cmocka_unit_test(test_one_fault),    cmocka_unit_test(test_many_faults),
        cmocka_unit_test(test_two_switches), cmocka_unit_test(test_two_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
