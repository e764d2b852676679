/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of pings: each packet is accounted for, by unicast and by multicast. */
#include "sim/core/transit_testing.h"

static char error[128];

static unsigned start(struct transit_testing *t, struct sim_ping_spec spec)
{
    error[0] = '\0';
    return sim_ping_start(t->s, &spec, error, sizeof error);
}

static struct sim_ping_spec between(uint32_t from, uint32_t to, uint32_t rate, uint64_t count)
{
    return (struct sim_ping_spec){.from_node = from,
                                  .to_node = to,
                                  .from_port = from < SWITCHES ? 0 : 1,
                                  .to_port = to < SWITCHES ? 0 : 1,
                                  .rate = rate,
                                  .count = count};
}

static struct sim_ping_result result(struct transit_testing *t, unsigned stream)
{
    struct sim_ping_result r;
    assert_true(sim_ping_result(t->s, stream, &r));
    return r;
}

static void test_rate_and_count(void **state)
{
    struct transit_testing *t = *state;
    unsigned one = start(t, between(HOST, HOST + 1, 3000, 0));
    unsigned two = start(t, between(GUEST, 2, 1000, 5));
    assert_int_equal(one, 1);
    assert_int_equal(two, 2);
    sim_run(t->s, 1000 * MS - 1);
    struct sim_ping_result r = result(t, one);
    assert_int_equal(r.sent, 3000); /* of the first second: no rounding adds up */
    assert_int_equal(r.answered, 3000);
    assert_int_equal(r.lost, 0);
    assert_int_equal(r.longest_gap, 0);
    assert_int_equal(result(t, two).sent, 5);
    assert_int_equal(result(t, two).answered, 5);
    assert_int_equal(sim_ping_count(t->s), 1);
    assert_true(sim_ping_stop(t->s, one));
    assert_false(sim_ping_stop(t->s, 3));
    sim_run(t->s, 2000 * MS);
    assert_int_equal(result(t, one).sent, 3000);
    assert_int_equal(sim_ping_count(t->s), 0);
    assert_true(sim_next(t->s) == SIM_NEVER);
    assert_int_equal(t->arrivals->len, 0); /* no process sees pings */
    assert_int_equal(counter(t, HOST + 1, 1, SIM_CNT_RCV_PKTS), 3000);
}

static void test_losses(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    unsigned n = start(t, between(HOST, HOST + 1, 1000, 0));
    sim_run(s, 10 * MS - 1); /* 0 to 9 */
    set_entry(s, 0, lid_of(HOST + 1), SIM_NO_PORT);
    sim_run(s, 12 * MS - 1); /* 10, 11 */
    set_entry(s, 0, lid_of(HOST + 1), NEXT);
    set_entry(s, 3, lid_of(HOST), BEFORE); /* the way back is a loop */
    sim_run(s, 13 * MS - 1);               /* 12 */
    set_entry(s, 3, lid_of(HOST), NEXT);
    sim_run(s, 20 * MS - 1);
    struct sim_ping_result r = result(t, n);
    assert_int_equal(r.sent, 20);
    assert_int_equal(r.answered, 17);
    assert_int_equal(r.lost, 3);
    assert_int_equal(r.by_cause[SIM_DROP_NO_ENTRY], 2);
    assert_int_equal(r.by_cause[SIM_DROP_BAD_PORT], 1);
    assert_int_equal(r.first_loss, 10 * MS);
    assert_int_equal(r.last_loss, 12 * MS);
    assert_int_equal(r.longest_gap, 4 * MS);
    g_autoptr(GString) lines = g_string_new(NULL);
    sim_ping_losses(s, n, lines);
    assert_string_equal(lines->str, "ping 1 10 10000000 lost at \"switch 0\"[3] no-entry\n"
                                    "ping 1 11 11000000 lost at \"switch 0\"[3] no-entry\n"
                                    "ping 1 12 12000000 lost at \"switch 3\"[2] bad-port\n");
    g_string_truncate(lines, 0);
    sim_ping_losses(s, n + 1, lines);
    assert_int_equal(lines->len, 0);
    sim_ping_losses(s, 0, lines);
    assert_true(lines->len > 0);
}

static void test_loop_and_keys(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    set_entry(s, 1, lid_of(HOST + 1), NEXT);
    unsigned loop = start(t, between(HOST, HOST + 1, 1000, 1));
    sim_run(s, 1 * MS);
    assert_int_equal(result(t, loop).by_cause[SIM_DROP_LOOP], 1);
    sim_pkeys(s, HOST + 2, 1)[0] = 0x8005;
    struct sim_ping_spec spec = between(HOST, HOST + 2, 1000, 1);
    unsigned pkey = start(t, spec);
    sim_run(s, 2 * MS);
    assert_int_equal(result(t, pkey).by_cause[SIM_DROP_PKEY], 1);
    spec.to_node = HOST + 3;
    spec.qkey = 5;
    unsigned qkey = start(t, spec);
    sim_run(s, 3 * MS);
    assert_int_equal(result(t, qkey).by_cause[SIM_DROP_QKEY], 1);
    put16(s->nodes[HOST + 3].ports[1].info + 16, 0); /* it has no LID */
    unsigned lid = start(t, between(HOST, HOST + 3, 1000, 1));
    sim_run(s, 4 * MS);
    assert_int_equal(result(t, lid).by_cause[SIM_DROP_NO_ENTRY], 1);
}

/* An outage that lasts counts up to its latest loss. */
static void test_gap_that_lasts(void **state)
{
    struct transit_testing *t = *state;
    unsigned n = start(t, between(HOST, HOST + 1, 1000, 0));
    sim_run(t->s, 5 * MS);
    set_entry(t->s, 0, lid_of(HOST + 1), SIM_NO_PORT);
    sim_run(t->s, 9 * MS);
    assert_int_equal(result(t, n).longest_gap, 4 * MS);
}

/* Another port has the LID: it is not the one that was asked. */
static void test_wrong_receiver(void **state)
{
    struct transit_testing *t = *state;
    put16(t->s->nodes[GUEST].ports[1].info + 16, (uint16_t)lid_of(HOST + 1));
    set_entry(t->s, 0, lid_of(HOST + 1), GUEST_PORT);
    unsigned n = start(t, between(HOST, HOST + 1, 1000, 1));
    sim_run(t->s, 1 * MS);
    assert_int_equal(result(t, n).by_cause[SIM_DROP_NOT_FOR_US], 1);
    assert_int_equal(result(t, n).answered, 0);
}

static void test_disturbed(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_disturbance d = {.loss_ppm = 100000,
                                .duplicate_ppm = 100000,
                                .reorder_ppm = 100000,
                                .delay_ns = 50 * US,
                                .jitter_ns = 5 * MS};
    s->nodes[1].ports[HOST_PORT].disturbance = &d; /* on the way there */
    s->nodes[3].ports[NEXT].disturbance = &d;      /* and back */
    unsigned n = start(t, between(HOST, HOST + 1, 10000, 2000));
    sim_run(s, 1000 * MS);
    struct sim_ping_result r = result(t, n);
    assert_int_equal(r.sent, 2000);
    assert_int_equal(r.answered + r.lost, 2000); /* each once, whatever became of its copies */
    assert_in_range(r.lost, 200, 600);
    assert_int_equal(r.by_cause[SIM_DROP_DISTURBED], r.lost);
    assert_in_range(r.doubled, 200, 600);
    assert_int_equal(sim_transit_count(s), 0);
    s->nodes[1].ports[HOST_PORT].disturbance = s->nodes[3].ports[NEXT].disturbance = NULL;
}

static void test_bounds(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    assert_int_equal(start(t, between(HOST, NODES, 1, 1)), 0);
    assert_true(error[0]);
    assert_int_equal(start(t, between(HOST, HOST + 1, 0, 1)), 0);
    assert_int_equal(start(t, between(HOST, HOST + 1, 1000001, 1)), 0);
    struct sim_ping_spec spec = between(HOST, HOST + 1, 1, 1);
    spec.from_port = 2;
    assert_int_equal(start(t, spec), 0);
    spec.from_port = 1;
    spec.mlid = 0xbfff;
    assert_int_equal(start(t, spec), 0);
    spec.mlid = 0xffff;
    assert_int_equal(start(t, spec), 0);
    for (unsigned i = 1; i <= 1024; i++)
        assert_int_equal(start(t, between(HOST, HOST + 1, 1, 0)), i);
    assert_int_equal(start(t, between(HOST, HOST + 1, 1, 0)), 0);
    sim_run(s, 1);
    sim_ping_stop(s, 0);
    assert_int_equal(sim_ping_count(s), 0);
    assert_int_equal(result(t, 1).sent, 1);
    /* one more that ends is one too many to keep */
    unsigned last = start(t, between(HOST, HOST + 1, 1, 1));
    sim_run(s, 2);
    struct sim_ping_result r;
    assert_false(sim_ping_result(s, 1, &r));
    assert_int_equal(result(t, 2).sent, 1);
    assert_int_equal(result(t, last).answered, 1);
}

static void test_losses_are_bounded(void **state)
{
    struct transit_testing *t = *state;
    set_entry(t->s, 0, lid_of(HOST + 1), SIM_NO_PORT);
    unsigned n = start(t, between(HOST, HOST + 1, 100000, 12000));
    sim_run(t->s, 1000 * MS);
    assert_int_equal(result(t, n).lost, 12000);
    g_autoptr(GString) lines = g_string_new(NULL);
    sim_ping_losses(t->s, n, lines);
    assert_true(g_str_has_prefix(lines->str, "ping 1 2000 "));
    unsigned count = 0;
    for (const char *c = lines->str; *c; c++)
        count += *c == '\n';
    assert_int_equal(count, 10000);
}

/* -- multicast -- */

static struct sim_ping_spec group(uint32_t from, uint64_t count)
{
    return (struct sim_ping_spec){.from_node = from,
                                  .from_port = from < SWITCHES ? 0 : 1,
                                  .mlid = MLID,
                                  .rate = 1000,
                                  .count = count};
}

/* A line of the four switches, all five hosts in it. */
static void set_tree(struct sim *s)
{
    set_members(s, 0, 1 << HOST_PORT | 1 << GUEST_PORT | 1 << NEXT);
    set_members(s, 1, 1 << HOST_PORT | 1 << BEFORE | 1 << NEXT);
    set_members(s, 2, 1 << HOST_PORT | 1 << BEFORE | 1 << NEXT);
    set_members(s, 3, 1 << HOST_PORT | 1 << BEFORE);
}

static void test_multicast_tree(void **state)
{
    struct transit_testing *t = *state;
    set_tree(t->s);
    set_members(t->s, 2, 1 | 1 << HOST_PORT | 1 << BEFORE | 1 << NEXT); /* and a switch */
    unsigned n = start(t, group(HOST, 2)), from_switch = start(t, group(1, 1));
    sim_run(t->s, 10 * MS);
    struct sim_ping_result r = result(t, n);
    assert_int_equal(r.sent, 2);
    assert_int_equal(r.answered, 2 * 5);
    assert_int_equal(r.lost, 0);
    assert_int_equal(r.doubled, 0);
    assert_int_equal(result(t, from_switch).answered, 6);
    assert_int_equal(t->s->doubled, 0);
    assert_int_equal(counter(t, GUEST, 1, SIM_CNT_MULTICAST_RCV_PKTS), 3);
}

static void test_multicast_hole(void **state)
{
    struct transit_testing *t = *state;
    set_tree(t->s);
    set_members(t->s, 1, 1 << HOST_PORT | 1 << BEFORE); /* switches 2 and 3 are cut off */
    unsigned n = start(t, group(HOST, 1));
    sim_run(t->s, 1 * MS);
    struct sim_ping_result r = result(t, n);
    assert_int_equal(r.answered, 2);
    assert_int_equal(r.lost, 2);
    assert_int_equal(r.by_cause[SIM_DROP_NO_ENTRY], 2);
    g_autoptr(GString) lines = g_string_new(NULL);
    sim_ping_losses(t->s, n, lines);
    assert_string_equal(lines->str, "ping 1 0 0 lost at \"host 2\"[1] no-entry\n"
                                    "ping 1 0 0 lost at \"host 3\"[1] no-entry\n");
    /* no tree at all: the first switch has no entry */
    for (uint32_t sw = 0; sw < SWITCHES; sw++)
        set_members(t->s, sw, 0);
    n = start(t, group(HOST, 1));
    sim_run(t->s, 2 * MS);
    assert_int_equal(result(t, n).by_cause[SIM_DROP_NO_ENTRY], 1);
    assert_int_equal(result(t, n).lost, 1);
}

static void test_multicast_doubled(void **state)
{
    struct transit_testing *t = *state;
    set_tree(t->s);
    /* the line closed to a ring: both ways round until the hops are over, twice to each */
    set_members(t->s, 0, 1 << HOST_PORT | 1 << GUEST_PORT | 1 << NEXT | 1 << BEFORE);
    set_members(t->s, 3, 1 << HOST_PORT | 1 << BEFORE | 1 << NEXT);
    unsigned n = start(t, group(HOST, 1));
    sim_run(t->s, 1 * MS);
    struct sim_ping_result r = result(t, n);
    assert_int_equal(r.answered, 4);
    assert_int_equal(r.lost, 0);
    assert_true(r.doubled > 4);
    assert_int_equal(r.doubled, t->s->doubled);
    /* each way ends with two copies too many: to the next switch and to the host there */
    assert_int_equal(t->s->drops[SIM_DROP_LOOP], 4);
}

/* Every cable twice as full with each hop: the copies of one packet are bounded. */
static void test_multicast_storm(void **state)
{
    struct transit_testing *t = *state;
    struct fabric *f = fabric_create();
    enum { SIZE = 6 };
    for (unsigned i = 0; i < SIZE; i++)
        fabric_add_node(f, 0x100 + i * 0x100, FABRIC_SWITCH, SIZE + 1, "mesh");
    for (unsigned i = 0; i < SIZE; i++)
        for (unsigned k = i + 1; k < SIZE; k++)
            fabric_connect(f, i, k + 1, k, i + 1);
    struct sim_config config = {.seed = 1};
    struct sim_hooks hooks = {0};
    struct sim *s = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
    for (unsigned i = 0; i < SIZE; i++) {
        set_members(s, i, 0xfe);
        for (unsigned p = 1; p <= SIZE; p++)
            s->nodes[i].ports[p].info[32] = SIM_ACTIVE;
    }
    put16(s->nodes[0].ports[0].info + 16, 1);
    struct sim_ping_spec spec = {.mlid = MLID, .rate = 1, .count = 1};
    unsigned n = sim_ping_start(s, &spec, error, sizeof error);
    assert_int_equal(n, 1);
    sim_run(s, 1);
    assert_true(s->drops[SIM_DROP_LOOP] > 0);
    uint64_t sent = 0;
    for (unsigned i = 0; i < SIZE; i++)
        for (unsigned p = 1; p <= SIZE; p++)
            sent += s->nodes[i].ports[p].counters
                        ? s->nodes[i].ports[p].counters[SIM_CNT_MULTICAST_XMIT_PKTS]
                        : 0;
    assert_in_range(sent, 500, 65536);
    sim_destroy(s);
    assert_int_equal(t->lost, 0);
}

static void test_multicast_keys_and_delays(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_disturbance d = {.delay_ns = 1 * MS, .duplicate_ppm = 1000000};
    set_tree(s);
    sim_pkeys(s, HOST + 2, 1)[0] = 0x8005;
    s->nodes[2].ports[NEXT].disturbance = &d;
    unsigned n = start(t, group(HOST, 1));
    sim_run(s, 1 * MS - 1);
    assert_int_equal(result(t, n).answered, 0); /* not all copies have ended */
    assert_int_equal(sim_transit_count(s), 2);
    sim_run(s, 1 * MS);
    struct sim_ping_result r = result(t, n);
    assert_int_equal(r.answered, 3);
    assert_int_equal(r.doubled, 1);
    assert_int_equal(r.lost, 1);
    assert_int_equal(r.by_cause[SIM_DROP_PKEY], 1);
    s->nodes[2].ports[NEXT].disturbance = NULL;
}

/* MADs to a multicast LID reach processes, not agents. */
static void test_multicast_to_processes(void **state)
{
    struct transit_testing *t = *state;
    set_tree(t->s);
    struct sim_packet p = by_lid(0xffffff, 4, MLID);
    sim_send(t->s, HOST + 2, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_not_equal(arrived(t, i)->node, HOST + 2);
    t->nobody = true;
    sim_send(t->s, HOST + 2, 1, &p, 0);
    assert_int_equal(t->s->drops[SIM_DROP_UNCLAIMED], 4);
    assert_int_equal(t->lost, 0);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(name, transit_testing_setup, transit_testing_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_rate_and_count),
        T(test_losses),
        T(test_loop_and_keys),
        T(test_gap_that_lasts),
        T(test_wrong_receiver),
        T(test_disturbed),
        T(test_bounds),
        T(test_losses_are_bounded),
        T(test_multicast_tree),
        T(test_multicast_hole),
        T(test_multicast_doubled),
        T(test_multicast_storm),
        T(test_multicast_keys_and_delays),
        T(test_multicast_to_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
