/* SPDX-License-Identifier: BSD-2-Clause */
/* The view: records, indices, snapshots, the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shard/view_private.h"

#include <errno.h>
#include <string.h>

#define SWITCHES 4
#define SWITCH_GUID 0x100u
#define HOST_GUID 0x900u

static void set_port(struct view_port *p, uint64_t peer, unsigned peer_port, unsigned lid)
{
    p->have_info = true;
    p->peer_guid = peer;
    p->peer_port = (uint8_t)peer_port;
    p->portinfo[16] = (uint8_t)(lid >> 8);
    p->portinfo[17] = (uint8_t)lid;
    p->portinfo[32] = 4;      /* active */
    p->portinfo[33] = 5 << 4; /* LinkUp */
}

/* A ring of switches: port 1 to the next, port 2 to the one before, port 3 to a host. */
static Heddle__SwitchRecord *ring_switch(unsigned i)
{
    struct view_port ports[4] = {0};
    struct view_switch s = {.guid = SWITCH_GUID + i, .nports = 3, .reachable = true};
    s.ports = ports;
    set_port(&ports[0], 0, 0, 10 + i);
    set_port(&ports[1], SWITCH_GUID + (i + 1) % SWITCHES, 2, 0);
    set_port(&ports[2], SWITCH_GUID + (i + SWITCHES - 1) % SWITCHES, 1, 0);
    set_port(&ports[3], HOST_GUID + i, 1, 0);
    return view_pack_switch(&s);
}

static struct view_end_port host(unsigned i)
{
    struct view_end_port e = {.node_guid = HOST_GUID + i, .num = 1, .present = true};
    e.port_guid = HOST_GUID + 0x100 + i;
    e.switch_guid = SWITCH_GUID + i;
    e.switch_port = 3;
    e.lid = (uint16_t)(20 + i);
    return e;
}

static Heddle__Delta *delta_new(void)
{
    Heddle__Delta *d = g_new0(Heddle__Delta, 1);
    heddle__delta__init(d);
    return d;
}

static unsigned apply(struct view *v, Heddle__Delta *d)
{
    unsigned changed = view_apply(v, 1, d);
    heddle__delta__free_unpacked(d, NULL);
    return changed;
}

static struct view *ring(void)
{
    struct view *v = view_create();
    Heddle__Delta *d = delta_new();
    for (unsigned i = SWITCHES; i-- > 0;) {
        view_delta_add_switch(d, ring_switch(i));
        struct view_end_port e = host(i);
        view_delta_add_end_port(d, view_pack_end_port(&e));
    }
    assert_int_equal(apply(v, d), VIEW_CHANGED_ROUTING | VIEW_CHANGED_PORTS);
    return v;
}

static unsigned apply_host(struct view *v, const struct view_end_port *e)
{
    Heddle__Delta *d = delta_new();
    view_delta_add_end_port(d, view_pack_end_port(e));
    return apply(v, d);
}

static void walks_are_sorted(void **state)
{
    struct view *v = ring();
    const GPtrArray *all = view_switches(v);
    assert_int_equal(all->len, SWITCHES);
    for (guint i = 0; i < all->len; i++)
        assert_int_equal(((struct view_switch *)g_ptr_array_index(all, i))->guid, SWITCH_GUID + i);
    all = view_end_ports(v);
    for (guint i = 0; i < all->len; i++)
        assert_int_equal(((struct view_end_port *)g_ptr_array_index(all, i))->node_guid,
                         HOST_GUID + i);
    view_destroy(v);
}

static void same_record_changes_nothing(void **state)
{
    struct view *v = ring();
    struct view_end_port e = host(1);
    Heddle__Delta *d = delta_new();
    view_delta_add_switch(d, ring_switch(1));
    view_delta_add_end_port(d, view_pack_end_port(&e));
    assert_int_equal(apply(v, d), 0);
    e.portinfo[0] = 1;
    assert_int_equal(apply_host(v, &e), VIEW_CHANGED_PORTS);
    e.present = false;
    assert_int_equal(apply_host(v, &e), VIEW_CHANGED_ROUTING);
    view_destroy(v);
}

static void change_in_place_shows_in_the_mask(void **state)
{
    struct view *v = ring();
    struct view_end_port *e = view_end_port(v, HOST_GUID, 1);
    e->lid = 77;
    e->switch_port = 2;
    assert_int_equal(apply_host(v, e), VIEW_CHANGED_ROUTING);
    assert_ptr_equal(view_end_port_at(v, SWITCH_GUID, 2), e);
    assert_null(view_end_port_at(v, SWITCH_GUID, 3));
    view_destroy(v);
}

static void lids_are_found(void **state)
{
    struct view *v = ring();
    struct view_switch *sw;
    struct view_end_port *ep, e = host(0);
    assert_true(view_by_lid(v, 12, &sw, &ep));
    assert_int_equal(sw->guid, SWITCH_GUID + 2);
    e.lid = 64;
    e.lmc = 2;
    apply_host(v, &e);
    assert_false(view_by_lid(v, 20, &sw, &ep));
    assert_true(view_by_lid(v, 67, &sw, &ep));
    assert_int_equal(ep->node_guid, HOST_GUID);
    assert_false(view_by_lid(v, 68, &sw, &ep));
    /* Claimed twice: the lower GUID has it; the other gets it back. */
    struct view_end_port other = host(1);
    other.lid = 65;
    apply_host(v, &other);
    assert_true(view_by_lid(v, 65, &sw, &ep));
    assert_int_equal(ep->node_guid, HOST_GUID);
    e.lid = 0;
    apply_host(v, &e);
    assert_true(view_by_lid(v, 65, &sw, &ep));
    assert_int_equal(ep->node_guid, HOST_GUID + 1);
    assert_false(view_by_lid(v, 66, &sw, &ep));
    view_destroy(v);
}

static void present_one_wins_the_cable(void **state)
{
    struct view *v = ring();
    struct view_end_port gone = host(2), moved = host(3);
    gone.present = false;
    moved.switch_guid = gone.switch_guid;
    apply_host(v, &gone);
    apply_host(v, &moved);
    assert_int_equal(view_end_port_at(v, gone.switch_guid, 3)->node_guid, HOST_GUID + 3);
    moved.present = false;
    apply_host(v, &moved);
    assert_int_equal(view_end_port_at(v, gone.switch_guid, 3)->node_guid, HOST_GUID + 2);
    view_destroy(v);
}

static struct rt_graph *graph_of(const struct view *v)
{
    struct rt_graph *g = NULL;
    assert_int_equal(view_graph(v, &g, NULL), 0);
    return g;
}

static void graph_has_agreed_links(void **state)
{
    struct view *v = ring();
    struct rt_graph *g = graph_of(v);
    assert_int_equal(g->switch_count, SWITCHES);
    assert_int_equal(g->link_count, 2 * SWITCHES);
    assert_int_equal(g->dest_count, 2 * SWITCHES);
    rt_graph_unref(g);

    /* One end goes down: the link is none, whatever the other says. */
    Heddle__Delta *d = delta_new();
    Heddle__SwitchRecord *r = ring_switch(1);
    r->ports[1]->portinfo.data[33] = 2 << 4;
    view_delta_add_switch(d, r);
    apply(v, d);
    g = graph_of(v);
    assert_int_equal(g->link_count, 2 * SWITCHES - 2);
    rt_graph_unref(g);

    /* An unreachable switch is out, with its links and its host. */
    d = delta_new();
    r = ring_switch(3);
    r->reachable = false;
    view_delta_add_switch(d, r);
    apply(v, d);
    g = graph_of(v);
    assert_int_equal(g->switch_count, SWITCHES - 1);
    assert_int_equal(g->dest_count, 2 * (SWITCHES - 1));
    rt_graph_unref(g);
    view_destroy(v);
}

static void graph_keeps_absent_hosts(void **state)
{
    struct view *v = ring();
    struct view_end_port e = host(0), a = host(1);
    e.present = false;
    apply_host(v, &e);
    g_strlcpy(a.description, "Mellanox Technologies AGGREGATION NODE", sizeof a.description);
    assert_int_equal(apply_host(v, &a), VIEW_CHANGED_ROUTING);
    struct rt_graph *g = graph_of(v);
    const struct rt_dest *dest = &g->dests[rt_find_dest_by_lid(g, 20)];
    assert_false(dest->present);
    assert_int_equal(g->dests[rt_find_dest_by_lid(g, 21)].kind, RT_DEST_AGGREGATION);
    rt_graph_unref(g);
    view_destroy(v);
}

static void duplicate_lid_is_named(void **state)
{
    struct view *v = ring();
    struct view_end_port e = host(0);
    struct rt_graph *g = NULL;
    uint16_t lid = 0;
    e.lid = 21;
    apply_host(v, &e);
    assert_int_equal(view_graph(v, &g, &lid), EEXIST);
    assert_int_equal(lid, 21);
    view_destroy(v);
}

static void snapshot_makes_the_same_view(void **state)
{
    struct view *a = ring(), *b = ring();
    struct view_end_port extra = host(0);
    extra.node_guid = 0x5000;
    apply_host(b, &extra);
    Heddle__Delta *d = delta_new();
    d->removed_switches = g_new0(uint64_t, 1);
    d->removed_switches[d->n_removed_switches++] = SWITCH_GUID;
    apply(a, d);

    GPtrArray *chunks = view_snapshot(a, 1, 300);
    assert_true(chunks->len > 2);
    view_snapshot_removals(b, 1, chunks, g_ptr_array_index(chunks, 0));
    for (guint i = 0; i < chunks->len; i++)
        view_apply(b, 1, g_ptr_array_index(chunks, i));
    assert_null(view_switch(b, SWITCH_GUID));
    assert_null(view_end_port(b, 0x5000, 1));
    assert_int_equal(view_end_ports(b)->len, SWITCHES);
    struct rt_graph *x = graph_of(a), *y = graph_of(b);
    uint8_t dx[32], dy[32];
    rt_graph_digest(x, dx);
    rt_graph_digest(y, dy);
    assert_memory_equal(dx, dy, sizeof dx);
    rt_graph_unref(x);
    rt_graph_unref(y);
    g_ptr_array_free(chunks, TRUE);
    view_destroy(a);
    view_destroy(b);
}

static void assignment_says_the_domain(void **state)
{
    struct view *v = ring();
    uint64_t guids[] = {SWITCH_GUID, SWITCH_GUID + 1, 0x7777};
    Heddle__Domain d = HEDDLE__DOMAIN__INIT, *domains[] = {&d};
    Heddle__Assignment a = HEDDLE__ASSIGNMENT__INIT;
    d.id = 1;
    d.switches = guids;
    d.n_switches = 3;
    a.domains = domains;
    a.n_domains = 1;
    view_assign(v, &a);
    assert_int_equal(view_domain_of_switch(v, 0x7777), 1);
    assert_int_equal(view_switch(v, SWITCH_GUID)->domain, 1);
    assert_int_equal(view_switch(v, SWITCH_GUID + 2)->domain, VIEW_NO_DOMAIN);
    GPtrArray *some = view_domain_end_ports(v, 1);
    assert_int_equal(some->len, 2);
    g_ptr_array_free(some, TRUE);
    view_destroy(v);
}

static void numbers_are_kept(void **state)
{
    struct view *v = ring();
    uint32_t ports[] = {3, 200}, numbers[] = {7, 8};
    Heddle__LeafNumbers n = HEDDLE__LEAF_NUMBERS__INIT, *list[] = {&n};
    Heddle__Delta d = HEDDLE__DELTA__INIT;
    n.leaf_guid = SWITCH_GUID;
    n.n_ports = n.n_numbers = 2;
    n.ports = ports;
    n.numbers = numbers;
    d.numbers = list;
    d.n_numbers = 1;
    assert_int_equal(view_apply(v, 0, &d), VIEW_CHANGED_ROUTING);
    assert_int_equal(view_apply(v, 0, &d), 0);
    assert_true(view_has_number(v, SWITCH_GUID, 200));
    struct rt_graph *g = graph_of(v);
    assert_int_equal(g->dests[rt_find_dest_by_lid(g, 20)].number, 7);
    rt_graph_unref(g);
    numbers[0] = RT_NONE;
    assert_int_equal(view_apply(v, 0, &d), VIEW_CHANGED_ROUTING);
    assert_false(view_has_number(v, SWITCH_GUID, 3));
    view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_are_sorted),
        cmocka_unit_test(same_record_changes_nothing),
        cmocka_unit_test(change_in_place_shows_in_the_mask),
        cmocka_unit_test(lids_are_found),
        cmocka_unit_test(present_one_wins_the_cable),
        cmocka_unit_test(graph_has_agreed_links),
        cmocka_unit_test(graph_keeps_absent_hosts),
        cmocka_unit_test(duplicate_lid_is_named),
        cmocka_unit_test(snapshot_makes_the_same_view),
        cmocka_unit_test(assignment_says_the_domain),
        cmocka_unit_test(numbers_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
