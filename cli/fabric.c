/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle fabric: work on fabric files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <glib/gstdio.h>

#include "cli/cli.h"
#include "cli/load.h"
#include "fabric/generate.h"
#include "fabric/write.h"

struct fabric *load_fabric(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    for (size_t i = 0; i < fabric_messages_total(messages); i++)
        fprintf(stderr, "%s\n", fabric_messages_text(messages, i));
    fabric_messages_destroy(messages);
    return f;
}

static int write_stream(const struct fabric *f, const char *path)
{
    bool is_stdout = strcmp(path, "-") == 0;
    FILE *out = is_stdout ? stdout : fopen(path, "we");
    if (out == NULL)
        return errno;
    int rc = fabric_write(f, out);
    if (!is_stdout && fclose(out) != 0 && rc == 0)
        rc = errno;
    return rc;
}

/* A regular file appears whole or not at all: somebody may read the old one just now. */
static int write_whole(const struct fabric *f, const char *path)
{
    g_autofree char *part = g_strdup_printf("%s.part", path);
    int rc = write_stream(f, part);
    if (rc == 0 && g_rename(part, path) != 0)
        rc = errno;
    if (rc != 0)
        g_unlink(part);
    return rc;
}

int save_fabric(const struct fabric *f, const char *path)
{
    bool whole = strcmp(path, "-") != 0 && (!g_file_test(path, G_FILE_TEST_EXISTS) ||
                                            g_file_test(path, G_FILE_TEST_IS_REGULAR));
    int rc = whole ? write_whole(f, path) : write_stream(f, path);
    if (rc == 0)
        return CLI_OK;
    return cli_fail("cannot write %s: %s", strcmp(path, "-") == 0 ? "to stdout" : path,
                    g_strerror(rc));
}

static char *convert_details(void)
{
    GString *s = g_string_new("SPEC is the output of ibnetdiscover, a net file of ibsim, or a "
                              "generator (an example of each below):\n");
    const struct fabric_generator *g;
    for (size_t i = 0; (g = fabric_generator_at(i)) != NULL; i++)
        g_string_append_printf(s, "  %s\n    %s (%s)\n", g->grammar, g->example, g->counts);
    g_string_append(s, "OUT is a file, or - for stdout. What was odd in SPEC is said on stderr.");
    return g_string_free(s, FALSE);
}

int fabric_convert_run(struct cli *c, int argc, char **argv)
{
    g_autofree char *details = convert_details();
    if (!cli_parse(c, "SPEC OUT", details, NULL, 2, 2, &argc, &argv))
        return CLI_USAGE;
    struct fabric *f = load_fabric(argv[1]);
    if (f == NULL)
        return CLI_FAILED;
    int status = save_fabric(f, argv[2]);
    fabric_destroy(f);
    return status;
}
