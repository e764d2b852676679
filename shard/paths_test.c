/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of directed routes: sources, order, suspects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shard/paths.h"
#include "shard/test_rig.h"

#define BEYOND 0x400ull /* a switch that the view does not have */

static int setup(void **state)
{
    *state = rig_create();
    return 0;
}

static int teardown(void **state)
{
    rig_destroy(*state);
    return 0;
}

static void expect_path(struct rig *r, uint64_t guid, unsigned hops, const uint8_t *ports)
{
    struct dr_path p;
    assert_true(paths_to_switch(r->core, guid, &p));
    assert_int_equal(p.hops, hops);
    assert_memory_equal(p.port + 1, ports, hops);
}

static GArray *links(uint64_t peer, unsigned port, unsigned peer_port)
{
    GArray *a = g_array_new(FALSE, FALSE, sizeof(struct path_link));
    struct path_link l = {peer, (uint8_t)port, (uint8_t)peer_port};
    g_array_append_val(a, l);
    return a;
}

/* Takes the link of a switch's port out of the view, at this end. */
static void unplug(struct rig *r, uint64_t guid, unsigned port)
{
    view_switch(r->core->view, guid)->ports[port].portinfo[32] = 1;
    view_switch(r->core->view, guid)->ports[port].portinfo[33] = 2 << 4;
    paths_changed(r->core);
}

static void routes_over_the_view(void **state)
{
    struct rig *r = *state;
    expect_path(r, RIG_LEAF, 1, (const uint8_t[]){1});
    expect_path(r, RIG_SPINE, 2, (const uint8_t[]){1, 3});
    expect_path(r, RIG_LEAF2, 3, (const uint8_t[]){1, 3, 2});
    const GArray *reached = paths_reached(r->core);
    assert_int_equal(reached->len, 3); /* hosts are no place to go on from */
    assert_true(g_array_index(reached, uint64_t, 0) == RIG_LEAF);
    assert_true(g_array_index(reached, uint64_t, 2) == RIG_LEAF2);
}

static void nothing_before_the_own_port_is_known(void **state)
{
    struct rig *r = *state;
    struct dr_path p;
    r->core->own.leaf_guid = 0;
    paths_changed(r->core);
    assert_false(paths_to_switch(r->core, RIG_LEAF, &p));
    assert_int_equal(paths_reached(r->core)->len, 0);
}

static void a_link_that_is_down_leads_nowhere(void **state)
{
    struct rig *r = *state;
    struct dr_path p;
    unplug(r, RIG_LEAF, 3);
    assert_false(paths_to_switch(r->core, RIG_SPINE, &p));
    assert_true(paths_to_switch(r->core, RIG_LEAF, &p));
}

/* The view knows a switch better than a scan, a scan better than a hint. */
static void sources_in_their_order(void **state)
{
    struct rig *r = *state;
    paths_learn_hint(r->core, RIG_LEAF, links(BEYOND, 2, 1));
    struct dr_path p;
    assert_false(paths_to_switch(r->core, BEYOND, &p));
    struct view_switch *leaf = view_switch(r->core->view, RIG_LEAF);
    leaf->reachable = false; /* then others are asked */
    paths_changed(r->core);
    expect_path(r, BEYOND, 2, (const uint8_t[]){1, 2});
    assert_false(paths_to_switch(r->core, RIG_SPINE, &p));
    paths_learn_scan(r->core, RIG_LEAF, links(RIG_SPINE, 3, 1));
    expect_path(r, RIG_SPINE, 2, (const uint8_t[]){1, 3});
    assert_false(paths_to_switch(r->core, BEYOND, &p));
    paths_forget(r->core, RIG_LEAF);
    assert_false(paths_to_switch(r->core, RIG_SPINE, &p));
}

static void what_is_known(void **state)
{
    struct rig *r = *state;
    struct path_link l;
    assert_true(paths_knows_links(r->core, RIG_SPINE));
    assert_false(paths_knows_links(r->core, BEYOND));
    paths_learn_hint(r->core, BEYOND, links(RIG_SPINE, 7, 3));
    assert_true(paths_knows_links(r->core, BEYOND));
    /* A hint tells both ends, as long as the cold start lasts. */
    assert_true(paths_seen_link(r->core, RIG_SPINE, 3, &l));
    assert_true(l.peer == BEYOND && l.peer_port == 7);
    paths_saw_link(r->core, RIG_SPINE, 3, RIG_LEAF2, 2);
    assert_true(paths_seen_link(r->core, RIG_LEAF2, 2, &l));
    assert_true(l.peer == RIG_SPINE && l.port == 2 && l.peer_port == 3);
    paths_forget_seen(r->core);
    assert_false(paths_seen_link(r->core, RIG_SPINE, 3, &l));
    assert_true(paths_knows_links(r->core, BEYOND));
}

/* Ports of a hostile switch, a ring: the search ends. */
static void odd_links(void **state)
{
    struct rig *r = *state;
    struct dr_path p;
    view_switch(r->core->view, RIG_LEAF)->reachable = false;
    GArray *a = links(RIG_LEAF, 4, 4); /* to itself */
    struct path_link bad[] = {{BEYOND, 0, 1}, {BEYOND, 255, 1}, {BEYOND, 9, 1}};
    g_array_append_vals(a, bad, 3);
    paths_learn_scan(r->core, RIG_LEAF, a);
    paths_learn_scan(r->core, BEYOND, links(RIG_LEAF, 1, 9));
    expect_path(r, BEYOND, 2, (const uint8_t[]){1, 9});
    /* A chain of more switches than a route has hops. */
    for (uint64_t i = 0; i < 100; i++)
        paths_learn_scan(r->core, BEYOND + i, links(BEYOND + i + 1, 1, 2));
    assert_true(paths_to_switch(r->core, BEYOND + 61, &p));
    assert_int_equal(p.hops, 63);
    assert_false(paths_to_switch(r->core, BEYOND + 62, &p));
}

/* A second spine: its links are taken after those of the first have failed, until they worked. */
static void ways_that_failed_are_the_last(void **state)
{
    struct rig *r = *state;
    struct dr_path first, second;
    view_switch(r->core->view, RIG_LEAF)->reachable = false;
    GArray *up = links(RIG_SPINE, 3, 1);
    struct path_link other = {BEYOND, 4, 1};
    g_array_append_val(up, other);
    paths_learn_scan(r->core, RIG_LEAF, up);
    paths_learn_scan(r->core, BEYOND, links(RIG_LEAF2, 2, 4));
    expect_path(r, RIG_LEAF2, 3, (const uint8_t[]){1, 3, 2});
    assert_true(paths_to_switch(r->core, RIG_LEAF2, &first));
    GArray *passed = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    paths_way_failed(r->core, &first, passed);
    assert_int_equal(passed->len, 2);
    assert_true(g_array_index(passed, uint64_t, 0) == RIG_LEAF);
    assert_true(g_array_index(passed, uint64_t, 1) == RIG_SPINE);
    expect_path(r, RIG_LEAF2, 3, (const uint8_t[]){1, 4, 2});
    /* The spine has no way but a suspect one, or the long one over the other leaf. */
    expect_path(r, RIG_SPINE, 2, (const uint8_t[]){1, 3});
    /* Both have failed: the shortest again. */
    assert_true(paths_to_switch(r->core, RIG_LEAF2, &second));
    g_array_set_size(passed, 0);
    paths_way_failed(r->core, &second, passed);
    expect_path(r, RIG_LEAF2, 3, (const uint8_t[]){1, 3, 2});
    paths_way_worked(r->core, &second);
    paths_changed(r->core);
    expect_path(r, RIG_LEAF2, 3, (const uint8_t[]){1, 4, 2});
    /* And it is forgotten after a while. */
    r->now_ms += 60000;
    r->core->now_ms = r->now_ms;
    paths_changed(r->core);
    expect_path(r, RIG_LEAF2, 3, (const uint8_t[]){1, 3, 2});
    g_array_free(passed, TRUE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(routes_over_the_view),
        TEST(nothing_before_the_own_port_is_known),
        TEST(a_link_that_is_down_leads_nowhere),
        TEST(sources_in_their_order),
        TEST(what_is_known),
        TEST(odd_links),
        TEST(ways_that_failed_are_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
