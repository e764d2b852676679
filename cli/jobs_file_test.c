/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of jobs: forms that are taken, errors with their place, and damaged text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "cli/jobs_file.h"
#include "fabric/generate.h"

struct world {
    struct fabric *f;
    struct rt_graph *g;
};

/* Four hosts of two rails: CAs h00001-r1 .. h00004-r2. */
static int set_up(void **state)
{
    struct world *w = g_new0(struct world, 1);
    char error[256] = "";
    w->f = fabric_generate("rail:4:2:2:1", error, sizeof error);
    if (w->f == NULL)
        fail_msg("%s", error);
    assert_int_equal(rt_graph_from_fabric(w->f, &w->g, NULL), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    fabric_destroy(w->f);
    rt_graph_unref(w->g);
    g_free(w);
    return 0;
}

static uint32_t dest(const struct world *w, const char *desc)
{
    uint32_t node = fabric_find_desc(w->f, desc);
    assert_int_not_equal(node, FABRIC_NONE);
    return rt_find_dest_by_guid(w->g, w->f->nodes[node].ports[1].guid);
}

static void test_forms(void **state)
{
    const struct world *w = *state;
    const struct fabric_node *n = &w->f->nodes[fabric_find_desc(w->f, "h00004-r1")];
    g_autofree char *error = NULL;
    g_autofree char *text = g_strdup_printf(
        "# jobs\r\na: h00002 h00001,\r\n\t\"h00003-r2\" # one rail\nb:\n0x%016" PRIx64
        " h00003-r2+h00003-r1\n0x%016" PRIx64 "+h00001-r1\n",
        n->guid, w->g->dests[dest(w, "h00001-r2")].port_guid);
    struct jobs_file *j = jobs_read_text("f", text, strlen(text), w->f, w->g, &error);
    if (j == NULL)
        fail_msg("%s", error);
    assert_int_equal(j->count, 2);
    assert_string_equal(j->names[0], "a");
    assert_string_equal(j->names[1], "b");
    const uint32_t first_a[] = {0, 2, 4, 5}, first_b[] = {0, 1, 3, 5};
    const uint32_t dests_a[] = {dest(w, "h00002-r1"), dest(w, "h00002-r2"), dest(w, "h00001-r1"),
                                dest(w, "h00001-r2"), dest(w, "h00003-r2")};
    const uint32_t dests_b[] = {dest(w, "h00004-r1"), dest(w, "h00003-r2"), dest(w, "h00003-r1"),
                                dest(w, "h00001-r2"), dest(w, "h00001-r1")};
    assert_int_equal(j->jobs[0].server_count, 3);
    assert_int_equal(j->jobs[1].server_count, 3);
    assert_memory_equal(j->jobs[0].first, first_a, sizeof first_a);
    assert_memory_equal(j->jobs[1].first, first_b, sizeof first_b);
    assert_memory_equal(j->jobs[0].dests, dests_a, sizeof dests_a);
    assert_memory_equal(j->jobs[1].dests, dests_b, sizeof dests_b);
    jobs_free(j);
    jobs_free(NULL);
}

static void refuse(const struct world *w, const char *text, gsize len, const char *expected)
{
    g_autofree char *error = NULL;
    assert_null(jobs_read_text("f", text, len, w->f, w->g, &error));
    assert_non_null(error);
    if (!g_str_has_prefix(error, expected))
        fail_msg("'%s' is not '%s'", error, expected);
    assert_null(strchr(error, '\n'));
}

static void test_errors(void **state)
{
    static const char *const cases[][2] = {
        {"", "f:1: no job is in it"},
        {"# only this\n\n", "f:2: no job is in it"},
        {"h00001\n", "f:1: \"h00001\" stands before any job"},
        {"a: h00001\n   nobody\n", "f:2: \"nobody\" is no host of this fabric"},
        {"a: 0x1234\n", "f:1: \"0x1234\" is no host of this fabric"},
        {"a: h00001 h00001-r2\n", "f:1: \"h00001-r2\" is in this job already"},
        {"a:\n\nb: h00001\n", "f:1: \"a\" is a job without servers"},
        {"a: h00001\nb:\n", "f:2: \"b\" is a job without servers"},
        {"a: h00001\na: h00002\n", "f:2: \"a\" is the name of an earlier job"},
        {": h00001\n", "f:1: \":\" has no name"},
        {"a: \"h00001\n", "f:1: \"h00001\" has no closing quote"},
        {"a: \"\"\n", "f:1: \"\" is no host"},
        {"a: h00001-r1++h00001-r2\n", "f:1: \"\" is no host of this fabric"},
        {"a: s1-00001\n", "f:1: \"s1-00001\" is no host of this fabric"},
        {"a: h00001\x1b[31m\n", "f:1: \"h00001\\\\x1b[31m\" is no host"},
    };
    for (size_t i = 0; i + 1 < G_N_ELEMENTS(cases); i++)
        refuse(*state, cases[i][0], strlen(cases[i][0]), cases[i][1]);
    refuse(*state, cases[14][0], strlen(cases[14][0]), "f:1: \"h00001");
    refuse(*state, "a: \0h00001\n", 11, "f:1: \"a: \" is before a byte of value 0");
    const struct world *w = *state;
    g_autofree char *error = NULL;
    assert_null(jobs_load("/nowhere/jobs", w->f, w->g, &error));
    assert_true(g_str_has_prefix(error, "/nowhere/jobs: cannot be read"));
}

/* A name that stands for all hosts is no server. */
static void test_common_word(void **state)
{
    char error[256] = "";
    struct fabric *f = fabric_generate("pgft:1:70:1:1", error, sizeof error);
    struct rt_graph *g = NULL;
    assert_non_null(f);
    for (uint32_t i = 0; i < f->node_count; i++)
        if (f->nodes[i].type == FABRIC_CA)
            g_snprintf(f->nodes[i].desc, sizeof f->nodes[i].desc, "MT4123 Technologies %u", i);
    assert_int_equal(rt_graph_from_fabric(f, &g, NULL), 0);
    struct world w = {f, g};
    refuse(&w, "a: MT4123\n", 10, "f:1: \"MT4123\" stands for more than 64 ports");
    fabric_destroy(f);
    rt_graph_unref(g);
}

static void test_damage(void **state)
{
    const struct world *w = *state;
    static const char text[] = "a: h00001, \"h00002\" # x\nb:\n h00003-r1+h00003-r2 h00004\n";
    for (size_t i = 0; i < strlen(text); i++)
        for (unsigned byte = 0; byte < 256; byte++) {
            g_autofree char *changed = g_strdup(text), *error = NULL;
            changed[i] = (char)byte;
            struct jobs_file *j = jobs_read_text("f", changed, strlen(text), w->f, w->g, &error);
            assert_int_equal(j == NULL, error != NULL);
            jobs_free(j);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_common_word),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
