/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the coordinator's decisions are kept: one interface, an instance for each kind of ledger.
 *
 * A backend holds two values, the assignment and the backup of LIDs, and changes them by
 * compare-and-swap on the assignment's revision. Swaps run outside of the loop: submit returns at
 * once, the descriptor becomes readable when completions wait. Values are packed protobuf
 * messages.
 *
 * Threads: all functions are called from the loop; a backend has a thread of its own inside. */
#ifndef COORDINATOR_LEDGER_BACKEND_H
#define COORDINATOR_LEDGER_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/messages.pb-c.h"

struct ledger_backend;

struct ledger_backend_class {
    const char *name;
    uint64_t (*incarnation)(const struct ledger_backend *b);
    /* Both values and the assignment's revision; NULL and 0 where there is none yet. Only while no
     * swap is under way. Returns 0, or EBADMSG with one line in error. */
    int (*read)(struct ledger_backend *b, Heddle__Assignment **assignment, Heddle__LidBackup **lids,
                uint64_t *revision, char *error, size_t error_size);
    /* Copies what it needs. lids NULL = not changed. */
    void (*submit)(struct ledger_backend *b, const Heddle__Assignment *assignment,
                   const Heddle__LidBackup *lids, uint64_t expected, uint64_t ticket);
    int (*fd)(const struct ledger_backend *b);
    bool (*done)(struct ledger_backend *b, uint64_t *ticket, int *error, uint64_t *revision);
    void (*close)(struct ledger_backend *b); /* finishes what was submitted */
};

struct ledger_backend { /* the first member of each instance */
    const struct ledger_backend_class *class;
};

/* The embedded ledger (store/ledger.h) in a directory. Returns 0 or errno with one line. */
int ledger_backend_lmdb(const char *dir, const char *cluster, struct ledger_backend **backend,
                        char *error, size_t error_size);

#endif
