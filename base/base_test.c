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
    static const char *const bad[] = {"",       "0x",   "1",    "0x1ffffffffffffffff",
                                      "0x12g",  " 0x1", "0x1 ", "0002:c903:0000:00",
                                      "0x00:1", "-1"};
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

static void endpoints_are_read_strictly(void **state)
{
    const char *why = NULL;
    static const char *const good[] = {
        "tcp://127.0.0.1:7470", "tcp://*:1",       "tcp://0.0.0.0:65535", "tcp://[::1]:80",
        "tcp://[::]:9",         "tcp://c-1.a_b:9", "tcp://localhost:07",  "tcp://10.0.0.1.nip.io:9",
    };
    static const char *const bad[] = {
        "",
        "tcp://",
        "tcp://foo",
        "tcp://foo:",
        "tcp://:1",
        "tcp://[::1]",
        "tcp://[::1]:",
        "tcp://[]:1",
        "tcp://[1.2.3.4]:1",
        "tcp://::1:7470",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:65536",
        "tcp://127.0.0.1:70000",
        "tcp://127.0.0.1:12x",
        "tcp://127.0.0.1:0x50",
        "tcp://127.0.0.1:*",
        "tcp://127.0.0.1:+80",
        "tcp://127.0.0.1: 80",
        "tcp://127.0.0.1:80 ",
        "tcp://127.0.0.256:80",
        "tcp://127.0.1:80",
        "tcp://1..2:80",
        "tcp://a..b:80",
        "tcp://-a:80",
        "tcp://a b:80",
        "tcp://a/b:80",
        "tcp://eth0;10.0.0.1:80",
        "tcp://\xc3\xa4:80",
        "udp://127.0.0.1:80",
        "ipc:///run/x",
        "127.0.0.1:80",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!parse_endpoint(good[i], &why) || why != NULL)
            fail_msg("%s was refused: %s", good[i], why);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (parse_endpoint(bad[i], &why) || why == NULL)
            fail_msg("%s was taken", bad[i]);
    assert_true(parse_endpoint_is_any("tcp://*:1") && parse_endpoint_is_any("tcp://[::]:1"));
    assert_true(parse_endpoint_is_any("tcp://0.0.0.0:1"));
    assert_false(parse_endpoint_is_any("tcp://[::1]:1"));
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
        cmocka_unit_test(endpoints_are_read_strictly),
        cmocka_unit_test(hostile_text_is_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
