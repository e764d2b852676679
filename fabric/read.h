/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading fabrics: ibnetdiscover output and ibsim net files, as found in the wild, and generator
 * names, which are accepted wherever a file is.
 *
 * Errors and warnings carry file:line and what was expected. An error means no fabric; a warning
 * means that the line was understood in a way that is stated (a shell prompt that was skipped, a
 * one-sided cable that was completed, ...).
 *
 * GUIDs. A node has the GUID of the guid line before it (switchguid=, caguid=, rtguid=), else that
 * in its id ("S-", "H-" or "R-" and 16 hexadecimal digits), else the next one of its type: they
 * count from 0x100000 (CAs), 0x200000 (switches) and 0x300000 (routers), or from the last guid line
 * of that type, in steps of 1 for a switch and of its ports + 1 for others. That is ibsim's way, so
 * that a file without GUIDs shows the same ones there (ibsim's routers count from 0). A port GUID
 * that is not given is the node GUID + port number.
 *
 * Names. A node without a description is called by its id, with "module#" before it in a module.
 * Descriptions need not be unique: nodes are told apart by id and GUID.
 *
 * Cables need be named by both ends; see the warning above for one. A port that is cabled to
 * itself is left without a cable. ibsim's `do` lines are not carried out. After 20 errors reading
 * stops; after 200 warnings they are only counted. */
#ifndef FABRIC_READ_H
#define FABRIC_READ_H

#include <stddef.h>

#include "fabric/fabric.h"

struct fabric_messages; /* opaque list of messages */

struct fabric_messages *fabric_messages_create(void);
void fabric_messages_destroy(struct fabric_messages *m);
size_t fabric_messages_count(const struct fabric_messages *m, bool errors); /* errors or warnings */
/* "FILE:LINE: error: ..." or "FILE:LINE: warning: ...", in the order of the file. */
size_t fabric_messages_total(const struct fabric_messages *m);
const char *fabric_messages_text(const struct fabric_messages *m, size_t i);

/* Parses text of len bytes (it need not be terminated and is hostile). name is shown in messages.
 * Returns a fabric, or NULL with at least one error in messages. */
struct fabric *fabric_read_text(const char *name, const char *text, size_t len,
                                struct fabric_messages *messages);
/* Reads a file, or, when spec is no existing file and has the form of a generator
 * (fabric/generate.h), generates. Included files are looked for beside the including one. This and
 * fabric_names_load (fabric/names.h) are the functions of fabric/ that touch the file system. */
struct fabric *fabric_load(const char *spec, struct fabric_messages *messages);

#endif
