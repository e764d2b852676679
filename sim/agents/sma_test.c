/* SPDX-License-Identifier: BSD-2-Clause */
/* Each attribute of the SMA: defaults, what a Set changes, and what is refused. */
#include "sim/agents/agent_testing.h"

#define get agent_testing_get
#define set agent_testing_set

static uint8_t block[64];
static uint8_t *data;
static struct agent_testing *t;
static struct sim *s;

static int setup(void **state)
{
    agent_testing_setup(state);
    t = *state;
    s = t->s;
    data = agent_testing_data(t);
    memset(block, 0, sizeof block);
    return 0;
}

static void filled(uint8_t value, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        assert_int_equal(data[i], value);
}

static void test_nodes(void **state)
{
    assert_int_equal(get(t, CA, 2, SIM_ATTR_NODE_INFO, 0), 0);
    assert_int_equal(get64(data + 12), 0x2000);
    assert_int_equal(get64(data + 20), 0x2002);
    assert_int_equal(data[36], 2);
    filled(0, 40, 64);
    assert_int_equal(get(t, SW, 7, SIM_ATTR_NODE_INFO, 0), 0);
    assert_int_equal(get64(data + 20), 0x1000);
    assert_int_equal(data[36], 7);
    assert_int_equal(set(t, SW, 7, SIM_ATTR_NODE_INFO, 0, block), SIM_STATUS_BAD_ATTRIBUTE);

    assert_int_equal(get(t, CA2, 1, SIM_ATTR_NODE_DESCRIPTION, 0), 0);
    assert_string_equal((char *)data, "ca 2");
    filled(0, 4, 64);
    assert_int_equal(set(t, CA2, 1, SIM_ATTR_NODE_DESCRIPTION, 0, block), SIM_STATUS_BAD_ATTRIBUTE);
    assert_int_equal(get(t, CA2, 1, SIM_ATTR_NODE_DESCRIPTION, 0), 0);
    assert_string_equal((char *)data, "ca 2");
}

static void test_switch_info(void **state)
{
    assert_int_equal(get(t, CA, 1, SIM_ATTR_SWITCH_INFO, 0), SIM_STATUS_BAD_ATTRIBUTE);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_SWITCH_INFO, 0), 0);
    assert_int_equal(get16(data), 0xc000);
    assert_int_equal(get16(data + 4), 0x400);
    assert_int_equal(data[11] & 3, 1);
    memcpy(block, data, 64);
    put16(block, 1); /* read only */
    put16(block + 6, 0xbfff);
    block[8] = 255;
    block[9] = 20;
    block[11] = 18 << 3 | 4;
    put16(block + 14, 1);
    put16(block + 18, 0xc3ff);
    s->nodes[SW].sw->info[11] |= 4;
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SWITCH_INFO, 0, block), 0);
    assert_int_equal(get16(data), 0xc000);
    assert_int_equal(get16(data + 6), 0xbfff);
    assert_int_equal(data[9], 20);
    assert_int_equal(data[11], 18 << 3 | 1); /* PortStateChange is gone */
    assert_int_equal(get16(data + 14), 64);
    assert_int_equal(get16(data + 18), 0xc3ff);
    s->nodes[SW].sw->info[11] |= 4;
    block[11] = 0;
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SWITCH_INFO, 0, block), 0);
    assert_int_equal(data[11], 4 | 1); /* written 0: it stays */
}

static void test_switch_info_refused(void **state)
{
    static const struct {
        unsigned at, value, bytes;
    } wrong[] = {{6, 0xc000, 2}, {6, 0xffff, 2},  {8, 21, 1},      {9, 21, 1},
                 {10, 254, 1},   {18, 0xc400, 2}, {18, 0xbffe, 2}, {18, 1, 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        memset(block, 0, sizeof block);
        block[11] = 5 << 3;
        if (wrong[i].bytes == 2)
            put16(block + wrong[i].at, (uint16_t)wrong[i].value);
        else
            block[wrong[i].at] = (uint8_t)wrong[i].value;
        assert_int_equal(set(t, SW, 0, SIM_ATTR_SWITCH_INFO, 0, block), SIM_STATUS_BAD_VALUE);
        assert_int_equal(get(t, SW, 0, SIM_ATTR_SWITCH_INFO, 0), 0);
        assert_int_equal(data[11] >> 3, 0);
    }
    memset(block, 0, sizeof block);
    put16(block + 18, 0xbfff); /* no multicast */
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SWITCH_INFO, 0, block), 0);
}

static void test_lft(void **state)
{
    assert_int_equal(get(t, CA, 1, SIM_ATTR_LFT, 0), SIM_STATUS_BAD_ATTRIBUTE);
    assert_int_equal(set(t, CA, 1, SIM_ATTR_LFT, 0, block), SIM_STATUS_BAD_ATTRIBUTE);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_LFT, 767), 0);
    filled(255, 0, 64);
    block[63] = 9;
    assert_int_equal(set(t, SW, 0, SIM_ATTR_LFT, 767, block), 0);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_LFT, 767), 0);
    assert_memory_equal(data, block, 64);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_LFT, 766), 0);
    filled(255, 0, 64);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_LFT, 768), SIM_STATUS_BAD_VALUE);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_LFT, 0xffffffff, block), SIM_STATUS_BAD_VALUE);
    assert_int_equal(get(t, BASE_SW, 0, SIM_ATTR_LFT, 767), 0);
    filled(255, 0, 64);
}

static void test_mft(void **state)
{
    assert_int_equal(get(t, CA, 1, SIM_ATTR_MFT, 0), SIM_STATUS_BAD_ATTRIBUTE);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_MFT, 31), 0);
    filled(0, 0, 64);
    memset(block, 0xff, 64);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_MFT, 31, block), 0);
    filled(0xff, 0, 64);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_MFT, 1u << 28 | 31, block), 0);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(get16(data + 2 * i), 0x1f); /* ports 16 to 20 */
    uint64_t ports[4];
    sim_mft(s, SW, 0xc3ff, ports);
    assert_true(ports[0] == 0x1fffff);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_MFT, 30), 0);
    filled(0, 0, 64);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_MFT, 32), SIM_STATUS_BAD_VALUE);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_MFT, 2u << 28, block), SIM_STATUS_BAD_VALUE);
    assert_int_equal(set(t, BASE_SW, 0, SIM_ATTR_MFT, 1u << 28, block), SIM_STATUS_BAD_VALUE);
}

static void test_pkeys(void **state)
{
    assert_int_equal(get(t, CA, 1, SIM_ATTR_PKEY_TABLE, 0), 0);
    assert_int_equal(get16(data), 0xffff);
    filled(0, 2, 64);
    put16(block, 0x7fff);
    put16(block + 62, 0x8001);
    assert_int_equal(set(t, CA, 1, SIM_ATTR_PKEY_TABLE, 1, block), 0);
    assert_memory_equal(data, block, 64);
    assert_int_equal(sim_pkey(s, CA, 1, 0), 0xffff);
    assert_int_equal(sim_pkey(s, CA, 1, 63), 0x8001);
    assert_int_equal(sim_pkey(s, CA, 2, 63), 0);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_PKEY_TABLE, 2), SIM_STATUS_BAD_VALUE);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_PKEY_TABLE, 0xffff), SIM_STATUS_BAD_VALUE);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_PKEY_TABLE, 9u << 16), 0); /* no port in a CA's */
    /* port 0 of a switch has room for 8 */
    memset(block, 0x11, 64);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_PKEY_TABLE, 0, block), 0);
    filled(0x11, 0, 16);
    filled(0, 16, 64);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_PKEY_TABLE, 1), SIM_STATUS_BAD_VALUE);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_PKEY_TABLE, 20u << 16 | 1, block), 0);
    assert_int_equal(sim_pkey(s, SW, 20, 63), 0x1111);
    assert_int_equal(sim_pkey(s, SW, 20, 0), 0xffff);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_PKEY_TABLE, 21u << 16, block), SIM_STATUS_BAD_VALUE);
}

static void check_row(unsigned node, unsigned in, unsigned out, const uint8_t *want)
{
    assert_int_equal(get(t, node, 0, SIM_ATTR_SL2VL, in << 8 | out), 0);
    assert_memory_equal(data, want, 8);
    filled(0, 8, 64);
}

static void test_sl2vl(void **state)
{
    memset(block, 0x12, 8);
    check_row(SW, 0, 0, sim_sl2vl_default);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SL2VL, 3u << 8 | 20, block), 0);
    check_row(SW, 3, 20, block);
    check_row(SW, 20, 3, sim_sl2vl_default);
    check_row(SW, 4, 20, sim_sl2vl_default);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_SL2VL, 21), SIM_STATUS_BAD_VALUE);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_SL2VL, 21u << 8), SIM_STATUS_BAD_VALUE);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SL2VL, 1u << 18, block), SIM_STATUS_BAD_VALUE);
    /* a CA has one table a port and looks at no modifier */
    assert_int_equal(set(t, CA, 2, SIM_ATTR_SL2VL, 0xffffffff, block), 0);
    assert_int_equal(get(t, CA, 2, SIM_ATTR_SL2VL, 0), 0);
    assert_memory_equal(data, block, 8);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_SL2VL, 0), 0);
    assert_memory_equal(data, sim_sl2vl_default, 8);
}

static void test_optimised_sl2vl(void **state)
{
    memset(block, 0x34, 8);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SL2VL, 0x20000 | 5, block), 0); /* all inputs */
    for (unsigned in = 0; in <= SW_PORTS; in++)
        check_row(SW, in, 5, block);
    check_row(SW, 5, 6, sim_sl2vl_default);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SL2VL, 0x10000 | 2u << 8, block), 0); /* all outputs */
    for (unsigned out = 0; out <= SW_PORTS; out++)
        check_row(SW, 2, out, block);
    check_row(SW, 3, 6, sim_sl2vl_default);
    memset(block, 0x56, 8);
    /* both: the port numbers are not looked at */
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SL2VL, 0x3ffff, block), 0);
    for (unsigned in = 0; in <= SW_PORTS; in++)
        for (unsigned out = 0; out <= SW_PORTS; out++)
            check_row(SW, in, out, block);
    /* a base port 0 has no table of its own */
    assert_int_equal(set(t, BASE_SW, 0, SIM_ATTR_SL2VL, 0x30000, block), 0);
    check_row(BASE_SW, 1, 4, block);
    check_row(BASE_SW, 0, 4, sim_sl2vl_default);
    check_row(BASE_SW, 1, 0, sim_sl2vl_default);
}

static void test_sl2vl_default_costs_nothing(void **state)
{
    memcpy(block, sim_sl2vl_default, 8);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_SL2VL, 0x30000, block), 0);
    for (unsigned p = 0; p <= SW_PORTS; p++)
        assert_null(sim_port(s, SW, p)->sl2vl);
}

static void test_vlarb(void **state)
{
    assert_int_equal(get(t, CA, 1, SIM_ATTR_VLARB, 1u << 16), 0);
    assert_memory_equal(data, sim_vlarb_default[0], 64);
    memset(block, 0x77, 64);
    assert_int_equal(set(t, CA, 1, SIM_ATTR_VLARB, 3u << 16 | 99, block), 0);
    filled(0x77, 0, 16); /* VLArbitrationHighCap is 8 */
    filled(0, 16, 64);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_VLARB, 3u << 16), 0);
    filled(0x77, 0, 16);
    filled(0, 16, 64);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_VLARB, 1u << 16), 0);
    assert_memory_equal(data, sim_vlarb_default[0], 64);
    assert_int_equal(get(t, CA, 2, SIM_ATTR_VLARB, 3u << 16), 0);
    assert_memory_equal(data, sim_vlarb_default[2], 64);
    static const unsigned wrong[] = {0, 2u << 16, 4u << 16, 5u << 16, 0xffffu << 16};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
        assert_int_equal(get(t, CA, 1, SIM_ATTR_VLARB, wrong[i]), SIM_STATUS_BAD_VALUE);
    assert_int_equal(set(t, SW, 0, SIM_ATTR_VLARB, 1u << 16 | 20, block), 0);
    assert_int_equal(sim_vlarb(s, SW, 20, 0)[0], 0x77);
    assert_int_equal(get(t, SW, 0, SIM_ATTR_VLARB, 1u << 16 | 21), SIM_STATUS_BAD_VALUE);
    /* tables of 40 entries have two blocks, the second of 8 */
    sim_port(s, CA, 1)->info[40] = 40;
    assert_int_equal(set(t, CA, 1, SIM_ATTR_VLARB, 2u << 16, block), 0);
    filled(0x77, 0, 16);
    filled(0, 16, 64);
    assert_int_equal(set(t, CA, 1, SIM_ATTR_VLARB, 1u << 16, block), 0);
    filled(0x77, 0, 64);
}

static void test_guids(void **state)
{
    assert_int_equal(get(t, CA, 2, SIM_ATTR_GUID_INFO, 0), 0);
    assert_int_equal(get64(data), 0x2002);
    filled(0, 8, 64);
    memset(block, 0x22, 64);
    assert_int_equal(set(t, CA, 2, SIM_ATTR_GUID_INFO, 0, block), 0);
    assert_int_equal(get64(data), 0x2002); /* the port's own stays */
    filled(0x22, 8, 64);
    assert_int_equal(set(t, CA, 2, SIM_ATTR_GUID_INFO, 3, block), 0);
    filled(0x22, 0, 64);
    assert_int_equal(get(t, CA, 2, SIM_ATTR_GUID_INFO, 4), SIM_STATUS_BAD_VALUE);
    assert_int_equal(get(t, CA, 2, SIM_ATTR_GUID_INFO, 0x20000000), SIM_STATUS_BAD_VALUE);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_GUID_INFO, 3), 0);
    filled(0, 0, 64);
    assert_int_equal(set(t, SW, 9, SIM_ATTR_GUID_INFO, 0, block), 0); /* GUIDCap is 1 */
    assert_int_equal(get64(data), 0x1000);
    filled(0, 8, 64);
}

static void test_extended_port_info(void **state)
{
    assert_int_equal(get(t, CA, 1, SIM_ATTR_EXTENDED_PORT_INFO, 1), 0);
    filled(0, 0, 64);
    struct sim_port *a = sim_port(s, CA, 1), *b = sim_port(s, SW, 1);
    a->fdr10_supported = b->fdr10_supported = true;
    block[3] = block[11] = 1;
    assert_int_equal(set(t, CA, 1, SIM_ATTR_EXTENDED_PORT_INFO, 0, block), 0);
    assert_int_equal(data[7], 1);
    assert_int_equal(data[11], 1);
    assert_int_equal(data[15], 0); /* the other end does not want it */
    assert_int_equal(set(t, SW, 0, SIM_ATTR_EXTENDED_PORT_INFO, 1, block), 0);
    a->info[35] = b->info[35] = 0x47;
    put16(a->info + 62, 0);
    a->info[33] = SIM_PHYS_LINKUP << 4;
    assert_int_equal(get(t, CA, 1, SIM_ATTR_EXTENDED_PORT_INFO, 1), 0);
    assert_int_equal(data[15], 1);
    block[11] = 0;
    block[3] = 0; /* nothing is to change */
    assert_int_equal(set(t, CA, 1, SIM_ATTR_EXTENDED_PORT_INFO, 1, block), 0);
    assert_int_equal(data[11], 1);
    assert_int_equal(get(t, CA, 1, SIM_ATTR_EXTENDED_PORT_INFO, 3), SIM_STATUS_BAD_VALUE);
    assert_int_equal(get(t, SW, 1, SIM_ATTR_EXTENDED_PORT_INFO, 0x101), SIM_STATUS_BAD_VALUE);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, agent_testing_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_nodes),
        test(test_switch_info),
        test(test_switch_info_refused),
        test(test_lft),
        test(test_mft),
        test(test_pkeys),
        test(test_sl2vl),
        test(test_optimised_sl2vl),
        test(test_sl2vl_default_costs_nothing),
        test(test_vlarb),
        test(test_guids),
        test(test_extended_port_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
