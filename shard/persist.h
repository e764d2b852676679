/* SPDX-License-Identifier: BSD-2-Clause */
/* The view in the store: what an applied delta changes there, and reading it back at start.
 *
 * Tables: "switch" (GUID), "endport" (GUID, port), "numbers" (leaf GUID), "domain" (id): position
 * and state as a DomainReport, "meta" ("incarnation"). Keys are big endian. */
#ifndef SHARD_PERSIST_H
#define SHARD_PERSIST_H

#include <stdint.h>

#include "proto/envelope.h"

struct shard_core;

void persist_delta(struct shard_core *c, uint32_t domain, const Heddle__Delta *d);
/* LIDs of our ports that the ledger has not been told yet, from a delta of ours. */
void persist_back_up_lids(struct shard_core *c, uint32_t domain, const Heddle__Delta *d);
void persist_send_backup(struct shard_core *c); /* to the coordinators, at the end of a step */
void persist_incarnation(struct shard_core *c);
/* Loads cfg.stored into the view. Values that cannot be read are left out and said. */
void persist_load(struct shard_core *c);

#endif
