/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer target: lines are checked and, unless they name files, run on a small fabric. What a
 * check accepts must never be refused for its words when it runs, and each answer ends as it must.
 *
 * script_fuzz -max_total_time=60 DIR, into which it writes new inputs. */
#include <stdlib.h>
#include <string.h>

#include "fabric/generate.h"
#include "sim/script/private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SPEC "pgft:2:2,2:1,1:1,1"
#define STEP_NS 1000000LL

static struct sim *create(void)
{
    char error[256];
    struct fabric *f = fabric_generate(SPEC, error, sizeof(error));
    struct sim_config config = {.seed = 1};
    struct sim_hooks hooks = {0};
    if (f == NULL)
        abort();
    struct sim *s = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
    return s;
}

static bool names_files(const char *line)
{
    return strstr(line, "log") != NULL || strstr(line, "dump") != NULL ||
           strstr(line, "run") != NULL || strchr(line, '"') != NULL;
}

static void one_line(struct sim *s, const char *line, int64_t now)
{
    g_autoptr(GString) out = g_string_new(NULL);
    bool good = sim_script_check(s, line, out);
    if (out->len == 0 || out->str[out->len - 1] != '\n' ||
        good != (strcmp(out->str, "ok\n") == 0) || good == g_str_has_prefix(out->str, "error: "))
        abort();
    if (!good || names_files(line))
        return;
    g_string_truncate(out, 0);
    good = sim_script_line(s, line, now, out);
    if (good != g_str_has_suffix(out->str, "ok\n"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim *s = create();
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", 32);
    int64_t now = 0;
    for (unsigned i = 0; lines[i] != NULL; i++)
        one_line(s, lines[i], now += STEP_NS);
    sim_run(s, now + STEP_NS);
    sim_destroy(s);
    return 0;
}
