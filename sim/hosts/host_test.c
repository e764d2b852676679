/* SPDX-License-Identifier: BSD-2-Clause */
/* Modelled hosts against a small subnet administrator: events, registration, time-outs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>

#include "sim/hosts/host_test_sa.h"

static const char four_hosts[] = "pgft:1:4:1:1";
static const struct sim_host_spec full = {
    .groups = 4, .services = 2, .paths = 3, .inform = true, .timeout_ms = 500, .retries = 2};

static const struct test_request *request(const struct test_sa *sa, unsigned i)
{
    assert_true(i < sa->log->len);
    return &g_array_index(sa->log, struct test_request, i);
}

/* Starts a host on the administrator's neighbour alone. */
static uint32_t start_one(struct test_sa *sa, const struct sim_host_spec *spec)
{
    sim_hosts_start(sa->s, sa->node + 1, spec);
    return sa->node + 1;
}

static void expect_status(struct test_sa *sa, const char *field, double value)
{
    double is = test_status(sa->s, field);

    if (is != value)
        fail_msg("%s is %.3f, not %.3f", field, is, value);
}

static void test_all_register(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);

    sim_hosts_start(sa->s, SIM_NONE, &full);
    test_sa_run(sa, 10 * SECOND);
    expect_status(sa, "hosts", 4);
    expect_status(sa, "registered", 4);
    expect_status(sa, "groups", 4 * 5);
    expect_status(sa, "services", 4 * 2);
    expect_status(sa, "subscribed", 4 * 4);
    expect_status(sa, "paths", 4 * 3);
    expect_status(sa, "requests", 4 * (5 + 2 + 4 + 3));
    expect_status(sa, "retries", 0);
    expect_status(sa, "timeouts", 0);
    expect_status(sa, "wrong", 0);
    expect_status(sa, "late", 0);
    expect_status(sa, "stale", 0);
    assert_int_equal(sa->of[TEST_GROUP], 4 * 5);
    assert_int_equal(sa->of[TEST_SERVICE], 4 * 2);
    assert_int_equal(sa->of[TEST_INFORM], 4 * 4);
    assert_int_equal(sa->of[TEST_PATH], 4 * 3);
    /* broadcast, all hosts, all routers and the synthetic one are shared, one is not */
    assert_int_equal(g_hash_table_size(sa->mlids), 4 + 4);
    assert_true(sim_next(sa->s) == SIM_NEVER);
    test_sa_destroy(sa);
}

static void test_what_is_asked(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint32_t host = start_one(sa, &full);
    const struct sim_port *p = sim_port(sa->s, host, 1);
    const uint8_t *mad;

    sim_hosts_start(sa->s, host + 1, &(struct sim_host_spec){0}); /* somebody to ask paths to */
    test_sa_run(sa, 10 * SECOND);
    mad = request(sa, 0)->packet.mad; /* the broadcast join */
    assert_int_equal(get32(mad), 0x01030202);
    assert_int_equal(get16(mad + 8), SIM_HOST_TID_MARK);
    assert_int_equal(get16(mad + 16), 0x38);
    assert_int_equal(get16(mad + 44), 7); /* AttributeOffset: 52 bytes in words of 8 */
    assert_int_equal(get64(mad + 48), 0x10083);
    assert_int_equal(get64(mad + 56), 0xff12401bffff0000);
    assert_int_equal(get64(mad + 64), 0xffffffff);
    assert_int_equal(get64(mad + 72), get64(p->info + 8));
    assert_int_equal(get64(mad + 80), p->guid);
    assert_int_equal(get16(mad + 96), 0xffff);
    assert_int_equal(mad[104], 1); /* full member */
    assert_int_equal(request(sa, 0)->packet.slid, sim_lid(p));
    assert_int_equal(request(sa, 0)->packet.dqp, 1);
    for (unsigned i = 1; i < sa->log->len; i++) {
        mad = request(sa, i)->packet.mad;
        if (request(sa, i)->packet.slid != sim_lid(p))
            continue;
        switch (test_attribute_of(mad)) {
        case TEST_GROUP: /* with what the broadcast group has */
            assert_int_equal(get64(mad + 48), 0x173f7);
            assert_int_equal(get32(mad + 88), 0x0b1b);
            assert_int_equal(mad[94], 0x84);
            assert_int_equal(mad[95], 7);
            assert_int_equal(mad[98], 0x83);
            assert_int_equal(get32(mad + 100), 0x10000000);
            break;
        case TEST_SERVICE:
            assert_int_equal(get64(mad + 48), 0x57);
            assert_int_equal(get64(mad + 72), p->guid);
            assert_int_equal(get32(mad + 84), 0xffffffff);
            break;
        case TEST_INFORM:
            assert_in_range(get16(mad + 82), 64, 67);
            assert_int_equal(get16(mad + 78), 0x0101);
            break;
        default:
            assert_int_equal(mad[3], 1); /* Get */
            assert_int_equal(get64(mad + 48), 0x340c);
            assert_int_equal(get64(mad + 72), sim_port(sa->s, host + 1, 1)->guid);
        }
    }
    test_sa_destroy(sa);
}

/* Moves the SM's address in the host's PortInfo to `lid`. */
static void set_sm_lid(struct test_sa *sa, uint32_t host, uint16_t lid)
{
    put16(sim_port(sa->s, host, 1)->info + 18, lid);
}

static void test_address_by_events_only(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint32_t host = start_one(sa, &(struct sim_host_spec){.groups = 1, .services = 1});
    uint16_t here = sim_lid(sim_port(sa->s, sa->node, 1));
    uint16_t elsewhere = sim_lid(sim_port(sa->s, host + 1, 1));

    test_sa_run(sa, 2 * SECOND);
    assert_int_equal(sa->log->len, 3);
    set_sm_lid(sa, host, elsewhere); /* nobody tells the host */
    test_sa_run(sa, 100 * SECOND);
    assert_int_equal(sa->log->len, 3);
    expect_status(sa, "registered", 1);
    expect_status(sa, "stale", 1);
    sim_host_event(sa->s, host, 1, SIM_HOST_REREGISTER); /* now it knows, and asks in vain */
    expect_status(sa, "registered", 0);
    expect_status(sa, "stale", 0);
    test_sa_run(sa, 101 * SECOND - MS);
    assert_int_equal(sa->log->len, 3);
    expect_status(sa, "requests", 3 + 2);
    expect_status(sa, "errors", 2); /* no process there takes them */
    set_sm_lid(sa, host, here);
    sim_host_event(sa->s, host, 1, SIM_HOST_LID_CHANGE);
    test_sa_run(sa, 104 * SECOND);
    assert_int_equal(sa->log->len, 6);
    expect_status(sa, "registered", 1);
    expect_status(sa, "groups", 2);
    test_sa_destroy(sa);
}

static void test_each_event(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint32_t host = start_one(sa, &full);
    struct sim_port *p = sim_port(sa->s, host, 1);

    sim_hosts_start(sa->s, host + 1, &(struct sim_host_spec){0});
    test_sa_run(sa, 2 * SECOND);
    assert_int_equal(sa->log->len, 15);
    sim_host_event(sa->s, host, 1, SIM_HOST_REREGISTER);
    test_sa_run(sa, 3 * SECOND);
    assert_int_equal(sa->log->len, 29);
    p->info[32] = (p->info[32] & 0xf0) | SIM_INIT;
    sim_host_event(sa->s, host, 1, SIM_HOST_PORT_DOWN);
    expect_status(sa, "registered", 1);
    expect_status(sa, "groups", 1);
    sim_host_event(sa->s, host, 1, SIM_HOST_LID_CHANGE); /* waits for ACTIVE */
    sim_host_event(sa->s, host, 1, SIM_HOST_REREGISTER);
    test_sa_run(sa, 4 * SECOND);
    assert_int_equal(sa->log->len, 29);
    p->info[32] = (p->info[32] & 0xf0) | SIM_ACTIVE;
    sim_host_event(sa->s, host, 1, SIM_HOST_PORT_UP);
    sim_host_event(sa->s, host, 1, SIM_HOST_REREGISTER); /* in one Set: asks once */
    test_sa_run(sa, 5 * SECOND);
    assert_int_equal(sa->log->len, 43);
    expect_status(sa, "registered", 2);
    test_sa_destroy(sa);
}

static void test_partition_change(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint32_t host = start_one(sa, &(struct sim_host_spec){0});
    struct sim_port *p = sim_port(sa->s, host, 1);

    test_sa_run(sa, 2 * SECOND);
    p->pkeys = g_new0(uint16_t, sim_pkey_capacity(sa->s, host, 1));
    p->pkeys[0] = 0xffff;
    p->pkeys[1] = 0x8001;
    sim_host_event(sa->s, host, 1, SIM_HOST_PKEY_CHANGE);
    test_sa_run(sa, 3 * SECOND);
    assert_int_equal(sa->log->len, 1); /* entry 0 is as it was */
    p->pkeys[0] = 0x0005;
    p->pkeys[1] = 0x7fff;
    sim_host_event(sa->s, host, 1, SIM_HOST_PKEY_CHANGE);
    test_sa_run(sa, 4 * SECOND);
    assert_int_equal(sa->log->len, 2);
    assert_int_equal(get64(request(sa, 1)->packet.mad + 56), 0xff12401b80050000);
    assert_int_equal(get16(request(sa, 1)->packet.mad + 96), 0x8005);
    assert_int_equal(request(sa, 1)->packet.pkey, 0x7fff); /* the SA is in the default partition */
    expect_status(sa, "registered", 1);
    test_sa_destroy(sa);
}

static void test_join_timeouts(void **state)
{
    static const int64_t gaps_s[] = {3 + 1, 3 + 2, 3 + 4, 3 + 8, 3 + 16, 3 + 16};
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint64_t tid = 0;

    sa->silent = true;
    start_one(sa, &(struct sim_host_spec){.groups = 3, .timeout_ms = 10, .retries = 5});
    test_sa_run(sa, 67 * SECOND);
    assert_int_equal(sa->log->len, 7);
    for (unsigned i = 0; i < 7; i++) {
        if (i > 0)
            assert_int_equal(request(sa, i)->at - request(sa, i - 1)->at, gaps_s[i - 1] * SECOND);
        assert_true(get64(request(sa, i)->packet.mad + 8) != tid);
        tid = get64(request(sa, i)->packet.mad + 8);
    }
    expect_status(sa, "timeouts", 6);
    expect_status(sa, "retries", 0);
    expect_status(sa, "registered", 0);
    sa->silent = false;
    test_sa_run(sa, 90 * SECOND);
    expect_status(sa, "registered", 1);
    assert_true(sim_next(sa->s) == SIM_NEVER);
    test_sa_destroy(sa);
}

static void test_service_retries(void **state)
{
    static const int64_t gaps_ms[] = {500, 500, 500 + 1000, 500};
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    int64_t last = 0;
    uint64_t tids[5];
    unsigned n = 0;

    start_one(sa, &(struct sim_host_spec){.services = 1, .timeout_ms = 500, .retries = 2});
    sa->ignore = 5; /* the join, then the service's MADs but the fifth */
    test_sa_run(sa, 10 * SECOND);
    for (unsigned i = 0; i < sa->log->len; i++) {
        const struct test_request *r = request(sa, i);

        if (test_attribute_of(r->packet.mad) != TEST_SERVICE)
            continue;
        if (n > 0)
            assert_int_equal(r->at - last, gaps_ms[n - 1] * MS);
        last = r->at;
        assert_true(n < 5);
        tids[n++] = get64(r->packet.mad + 8);
    }
    assert_int_equal(n, 5);
    assert_true(tids[0] == tids[1] && tids[1] == tids[2]);
    assert_true(tids[2] != tids[3] && tids[3] == tids[4]);
    expect_status(sa, "retries", 3);
    expect_status(sa, "timeouts", 2); /* the join's, and the first transaction's */
    expect_status(sa, "registered", 1);
    test_sa_destroy(sa);
}

static void test_late_answers(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    struct sim_packet p;
    uint32_t host;

    sa->silent = true;
    host = start_one(sa, &(struct sim_host_spec){0});
    test_sa_run(sa, 5 * SECOND); /* sent at 1, over at 4, sent again at 5 */
    p = request(sa, 0)->packet;
    p.mad[3] = 0x81;
    assert_true(sim_host_receive(sa->s, host, 1, &p));
    expect_status(sa, "late", 1);
    expect_status(sa, "registered", 0);
    put16(p.mad + 8, 1); /* another process's */
    assert_false(sim_host_receive(sa->s, host, 1, &p));
    put64(p.mad + 8, UINT64_MAX); /* no such record */
    assert_false(sim_host_receive(sa->s, host, 1, &p));
    p.mad[3] = 0x01;
    assert_false(sim_host_receive(sa->s, host, 1, &p));
    test_sa_destroy(sa);
}

static void check_refused(uint16_t status, bool wrong, const char *field)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);

    sa->status = status;
    sa->wrong = wrong;
    sim_hosts_start(sa->s, SIM_NONE, &full);
    test_sa_run(sa, 2 * SECOND - MS);
    /* no other group without the broadcast group: 1 + 2 + 4 + 3 a host, and each once */
    expect_status(sa, field, 4 * 10);
    expect_status(sa, "requests", 4 * 10);
    expect_status(sa, "registered", 0);
    test_sa_run(sa, 120 * SECOND);
    /* at 1, 2, 4, 8, 16, 32, 48, 64, 80, 96 and 112 s */
    expect_status(sa, "requests", 4 * 10 * 11);
    sa->status = 0;
    sa->wrong = false;
    test_sa_run(sa, 130 * SECOND);
    expect_status(sa, "registered", 4);
    expect_status(sa, "timeouts", 0);
    test_sa_destroy(sa);
}

static void test_busy(void **state)
{
    check_refused(0x0001, false, "busy");
    check_refused(0x0100, false, "busy");
}

static void test_errors(void **state)
{
    check_refused(0x000c, false, "errors");
    check_refused(0x0200, false, "errors");
    check_refused(0, true, "wrong");
}

static void test_losses(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 7);
    struct sim_disturbance *d = g_new0(struct sim_disturbance, 1);

    d->loss_ppm = 400000; /* of what goes to the administrator */
    for (uint32_t n = 0; n < sa->s->node_count; n++)
        for (unsigned p = 1; p <= sa->s->nodes[n].nports; p++)
            if (sim_port(sa->s, n, p)->peer_node == sa->node) {
                sim_port(sa->s, n, p)->disturbance = d;
                d = NULL;
            }
    assert_null(d);
    sim_hosts_start(sa->s, SIM_NONE, &full);
    test_sa_run(sa, 600 * SECOND);
    expect_status(sa, "registered", 4);
    assert_true(test_status(sa->s, "retries") > 0);
    assert_true(test_status(sa->s, "timeouts") > 0);
    expect_status(sa, "errors", 0);
    test_sa_destroy(sa);
}

static void test_reports(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint32_t host = start_one(sa, &full);

    sim_hosts_start(sa->s, host + 1, &(struct sim_host_spec){0});
    test_sa_run(sa, 2 * SECOND);
    test_sa_send_report(sa, host, 17);
    test_sa_send_report(sa, host, 17);
    test_sa_send_report(sa, host + 1, 18); /* did not subscribe */
    test_sa_run(sa, 3 * SECOND);
    expect_status(sa, "reports", 2);
    assert_int_equal(sa->report_answers, 2);
    sim_host_process(sa->s, host, false);
    test_sa_send_report(sa, host, 19);
    test_sa_run(sa, 4 * SECOND);
    assert_int_equal(sa->report_answers, 2);
    test_sa_destroy(sa);
}

static void test_process(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint32_t host = start_one(sa, &full);

    sim_hosts_start(sa->s, host + 1, &(struct sim_host_spec){0});
    test_sa_run(sa, 2 * SECOND);
    sim_host_process(sa->s, host, false);
    expect_status(sa, "registered", 2); /* by its groups */
    expect_status(sa, "groups", 5 + 1);
    expect_status(sa, "services", 0);
    expect_status(sa, "subscribed", 0);
    sim_host_event(sa->s, host, 1, SIM_HOST_REREGISTER);
    test_sa_run(sa, 3 * SECOND);
    assert_int_equal(sa->log->len, 15 + 5); /* the kernel's joins alone */
    sim_host_process(sa->s, host, true);
    expect_status(sa, "registered", 1);
    test_sa_run(sa, 4 * SECOND);
    assert_int_equal(sa->log->len, 20 + 2 + 4 + 3);
    expect_status(sa, "registered", 2);
    test_sa_destroy(sa);
}

static void test_power(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    uint32_t host = start_one(sa, &full);
    struct sim_port *p = sim_port(sa->s, host, 1);

    sim_hosts_start(sa->s, host + 1, &(struct sim_host_spec){0});
    sa->silent = true;
    test_sa_run(sa, 2 * SECOND);
    sim_hosts_forget(sa->s, host);
    sim_hosts_forget(sa->s, host + 1);
    assert_true(sim_next(sa->s) == SIM_NEVER);
    expect_status(sa, "hosts", 2);
    expect_status(sa, "registered", 0);
    sa->silent = false;
    assert_int_equal(sim_port_state(p), SIM_ACTIVE);
    sim_host_event(sa->s, host, 1, SIM_HOST_PORT_UP);
    test_sa_run(sa, 20 * SECOND);
    expect_status(sa, "registered", 1);
    sim_hosts_stop(sa->s, SIM_NONE);
    expect_status(sa, "hosts", 0);
    assert_null(p->host);
    assert_true(sim_next(sa->s) == SIM_NEVER);
    test_sa_destroy(sa);
}

static void test_leases(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);

    start_one(sa, &(struct sim_host_spec){.services = 1, .service_lease_s = 20});
    test_sa_run(sa, 45 * SECOND);
    assert_int_equal(sa->of[TEST_SERVICE], 5); /* at 1, 11, 21, 31, 41 s */
    expect_status(sa, "registered", 1);
    sa->status = 0x0200;
    test_sa_run(sa, 52 * SECOND - MS);
    expect_status(sa, "registered", 0);
    sa->status = 0;
    test_sa_run(sa, 53 * SECOND);
    expect_status(sa, "registered", 1);
    expect_status(sa, "services", 1);
    test_sa_destroy(sa);
}

static void test_wave(void **state)
{
    struct test_sa *sa = test_sa_create("pgft:1:40:1:1", 3);

    sim_hosts_start(sa->s, SIM_NONE, &(struct sim_host_spec){.groups = 2, .start_spread_ms = 1000});
    test_sa_run(sa, 3 * SECOND);
    expect_status(sa, "registered", 40);
    assert_true(test_status(sa->s, "first_ms") < 200);
    assert_true(test_status(sa->s, "last_ms") > 800);
    assert_true(test_status(sa->s, "last_ms") < 1000);
    assert_true(test_status(sa->s, "wave_ms") == test_status(sa->s, "last_ms"));
    sim_host_event(sa->s, sa->node, 1, SIM_HOST_REREGISTER);
    test_sa_run(sa, 5 * SECOND);
    assert_true(test_status(sa->s, "first_ms") == test_status(sa->s, "last_ms"));
    test_sa_destroy(sa);
}

static GString *transcript(uint64_t seed)
{
    struct test_sa *sa = test_sa_create("pgft:1:40:1:1", seed);
    struct sim_host_spec spec = full;
    GString *text = g_string_new(NULL);

    spec.start_spread_ms = 50;
    sa->per_ms = 3;
    sa->ignore = 20;
    sim_hosts_start(sa->s, SIM_NONE, &spec);
    test_sa_run(sa, 5 * SECOND);
    for (unsigned i = 0; i < sa->log->len; i++) {
        const struct test_request *r = request(sa, i);

        g_string_append_printf(text, "%" G_GINT64_FORMAT " ", r->at);
        for (unsigned b = 0; b < SIM_MAD_BYTES; b++)
            g_string_append_printf(text, "%02x", r->packet.mad[b]);
    }
    sim_hosts_status(sa->s, sa->node, text);
    test_sa_destroy(sa);
    return text;
}

static void test_repeatable(void **state)
{
    g_autoptr(GString) a = transcript(11);
    g_autoptr(GString) b = transcript(11);
    g_autoptr(GString) c = transcript(12);

    assert_true(g_string_equal(a, b));
    assert_false(g_string_equal(a, c));
}

static void test_burst(void **state)
{
    struct test_sa *sa = test_sa_create("pgft:2:64,80:1,16:1,1", 5);

    sa->per_ms = 10;
    sim_hosts_start(
        sa->s, SIM_NONE,
        &(struct sim_host_spec){
            .groups = 3, .services = 2, .start_spread_ms = 500, .timeout_ms = 1000, .retries = 3});
    test_sa_run(sa, 60 * SECOND);
    expect_status(sa, "hosts", 5120);
    expect_status(sa, "registered", 5120);
    assert_true(test_status(sa->s, "retries") > 0); /* 10 a millisecond are too few */
    assert_int_equal(g_hash_table_size(sa->mlids), 3 + 5120);
    assert_true(sim_next(sa->s) == SIM_NEVER);
    test_sa_destroy(sa);
}

static void test_who_gets_a_host(void **state)
{
    struct test_sa *sa = test_sa_create(four_hosts, 1);
    g_autoptr(GString) text = g_string_new(NULL);

    sim_port(sa->s, sa->node, 1)->has_sm = true;
    sim_hosts_start(sa->s, SIM_NONE, &(struct sim_host_spec){.groups = UINT32_MAX});
    expect_status(sa, "hosts", 3);
    assert_true(sim_port(sa->s, sa->node, 1)->host == NULL);
    sim_hosts_start(sa->s, SIM_NONE, &(struct sim_host_spec){0}); /* over again */
    expect_status(sa, "hosts", 3);
    sim_hosts_start(sa->s, sa->node, &(struct sim_host_spec){0});
    expect_status(sa, "hosts", 4);
    sim_hosts_start(sa->s, 0, &(struct sim_host_spec){0}); /* a switch */
    expect_status(sa, "hosts", 4);
    test_sa_run(sa, 2 * SECOND);
    expect_status(sa, "registered", 4);
    sim_hosts_status(sa->s, sa->node + 1, text);
    assert_non_null(
        strstr(text->str, "  group ff12401bffff000000000000ffffffff mlid=0xc000 confirmed\n"));
    test_sa_destroy(sa);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_register),
        cmocka_unit_test(test_what_is_asked),
        cmocka_unit_test(test_address_by_events_only),
        cmocka_unit_test(test_each_event),
        cmocka_unit_test(test_partition_change),
        cmocka_unit_test(test_join_timeouts),
        cmocka_unit_test(test_service_retries),
        cmocka_unit_test(test_late_answers),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_leases),
        cmocka_unit_test(test_wave),
        cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_who_gets_a_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
