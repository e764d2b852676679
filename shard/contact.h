/* SPDX-License-Identifier: BSD-2-Clause */
/* Contact with the coordinators: joining, heartbeats, assignments, grants; and the own port. */
#ifndef SHARD_CONTACT_H
#define SHARD_CONTACT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/envelope.h"

struct shard_core;
struct contact;

struct contact *contact_create(void);
void contact_destroy(struct contact *k);
bool contact_is_coordinator(const struct shard_core *c, const char *peer);
void contact_link(struct shard_core *c, const char *peer, bool up);
void contact_message(struct shard_core *c, const char *peer, const struct envelope *m);
/* A heartbeat that was sent recently enough was acknowledged (isolation ends Sets before the grace
 * does; an acknowledgement that lay in a buffer counts from when its heartbeat was sent). */
bool contact_fresh(const struct shard_core *c);
/* No Set until a coordinator has answered a heartbeat that is sent from now on, knowing of no
 * later assignment than this shard. */
void contact_unsure(struct shard_core *c);
void contact_rejoin(struct shard_core *c); /* the local port is back: say hello again */
void contact_pump(struct shard_core *c);
uint64_t contact_deadline(const struct shard_core *c);

#endif
