/* SPDX-License-Identifier: BSD-2-Clause */
/* LIDs: kept, adopted or new.
 *
 * A port keeps the LID that the view has for it; else the one that the store or the ledger knows;
 * else the one found set on it is adopted; else it gets the next free one of its domain's pools.
 * Two ports that claim one LID: an assigned one beats a known one, that beats a found one, and of
 * two found ones the lower port GUID keeps it (DESIGN, LIDs). The claims of all domains are in the
 * view before the first new LID is given out. */
#ifndef SHARD_LIDS_H
#define SHARD_LIDS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

struct shard_core;
struct owned_domain;
struct view_end_port;
struct view_switch;

struct lid_book; /* who has which LID, by the whole view */

struct lid_book *lid_book_create(struct shard_core *c);
void lid_book_destroy(struct lid_book *b);
/* The LID for a port of this domain (0 = the pools are used up), noted as taken. kept and found
 * may be 0. */
uint16_t lid_book_assign(struct lid_book *b, struct shard_core *c, const struct owned_domain *d,
                         uint64_t port_guid, uint16_t kept, uint16_t found, unsigned lmc);
/* Whether the LID in use by this port is somebody else's by the rules. */
bool lid_book_conflict(const struct lid_book *b, uint16_t lid, uint64_t port_guid);
/* Gives every port of the domain its LID and publishes them with PHASE_LIDS. */
void lids_assign_domain(struct shard_core *c, struct owned_domain *d);
/* The same for ports that have none although the domain is past that step (its pools were used up,
 * and may have grown). */
void lids_assign_missing(struct shard_core *c, struct owned_domain *d);

#endif
