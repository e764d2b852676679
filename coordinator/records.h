/* SPDX-License-Identifier: BSD-2-Clause */
/* Small helpers over the generated records: copies, finding and growing lists. Memory of records
 * is malloc's, which is g_malloc's too; free with the generated *_free_unpacked. */
#ifndef COORDINATOR_RECORDS_H
#define COORDINATOR_RECORDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/messages.pb-c.h"

/* A deep copy. */
void *record_copy(const void *message);
void record_set_string(char **field, const char *value);
void record_set_bytes(ProtobufCBinaryData *field, const void *bytes, size_t len);
/* Appends `item` to a repeated field of messages. */
void record_append(size_t *count, void *list, void *item);

Heddle__Member *assignment_member(const Heddle__Assignment *a, const char *name);
Heddle__Domain *assignment_domain(const Heddle__Assignment *a, uint32_t id);
Heddle__Domain *assignment_domain_named(const Heddle__Assignment *a, const char *name);
/* Inserts in the order of names / ids; the record is owned by the assignment. */
Heddle__Member *assignment_add_member(Heddle__Assignment *a, const char *name);
void assignment_remove_member(Heddle__Assignment *a, const char *name);
Heddle__Domain *assignment_add_domain(Heddle__Assignment *a, uint32_t id, const char *name);
uint32_t assignment_next_domain(const Heddle__Assignment *a);
/* Keeps the list sorted; false when it is there. */
bool domain_add_switch(Heddle__Domain *d, uint64_t guid);
bool domain_has_switch(const Heddle__Domain *d, uint64_t guid);
/* The owner of d when it is LIVE with the boot id that d was given to, else NULL. */
Heddle__Member *domain_live_owner(const Heddle__Assignment *a, const Heddle__Domain *d);
uint32_t domain_pool_lids(const Heddle__Domain *d);

int record_compare_u64(const void *a, const void *b);

#endif
