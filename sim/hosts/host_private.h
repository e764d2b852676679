/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of hosts/ share. A host is one small struct with its records behind it; what is
 * equal for many (the spec, counts) is kept once. */
#ifndef SIM_HOSTS_HOST_PRIVATE_H
#define SIM_HOSTS_HOST_PRIVATE_H

#include "sim/core/timers.h"
#include "sim/core/transit.h"
#include "sim/hosts/host.h"

#define HOST_TRAPS 4u /* 64..67 */
#define HOST_FIRST_TRAP 64u

enum host_kind { HOST_GROUP, HOST_SERVICE, HOST_INFORM, HOST_PATH };

enum host_phase {
    HOST_IDLE,  /* nothing to do, or done */
    HOST_WAITS, /* a request is to be sent at `due` */
    HOST_ASKED, /* sent; times out at `due` */
};

/* One record that a host wants. Record 0 is the broadcast group, then come the other groups,
 * services, subscriptions and paths, each kind in one run. */
struct host_record {
    int64_t due;
    uint32_t serial; /* of the transaction; with the record's number it makes the id */
    uint32_t target; /* of a path: its destination's node */
    uint16_t value;  /* of a group: its MLID; of a path: its destination's port */
    uint8_t phase;
    uint8_t confirmed;
    uint8_t tries_left;
    uint8_t backoff_s; /* of the next failure */
};

struct host_qos { /* of the broadcast group: what the other joins ask for */
    uint32_t qkey, sl_flow_hop;
    uint8_t mtu, tclass, rate;
};

struct sim_host {
    struct sim_timer *timer;
    int64_t timer_at;
    int64_t event_at; /* the first event since it was registered */
    const struct sim_host_spec *spec;
    uint32_t node;
    uint32_t serial;
    uint32_t missing;               /* wanted records without confirmation, paths apart */
    uint16_t sm_lid, pkey, sa_pkey; /* as learned; of the partition, and for MADs to the SA */
    uint16_t asked_lid;             /* the SM's when this registration began */
    uint16_t record_count;
    uint8_t sm_sl;
    uint8_t port;
    bool up;      /* an event found the port ACTIVE */
    bool killed;  /* its processes do not run */
    bool begun;   /* the delay after the event is over */
    bool pending; /* counted in sim_hosts.registering */
    struct host_qos qos;
    struct host_record records[];
};

struct host_port {
    uint32_t node;
    unsigned port;
};

struct host_counts {
    uint64_t requests, retries, timeouts, busy, errors, reports, paths, wrong, late;
};

struct sim_hosts {
    GPtrArray *specs;   /* struct sim_host_spec, each once */
    GArray *ports;      /* struct host_port: where hosts are, by node and port */
    bool ports_changed; /* `ports` is to be made again before its next use */
    struct host_counts counts;
    uint32_t registering; /* hosts with an event that are not yet registered */
    int64_t wave_start, wave_end, wave_first, wave_last;
};

/* Whether all wanted records are confirmed, at whichever SM. */
static inline bool host_complete(const struct sim_host *h)
{
    return h->up && h->begun && h->missing == 0;
}

static inline bool host_registered(const struct sim_host *h)
{
    return host_complete(h) && h->asked_lid == h->sm_lid;
}

/* -- host_groups.c -- */
/* The run of records that `index` is in, and its place there. */
enum host_kind host_record_kind(const struct sim_host *h, unsigned index, unsigned *place);
void host_mgid(const struct sim_host *h, uint64_t port_guid, unsigned group, uint8_t mgid[16]);
void host_gid(const struct sim *s, uint32_t node, unsigned port, uint8_t gid[16]);
uint64_t host_service_id(const struct sim_host *h, unsigned service);
/* Takes the SM's address and the P_Keys from the port. Returns whether the partition changed. */
bool host_learn(struct sim *s, struct sim_host *h);

/* -- host_sa.c -- */
/* The request for a record, with the transaction id of its serial. */
void host_encode(const struct sim *s, const struct sim_host *h, unsigned index,
                 uint8_t mad[SIM_MAD_BYTES]);
/* Whether an answer without error is about this record; takes over what the host keeps of it. */
bool host_take_answer(struct sim *s, struct sim_host *h, unsigned index,
                      const uint8_t mad[SIM_MAD_BYTES]);
/* The record that the answer's transaction id names and its serial. false: not this host's. */
bool host_match(const struct sim_host *h, const uint8_t mad[SIM_MAD_BYTES], unsigned *index,
                uint32_t *serial);
bool host_is_report(const uint8_t mad[SIM_MAD_BYTES]);
void host_answer_report(const struct sim_packet *report, struct sim_packet *answer);

#endif
