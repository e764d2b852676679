/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading fabrics: ibnetdiscover output and ibsim net files, as found in the wild, and generator
 * names, which are accepted wherever a file is.
 *
 * Errors and warnings carry file:line and what was expected. An error means no fabric; a warning
 * means that the line was understood in a way that is stated (a duplicate name, a one-sided cable
 * that was completed, ...). */
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
 * (fabric/generate.h), generates. The only function of fabric/ that touches the file system. */
struct fabric *fabric_load(const char *spec, struct fabric_messages *messages);

#endif
