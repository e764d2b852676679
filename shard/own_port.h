/* SPDX-License-Identifier: BSD-2-Clause */
/* The local port, asked by MAD: GUIDs, LID, state, and the leaf switch that it hangs on. */
#ifndef SHARD_OWN_PORT_H
#define SHARD_OWN_PORT_H

#include <stdint.h>

struct shard_core;

void own_port_pump(struct shard_core *c);
uint64_t own_port_deadline(const struct shard_core *c);

#endif
