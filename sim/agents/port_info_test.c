/* SPDX-License-Identifier: BSD-2-Clause */
/* PortInfo: whose it is, which fields may be written, and hostile values. */
#include "sim/agents/agents_test.h"

#define INVALID 0x1c

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

static uint16_t get(struct sim *s, uint32_t node, unsigned port, uint32_t modifier,
                    uint8_t info[64])
{
    return sim_sma_port_info(s, node, port, false, modifier, info, true);
}

static void test_which_port(void **state)
{
    struct sim *s = *state;
    uint8_t info[64];
    assert_int_equal(get(s, SWITCH, 3, 0, info), 0); /* the management port, by way of port 3 */
    assert_int_equal(info[28], 3);
    assert_int_equal(info[32] & 0x0f, SIM_ACTIVE);
    assert_int_equal(get(s, SWITCH, 3, 4, info), 0);
    assert_int_equal(info[32] & 0x0f, SIM_DOWN);
    assert_int_equal(get(s, SWITCH, 3, 0x80000002u, info), 0);
    assert_int_equal(get(s, SWITCH, 3, 5, info), INVALID);
    assert_int_equal(get(s, SWITCH, 3, 0x100, info), INVALID);
    assert_int_equal(get(s, SWITCH, 3, 0x01000001, info), INVALID);
    /* a CA: 0 and its own number are the same, another is shown and not set */
    assert_int_equal(get(s, HOST4, 1, 0, info), 0);
    assert_int_equal(info[32] & 0x0f, SIM_INIT);
    assert_int_equal(get(s, HOST4, 1, 2, info), 0);
    assert_int_equal(info[32] & 0x0f, SIM_DOWN);
    assert_int_equal(info[28], 1);
    assert_int_equal(sim_sma_port_info(s, HOST4, 1, true, 2, info, true), INVALID);
    assert_int_equal(get(s, HOST4, 1, 3, info), INVALID);
    assert_int_equal(get(s, HOST4, 1, 255, info), INVALID);
}

static void test_key_is_shown_to_those_who_know_it(void **state)
{
    struct sim *s = *state;
    uint8_t info[64];
    struct sim_port *p = sim_port(s, HOST, 1);
    put64(p->info, 0x1234);
    assert_int_equal(sim_sma_port_info(s, HOST, 1, false, 0, info, false), 0);
    assert_int_equal(get64(info), 0x1234); /* protection level 0 */
    p->info[34] |= 1 << 6;
    assert_int_equal(sim_sma_port_info(s, HOST, 1, false, 0, info, false), 0);
    assert_int_equal(get64(info), 0);
    assert_int_equal(sim_sma_port_info(s, HOST, 1, false, 0, info, true), 0);
    assert_int_equal(get64(info), 0x1234);
    /* the key of port 1 is no key to port 2 */
    put64(sim_port(s, HOST4, 2)->info, 0x5678);
    sim_port(s, HOST4, 2)->info[34] |= 2 << 6;
    assert_int_equal(sim_sma_port_info(s, HOST4, 1, false, 2, info, true), 0);
    assert_int_equal(get64(info), 0);
}

struct field_case {
    uint32_t node;
    unsigned port, byte;
    uint8_t mask, value;
    uint16_t status;
    uint8_t then; /* what the bits are afterwards, where accepted */
};

static void test_fields(void **state)
{
    static const struct field_case cases[] = {
        /* LinkWidthEnabled: 1x and 4x are supported */
        {HOST, 1, 29, 0xff, 1, 0, 1},
        {HOST, 1, 29, 0xff, 0, 0, 1}, /* as it is */
        {HOST, 1, 29, 0xff, 8, INVALID, 0},
        {HOST, 1, 29, 0xff, 3 | 16, INVALID, 0},
        {HOST, 1, 29, 0xff, 254, INVALID, 0},
        {HOST, 1, 29, 0xff, 255, 0, 3},
        /* LinkSpeedEnabled */
        {HOST, 1, 35, 0x0f, 3, 0, 3},
        {HOST, 1, 35, 0x0f, 8, INVALID, 0},
        {HOST, 1, 35, 0x0f, 15, 0, 7},
        /* LinkSpeedExtEnabled: up to NDR; none at the QDR host */
        {HOST, 1, 63, 0x1f, 7, 0, 7},
        {HOST, 1, 63, 0x1f, 16, INVALID, 0},
        {HOST, 1, 63, 0x1f, 31, 0, 15},
        {HOST4, 1, 63, 0x1f, 1, 0, 0}, /* it has no such field */
        /* LinkSpeedExtEnabled2: XDR between the switches only */
        {SWITCH, 3, 56, 0x07, 1, 0, 1},
        {SWITCH, 3, 56, 0x07, 2, INVALID, 0},
        {HOST, 1, 56, 0x07, 1, INVALID, 0},
        /* NeighborMTU: 2048 at most */
        {HOST, 1, 36, 0xf0, 3 << 4, 0, 3 << 4},
        {HOST, 1, 36, 0xf0, 5 << 4, INVALID, 0},
        {HOST, 1, 36, 0xf0, 0 << 4, INVALID, 0},
        {HOST, 1, 36, 0xf0, 15 << 4, INVALID, 0},
        /* OperationalVLs: VL0-7 at most */
        {SWITCH, 1, 43, 0xf0, 2 << 4, 0, 2 << 4},
        {SWITCH, 1, 43, 0xf0, 0, 0, 2 << 4}, /* as it is */
        {SWITCH, 1, 43, 0xf0, 5 << 4, INVALID, 0},
        {SWITCH, 1, 43, 0xf0, 15 << 4, INVALID, 0},
        /* partition enforcement and raw filters: of switches only */
        {SWITCH, 1, 43, 0x0f, 0x0f, 0, 0x0f},
        {HOST, 1, 43, 0x0f, 0x0f, 0, 0},
        /* VLHighLimit, VLStallCount and HOQLife, thresholds, SubnetTimeOut, MasterSMSL */
        {SWITCH, 1, 38, 0xff, 0x5a, 0, 0x5a},
        {SWITCH, 1, 42, 0xff, 0xf2, 0, 0xf2},
        {HOST, 1, 53, 0xff, 0x8f, 0, 0x8f},
        {HOST, 1, 51, 0x1f, 18, 0, 18},
        {HOST, 1, 36, 0x0f, 9, 0, 9},
        /* ClientReregister is a command and not stored */
        {HOST, 1, 51, 0x80, 0x80, 0, 0},
        /* protection bits and LMC; none of them at external ports, no LMC at base port 0 */
        {HOST, 1, 34, 0xc7, 0xc3, 0, 0xc3},
        {SWITCH, 0, 34, 0xc7, 0x81, 0, 0x80},
        {SWITCH, 1, 34, 0xc7, 0xc1, 0, 0},
        {SWITCH, 1, 16, 0xff, 1, 0, 0}, /* no LID at an external port */
        /* read-only: VLCap, MTUCap, GUIDCap, LocalPortNum's byte, LinkWidthSupported, latency,
         * CapabilityMask */
        {HOST, 1, 37, 0xff, 0xff, 0, 0x40},
        {HOST, 1, 41, 0xff, 0xff, 0, 0x04},
        {HOST, 1, 50, 0xff, 0xff, 0, 32},
        {HOST, 1, 30, 0xff, 0xff, 0, 3},
        {HOST, 1, 59, 0xff, 0xff, 0, 0},
        {HOST, 1, 20, 0xff, 0xff, 0, 0x06},
        /* base port 0 has no link */
        {SWITCH, 0, 32, 0x0f, 1, 0, SIM_ACTIVE},
        {SWITCH, 0, 32, 0x0f, 9, 0, SIM_ACTIVE},
        {SWITCH, 0, 29, 0xff, 77, 0, 3},
    };
    struct sim *s = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct field_case *c = &cases[i];
        uint8_t before[64], after[64];
        test_get(s, c->node, c->port, before);
        uint16_t status = test_set(s, c->node, c->port, c->byte, c->mask, c->value);
        test_get(s, c->node, c->port, after);
        if (status != c->status || (!status && (after[c->byte] & c->mask) != c->then))
            fail_msg("case %zu: status %#x, now %#x", i, status, after[c->byte] & c->mask);
        if (status)
            assert_memory_equal(before, after, 64);
    }
}

static void test_lids(void **state)
{
    static const struct {
        uint16_t lid, sm_lid;
        uint8_t lmc;
        uint16_t status;
    } cases[] = {
        {1, 1, 0, 0},
        {0xbfff, 0xbfff, 0, 0},
        {0xc000, 1, 0, INVALID},
        {0xffff, 1, 0, INVALID},
        {1, 0xc000, 0, INVALID},
        {1, 0xffff, 0, INVALID},
        {0xbff8, 1, 3, 0},
        {0xbffc, 1, 3, INVALID},
        {0, 0, 0, 0},
    };
    struct sim *s = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t info[64];
        test_get(s, HOST, 1, info);
        info[32] &= 0xf0;
        info[33] = 0;
        put16(info + 16, cases[i].lid);
        put16(info + 18, cases[i].sm_lid);
        info[34] = cases[i].lmc;
        assert_int_equal(sim_sma_port_info(s, HOST, 1, true, 1, info, true), cases[i].status);
        if (cases[i].status == 0)
            assert_int_equal(sim_lid(sim_port(s, HOST, 1)), cases[i].lid);
    }
}

/* One bad field among good ones: nothing changes. */
static void test_all_or_nothing(void **state)
{
    struct sim *s = *state;
    uint8_t info[64], before[64];
    test_get(s, HOST, 1, before);
    memcpy(info, before, 64);
    info[32] = (uint8_t)((info[32] & 0xf0) | SIM_ARMED);
    info[33] = 0;
    put64(info, 99);
    put16(info + 16, 7);
    info[36] = 0xf0; /* NeighborMTU */
    assert_int_equal(sim_sma_port_info(s, HOST, 1, true, 1, info, true), INVALID);
    assert_memory_equal(info, before, 64); /* the answer shows what is there */
    test_get(s, HOST, 1, info);
    assert_memory_equal(info, before, 64);
}

static void test_violations_reset(void **state)
{
    struct sim *s = *state;
    struct sim_port *p = sim_port(s, HOST, 1);
    put16(p->info + 44, 5);
    put16(p->info + 46, 6);
    assert_int_equal(test_set(s, HOST, 1, 44, 0, 0), 0); /* written back as read */
    assert_int_equal(get16(p->info + 44), 5);
    assert_int_equal(test_set(s, HOST, 1, 45, 0xff, 0), 0);
    assert_int_equal(get16(p->info + 44), 0);
    assert_int_equal(get16(p->info + 46), 6);
    assert_int_equal(test_set(s, HOST, 1, 47, 0xff, 9), 0); /* no other value can be written */
    assert_int_equal(get16(p->info + 46), 6);
}

/* LinkSpeedExtEnabled is meant only where the modifier says so. */
static void test_extended_speeds_bit(void **state)
{
    struct sim *s = *state;
    uint8_t info[64];
    test_get(s, HOST, 1, info);
    info[32] &= 0xf0;
    info[33] = 0;
    info[63] = 16; /* reserved */
    assert_int_equal(sim_sma_port_info(s, HOST, 1, true, 1, info, true), 0);
    assert_int_equal(info[63], 15);
    info[32] &= 0xf0;
    info[33] = 0;
    info[63] = 16;
    assert_int_equal(sim_sma_port_info(s, HOST, 1, true, 0x80000001u, info, true), INVALID);
}

static void test_optional_fields(void **state)
{
    struct sim *s = *state;
    struct sim_port *p = sim_port(s, HOST, 1);
    assert_int_equal(test_set(s, HOST, 1, 51, 0x60, 0x20), 0);
    assert_int_equal(p->info[51] & 0x60, 0); /* not supported */
    assert_int_equal(test_set(s, HOST, 1, 41, 0xf0, 0x30), 0);
    assert_int_equal(p->info[41] & 0xf0, 0);
    put32(p->info + 20, get32(p->info + 20) | 1u << 29 | 1u << 18);
    assert_int_equal(test_set(s, HOST, 1, 51, 0x60, 0x20), 0);
    assert_int_equal(p->info[51] & 0x60, 0x20);
    assert_int_equal(test_set(s, HOST, 1, 51, 0x60, 0x40), INVALID);
    assert_int_equal(test_set(s, HOST, 1, 41, 0xf0, 0x30), 0);
    assert_int_equal(p->info[41] & 0xf0, 0x30);
    s->nodes[SWITCH].sw->info[16] = 0x80; /* enforces inbound P_Keys only */
    assert_int_equal(test_set(s, SWITCH, 1, 43, 0x0f, 0x0f), 0);
    assert_int_equal(sim_port(s, SWITCH, 1)->info[43] & 0x0f, 0x08);
}

/* Random bytes: no Set may break what must hold. */
static void test_random_sets(void **state)
{
    struct sim *s = *state;
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t node = g_rand_int_range(s->random, 0, 5);
        unsigned port = s->nodes[node].sw ? (unsigned)g_rand_int_range(s->random, 0, 5) : 1;
        uint8_t info[64];
        test_get(s, node, port, info);
        for (unsigned n = g_rand_int_range(s->random, 1, 5); n > 0; n--)
            info[g_rand_int_range(s->random, 0, 64)] = (uint8_t)g_rand_int(s->random);
        sim_sma_port_info(s, node, port, true, 0x80000000u | port, info, i & 1);
        sim_run(s, s->now + MS);
        const uint8_t *now = sim_port(s, node, port)->info;
        unsigned st = now[32] & 0x0f, phys = now[33] >> 4;
        assert_true(st >= SIM_DOWN && st <= SIM_ACTIVE);
        assert_true((st == SIM_DOWN) == (phys != SIM_PHYS_LINKUP));
        assert_true(get16(now + 16) < 0xc000 && get16(now + 18) < 0xc000);
        assert_int_equal(now[29] & ~now[30], 0);
        assert_true(now[36] >> 4 >= 1 && now[36] >> 4 <= (now[41] & 0x0f));
        assert_true(now[43] >> 4 >= 1 && now[43] >> 4 <= now[37] >> 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_which_port, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_is_shown_to_those_who_know_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lids, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_violations_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_extended_speeds_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_optional_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_sets, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
