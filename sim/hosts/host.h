/* SPDX-License-Identifier: BSD-2-Clause */
/* A model of a Linux host at a CA port, as a manager meets it.
 *
 * It learns the SM's LID by events only: port ACTIVE, LID change, P_Key change and ClientReregister
 * (where the capability mask has it); a MasterSMLID that changes alone is not noticed. It then asks
 * path records, joins the IPoIB broadcast and other groups, registers services and subscribes, with
 * the time-outs, retries and back-off of ib_sa and IPoIB, and answers Reports. Its packets are
 * ordinary ones (SIM_KIND_HOST) and go through the fabric's tables. */
#ifndef SIM_HOSTS_HOST_H
#define SIM_HOSTS_HOST_H

#include "sim/core/model.h"

enum sim_host_event {
    SIM_HOST_PORT_UP,   /* became ACTIVE */
    SIM_HOST_PORT_DOWN, /* no longer ACTIVE */
    SIM_HOST_LID_CHANGE,
    SIM_HOST_PKEY_CHANGE,
    SIM_HOST_REREGISTER, /* a Set(PortInfo) with ClientReregister */
};

struct sim_host_spec { /* what each modelled host does */
    unsigned groups;   /* groups joined beside the broadcast group */
    unsigned services; /* ServiceRecords registered */
    unsigned paths;    /* PathRecords asked for after each (re-)registration */
    bool inform;       /* subscribes to traps 64..67 */
    unsigned timeout_ms, retries;
    unsigned start_spread_ms; /* random delay from the event to the first query */
};

struct sim_hosts *sim_hosts_create(void);
void sim_hosts_destroy(struct sim_hosts *h);
/* On all CA ports without a client's process (node SIM_NONE) or one node's. */
void sim_hosts_start(struct sim *s, uint32_t node, const struct sim_host_spec *spec);
void sim_hosts_stop(struct sim *s, uint32_t node);
/* The process on one host dies, or starts again (faults/): its MADs are answered 0x000C meanwhile. */
void sim_host_process(struct sim *s, uint32_t node, bool runs);
/* Called by agents/ on each event of a port with a host. */
void sim_host_event(struct sim *s, uint32_t node, unsigned port, enum sim_host_event e);
/* A MAD for QP 1 arrived at a port with a host: returns whether it was for the host. */
bool sim_host_receive(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p);
/* Totals, one line: hosts, registered (all wanted records confirmed under the present SM LID),
 * requests, retries, time-outs, busy, errors, reports, times of the last registration. With a node,
 * its records. */
void sim_hosts_status(struct sim *s, uint32_t node, GString *out);
void sim_host_free(struct sim_host *h);

#endif
