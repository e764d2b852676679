/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the small shared pieces: strict parsing, quoting of hostile text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/parse.h"

static void guids_are_read_strictly(void **state)
{
    uint64_t g;
    assert_true(parse_guid("0x0002c90300000001", &g));
    assert_true(g == 0x0002c90300000001ull);
    assert_true(parse_guid("0002:c903:0000:0001", &g));
    assert_true(g == 0x0002c90300000001ull);
    assert_true(parse_guid("0x1", &g));
    assert_true(parse_guid("ffffffffffffffff", &g));
    assert_true(g == UINT64_MAX);
    static const char *const bad[] = {"", "0x", "1", "0x1ffffffffffffffff", "0x12g", " 0x1",
                                      "0x1 ", "0002:c903:0000:00", "0x00:1", "-1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(parse_guid(bad[i], &g));
}

static void numbers_are_read_strictly(void **state)
{
    uint64_t v;
    assert_true(parse_uint("12", 0, 100, &v));
    assert_int_equal(v, 12);
    assert_true(parse_uint("0x10", 0, 100, &v));
    assert_int_equal(v, 16);
    static const char *const bad[] = {"", "101", "-1", "1 ", "0x", "0x65", "1e3", "+1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(parse_uint(bad[i], 0, 100, &v));
}

static void hostile_text_is_quoted(void **state)
{
    char out[32];
    assert_string_equal(log_quote(out, sizeof out, "a\"b\\c\n"), "\"a\\\"b\\\\c\\x0a\"");
    assert_string_equal(log_quote(out, sizeof out, "\xff"), "\"\\xff\"");
    assert_string_equal(log_quote(out, 6, "abcdef"), "\"abc\"");
    assert_string_equal(log_quote(out, 2, "abc"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guids_are_read_strictly),
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(hostile_text_is_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
