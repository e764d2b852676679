/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that appear whole or not at all. */
#ifndef CLI_ROUTE_WRITE_H
#define CLI_ROUTE_WRITE_H

#include <stdio.h>

#include <jansson.h>

/* Calls write(out, context), which returns 0 or an errno, and puts what it wrote in the place of a
 * regular file that is there, or makes a new one; devices and pipes are written as they are, "-" is
 * stdout. Returns an exit status, with a line on stderr. */
int route_write(const char *path, int (*write)(FILE *out, void *context), void *context);
/* Before long work: whether a file can be made there. NULL and "-" can. An exit status as above. */
int route_write_possible(const char *path);
/* Indented, keys in the order in which they were set. Does not consume it. */
int route_write_json(const char *path, json_t *json);

#endif
