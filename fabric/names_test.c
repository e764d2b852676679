/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of node name maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "fabric/names.h"

static struct fabric_names *read_text(const char *text, struct fabric_messages *m)
{
    return fabric_names_read_text("map", text, strlen(text), m);
}

static void a_map_is_read(void **state)
{
    struct fabric_messages *m = fabric_messages_create();
    struct fabric_names *n = read_text("\xef\xbb\xbf# names\r\n\r\n"
                                       "0x0002c90300000001 \"rack 7 # leaf 1\"  # comment\r\n"
                                       "\t0x2\tspine-2 # comment\n"
                                       "0002c90300000003 \"c\"",
                                       m);
    assert_non_null(n);
    assert_int_equal(fabric_messages_total(m), 0);
    assert_int_equal(fabric_names_count(n), 3);
    assert_string_equal(fabric_names_find(n, 0x0002c90300000001), "rack 7 # leaf 1");
    assert_string_equal(fabric_names_find(n, 2), "spine-2");
    assert_string_equal(fabric_names_find(n, 0x0002c90300000003), "c");
    assert_null(fabric_names_find(n, 3));
    assert_null(fabric_names_find(NULL, 3));
    assert_int_equal(fabric_names_count(NULL), 0);
    fabric_names_destroy(n);
    fabric_names_destroy(NULL);
    n = read_text("", m);
    assert_non_null(n);
    assert_int_equal(fabric_names_count(n), 0);
    fabric_names_destroy(n);
    fabric_messages_destroy(m);
}

static void doubtful_lines_warn(void **state)
{
    struct fabric_messages *m = fabric_messages_create();
    g_autofree char *tail = g_strnfill(40, 'x');
    g_autofree char *text = g_strdup_printf("0x1 \"a\"\n0x1 \"b\"\n0x2 \"%s%s\"\n", tail, tail);
    struct fabric_names *n = read_text(text, m);
    assert_non_null(n);
    assert_string_equal(fabric_names_find(n, 1), "a");
    assert_int_equal(strlen(fabric_names_find(n, 2)), 64);
    assert_string_equal(fabric_messages_text(m, 0),
                        "map:2: warning: the GUID has a name in line 1 already: that one counts");
    assert_string_equal(fabric_messages_text(m, 1), "map:3: warning: the name was cut to 64 bytes");
    fabric_names_destroy(n);
    fabric_messages_destroy(m);
}

static void wrong_lines_are_named(void **state)
{
    static const struct {
        const char *line, *error;
    } bad[] = {
        {"leaf 0x1", "expected a GUID such as 0x0002c90300000001 and a name, found \"leaf 0x1\""},
        {"0x0 \"a\"", "expected a GUID such as 0x0002c90300000001 and a name, found \"0x0 "
                      "\\\"a\\\"\""},
        {"0x1", "expected a GUID such as 0x0002c90300000001 and a name, found \"0x1\""},
        {"0x12345678123456789 \"a\"", "expected a GUID such as 0x0002c90300000001 and a name, "
                                      "found \"0x12345678123456789 \\\"a\\\"\""},
        {"0x1 \"a", "expected a closing quote of the name, found \"\\\"a\""},
        {"0x1 \"\"", "expected a name that is not empty, found the end of the line"},
        {"0x1 # a", "expected a name that is not empty, found \"# a\""},
        {"0x1 a b", "expected the end of the line behind the name, found \"b\""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *text = g_strdup_printf("# first\n%s\n", bad[i].line);
        g_autofree char *error = g_strdup_printf("map:2: error: %s", bad[i].error);
        struct fabric_messages *m = fabric_messages_create();
        assert_null(read_text(text, m));
        assert_int_equal(fabric_messages_total(m), 1);
        assert_string_equal(fabric_messages_text(m, 0), error);
        fabric_messages_destroy(m);
    }
    struct fabric_messages *m = fabric_messages_create();
    assert_null(fabric_names_read_text("map", "0x1 \"a\0b\"\n", 11, m));
    assert_string_equal(fabric_messages_text(m, 0),
                        "map:1: error: expected a line of text, found a NUL byte");
    fabric_messages_destroy(m);
}

static void files_are_read_or_named(void **state)
{
    struct fabric_messages *m = fabric_messages_create();
    assert_null(fabric_names_load("testdata/absent.map", m));
    assert_string_equal(fabric_messages_text(m, 0),
                        "testdata/absent.map: error: cannot be read: No such file or directory; "
                        "expected a node name map");
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("heddle-names-XXXXXX", &path, NULL);
    assert_int_not_equal(fd, -1);
    g_close(fd, NULL);
    assert_true(g_file_set_contents(path, "0x1 \"a\"\n", -1, NULL));
    struct fabric_names *n = fabric_names_load(path, m);
    remove(path);
    assert_string_equal(fabric_names_find(n, 1), "a");
    fabric_names_destroy(n);
    fabric_messages_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_read),
        cmocka_unit_test(doubtful_lines_warn),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(files_are_read_or_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
