/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of GUIDs: what is taken, what is refused, and what a fabric has not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "cli/guids.h"

static GArray *read_text(const char *text, GArray *hops, GPtrArray *errors)
{
    return guids_read_text("f", text, strlen(text), hops, errors);
}

static void test_forms(void **state)
{
    static const uint64_t expected[] = {1, 0x0002c90300000001, 0x0002c90300000002,
                                        0xf000000000000000};
    static const uint8_t expected_hops[] = {0, 3, 0, 2};
    static const char text[] = "\xef\xbb\xbf# roots\r\n"
                               "\r\n"
                               "0xF000000000000000 2 # I/O\r\n"
                               "  0002c90300000002\t\r\n"
                               "0002:c903:0000:0001 0x3\n"
                               "\t# 0x99\n"
                               "0x1 \"a # b\" # c\n"
                               "0x0002c90300000001 'x'#y\n"
                               "0xf000000000000000,1\n"
                               "0x0002c90300000001";
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) hops = g_array_new(FALSE, FALSE, 1);
    GArray *guids = read_text(text, hops, errors);
    if (errors->len > 0)
        fail_msg("%s", (char *)errors->pdata[0]);
    assert_int_equal(guids->len, G_N_ELEMENTS(expected));
    assert_memory_equal(guids->data, expected, sizeof expected);
    assert_int_equal(hops->len, G_N_ELEMENTS(expected));
    assert_memory_equal(hops->data, expected_hops, sizeof expected_hops);
    g_array_free(guids, TRUE);
    guids = read_text(text, NULL, errors);
    assert_int_equal(guids->len, G_N_ELEMENTS(expected));
    g_array_free(guids, TRUE);
}

static void test_bad_lines(void **state)
{
    static const char *const cases[][2] = {
        {"", "f: no GUID is in it; write"},
        {"# nothing\n\n", "f: no GUID is in it; write"},
        {"0x1\nhello\n", "f:2: \"hello\" is no GUID; write it as 0x"},
        {"2c903", "f:1: \"2c903\" is no GUID"},
        {"0x11112222333344445", "is no GUID"},
        {"0x", "is no GUID"},
        {"-1", "is no GUID"},
        {"0x1x", "is no GUID"},
        {"\x1b[2J", "f:1: \"\\x1b[2J\" is no GUID"},
        {"0x0", "f:1: \"0x0\" is nobody's GUID; remove"},
        {"\n0xffffffffffffffff", "f:2: \"0xffffffffffffffff\" is nobody's GUID"},
        {"0x1 0x2 0x3", "f:1: \"0x2 0x3\" is neither a number"},
        {"0x1 256", "f:1: \"256\" is neither a number"},
        {"0x1 -1", "is neither a number"},
        {"0x1 \"", "is neither a number"},
        {"0x1 name", "f:1: \"name\" is neither a number"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
        assert_null(read_text(cases[i][0], NULL, errors));
        assert_int_equal(errors->len, 1);
        if (strstr(errors->pdata[0], cases[i][1]) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", cases[i][1], (char *)errors->pdata[0]);
        assert_null(strchr(errors->pdata[0], '\n'));
    }
}

static void test_each_line(void **state)
{
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    assert_null(read_text("x\n0x1\ny\n0x2\n0x0\n", NULL, errors));
    assert_int_equal(errors->len, 3);
    assert_true(g_str_has_prefix(errors->pdata[0], "f:1: "));
    assert_true(g_str_has_prefix(errors->pdata[1], "f:3: "));
    assert_true(g_str_has_prefix(errors->pdata[2], "f:5: "));
    g_ptr_array_set_size(errors, 0);
    g_autoptr(GString) many = g_string_new(NULL);
    for (unsigned i = 0; i < 1000; i++)
        g_string_append(many, "x\n");
    assert_null(read_text(many->str, NULL, errors));
    assert_int_equal(errors->len, GUIDS_MAX_ERRORS + 1);
    assert_non_null(strstr(errors->pdata[GUIDS_MAX_ERRORS], "f: 980 further bad lines"));
    g_ptr_array_set_size(errors, 0);
    assert_null(guids_read_text("f", "0x1\0z\n", 6, NULL, errors));
    assert_non_null(strstr(errors->pdata[0], "f:1: \"0x1\" is before a byte of value 0"));
}

static void test_files(void **state)
{
    g_autofree char *path = g_strdup_printf("%s/heddle-guids-%d", g_get_tmp_dir(), getpid());
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    assert_true(g_file_set_contents(path, "0x7\n0x5\n", -1, NULL));
    GArray *guids = guids_load(path, NULL, errors);
    assert_non_null(guids);
    assert_int_equal(guids->len, 2);
    assert_int_equal(g_array_index(guids, uint64_t, 0), 5);
    g_array_free(guids, TRUE);
    g_unlink(path);
    assert_null(guids_load(path, NULL, errors));
    assert_null(guids_load("/dev/zero", NULL, errors));
    assert_int_equal(errors->len, 2);
    assert_true(g_str_has_prefix(errors->pdata[0], path));
    assert_non_null(strstr(errors->pdata[0], "cannot be read"));
}

/* Switches 0xa0 and 0xb0, a host's port 0xc1. */
static void check(const char *text, bool switches, const char *expected)
{
    struct rt_builder *b = rt_builder_create();
    struct rt_graph *g = NULL;
    rt_add_switch(b, 0xa0, 2, 1, 0);
    rt_add_switch(b, 0xb0, 2, 2, 0);
    rt_add_link(b, 0xa0, 1, 0xb0, 1);
    rt_add_dest(b, 0xa0, 2, 0xc1, 3, 0, RT_DEST_HOST, true);
    assert_int_equal(rt_builder_finish(b, &g, NULL), 0);
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) guids = read_text(text, NULL, errors);
    assert_non_null(guids);
    g_autofree char *warning = guids_check(g, guids, switches, "f");
    if (expected == NULL)
        assert_null(warning);
    else
        assert_string_equal(warning, expected);
    rt_graph_unref(g);
}

static void test_check(void **state)
{
    check("0xa0\n0xb0\n", true, NULL);
    check("0xc1\n", false, NULL);
    check("0xa0\n0xc1\n0xd1\n", true,
          "f: the fabric has no switch 0x00000000000000c1 (a host's port), 0x00000000000000d1: "
          "2 of 3 GUIDs are passed over");
    check("0xc1\n0xa0\n", false,
          "f: the fabric has no host port 0x00000000000000a0 (a switch): "
          "1 of 2 GUIDs are passed over");
    check("0x1\n0x2\n0x3\n0x4\n0x5\n0x6\n0x7\n0xa0\n", true,
          "f: the fabric has no switch 0x0000000000000001, 0x0000000000000002, "
          "0x0000000000000003, 0x0000000000000004, 0x0000000000000005 and 2 more: "
          "7 of 8 GUIDs are passed over");
}

/* Nothing that a changed byte makes of a file may crash the reader. */
static void test_damage(void **state)
{
    static const char text[] = "# a\n0x0002c90300000001 2 # b\r\n0002c90300000002 \"c\"\n0x3\n";
    for (size_t i = 0; i < strlen(text); i++)
        for (unsigned byte = 0; byte < 256; byte++) {
            g_autofree char *changed = g_strdup(text);
            g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
            changed[i] = (char)byte;
            GArray *guids = guids_read_text("f", changed, strlen(text), NULL, errors);
            assert_int_equal(guids == NULL, errors->len > 0);
            if (guids != NULL)
                g_array_free(guids, TRUE);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),     cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_each_line), cmocka_unit_test(test_files),
        cmocka_unit_test(test_check),     cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
