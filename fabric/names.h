/* SPDX-License-Identifier: BSD-2-Clause */
/* Node name maps, as OpenSM and infiniband-diags take them: names that operators give to nodes,
 * which usually replace descriptions in what is shown.
 *
 *   # comment
 *   0x0002c90300000001 "rack 7 leaf 1"   # comment
 *
 * A name may be without quotes, and ends then at the next blank. Names are cut to 64 bytes. Where
 * a GUID is there twice the first line counts, with a warning. Messages are those of
 * fabric/read.h.
 *
 * Ownership: names belong to the map. Threads: a map does not change once it is read. */
#ifndef FABRIC_NAMES_H
#define FABRIC_NAMES_H

#include "fabric/read.h"

struct fabric_names;

/* Returns a map (of no names, when the text has none), or NULL with at least one error in
 * messages. */
struct fabric_names *fabric_names_read_text(const char *name, const char *text, size_t len,
                                            struct fabric_messages *messages);
struct fabric_names *fabric_names_load(const char *path, struct fabric_messages *messages);
void fabric_names_destroy(struct fabric_names *names); /* NULL allowed */

/* The name of the node with this node GUID, or NULL; names may be NULL. */
const char *fabric_names_find(const struct fabric_names *names, uint64_t guid);
size_t fabric_names_count(const struct fabric_names *names);

#endif
