/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/text.h"

static void expect(char *got, const char *wanted)
{
    assert_string_equal(got, wanted);
    g_free(got);
}

static void test_hostile(void **state)
{
    expect(text_quoted("mlx5_0 host \"x\" \\"), "\"mlx5_0 host \\\"x\\\" \\\\\"");
    expect(text_shown("say \"x\""), "say \"x\"");
    expect(text_shown("a\x1b[2Jb\r\n\t\x7f"), "a\\x1b[2Jb\\x0d\\x0a\\x09\\x7f");
    expect(text_shown("caf\xc3\xa9"), "caf\xc3\xa9");
    expect(text_shown("caf\xe9 \xc3"), "caf\\xe9 \\xc3");
    expect(text_shown("\xc2\x9b[2J"), "\\xc2\\x9b[2J");          /* CSI as one character */
    expect(text_shown("\xe2\x80\xaetxt"), "\\xe2\\x80\\xaetxt"); /* right-to-left override */
    expect(text_quoted(""), "\"\"");
}

static void test_durations(void **state)
{
    expect(text_duration_ms(0), "0 ms");
    expect(text_duration_ms(999), "999 ms");
    expect(text_duration_ms(3400), "3.4 s");
    expect(text_duration_ms(600000), "10 min");
    expect(text_duration_ms(UINT32_MAX), "1193 h");
}

static void test_table(void **state)
{
    static const char *const columns[] = {"NAME", ">N", "END", NULL};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct table *t = table_create(columns);
    table_end(t, 0, out); /* empty: nothing */
    t = table_create(columns);
    table_add(t, g_strdup("\xc3\xa9t\xc3\xa9-long"), g_strdup("7"), g_strdup("x"));
    table_add(t, g_strdup("b"), g_strdup("1234"), g_strdup(""));
    table_end(t, 2, out);
    fclose(out);
    assert_string_equal(text, "  NAME         N  END\n"
                              "  \xc3\xa9t\xc3\xa9-long     7  x\n"
                              "  b         1234\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
