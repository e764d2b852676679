/* SPDX-License-Identifier: BSD-2-Clause */
/* Options and arguments of all commands, and the lines that tell what is wrong. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_TIMEOUT_S 10.0
#define MAX_TIMEOUT_S 86400.0

static void print_line(const char *format, va_list ap, const struct cli *hint)
{
    g_autofree char *text = g_strdup_vprintf(format, ap);
    if (hint == NULL)
        fprintf(stderr, "heddle: %s\n", text);
    else
        fprintf(stderr, "heddle: %s; see heddle %s%s--help\n", text,
                hint->command != NULL ? hint->command : "", hint->command != NULL ? " " : "");
}

int cli_fail(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    print_line(format, ap, NULL);
    va_end(ap);
    return CLI_FAILED;
}

int cli_usage(const struct cli *c, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    print_line(format, ap, c);
    va_end(ap);
    return CLI_USAGE;
}

int cli_end(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return cli_fail("cannot write the output: %s", g_strerror(errno));
}

void cli_init(struct cli *c)
{
    *c = (struct cli){.timeout_s = DEFAULT_TIMEOUT_S};
}

void cli_clear(struct cli *c)
{
    g_free(c->config);
    g_free(c->dir);
}

static gboolean parse_timeout(const char *name, const char *value, gpointer data, GError **error)
{
    struct cli *c = data;
    char *end;
    double s = g_ascii_strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(s) || s < 0 || s > MAX_TIMEOUT_S) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s %s: expected seconds, from 0 to %.0f", name, value, MAX_TIMEOUT_S);
        return FALSE;
    }
    c->timeout_s = s;
    c->timeout_given = true;
    return TRUE;
}

/* The main group of a context: the command's own options and those shared ones that it takes. */
static GOptionGroup *make_group(struct cli *c, unsigned takes, const GOptionEntry *entries)
{
    const GOptionEntry with_config[] = {
        {"config", 0, 0, G_OPTION_ARG_FILENAME, &c->config,
         "operator's configuration (else $HEDDLE_CONFIG, else /etc/heddle/operator.conf)", "FILE"},
        {"dir", 0, 0, G_OPTION_ARG_FILENAME, &c->dir,
         "use D/operator.conf, as `heddle lab up --dir D` writes it", "D"},
        {"timeout", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_timeout,
         "give up after S seconds (10)", "S"},
        {0}};
    const GOptionEntry with_json[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &c->json, "print JSON", NULL}, {0}};
    GOptionGroup *group = g_option_group_new("heddle", "", "", c, NULL);
    if (entries != NULL)
        g_option_group_add_entries(group, entries);
    if (takes & CLI_TAKES_JSON)
        g_option_group_add_entries(group, with_json);
    if (takes & CLI_TAKES_CONFIG)
        g_option_group_add_entries(group, with_config);
    return group;
}

/* GOption's messages begin with a capital and are otherwise what we want. */
static int complain(const struct cli *c, const GError *error)
{
    g_autofree char *text = g_strdup(error->message);
    text[0] = g_ascii_tolower(text[0]);
    return cli_usage(c, "%s", text);
}

static bool parse(struct cli *c, GOptionContext *context, int *argc, char ***argv)
{
    g_autoptr(GError) error = NULL;
    if (g_option_context_parse(context, argc, argv, &error))
        return true;
    complain(c, error);
    return false;
}

bool cli_parse_first(struct cli *c, const char *usage, int *argc, char ***argv)
{
    const GOptionEntry own[] = {
        {"version", 0, 0, G_OPTION_ARG_NONE, &c->version, "print the version", NULL}, {0}};
    g_autoptr(GOptionContext) context = g_option_context_new("COMMAND");
    g_set_prgname("heddle");
    g_option_context_set_description(context, usage);
    g_option_context_set_strict_posix(context, TRUE);
    g_option_context_set_main_group(context, make_group(c, CLI_TAKES_CONFIG | CLI_TAKES_JSON, own));
    return parse(c, context, argc, argv);
}

/* An option before the command that the command has no use for was meant otherwise. */
static bool check_first_options(const struct cli *c)
{
    const char *what = NULL;
    if (c->json && !(c->takes & CLI_TAKES_JSON))
        what = "--json";
    if ((c->config || c->dir || c->timeout_given) && !(c->takes & CLI_TAKES_CONFIG))
        what = c->config ? "--config" : c->dir ? "--dir" : "--timeout";
    if (what == NULL)
        return true;
    cli_usage(c, "%s does not take %s", c->command, what);
    return false;
}

static bool check_count(const struct cli *c, const char *params, int min, int max, int argc,
                        char **argv)
{
    if (argc - 1 > max)
        cli_usage(c, "unexpected argument \"%s\"", argv[1 + max]);
    else if (argc - 1 < min)
        cli_usage(c, "missing argument: heddle %s %s", c->command, params);
    else
        return true;
    return false;
}

bool cli_parse(struct cli *c, const char *params, const char *details, const GOptionEntry *entries,
               int min, int max, int *argc, char ***argv)
{
    if (!check_first_options(c))
        return false;
    g_autofree char *name = g_strdup_printf("heddle %s", c->command);
    g_autoptr(GOptionContext) context = g_option_context_new(params);
    g_set_prgname(name);
    g_option_context_set_summary(context, c->summary);
    g_option_context_set_description(context, details);
    g_option_context_set_main_group(context, make_group(c, c->takes, entries));
    if (!parse(c, context, argc, argv))
        return false;
    if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
        (*argv)[1] = (*argv)[0];
        ++*argv, --*argc;
    }
    if (c->config != NULL && c->dir != NULL) {
        cli_usage(c, "give --config or --dir, not both");
        return false;
    }
    return check_count(c, params, min, max, *argc, *argv);
}
