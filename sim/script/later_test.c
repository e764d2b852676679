/* SPDX-License-Identifier: BSD-2-Clause */
/* What runs later, scripts, and the files that commands write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "sim/script/fixture.h"

/* -- later ------------------------------------------------------------------------------------- */

static bool is_mute(struct sim *s)
{
    return sim_port(s, HOST_B, 1)->mute;
}

static void test_later(void **state)
{
    struct sim *s = *state;
    assert_ok(s, "at 10ms mute hostb on");
    assert_ok(s, "at 20ms mute hostb off");
    sim_run(s, 9 * MS);
    assert_false(is_mute(s));
    sim_run(s, 10 * MS);
    assert_true(is_mute(s));
    sim_run(s, 20 * MS);
    assert_false(is_mute(s));
    assert_int_equal(s->script->pending.length, 0);
    assert_string_equal(notes->str, "");
    assert_ok(s, "every 5ms forget x");
    assert_ok(s, "at 1ms key hostb");
    sim_run(s, 36 * MS);
    assert_string_equal(notes->str, "key=0x0000000000000000 protect=0 lease=0 violations=0\n"
                                    "error: forget: there is no snapshot \"x\"\n"
                                    "error: forget: there is no snapshot \"x\"\n"
                                    "error: forget: there is no snapshot \"x\"\n");
    assert_ok(s, "cancel");
    assert_int_equal(sim_next(s), SIM_NEVER);
    assert_ok(s, "every 5ms cancel");
    assert_ok(s, "every 5ms status");
    sim_run(s, 50 * MS);
    assert_int_equal(s->script->pending.length, 0);
    assert_ok(s, "every 1ms status"); /* goes on when the sim ends */
}

static void test_too_many(void **state)
{
    struct sim *s = *state;
    for (unsigned i = 0; i < SCRIPT_MAX_PENDING; i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        assert_true(sim_script_line(s, "at 1h heal", s->now, out));
    }
    const char *answer = run(s, "at 1h heal");
    assert_non_null(strstr(answer, "100000 commands wait already"));
    assert_ok(s, "cancel");
    assert_ok(s, "at 1h heal");
}

/* -- scripts ----------------------------------------------------------------------------------- */

static char *directory;

static char *put_script(const char *name, const char *lines)
{
    char *path = g_build_filename(directory, name, NULL);
    assert_true(g_file_set_contents(path, lines, -1, NULL));
    return path;
}

static int setup_files(void **state)
{
    directory = g_dir_make_tmp("heddle-script-XXXXXX", NULL);
    assert_non_null(directory);
    return setup(state);
}

static int teardown_files(void **state)
{
    GDir *dir = g_dir_open(directory, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        unlink(path);
    }
    g_dir_close(dir);
    rmdir(directory);
    g_clear_pointer(&directory, g_free);
    return teardown(state);
}

static const char *start(struct sim *s, const char *path)
{
    static GString *out;
    if (out == NULL)
        out = g_string_new(NULL);
    g_string_truncate(out, 0);
    bool ok = sim_script_start(s, path, s->now, out);
    assert_int_equal(ok, g_str_has_suffix(out->str, "ok\n"));
    return out->str;
}

static void test_script(void **state)
{
    struct sim *s = *state;
    g_autofree char *path = put_script("good", "# the host falls silent for a while\n"
                                               "\n"
                                               "key hostb 3\r\n"
                                               "at 10ms mute hostb on # here\n"
                                               "at 30ms mute hostb off\n"
                                               "every 1s heal\n"
                                               "key hostb");
    sim_run(s, S);
    assert_string_equal(start(s, path),
                        "key=0x0000000000000003 protect=0 lease=0 violations=0\nok\n");
    sim_run(s, S + 10 * MS);
    assert_true(is_mute(s));
    sim_run(s, S + 30 * MS);
    assert_false(is_mute(s));
    assert_int_equal(s->script->pending.length, 1);
}

static void test_script_is_checked_first(void **state)
{
    struct sim *s = *state;
    g_autofree char *path =
        put_script("bad", "mute hostb on\nat 1s mute hostb off\nmute hostc on\n");
    g_autofree char *wanted = g_strdup_printf("error: %s:3: mute: no node has", path);
    assert_true(g_str_has_prefix(start(s, path), wanted));
    assert_false(is_mute(s));
    assert_int_equal(s->script->pending.length, 0);
    g_autofree char *inner = put_script("outer", "mute hostb on\nrun \"");
    g_autofree char *lines = g_strdup_printf("mute hostb on\nat 1s run \"%s\"\n", path);
    g_autofree char *outer = put_script("outer2", lines);
    assert_true(g_str_has_prefix(start(s, outer), wanted));
    assert_non_null(strstr(start(s, inner), "not closed"));
    assert_false(is_mute(s));
}

static void test_script_fails(void **state)
{
    struct sim *s = *state;
    assert_ok(s, "at 1s mute hostb on");
    g_autofree char *path =
        put_script("fails", "at 2s heal\nmute hostb on\nforget nothing\nmute hostb off\n");
    g_autofree char *wanted =
        g_strdup_printf("error: %s:3: forget: there is no snapshot \"nothing\"\n", path);
    assert_string_equal(start(s, path), wanted);
    assert_true(is_mute(s));
    assert_int_equal(s->script->pending.length, 1); /* the one that is not the script's */
}

static void test_script_without_end(void **state)
{
    struct sim *s = *state;
    g_autofree char *path = g_build_filename(directory, "self", NULL);
    g_autofree char *lines = g_strdup_printf("at 1s run \"%s\"\n", path);
    assert_true(g_file_set_contents(path, lines, -1, NULL));
    assert_non_null(strstr(start(s, path), "more than 8 deep"));
    assert_int_equal(s->script->pending.length, 0);
    g_autoptr(GString) many = g_string_new(NULL);
    g_autofree char *level = put_script("level0", "heal\n");
    for (unsigned i = 1; i < 6; i++) { /* 12^5 lines in five small files */
        g_string_truncate(many, 0);
        for (unsigned j = 0; j < 12; j++)
            g_string_append_printf(many, "run \"%s\"\n", level);
        g_autofree char *name = g_strdup_printf("level%u", i);
        g_free(level);
        level = put_script(name, many->str);
    }
    assert_non_null(strstr(start(s, level), "more than 200000 lines"));
}

static void test_no_script(void **state)
{
    struct sim *s = *state;
    g_autofree char *zero = g_build_filename(directory, "zero", NULL);
    assert_true(g_file_set_contents(zero, "heal\0heal\n", 10, NULL));
    assert_non_null(strstr(start(s, zero), "it holds a zero byte"));
    assert_non_null(strstr(start(s, directory), "name a file of commands"));
    assert_non_null(strstr(start(s, "/dev/zero"), "name a file of commands"));
    g_autofree char *empty = put_script("empty", "");
    assert_string_equal(start(s, empty), "ok\n");
}

static void test_dump_and_log(void **state)
{
    struct sim *s = *state;
    g_autofree char *path = g_build_filename(directory, "tables", NULL), *lines = NULL;
    g_autofree char *dump = g_strdup_printf("dump all \"%s\"", path);
    g_autofree char *log = g_strdup_printf("log \"%s.log\"", path);
    assert_ok(s, dump);
    assert_true(g_file_get_contents(path, &lines, NULL, NULL));
    assert_true(g_str_has_prefix(lines, "Unicast lids [0x0-0x0] of switch Lid 0 guid "
                                        "0x0000000000000010 (leaf [1]):\n"));
    assert_non_null(strstr(lines, "Multicast mlids"));
    assert_ok(s, log);
    assert_ok(s, "log off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_script, setup_files, teardown_files),
        cmocka_unit_test_setup_teardown(test_script_is_checked_first, setup_files, teardown_files),
        cmocka_unit_test_setup_teardown(test_script_fails, setup_files, teardown_files),
        cmocka_unit_test_setup_teardown(test_script_without_end, setup_files, teardown_files),
        cmocka_unit_test_setup_teardown(test_no_script, setup_files, teardown_files),
        cmocka_unit_test_setup_teardown(test_dump_and_log, setup_files, teardown_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
