/* SPDX-License-Identifier: BSD-2-Clause */
/* The light sweep: finds in the owned switches what a lost trap hid.
 *
 * Each sweep_interval: SwitchInfo of every switch (PortStateChange set: it is cleared, then the
 * switch is read again), NodeDescriptions, and who is behind ports that have a link but no known
 * peer. Besides, one switch after the other is audited: its ports are read again, its table read back
 * and compared. */
#ifndef SHARD_SWEEP_H
#define SHARD_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct shard_core;
struct sweep;

struct sweep *sweep_create(void);
void sweep_destroy(struct sweep *s);
/* Looks at this switch now. changed = it is known that something changed (a trap): it is read
 * again whatever PortStateChange says. */
void sweep_switch(struct shard_core *c, uint64_t guid, bool changed);
void sweep_domain(struct shard_core *c, uint32_t domain); /* all its switches, urgent */
void sweep_pump(struct shard_core *c);
uint64_t sweep_deadline(const struct shard_core *c);

#endif
