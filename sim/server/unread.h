/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers on a control socket that their askers do not read.
 *
 * The kernel charges them to our socket, all askers together: one that asks and never reads would
 * in the end leave no room for anybody's answer. So who has asked most when another UNREAD_STEP
 * bytes have gathered is not answered any more, until everything has been read. */
#ifndef SIM_SERVER_UNREAD_H
#define SIM_SERVER_UNREAD_H

#include <glib.h>

#include "sim/server/address.h"

enum { UNREAD_STEP = 1 << 20 }; /* bytes, as the kernel counts them */

struct unread {
    GHashTable *asked; /* address -> answers since nothing was unread; UNREAD_BANNED */
    int level;         /* bytes that were unread when the last one was banned */
};

void unread_create(struct unread *u);
void unread_destroy(struct unread *u);
/* `bytes` are unread at the moment. May this asker be answered? Counts the answer. */
bool unread_allows(struct unread *u, const struct address *from, int bytes);

#endif
