/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes and forwarding tables: view -> plan -> rows -> blocks that differ.
 *
 * When the view's routing part changes, a job computes the plan and the rows of our switches
 * (coalesced over a few ms). Then, a domain at a time: the intent is published and acknowledged by
 * two peers (all, if fewer), LinearFDBTop and the blocks that differ are set, the digest that is
 * now programmed is published. What a switch holds is known from our own Sets or read back
 * (Get(LFT)): at bring-up of a switch that has a table, after a takeover (the audit), after a Set
 * without an answer. */
#ifndef SHARD_TABLES_H
#define SHARD_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "shard/core.h"

struct shard_core;
struct tables;
struct owned_domain;

struct tables *tables_create(void);
void tables_destroy(struct tables *t);
void tables_wake(struct shard_core *c); /* the view may give other routes */
void tables_begin_domain(struct shard_core *c, const struct owned_domain *d, bool takeover);
void tables_forget_domain(struct shard_core *c, uint32_t domain);
/* A switch of ours was read; fresh = it was not in the view or not reachable. */
void tables_switch_seen(struct shard_core *c, uint64_t guid, const uint8_t *switchinfo, bool fresh);
/* The slow audit: read this switch's table back and compare. */
void tables_audit_switch(struct shard_core *c, uint64_t guid);
/* An acknowledgement, a port or a domain's state moved: look at the domains again. */
void tables_state_changed(struct shard_core *c);
/* A Set(SwitchInfo) of ours is under way: another one now could undo it. */
bool tables_switch_busy(const struct shard_core *c, uint64_t guid);
/* It holds a complete table, so that links may carry traffic. */
bool tables_switch_ready(const struct shard_core *c, uint64_t guid);
bool tables_domain_done(const struct shard_core *c, uint32_t domain);
void tables_routed(struct shard_core *c, struct route_result *r); /* takes r over */
void tables_pump(struct shard_core *c);
uint64_t tables_deadline(const struct shard_core *c);
/* The plan of the view as it was routed last, or NULL; and its digest (NULL while it is stale). */
const struct rt_plan *tables_plan(const struct shard_core *c);
const uint8_t *tables_digest(const struct shard_core *c);

#endif
