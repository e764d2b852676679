/* SPDX-License-Identifier: BSD-2-Clause */
/* After every step of random faults and repairs, what rt_changed_blocks finds is what a comparison
 * of all rows finds. The argument is the number of steps on each fabric. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/read.h"
#include "routing/change.h"
#include "routing/testing.h"

static unsigned steps = 100;

static const char *const engines[] = {"ftree", "updn", "dnup", "minhop"};

/* A whole fabric, and what of it is there at the moment. */
struct world {
    struct rt_graph *whole;
    bool *switch_in, *link_in, *dest_in,
        *present;         /* links: of the direction from the lower switch */
    struct rt_plan *plan; /* of the step before */
    const char *engine;
    unsigned moved;
};

static void add_switches(const struct world *w, struct rt_builder *b)
{
    const struct rt_graph *g = w->whole;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_dest *own = &g->dests[g->switches[s].first_dest];
        if (w->switch_in[s])
            assert_int_equal(
                rt_add_switch(b, g->switches[s].guid, g->switches[s].nports, own->lid, own->lmc),
                0);
    }
}

static void add_links(const struct world *w, struct rt_builder *b)
{
    const struct rt_graph *g = w->whole;
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
            const struct rt_group *group = &g->groups[g->switches[s].first_group + k];
            for (uint32_t l = group->first_link; l < group->first_link + group->link_count; l++)
                if (s < group->peer && w->link_in[l] && w->switch_in[s] &&
                    w->switch_in[group->peer])
                    assert_int_equal(rt_add_link(b, g->switches[s].guid, g->links[l].port,
                                                 g->switches[group->peer].guid,
                                                 g->links[l].peer_port),
                                     0);
        }
}

static void add_dests(const struct world *w, struct rt_builder *b)
{
    const struct rt_graph *g = w->whole;
    for (uint32_t d = 0; d < g->dest_count; d++) {
        const struct rt_dest *dest = &g->dests[d];
        if (dest->port > 0 && w->dest_in[d] && w->switch_in[dest->sw])
            assert_int_equal(rt_add_dest(b, g->switches[dest->sw].guid, dest->port, dest->port_guid,
                                         dest->lid, dest->lmc, dest->kind, w->present[d]),
                             0);
    }
    const uint32_t *numbers = w->plan ? rt_plan_numbers(w->plan) : NULL;
    const struct rt_graph *old = w->plan ? rt_plan_graph(w->plan) : NULL;
    for (uint32_t d = 0; numbers && d < old->dest_count; d++)
        if (numbers[d] != RT_NONE) /* EINVAL: its switch has left */
            (void)rt_add_number(b, old->switches[old->dests[d].sw].guid, old->dests[d].port,
                                numbers[d]);
}

static struct rt_plan *make_plan(const struct world *w)
{
    struct rt_builder *b = rt_builder_create();
    struct rt_graph *g;
    add_switches(w, b);
    add_links(w, b);
    add_dests(w, b);
    assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
    struct rt_plan *p = plan_for(w->engine, g);
    rt_graph_unref(g);
    return p;
}

static GArray *compare_all(const struct rt_plan *before, const struct rt_plan *after)
{
    const struct rt_graph *a = rt_plan_graph(before), *b = rt_plan_graph(after);
    size_t size = (MAX(a->max_lid, b->max_lid) / RT_LFT_BLOCK + 1u) * RT_LFT_BLOCK;
    g_autofree uint8_t *x = g_malloc(size), *y = g_malloc(size);
    GArray *blocks = g_array_new(FALSE, FALSE, sizeof(struct rt_block));
    for (uint32_t s = 0; s < b->switch_count; s++) {
        uint32_t old = rt_find_switch(a, b->switches[s].guid);
        if (old != RT_NONE)
            rt_plan_row(before, old, x, size);
        rt_plan_row(after, s, y, size);
        for (size_t from = 0; from < size; from += RT_LFT_BLOCK) {
            struct rt_block block = {.sw = s, .block = from / RT_LFT_BLOCK};
            if (old == RT_NONE || memcmp(x + from, y + from, RT_LFT_BLOCK))
                g_array_append_val(blocks, block);
        }
    }
    return blocks;
}

static void check_step(struct world *w)
{
    struct rt_plan *after = make_plan(w);
    GArray *found = rt_changed_blocks(w->plan, after, NULL);
    GArray *expected = compare_all(w->plan, after);
    assert_int_equal(found->len, expected->len);
    for (guint i = 0; i < found->len; i++) {
        struct rt_block a = g_array_index(found, struct rt_block, i);
        struct rt_block b = g_array_index(expected, struct rt_block, i);
        assert_int_equal(a.sw, b.sw);
        assert_int_equal(a.block, b.block);
    }
    w->moved += found->len > 0;
    g_array_free(found, TRUE);
    g_array_free(expected, TRUE);
    rt_plan_destroy(w->plan);
    w->plan = after;
}

/* Something goes; what is gone comes back more often, so that most is there most of the time. */
static void flip(bool *in, uint32_t count, GRand *rand)
{
    uint32_t i = count ? (uint32_t)g_rand_int_range(rand, 0, count) : 0;
    for (uint32_t k = 0; g_rand_boolean(rand) && k < count; k++)
        if (!in[(i + k) % count]) {
            in[(i + k) % count] = true;
            return;
        }
    if (count)
        in[i] = !in[i];
}

static void step(struct world *w, GRand *rand)
{
    const struct rt_graph *g = w->whole;
    switch (g_rand_int_range(rand, 0, 8)) {
    case 0:
        flip(w->switch_in, g->switch_count, rand);
        break;
    case 1:
        flip(w->dest_in, g->dest_count, rand);
        break;
    case 2:
        flip(w->present, g->dest_count, rand);
        break;
    default:
        flip(w->link_in, g->link_count, rand);
    }
}

static bool *all_in(uint32_t count)
{
    bool *in = g_new(bool, count + 1);
    memset(in, true, count + 1);
    return in;
}

static unsigned walk(struct rt_graph *whole, const char *engine, unsigned count, GRand *rand)
{
    struct world w = {.whole = whole,
                      .switch_in = all_in(whole->switch_count),
                      .link_in = all_in(whole->link_count),
                      .dest_in = all_in(whole->dest_count),
                      .present = all_in(whole->dest_count),
                      .engine = engine};
    w.plan = make_plan(&w);
    for (unsigned i = 0; i < count; i++) {
        step(&w, rand);
        check_step(&w);
    }
    rt_plan_destroy(w.plan);
    g_free(w.switch_in);
    g_free(w.link_in);
    g_free(w.dest_in);
    g_free(w.present);
    return w.moved;
}

static void walk_fabric(const char *spec, unsigned count, GRand *rand)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    struct rt_graph *g;
    fabric_messages_destroy(messages);
    assert_non_null(f);
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    fabric_destroy(f);
    for (unsigned e = 0; e < G_N_ELEMENTS(engines); e++) {
        unsigned moved = walk(g, engines[e], count, rand);
        print_message("%s %s: %u of %u steps changed blocks\n", spec, engines[e], moved, count);
        assert_true(count < 50 || moved > 0);
    }
    rt_graph_unref(g);
}

static void test_generated(void **state)
{
    static const char *const specs[] = {"pgft:2:4,4:1,2:1,2",
                                        "pgft:3:4,4,4:1,4,2:1,1,2",
                                        "pgft:3:4,4,3:2,4,4:1,1,1",
                                        "rail:40:4:10:5:2:4:2:an",
                                        "torus:3x3x2:2",
                                        "mesh:4x4:2",
                                        "dragonfly:5:4:2:1",
                                        "dragonfly+:4:3:3:3:2",
                                        "random:30:100:5:1"};
    GRand *rand = g_rand_new_with_seed(test_seed(31));
    for (unsigned i = 0; i < G_N_ELEMENTS(specs); i++)
        walk_fabric(specs[i], steps, rand);
    g_rand_free(rand);
}

static void test_random(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(32));
    for (unsigned i = 0; i < steps; i++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, 0, NULL, NULL);
        walk(g, engines[i % G_N_ELEMENTS(engines)], 8, rand);
        rt_graph_unref(g);
        model_destroy(m);
    }
    g_rand_free(rand);
}

static void test_real(void **state)
{
    static const char *const names[] = {"director-edr-1470", "rail-dgx-140", "rail-ndr-542",
                                        "small-qdr-144"};
    const char *dir = getenv("HEDDLE_FABRICS"), *source = getenv("HEDDLE_SOURCE");
    g_autofree char *beside =
        g_build_filename(source ? source : "..", "..", "shared", "fabrics", NULL);
    GRand *rand = g_rand_new_with_seed(test_seed(33));
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strdup_printf("%s/%s.net", dir ? dir : beside, names[i]);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            walk_fabric(path, steps / 10, rand);
        else
            print_message("skipped: %s is absent (set HEDDLE_FABRICS)\n", path);
    }
    g_rand_free(rand);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_real),
    };
    if (argc > 1)
        steps = strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
