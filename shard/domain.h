/* SPDX-License-Identifier: BSD-2-Clause */
/* The domains that this shard owns: from the grant to RUNNING, and the records that it publishes.
 *
 * A domain is brought up in steps (explore, LIDs, set-up) or, when it was running under another
 * owner and its records came from live peers, taken over without rediscovery. Records of ours are
 * changed in place and marked dirty; they leave as one delta a few milliseconds later. What others
 * compare or index (LIDs, cables, presence) changes by a delta at once. */
#ifndef SHARD_DOMAIN_H
#define SHARD_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/envelope.h"
#include "shard/view.h"

struct shard_core;
struct owned_domain;
struct reading;

void owned_domain_free(struct owned_domain *d);
/* A verified grant for this shard. */
void domain_granted(struct shard_core *c, const Heddle__Grant *g, const Heddle__SignedGrant *s);
/* The assignment names another owner. */
void domain_lost(struct shard_core *c, uint32_t domain);
void domain_suffix_done(struct shard_core *c, uint32_t domain);
void domain_take_reading(struct shard_core *c, struct owned_domain *d, struct reading *r);
void domain_switch_unreachable(struct shard_core *c, uint64_t guid);
void domain_pools_changed(struct shard_core *c); /* the assignment may have grown our LID pools */
void domain_explored_check(struct shard_core *c);

void domain_dirty_switch(struct shard_core *c, uint64_t guid);
void domain_dirty_end_port(struct shard_core *c, const struct view_end_port *e);
void domain_dirty_state(struct shard_core *c, struct owned_domain *d);
/* Publishes a delta of the domain now (with what is dirty before it). Returns its seq. */
uint64_t domain_publish(struct shard_core *c, struct owned_domain *d, Heddle__Delta *delta);
Heddle__Delta *delta_new(void);

/* Steps and flushes that are due; called at the end of a step. */
void domain_pump(struct shard_core *c);
uint64_t domain_deadline(const struct shard_core *c);
void domain_set_phase(struct shard_core *c, struct owned_domain *d, Heddle__DomainPhase phase);

#endif
