/* SPDX-License-Identifier: BSD-2-Clause */
/* The wire's coding, the choice of agents, the log's lines and the list of CAs. */
#include "devices.h"
#include "madlog.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_packet(void **state)
{
    uint8_t mad[MAD_BYTES] = {1, 3};
    struct wire_packet p, back;
    const uint8_t *bytes = (const uint8_t *)&p;

    wire_packet_set(&p, 0x1234, 1, 1, mad, sizeof mad);
    assert_int_equal(bytes[0], 0x12);
    assert_int_equal(bytes[1], 0x34);
    assert_int_equal(p.slid, 0);
    assert_int_equal(bytes[8 + 3], 1);
    assert_int_equal(bytes[24 + 6], 1); /* 256, big-endian */
    assert_int_equal(bytes[32 + 1], 3);
    p.slid = (uint32_t)(0x21 << 8 | 0x43); /* bytes 43 21: LID 0x4321 */
    wire_packet_reply(&back, &p, mad);
    assert_int_equal(wire_packet_dlid(&back), 0x4321);
    wire_packet_set(&p, WIRE_LID_DIRECTED, 0, 0, mad, sizeof mad);
    assert_int_equal(wire_packet_slid(&p), WIRE_LID_DIRECTED);
    assert_int_equal(wire_packet_status(&p), 0);
}

static void test_ctl(void **state)
{
    struct wire_ctl c;
    bool refused;

    wire_ctl_request(&c, 3, WIRE_SET_ISSM, "\1\0\0\0", 4);
    assert_int_equal(c.magic, 0xdeadbeef);
    assert_int_equal(c.data[0], 1);
    assert_true(wire_ctl_is_reply(&c, sizeof c, WIRE_SET_ISSM, &refused));
    assert_false(refused);
    assert_false(wire_ctl_is_reply(&c, sizeof c, WIRE_CONNECT, &refused));
    assert_false(wire_ctl_is_reply(&c, sizeof c - 1, WIRE_SET_ISSM, &refused));
    c.type = WIRE_ERROR;
    assert_true(wire_ctl_is_reply(&c, sizeof c, WIRE_CONNECT, &refused));
    assert_true(refused);
    c.magic = 0;
    assert_false(wire_ctl_is_reply(&c, sizeof c, WIRE_ERROR, &refused));
}

static void set_method(struct match_agent *a, unsigned method)
{
    a->methods[method / 64] |= 1ull << (method % 64);
}

static void test_match(void **state)
{
    struct match_agent sa = {.class = 3, .version = 2, .rmpp = true};
    struct match_agent asker = {.class = 3, .version = 2};
    struct match_agent vendor = {.class = 0x32, .version = 1, .oui = {0, 0x14, 5}};
    struct match_agent rival = {.class = 3, .version = 2};
    struct match_agent bad = {.class = 4, .version = 1, .rmpp = true};
    uint8_t mad[MAD_BYTES] = {1, 3, 2, 1};
    struct match_set set;

    match_init(&set);
    set_method(&sa, 1);
    set_method(&sa, 0x12);
    set_method(&rival, 0x12);
    set_method(&vendor, 1);
    assert_int_equal(match_add(&set, &sa), 0);
    assert_int_equal(match_add(&set, &asker), 0);
    assert_int_equal(match_add(&set, &vendor), 0);
    assert_int_equal(match_add(&set, &rival), EBUSY);
    assert_int_equal(match_add(&set, &bad), EINVAL);
    assert_ptr_equal(match_find(&set, mad), &sa);
    mad[3] = 2; /* Set: nobody */
    assert_null(match_find(&set, mad));
    mad[3] = 0x81;
    mad_set_tid(mad, (uint64_t)7 << 48 | (uint64_t)asker.uid << 32 | 5);
    assert_ptr_equal(match_find(&set, mad), &asker);
    mad[3] = 1;
    mad[2] = 1; /* another version */
    assert_null(match_find(&set, mad));
    mad[1] = 0x32;
    assert_null(match_find(&set, mad)); /* another OUI */
    memcpy(mad + 37, vendor.oui, 3);
    assert_ptr_equal(match_find(&set, mad), &vendor);
    match_remove(&set, &vendor);
    assert_null(match_find(&set, mad));
    match_clear(&set);
}

static void assert_line(enum madlog_kind kind, const uint8_t *mad, uint16_t lid, const char *want)
{
    char line[MADLOG_LINE_BYTES];
    size_t n = madlog_format(line, kind, 1234567890123, mad, lid);

    line[n] = 0;
    assert_string_equal(line, want);
}

static void test_log(void **state)
{
    uint8_t mad[MAD_BYTES] = {1, 0x81, 1, 2, 0x80, 0, 0, 2};

    mad_set_tid(mad, 0x1000200000abcd);
    mad_put16(mad + 16, MAD_ATTR_PORT_INFO);
    mad_put32(mad + 20, 7);
    mad[SMP_INITIAL_PATH + 1] = 1;
    mad[SMP_INITIAL_PATH + 2] = 255;
    mad_put16(mad + SMP_DATA + 16, 321);
    mad_put16(mad + SMP_DATA + 18, 4);
    mad[SMP_DATA + 32] = 0x73;
    assert_line(MADLOG_TX, mad, 0xffff,
                "1234567890123 tx 81 02 0015 00000007 001000200000abcd 0,1,255 8000 lid=321 "
                "smlid=4 state=3\n");
    mad[3] = 0x81;
    mad[1] = 1;
    assert_line(MADLOG_RX, mad, 49151,
                "1234567890123 rx 01 81 0015 00000007 001000200000abcd 49151 8000\n");
    assert_line(MADLOG_TIMEOUT, mad, 9,
                "1234567890123 to 01 81 0015 00000007 001000200000abcd 9 006e\n");
    mad[1] = 0x81;
    mad[SMP_HOP_COUNT] = 255; /* more hops than there is room for */
    char line[MADLOG_LINE_BYTES];
    assert_true(madlog_format(line, MADLOG_TX, INT64_MAX, mad, 0) < sizeof line);
}

static void test_devices(void **state)
{
    struct device d;

    assert_true(devices_parse("mlx5_0=H-0002c90300000001:2", &d));
    assert_string_equal(d.name, "mlx5_0");
    assert_string_equal(d.node, "H-0002c90300000001");
    assert_int_equal(d.wanted_port, 2);
    assert_true(devices_parse("a=rack:b host", &d));
    assert_string_equal(d.node, "rack:b host");
    assert_int_equal(d.wanted_port, 0);
    assert_true(devices_parse("a=", &d));
    assert_false(devices_parse("=x", &d));
    assert_false(devices_parse("x", &d));
    assert_false(devices_parse("a=0123456789012345678901234567890123456789", &d));
    assert_false(devices_parse("a-name-that-is-longer-than-20=x", &d));
    assert_false(devices_parse("a=x:1234", &d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packet), cmocka_unit_test(test_ctl),     cmocka_unit_test(test_match),
        cmocka_unit_test(test_log),    cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
