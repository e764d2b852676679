/* SPDX-License-Identifier: BSD-2-Clause */
/* P_Keys and Q_Keys: who hears whom, what is counted where. */
#include "sim/core/transit_testing.h"

enum { FULL = 0x8005, LIMITED = 0x0005 };

static void set_pkey(struct sim *s, uint32_t node, unsigned port, uint16_t pkey)
{
    sim_pkeys(s, node, port)[0] = pkey;
}

static unsigned violations(const struct sim *s, uint32_t node, unsigned at)
{
    return get16(s->nodes[node].ports[s->nodes[node].sw ? 0 : 1].info + at);
}

static bool asks(struct transit_testing *t, uint32_t from, uint32_t to, uint16_t pkey)
{
    unsigned before = t->arrivals->len;
    struct sim_packet p = by_lid(1, 4, lid_of(to)); /* the PMA answers */
    p.pkey = pkey;
    sim_send(t->s, from, 1, &p, 0);
    return t->arrivals->len > before;
}

static void test_membership(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    static const struct {
        uint16_t a, b;
        bool hears;
    } pairs[] = {
        {FULL, FULL, true},        {FULL, LIMITED, true}, {LIMITED, FULL, true},
        {LIMITED, LIMITED, false}, {FULL, 0x8006, false}, {FULL, 0, false},
        {0x8000, 0x8000, false}, /* no key at all: it cannot even be sent */
    };
    unsigned refused = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        set_pkey(s, HOST, 1, pairs[i].a);
        set_pkey(s, HOST + 1, 1, pairs[i].b);
        assert_int_equal(asks(t, HOST, HOST + 1, 0), pairs[i].hears);
        refused += !pairs[i].hears;
        assert_int_equal(s->drops[SIM_DROP_PKEY], refused);
    }
    assert_int_equal(violations(s, HOST + 1, 46), 3);
    assert_int_equal(violations(s, HOST, 46), 0);
    assert_int_equal(t->lost, refused);
}

/* Any entry of the receiver's table counts; the answer carries it. */
static void test_other_entries(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    unsigned last = sim_pkey_capacity(s, HOST + 1, 1) - 1;
    sim_pkeys(s, HOST + 1, 1)[last] = FULL;
    set_pkey(s, HOST, 1, LIMITED);
    assert_true(asks(t, HOST, HOST + 1, 0));
    assert_int_equal(arrived(t, 0)->p.pkey, FULL);
    set_pkey(s, HOST, 1, FULL);
    assert_true(asks(t, HOST, HOST + 1, LIMITED)); /* the sender's choice */
    /* SMPs have no P_Key */
    struct sim_packet p = by_lid(0, 1, lid_of(HOST + 1));
    set_pkey(s, HOST, 1, 0x8077);
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 3);
    assert_int_equal(s->drops[SIM_DROP_PKEY], 0);
}

static void test_violations_stay_at_the_end(void **state)
{
    struct transit_testing *t = *state;
    set_pkey(t->s, HOST + 1, 1, FULL);
    put16(t->s->nodes[HOST + 1].ports[1].info + 46, 0xfffe);
    for (unsigned i = 0; i < 3; i++)
        assert_false(asks(t, HOST, HOST + 1, 0));
    assert_int_equal(violations(t->s, HOST + 1, 46), 0xffff);
}

static void test_qkey(void **state)
{
    struct transit_testing *t = *state;
    struct sim_packet p = by_lid(1, 4, lid_of(HOST + 1));
    p.qkey = SIM_GSI_QKEY;
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 1);
    p.qkey = 0x11111111;
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 1);
    assert_int_equal(t->s->drops[SIM_DROP_QKEY], 1);
    assert_int_equal(violations(t->s, HOST + 1, 48), 1);
    p.dqp = 77; /* another queue pair: its Q_Key is its own matter */
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 2);
}

static void test_enforced_at_switches(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    for (unsigned i = 0; i < 2; i++) {
        set_pkey(s, HOST + i, 1, FULL);
        assert_int_equal(asks(t, HOST, HOST + 1, FULL), i == 1);
    }
    struct sim_port *in = sim_port(s, 0, HOST_PORT), *out = sim_port(s, 0, NEXT);
    in->info[43] |= 0x08; /* PartitionEnforcementInbound; the table has the default key only */
    assert_false(asks(t, HOST, HOST + 1, FULL));
    assert_int_equal(counter(t, 0, HOST_PORT, SIM_CNT_RCV_CONSTRAINT_ERRORS), 1);
    set_pkey(s, 0, HOST_PORT, LIMITED);
    assert_true(asks(t, HOST, HOST + 1, FULL));
    out->info[43] |= 0x04; /* Outbound */
    assert_false(asks(t, HOST, HOST + 1, FULL));
    assert_int_equal(counter(t, 0, NEXT, SIM_CNT_XMIT_CONSTRAINT_ERRORS), 1);
    set_pkey(s, 0, NEXT, FULL);
    assert_true(asks(t, HOST, HOST + 1, FULL));
    /* each direction by its own bit only */
    in->info[43] = (uint8_t)((in->info[43] & 0xf0) | 0x04);
    out->info[43] = (uint8_t)((out->info[43] & 0xf0) | 0x08);
    set_pkey(s, 0, HOST_PORT, 0x8077);
    set_pkey(s, 0, NEXT, 0x8077);
    struct sim_packet p =
        by_lid(77, 4, lid_of(HOST + 1)); /* one way: its answer would be refused */
    p.pkey = FULL;
    unsigned before = t->arrivals->len;
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, before + 1);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(name, transit_testing_setup, transit_testing_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_membership), T(test_other_entries),        T(test_violations_stay_at_the_end),
        T(test_qkey),       T(test_enforced_at_switches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
