/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle, the program, against processes that answer as a coordinator and a shard do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <jansson.h>

#include "cli/fixture.h"

struct world {
    char *dir;
    struct fake *coordinator, *shard; /* shard-1 */
    struct view *view;
};

struct result {
    int status;
    char *out, *err;
    double seconds;
};

static void write_conf(const struct world *w, const char *public_key_of)
{
    g_autofree char *path = g_build_filename(w->dir, "operator.conf", NULL);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(
        f,
        "cluster = \"%s\"; name = \"operator\"; key_file = \"operator.secret\";\n"
        "coordinators = ( { name = \"c1\"; endpoint = \"%s\"; public_key = \"%s.public\"; } );\n",
        FIXTURE_CLUSTER, fake_endpoint(w->coordinator, LINK_CONTROL), public_key_of);
    fclose(f);
}

/* The first member becomes a shard that answers; the second stays where nobody is. */
static struct world *world_create(enum fake_mood of_coordinator, enum fake_mood of_shard)
{
    char error[256] = "";
    struct world *w = g_new0(struct world, 1);
    Heddle__Status *s = fixture_status();
    w->dir = g_dir_make_tmp("heddle-cli-XXXXXX", NULL);
    w->view = fixture_view();
    key_generate(w->dir, "operator", KEY_CURVE, error, sizeof(error));
    assert_string_equal(error, "");
    w->shard = fake_start(w->dir, "shard-1", NULL, w->view, of_shard);
    fixture_set_text(&s->assignment->members[0]->bulk_endpoint, fake_endpoint(w->shard, LINK_BULK));
    memcpy(s->assignment->members[0]->public_key.data, fake_public_key(w->shard), 32);
    w->coordinator = fake_start(w->dir, "c1", s, NULL, of_coordinator);
    fake_allow(w->shard, "operator");
    fake_allow(w->coordinator, "operator");
    fake_run(w->shard);
    fake_run(w->coordinator);
    write_conf(w, "c1");
    heddle__status__free_unpacked(s, NULL);
    return w;
}

static void world_destroy(struct world *w)
{
    static const char *const files[] = {
        "operator.conf",  "operator.secret", "operator.public", "shard-1.secret",
        "shard-1.public", "c1.secret",       "c1.public",       "out"};
    fake_stop(w->coordinator);
    fake_stop(w->shard);
    view_destroy(w->view);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(w->dir, files[i], NULL);
        g_unlink(path);
    }
    g_rmdir(w->dir);
    g_free(w->dir);
    g_free(w);
}

/* Runs heddle with these words (split at blanks) and --dir. */
static struct result heddle(const struct world *w, const char *words)
{
    struct result r;
    int wait_status;
    GError *error = NULL;
    g_autofree char *program = g_build_filename(g_getenv("HEDDLE_BUILD"), "bin/heddle", NULL);
    g_autofree char *line = g_strdup_printf("%s %s --dir %s", program, words, w->dir);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    gint64 begin = g_get_monotonic_time();
    g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &r.out, &r.err, &wait_status,
                 &error);
    assert_null(error);
    assert_true(WIFEXITED(wait_status));
    r.status = WEXITSTATUS(wait_status);
    r.seconds = (double)(g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
    return r;
}

static void result_clear(struct result *r)
{
    g_free(r->out);
    g_free(r->err);
}

static void expect(struct result r, int status, const char *in_out, const char *in_err)
{
    if (r.status != status || strstr(r.out, in_out) == NULL || strstr(r.err, in_err) == NULL)
        fail_msg("status %d, stdout:\n%s\nstderr:\n%s\nexpected %d, \"%s\", \"%s\"", r.status,
                 r.out, r.err, status, in_out, in_err);
    result_clear(&r);
}

static json_t *expect_json(struct result r, int status)
{
    json_error_t e;
    assert_string_equal(r.err, "");
    assert_int_equal(r.status, status);
    json_t *value = json_loads(r.out, 0, &e);
    assert_non_null(value);
    result_clear(&r);
    return value;
}

static void test_status(void **state)
{
    struct world *w = world_create(FAKE_ANSWERS, FAKE_ANSWERS);
    expect(heddle(w, "status"), 0, "0 of 4 ports have no peer", "");
    expect(heddle(w, "shard list"), 0, "shard-2", "");
    expect(heddle(w, "domain list"), 0, "pod-2", "");
    json_t *o = expect_json(heddle(w, "status --json"), 0);
    const char *cluster;
    int converged, with_link, revision;
    assert_int_equal(json_unpack(o, "{s:s, s:b, s:{s:i}, s:i}", "cluster", &cluster, "converged",
                                 &converged, "ports", "with_link", &with_link, "revision",
                                 &revision),
                     0);
    assert_string_equal(cluster, FIXTURE_CLUSTER);
    assert_true(converged);
    assert_int_equal(with_link, 4);
    assert_int_equal(revision, 9);
    json_decref(o);
    world_destroy(w);
}

static gpointer converge_later(gpointer data)
{
    g_usleep(400 * 1000);
    fake_set_converged(data, true);
    return NULL;
}

static void test_wait(void **state)
{
    struct world *w = world_create(FAKE_ANSWERS, FAKE_ANSWERS);
    fake_set_converged(w->coordinator, false);
    expect(heddle(w, "status --wait converged --timeout 0.3"), 1, "", "not converged after 0.3 s");
    unsigned before = fake_questions(w->coordinator);
    GThread *t = g_thread_new("later", converge_later, w->coordinator);
    expect(heddle(w, "status --wait converged --timeout 20"), 0, "Converged  yes", "");
    assert_true(fake_questions(w->coordinator) > before + 2); /* it polls */
    g_thread_join(t);
    world_destroy(w);
}

static void test_view(void **state)
{
    struct world *w = world_create(FAKE_ANSWERS, FAKE_ANSWERS);
    expect(heddle(w, "node list"), 0, "0x0000000000000100", "");
    expect(heddle(w, "node list --problems"), 0, "Every port with a link is ACTIVE", "");
    expect(heddle(w, "node list --shard shard-1"), 0, "\"switch b\"", "");
    expect(heddle(w, "node list --shard shard-9"), 1, "", "no shard is called \"shard-9\"");
    expect(heddle(w, "topology export"), 0, "Switch\t4 \"S-00000000000000b0\"", "");
    expect(heddle(w, "route check --engine updn"), 0, "Nothing found", "");
    json_t *list = expect_json(heddle(w, "node list --json"), 0);
    assert_int_equal(json_array_size(list), 4);
    json_decref(list);
    g_autofree char *words = g_strdup_printf("topology export --out %s/out", w->dir);
    expect(heddle(w, words), 0, "", "");
    g_autofree char *check = g_strdup_printf("route check --fabric %s/out", w->dir);
    expect(heddle(w, check), 0, "2 switches, 1 links between them, 4 destinations", "");
    world_destroy(w);
}

static void test_trace(void **state)
{
    struct world *w = world_create(FAKE_ANSWERS, FAKE_ANSWERS);
    expect(heddle(w, "route trace 3 4"), 0, "\"a\\x1b[2J\"", "");
    expect(heddle(w, "route trace 3 nowhere"), 1, "", "no such destination");
    json_t *o = expect_json(heddle(w, "route trace 3 4 --json"), 0);
    assert_int_equal(json_array_size(json_object_get(o, "hops")), 1);
    json_decref(o);
    world_destroy(w);
}

static void test_shard_trouble(void **state)
{
    static const struct {
        enum fake_mood mood;
        const char *words, *line;
    } cases[] = {
        {FAKE_REFUSES, "node list --shard shard-1", "refuses: not today"},
        {FAKE_SILENT, "node list --shard shard-1", "does not answer within 1 s"},
        {FAKE_GARBAGE, "route trace 1 2 --shard shard-1", "does not understand"},
        {FAKE_OTHER_CLUSTER, "node list --shard shard-1", "belongs to cluster \"other\""},
        {FAKE_DISORDER, "topology export --shard shard-1", "out of order"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct world *w = world_create(FAKE_ANSWERS, cases[i].mood);
        g_autofree char *words = g_strdup_printf("%s --timeout 1", cases[i].words);
        expect(heddle(w, words), 1, "", cases[i].line);
        world_destroy(w);
    }
}

static void test_coordinator_trouble(void **state)
{
    struct world *w = world_create(FAKE_REFUSES, FAKE_ANSWERS);
    expect(heddle(w, "status"), 1, "", "refuses: not today");
    write_conf(w, "shard-1"); /* expects a key that the coordinator does not have */
    struct result r = heddle(w, "status --timeout 2");
    assert_true(r.seconds < 5);
    expect(r, 1, "", "c1 at tcp://127.0.0.1:");
    world_destroy(w);

    w = world_create(FAKE_SILENT, FAKE_ANSWERS);
    r = heddle(w, "status --wait converged --timeout 1");
    assert_true(r.seconds < 5);
    expect(r, 1, "", "does not answer");
    world_destroy(w);
}

static void test_unreachable(void **state)
{
    struct world *w = world_create(FAKE_ANSWERS, FAKE_ANSWERS);
    g_autofree char *path = g_build_filename(w->dir, "operator.conf", NULL);
    g_autofree char *text = NULL;
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    strcpy(strstr(text, "tcp://"), "tcp://127.0.0.1:9\"; public_key = \"c1.public\"; } );\n");
    assert_true(g_file_set_contents(path, text, -1, NULL));
    struct result r = heddle(w, "status --timeout 0.5");
    assert_true(r.seconds < 4);
    expect(r, 1, "", "c1 at tcp://127.0.0.1:9 cannot be reached within 0.5 s");
    g_autofree char *key = g_build_filename(w->dir, "operator.secret", NULL);
    assert_int_equal(g_chmod(key, 0444), 0);
    expect(heddle(w, "status"), 1, "", "run chmod 0400");
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_view),          cmocka_unit_test(test_trace),
        cmocka_unit_test(test_shard_trouble), cmocka_unit_test(test_coordinator_trouble),
        cmocka_unit_test(test_unreachable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
