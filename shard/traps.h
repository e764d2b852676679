/* SPDX-License-Identifier: BSD-2-Clause */
/* Traps: repressed, and answered by looking at the one switch that they are about. */
#ifndef SHARD_TRAPS_H
#define SHARD_TRAPS_H

#include <stdint.h>

#include "shard/mad/smp.h"

struct shard_core;

/* A SubnTrap(Notice) from the wire (IBA 13.4.8, 14.3). */
void traps_received(struct shard_core *c, const uint8_t *mad, const struct mad_address *from);

#endif
