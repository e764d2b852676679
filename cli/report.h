/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be read out of a Status: sums, owners, and why the cluster has not converged. Pure.
 *
 * A domain's report is believed only from the domain's owner and for the domain's epoch; anything
 * else is old. Pointers are into the Status. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>

#include <glib.h>

#include "proto/envelope.h"

struct report_ports {
    uint64_t with_link, active, without_peer;
};

const Heddle__Member *report_member(const Heddle__Status *s, const char *name);     /* or NULL */
const Heddle__ShardStatus *report_shard(const Heddle__Status *s, const char *name); /* or NULL */
const Heddle__Domain *report_domain(const Heddle__Status *s, uint32_t id);          /* or NULL */
/* The owner of domain 0, or NULL. */
const Heddle__Member *report_lead(const Heddle__Status *s);
/* Whether the domain has an owner that lives. */
bool report_owned(const Heddle__Status *s, const Heddle__Domain *d);
/* The owner's word on a domain, or NULL. */
const Heddle__DomainReport *report_of_domain(const Heddle__Status *s, const Heddle__Domain *d);
struct report_ports report_ports_of(const Heddle__DomainReport *r); /* NULL allowed */
/* Sums over all domains. */
struct report_ports report_ports(const Heddle__Status *s);
/* Nodes of the domains that a shard owns, as it reports them. */
uint64_t report_nodes(const Heddle__Status *s, const char *shard);
/* Lines (char *) that say why it has not converged; none when it has. g_ptr_array_unref. */
GPtrArray *report_why_not(const Heddle__Status *s);

const char *report_state_name(Heddle__MemberState state); /* "live" */
const char *report_phase_name(Heddle__DomainPhase phase); /* "running" */

#endif
