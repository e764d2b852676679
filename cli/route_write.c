/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that appear whole or not at all. */
#include "cli/route_write.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "cli/cli.h"

typedef int (*writer)(FILE *out, void *context);

static int write_stream(FILE *out, writer write, void *context)
{
    errno = 0;
    int rc = write(out, context);
    if (fflush(out) != 0 && rc == 0)
        rc = errno;
    return rc == 0 && ferror(out) ? (errno ? errno : EIO) : rc;
}

static int write_file(const char *path, writer write, void *context)
{
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return errno;
    int rc = write_stream(out, write, context);
    if (fclose(out) != 0 && rc == 0)
        rc = errno;
    return rc;
}

/* Somebody may read the old file just now, and may find nothing half written. */
static int write_whole(const char *path, writer write, void *context)
{
    g_autofree char *part = g_strdup_printf("%s.part", path);
    int rc = write_file(part, write, context);
    if (rc == 0 && g_rename(part, path) != 0)
        rc = errno;
    if (rc != 0)
        g_unlink(part);
    return rc;
}

static bool is_whole(const char *path)
{
    return !g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

static int result_of(const char *path, int rc)
{
    if (rc == 0)
        return CLI_OK;
    return cli_fail("cannot write %s: %s", strcmp(path, "-") == 0 ? "to stdout" : path,
                    g_strerror(rc));
}

int route_write(const char *path, writer write, void *context)
{
    if (strcmp(path, "-") == 0)
        return result_of(path, write_stream(stdout, write, context));
    return result_of(path, is_whole(path) ? write_whole(path, write, context)
                                          : write_file(path, write, context));
}

int route_write_possible(const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return CLI_OK;
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return result_of(path, EISDIR);
    g_autofree char *folder = g_path_get_dirname(path);
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
        return result_of(path, g_file_test(folder, G_FILE_TEST_EXISTS) ? ENOTDIR : ENOENT);
    return result_of(path, access(is_whole(path) ? folder : path, W_OK) == 0 ? 0 : errno);
}

static int dump(FILE *out, void *json)
{
    if (json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0)
        return errno ? errno : EIO;
    return fputc('\n', out) == EOF ? errno : 0;
}

int route_write_json(const char *path, json_t *json)
{
    return route_write(path, dump, json);
}
