/* SPDX-License-Identifier: BSD-2-Clause */
/* SMInfo: what other managers and hosts are told, and who else claims to be MASTER (IBA 14.4). */
#ifndef SHARD_SMINFO_H
#define SHARD_SMINFO_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "shard/mad/smp.h"

struct shard_core;
struct view_end_port;

/* Get or Set(SMInfo) from the wire: answered at once, from the loop. */
void sminfo_request(struct shard_core *c, const uint8_t *mad, const struct mad_address *from);
/* Asks the SM that says it runs on this port, when it is none of ours, who it thinks it is. */
void sminfo_check_end_port(struct shard_core *c, const struct view_end_port *e);

struct owned_domain;
/* The port has vanished, and with it the SM that ran on it. */
void sminfo_port_gone(struct shard_core *c, struct owned_domain *d, uint64_t port_guid);

/* The managers of this cluster that are live, as SMInfoRecords show them: struct sa_manager. */
GArray *sminfo_managers(const struct shard_core *c);

#endif
