/* SPDX-License-Identifier: BSD-2-Clause */
/* M_Keys (IBA 14.2.4): each protection level with right, wrong and no key; leases. */
#include "sim/agents/agent_testing.h"
#include "sim/agents/trap.h"

#define KEY 0x1122334455667788u
#define WRONG 0x1122334455667789u
#define SECOND 1000000000ll

static void protect(struct sim_port *p, uint64_t key, unsigned level, unsigned lease_s)
{
    put64(p->info, key);
    p->info[34] = (uint8_t)((p->info[34] & 0x3f) | level << 6);
    put16(p->info + 26, (uint16_t)lease_s);
}

static unsigned violations(const struct sim_port *p)
{
    return get16(p->info + 44);
}

static bool answered(struct agent_testing *t, uint32_t node, unsigned port, unsigned method,
                     unsigned attribute, uint32_t modifier, uint64_t key)
{
    uint8_t wanted[64] = {0};
    if (method == SIM_METHOD_SET && attribute == SIM_ATTR_PORT_INFO) {
        memcpy(wanted, sim_end_port(t->s, node, port)->info, 64);
        wanted[32] &= 0xf0; /* states: no change */
        wanted[33] = 0;
    }
    agent_testing_smp(t, method, attribute, modifier, key, wanted);
    enum sim_verdict v = agent_testing_arrive(t, node, port);
    if (v == SIM_REPLY)
        assert_int_equal(agent_testing_status(t), 0);
    return v == SIM_REPLY;
}

/* Of a switch, where one key counts for all; and of a CA. */
static void matrix(struct agent_testing *t, uint32_t node, unsigned port, struct sim_port *end)
{
    static const uint64_t keys[] = {KEY, WRONG, 0};
    unsigned bad = 0;
    for (unsigned level = 0; level <= 3; level++)
        for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
            bool right = keys[k] == KEY;
            protect(end, KEY, level, 0);
            bool open = right || level < 2;
            uint32_t mod = node == CA ? port : 0;
            bool got = answered(t, node, port, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, mod, keys[k]);
            assert_int_equal(got, open);
            if (got)
                assert_true(get64(agent_testing_data(t)) == (right || level == 0 ? KEY : 0));
            bad += !open;
            assert_int_equal(violations(end), bad);
            assert_int_equal(
                answered(t, node, port, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, keys[k]), open);
            bad += !open;
            assert_int_equal(
                answered(t, node, port, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, keys[k]), right);
            bad += !right;
            assert_int_equal(violations(end), bad);
            uint64_t dropped = t->s->drops[SIM_DROP_MKEY];
            answered(t, node, port, SIM_METHOD_TRAP_REPRESS, SIM_ATTR_NOTICE, 0, keys[k]);
            assert_int_equal(t->s->drops[SIM_DROP_MKEY] - dropped, right ? 0 : 1);
            assert_int_equal(t->verdict, SIM_SILENCE);
            bad += !right;
            assert_int_equal(violations(end), bad);
            assert_int_equal(end->lease_ends, SIM_NEVER);
        }
    assert_int_not_equal(bad, 0);
}

static void test_switch(void **state)
{
    struct agent_testing *t = *state;
    matrix(t, SW, 0, sim_port(t->s, SW, 0));
}

static void test_switch_by_external_port(void **state)
{
    struct agent_testing *t = *state;
    matrix(t, SW, 3, sim_port(t->s, SW, 0));
    /* and what it says of an external port is protected likewise */
    protect(sim_port(t->s, SW, 0), KEY, 2, 0);
    assert_false(answered(t, SW, 3, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, 5, 0));
    assert_true(answered(t, SW, 3, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, 5, KEY));
}

static void test_ca(void **state)
{
    struct agent_testing *t = *state;
    matrix(t, CA, 1, sim_port(t->s, CA, 1));
    assert_int_equal(violations(sim_port(t->s, CA, 2)), 0);
    assert_true(answered(t, CA, 2, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, WRONG));
}

static void test_other_port_of_ca(void **state)
{
    struct agent_testing *t = *state;
    struct sim_port *one = sim_port(t->s, CA, 1), *two = sim_port(t->s, CA, 2);
    protect(two, KEY, 1, 0);
    assert_true(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, 2, 0));
    assert_true(get64(agent_testing_data(t)) == 0);
    protect(two, KEY, 2, 0);
    assert_false(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, 2, 0));
    assert_int_equal(violations(two), 1);
    assert_true(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, 2, KEY));
    assert_int_equal(violations(one), 0);
}

static void test_no_key(void **state)
{
    struct agent_testing *t = *state;
    protect(sim_port(t->s, CA, 1), 0, 3, 10);
    assert_true(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, 1, WRONG));
    assert_true(answered(t, CA, 1, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, WRONG));
    assert_int_equal(violations(sim_port(t->s, CA, 1)), 0);
}

static void test_unchecked(void **state)
{
    struct agent_testing *t = *state;
    protect(sim_port(t->s, CA, 1), KEY, 3, 10);
    agent_testing_smp(t, SIM_METHOD_TRAP, SIM_ATTR_NOTICE, 0, WRONG, NULL);
    assert_int_equal(agent_testing_arrive(t, CA, 1), SIM_FORWARD);
    agent_testing_smp(t, SIM_METHOD_GET_RESP, SIM_ATTR_PORT_INFO, 0, WRONG, NULL);
    assert_int_equal(agent_testing_arrive(t, CA, 1), SIM_FORWARD);
    assert_int_equal(violations(sim_port(t->s, CA, 1)), 0);
    /* SMInfo is an SMP like others */
    agent_testing_smp(t, SIM_METHOD_SET, SIM_ATTR_SM_INFO, 1, WRONG, NULL);
    assert_int_equal(agent_testing_arrive(t, CA, 1), SIM_SILENCE);
    agent_testing_smp(t, SIM_METHOD_SET, SIM_ATTR_SM_INFO, 1, KEY, NULL);
    assert_int_equal(agent_testing_arrive(t, CA, 1), SIM_FORWARD);
}

static void test_violations_stay_at_the_end(void **state)
{
    struct agent_testing *t = *state;
    struct sim_port *p = sim_port(t->s, CA, 1);
    protect(p, KEY, 0, 0);
    put16(p->info + 44, 0xfffe);
    for (unsigned i = 0; i < 3; i++)
        assert_false(answered(t, CA, 1, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, WRONG));
    assert_int_equal(violations(p), 0xffff);
}

static void run_to(struct agent_testing *t, int64_t now)
{
    sim_timers_run(t->s, now);
}

static void test_lease_ends(void **state)
{
    struct agent_testing *t = *state;
    struct sim_port *p = sim_port(t->s, CA, 1);
    protect(p, KEY, 2, 10);
    assert_false(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, WRONG));
    assert_int_equal(p->lease_ends, t->s->now + 10 * SECOND);
    run_to(t, 4 * SECOND);
    /* the next violation does not start it anew */
    assert_false(answered(t, CA, 1, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, 0));
    assert_int_equal(p->lease_ends, 10 * SECOND);
    run_to(t, 10 * SECOND - 1);
    assert_int_equal(p->info[34] >> 6, 2);
    run_to(t, 10 * SECOND);
    assert_int_equal(p->info[34] >> 6, 0);
    assert_int_equal(p->lease_ends, SIM_NEVER);
    /* the key can be read now, and is still needed to write */
    assert_true(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_PORT_INFO, 1, 0));
    assert_true(get64(agent_testing_data(t)) == KEY);
    assert_false(answered(t, CA, 1, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, 0));
    assert_true(answered(t, CA, 1, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, KEY));
}

static void test_lease_stopped(void **state)
{
    static const unsigned methods[] = {SIM_METHOD_GET, SIM_METHOD_SET, SIM_METHOD_TRAP_REPRESS};
    static const unsigned attributes[] = {SIM_ATTR_NODE_INFO, SIM_ATTR_PKEY_TABLE, SIM_ATTR_NOTICE};
    struct agent_testing *t = *state;
    struct sim_port *p = sim_port(t->s, SW, 0);
    protect(p, KEY, 1, 10);
    for (unsigned i = 0; i < 3; i++) {
        int64_t start = t->s->now;
        assert_false(answered(t, SW, 2, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, WRONG));
        assert_int_equal(p->lease_ends, start + 10 * SECOND);
        run_to(t, start + 9 * SECOND);
        assert_true(answered(t, SW, 2, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, WRONG));
        assert_int_equal(p->lease_ends, start + 10 * SECOND); /* open, but not the key */
        answered(t, SW, 2, methods[i], attributes[i], 0, KEY);
        assert_int_equal(p->lease_ends, SIM_NEVER);
        run_to(t, start + 60 * SECOND);
        assert_int_equal(p->info[34] >> 6, 1);
    }
}

static void test_lease_not_started(void **state)
{
    struct agent_testing *t = *state;
    struct sim_port *p = sim_port(t->s, CA, 1);
    protect(p, KEY, 1, 10);
    /* no violation: a Get at level 1 */
    assert_true(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, WRONG));
    assert_int_equal(p->lease_ends, SIM_NEVER);
    protect(p, KEY, 1, 0); /* a lease that never ends */
    assert_false(answered(t, CA, 1, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, WRONG));
    run_to(t, 70000 * SECOND);
    assert_int_equal(p->info[34] >> 6, 1);
}

static void test_reset_while_lease_runs(void **state)
{
    struct agent_testing *t = *state;
    struct sim_port *p = sim_port(t->s, CA, 1);
    protect(p, KEY, 2, 10);
    assert_false(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, WRONG));
    sim_node_reset(t->s, CA);
    protect(p, KEY, 2, 10);
    run_to(t, 60 * SECOND);
    assert_int_equal(p->info[34] >> 6, 2);
}

static void test_trap_256(void **state)
{
    struct agent_testing *t = *state;
    struct sim_port *p = sim_port(t->s, CA, 1);
    put16(p->info + 16, 5);
    put16(p->info + 18, 9);
    protect(p, KEY, 1, 0);
    assert_true(answered(t, CA, 1, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, WRONG));
    unsigned before = sim_traps_pending(p);
    assert_false(answered(t, CA, 1, SIM_METHOD_SET, SIM_ATTR_PKEY_TABLE, 0, WRONG));
    assert_int_equal(sim_traps_pending(p), before + 1);
}

#define test(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, agent_testing_setup, agent_testing_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_switch),
        test(test_switch_by_external_port),
        test(test_ca),
        test(test_other_port_of_ca),
        test(test_no_key),
        test(test_unchecked),
        test(test_violations_stay_at_the_end),
        test(test_lease_ends),
        test(test_lease_stopped),
        test(test_lease_not_started),
        test(test_reset_while_lease_runs),
        test(test_trap_256),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
