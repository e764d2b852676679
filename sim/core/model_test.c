/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes as they are after a power-up, their tables, and finding them by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>

#include "fabric/generate.h"
#include "fabric/read.h"
#include "sim/core/model.h"

static const char text[] =
    "switchguid=0x10(10)\n"
    "Switch 4 \"S-0000000000000010\" # \"leaf [1]\" enhanced port 0 lid 1 lmc 0\n"
    "[1] \"H-0000000000000020\"[1](21) # \"host:a\" lid 2 4xNDR\n"
    "[2] \"H-0000000000000020\"[2](22) # \"host:a\" lid 3 4xQDR\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0x1017\n"
    "sysimgguid=0x23\n"
    "caguid=0x20\n"
    "Ca 2 \"H-0000000000000020\" # \"host:a\"\n"
    "[1](21) \"S-0000000000000010\"[1] # lid 2 lmc 0 \"leaf [1]\" lid 1 4xNDR\n"
    "[2](22) \"S-0000000000000010\"[2] # lid 3 lmc 0 \"leaf [1]\" lid 1 4xQDR\n";

static char last_note[256];

static void note(void *user, const char *line)
{
    g_strlcpy(last_note, line, sizeof last_note);
}

static struct sim *create(const struct fabric *f)
{
    struct sim_config config = {.seed = 1};
    struct sim_hooks hooks = {.note = note};
    return sim_create(f, &config, &hooks, 5);
}

static int setup(void **state)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_read_text("test", text, sizeof text - 1, messages);
    assert_non_null(f);
    *state = create(f);
    fabric_destroy(f); /* a sim keeps nothing of it */
    fabric_messages_destroy(messages);
    return 0;
}

static int teardown(void **state)
{
    sim_destroy(*state);
    return 0;
}

static void test_node_info(void **state)
{
    struct sim *s = *state;
    uint8_t info[64];
    sim_get_node_info(s, 1, 2, info);
    assert_int_equal(get16(info), 0x0101);
    assert_int_equal(info[2], FABRIC_CA);
    assert_int_equal(info[3], 2);
    assert_int_equal(get64(info + 4), 0x23);
    assert_int_equal(get64(info + 12), 0x20);
    assert_int_equal(get64(info + 20), 0x22);
    assert_int_equal(get16(info + 28), 64);
    assert_int_equal(get16(info + 30), 0x1017);
    assert_int_equal(get32(info + 36), 2u << 24 | 0x2c9);
    sim_get_node_info(s, 0, 3, info);
    assert_int_equal(info[2], FABRIC_SWITCH);
    assert_int_equal(get64(info + 20), 0x10); /* all ports of a switch have that of port 0 */
    assert_int_equal(get64(info + 4), 0x10);
    assert_int_equal(info[36], 3);
}

static void test_power_up(void **state)
{
    struct sim *s = *state;
    sim_node_reset(s, 0);
    sim_node_reset(s, 1);
    for (unsigned p = 1; p <= 2; p++) {
        const struct sim_port *port = sim_port(s, 1, p);
        assert_int_equal(sim_mkey(port), 0);
        assert_int_equal(sim_lid(port), 0);
        assert_int_equal(get16(port->info + 18), 0);
        assert_int_equal(get64(port->info + 8), 0xfe80000000000000u);
        assert_int_equal(sim_port_state(port), SIM_DOWN);
        assert_int_equal(sim_phys_state(port), SIM_PHYS_POLLING);
        assert_int_equal(port->info[34], 0);
        assert_int_equal(port->lease_ends, SIM_NEVER);
    }
    assert_int_equal(sim_port_state(sim_port(s, 0, 0)), SIM_ACTIVE);
    assert_int_equal(get16(s->nodes[0].sw->info + 6), 0);
    assert_int_equal(s->nodes[0].sw->info[16], 0xf8);
    assert_int_equal(sim_lft(s, 0, 1), SIM_NO_PORT);
    assert_int_equal(sim_pkey(s, 1, 1, 0), 0xffff);
    assert_int_equal(sim_pkey(s, 1, 1, 1), 0);
    assert_int_equal(sim_pkey(s, 1, 1, 64), 0);
    assert_int_equal(sim_pkey_capacity(s, 0, 0), 8);
    assert_int_equal(sim_pkey_capacity(s, 0, 1), 64);
}

static void test_speeds(void **state)
{
    struct sim *s = *state;
    const uint8_t *ndr = sim_port(s, 1, 1)->info, *qdr = sim_port(s, 1, 2)->info;
    assert_int_equal(ndr[30], 3);
    assert_int_equal(ndr[32] >> 4, 7);
    assert_int_equal(ndr[62] & 15, 15);
    assert_int_equal(ndr[63], 15);
    assert_int_equal(get32(ndr + 20) & 0xc000, 0xc000);
    assert_int_equal(get16(ndr + 60), 0x420);
    assert_int_equal(qdr[62] & 15, 0);
    assert_int_equal(get32(qdr + 20) & 0xc000, 0);
    assert_int_equal(get16(qdr + 60), 0);
    /* a port without a cable is as good as the best of its switch */
    assert_int_equal(sim_port(s, 0, 3)->info[62] & 15, 15);
    /* and port 0 of the switch tells what its links can do */
    assert_int_equal(get32(sim_port(s, 0, 0)->info + 20) & 0xc000, 0xc000);
    assert_int_equal(get16(sim_port(s, 0, 0)->info + 60), 0x420);
    sim_node_reset(s, 1);
    assert_int_equal(ndr[30], 3);
    assert_int_equal(ndr[62] & 15, 15);
}

static void test_every_speed(void **state)
{
    static const struct {
        uint8_t speed, plain, ext, ext2, fdr10;
    } want[] = {{FABRIC_SPEED_UNKNOWN, 1, 0, 0, 0}, {FABRIC_SDR, 1, 0, 0, 0},
                {FABRIC_DDR, 3, 0, 0, 0},           {FABRIC_FDR10, 7, 0, 0, 1},
                {FABRIC_FDR, 7, 1, 0, 0},           {FABRIC_EDR, 7, 3, 0, 0},
                {FABRIC_HDR, 7, 7, 0, 0},           {FABRIC_XDR, 7, 15, 1, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(want); i++) {
        struct fabric *f = fabric_create();
        fabric_add_node(f, 1, FABRIC_CA, 1, "a");
        fabric_add_node(f, 16, FABRIC_CA, 1, "b");
        assert_int_equal(fabric_connect(f, 0, 1, 1, 1), 0);
        f->nodes[0].ports[1].speed = want[i].speed; /* the other end takes it over */
        f->nodes[0].ports[1].width = 16;
        struct sim *s = create(f);
        for (unsigned node = 0; node < 2; node++) {
            struct sim_port *p = sim_port(s, node, 1);
            assert_int_equal(p->info[30], 17);
            assert_int_equal(p->info[32] >> 4, want[i].plain);
            assert_int_equal(p->info[62] & 15, want[i].ext);
            assert_int_equal(p->info[56] & 0x1f, want[i].ext2 * 9);
            assert_int_equal(p->fdr10_supported, want[i].fdr10);
            assert_int_equal((get16(p->info + 60) & 0x1000) != 0, want[i].ext2);
        }
        sim_destroy(s);
        fabric_destroy(f);
    }
}

static void test_links_come_up(void **state)
{
    struct sim *s = *state;
    for (unsigned p = 1; p <= 2; p++) {
        const struct sim_port *near = sim_port(s, 1, p), *far = sim_port(s, 0, p);
        assert_int_equal(sim_port_state(near), SIM_INIT);
        assert_int_equal(sim_port_state(far), SIM_INIT);
        assert_int_equal(sim_phys_state(near), SIM_PHYS_LINKUP);
        assert_int_equal(far->info[31], 2); /* LinkWidthActive 4x */
    }
    assert_int_equal(sim_port(s, 1, 1)->info[62] >> 4, 8); /* LinkSpeedExtActive: NDR */
    assert_int_equal(sim_port(s, 1, 2)->info[35] >> 4, 4); /* LinkSpeedActive: QDR */
    assert_int_equal(sim_port_state(sim_port(s, 0, 3)), SIM_DOWN);
    assert_int_equal(s->nodes[0].sw->info[11] & 4, 4); /* PortStateChange */
}

static void test_tables(void **state)
{
    struct sim *s = *state;
    sim_lft_block(s, 0, 0)[1] = 2;
    sim_lft_block(s, 0, 767)[63] = 3;
    assert_int_equal(sim_lft(s, 0, 1), SIM_NO_PORT); /* above LinearFDBTop */
    put16(s->nodes[0].sw->info + 6, 0xbfff);
    assert_int_equal(sim_lft(s, 0, 1), 2);
    assert_int_equal(sim_lft(s, 0, 0xbfff), 3);
    assert_int_equal(sim_lft(s, 0, 2), SIM_NO_PORT);
    assert_int_equal(sim_lft(s, 0, 0), SIM_NO_PORT);
    assert_int_equal(sim_lft(s, 0, 0xc000), SIM_NO_PORT);

    uint64_t ports[4];
    sim_mft_block(s, 0, 0, 1)[1] = 0x8002;
    sim_mft_block(s, 0, 15, 1)[1] = 0x8000;
    sim_mft(s, 0, 0xc021, ports);
    assert_int_equal(ports[0], 0x8002);
    assert_int_equal(ports[3], 1ull << 63);
    put16(s->nodes[0].sw->info + 18, 0xc020);
    sim_mft(s, 0, 0xc021, ports);
    assert_int_equal(ports[0] | ports[3], 0);
    sim_mft(s, 0, 0xffff, ports);
    sim_mft(s, 0, 1, ports);
    assert_int_equal(ports[0], 0);

    sim_pkeys(s, 1, 1)[63] = 0x8001;
    assert_int_equal(sim_pkey(s, 1, 1, 63), 0x8001);
    assert_int_equal(sim_pkey(s, 1, 1, 0), 0xffff);
    assert_memory_equal(sim_sl2vl(s, 0, 4, 4), sim_sl2vl_default, 8);
    assert_memory_equal(sim_vlarb(s, 1, 2, 3), sim_vlarb_default[3], 64);
    assert_int_equal(sim_guids(s, 1, 2)[0], 0x22);
    sim_guids(s, 1, 2)[31] = 1;

    sim_node_reset(s, 0);
    sim_node_reset(s, 1);
    assert_int_equal(sim_lft(s, 0, 1), SIM_NO_PORT);
    assert_int_equal(sim_pkey(s, 1, 1, 63), 0);
    assert_null(sim_port(s, 0, 4)->sl2vl);
}

static void test_counters(void **state)
{
    struct sim *s = *state;
    assert_null(sim_port(s, 1, 1)->counters);
    sim_count(s, 1, 1, SIM_CNT_XMIT_WAIT, 3);
    sim_count(s, 1, 1, SIM_CNT_XMIT_WAIT, 4);
    sim_count(s, 1, 1, SIM_CNT_RCV_DATA, UINT64_MAX - 1);
    sim_count(s, 1, 1, SIM_CNT_RCV_DATA, 7);
    assert_int_equal(sim_port(s, 1, 1)->counters[SIM_CNT_XMIT_WAIT], 7);
    assert_true(sim_port(s, 1, 1)->counters[SIM_CNT_RCV_DATA] == UINT64_MAX);
    sim_node_reset(s, 1);
    assert_int_equal(sim_port(s, 1, 1)->counters[SIM_CNT_XMIT_WAIT], 7);
}

static void found(struct sim *s, const char *name, uint32_t want_node, unsigned want_port)
{
    uint32_t node = SIM_NONE;
    unsigned port = 99;
    char error[400] = "";
    bool ok = sim_find_port(s, name, &node, &port, error, sizeof error);
    if (want_node == SIM_NONE) {
        assert_false(ok);
        assert_int_not_equal(strlen(error), 0);
        assert_int_equal(port, 99);
        return;
    }
    assert_string_equal(error, "");
    assert_true(ok);
    assert_int_equal(node, want_node);
    assert_int_equal(port, want_port);
}

static void test_find(void **state)
{
    struct sim *s = *state;
    found(s, "", 1, 1);
    found(s, "host:a", 1, 1);
    found(s, "host:a:2", 1, 2);
    found(s, "host:a[2]", 1, 2);
    found(s, "leaf [1]", 0, 0);
    found(s, "leaf [1][4]", 0, 4);
    found(s, "leaf [1]:0", 0, 0);
    found(s, "S-0000000000000010", 0, 0);
    found(s, "S-0000000000000010[3]", 0, 3);
    found(s, "H-0000000000000020:1", 1, 1);
    found(s, "0x20", 1, 1);
    found(s, "0x10:4", 0, 4);
    static const char *const wrong[] = {"host:a:0",
                                        "host:a[3]",
                                        "leaf [1][5]",
                                        "leaf",
                                        "H-0000000000000010",
                                        "0x",
                                        "0x11",
                                        "[1]",
                                        ":1",
                                        "0x20[",
                                        "S-",
                                        "0x20[1",
                                        "]",
                                        "host:a[-1]",
                                        "0x20[1]x",
                                        "0x10000000000000020",
                                        "0x20 ",
                                        "host:a[99999999999999999999]"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
        found(s, wrong[i], SIM_NONE, 0);
}

static void test_names(void **state)
{
    struct sim *s = *state;
    assert_string_equal(sim_port_name(s, 0, 4), "\"leaf [1]\"[4]");
    memset(s->nodes[0].description, 0xff, 64);
    s->nodes[0].description[0] = '\n';
    assert_int_equal(strlen(sim_port_name(s, 0, 254)), 4 * 64 + 2 + 5);
    assert_non_null(strstr(sim_port_name(s, 0, 254), "\\x0a\\xff"));
    assert_string_equal(sim_port_name(s, 7, 1), "(no node)");
    sim_note(s, "port %d of %s", 3, "x");
    assert_string_equal(last_note, "port 3 of x");
}

static void test_empty(void **state)
{
    struct fabric *f = fabric_create();
    struct sim *s = create(f);
    found(s, "", SIM_NONE, 0);
    found(s, "0x1", SIM_NONE, 0);
    sim_destroy(s);
    sim_destroy(NULL);
    fabric_destroy(f);
}

static void test_clients_view(void **state)
{
    struct sim *s = *state;
    uint8_t info[64];
    uint16_t pkeys[32];
    put64(sim_port(s, 1, 2)->info, 0x1234);
    sim_get_port_info(s, 1, 2, info);
    assert_int_equal(get64(info), 0);
    assert_int_equal(info[28], 2);
    assert_int_equal(get64(info + 8), 0xfe80000000000000u);
    sim_get_pkeys(s, 1, 2, pkeys);
    assert_int_equal(pkeys[0], 0xffff);
    assert_int_equal(pkeys[1], 0);
    assert_true(sim_has_power(s, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_node_info, setup, teardown),
        cmocka_unit_test_setup_teardown(test_power_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_speeds, setup, teardown),
        cmocka_unit_test(test_every_speed),
        cmocka_unit_test_setup_teardown(test_links_come_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_find, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test(test_empty),
        cmocka_unit_test_setup_teardown(test_clients_view, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
