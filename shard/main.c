/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle-shard: one of the processes that together manage a subnet. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/log.h"
#include "shard/config.h"
#include "shard/shell.h"

enum { EXIT_USAGE = 2 };

static const char usage[] =
    "Usage: heddle-shard -c FILE [--check] [--log-level LEVEL]\n"
    "\n"
    "Manages a part of an InfiniBand subnet together with other shards.\n"
    "\n"
    "  -c, --config FILE      configuration (see packaging/examples/shard.conf)\n"
    "      --check            report every error of FILE and exit; starts nothing\n"
    "      --log-level LEVEL  error, warning, notice, info or debug (before log_level of FILE)\n"
    "      --version          print the version and exit\n"
    "  -h, --help             print this text and exit\n"
    "\n"
    "Log lines go to stderr or the journal. SIGTERM and SIGINT end it with status 0.\n";

struct arguments {
    const char *config;
    const char *log_level;
    bool check;
};

/* Returns -1 to go on, else the exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    enum { OPT_CHECK = 256, OPT_LEVEL, OPT_VERSION };
    static const struct option options[] = {{"config", required_argument, NULL, 'c'},
                                            {"check", no_argument, NULL, OPT_CHECK},
                                            {"log-level", required_argument, NULL, OPT_LEVEL},
                                            {"version", no_argument, NULL, OPT_VERSION},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    opterr = 0; /* one line of our own */
    for (int o; (o = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        switch (o) {
        case 'c':
            a->config = optarg;
            break;
        case OPT_CHECK:
            a->check = true;
            break;
        case OPT_LEVEL:
            a->log_level = optarg;
            break;
        case OPT_VERSION:
            printf("heddle-shard %s\n", HEDDLE_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        default:
            fprintf(stderr,
                    "heddle-shard: option \"%s\" is unknown or lacks its value; see "
                    "heddle-shard --help\n",
                    argv[optind - 1]);
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "heddle-shard: unexpected argument \"%s\"; see heddle-shard --help\n",
                argv[optind]);
        return EXIT_USAGE;
    }
    if (a->config == NULL) {
        fputs("heddle-shard: -c FILE is missing; see heddle-shard --help\n", stderr);
        return EXIT_USAGE;
    }
    return -1;
}

static void print_errors(const GPtrArray *errors)
{
    for (guint i = 0; i < errors->len; i++)
        fprintf(stderr, "heddle-shard: %s\n", (const char *)errors->pdata[i]);
}

static int run(const struct shard_config *config, enum log_level level)
{
    log_open(config->name, level);
    struct shell *shell = NULL;
    char error[1024] = "";
    if (shell_create(config, &shell, error, sizeof(error)) != 0) {
        fprintf(stderr, "heddle-shard: %s\n", error);
        return EXIT_FAILURE;
    }
    int rc = shell_run(shell);
    shell_destroy(shell);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct arguments a = {0};
    int status = parse_arguments(argc, argv, &a);
    if (status >= 0)
        return status;
    enum log_level level = HL_NOTICE;
    if (a.log_level != NULL && !log_level_parse(a.log_level, &level)) {
        fprintf(stderr,
                "heddle-shard: --log-level %s: it must be error, warning, notice, info or debug\n",
                a.log_level);
        return EXIT_USAGE;
    }
    if (sodium_init() < 0) {
        fputs("heddle-shard: libsodium cannot start\n", stderr);
        return EXIT_FAILURE;
    }
    signal(SIGPIPE, SIG_IGN);
    GPtrArray *errors = g_ptr_array_new_with_free_func(g_free);
    struct shard_config *config = shard_config_read(a.config, errors);
    status = EXIT_FAILURE;
    if (errors->len > 0)
        print_errors(errors);
    else if (a.check)
        status = printf("%s: no errors\n", a.config) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    else
        status = run(config, a.log_level != NULL ? level : config->log_level);
    g_ptr_array_free(errors, TRUE);
    shard_config_free(config);
    return status;
}
