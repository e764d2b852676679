/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole files into memory: private to fabric/. */
#ifndef FABRIC_LOAD_H
#define FABRIC_LOAD_H

#include <stddef.h>

#define FABRIC_BLOCK_BYTES 65536u
#define FABRIC_MAX_FILE_BYTES (256u << 20) /* a dump of 40,960 hosts has 20 MiB */

/* Reads a file, which may be a pipe. Returns 0 and the text (g_free), or errno; EFBIG when it is
 * larger than FABRIC_MAX_FILE_BYTES. */
int fabric_read_file(const char *path, char **text, size_t *len);

#endif
