/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of coordinator.conf: the example, the defaults, and that every error is reported. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <sodium.h>

#include "base/log.h"
#include "coordinator/config.h"

struct place {
    char dir[64], path[128];
};

static void write_file(const char *path, const char *text, mode_t mode)
{
    g_unlink(path);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    assert_int_equal(chmod(path, mode), 0);
}

static int make_place(void **state)
{
    struct place *p = g_new0(struct place, 1);
    char error[256];
    assert_true(sodium_init() >= 0);
    g_strlcpy(p->dir, "/tmp/coordinator-config-XXXXXX", sizeof p->dir);
    assert_non_null(g_mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/c.conf", p->dir);
    static const char *const names[] = {"coordinator-1", "shard-1", "shard-2", "shard-3", "admin"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        assert_int_equal(key_generate(p->dir, names[i], KEY_CURVE, error, sizeof error), 0);
    assert_int_equal(key_generate(p->dir, "sign", KEY_SIGN, error, sizeof error), 0);
    assert_int_equal(key_generate(p->dir, "cluster", KEY_CLUSTER, error, sizeof error), 0);
    *state = p;
    return 0;
}

static int remove_place(void **state)
{
    struct place *p = *state;
    GDir *d = g_dir_open(p->dir, 0, NULL);
    for (const char *name; (name = g_dir_read_name(d));) {
        g_autofree char *path = g_build_filename(p->dir, name, NULL);
        g_unlink(path);
    }
    g_dir_close(d);
    g_rmdir(p->dir);
    g_free(p);
    return 0;
}

/* The settings that are needed, on 9 lines, with `more` from line 10 on. */
static char *minimal(const struct place *p, const char *more)
{
    return g_strdup_printf(
        "cluster = \"lab\";\n"
        "name = \"coordinator-1\";\n"
        "key_file = \"%s/coordinator-1.secret\";\n"
        "sign_key_file = \"%s/sign.secret\";\n"
        "cluster_secret_file = \"%s/cluster.secret\";\n"
        "store_dir = \"%s/store\";\n"
        "control_endpoint = \"tcp://127.0.0.1:7470\";\n"
        "shards = ( { name = \"shard-1\"; public_key = \"%s/shard-1.public\"; },\n"
        "  { name = \"shard-2\"; public_key = \"%s/shard-2.public\"; } );\n%s",
        p->dir, p->dir, p->dir, p->dir, p->dir, p->dir, more);
}

static struct coordinator_settings *load(const struct place *p, const char *text, GPtrArray *errors)
{
    write_file(p->path, text, 0644);
    return coordinator_settings_load(p->path, errors);
}

static void the_example_is_right(void **state)
{
    const struct place *p = *state;
    const char *source = g_getenv("HEDDLE_SOURCE");
    g_autofree char *path =
        g_build_filename(source ? source : "..", "packaging", "examples", "coordinator.conf", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_autoptr(GString) local = g_string_new(text);
    g_string_replace(local, "/etc/heddle", p->dir, 0);
    struct coordinator_settings *s = load(p, local->str, errors);
    for (guint i = 0; i < errors->len; i++)
        print_message("%s\n", (char *)g_ptr_array_index(errors, i));
    assert_non_null(s);
    assert_int_equal(s->core.expected_shards, 3);
    assert_int_equal(s->core.enrolled->len, 4);

    /* What it shows as defaults are the defaults. */
    g_autofree char *bare = minimal(p, "");
    struct coordinator_settings *m = load(p, bare, errors);
    assert_non_null(m);
    assert_int_equal(s->core.domain_max_nodes, m->core.domain_max_nodes);
    assert_int_equal(s->core.shard_max_nodes, m->core.shard_max_nodes);
    assert_int_equal(s->core.domains_per_shard, m->core.domains_per_shard);
    assert_int_equal(s->core.expected_timeout_ms, m->core.expected_timeout_ms);
    assert_int_equal(s->log_level, m->log_level);
    size_t len = heddle__cluster_config__get_packed_size(s->core.cluster_config);
    assert_int_equal(len, heddle__cluster_config__get_packed_size(m->core.cluster_config));
    g_autofree uint8_t *a = g_malloc(len), *b = g_malloc(len);
    heddle__cluster_config__pack(s->core.cluster_config, a);
    heddle__cluster_config__pack(m->core.cluster_config, b);
    assert_memory_equal(a, b, len);
    coordinator_settings_free(s);
    coordinator_settings_free(m);
}

static void defaults_are_opensm_s(void **state)
{
    g_autofree char *text = minimal(*state, "subnet = { lmc = 1; sm_key = 0xffffffffffffffffL; "
                                            "root_guids = [ \"0x10\", \"0x11\" ]; };\n");
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    struct coordinator_settings *s = load(*state, text, errors);
    assert_non_null(s);
    const Heddle__ClusterConfig *c = s->core.cluster_config;
    assert_int_equal(c->heartbeat_ms * c->heartbeat_misses, 120);
    assert_int_equal(c->isolation_grace_ms, 2000);
    const Heddle__SubnetOptions *o = c->subnet;
    assert_int_equal(o->packet_life_time, 0x12);
    assert_int_equal(o->leaf_head_of_queue_lifetime, 0x10);
    assert_int_equal(o->transaction_timeout_ms, 200);
    assert_int_equal(o->sweep_interval_s, 10);
    assert_int_equal(o->max_smps_per_port, 128);
    assert_string_equal(o->routing_engine, "ftree");
    assert_true(o->subnet_prefix == 0xfe80000000000000u);
    assert_true(o->sm_key == UINT64_MAX);
    assert_int_equal(o->lmc, 1);
    assert_int_equal(o->n_root_guids, 2);
    assert_true(s->core.auto_domains);
    assert_int_equal(s->log_level, HL_NOTICE);
    coordinator_settings_free(s);
}

static void rules_are_read(void **state)
{
    g_autofree char *text = minimal(
        *state, "domains = ( { name = \"a\"; switches = [ \"0x1\", \"0x2\" ]; },\n"
                "  { name = \"b\"; ranges = [ \"0x10-0x1f\" ]; switches = [ \"0x3\" ]; } );\n");
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    struct coordinator_settings *s = load(*state, text, errors);
    assert_non_null(s);
    assert_false(s->core.auto_domains);
    assert_int_equal(s->core.rules->len, 2);
    const struct coord_domain_rule *b = &g_array_index(s->core.rules, struct coord_domain_rule, 1);
    assert_string_equal(b->name, "b");
    assert_int_equal(b->ranges->len, 2);
    assert_true(g_array_index(b->ranges, uint64_t, 1) == 0x1f);
    coordinator_settings_free(s);
}

static bool reported(const GPtrArray *errors, const char *where, const char *what)
{
    for (guint i = 0; i < errors->len; i++) {
        const char *e = g_ptr_array_index(errors, i);
        if (strstr(e, where) && strstr(e, what))
            return true;
    }
    print_message("not reported: %s %s; but\n", where, what);
    for (guint i = 0; i < errors->len; i++)
        print_message("  %s\n", (char *)g_ptr_array_index(errors, i));
    return false;
}

static void every_error_is_reported_with_its_line(void **state)
{
    g_autofree char *text =
        minimal(*state, "heartbeat_ms = 5;\n"                                             /* 10 */
                        "heartbeat_mss = 5;\n"                                            /* 11 */
                        "domains_per_shard = \"many\";\n"                                 /* 12 */
                        "log_level = \"loud\";\n"                                         /* 13 */
                        "subnet = {\n"                                                    /* 14 */
                        "  lmc = 8;\n"                                                    /* 15 */
                        "  reassign_lids = 1;\n"                                          /* 16 */
                        "  routing_engine = \"minhop\";\n"                                /* 17 */
                        "  sweep = 3;\n"                                                  /* 18 */
                        "};\n"                                                            /* 19 */
                        "operators = ( { name = \"shard-1\"; public_key = \"zz\"; } );\n" /* 20 */
                        "domains = ( { name = \"x\"; switches = [ \"0xq\" ]; },\n"        /* 21 */
                        "  { name = \"x\"; ranges = [ \"0x9-0x1\" ]; },\n"                /* 22 */
                        "  { switches = [ \"0x1\" ]; } );\n");                            /* 23 */
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    assert_null(load(*state, text, errors));
    assert_true(reported(errors, "c.conf:10: ", "10 to 10000"));
    assert_true(reported(errors, "c.conf:11: ", "unknown setting 'heartbeat_mss'"));
    assert_true(reported(errors, "c.conf:12: ", "domains_per_shard must be a number"));
    assert_true(reported(errors, "c.conf:13: ", "log_level"));
    assert_true(reported(errors, "c.conf:15: ", "lmc must be a number from 0 to 7"));
    assert_true(reported(errors, "c.conf:16: ", "true or false"));
    assert_true(reported(errors, "c.conf:17: ", "\"ftree\" or \"updn\""));
    assert_true(reported(errors, "c.conf:18: ", "unknown setting 'sweep' in subnet"));
    assert_true(reported(errors, "c.conf:20: ", "public_key"));
    assert_true(reported(errors, "c.conf:21: ", "entry 1 is not a GUID"));
    assert_true(reported(errors, "c.conf:22: ", "two domains are named"));
    assert_true(reported(errors, "c.conf:22: ", "FIRST-LAST"));
    assert_true(reported(errors, "c.conf:23: ", "needs a name"));
}

static void missing_and_contradicting_settings(void **state)
{
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    assert_null(load(*state, "name = \"c\";\n", errors));
    assert_true(reported(errors, "c.conf: ", "'cluster' is missing"));
    assert_true(reported(errors, "c.conf: ", "'shards' is missing"));
    assert_true(reported(errors, "c.conf: ", "'store_dir' is missing"));
    g_autofree char *text =
        minimal(*state, "isolation_grace_ms = 120;\nshard_max_nodes = 100;\n"
                        "domains = ( { name = \"a\"; ranges = [ \"0x1-0x9\" ]; },\n"
                        "  { name = \"b\"; switches = [ \"0x5\" ]; } );\n");
    assert_null(load(*state, text, errors));
    assert_true(reported(errors, "c.conf:10: ", "above heartbeat_ms x heartbeat_misses = 120"));
    assert_true(reported(errors, "c.conf:11: ", "at least domain_max_nodes"));
    assert_true(reported(errors, "c.conf:12: ", "0x0000000000000005 is in two domains"));
    assert_null(load(*state, "cluster = ;\n", errors));
    assert_true(reported(errors, "c.conf:1: ", "syntax"));
    assert_null(coordinator_settings_load("/nowhere/c.conf", errors));
    assert_true(reported(errors, "/nowhere/c.conf: ", "cannot be read"));
}

static void endpoints_and_files_are_checked(void **state)
{
    static const char *const ports[] = {"70000", "12x", "0", "+80"};
    const struct place *p = *state;
    g_autofree char *text = minimal(p, "");
    for (size_t i = 0; i < G_N_ELEMENTS(ports); i++) {
        g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
        g_auto(GStrv) parts = g_strsplit(text, ":7470", 2);
        g_autofree char *wrong = g_strdup_printf("%s:%s%s", parts[0], ports[i], parts[1]);
        assert_null(load(p, wrong, errors));
        assert_true(reported(errors, "c.conf:", "the port must be a number"));
    }
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    assert_null(coordinator_settings_load(p->dir, errors));
    assert_true(reported(errors, p->dir, "it is a directory"));
}

static void keys_are_checked(void **state)
{
    const struct place *p = *state;
    g_autofree char *text = minimal(p, "");
    g_autofree char *secret = g_build_filename(p->dir, "cluster.secret", NULL);
    g_autofree char *sign = g_build_filename(p->dir, "sign.secret", NULL);
    g_autofree char *moved = g_build_filename(p->dir, "moved.secret", NULL);
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    assert_int_equal(chmod(secret, 0644), 0);
    assert_int_equal(g_rename(sign, moved), 0);
    assert_null(load(p, text, errors));
    assert_true(reported(errors, "c.conf:5: ", "cluster_secret_file"));
    assert_true(reported(errors, "c.conf:4: ", "sign_key_file"));
    assert_int_equal(chmod(secret, 0400), 0);
    assert_int_equal(g_rename(moved, sign), 0);
    struct coordinator_settings *s = load(p, text, errors);
    assert_non_null(s);
    coordinator_settings_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_example_is_right, make_place, remove_place),
        cmocka_unit_test_setup_teardown(defaults_are_opensm_s, make_place, remove_place),
        cmocka_unit_test_setup_teardown(rules_are_read, make_place, remove_place),
        cmocka_unit_test_setup_teardown(every_error_is_reported_with_its_line, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(missing_and_contradicting_settings, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(endpoints_and_files_are_checked, make_place, remove_place),
        cmocka_unit_test_setup_teardown(keys_are_checked, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
