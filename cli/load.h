/* SPDX-License-Identifier: BSD-2-Clause */
/* Fabrics in and out, as several commands need it. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "fabric/read.h"

/* A file or a generator; messages go to stderr. NULL after an error there. */
struct fabric *load_fabric(const char *spec);
/* Writes to a file, or stdout with "-". Returns an exit status, with a line on stderr. */
int save_fabric(const struct fabric *f, const char *path);

#endif
