/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes: a coordinator asks whether another shard, seen in band from here, is alive.
 *
 * Three Get(SMInfo) to the suspect's port, and Get(PortInfo) of its leaf switch's port. An answer
 * whose ActCount moves: alive; one that stands still: hung. Status 0x000C or the leaf port Down:
 * dead. Three unanswered while the leaf answered: silent (DESIGN, Detection). */
#ifndef SHARD_PROBE_H
#define SHARD_PROBE_H

#include <stdint.h>

#include "proto/envelope.h"

struct shard_core;
struct probes;

struct probes *probes_create(void);
void probes_destroy(struct probes *p);
void probes_start(struct shard_core *c, const char *coordinator, const Heddle__Probe *p);
void probes_pump(struct shard_core *c);
uint64_t probes_deadline(const struct shard_core *c);

#endif
