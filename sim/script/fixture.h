/* SPDX-License-Identifier: BSD-2-Clause */
/* A small fabric to run commands on: included by the tests of this folder only, after cmocka. */
#ifndef SIM_SCRIPT_FIXTURE_H
#define SIM_SCRIPT_FIXTURE_H

#include <string.h>

#include "fabric/read.h"
#include "sim/script/private.h"

static const char text[] =
    "switchguid=0x10\n"
    "Switch 4 \"S-0000000000000010\" # \"leaf [1]\" enhanced port 0 lid 1 lmc 0\n"
    "[1] \"H-0000000000000020\"[1] # \"host a\" lid 2 4xHDR\n"
    "[2] \"H-0000000000000020\"[2] # \"host a\" lid 3 4xHDR\n"
    "[3] \"H-0000000000000030\"[1] # \"hostb\" lid 4 4xHDR\n"
    "\n"
    "caguid=0x20\n"
    "Ca 2 \"H-0000000000000020\" # \"host a\"\n"
    "[1](21) \"S-0000000000000010\"[1] # lid 2 lmc 0 \"leaf [1]\" lid 1 4xHDR\n"
    "[2](22) \"S-0000000000000010\"[2] # lid 3 lmc 0 \"leaf [1]\" lid 1 4xHDR\n"
    "\n"
    "caguid=0x30\n"
    "Ca 1 \"H-0000000000000030\" # \"hostb\"\n"
    "[1](31) \"S-0000000000000010\"[3] # lid 4 lmc 0 \"leaf [1]\" lid 1 4xHDR\n";
enum { LEAF, HOST_A, HOST_B };
#define S 1000000000LL
#define MS 1000000LL

static GString *notes;

static void note(void *user, const char *line)
{
    g_string_append_printf(notes, "%s\n", line);
}

static int setup(void **state)
{
    struct sim_config config = {.seed = 1};
    struct sim_hooks hooks = {.note = note};
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_read_text("test", text, sizeof(text) - 1, messages);
    assert_non_null(f);
    notes = g_string_new(NULL);
    *state = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
    fabric_messages_destroy(messages);
    return 0;
}

static int teardown(void **state)
{
    sim_destroy(*state);
    g_string_free(notes, TRUE);
    return 0;
}

/* Runs the line; the answer lives until the next call. */
static const char *run(struct sim *s, const char *line)
{
    static GString *out;
    if (out == NULL)
        out = g_string_new(NULL);
    g_string_truncate(out, 0);
    bool ok = sim_script_line(s, line, s->now, out);
    assert_int_equal(ok, g_str_has_suffix(out->str, "ok\n"));
    assert_true(out->len > 0 && out->str[out->len - 1] == '\n');
    const char *last = g_strrstr_len(out->str, (gssize)out->len - 1, "\n");
    last = last != NULL ? last + 1 : out->str;
    assert_int_equal(ok, strcmp(last, "ok\n") == 0);
    assert_int_equal(!ok, g_str_has_prefix(last, "error: "));
    return out->str;
}

static void assert_ok(struct sim *s, const char *line)
{
    const char *answer = run(s, line);
    if (!g_str_has_suffix(answer, "ok\n"))
        fail_msg("%s: %s", line, answer);
}

#endif
