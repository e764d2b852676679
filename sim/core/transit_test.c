/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets on their way: where they arrive, where they end, and what the ports count. */
#include "sim/core/transit_testing.h"

static void lost_by(struct transit_testing *t, enum sim_drop why, unsigned count)
{
    assert_int_equal(t->s->drops[why], count);
    assert_int_equal(t->lost, count);
    assert_int_equal(t->arrivals->len, 0);
}

static void test_directed_to_each(void **state)
{
    struct transit_testing *t = *state;
    static const struct {
        uint32_t node;
        unsigned hops;
        uint8_t ports[6], back[6];
    } ways[] = {
        {HOST, 0, {0}, {0}},
        {0, 1, {1}, {HOST_PORT}},
        {GUEST, 2, {1, GUEST_PORT}, {HOST_PORT, 1}},
        {1, 2, {1, NEXT}, {HOST_PORT, BEFORE}},
        {3, 2, {1, BEFORE}, {HOST_PORT, NEXT}},
        {HOST + 2, 4, {1, NEXT, NEXT, HOST_PORT}, {HOST_PORT, BEFORE, BEFORE, 1}},
        {0, 3, {1, NEXT, BEFORE}, {HOST_PORT, BEFORE, NEXT}}, /* there and back */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        struct sim_packet p = directed(ways[i].hops, ways[i].ports);
        sim_send(t->s, HOST, 1, &p, 0);
        assert_int_equal(t->arrivals->len, i + 1);
        const struct arrival *a = arrived(t, (unsigned)i);
        assert_int_equal(node_shown(a), ways[i].node);
        assert_int_equal(a->node, HOST);
        assert_int_equal(a->port, 1);
        assert_int_equal(a->p.dlid, SIM_LID_PERMISSIVE);
        assert_int_equal(a->p.mad[3], 0x81);
        assert_int_equal(get16(a->p.mad + 4), 0x8000);
        assert_int_equal(a->p.mad[6], 0);
        assert_memory_equal(a->p.mad + 193, ways[i].back, ways[i].hops);
    }
    assert_int_equal(t->lost, 0);
    assert_int_equal(sim_transit_count(t->s), 0);
}

static void test_directed_refused(void **state)
{
    struct transit_testing *t = *state;
    static const uint8_t through_host[] = {1, GUEST_PORT, 1}, no_port[] = {1, SWITCH_PORTS + 1},
                         port_0[] = {1, 0}, other_port[] = {2}, no_cable[] = {1, 7};
    struct sim_packet p = directed(3, through_host);
    sim_send(t->s, HOST, 1, &p, 0);
    lost_by(t, SIM_DROP_BAD_PORT, 1);
    p = directed(2, no_port);
    sim_send(t->s, HOST, 1, &p, 0);
    p = directed(2, port_0);
    sim_send(t->s, HOST, 1, &p, 0);
    p = directed(1, other_port);
    sim_send(t->s, HOST, 1, &p, 0);
    lost_by(t, SIM_DROP_BAD_PORT, 4);
    p = directed(2, no_cable);
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(t->s->drops[SIM_DROP_LINK_DOWN], 1);
    assert_int_equal(counter(t, 0, 7, SIM_CNT_XMIT_DISCARDS), 1);
}

static void test_directed_malformed(void **state)
{
    struct transit_testing *t = *state;
    struct sim_packet p = directed(64, (uint8_t[64]){1});
    sim_send(t->s, HOST, 1, &p, 0);
    p = directed(1, (uint8_t[]){1});
    p.mad[6] = 1; /* the hop pointer */
    sim_send(t->s, HOST, 1, &p, 0);
    p = directed(1, (uint8_t[]){1});
    p.mad[4] = 0x80; /* on its way back, but a request */
    sim_send(t->s, HOST, 1, &p, 0);
    p = directed(1, (uint8_t[]){1});
    put16(p.mad + 32, (uint16_t)lid_of(HOST)); /* starts by LID, but to no LID */
    sim_send(t->s, HOST, 1, &p, 0);
    p = directed(1, (uint8_t[]){1});
    p.dqp = 1;
    sim_send(t->s, HOST, 1, &p, 0);
    p = by_lid(0, 1, SIM_LID_PERMISSIVE);
    sim_send(t->s, HOST, 1, &p, 0);
    p = by_lid(0, 1, MLID);
    sim_send(t->s, HOST, 1, &p, 0);
    lost_by(t, SIM_DROP_MALFORMED, 7);
    sim_send(t->s, HOST, 2, &p, 0); /* there is no such port */
    sim_send(t->s, NODES, 1, &p, 0);
    lost_by(t, SIM_DROP_MALFORMED, 7);
}

/* 63 hops, to and fro between two switches. */
static void test_directed_longest(void **state)
{
    struct transit_testing *t = *state;
    uint8_t ports[63] = {1};
    for (unsigned i = 1; i < 63; i++)
        ports[i] = i % 2 ? NEXT : BEFORE;
    struct sim_packet p = directed(63, ports);
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(node_shown(arrived(t, 0)), 0);
    assert_int_equal(arrived(t, 0)->p.mad[192 + 63], NEXT);
}

/* A process at the far end gets the request with its return path, and its answer comes back. */
static void test_directed_to_process(void **state)
{
    struct transit_testing *t = *state;
    struct sim_packet p = directed(3, (uint8_t[]){1, NEXT, HOST_PORT});
    put16(p.mad + 16, 0x20); /* SMInfo */
    sim_send(t->s, HOST, 1, &p, 0);
    const struct arrival *a = arrived(t, 0);
    assert_int_equal(a->node, HOST + 1);
    assert_int_equal(a->p.mad[3], 1);
    assert_int_equal(a->p.mad[6], 0);
    p = a->p;
    p.mad[3] = 0x81;
    p.mad[4] = 0x80;
    sim_send(t->s, HOST + 1, 1, &p, 0);
    assert_int_equal(arrived(t, 1)->node, HOST);
    assert_int_equal(t->lost, 0);
    /* nobody there: the kernel answers */
    t->nobody = true;
    p = directed(3, (uint8_t[]){1, NEXT, HOST_PORT});
    put16(p.mad + 16, 0x20);
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(get16(arrived(t, 2)->p.mad + 4), 0x800c);
}

/* By LID to switch 1, directed to switch 2, by LID to the host there: all three parts and back. */
static void test_combined(void **state)
{
    struct transit_testing *t = *state;
    for (unsigned last = 0; last < 2; last++) {
        struct sim_packet p = directed(1, (uint8_t[]){NEXT});
        p.dlid = (uint16_t)lid_of(1);
        put16(p.mad + 32, (uint16_t)lid_of(HOST));
        if (last)
            put16(p.mad + 34, (uint16_t)lid_of(HOST + 2));
        sim_send(t->s, HOST, 1, &p, 0);
        assert_int_equal(t->lost, 0);
        const struct arrival *a = arrived(t, last);
        assert_int_equal(a->node, HOST);
        assert_int_equal(node_shown(a), last ? HOST + 2 : 2);
        assert_int_equal(a->p.mad[193], BEFORE);
    }
    /* from a directed start to a LID that lies back where it came from */
    struct sim_packet p = directed(1, (uint8_t[]){1});
    put16(p.mad + 34, (uint16_t)lid_of(GUEST));
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(node_shown(arrived(t, 2)), GUEST);
    put16(p.mad + 34, (uint16_t)lid_of(HOST));
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(node_shown(arrived(t, 3)), HOST);
}

static void test_by_lid_to_each(void **state)
{
    struct transit_testing *t = *state;
    for (uint32_t from = 0; from < NODES; from++)
        for (uint32_t to = 0; to < NODES; to++) {
            g_array_set_size(t->arrivals, 0);
            struct sim_packet p = by_lid(0, 1, lid_of(to));
            sim_send(t->s, from, from < SWITCHES ? 0 : 1, &p, 0);
            assert_int_equal(t->arrivals->len, 1);
            assert_int_equal(arrived(t, 0)->node, from);
            assert_int_equal(node_shown(arrived(t, 0)), to);
            assert_int_equal(arrived(t, 0)->p.slid, lid_of(to));
            assert_int_equal(arrived(t, 0)->p.dlid, lid_of(from));
        }
    assert_int_equal(t->lost, 0);
}

static void test_counters(void **state)
{
    struct transit_testing *t = *state;
    struct sim_packet p = by_lid(1, 4, lid_of(HOST + 1)); /* HOST, switch 0, switch 1, HOST + 1 */
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 1);
    assert_int_equal(counter(t, HOST, 1, SIM_CNT_XMIT_PKTS), 1);
    assert_int_equal(counter(t, 0, HOST_PORT, SIM_CNT_RCV_PKTS), 1);
    assert_int_equal(counter(t, 0, NEXT, SIM_CNT_XMIT_DATA), 72);
    assert_int_equal(counter(t, 1, BEFORE, SIM_CNT_UNICAST_RCV_PKTS), 1);
    assert_int_equal(counter(t, HOST + 1, 1, SIM_CNT_RCV_PKTS), 1);
    /* the answer goes on around the ring */
    assert_int_equal(counter(t, 3, NEXT, SIM_CNT_XMIT_PKTS), 1);
    assert_int_equal(counter(t, 0, BEFORE, SIM_CNT_RCV_PKTS), 1);
}

static void test_path_bits(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    s->nodes[HOST + 1].ports[1].info[34] |= 1; /* LMC 1: LIDs 16 and 17 */
    put16(s->nodes[HOST + 1].ports[1].info + 16, 16);
    for (uint32_t sw = 0; sw < SWITCHES; sw++) {
        put16(s->nodes[sw].sw->info + 6, 20);
        for (unsigned lid = 16; lid <= 18; lid++)
            set_entry(s, sw, lid, sw == 1 ? HOST_PORT : NEXT);
    }
    for (unsigned lid = 16; lid <= 17; lid++) {
        struct sim_packet p = by_lid(0, 1, lid);
        sim_send(s, HOST, 1, &p, 0);
        assert_int_equal(arrived(t, lid - 16)->p.slid, lid);
    }
    struct sim_packet p = by_lid(0, 1, lid_of(HOST));
    p.slid = 0x4321; /* not its own: the port keeps the bit that LMC leaves to the sender */
    sim_send(s, HOST + 1, 1, &p, 0);
    assert_int_equal(arrived(t, 2)->p.dlid, 17);
    p = by_lid(0, 1, 18);
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_NOT_FOR_US], 1);
    assert_int_equal(t->lost, 1);
}

static void test_tables_refuse(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_packet p = by_lid(0, 1, lid_of(HOST + 1));
    set_entry(s, 0, p.dlid, SIM_NO_PORT);
    sim_send(s, HOST, 1, &p, 0);
    lost_by(t, SIM_DROP_NO_ENTRY, 1);
    assert_int_equal(counter(t, 0, HOST_PORT, SIM_CNT_RCV_SWITCH_RELAY_ERRORS), 1);
    p.dlid = NODES + 5; /* above LinearFDBTop */
    set_entry(s, 0, p.dlid, NEXT);
    sim_send(s, HOST, 1, &p, 0);
    p.dlid = 0;
    sim_send(s, HOST, 1, &p, 0);
    lost_by(t, SIM_DROP_NO_ENTRY, 3);
}

static void test_entries_refuse(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_packet p = by_lid(0, 1, lid_of(HOST + 1));
    static const uint8_t bad[] = {SWITCH_PORTS + 1, HOST_PORT, 254}; /* one: whence it came */
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        set_entry(s, 0, p.dlid, bad[i]);
        sim_send(s, HOST, 1, &p, 0);
        lost_by(t, SIM_DROP_BAD_PORT, i + 1);
    }
    set_entry(s, 0, p.dlid, 0);
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_NOT_FOR_US], 1);
    set_entry(s, 0, p.dlid, 7); /* a port without a cable: a black hole */
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_LINK_DOWN], 1);
    assert_int_equal(counter(t, 0, 7, SIM_CNT_XMIT_DISCARDS), 1);
    set_entry(s, 0, p.dlid, GUEST_PORT); /* a host that it is not for */
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_NOT_FOR_US], 2);
    assert_int_equal(t->lost, 6);
}

static void test_loop(void **state)
{
    struct transit_testing *t = *state;
    set_entry(t->s, 1, lid_of(HOST + 1), NEXT); /* round and round */
    struct sim_packet p = by_lid(0, 1, lid_of(HOST + 1));
    sim_send(t->s, HOST, 1, &p, 0);
    lost_by(t, SIM_DROP_LOOP, 1);
    assert_in_range(counter(t, 1, NEXT, SIM_CNT_XMIT_PKTS), 15, 17);
}

static void test_link_states(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    s->nodes[1].ports[HOST_PORT].info[32] = SIM_INIT;
    s->nodes[HOST + 1].ports[1].info[32] = SIM_INIT;
    struct sim_packet smp = by_lid(0, 1, lid_of(HOST + 1)), gmp = by_lid(1, 4, lid_of(HOST + 1));
    sim_send(s, HOST, 1, &smp, 0);
    assert_int_equal(t->arrivals->len, 1);
    sim_send(s, HOST, 1, &gmp, 0);
    assert_int_equal(s->drops[SIM_DROP_LINK_DOWN], 1);
    assert_int_equal(t->lost, 1);
    /* a node without power neither hears nor sends */
    s->nodes[HOST + 1].powered = false;
    sim_send(s, HOST, 1, &smp, 0);
    assert_int_equal(s->drops[SIM_DROP_LINK_DOWN], 2);
    sim_send(s, HOST + 1, 1, &smp, 0);
    assert_int_equal(s->drops[SIM_DROP_POWER], 1);
    assert_int_equal(t->arrivals->len, 1);
}

static void test_vl15_for_data(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_packet p = by_lid(1, 4, lid_of(HOST + 1));
    uint8_t *vl = sim_sl2vl(s, 0, NEXT, HOST_PORT); /* for SL 3 from the host's port */
    vl[1] = (uint8_t)(vl[1] | 0x0f);
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 1);
    p.sl = 3;
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_VL], 1);
    assert_int_equal(counter(t, 0, HOST_PORT, SIM_CNT_RCV_SWITCH_RELAY_ERRORS), 1);
    sim_send(s, GUEST, 1, &p, 0); /* comes by another port */
    assert_int_equal(t->arrivals->len, 2);
    vl = sim_sl2vl(s, HOST, 1, 0);
    vl[1] = (uint8_t)(vl[1] | 0x0f);
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_VL], 2);
    assert_int_equal(counter(t, HOST, 1, SIM_CNT_XMIT_DISCARDS), 1);
    p = by_lid(0, 1, lid_of(HOST + 1));
    p.sl = 3; /* SMPs are on VL 15 anyhow */
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 3);
}

static void test_vl_that_is_not_run(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_packet p = by_lid(1, 4, lid_of(HOST + 1));
    sim_sl2vl(s, 0, NEXT, HOST_PORT); /* the identity: SL 8 is on VL 8 */
    for (unsigned vls = 1; vls <= 5; vls++) {
        static const uint8_t last[] = {0, 0, 1, 3, 7, 14};
        uint64_t before = s->drops[SIM_DROP_VL];
        sim_port(s, 0, NEXT)->info[43] = (uint8_t)(vls << 4); /* OperationalVLs */
        p.sl = last[vls];
        sim_send(s, HOST, 1, &p, 0);
        assert_int_equal(s->drops[SIM_DROP_VL], before);
        assert_int_equal(t->arrivals->len, vls);
        p.sl++;
        if (vls < 5)
            sim_send(s, HOST, 1, &p, 0);
        assert_int_equal(s->drops[SIM_DROP_VL], before + (vls < 5));
    }
}

/* An MLID beyond the table; the way there is the default multicast port of each switch. */
static void test_default_multicast_ports(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_packet p = by_lid(1, 3, 0xc400); /* the first one beyond MulticastFDBCap */
    p.mad[3] = 0x06;                            /* a Report, to whoever is there */
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_NO_ENTRY], 1); /* there is none after a power-up */
    s->nodes[0].sw->info[9] = GUEST_PORT;
    s->nodes[0].sw->info[10] = HOST_PORT;
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(arrived(t, 0)->node, GUEST);
    sim_send(s, GUEST, 1, &p, 0); /* came by the primary one */
    assert_int_equal(arrived(t, 1)->node, HOST);
    s->nodes[0].sw->info[10] = SIM_NO_PORT;
    sim_send(s, GUEST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_NO_ENTRY], 2);
    p.dlid = MLID; /* one within the table, without members */
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->drops[SIM_DROP_NO_ENTRY], 3);
    put16(s->nodes[0].sw->info + 18, MLID - 1); /* MulticastFDBTop */
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(arrived(t, 2)->node, GUEST);
}

static void test_unclaimed(void **state)
{
    struct transit_testing *t = *state;
    t->nobody = true;
    struct sim_packet p = by_lid(1, 3, lid_of(HOST + 1));
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(get16(arrived(t, 0)->p.mad + 4), 0x000c);
    assert_int_equal(arrived(t, 0)->p.mad[3], 0x81);
    p.mad[3] = 0x12; /* GetTable */
    sim_send(t->s, HOST, 1, &p, 0);
    assert_int_equal(t->s->drops[SIM_DROP_UNCLAIMED], 1);
    assert_int_equal(t->lost, 1);
    assert_int_equal(t->last_lost.mad[3], 0x12);
}

static void test_issm(void **state)
{
    struct transit_testing *t = *state;
    struct sim_port *p = sim_port(t->s, HOST, 1);
    uint32_t mask = get32(p->info + 20);
    sim_set_issm(t->s, HOST, 1, true, 0);
    assert_int_equal(get32(p->info + 20), mask | 2);
    assert_true(p->has_sm);
    sim_set_issm(t->s, HOST, 1, false, 0);
    assert_int_equal(get32(p->info + 20), mask & ~2u);
    assert_false(p->has_sm);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(name, transit_testing_setup, transit_testing_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_directed_to_each),
        T(test_directed_refused),
        T(test_directed_malformed),
        T(test_directed_longest),
        T(test_combined),
        T(test_by_lid_to_each),
        T(test_directed_to_process),
        T(test_counters),
        T(test_path_bits),
        T(test_tables_refuse),
        T(test_entries_refuse),
        T(test_loop),
        T(test_link_states),
        T(test_vl15_for_data),
        T(test_vl_that_is_not_run),
        T(test_default_multicast_ports),
        T(test_unclaimed),
        T(test_issm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
