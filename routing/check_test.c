/* SPDX-License-Identifier: BSD-2-Clause */
/* The checker against a brute-force one that walks every pair by itself, on random fabrics with
 * good and bad tables; and planted faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "routing/check.h"
#include "routing/testing.h"

/* -- the other checker ---------------------------------------------------------------------- */

struct brute {
    uint64_t unreachable, disconnected, loops, dead, pairs, cyclic;
    unsigned max_hops;
};

/* The link of a switch at a port, or NULL. */
static const struct rt_link *link_at(const struct rt_graph *g, uint32_t sw, unsigned port)
{
    const struct rt_switch *s = &g->switches[sw];
    for (uint32_t i = s->first_group; i < s->first_group + s->group_count; i++)
        for (uint32_t l = 0; l < g->groups[i].link_count; l++)
            if (g->links[g->groups[i].first_link + l].port == port)
                return &g->links[g->groups[i].first_link + l];
    return NULL;
}

static bool joined(const struct rt_graph *g, uint32_t a, uint32_t b, bool *seen)
{
    if (a == b)
        return true;
    seen[a] = true;
    const struct rt_switch *s = &g->switches[a];
    for (uint32_t i = s->first_group; i < s->first_group + s->group_count; i++)
        if (!seen[g->groups[i].peer] && joined(g, g->groups[i].peer, b, seen))
            return true;
    return false;
}

static void brute_pair(const struct rt_graph *g, const uint8_t *tables, uint32_t source,
                       const struct rt_dest *d, uint16_t lid, bool *waits, struct brute *r)
{
    size_t size = g->max_lid + 1u;
    uint32_t at = source;
    const struct rt_link *held = NULL;
    g_autofree bool *seen = g_new0(bool, g->switch_count);
    r->pairs++;
    for (unsigned hops = 0; hops <= 2 * g->switch_count; hops++) {
        uint8_t port = tables[at * size + lid];
        if (at == d->sw && port == d->port) {
            r->max_hops = MAX(r->max_hops, hops);
            return;
        }
        const struct rt_link *next = link_at(g, at, port);
        if (!next) {
            if (joined(g, source, d->sw, seen))
                r->unreachable++;
            else
                r->disconnected++;
            return;
        }
        if (held)
            waits[(held - g->links) * g->link_count + (next - g->links)] = true;
        held = next;
        at = next->peer;
    }
    if (joined(g, source, d->sw, seen))
        r->loops++;
    else
        r->disconnected++;
}

/* Whether depth-first search from `from` comes to `to`. */
static bool comes_to(const bool *waits, uint32_t n, uint32_t from, uint32_t to, bool *seen)
{
    for (uint32_t next = 0; next < n; next++) {
        if (!waits[from * n + next])
            continue;
        if (next == to)
            return true;
        if (seen[next])
            continue;
        seen[next] = true;
        if (comes_to(waits, n, next, to, seen))
            return true;
    }
    return false;
}

static void brute_ports(const struct rt_graph *g, const uint8_t *tables, struct brute *r)
{
    size_t size = g->max_lid + 1u;
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (size_t lid = 1; lid < size; lid++) {
            uint8_t port = tables[s * size + lid];
            bool live = port == RT_NO_PATH || link_at(g, s, port);
            for (uint32_t d = 0; d < g->dest_count && !live; d++) {
                const struct rt_dest *dest = &g->dests[d];
                bool own = dest->lid && lid >= dest->lid && lid < dest->lid + (1u << dest->lmc);
                live = dest->sw == s && dest->port == port && (dest->present || own);
            }
            r->dead += !live;
        }
}

static struct brute brute_check(const struct rt_graph *g, const uint8_t *tables)
{
    struct brute r = {0};
    uint32_t n = g->link_count;
    g_autofree bool *waits = g_new0(bool, n *n + 1);
    for (uint32_t d = 0; d < g->dest_count; d++)
        for (unsigned k = 0; g->dests[d].present && g->dests[d].lid && k < 1u << g->dests[d].lmc;
             k++)
            for (uint32_t s = 0; s < g->switch_count; s++) /* all have a LID of their own here */
                brute_pair(g, tables, s, &g->dests[d], g->dests[d].lid + k, waits, &r);
    for (uint32_t c = 0; c < n; c++) {
        g_autofree bool *seen = g_new0(bool, n);
        r.cyclic += comes_to(waits, n, c, c, seen);
    }
    brute_ports(g, tables, &r);
    return r;
}

/* -- comparison ----------------------------------------------------------------------------- */

static struct rt_check_result check_tables(const struct rt_graph *g, const uint8_t *tables,
                                           FILE *report)
{
    g_autofree const uint8_t **rows = g_new(const uint8_t *, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        rows[s] = tables + s * (g->max_lid + 1u);
    struct rt_tables t = {.rows = rows, .row_size = g->max_lid + 1u};
    struct rt_check_result r;
    bool good = rt_check(g, &t, NULL, &r, report, 5);
    assert_int_equal(good, !r.unreachable && !r.loops && !r.dead_ports && !r.credit_loop_channels);
    return r;
}

static void compare(const struct rt_graph *g, const uint8_t *tables)
{
    struct rt_check_result r = check_tables(g, tables, NULL);
    struct brute b = brute_check(g, tables);
    assert_int_equal(r.pairs, b.pairs);
    assert_int_equal(r.unreachable, b.unreachable);
    assert_int_equal(r.disconnected, b.disconnected);
    assert_int_equal(r.loops, b.loops);
    assert_int_equal(r.dead_ports, b.dead);
    assert_int_equal(r.credit_loop_channels, b.cyclic);
    assert_int_equal(r.max_hops, b.max_hops);
}

static void spoil(uint8_t *tables, size_t size, GRand *rand, unsigned changes)
{
    for (unsigned i = 0; i < changes && size; i++) {
        bool none = g_rand_int_range(rand, 0, 8) == 0;
        uint8_t port = none ? RT_NO_PATH : (unsigned)g_rand_int_range(rand, 0, 12);
        tables[g_rand_int(rand) % size] = port;
    }
}

static void test_agrees_with_brute_force(void **state)
{
    GRand *rand = g_rand_new_with_seed(test_seed(20261130));
    unsigned clean = 0, loops = 0, cyclic = 0;
    for (unsigned round = 0; round < 600; round++) {
        struct model *m = model_random(rand);
        struct rt_graph *g = model_build(m, round, NULL, NULL);
        struct rt_plan *p = plan_for(updown_engines[round % 2], g);
        g_autofree uint8_t *tables = plan_tables(p);
        compare(g, tables);
        struct rt_check_result r = check_tables(g, tables, NULL);
        clean += !r.unreachable && !r.loops && !r.dead_ports && !r.credit_loop_channels;
        assert_int_equal(r.disconnected > 0, rt_plan_unreachable(p, NULL, 0) > 0);
        spoil(tables, g->switch_count * (g->max_lid + 1u), rand, 1 << round % 8);
        compare(g, tables);
        r = check_tables(g, tables, NULL);
        loops += r.loops > 0;
        cyclic += r.credit_loop_channels > 0;
        rt_plan_destroy(p);
        rt_graph_unref(g);
        model_destroy(m);
    }
    printf("of 600 plans %u clean; spoilt: %u with loops, %u with credit loops\n", clean, loops,
           cyclic);
    assert_int_equal(clean, 600);
    assert_true(loops > 50 && cyclic > 50);
    g_rand_free(rand);
}

/* -- planted faults ------------------------------------------------------------------------- */

/* Four switches in a ring with a host each: S0 - S1 - S2 - S3 - S0. Ports 1 and 2 are cables. */
static struct model *ring(void)
{
    struct model *m = model_create();
    for (unsigned i = 0; i < 4; i++)
        model_add_switch(m, 0x10 + i);
    for (unsigned i = 0; i < 4; i++)
        model_cable(m, i, (i + 1) % 4, 1);
    for (unsigned i = 0; i < 4; i++)
        model_add_dest(m, i, RT_DEST_HOST, 0);
    model_number(m, 0);
    return m;
}

static unsigned port_towards(const struct rt_graph *g, uint32_t from, uint32_t to)
{
    for (unsigned p = 1; p < 64; p++)
        if (link_at(g, from, p) && link_at(g, from, p)->peer == to)
            return p;
    return 0;
}

struct planted {
    struct model *m;
    struct rt_graph *g;
    struct rt_plan *p;
    uint8_t *tables;
    size_t size;
};

static struct planted plant(void)
{
    struct planted f = {.m = ring()};
    f.g = model_build(f.m, 0, NULL, NULL);
    f.p = plan_for("updn", f.g);
    f.tables = plan_tables(f.p);
    f.size = f.g->max_lid + 1u;
    struct rt_check_result r = check_tables(f.g, f.tables, NULL);
    assert_int_equal(r.pairs, 32);
    assert_int_equal(r.unreachable + r.loops + r.dead_ports + r.credit_loop_channels, 0);
    return f;
}

static void pull(struct planted *f)
{
    g_free(f->tables);
    rt_plan_destroy(f->p);
    rt_graph_unref(f->g);
    model_destroy(f->m);
}

static void assert_reported(struct planted *f, const char *wanted)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    check_tables(f->g, f->tables, out);
    fclose(out);
    if (!strstr(text, wanted))
        fail_msg("\"%s\" is not in: %s", wanted, text);
    free(text);
}

static void test_finds_missing_entry(void **state)
{
    struct planted f = plant();
    uint16_t lid = model_dest(f.m, 2)->lid;
    f.tables[2 * f.size + lid] = RT_NO_PATH;
    struct rt_check_result r = check_tables(f.g, f.tables, NULL);
    assert_int_equal(r.unreachable, 4);
    assert_int_equal(r.dead_ports, 0);
    assert_reported(&f, "unreachable: from switch 0x0000000000000010 to LID 7");
    pull(&f);
}

static void test_finds_wrong_host(void **state)
{
    struct planted f = plant();
    f.tables[2 * f.size + model_dest(f.m, 2)->lid] = 0; /* to the switch itself */
    struct rt_check_result r = check_tables(f.g, f.tables, NULL);
    assert_int_equal(r.unreachable, 4);
    pull(&f);
}

static void test_finds_dead_port(void **state)
{
    struct planted f = plant();
    f.tables[1 * f.size + model_dest(f.m, 1)->lid] = 40;
    struct rt_check_result r = check_tables(f.g, f.tables, NULL);
    assert_int_equal(r.dead_ports, 1);
    assert_int_equal(r.unreachable, 4);
    assert_reported(&f, "dead port: switch 0x0000000000000011 LID 6 leads to port 40");
    pull(&f);
}

static void test_finds_loop(void **state)
{
    struct planted f = plant();
    uint16_t lid = model_dest(f.m, 3)->lid;
    f.tables[0 * f.size + lid] = port_towards(f.g, 0, 1);
    f.tables[1 * f.size + lid] = port_towards(f.g, 1, 0);
    struct rt_check_result r = check_tables(f.g, f.tables, NULL);
    assert_true(r.loops >= 2);
    assert_int_equal(r.unreachable, 0);
    assert_true(r.credit_loop_channels >= 2);
    assert_reported(&f, "loop: from switch 0x0000000000000010 to LID 8");
    pull(&f);
}

static void test_finds_credit_loop(void **state)
{
    struct planted f = plant();
    for (uint32_t s = 0; s < 4; s++) /* all go round the same way: no loop, but a credit loop */
        for (uint32_t d = 0; d < 4; d++)
            if (s != d)
                f.tables[s * f.size + model_dest(f.m, d)->lid] = port_towards(f.g, s, (s + 1) % 4);
    struct rt_check_result r = check_tables(f.g, f.tables, NULL);
    assert_int_equal(r.unreachable + r.loops + r.dead_ports, 0);
    assert_int_equal(r.credit_loop_channels, 4);
    assert_reported(&f, "credit loop: 0x0000000000000010[");
    pull(&f);
}

static void test_missing_and_short_rows(void **state)
{
    struct planted f = plant();
    const uint8_t *rows[4] = {f.tables, NULL, f.tables + 2 * f.size, f.tables + 3 * f.size};
    struct rt_tables t = {.rows = rows, .row_size = f.size};
    struct rt_check_result r;
    assert_false(rt_check(f.g, &t, NULL, &r, NULL, 0));
    assert_true(r.unreachable >= 8);
    t.row_size = 3;
    assert_false(rt_check(f.g, &t, NULL, &r, NULL, 0));
    assert_int_equal(r.pairs, 32);
    pull(&f);
}

static void test_names_disconnected(void **state)
{
    struct planted f = plant();
    g_array_set_size(f.m->links, 0);
    struct rt_graph *g = model_build(f.m, 0, NULL, NULL);
    struct rt_plan *p = plan_for("ftree", g);
    struct rt_check_result r;
    assert_true(rt_check_plan(p, &r, NULL, 0));
    assert_int_equal(r.disconnected, 24);
    uint32_t pairs[30][2];
    assert_int_equal(rt_plan_unreachable(p, pairs, 30), 24);
    assert_int_equal(rt_plan_unreachable(p, NULL, 0), 24);
    assert_int_equal(pairs[0][0], 0);
    assert_int_equal(g->dests[pairs[0][1]].sw, 1);
    rt_plan_destroy(p);
    rt_graph_unref(g);
    pull(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_brute_force),
        cmocka_unit_test(test_finds_missing_entry),
        cmocka_unit_test(test_finds_wrong_host),
        cmocka_unit_test(test_finds_dead_port),
        cmocka_unit_test(test_finds_loop),
        cmocka_unit_test(test_finds_credit_loop),
        cmocka_unit_test(test_missing_and_short_rows),
        cmocka_unit_test(test_names_disconnected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
