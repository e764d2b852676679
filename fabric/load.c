/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of fabric/: whole files into memory, included files, generator names in place of files. */
#include "fabric/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/generate.h"
#include "fabric/reader.h"

/* Opens without waiting for anybody; then reads wait for the writer of a pipe as usual. */
static int open_file(const char *path, FILE **in, bool *fifo)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENXIO ? ENOTSUP : errno; /* a socket */
    int rc = fstat(fd, &s) == 0 ? 0 : errno;
    if (rc == 0 && S_ISDIR(s.st_mode))
        rc = EISDIR;
    else if (rc == 0 && !S_ISREG(s.st_mode) && !S_ISFIFO(s.st_mode))
        rc = ENOTSUP;
    if (rc == 0 && (fcntl(fd, F_SETFL, 0) != 0 || (*in = fdopen(fd, "r")) == NULL))
        rc = errno;
    if (rc != 0)
        close(fd);
    *fifo = rc == 0 && S_ISFIFO(s.st_mode);
    return rc;
}

const char *fabric_file_error(int rc)
{
    if (rc == ENOTSUP)
        return "it is no regular file";
    return rc == ENODATA ? "it is a pipe that nobody writes to" : g_strerror(rc);
}

int fabric_read_file(const char *path, char **text, size_t *len)
{
    FILE *in = NULL;
    bool fifo = false;
    int rc = open_file(path, &in, &fifo);
    if (rc != 0)
        return rc;
    GString *all = g_string_new(NULL);
    char *block = g_malloc(FABRIC_BLOCK_BYTES);
    size_t got;
    errno = 0;
    while ((got = fread(block, 1, FABRIC_BLOCK_BYTES, in)) > 0 && rc == 0) {
        g_string_append_len(all, block, (gssize)got);
        if (all->len > FABRIC_MAX_FILE_BYTES)
            rc = EFBIG;
    }
    if (rc == 0 && ferror(in))
        rc = errno ? errno : EIO;
    if (rc == 0 && fifo && all->len == 0)
        rc = ENODATA;
    fclose(in);
    g_free(block);
    *len = all->len;
    *text = g_string_free(all, rc != 0);
    return rc;
}

/* A relative name is meant beside the file that holds the line. */
static void include_file(struct reader *r, const char *path)
{
    g_autofree char *dir = g_path_get_dirname(r->at.file);
    g_autofree char *full =
        g_path_is_absolute(path) ? g_strdup(path) : g_build_filename(dir, path, NULL);
    g_autofree char *text = NULL;
    size_t len;
    int rc = fabric_read_file(full, &text, &len);
    if (rc == 0)
        reader_feed(r, full, text, len);
    else
        fabric_report_error(&r->report, &r->at, "expected a file to include, found %s: %s", full,
                            fabric_file_error(rc));
}

static struct fabric *generate(const char *spec, struct fabric_messages *messages)
{
    char error[512];
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    if (f)
        return f;
    struct fabric_reporter report;
    const char *what = strstr(error, ": "); /* behind the spec, which the place repeats */
    fabric_report_begin(&report, messages);
    fabric_report_error(&report, &(struct fabric_place){.file = spec}, "%s",
                        what ? what + 2 : error);
    return NULL;
}

struct fabric *fabric_load(const char *spec, struct fabric_messages *messages)
{
    g_autofree char *text = NULL;
    size_t len;
    int rc = fabric_read_file(spec, &text, &len);
    if (rc == 0) {
        struct reader *r = reader_create(messages);
        r->include = include_file;
        reader_feed(r, spec, text, len);
        return reader_finish(r, spec);
    }
    if (rc == ENOENT && fabric_is_generator(spec))
        return generate(spec, messages);
    struct fabric_reporter report;
    fabric_report_begin(&report, messages);
    fabric_report_error(&report, &(struct fabric_place){.file = spec},
                        "cannot be read: %s; expected a file as ibnetdiscover writes it or a "
                        "generator such as pgft:2:4,4:1,2:1,1",
                        fabric_file_error(rc));
    return NULL;
}
