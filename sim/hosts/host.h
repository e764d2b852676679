/* SPDX-License-Identifier: BSD-2-Clause */
/* A model of a Linux host at a CA port, as a subnet manager meets it.
 *
 * A host learns the SM's address (LID, SL) and its default partition (entry 0 of the P_Key table)
 * by events only: port ACTIVE, LID change, P_Key change, ClientReregister. A MasterSMLID that
 * changes alone is not noticed. On an event it forgets what it had registered and, after a random
 * part of start_spread_ms, registers all of it anew; it leaves no group and withdraws nothing, as
 * Linux does not. A P_Key change that leaves entry 0 as it was only teaches the address; IPoIB
 * restarts its groups only when its own key changed. Events of a port that is not ACTIVE wait for
 * ACTIVE.
 *
 * The records of a host:
 * - groups: the IPoIB broadcast group ff12:401b:<pkey>::ffff:ffff, then `groups` more once it is
 *   joined: all hosts (..::1), all routers (..::2), the IPv6 solicited-node group of the port GUID
 *   (ff12:601b:<pkey>::1:ff<24 bits>: nearly one group a host), then synthetic ones that 64
 *   neighbouring hosts share (239.<k>.<team>). IPoIB's component masks: the broadcast join names
 *   MGID, PortGID, P_Key and JoinState; the others add Q_Key, MTU, rate, TClass, SL, FlowLabel and
 *   HopLimit of the broadcast group, so they create the group where it is missing.
 * - services: ServiceRecords with Service IDs of its own, on a permanent lease or one that it
 *   renews at half of its time.
 * - subscriptions: InformInfo for traps 64, 65, 66 and 67, Reports to QP 1.
 * Besides, it asks PathRecords to `paths` random other hosts whose ports are ACTIVE, as programs do
 * that use the SA without IPoIB: whether or not the groups come.
 * Groups, services and subscriptions are `confirmed` by an answer without error; a host is
 * `registered` when all of them are confirmed under the SM LID that it knows now.
 *
 * Time-outs: a join has the 3,000 ms of IPoIB and no retry; the others time-out and retries of the
 * spec. A retry is the same MAD with the same transaction id, as of ib_mad. ib_mad hands an answer
 * with any status to its caller, BUSY too; so whoever asked waits 1 s, then 2, 4, 8, 16, 16 ...
 * (IPoIB's back-off) after a time-out, BUSY or an error and asks again with a new transaction id.
 * Linux adds no randomness there: hosts that fail together come back together.
 *
 * Transaction ids have 0xFFFF in their upper 16 bits, by which a host knows its answers; other
 * processes may sit at the same port. Packets are ordinary ones (SIM_KIND_HOST) and go through the
 * fabric's tables. One timer a host, and none when there is nothing to do. */
#ifndef SIM_HOSTS_HOST_H
#define SIM_HOSTS_HOST_H

#include "sim/core/model.h"

#define SIM_HOST_TID_MARK 0xffffu
#define SIM_HOST_MAX_RECORDS 60000u /* of one host: more are cut off, paths first */

enum sim_host_event {
    SIM_HOST_PORT_UP,   /* became ACTIVE */
    SIM_HOST_PORT_DOWN, /* no longer ACTIVE */
    SIM_HOST_LID_CHANGE,
    SIM_HOST_PKEY_CHANGE,
    SIM_HOST_REREGISTER, /* a Set(PortInfo) with ClientReregister */
};

struct sim_host_spec {   /* what each modelled host does */
    unsigned groups;     /* groups joined beside the broadcast group */
    unsigned services;   /* ServiceRecords registered */
    unsigned paths;      /* PathRecords asked for after each (re-)registration */
    bool inform;         /* subscribes to traps 64..67 */
    unsigned timeout_ms; /* 0 = 3,000 for paths (rdma_cm), 1,000 for services and InformInfo */
    unsigned retries;
    unsigned start_spread_ms; /* random delay from the event to the first query */
    unsigned service_lease_s; /* 0 = permanent */
};

struct sim_hosts *sim_hosts_create(void);
void sim_hosts_destroy(struct sim_hosts *h); /* not the hosts: sim_host_free of each port */
/* On all CA ports whose IsSM bit no process holds (node SIM_NONE), or on one node's ports, whoever
 * sits there; nothing on switches. A host that is there already starts over with the new spec. */
void sim_hosts_start(struct sim *s, uint32_t node, const struct sim_host_spec *spec);
void sim_hosts_stop(struct sim *s, uint32_t node);
/* The processes on one host die, or start again (faults/). Meanwhile its kernel joins its groups
 * and nothing else; MADs to processes are not taken (Gets and Sets get 0x000C). Services and
 * subscriptions are not wanted then, and are registered anew afterwards. */
void sim_host_process(struct sim *s, uint32_t node, bool runs);
/* The node lost its power: its hosts know nothing and do nothing until a port becomes ACTIVE. Its
 * processes run after the next start. Called by faults/. */
void sim_hosts_forget(struct sim *s, uint32_t node);
/* Called by agents/ on each event of a port with a host, after the port's bytes were changed. */
void sim_host_event(struct sim *s, uint32_t node, unsigned port, enum sim_host_event e);
/* A MAD for QP 1 arrived at a port with a host: returns whether it was for the host (an answer with
 * its mark, or a Report to a subscriber). */
bool sim_host_receive(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p);
/* One line of key=value:
 *   hosts registered
 *   groups services subscribed     confirmed records now (subscribed: 4 a host)
 *   requests                       transactions begun
 *   retries                        of them, MADs sent again
 *   timeouts busy errors           transactions that ended without an answer, with BUSY (status bit
 *                                  0) or NO_RESOURCES (0x0100), with another status
 *   reports                        Reports answered
 *   paths                          PathRecords got
 *   wrong                          answers that are not what was asked: another record, a path to a
 *                                  LID that is not its destination's, no multicast LID
 *   late                           answers to transactions that are over
 *   stale                          hosts whose SM LID is not the port's MasterSMLID
 *   first_ms last_ms               from the event to `registered`, of the fastest and slowest host
 *                                  of the last wave
 *   wave_ms                        from the wave's first event to its last `registered`
 * A wave starts with an event while no host is registering, and ends when all that have an ACTIVE
 * port are registered. All but the last three count from the first hosts_start on. With a node,
 * lines of its ports and their records follow. Each line ends with \n. */
void sim_hosts_status(struct sim *s, uint32_t node, GString *out);
void sim_host_free(struct sim_host *h); /* NULL allowed */

#endif
