/* SPDX-License-Identifier: BSD-2-Clause */
/* Adding messages to a list: private to fabric/. The public half is in read.h.
 *
 * A `struct fabric_place` is a line of a file. order counts the lines in the order of reading,
 * through included files too; messages are sorted by it at the end of a reading. */
#ifndef FABRIC_MESSAGES_H
#define FABRIC_MESSAGES_H

#include <glib.h>

#include "fabric/read.h"

#define FABRIC_MAX_ERRORS 20    /* then a reader gives up */
#define FABRIC_MAX_WARNINGS 200 /* the rest is counted only */

struct fabric_place {
    const char *file; /* outlives the reading */
    uint32_t line;    /* from 1; 0 = the file as a whole */
    uint32_t order;
};

/* Messages of one reading: a list may serve several. */
struct fabric_reporter {
    struct fabric_messages *messages;
    unsigned errors, warnings;
    size_t first; /* number of the first message of this reading */
};

void fabric_report_begin(struct fabric_reporter *r, struct fabric_messages *messages);
void fabric_report_error(struct fabric_reporter *r, const struct fabric_place *at, const char *form,
                         ...) G_GNUC_PRINTF(3, 4);
void fabric_report_warning(struct fabric_reporter *r, const struct fabric_place *at,
                           const char *form, ...) G_GNUC_PRINTF(3, 4);
/* Whether the reader has to give up. */
bool fabric_report_full(const struct fabric_reporter *r);
/* Sorts the messages of this reading and says how many warnings were left out. */
void fabric_report_end(struct fabric_reporter *r, const char *file);

#endif
