/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of links, at both ends. */
#include <stdlib.h>

#include "sim/agents/agents_test.h"
#include "sim/hosts/host.h"

#define PORT_STATE_CHANGE 0x04

static const struct sim_hooks no_hooks;

static int setup(void **state)
{
    *state = test_fabric(0, &no_hooks);
    return 0;
}

static int setup_training(void **state)
{
    *state = test_fabric(20, &no_hooks);
    return 0;
}

static int teardown(void **state)
{
    sim_destroy(*state);
    return 0;
}

static void assert_states(struct sim *s, unsigned host, unsigned leaf, unsigned phys)
{
    assert_int_equal(sim_port_state(sim_port(s, HOST, 1)), host);
    assert_int_equal(sim_port_state(sim_port(s, SWITCH, 1)), leaf);
    assert_int_equal(sim_phys_state(sim_port(s, HOST, 1)), phys);
}

static void activate(struct sim *s)
{
    for (unsigned state = SIM_ARMED; state <= SIM_ACTIVE; state++) {
        assert_int_equal(test_set_state(s, HOST, 1, state), 0);
        assert_int_equal(test_set_state(s, SWITCH, 1, state), 0);
    }
    assert_states(s, SIM_ACTIVE, SIM_ACTIVE, SIM_PHYS_LINKUP);
}

static uint64_t downed(struct sim *s, uint32_t node)
{
    const uint64_t *counters = sim_port(s, node, 1)->counters;
    return counters ? counters[SIM_CNT_LINK_DOWNED] : 0;
}

static bool take_change(struct sim *s)
{
    uint8_t *byte = &s->nodes[SWITCH].sw->info[11];
    bool set = *byte & PORT_STATE_CHANGE;
    *byte &= (uint8_t)~PORT_STATE_CHANGE;
    return set;
}

static void test_initial(void **state)
{
    struct sim *s = *state;
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    assert_true(take_change(s));
    assert_int_equal(sim_port_state(sim_port(s, SWITCH, 4)), SIM_DOWN); /* no cable */
    assert_int_equal(sim_phys_state(sim_port(s, SWITCH, 4)), SIM_PHYS_POLLING);
    assert_int_equal(sim_port_state(sim_port(s, SWITCH, 0)), SIM_ACTIVE);
    assert_int_equal(downed(s, HOST), 0);
}

/* Every written state in every state (IBA 7.2.7). */
static void test_legal_transitions(void **state)
{
    static const uint16_t bad = 0x1c;
    /* rows: the state that is there; columns: 0 nop, DOWN, INIT, ARMED, ACTIVE, 5 reserved */
    static const uint16_t expected[][6] = {
        [SIM_DOWN] = {0, 0, bad, bad, bad, bad},
        [SIM_INIT] = {0, 0, bad, 0, bad, bad},
        [SIM_ARMED] = {0, 0, bad, 0, 0, bad},
        [SIM_ACTIVE] = {0, 0, bad, bad, 0, bad},
    };
    struct sim *s = *state;
    for (unsigned now = SIM_DOWN; now <= SIM_ACTIVE; now++) {
        for (unsigned wanted = 0; wanted < 6; wanted++) {
            struct sim_port *p = sim_port(s, HOST, 1);
            p->unplugged = now == SIM_DOWN;
            sim_link_update(s, HOST, 1);
            p->info[32] = (uint8_t)((p->info[32] & 0xf0) | now);
            uint16_t status = test_set_state(s, HOST, 1, wanted);
            assert_int_equal(status, expected[now][wanted]);
            if (status || wanted == 0)
                assert_int_equal(sim_port_state(p), now);
            else if (wanted == SIM_DOWN)
                assert_int_equal(sim_port_state(p), now == SIM_DOWN ? SIM_DOWN : SIM_INIT);
            else
                assert_int_equal(sim_port_state(p), wanted);
        }
    }
}

/* IBA 14.2.5.4: what Sets change is not a PortStateChange, what the link does is. */
static void test_port_state_change(void **state)
{
    struct sim *s = *state;
    take_change(s);
    activate(s);
    assert_false(take_change(s));
    sim_link_bounce(s, HOST, 1);
    assert_true(take_change(s));
    activate(s);
    assert_int_equal(test_set_state(s, HOST, 1, SIM_DOWN), 0); /* at the other end */
    assert_true(take_change(s));
    assert_int_equal(test_set_phys(s, SWITCH, 1, SIM_PHYS_DISABLED), 0); /* at this end */
    assert_false(take_change(s));
    assert_int_equal(test_set_phys(s, SWITCH, 1, SIM_PHYS_POLLING), 0);
    assert_true(take_change(s));
}

static void test_set_down_retrains(void **state)
{
    struct sim *s = *state;
    activate(s);
    assert_int_equal(test_set_state(s, SWITCH, 1, SIM_DOWN), 0);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    assert_int_equal(downed(s, HOST), 1);
    assert_int_equal(downed(s, SWITCH), 1);
}

static void test_disabled(void **state)
{
    struct sim *s = *state;
    activate(s);
    assert_int_equal(test_set_phys(s, SWITCH, 1, SIM_PHYS_DISABLED), 0);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_POLLING);
    assert_int_equal(sim_phys_state(sim_port(s, SWITCH, 1)), SIM_PHYS_DISABLED);
    sim_port(s, HOST, 1)->unplugged = sim_port(s, SWITCH, 1)->unplugged = true;
    sim_link_update(s, HOST, 1);
    sim_port(s, HOST, 1)->unplugged = sim_port(s, SWITCH, 1)->unplugged = false;
    sim_link_update(s, HOST, 1);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_POLLING); /* plugging in is not enabling */
    assert_int_equal(test_set_state(s, SWITCH, 1, SIM_DOWN), 0);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_POLLING); /* nor is Down */
    assert_int_equal(test_set_phys(s, SWITCH, 1, SIM_PHYS_POLLING), 0);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    assert_int_equal(test_set_phys(s, SWITCH, 1, 4), 0x1c);
    assert_int_equal(test_set_phys(s, SWITCH, 1, 15), 0x1c);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
}

static void test_sleeping(void **state)
{
    struct sim *s = *state;
    sim_port(s, HOST, 1)->unplugged = true;
    sim_link_update(s, HOST, 1);
    assert_int_equal(test_set_phys(s, HOST, 1, SIM_PHYS_SLEEP), 0);
    assert_int_equal(test_set_phys(s, SWITCH, 1, SIM_PHYS_SLEEP), 0);
    sim_port(s, HOST, 1)->unplugged = false;
    sim_link_update(s, HOST, 1);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_SLEEP); /* nobody wakes the other */
    assert_int_equal(test_set_phys(s, SWITCH, 1, SIM_PHYS_POLLING), 0);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    /* LinkDownDefaultState */
    assert_int_equal(test_set(s, HOST, 1, 33, 0x0f, SIM_PHYS_SLEEP), 0);
    assert_int_equal(test_set(s, HOST, 1, 33, 0x0f, 3), 0x1c);
    sim_port(s, SWITCH, 1)->unplugged = true;
    sim_link_update(s, SWITCH, 1);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_SLEEP);
}

static void test_power(void **state)
{
    struct sim *s = *state;
    activate(s);
    s->nodes[HOST].powered = false;
    sim_node_reset(s, HOST); /* shows Down before anybody looks at the link */
    sim_link_update(s, HOST, 1);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_POLLING);
    assert_int_equal(downed(s, HOST), 0);
    assert_int_equal(downed(s, SWITCH), 1);
    s->nodes[HOST].powered = true;
    sim_link_update(s, HOST, 1);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    activate(s);
    sim_node_reset(s, HOST); /* so short that only the reset shows */
    sim_link_update(s, HOST, 1);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
}

static void test_carries(void **state)
{
    struct sim *s = *state;
    assert_true(sim_link_carries(s, HOST, 1, true));
    assert_false(sim_link_carries(s, HOST, 1, false));
    assert_int_equal(test_set_state(s, HOST, 1, SIM_ARMED), 0);
    assert_int_equal(test_set_state(s, HOST, 1, SIM_ACTIVE), 0); /* the other end is INIT: legal */
    assert_false(sim_link_carries(s, HOST, 1, false));
    assert_states(s, SIM_ACTIVE, SIM_INIT, SIM_PHYS_LINKUP);
    assert_int_equal(test_set_state(s, SWITCH, 1, SIM_ARMED), 0);
    assert_false(sim_link_carries(s, SWITCH, 1, false)); /* ARMED does not send */
    assert_states(s, SIM_ACTIVE, SIM_ARMED, SIM_PHYS_LINKUP);
    assert_true(sim_link_carries(s, HOST, 1, false)); /* the first packet */
    assert_states(s, SIM_ACTIVE, SIM_ACTIVE, SIM_PHYS_LINKUP);
    assert_true(sim_link_carries(s, SWITCH, 1, false));
    assert_true(sim_link_carries(s, SWITCH, 0, false));
    assert_false(sim_link_carries(s, SWITCH, 4, true));
}

static unsigned active_width(struct sim *s, uint32_t node, unsigned port)
{
    return sim_port(s, node, port)->info[31];
}

static void test_negotiation(void **state)
{
    struct sim *s = *state;
    const uint8_t *host = sim_port(s, HOST, 1)->info, *xdr = sim_port(s, SWITCH2, 1)->info;
    const uint8_t *qdr = sim_port(s, HOST4, 1)->info;
    assert_int_equal(active_width(s, HOST, 1), 2);
    assert_int_equal(host[62] >> 4, 8); /* NDR */
    assert_int_equal(host[35] >> 4, 4);
    assert_int_equal(xdr[56] >> 5, 1);
    assert_int_equal(xdr[62] >> 4, 0);
    assert_int_equal(qdr[62] >> 4, 0);
    assert_int_equal(qdr[35] >> 4, 4);
    /* less enabled at one end counts for both, from the next training on */
    assert_int_equal(test_set(s, SWITCH, 1, 29, 0xff, 1), 0);
    assert_int_equal(test_set(s, HOST, 1, 63, 0x1f, 3), 0);
    assert_int_equal(active_width(s, HOST, 1), 2);
    assert_int_equal(test_set_state(s, HOST, 1, SIM_DOWN), 0);
    assert_int_equal(active_width(s, HOST, 1), 1);
    assert_int_equal(active_width(s, SWITCH, 1), 1);
    assert_int_equal(host[62] >> 4, 2); /* EDR */
    assert_int_equal(sim_port(s, SWITCH, 1)->info[62] >> 4, 2);
    assert_int_equal(test_set(s, HOST, 1, 63, 0x1f, 30), 0); /* extended speeds disabled */
    assert_int_equal(test_set_state(s, HOST, 1, SIM_DOWN), 0);
    assert_int_equal(host[62] >> 4, 0);
    /* two that have no extended speed in common */
    assert_int_equal(test_set(s, HOST, 1, 63, 0x1f, 1), 0);
    assert_int_equal(test_set(s, SWITCH, 1, 63, 0x1f, 14), 0);
    assert_int_equal(test_set_state(s, SWITCH, 1, SIM_DOWN), 0);
    assert_int_equal(host[62] >> 4, 0);
    assert_int_equal(host[35] >> 4, 4);
}

static void test_nothing_in_common(void **state)
{
    struct sim *s = *state;
    assert_int_equal(test_set(s, HOST, 1, 29, 0xff, 1), 0);
    assert_int_equal(test_set(s, SWITCH, 1, 29, 0xff, 2), 0);
    assert_int_equal(test_set_state(s, HOST, 1, SIM_DOWN), 0);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_POLLING);
    assert_int_equal(test_set(s, SWITCH, 1, 29, 0xff, 255), 0);
    sim_link_update(s, SWITCH, 1);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
}

static void test_training(void **state)
{
    struct sim *s = *state;
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_TRAINING);
    assert_int_equal(sim_next(s), 20 * MS);
    sim_run(s, 20 * MS - 1);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_TRAINING);
    sim_run(s, 20 * MS);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    activate(s);
    sim_link_bounce(s, SWITCH, 1);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_TRAINING);
    sim_run(s, 30 * MS);
    sim_link_bounce(s, HOST, 1); /* from the other end: starts anew */
    sim_run(s, 49 * MS);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_TRAINING);
    sim_run(s, 50 * MS);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    assert_int_equal(sim_next(s), SIM_NEVER);
}

static void test_training_ends_by_fault(void **state)
{
    struct sim *s = *state;
    sim_port(s, SWITCH, 1)->unplugged = true;
    sim_link_update(s, SWITCH, 1);
    sim_run(s, 100 * MS);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_POLLING);
    sim_port(s, SWITCH, 1)->unplugged = false;
    sim_link_update(s, SWITCH, 1);
    sim_link_update(s, HOST, 1); /* the second look does not start it again */
    sim_run(s, 110 * MS);
    sim_link_update(s, HOST, 1);
    sim_run(s, 120 * MS);
    assert_states(s, SIM_INIT, SIM_INIT, SIM_PHYS_LINKUP);
    /* the answer to a Set(Down) shows what is there: Down, training */
    assert_int_equal(test_set_state(s, HOST, 1, SIM_DOWN), 0);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_TRAINING);
    assert_int_equal(test_set_phys(s, SWITCH, 1, SIM_PHYS_DISABLED), 0);
    sim_run(s, 200 * MS);
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_POLLING);
    assert_false(sim_port(s, HOST, 1)->training);
    assert_false(sim_port(s, SWITCH, 1)->training);
}

static uint16_t set_phys_by_way_of(struct sim *s, uint32_t node, unsigned port, unsigned arrived,
                                   unsigned phys, uint8_t info[64])
{
    test_get(s, node, port, info);
    info[32] &= 0xf0;
    info[33] = (uint8_t)(phys << 4);
    return sim_sma_port_info(s, node, arrived, true, port, info, true);
}

/* A manager that takes a link down by way of this very link gets its answer. */
static void test_answer_leaves_first(void **state)
{
    struct sim *s = *state;
    uint8_t info[64];
    sim_run(s, 20 * MS);
    activate(s);
    assert_int_equal(set_phys_by_way_of(s, HOST, 1, 1, SIM_PHYS_POLLING, info), 0);
    assert_int_equal(info[32] & 0x0f, SIM_ACTIVE); /* as it still is */
    assert_true(sim_link_carries(s, HOST, 1, true));
    assert_int_equal(set_phys_by_way_of(s, HOST, 1, 1, SIM_PHYS_DISABLED, info), 0);
    assert_true(sim_link_carries(s, HOST, 1, true));
    sim_run(s, s->now); /* the last command counts */
    assert_false(sim_link_carries(s, HOST, 1, true));
    assert_states(s, SIM_DOWN, SIM_DOWN, SIM_PHYS_DISABLED);
    assert_null(sim_port(s, HOST, 1)->traps);
    /* by way of another link it is down at once, and shows it */
    assert_int_equal(set_phys_by_way_of(s, SWITCH, 2, 3, SIM_PHYS_DISABLED, info), 0);
    assert_int_equal(info[32] & 0x0f, SIM_DOWN);
    assert_int_equal(info[33] >> 4, SIM_PHYS_DISABLED);
    assert_false(sim_link_carries(s, SWITCH, 2, true));
}

static void test_destroyed_while_training(void **state)
{
    sim_link_bounce(*state, HOST, 1); /* the sanitizer sees what teardown leaves */
    assert_true(sim_port(*state, HOST, 1)->training);
}

static unsigned long new_requests(struct sim *s)
{
    static unsigned long before;
    g_autoptr(GString) text = g_string_new(NULL);
    sim_run(s, s->now);
    sim_hosts_status(s, SIM_NONE, text);
    const char *found = strstr(text->str, "requests=");
    assert_non_null(found);
    unsigned long now = strtoul(found + strlen("requests="), NULL, 10), more = now - before;
    before = now;
    return more;
}

/* A modelled host hears of what concerns it, and of nothing else. */
static void test_host_events(void **state)
{
    struct sim *s = *state;
    struct sim_host_spec spec = {.timeout_ms = 1000};
    sim_hosts_start(s, HOST, &spec);
    test_set_lids(s, HOST, 1, 5, 6);
    assert_int_equal(test_set_state(s, HOST, 1, SIM_ARMED), 0);
    assert_int_equal(new_requests(s), 0);
    assert_int_equal(test_set_state(s, HOST, 1, SIM_ACTIVE), 0);
    assert_true(new_requests(s) > 0);
    assert_int_equal(test_set_state(s, HOST, 1, SIM_ACTIVE), 0); /* it is */
    assert_int_equal(test_set(s, HOST, 1, 53, 0xff, 0x11), 0);
    test_set_lids(s, HOST, 1, 5, 7); /* the manager's address alone is no event */
    assert_int_equal(new_requests(s), 0);
    test_set_lids(s, HOST, 1, 8, 7);
    assert_true(new_requests(s) > 0);
    assert_int_equal(test_set(s, HOST, 1, 51, 0x80, 0x80), 0); /* ClientReregister */
    assert_true(new_requests(s) > 0);
    put32(sim_port(s, HOST, 1)->info + 20, 0); /* without the capability it means nothing */
    assert_int_equal(test_set(s, HOST, 1, 51, 0x80, 0x80), 0);
    assert_int_equal(new_requests(s), 0);
    sim_link_bounce(s, HOST, 1);
    assert_int_equal(test_set(s, HOST, 1, 51, 0x80, 0x80), 0);
    assert_int_equal(new_requests(s), 0); /* its port is not ACTIVE */
    /* the other end's first packet makes an ARMED port ACTIVE */
    assert_int_equal(test_set_state(s, HOST, 1, SIM_ARMED), 0);
    assert_int_equal(test_set_state(s, SWITCH, 1, SIM_ARMED), 0);
    assert_int_equal(test_set_state(s, SWITCH, 1, SIM_ACTIVE), 0);
    assert_int_equal(new_requests(s), 0);
    assert_true(sim_link_carries(s, SWITCH, 1, false));
    assert_true(new_requests(s) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_initial, setup, teardown),
        cmocka_unit_test_setup_teardown(test_legal_transitions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_port_state_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_set_down_retrains, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disabled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sleeping, setup, teardown),
        cmocka_unit_test_setup_teardown(test_power, setup, teardown),
        cmocka_unit_test_setup_teardown(test_carries, setup, teardown),
        cmocka_unit_test_setup_teardown(test_negotiation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_in_common, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_training, setup_training, teardown),
        cmocka_unit_test_setup_teardown(test_training_ends_by_fault, setup_training, teardown),
        cmocka_unit_test_setup_teardown(test_answer_leaves_first, setup_training, teardown),
        cmocka_unit_test_setup_teardown(test_destroyed_while_training, setup_training, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
