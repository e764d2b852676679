/* SPDX-License-Identifier: BSD-2-Clause */
/* Exploration: which switches are read, by whom and when; what nobody owns is reported.
 *
 * An owner reads its switches in full. A switch of another domain that it must pass is scanned
 * (links only) unless the view, or a hint, already tells its links. The lead scans what nobody
 * owns and reports it to the coordinators, which cut the fabric (`auto`) or match it with rules. */
#ifndef SHARD_EXPLORE_H
#define SHARD_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

struct shard_core;
struct explore;
struct owned_domain;

struct explore *explore_create(void);
void explore_destroy(struct explore *e);
void explore_wake(struct shard_core *c); /* something changed: look again soon */
void explore_pump(struct shard_core *c); /* starts readings; called at the end of a step */
uint64_t explore_deadline(const struct shard_core *c);
/* A switch of ours is to be read again (a trap, the sweep). Several calls are one reading. */
void explore_reread(struct shard_core *c, uint64_t guid);
/* The record of a switch has changed: switches of ours that think that they have a link to it which
 * it denies are read again (the trap that told of it may have been sent over that very link). */
void explore_check_neighbours(struct shard_core *c, uint64_t guid);
/* Whether all switches of the domain are read, or past hope for now. */
bool explore_domain_done(struct shard_core *c, const struct owned_domain *d);
/* Forgets what was read of a domain (its epoch changed, or it is brought up anew). */
void explore_domain_reset(struct shard_core *c, uint32_t domain);
/* The assignment or hints are new. */
void explore_assignment(struct shard_core *c);

#endif
