/* SPDX-License-Identifier: BSD-2-Clause */
/* The checker with several virtual lanes, against one that walks every path by itself: random
 * fabrics, random tables, service levels and SL2VL rules drawn by hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "routing/check.h"
#include "routing/testing.h"

struct rule {
    uint32_t seed;
    unsigned sls, vls;
};

static unsigned mix(uint32_t seed, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = seed * 2654435761u ^ a * 40503u ^ b * 69069u ^ c * 362437u;
    h ^= h >> 15;
    h *= 2246822519u;
    return h ^ h >> 13;
}

static unsigned rule_sl(const void *user, uint32_t source, uint32_t dest, unsigned path)
{
    const struct rule *r = user;
    return mix(r->seed, source, dest, path) % r->sls;
}

static unsigned rule_vl(const void *user, uint32_t sw, unsigned in_port, unsigned out_port,
                        unsigned sl)
{
    const struct rule *r = user;
    return mix(r->seed, sw, in_port * 256 + out_port, sl) % r->vls;
}

static uint32_t link_at(const struct rt_graph *g, uint32_t sw, unsigned port)
{
    const struct rt_switch *s = &g->switches[sw];
    for (uint32_t i = s->first_group; i < s->first_group + s->group_count; i++)
        for (uint32_t l = 0; l < g->groups[i].link_count; l++)
            if (g->links[g->groups[i].first_link + l].port == port)
                return g->groups[i].first_link + l;
    return RT_NONE;
}

/* Rows of what each channel waits for, transitively (Warshall). */
static uint64_t count_cyclic(uint8_t *waits, uint32_t n)
{
    uint64_t cyclic = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            if (waits[i * n + k])
                for (uint32_t j = 0; j < n; j++)
                    waits[i * n + j] |= waits[k * n + j];
    for (uint32_t i = 0; i < n; i++)
        cyclic += waits[i * n + i];
    return cyclic;
}

static void walk(const struct rt_graph *g, const uint8_t *tables, const struct rt_lanes *lanes,
                 uint32_t source, unsigned in_port, uint32_t dest, unsigned path, uint8_t *waits)
{
    const struct rt_dest *d = &g->dests[dest];
    uint32_t at = source, held = RT_NONE, n = g->link_count * lanes->vls;
    unsigned sl = lanes->sl(lanes->user, source, dest, path);
    for (unsigned hops = 0; hops <= 4 * g->switch_count; hops++) {
        uint8_t port = tables[at * (g->max_lid + 1u) + d->lid + path];
        uint32_t link = link_at(g, at, port);
        if ((at == d->sw && port == d->port) || link == RT_NONE)
            return;
        unsigned vl = lanes->vl ? lanes->vl(lanes->user, at, in_port, port, sl) : sl;
        uint32_t channel = link * lanes->vls + vl;
        if (held != RT_NONE)
            waits[held * n + channel] = 1;
        held = channel;
        in_port = g->links[link].peer_port;
        at = g->links[link].peer;
    }
}

static uint64_t brute_cycles(const struct rt_graph *g, const uint8_t *tables,
                             const struct rt_lanes *lanes)
{
    uint32_t n = g->link_count * lanes->vls;
    g_autofree uint8_t *waits = g_malloc0((size_t)n * n + 1);
    for (uint32_t d = 0; d < g->dest_count; d++)
        for (unsigned k = 0; g->dests[d].present && k < 1u << g->dests[d].lmc; k++)
            for (uint32_t from = 0; from < g->dest_count; from++)
                if (g->dests[from].present)
                    walk(g, tables, lanes, g->dests[from].sw, g->dests[from].port, d, k, waits);
    return count_cyclic(waits, n);
}

static uint64_t checked_cycles(const struct rt_graph *g, const uint8_t *tables,
                               const struct rt_lanes *lanes)
{
    g_autofree const uint8_t **rows = g_new(const uint8_t *, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        rows[s] = tables + s * (g->max_lid + 1u);
    struct rt_tables t = {.rows = rows, .row_size = g->max_lid + 1u};
    struct rt_check_result r;
    rt_check(g, &t, lanes, &r, NULL, 0);
    assert_int_equal(r.bad_lanes, 0);
    return r.credit_loop_channels;
}

/* A few entries at random ports: loops and detours, which need lanes most. */
static void spoil(uint8_t *tables, size_t size, GRand *rand, unsigned changes)
{
    for (unsigned i = 0; i < changes && size; i++)
        tables[g_rand_int(rand) % size] = (uint8_t)g_rand_int_range(rand, 0, 12);
}

static void test_agrees_with_brute_force(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261201));
    unsigned clean = 0, cyclic = 0;
    for (unsigned round = 0; round < 150; round++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, round, NULL, NULL);
        struct rt_plan *p = plan_for("updn", g);
        g_autofree uint8_t *tables = plan_tables(p);
        struct rule rule = {g_rand_int(rand), 1 + round % 4, 1 + round % 4};
        struct rt_lanes lanes = {rule.vls, &rule, rule_sl, round % 2 ? rule_vl : NULL};
        spoil(tables, g->switch_count * (g->max_lid + 1u), rand, round % 40);
        uint64_t found = checked_cycles(g, tables, &lanes);
        assert_int_equal(found, brute_cycles(g, tables, &lanes));
        clean += found == 0;
        cyclic += found > 0;
        rt_plan_destroy(p);
        rt_graph_unref(g);
        model_destroy(m);
    }
    printf("%u without, %u with credit loops\n", clean, cyclic);
    assert_true(clean > 20 && cyclic > 20);
    g_rand_free(rand);
}

/* Four switches in a ring, each with a host; packets go clockwise over at most two links. Switch k
 * has destinations 2k (itself) and 2k + 1. */
static struct rt_graph *ring(void)
{
    struct model *m = model_create();
    for (unsigned i = 0; i < 4; i++)
        model_add_switch(m, 0x10 + i);
    for (unsigned i = 0; i < 4; i++)
        model_cable(m, i, (i + 1) % 4, 1);
    for (unsigned i = 0; i < 4; i++)
        model_add_dest(m, i, RT_DEST_HOST, 0);
    model_number(m, 0);
    struct rt_graph *g = model_build(m, 0, NULL, NULL);
    model_destroy(m);
    return g;
}

static uint8_t *clockwise(const struct rt_graph *g)
{
    size_t size = g->max_lid + 1u;
    uint8_t *tables = g_malloc(size * 4);
    memset(tables, RT_NO_PATH, size * 4);
    for (uint32_t s = 0; s < 4; s++)
        for (uint32_t d = 0; d < g->dest_count; d++) {
            uint8_t *entry = &tables[s * size + g->dests[d].lid];
            uint32_t distance = (g->dests[d].sw + 4 - s) % 4;
            if (distance == 0)
                *entry = g->dests[d].port;
            for (unsigned port = 1; port < 8 && distance > 0 && distance < 3; port++)
                if (link_at(g, s, port) != RT_NONE &&
                    g->links[link_at(g, s, port)].peer == (s + 1) % 4)
                    *entry = port;
        }
    return tables;
}

/* SL 1 for those that pass the date line between switch 3 and switch 0 ... */
static unsigned sl_of_date_line(const void *user, uint32_t source, uint32_t dest, unsigned path)
{
    return source > dest / 2;
}

/* ... which take the other lane behind it. */
static unsigned vl_behind_it(const void *user, uint32_t sw, unsigned in_port, unsigned out_port,
                             unsigned sl)
{
    return sl == 1 && sw < 2;
}

static unsigned too_high(const void *user, uint32_t sw, unsigned in_port, unsigned out_port,
                         unsigned sl)
{
    return 2;
}

static void test_ring_with_date_line(void **state)
{
    struct rt_graph *g = ring();
    g_autofree uint8_t *tables = clockwise(g);
    struct rule one_sl = {0, 1, 1};
    struct rt_lanes one = {1, &one_sl, rule_sl, NULL}, by_path = {2, NULL, sl_of_date_line, NULL},
                    by_line = {2, NULL, sl_of_date_line, vl_behind_it};
    assert_int_equal(checked_cycles(g, tables, &one), 4);
    assert_int_equal(checked_cycles(g, tables, &by_path), 0);
    assert_int_equal(checked_cycles(g, tables, &by_line), 0);

    struct rt_lanes missing = {2, NULL, sl_of_date_line, too_high};
    const uint8_t *rows[4];
    for (uint32_t s = 0; s < 4; s++)
        rows[s] = tables + s * (g->max_lid + 1u);
    struct rt_tables t = {.rows = rows, .row_size = g->max_lid + 1u};
    struct rt_check_result r;
    assert_false(rt_check(g, &t, &missing, &r, NULL, 0));
    assert_true(r.bad_lanes > 0);
    rt_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_brute_force),
        cmocka_unit_test(test_ring_with_date_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
