/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle: the table of commands and the way to them. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct command {
    const char *words; /* one or two */
    const char *summary;
    unsigned takes;
    int (*run)(struct cli *c, int argc, char **argv);
};

#define TAKES_ALL (CLI_TAKES_CONFIG | CLI_TAKES_JSON)

static const struct command commands[] = {
    {"status", "Show the cluster: converged or why not, shards, domains, takeovers, problems",
     TAKES_ALL, status_run},
    {"shard list", "List the shards", TAKES_ALL, shard_list_run},
    {"domain list", "List the domains, their owners and epochs", TAKES_ALL, domain_list_run},
    {"node list", "List switches and end ports, or ports that are not ACTIVE and why", TAKES_ALL,
     node_list_run},
    {"route trace", "Show the path between two ports", TAKES_ALL, route_trace_run},
    {"route check", "Check a plan, or tables read back from switches", TAKES_ALL, route_check_run},
    {"route compute", "Compute tables of a fabric, without a cluster", CLI_TAKES_NONE,
     route_compute_run},
    {"route quality", "Measure how evenly tables spread traffic", CLI_TAKES_NONE,
     route_quality_run},
    {"route compare", "Show what several engines make of a fabric side by side", CLI_TAKES_NONE,
     route_compare_run},
    {"route degrade", "Take links or switches away, and show tables before and after",
     CLI_TAKES_NONE, route_degrade_run},
    {"topology export", "Write the fabric that a shard sees, as ibnetdiscover does",
     CLI_TAKES_CONFIG, topology_export_run},
    {"fabric convert", "Read a fabric (a file or a generator) and write it as ibnetdiscover does",
     CLI_TAKES_NONE, fabric_convert_run},
    {"keys generate", "Make a key file", CLI_TAKES_NONE, keys_generate_run},
    {"lab", "Run a whole cluster on one machine over a simulated fabric", CLI_TAKES_NONE, lab_run},
};

/* Whether the words of a command begin with those of argv; *used = how many words it has. */
static bool matches(const struct command *k, int argc, char **argv, int *used)
{
    const char *blank = strchr(k->words, ' ');
    size_t first = blank ? (size_t)(blank - k->words) : strlen(k->words);
    *used = blank ? 2 : 1;
    if (argc < 1 || strlen(argv[0]) != first || strncmp(argv[0], k->words, first) != 0)
        return false;
    return blank == NULL || (argc > 1 && strcmp(argv[1], blank + 1) == 0);
}

/* The commands whose first word this is, or all with NULL; empty = there are none. */
static char *list_commands(const char *first)
{
    GString *s = g_string_new(NULL);
    g_autofree char *prefix = first ? g_strdup_printf("%s ", first) : g_strdup("");
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (g_str_has_prefix(commands[i].words, prefix))
            g_string_append_printf(s, "  %-18s%s\n", commands[i].words, commands[i].summary);
    return g_string_free(s, FALSE);
}

static bool asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* A first word alone, with --help, or with a second word that does not belong to it. */
static int run_group(struct cli *c, int argc, char **argv)
{
    g_autofree char *list = list_commands(argv[0]);
    if (*list == '\0') {
        return cli_usage(c, "unknown command \"%s\"", argv[0]);
    }
    c->command = argv[0];
    if (argc > 1 && asks_help(argv[1])) {
        printf("Usage:\n  heddle %s COMMAND [OPTION...]\n\nCommands:\n%s\n"
               "heddle %s COMMAND --help says more of each.\n",
               argv[0], list, argv[0]);
        return cli_end(CLI_OK);
    }
    if (argc > 1)
        return cli_usage(c, "unknown command \"%s %s\"", argv[0], argv[1]);
    return cli_usage(c, "\"%s\" is the first word of several commands", argv[0]);
}

static int dispatch(struct cli *c, int argc, char **argv)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        const struct command *k = &commands[i];
        int used;
        if (!matches(k, argc, argv, &used))
            continue;
        c->command = k->words;
        c->summary = k->summary;
        c->takes = k->takes;
        return k->run(c, argc - used + 1, argv + used - 1);
    }
    return run_group(c, argc, argv);
}

static int run(struct cli *c, int argc, char **argv)
{
    g_autofree char *list = list_commands(NULL);
    g_autofree char *usage =
        g_strdup_printf("Commands:\n%s\nheddle COMMAND --help says more of each.\n"
                        "Exit status: 0 = done, 1 = failed or found something, 2 = called wrongly.",
                        list);
    if (!cli_parse_first(c, usage, &argc, &argv))
        return CLI_USAGE;
    if (c->version) {
        printf("heddle %s\n", HEDDLE_VERSION);
        return cli_end(CLI_OK);
    }
    if (argc > 1 && strcmp(argv[1], "--") == 0)
        argc--, argv++;
    if (argc < 2)
        return cli_usage(c, "no command given");
    return dispatch(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    struct cli c;
    signal(SIGPIPE, SIG_IGN); /* `heddle node list | head`: EPIPE ends the output instead */
    setlocale(LC_CTYPE,
              "C.UTF-8"); /* --help has an ellipsis; numbers and messages stay as they are */
    cli_init(&c);
    int status = run(&c, argc, argv);
    cli_clear(&c);
    return status;
}
