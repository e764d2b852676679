/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the core share. Not for others: core.h is the interface.
 *
 * Three assignments exist at a time. `durable` is what the ledger holds and what shards are told.
 * `work` is what the core has decided: handlers change it and call coord_dirty(). `writing` is the
 * copy of `work` whose swap is under way, NULL between swaps. There is one swap at a time; what is
 * decided meanwhile goes into the next. When a swap fails `work` still holds every decision and is
 * written again.
 *
 * `peers` is what is known of the shards in memory only: when they were heard, what they said, who
 * was asked about them. now_ms, realtime_ms and actions are set for the time of one step. */
#ifndef COORDINATOR_INTERNAL_H
#define COORDINATOR_INTERNAL_H

#include <inttypes.h>

#include "base/log.h"
#include "coordinator/core.h"
#include "coordinator/records.h"

#define COORD_RESEND_MS 1000u       /* grants and assignments that were not confirmed */
#define COORD_PROBE_TIMEOUT_MS 150u /* peers answer within about 100 ms */
#define COORD_PROBE_PACE_MS 100u    /* between two rounds about one suspect */
#define COORD_EVIDENCE_MS 1000u     /* older verdicts say nothing any more */
#define COORD_JOIN_GRACE_MS 1000u   /* from WELCOME to the first heartbeat */
#define COORD_LONELY_BEATS 10u      /* silence of the only shard that counts as death */
#define COORD_LATE_TICK_MS 200u     /* DESIGN, Detection: TILT */
#define COORD_REVIVE_MS 1000u       /* heartbeats this long after a death are no leftovers */
#define COORD_RETRY_MS 500u         /* after the ledger's disk failed */
#define COORD_LID_FLUSH_MS 1000u    /* found LIDs are written at most this often */
#define COORD_MAX_TAKEOVERS 64u     /* kept for the status */
#define COORD_MAX_SWITCHES 16384u   /* more than the LIDs of a subnet of switches and hosts */
#define COORD_MAX_LIDS 65536u       /* port GUIDs whose LIDs are kept */
#define COORD_FIRST_LID 64u         /* where the first pool begins */
#define COORD_END_LID 0xC000u       /* IBA 4.1.3: the first multicast LID */
#define COORD_OLD_BOOTS 8u
#define COORD_CLASH_MS 10000u /* between warnings that two processes use a name */

struct coord_evidence { /* what a peer said of a suspect */
    char peer[64];
    Heddle__ProbeVerdict verdict;
    uint64_t at_ms;
};

struct coord_round { /* of probes about one suspect; id 0 = none */
    uint64_t id, started_ms;
    char asked[2][64];
    bool answered[2];
    unsigned count;
};

struct coord_peer { /* one enrolled shard, as far as memory goes */
    char name[64];
    uint64_t last_seen_ms;     /* of its present process; a time to come = grace */
    uint64_t suspect_since_ms; /* 0 = not suspect */
    uint64_t died_ms;          /* when its death was decided, 0 = never */
    Heddle__Heartbeat *last;   /* NULL = none since START or since it joined */
    int32_t clock_offset_ms;
    bool want_welcome;         /* said HELLO; WELCOME waits for the ledger */
    bool contacted;            /* said anything since START */
    uint64_t next_catch_up_ms; /* when it may be sent the assignment again */
    struct coord_round round;
    uint32_t rounds;                     /* of this suspicion: rotates the peers asked */
    GArray *evidence;                    /* struct coord_evidence, the newest of each peer */
    uint64_t old_boots[COORD_OLD_BOOTS]; /* processes of this name that were replaced */
    unsigned old_boot_next;
    /* another process said HELLO under this name while the member's lives; 0 = none: */
    /* A process with this shard's key that calls itself otherwise: when it was heard, and told of.
     */
    uint64_t foreign_ms, foreign_warned_ms;
    char foreign_name[64];
    uint64_t clash_boot, clash_first_ms, clash_seen_ms, clash_warned_ms;
};

struct coord_domain_run {     /* what is known of a domain, in memory only */
    uint64_t confirmed_epoch; /* that its owner reported */
    uint64_t next_grant_ms;
    uint32_t reported_nodes, graph_nodes;
};

struct coord_secrets { /* in sodium_malloc memory: locked, guarded, wiped when freed */
    uint8_t sign_secret_key[64];
    uint8_t cluster_secret[32];
};

struct coord_core {
    struct coord_config config; /* deep copy, without the secrets */
    struct coord_secrets *secrets;
    GPtrArray *peers; /* struct coord_peer, by name */
    Heddle__Assignment *durable, *work, *writing;
    bool started, dirty, stale;
    uint64_t revision, ticket, retry_ms;

    GHashTable *lids; /* uint64_t *port GUID -> Heddle__FoundLid */
    bool lids_dirty, lids_writing;
    uint64_t lids_due_ms;

    GHashTable *graph;         /* uint64_t *switch GUID -> Heddle__TopologySwitch */
    GHashTable *switch_domain; /* uint64_t *switch GUID -> domain id + 1; of work */
    GHashTable *domain_runs;   /* id -> struct coord_domain_run */
    bool graph_complete, hints_due, hints_writing;
    uint64_t hints_revision; /* whoever knows an older assignment lacks the hints */
    uint32_t unassigned;     /* switches reported that no domain takes */
    uint64_t first_topology_ms, first_join_ms;

    GPtrArray *takeovers_open;  /* Heddle__TakeoverRecord: decided, not durable */
    uint32_t takeovers_writing; /* how many of them are in `writing` */
    GPtrArray *takeovers;       /* Heddle__TakeoverRecord: the latest, oldest first */
    uint64_t last_isolation_ms, next_probe_id, tilt_until_ms, last_step_ms;
    uint64_t last_timers_ms; /* when run_timers() ran: deadlines count from there */

    uint64_t now_ms, realtime_ms; /* of the step */
    GArray *actions;
};

/* -- core.c -------------------------------------------------------------------------------- */
void coord_dirty(struct coord_core *c);
void coord_log(struct coord_core *c, int level, const char *event, const char *pairs, ...)
    __attribute__((format(printf, 4, 5)));
/* Takes body (may be NULL) over. */
void coord_send(struct coord_core *c, const char *peer, uint32_t type, ProtobufCMessage *body,
                uint32_t domain, uint64_t epoch, uint64_t seq);
struct coord_peer *coord_peer_find(const struct coord_core *c, const char *name);
const struct coord_enrolled *coord_enrolled_find(const struct coord_core *c, const char *name);
uint32_t coord_lmc(const struct coord_core *c);

/* -- members.c: who is enrolled, HELLO, WELCOME ---------------------------------------------- */
void coord_members_sync(struct coord_core *c);
void coord_members_hello(struct coord_core *c, struct coord_peer *p, const struct envelope *e);
/* Two live processes use the name, as of the last seconds. */
bool coord_members_clash(const struct coord_core *c, const struct coord_peer *p);
/* WELCOMEs that wait and ASSIGNMENTs, after a swap; previous = durable before it, may be NULL. */
void coord_members_publish(struct coord_core *c, const Heddle__Assignment *previous,
                           bool with_hints);
void coord_members_send_assignment(struct coord_core *c, struct coord_peer *p, bool with_hints);

/* -- detector.c: heartbeats, suspicion, probes, verdicts, isolation, TILT ---------------------- */
void coord_detector_heartbeat(struct coord_core *c, struct coord_peer *p, const struct envelope *e);
void coord_detector_result(struct coord_core *c, struct coord_peer *from, const struct envelope *e);
void coord_detector_link_down(struct coord_core *c, struct coord_peer *p);
void coord_detector_tick(struct coord_core *c);
bool coord_detector_tilt(struct coord_core *c); /* at the start of each step */
uint64_t coord_detector_deadline(const struct coord_core *c);
void coord_detector_reset(struct coord_peer *p); /* not suspect, no evidence */
uint64_t coord_detector_age(const struct coord_core *c, const struct coord_peer *p);
uint64_t coord_detector_period(const struct coord_core *c); /* misses x heartbeat, ms */
/* Live in `work` and not suspect: can be asked and can receive. */
bool coord_peer_usable(const struct coord_core *c, const struct coord_peer *p);

/* -- assignment.c: owners, receivers, limits, lead --------------------------------------------- */
/* Gives every domain without a live owner one, where a shard can take it. Returns false when a
 * receiver had to go beyond shard_max_nodes. */
bool coord_assignment_settle(struct coord_core *c, const char *reason);
uint32_t coord_domain_nodes(const struct coord_core *c, const Heddle__Domain *d);
struct coord_domain_run *coord_domain_run(const struct coord_core *c, uint32_t id);

/* -- topology.c: the graph that shards report, the cut, switches that came later ----------------
 */
void coord_topology_message(struct coord_core *c, struct coord_peer *p, const struct envelope *e);
void coord_topology_rules(struct coord_core *c); /* domains of the configuration, at START */
void coord_topology_index(struct coord_core *c); /* switch_domain from work */
void coord_topology_tick(struct coord_core *c);  /* cuts when it is time to */
uint64_t coord_topology_deadline(const struct coord_core *c);
bool coord_topology_ready(const struct coord_core *c, uint64_t since_ms);

/* -- pools.c: LIDs --------------------------------------------------------------------------- */
/* Makes the domain's pools hold `lids`; with_growth adds a quarter. False when LIDs ran out. */
bool coord_pools_fit(struct coord_core *c, Heddle__Domain *d, uint32_t lids, bool with_growth);
uint32_t coord_pools_free(const struct coord_core *c);
uint32_t coord_pools_member_lid(struct coord_core *c, const Heddle__Member *m, uint32_t wanted);
void coord_pools_found(struct coord_core *c, Heddle__FoundLid *const *lids, size_t count);
Heddle__LidBackup *coord_pools_backup(const struct coord_core *c);

/* -- grants.c ---------------------------------------------------------------------------------- */
void coord_grants_send(struct coord_core *c, const Heddle__Domain *d);
void coord_grants_tick(struct coord_core *c);
uint64_t coord_grants_deadline(const struct coord_core *c);
bool coord_grants_confirmed(const struct coord_core *c); /* all of them */

/* -- status.c ---------------------------------------------------------------------------------- */
Heddle__Status *coord_status(const struct coord_core *c);

#endif
