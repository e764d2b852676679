/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding and running commands, and the commands about commands. */
#include "sim/script/script.h"

#include <string.h>

#include "sim/script/private.h"

struct sim_script *sim_script_create(void)
{
    struct sim_script *c = g_new0(struct sim_script, 1);
    g_queue_init(&c->pending);
    return c;
}

void sim_script_destroy(struct sim_script *c)
{
    if (c == NULL)
        return;
    script_later_free(c);
    g_free(c);
}

void sim_script_extend(struct sim *s, sim_script_more *more, void *user)
{
    s->script->more = more;
    s->script->user = user;
}

bool script_fail(struct script_call *c, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_string_append(c->out, "error: ");
    if (c->where != NULL)
        g_string_append_printf(c->out, "%s: ", c->where);
    if (c->argc > 0)
        g_string_append_printf(c->out, "%s: ", script_shown(c->argv[0]));
    g_string_append_vprintf(c->out, format, ap);
    g_string_append_c(c->out, '\n');
    va_end(ap);
    return false;
}

/* -- commands about commands ------------------------------------------------------------------- */

static void show_command(GString *out, const struct script_command *k)
{
    g_autofree char *usage = g_strdup_printf("%s %s", k->name, k->words);
    g_string_append_printf(out, "%-38s  %s\n", g_strchomp(usage), k->help);
}

static bool unknown(struct script_call *c, const char *name)
{
    size_t count;
    const struct script_table *tables = script_tables(&count);
    for (size_t i = 0; i < count; i++) {
        const char *near = script_nearest(name, tables[i].commands, tables[i].count,
                                          sizeof(struct script_command));
        if (near != NULL)
            return script_fail(c, "there is no such command: did you mean %s? See help", near);
    }
    return script_fail(c, "there is no such command: see help");
}

static bool do_help(struct script_call *c)
{
    size_t count;
    const struct script_table *tables = script_tables(&count);
    if (c->argc == 2) {
        const struct script_command *k = script_find(c->argv[1]);
        if (k == NULL) {
            c->argv++;
            c->argc--;
            return unknown(c, c->argv[0]);
        }
        if (!c->dry)
            show_command(c->out, k);
        return true;
    }
    for (size_t i = 0; i < count && !c->dry; i++)
        for (size_t j = 0; j < tables[i].count; j++)
            show_command(c->out, &tables[i].commands[j]);
    return true;
}

/* The server's: clients, drop, quit. */
static bool do_more(struct script_call *c)
{
    struct sim_script *script = c->s->script;
    bool ok = true;
    if (c->dry)
        return true;
    if (script->more != NULL && script->more(script->user, c->argc, c->argv, c->out, &ok))
        return ok;
    return script_fail(c, "only a running heddle-sim with clients knows this");
}

static const struct script_command own[] = {
    {"help", "[COMMAND]", "these lines, or the one of a command", 0, 1, do_help},
    {"clients", "", "who is attached", 0, 0, do_more},
    {"drop", "SLOT", "free a client's slot", 1, 1, do_more},
    {"at", "TIME COMMAND", "run it then: from now; in a script, from its start", 2, -1, script_at},
    {"every", "TIME COMMAND", "run it again and again", 2, -1, script_every},
    {"cancel", "", "end all of at and every", 0, 0, script_cancel},
    {"run", "FILE", "a script of these commands; nothing runs when a line is wrong", 1, 1,
     script_run},
    {"quit", "", "end the simulator", 0, 0, do_more},
};

const struct script_table *script_tables(size_t *count)
{
    static struct script_table tables[5];
    tables[0] = script_show_table;
    tables[1] = script_fault_table;
    tables[2] = script_traffic_table;
    tables[3] = script_judge_table;
    tables[4] = SCRIPT_TABLE(own);
    *count = G_N_ELEMENTS(tables);
    return tables;
}

const struct script_command *script_find(const char *name)
{
    size_t count;
    const struct script_table *tables = script_tables(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < tables[i].count; j++)
            if (strcmp(tables[i].commands[j].name, name) == 0)
                return &tables[i].commands[j];
    return NULL;
}

bool script_dispatch(struct script_call *c)
{
    const struct script_command *k = script_find(c->argv[0]);
    if (k == NULL)
        return unknown(c, c->argv[0]);
    int words = c->argc - 1;
    if (words < k->min || (k->max >= 0 && words > k->max))
        return script_fail(c, "too %s words: it is %s%s%s", words < k->min ? "few" : "many",
                           k->name, *k->words != '\0' ? " " : "", k->words);
    return k->fn(c);
}

bool script_do_line(struct script_call *c, const char *line)
{
    const char *error = NULL;
    g_autoptr(GPtrArray) words = script_split(line, &error);
    if (words == NULL)
        return script_fail(c, "%s", error);
    if (words->len == 1) /* the NULL */
        return true;
    c->argc = (int)words->len - 1;
    c->argv = (char **)words->pdata;
    bool ok = script_dispatch(c);
    c->argc = 0;
    c->argv = NULL;
    return ok;
}

/* -- interface --------------------------------------------------------------------------------- */

bool sim_script_line(struct sim *s, const char *line, int64_t now, GString *out)
{
    unsigned lines = 0;
    struct script_call c = {.s = s, .out = out, .lines = &lines};
    sim_run(s, now);
    bool ok = script_do_line(&c, line);
    if (ok)
        g_string_append(out, "ok\n");
    return ok;
}

bool sim_script_check(struct sim *s, const char *line, GString *out)
{
    unsigned lines = 0;
    struct script_call c = {.s = s, .out = out, .dry = true, .lines = &lines};
    bool ok = script_do_line(&c, line);
    if (ok)
        g_string_append(out, "ok\n");
    return ok;
}

bool sim_script_start(struct sim *s, const char *path, int64_t now, GString *out)
{
    unsigned lines = 0;
    struct script_call c = {.s = s, .out = out, .lines = &lines};
    sim_run(s, now);
    bool ok = script_file(&c, path);
    if (ok)
        g_string_append(out, "ok\n");
    return ok;
}
