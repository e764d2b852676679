/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole files into memory: private to fabric/. */
#ifndef FABRIC_LOAD_H
#define FABRIC_LOAD_H

#include <stddef.h>

#define FABRIC_BLOCK_BYTES 65536u
#define FABRIC_MAX_FILE_BYTES (256u << 20) /* a dump of 40,960 hosts has 20 MiB */

/* Reads a file, or a pipe that somebody writes to. Returns 0 and the text (g_free), or errno: EFBIG
 * when it is larger than FABRIC_MAX_FILE_BYTES, ENOTSUP for a device or a socket, ENODATA for a
 * FIFO without a writer, which is not waited for. */
int fabric_read_file(const char *path, char **text, size_t *len);
/* What a person is told of such an error. */
const char *fabric_file_error(int rc);

#endif
