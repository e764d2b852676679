/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of the core: a coordinator with made-up shards under a virtual clock.
 *
 * The shards say HELLO (each second until they are welcomed, and to each new coordinator),
 * heartbeat each 40 ms, keep the grants that they verified and report them, and answer probes 100
 * ms later with the verdict that the test set for the suspect. The ledger answers at once. After
 * each swap the rig checks that epochs only rise, that an epoch has one owner, that a switch is in
 * one domain and that pools do not overlap. */
#ifndef COORDINATOR_TEST_RIG_H
#define COORDINATOR_TEST_RIG_H

#include "coordinator/core.h"
#include "proto/grant.h"

#define RIG_SHARDS 10u

struct rig_shard {
    char name[64];
    uint64_t boot_id, port_guid, leaf_guid;
    uint32_t lid, priority, leaf_port;
    bool standby;
    bool running; /* heartbeats and answers probes */
    bool mute;    /* hears us, but nothing of it reaches us */
    bool cut;     /* alive, but its messages and ours are lost */
    uint8_t public_key[32], secret_key[32];
    Heddle__ProbeVerdict verdict; /* that others see */
    Heddle__Assignment *told;     /* by WELCOME or ASSIGNMENT */
    GHashTable *grants;           /* domain -> epoch, verified, for this boot id */
    unsigned welcomes, assignments, grant_messages, probes, acks;
    char refused[256];
    GArray *pending_probes; /* private */
    uint64_t next_hello;    /* private */
    bool hello_due;         /* private */
    /* reported of each domain it holds: */
    uint32_t unseen; /* switches of each of its domains that it never saw */
    uint32_t switches, end_ports;
    Heddle__DomainPhase phase;
    const char *programmed, *intent, *digest;
};

struct rig {
    struct coord_config config;
    struct coord_core *core;
    uint64_t now, revision, realtime;
    struct rig_shard shards[RIG_SHARDS];
    unsigned shard_count;
    int swap_error;  /* of the next swaps */
    bool hold_swaps; /* answers wait until rig_release */
    unsigned swaps, lids_swaps;
    bool swap_waits;
    int swap_result;
    uint64_t swap_ticket;
    Heddle__Assignment *ledger; /* durable */
    Heddle__LidBackup *lids;
    GHashTable *owners; /* "domain/epoch" -> owner/boot */
    uint64_t next_beat;
    Heddle__Status *status; /* the last STATUS */
    unsigned warnings;
    char last_warning[600];
};

struct rig *rig_new(unsigned shards); /* not started: change config first */
void rig_start(struct rig *r);
void rig_restart(struct rig *r); /* a new coordinator process on the same ledger */
void rig_reload(struct rig *r);  /* the shell reads the ledger again after EAGAIN */
void rig_free(struct rig *r);
struct rig_shard *rig_shard(struct rig *r, unsigned i); /* from 1 */
void rig_hello(struct rig *r, unsigned i);
void rig_join_all(struct rig *r);
void rig_reboot(struct rig *r, unsigned i); /* killed, a new process: new boot id, no grants, HELLO */
void rig_run(struct rig *r, uint64_t ms);
void rig_jump(struct rig *r, int64_t ms); /* time passes without a step */
void rig_link_down(struct rig *r, unsigned i);
void rig_topology(struct rig *r, unsigned from, const Heddle__Topology *t);
/* A switch entry; neighbours 0-terminated. */
Heddle__TopologySwitch *rig_switch(uint64_t guid, uint32_t hosts, const uint64_t *neighbours);
void rig_topology_add(Heddle__Topology *t, Heddle__TopologySwitch *s);
void rig_topology_clear(Heddle__Topology *t);
/* Leaves 0x100.. and spines 0x200.., each leaf joined to each spine. */
void rig_leaf_spine(Heddle__Topology *t, unsigned leaves, unsigned spines, uint32_t hosts);
void rig_send(struct rig *r, unsigned from, uint32_t type, ProtobufCMessage *body);
const Heddle__Status *rig_status(struct rig *r);
bool rig_has_problem(struct rig *r, const char *part);
const Heddle__Domain *rig_domain(struct rig *r, uint32_t id);
Heddle__MemberState rig_state(struct rig *r, unsigned i);
uint32_t rig_owned(struct rig *r, unsigned i);                /* domains but 0 */
bool rig_granted(struct rig *r, unsigned i, uint32_t domain); /* at the present epoch */

#endif
