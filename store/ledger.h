/* SPDX-License-Identifier: BSD-2-Clause */
/* The embedded ledger: a store whose keys carry revisions, changed by compare-and-swap only.
 *
 * Revision 0 means "not there". Each change raises the ledger's revision by one and gives it to
 * every key that it touches. The incarnation is a random number made when the ledger is created,
 * and again when a copy or backup of it is opened as a restored one (ledger_renew). */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct ledger;

int ledger_open(const struct store_config *config, struct ledger **ledger, char *error,
                size_t error_size);
void ledger_close(struct ledger *l);                 /* NULL allowed */
uint64_t ledger_incarnation(const struct ledger *l); /* never 0 */
int ledger_renew(struct ledger *l);                  /* a new incarnation */

/* A copy of the value (g_free) and the revision of the key; NULL and 0 with errno 0 when it is not
 * there, with errno EILSEQ when it is damaged. */
uint8_t *ledger_get(struct ledger *l, const char *key, size_t *len, uint64_t *revision);

struct ledger_change {
    const char *key;
    uint64_t expected; /* revision that the key must have; 0 = must not exist */
    const void *value; /* NULL = delete */
    size_t len;
};
/* All changes or none, durably. Returns 0 and the new *revision; EAGAIN when a key has another
 * revision than expected; EILSEQ when a key's value is damaged; else errno of the disk. */
int ledger_swap(struct ledger *l, const struct ledger_change *changes, size_t count,
                uint64_t *revision);

#endif
