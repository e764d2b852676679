/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle, the operators' command: what its parts share.
 *
 * Every command is a function `int x_run(struct cli *c, int argc, char **argv)` in the table of
 * main.c. It takes its options and arguments apart with cli_parse, does its work and returns the
 * exit status: 0, CLI_FAILED after one line on stderr that says what to do, or CLI_USAGE when it
 * was called wrongly. Results go to stdout through a struct output (output.h).
 *
 * Threads: one. A command ends with its process, so small things may be left to the system. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

enum cli_status {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
};

enum cli_takes { /* which of the shared options a command has a use for */
                 CLI_TAKES_NONE = 0,
                 CLI_TAKES_CONFIG = 1, /* --config, --dir, --timeout */
                 CLI_TAKES_JSON = 2,   /* --json */
};

struct cli {
    const char *command; /* "fabric convert"; NULL before it is known */
    const char *summary; /* one line of it */
    unsigned takes;      /* enum cli_takes */
    char *config, *dir;  /* NULL = not given */
    double timeout_s;
    bool timeout_given;
    gboolean json, version;
    char *json_file; /* of a command that takes one: where JSON goes, NULL = nowhere but stdout */
};

void cli_init(struct cli *c);
void cli_clear(struct cli *c);
/* Options before the command's words: stops at the first word that is no option. Afterwards
 * argv[1..] are the words. --help prints `usage` and ends the process with status 0. False after
 * a line on stderr. */
bool cli_parse_first(struct cli *c, const char *usage, int *argc, char ***argv);
/* Options and arguments after the command's words (argv[0] is the last of them). params is what
 * --help shows of the arguments ("SRC DST", "" = none), details a paragraph of it, or NULL.
 * entries are the command's own options, or NULL. Afterwards argv[1..argc-1] are the arguments,
 * from min to max of them. --help prints and ends the process with status 0. False after a line on
 * stderr. */
bool cli_parse(struct cli *c, const char *params, const char *details, const GOptionEntry *entries,
               int min, int max, int *argc, char ***argv);

/* "heddle: ..." on stderr. Returns CLI_FAILED. */
int cli_fail(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same with "; see heddle COMMAND --help". Returns CLI_USAGE. */
int cli_usage(const struct cli *c, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* For the end of a command that printed: status, or CLI_FAILED after a line on stderr when stdout
 * could not take it all. */
int cli_end(int status);

int fabric_convert_run(struct cli *c, int argc, char **argv);
int keys_generate_run(struct cli *c, int argc, char **argv);
int lab_run(struct cli *c, int argc, char **argv);
int status_run(struct cli *c, int argc, char **argv);
int shard_list_run(struct cli *c, int argc, char **argv);
int domain_list_run(struct cli *c, int argc, char **argv);
int node_list_run(struct cli *c, int argc, char **argv);
int route_trace_run(struct cli *c, int argc, char **argv);
int route_check_run(struct cli *c, int argc, char **argv);
int route_compare_run(struct cli *c, int argc, char **argv);
int route_compute_run(struct cli *c, int argc, char **argv);
int route_degrade_run(struct cli *c, int argc, char **argv);
int route_quality_run(struct cli *c, int argc, char **argv);
int topology_export_run(struct cli *c, int argc, char **argv);

#endif
