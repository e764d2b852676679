/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters as PortCounters and PortCountersExtended show and reset them. */
#include "sim/agents/agents_test.h"
#include "sim/agents/pma.h"

#define GET 1
#define SET 2
#define PORT_COUNTERS 0x12
#define EXTENDED 0x1d
#define SAMPLES_CONTROL 0x10
#define SAMPLES_RESULT 0x11
#define INVALID 0x1c
#define UNSUPPORTED 0x0c

static const struct sim_hooks no_hooks;

static int setup(void **state)
{
    *state = test_fabric(0, &no_hooks);
    return 0;
}

static int teardown(void **state)
{
    sim_destroy(*state);
    return 0;
}

/* Asks, gives the status, and leaves the answer's 192 bytes of data. */
static uint16_t ask(struct sim *s, uint32_t node, unsigned port, unsigned method,
                    unsigned attribute, uint8_t data[192])
{
    struct sim_packet p = {.dqp = 1, .sqp = 1};
    p.mad[0] = p.mad[2] = 1;
    p.mad[1] = 4;
    p.mad[3] = (uint8_t)method;
    put16(p.mad + 16, (uint16_t)attribute);
    memcpy(p.mad + 64, data, 192);
    assert_int_equal(sim_pma(s, node, port, &p), SIM_REPLY);
    assert_int_equal(p.mad[3], 0x81);
    memcpy(data, p.mad + 64, 192);
    return get16(p.mad + 4);
}

static uint16_t ask_port(struct sim *s, uint32_t node, unsigned select, unsigned method,
                         unsigned attribute, uint32_t mask, uint8_t data[192])
{
    memset(data, 0, 192);
    data[1] = (uint8_t)select;
    put16(data + 2, (uint16_t)mask);
    if (attribute == EXTENDED)
        put32(data + 4, mask >> 16);
    else
        data[18] = (uint8_t)(mask >> 16);
    return ask(s, node, 1, method, attribute, data);
}

static void set_all(struct sim *s, uint32_t node, unsigned port, uint64_t base)
{
    for (unsigned c = 0; c < SIM_CNT_COUNT; c++)
        sim_count(s, node, port, (enum sim_counter)c, base + c);
}

static void test_places(void **state)
{
    struct sim *s = *state;
    uint8_t d[192];
    set_all(s, SWITCH, 2, 1); /* 1, 2, ... in the order of enum sim_counter */
    assert_int_equal(ask_port(s, SWITCH, 2, GET, PORT_COUNTERS, 0, d), 0);
    assert_int_equal(d[1], 2);
    assert_int_equal(get16(d + 4), 1);     /* SymbolErrorCounter */
    assert_int_equal(d[6], 2);             /* LinkErrorRecoveryCounter */
    assert_int_equal(d[7], 3);             /* LinkDownedCounter */
    assert_int_equal(get16(d + 8), 4);     /* PortRcvErrors */
    assert_int_equal(get16(d + 14), 7);    /* PortXmitDiscards */
    assert_int_equal(d[16], 8);            /* PortXmitConstraintErrors */
    assert_int_equal(d[17], 9);            /* PortRcvConstraintErrors */
    assert_int_equal(d[19], 10 << 4 | 11); /* LocalLinkIntegrity, ExcessiveBufferOverrun */
    assert_int_equal(get16(d + 20), 12);   /* QP1Dropped */
    assert_int_equal(get16(d + 22), 13);   /* VL15Dropped */
    assert_int_equal(get32(d + 24), 15);   /* PortXmitData */
    assert_int_equal(get32(d + 36), 18);   /* PortRcvPkts */
    assert_int_equal(get32(d + 40), 14);   /* PortXmitWait */
    assert_int_equal(ask_port(s, SWITCH, 2, GET, EXTENDED, 0, d), 0);
    assert_int_equal(get64(d + 8), 15);   /* PortXmitData */
    assert_int_equal(get64(d + 64), 22);  /* PortMulticastRcvPkts */
    assert_int_equal(get64(d + 72), 1);   /* SymbolErrorCounter */
    assert_int_equal(get64(d + 168), 14); /* PortXmitWait */
    assert_int_equal(get64(d + 176), 12); /* QP1Dropped */
    assert_int_equal(get64(d + 184), 0);
}

static void test_saturation(void **state)
{
    struct sim *s = *state;
    uint8_t d[192];
    set_all(s, SWITCH, 2, 1ull << 40);
    assert_int_equal(ask_port(s, SWITCH, 2, GET, PORT_COUNTERS, 0, d), 0);
    assert_int_equal(get16(d + 4), 0xffff);
    assert_int_equal(d[6], 0xff);
    assert_int_equal(d[19], 0xff);
    assert_int_equal(get32(d + 24), 0xffffffff);
    assert_int_equal(ask_port(s, SWITCH, 2, GET, EXTENDED, 0, d), 0);
    assert_true(get64(d + 72) == 1ull << 40);
    sim_port(s, SWITCH, 1)->counters = g_new0(uint64_t, SIM_CNT_COUNT);
    sim_port(s, SWITCH, 1)->counters[SIM_CNT_XMIT_DATA] = UINT64_MAX - 1;
    assert_int_equal(ask_port(s, SWITCH, 255, GET, EXTENDED, 0, d), 0);
    assert_true(get64(d + 8) == UINT64_MAX); /* the sum stops, too */
}

/* Each bit resets its own counter and no other. */
static void check_masks(struct sim *s, unsigned attribute, unsigned bits)
{
    for (unsigned bit = 0; bit < bits; bit++) {
        uint8_t d[192];
        unsigned zeros = 0;
        struct sim_port *p = sim_port(s, SWITCH, 2);
        g_free(p->counters);
        p->counters = NULL;
        set_all(s, SWITCH, 2, 5);
        assert_int_equal(ask_port(s, SWITCH, 2, SET, attribute, 1u << bit, d), 0);
        for (unsigned c = 0; c < SIM_CNT_COUNT; c++) {
            zeros += p->counters[c] == 0;
            assert_true(p->counters[c] == 0 || p->counters[c] == 5 + c);
        }
        assert_int_equal(zeros, 1);
    }
}

static void test_reset_masks(void **state)
{
    struct sim *s = *state;
    uint8_t d[192];
    check_masks(s, PORT_COUNTERS, 18);
    set_all(s, SWITCH, 2, 5);
    assert_int_equal(ask_port(s, SWITCH, 2, SET, PORT_COUNTERS, 0, d), 0); /* nothing selected */
    assert_true(get16(d + 4) > 0);
    assert_int_equal(ask_port(s, SWITCH, 2, SET, PORT_COUNTERS, 1 << 9, d), 0);
    assert_true(d[19] > 0 && d[19] < 16); /* the other half stays */
    assert_int_equal(ask_port(s, SWITCH, 2, SET, EXTENDED, 0xffffffff, d), 0);
    for (unsigned i = 8; i < 192; i++)
        assert_int_equal(d[i], 0);
}

static void test_reset_masks_extended(void **state)
{
    struct sim *s = *state;
    for (unsigned bit = 0; bit < 30; bit++) {
        uint8_t d[192];
        unsigned zeros = 0;
        struct sim_port *p = sim_port(s, SWITCH, 2);
        g_free(p->counters);
        p->counters = NULL;
        set_all(s, SWITCH, 2, 5);
        assert_int_equal(ask_port(s, SWITCH, 2, SET, EXTENDED, 1u << bit, d), 0);
        for (unsigned c = 0; c < SIM_CNT_COUNT; c++)
            zeros += p->counters[c] == 0;
        assert_int_equal(zeros, bit < 8 || bit >= 16); /* bits 8 to 15 are reserved */
    }
}

static void test_all_ports(void **state)
{
    struct sim *s = *state;
    uint8_t d[192];
    for (unsigned port = 0; port <= 4; port++)
        sim_count(s, SWITCH, port, SIM_CNT_RCV_ERRORS, 10);
    assert_int_equal(ask_port(s, SWITCH, 255, GET, PORT_COUNTERS, 0, d), 0);
    assert_int_equal(get16(d + 8), 50);
    assert_int_equal(d[1], 255);
    assert_int_equal(ask_port(s, SWITCH, 255, SET, PORT_COUNTERS, 1 << 3, d), 0);
    assert_int_equal(get16(d + 8), 0);
    assert_int_equal(ask_port(s, SWITCH, 3, GET, PORT_COUNTERS, 0, d), 0);
    assert_int_equal(get16(d + 8), 0);
}

static void test_bad_selects(void **state)
{
    struct sim *s = *state;
    uint8_t d[192];
    static const unsigned attributes[] = {PORT_COUNTERS, EXTENDED};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ask_port(s, SWITCH, 5, GET, attributes[i], 0, d), INVALID);
        assert_int_equal(ask_port(s, SWITCH, 254, SET, attributes[i], 0xffff, d), INVALID);
        assert_int_equal(ask_port(s, SWITCH, 0, GET, attributes[i], 0, d), 0);
        assert_int_equal(ask_port(s, HOST, 1, GET, attributes[i], 0, d), 0);
        assert_int_equal(ask_port(s, HOST, 0, GET, attributes[i], 0, d), INVALID);
        assert_int_equal(ask_port(s, HOST, 2, GET, attributes[i], 0, d), INVALID);
        assert_int_equal(ask_port(s, HOST, 255, GET, attributes[i], 0, d), INVALID);
        assert_int_equal(ask_port(s, HOST4, 2, GET, attributes[i], 0, d), INVALID);
    }
}

static void test_class_port_info(void **state)
{
    struct sim *s = *state;
    uint8_t d[192];
    memset(d, 0xff, sizeof d);
    assert_int_equal(ask(s, SWITCH, 1, GET, 1, d), 0);
    assert_int_equal(get16(d + 2), 0x9300); /* all ports, 64 bits, xmit wait, QP1Dropped */
    assert_int_equal(get32(d + 4), 1 << 6 | 0x12);
    assert_int_equal(get32(d + 8), 0);
    assert_int_equal(ask(s, HOST, 1, GET, 1, d), 0);
    assert_int_equal(get16(d + 2), 0x9200);
    assert_int_equal(ask(s, HOST, 1, SET, 1, d), UNSUPPORTED);
}

static void test_others(void **state)
{
    struct sim *s = *state;
    uint8_t d[192] = {0, 1};
    assert_int_equal(ask(s, HOST, 1, GET, 0x15, d), UNSUPPORTED); /* PortRcvErrorDetails */
    assert_int_equal(ask(s, HOST, 1, GET, 0x17, d), UNSUPPORTED); /* PortOpRcvCounters */
    assert_int_equal(ask(s, HOST, 1, GET, 0xffff, d), UNSUPPORTED);
    assert_int_equal(ask(s, HOST, 1, 0x06, PORT_COUNTERS, d), 0x08);
    struct sim_packet p = {.dqp = 1};
    p.mad[1] = 4;
    p.mad[3] = 0x81; /* an answer belongs to a process */
    assert_int_equal(sim_pma(s, HOST, 1, &p), SIM_FORWARD);
}

static void test_names(void **state)
{
    enum sim_counter c;
    for (unsigned i = 0; i < SIM_CNT_COUNT; i++) {
        assert_true(sim_counter_by_name(sim_counter_name((enum sim_counter)i), &c));
        assert_int_equal(c, i);
    }
    assert_true(sim_counter_by_name("symbolerrorcounter", &c));
    assert_int_equal(c, SIM_CNT_SYMBOL_ERRORS);
    assert_false(sim_counter_by_name("", &c));
    assert_string_equal(sim_counter_name(SIM_CNT_COUNT), "?");
}

static void start_sample(struct sim *s, uint32_t node, unsigned port, uint32_t interval,
                         uint16_t tag, uint8_t d[192])
{
    memset(d, 0, 192);
    d[1] = (uint8_t)port;
    put32(d + 28, 1000); /* SampleStart: 10 us at QDR, whose ticks are 10 ns */
    put32(d + 32, interval);
    put16(d + 36, tag);
    put16(d + 38, 3); /* PortXmitPkts */
    put16(d + 40, 5); /* PortXmitWait */
    assert_int_equal(ask(s, node, node == SWITCH ? 0 : port, SET, SAMPLES_CONTROL, d), 0);
}

static unsigned sample_result(struct sim *s, uint32_t node, unsigned port, uint8_t d[192])
{
    memset(d, 0, 192);
    assert_int_equal(ask(s, node, node == SWITCH ? 0 : port, GET, SAMPLES_RESULT, d), 0);
    return d[3] & 3;
}

static void test_samples(void **state)
{
    struct sim *s = *state;
    uint8_t d[192];
    int64_t start = s->now;
    for (unsigned p = 0; p <= s->nodes[SWITCH].nports; p++)
        memcpy(sim_port(s, SWITCH, p)->info + 62, "\0\0", 2); /* no extended speed */
    sim_port(s, SWITCH, 2)->info[35] = 0x47;                  /* QDR */
    assert_int_equal(sample_result(s, SWITCH, 0, d), 0);
    start_sample(s, SWITCH, 2, 2000, 0x1234, d);
    assert_int_equal(d[1], 2);
    assert_int_equal(d[3], 4); /* 32 bits */
    assert_int_equal(d[11], 1);
    assert_int_equal(get16(d + 36), 0x1234);
    sim_count(s, SWITCH, 2, SIM_CNT_XMIT_PKTS, 100); /* too early */
    sim_run(s, start + 9999);
    assert_int_equal(sample_result(s, SWITCH, 0, d), 1);
    sim_run(s, start + 10000);
    assert_int_equal(sample_result(s, SWITCH, 0, d), 2);
    sim_count(s, SWITCH, 2, SIM_CNT_XMIT_PKTS, 7);
    sim_count(s, SWITCH, 2, SIM_CNT_XMIT_WAIT, 1ull << 40);
    sim_count(s, SWITCH, 1, SIM_CNT_XMIT_PKTS, 50); /* elsewhere */
    start_sample(s, SWITCH, 1, 5, 0x9999, d);       /* one goes on: not heard */
    assert_int_equal(get16(d + 36), 0x1234);
    sim_run(s, start + 30000);
    sim_count(s, SWITCH, 2, SIM_CNT_XMIT_PKTS, 100); /* too late */
    assert_int_equal(sample_result(s, SWITCH, 0, d), 0);
    assert_int_equal(get16(d), 0x1234);
    assert_int_equal(get32(d + 4), 7);
    assert_int_equal(get32(d + 8), UINT32_MAX);
    assert_int_equal(get32(d + 12), 0);
    start_sample(s, SWITCH, 1, 5, 0x9999, d);
    assert_int_equal(get16(d + 36), 0x9999);
    sim_samples_forget(s, SWITCH);
    assert_true(sim_next(s) == SIM_NEVER);
}

static void test_wrong_samples(void **state)
{
    struct sim *s = *state;
    uint8_t d[192] = {0};
    d[1] = 200;
    assert_int_equal(ask(s, SWITCH, 0, SET, SAMPLES_CONTROL, d), INVALID);
    d[1] = 2;
    assert_int_equal(ask(s, HOST, 1, GET, SAMPLES_CONTROL, d), INVALID);
    d[1] = 1;
    put16(d + 38, 6); /* no such counter */
    assert_int_equal(ask(s, HOST, 1, SET, SAMPLES_CONTROL, d), INVALID);
    assert_int_equal(ask(s, HOST, 1, SET, SAMPLES_RESULT, d), UNSUPPORTED);
    assert_null(sim_port(s, HOST, 1)->sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_places, setup, teardown),
        cmocka_unit_test_setup_teardown(test_saturation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reset_masks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reset_masks_extended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_ports, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_selects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_class_port_info, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_samples, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_samples, setup, teardown),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
