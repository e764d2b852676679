/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of smp.c against the byte layout of IBA 14.2.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shard/mad/smp.h"

static void directed_layout(void **state)
{
    (void)state;
    struct dr_path p = {0};
    assert_true(dr_path_extend(&p, 1));
    assert_true(dr_path_extend(&p, 36));
    uint8_t m[MAD_BYTES];
    smp_build(m, MAD_SET, SMP_PORT_INFO, 0x01020304, &p, 0x1122334455667788, 0xa1a2a3a4a5a6a7a8);
    static const uint8_t head[36] = {1,    0x81, 1,    2,    0,    0,    0,    2,    0xa1,
                                     0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0,    0x15,
                                     0,    0,    1,    2,    3,    4,    0x11, 0x22, 0x33,
                                     0x44, 0x55, 0x66, 0x77, 0x88, 0xff, 0xff, 0xff, 0xff};
    assert_memory_equal(m, head, sizeof(head));
    static const uint8_t path[4] = {0, 1, 36, 0};
    assert_memory_equal(m + 128, path, sizeof(path));
    assert_int_equal(mad_class(m), SMP_CLASS_DR);
    assert_int_equal(mad_method(m), MAD_SET);
    assert_int_equal(mad_attribute(m), SMP_PORT_INFO);
    assert_int_equal(mad_modifier(m), 0x01020304);
    assert_true(mad_tid(m) == 0xa1a2a3a4a5a6a7a8);
    assert_true(smp_mkey(m) == 0x1122334455667788);
    assert_ptr_equal(smp_data(m), m + 64);
    m[4] = 0x80; /* the direction bit is no status */
    m[5] = 0x0c;
    assert_int_equal(mad_status(m), 0x0c);
}

static void lid_routed_layout(void **state)
{
    (void)state;
    uint8_t m[MAD_BYTES];
    smp_build(m, MAD_GET_RESP, SMP_SM_INFO, 0, NULL, 0, 7);
    assert_int_equal(m[1], SMP_CLASS_LID);
    assert_int_equal(m[3], 0x81);
    assert_int_equal(mad_method(m), MAD_GET_RESP);
    assert_int_equal(m[32], 0);
    m[4] = 0x80;
    assert_int_equal(mad_status(m), 0x8000);
    assert_string_equal(smp_attribute_name(SMP_LFT), "LinearForwardingTable");
    assert_string_equal(smp_attribute_name(0xffff), "unknown");
}

static void path_is_bounded(void **state)
{
    (void)state;
    struct dr_path p = {0};
    assert_false(dr_path_extend(&p, 0));
    assert_false(dr_path_extend(&p, 255));
    for (unsigned i = 0; i < DR_MAX_HOPS; i++)
        assert_true(dr_path_extend(&p, 254));
    assert_false(dr_path_extend(&p, 1));
    assert_int_equal(p.hops, 63);
    uint8_t m[MAD_BYTES];
    p.hops = 255; /* a broken caller writes no further than the path's 64 bytes */
    smp_build(m, MAD_GET, SMP_NODE_INFO, 0, &p, 0, 1);
    assert_int_equal(m[7], 63);
    assert_int_equal(m[191], 254);
    assert_int_equal(m[192], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directed_layout),
        cmocka_unit_test(lid_routed_layout),
        cmocka_unit_test(path_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
