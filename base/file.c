/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at a file before it is opened. */
#include "base/file.h"

#include <errno.h>
#include <glib.h>
#include <sys/stat.h>

bool file_is_regular(const char *path, char *text, size_t text_size)
{
    struct stat s;
    if (stat(path, &s) != 0) {
        int rc = errno;
        g_strlcpy(text, g_strerror(rc), text_size);
        errno = rc;
        return false;
    }
    if (S_ISREG(s.st_mode))
        return true;
    g_strlcpy(text, S_ISDIR(s.st_mode) ? "it is a directory" : "it is no regular file", text_size);
    errno = S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
    return false;
}
