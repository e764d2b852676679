/* SPDX-License-Identifier: BSD-2-Clause */
/* Port set-up: PortInfo of the ports of our domains, and links from INIT to ACTIVE.
 *
 * Level-triggered: each wake looks at what a switch and its end ports have and want, and sends the
 * Sets that are missing. Each owner sets its own end of a link from the view, moves it to ARMED by
 * itself and to ACTIVE when the other end's ARMED is in the view. Management ports and end ports
 * are set at least once in each epoch (MasterSMLID): switches first, then end ports. */
#ifndef SHARD_SETUP_H
#define SHARD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

struct shard_core;
struct setup;
struct owned_domain;

struct setup *setup_create(void);
void setup_destroy(struct setup *s);
/* All ports of the domain are to be confirmed under this epoch. */
void setup_begin_domain(struct shard_core *c, const struct owned_domain *d);
void setup_forget_domain(struct shard_core *c, uint32_t domain);
void setup_wake_switch(struct shard_core *c, uint64_t guid);
/* Our switches that are cabled to this one (its owner changed something). */
void setup_wake_neighbours(struct shard_core *c, uint64_t guid);
/* The port was seen with other values than those that were set: set it again. */
void setup_unconfirm(struct shard_core *c, uint64_t node_guid, unsigned num);
/* Every port of the domain is set up and every link ACTIVE, as far as that can be had now. */
bool setup_domain_settled(struct shard_core *c, uint32_t domain);
void setup_pump(struct shard_core *c);
uint64_t setup_deadline(const struct shard_core *c);

#endif
