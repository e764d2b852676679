/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts: read, checked as a whole, then run line by line. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "sim/script/private.h"

static bool load(struct script_call *c, const char *path, char **text)
{
    char why[160];
    struct stat st;
    gsize len;
    if (!file_is_regular(path, why, sizeof(why)))
        return script_fail(c, "%s: %s: name a file of commands", script_shown(path), why);
    if (stat(path, &st) != 0 || st.st_size > (off_t)SCRIPT_MAX_BYTES)
        return script_fail(c, "%s: the script is too large: 32 MiB at most", script_shown(path));
    g_autoptr(GError) error = NULL;
    if (!g_file_get_contents(path, text, &len, &error))
        return script_fail(c, "%s", error->message);
    if (strlen(*text) == len)
        return true;
    g_clear_pointer(text, g_free);
    return script_fail(c, "%s: it holds a zero byte, so it is no text", script_shown(path));
}

/* The lines of text, checked (c is dry) or run. */
static bool each_line(struct script_call *c, const char *path, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) where = g_string_new(NULL);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        g_string_printf(where, "%s:%u", script_shown(path), i + 1);
        c->where = where->str;
        if (c->dry && ++*c->lines > SCRIPT_MAX_LINES)
            return script_fail(c, "more than %u lines, with those of the scripts that it runs",
                               SCRIPT_MAX_LINES);
        if (!script_do_line(c, lines[i]))
            return false;
    }
    return true;
}

bool script_file(struct script_call *c, const char *path)
{
    g_autofree char *text = NULL;
    unsigned lines = 0;
    if (c->depth >= SCRIPT_MAX_DEPTH)
        return script_fail(c, "%s: scripts that run scripts more than %u deep", script_shown(path),
                           SCRIPT_MAX_DEPTH);
    if (!load(c, path, &text))
        return false;
    struct script_call inner = {.s = c->s,
                                .out = c->out,
                                .dry = true,
                                .depth = c->depth + 1,
                                .lines = c->dry ? c->lines : &lines};
    if (!each_line(&inner, path, text))
        return false;
    if (c->dry)
        return true;
    inner.dry = false;
    inner.script_id = ++c->s->script->last_id;
    if (each_line(&inner, path, text))
        return true;
    script_cancel_id(c->s, inner.script_id);
    return false;
}

bool script_run(struct script_call *c)
{
    return script_file(c, c->argv[1]);
}
