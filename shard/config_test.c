/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of config.c: the example is right, and each mistake is told with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <sodium.h>

#include "shard/config.h"

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char *dir, *key_file;

static int make_files(void **state)
{
    (void)state;
    assert_true(sodium_init() >= 0);
    dir = g_dir_make_tmp("heddle-config-XXXXXX", NULL);
    char error[256];
    assert_int_equal(key_generate(dir, "shard-1", KEY_CURVE, error, sizeof(error)), 0);
    key_file = g_strdup_printf("%s/shard-1.secret", dir);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    GDir *d = g_dir_open(dir, 0, NULL);
    for (const char *name; (name = g_dir_read_name(d)) != NULL;) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_unlink(path);
    }
    g_dir_close(d);
    g_rmdir(dir);
    g_free(dir);
    g_free(key_file);
    return 0;
}

/* Reads text as a file; errors come back as one text of lines without the file's name. */
static struct shard_config *read_text(const char *text, char **errors)
{
    g_autofree char *path = g_build_filename(dir, "test.conf", NULL);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    struct shard_config *c = shard_config_read(path, list);
    GString *all = g_string_new(NULL);
    for (guint i = 0; i < list->len; i++) {
        assert_true(g_str_has_prefix(list->pdata[i], path));
        g_string_append_printf(all, "%s\n", (const char *)list->pdata[i] + strlen(path) + 1);
    }
    g_ptr_array_free(list, TRUE);
    *errors = g_string_free(all, FALSE);
    return c;
}

static char *good_text(const char *extra)
{
    return g_strdup_printf("cluster = \"c\";\nname = \"shard-1\";\nkey_file = \"%s\";\n"
                           "store_dir = \"/var/lib/x\";\n"
                           "coordinators = ( { name = \"k\"; endpoint = \"tcp://127.0.0.1:7400\";\n"
                           "  public_key = \"" KEY "\"; sign_public_key = \"" KEY "\"; } );\n"
                           "delta_endpoint = \"tcp://127.0.0.1:7401\";\n"
                           "bulk_endpoint = \"tcp://127.0.0.1:7402\";\n%s",
                           key_file, extra);
}

static void reads_all_settings(void **state)
{
    (void)state;
    g_autofree char *text =
        good_text("port = { device = \"mlx5_0\"; port = 2; };\npriority = 15;\nstandby = true;\n"
                  "operators = ( { name = \"admin\"; public_key = \"" KEY "\"; } );\n"
                  "log_level = \"debug\";\n");
    char *errors;
    struct shard_config *c = read_text(text, &errors);
    assert_string_equal(errors, "");
    assert_string_equal(c->cluster, "c");
    assert_string_equal(c->name, "shard-1");
    assert_string_equal(c->delta_endpoint, "tcp://127.0.0.1:7401");
    assert_string_equal(c->device, "mlx5_0");
    assert_int_equal(c->port, 2);
    assert_int_equal(c->priority, 15);
    assert_true(c->standby);
    assert_int_equal(c->log_level, HL_DEBUG);
    assert_int_equal(c->coordinators->len, 1);
    const struct config_peer *k = &g_array_index(c->coordinators, struct config_peer, 0);
    assert_string_equal(k->endpoint, "tcp://127.0.0.1:7400");
    assert_int_equal(k->sign_public_key[1], 0x11);
    assert_string_equal(g_array_index(c->operators, struct config_peer, 0).name, "admin");
    assert_non_null(c->keys);
    shard_config_free(c);
    g_free(errors);
}

static void defaults(void **state)
{
    (void)state;
    g_autofree char *text = good_text("");
    char *errors;
    struct shard_config *c = read_text(text, &errors);
    assert_string_equal(errors, "");
    assert_int_equal(c->priority, 8);
    assert_false(c->standby);
    assert_null(c->device);
    assert_true(c->port_guid == 0);
    assert_int_equal(c->log_level, HL_NOTICE);
    shard_config_free(c);
    g_free(errors);
}

static void every_mistake_is_told(void **state)
{
    (void)state;
    char *errors;
    struct shard_config *c =
        read_text("cluster = 5;\n"
                  "nam = \"x\";\n"
                  "coordinators = ( { name = \"k\"; endpoint = \"foo\"; public_key = \"zz\";\n"
                  "  colour = 1; }, 7 );\n"
                  "delta_endpoint = \"tcp://0.0.0.0:99999\";\n"
                  "port = { guid = \"0xzz\"; device = \"mlx\"; };\n"
                  "priority = 99;\n"
                  "log_level = \"loud\";\n",
                  &errors);
    static const char *const wanted[] = {"1: \"cluster\" must be a text",
                                         "2: unknown setting \"nam\"",
                                         "setting \"name\" is missing",
                                         "setting \"key_file\" is missing",
                                         "setting \"store_dir\" is missing",
                                         "setting \"bulk_endpoint\" is missing",
                                         "3: \"endpoint\" is \"foo\": it must look like",
                                         "3: \"public_key\": ",
                                         "4: unknown setting \"colour\"",
                                         "4: an element of \"coordinators\" must be a group",
                                         "5: \"delta_endpoint\" is \"tcp://0.0.0.0:99999\": the port must be",
                                         "5: \"delta_endpoint\" must name the address",
                                         "6: \"guid\": \"0xzz\" is no GUID",
                                         "6: give either \"guid\"",
                                         "7: \"priority\" is 99",
                                         "8: \"log_level\" is \"loud\""};
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
        if (strstr(errors, wanted[i]) == NULL)
            fail_msg("\"%s\" is not among\n%s", wanted[i], errors);
    shard_config_free(c);
    g_free(errors);
}

static void syntax_and_files(void **state)
{
    (void)state;
    char *errors;
    struct shard_config *c = read_text("cluster = \"c\";\nname =\n;", &errors);
    assert_true(g_str_has_prefix(errors, "3: ") || g_str_has_prefix(errors, "2: "));
    shard_config_free(c);
    g_free(errors);

    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    shard_config_free(shard_config_read("/nonexistent/shard.conf", list));
    shard_config_free(shard_config_read(dir, list));
    assert_int_equal(list->len, 2);
    assert_non_null(strstr(list->pdata[0], "No such file"));
    g_ptr_array_free(list, TRUE);

    g_autofree char *text = good_text("");
    assert_int_equal(chmod(key_file, 0644), 0); /* a secret that others may read */
    c = read_text(text, &errors);
    assert_non_null(strstr(errors, "3: \"key_file\": "));
    assert_int_equal(chmod(key_file, 0400), 0);
    shard_config_free(c);
    g_free(errors);
}

/* The example has no mistake but for the keys, which are not there. */
static void example_is_right(void **state)
{
    (void)state;
    const char *source = g_getenv("HEDDLE_SOURCE");
    if (source == NULL) {
        print_message("HEDDLE_SOURCE is not set: skipped\n");
        skip();
    }
    g_autofree char *path = g_build_filename(source, "packaging/examples/shard.conf", NULL);
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    shard_config_free(shard_config_read(path, list));
    for (guint i = 0; i < list->len; i++)
        assert_non_null(strstr(list->pdata[i], "/etc/heddle/"));
    g_ptr_array_free(list, TRUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_settings),    cmocka_unit_test(defaults),
        cmocka_unit_test(every_mistake_is_told), cmocka_unit_test(syntax_and_files),
        cmocka_unit_test(example_is_right),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
