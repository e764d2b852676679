/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands to the judge. */
#include "sim/judge/judge.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "sim/script/private.h"

#define DEFAULT_LIMIT 100u
#define MAX_LIMIT 10000000u

static bool do_log(struct script_call *c)
{
    bool off = strcmp(c->argv[1], "off") == 0;
    if (!off && *c->argv[1] == '\0')
        return script_fail(c, "name a file, or off");
    if (c->dry)
        return true;
    int failed = sim_judge_log(c->s, off ? NULL : c->argv[1]);
    if (failed != 0)
        return script_fail(c, "%s: %s: name a file that can be written", script_shown(c->argv[1]),
                           g_strerror(failed));
    return true;
}

static bool name_snapshot(struct script_call *c, const char *name)
{
    if (*name != '\0' && strlen(name) <= 64 && strcmp(name, "now") != 0)
        return true;
    return script_fail(c, "\"%s\" is no name of a snapshot: 1 to 64 bytes, not \"now\"",
                       script_shown(name));
}

static bool do_snapshot(struct script_call *c)
{
    if (!name_snapshot(c, c->argv[1]))
        return false;
    if (!c->dry)
        sim_judge_snapshot(c->s, c->argv[1]);
    return true;
}

static bool do_forget(struct script_call *c)
{
    if (!name_snapshot(c, c->argv[1]))
        return false;
    if (c->dry || sim_judge_forget(c->s, c->argv[1]))
        return true;
    return script_fail(c, "there is no snapshot \"%s\"", script_shown(c->argv[1]));
}

static bool do_compare(struct script_call *c)
{
    uint64_t limit = DEFAULT_LIMIT;
    struct script_option options[] = {
        {.name = "limit", .kind = SCRIPT_NUMBER, .max = MAX_LIMIT, .value = &limit}};
    for (int i = 1; i <= 2; i++)
        if (strcmp(c->argv[i], "now") != 0 && !name_snapshot(c, c->argv[i]))
            return false;
    if (!script_options(c, 3, options, G_N_ELEMENTS(options)))
        return false;
    if (c->dry || sim_judge_compare(c->s, c->argv[1], c->argv[2], (unsigned)limit, c->out))
        return true;
    return script_fail(c, "there is no snapshot \"%s\" or \"%s\": take it with snapshot",
                       script_shown(c->argv[1]), script_shown(c->argv[2]));
}

typedef void dump_fn(struct sim *s, uint32_t node, FILE *out);

static bool find_dump(struct script_call *c, dump_fn **fn)
{
    static const struct {
        const char *name;
        dump_fn *fn;
    } kinds[] = {{"lft", sim_judge_dump_lft}, {"mft", sim_judge_dump_mft}, {"all", sim_judge_dump}};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i].name, c->argv[1]) == 0) {
            *fn = kinds[i].fn;
            return true;
        }
    return script_fail(c, "\"%s\" must be lft, mft or all", script_shown(c->argv[1]));
}

static bool write_dump(struct script_call *c, const char *path, dump_fn *fn, uint32_t node)
{
    char why[160];
    if (!file_is_regular(path, why, sizeof(why)) && errno != ENOENT)
        return script_fail(c, "%s: %s: name a file that can be written", script_shown(path), why);
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return script_fail(c, "%s: %s: name a file that can be written", script_shown(path),
                           g_strerror(errno));
    fn(c->s, node, out);
    bool written = !ferror(out);
    if (fclose(out) == 0 && written)
        return true;
    return script_fail(c, "%s: not all could be written: %s", script_shown(path),
                       g_strerror(errno));
}

static bool do_dump(struct script_call *c)
{
    dump_fn *fn = NULL;
    uint32_t node = SIM_NONE;
    if (!find_dump(c, &fn))
        return false;
    if (c->argc > 3 && !script_node(c, c->argv[3], &node))
        return false;
    if (node != SIM_NONE && c->s->nodes[node].sw == NULL)
        return script_fail(c, "%s is no switch: name one, or none for all",
                           script_shown(c->argv[3]));
    return c->dry || write_dump(c, c->argv[2], fn, node);
}

static const struct script_command commands[] = {
    {"log", "FILE|off", "the judge's log of each Set", 1, 1, do_log},
    {"snapshot", "NAME", "keep what managers wrote until now", 1, 1, do_snapshot},
    {"forget", "NAME", "drop a snapshot", 1, 1, do_forget},
    {"compare", "A B|now [limit=N]", "what differs, at most so many lines (100), then totals", 2, 3,
     do_compare},
    {"dump", "lft|mft|all FILE [NODE]", "forwarding tables as dump_lfts writes them", 2, 3,
     do_dump},
};

const struct script_table script_judge_table = {commands, G_N_ELEMENTS(commands)};
