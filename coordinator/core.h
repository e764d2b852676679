/* SPDX-License-Identifier: BSD-2-Clause */
/* The coordinator's core: who is alive, who owns what. A pure step function.
 *
 * (state, event, now) -> actions. It calls no clock, no socket, no random source and no disk: time
 * is an argument, everything that it wants done is an action. The daemon (main.c) is a thin shell
 * round it; tests/world runs it under a virtual clock. Deterministic: the same events at the same
 * times give the same actions in the same order.
 *
 * The assignment is one value of the ledger, changed only by compare-and-swap on its revision. The
 * core never acts on a change before the ledger said that it is durable (COORD_EV_SWAPPED): only
 * then are grants signed and assignments sent.
 *
 * now_ms is monotonic and never 0. Memory: O(members + switches). */
#ifndef COORDINATOR_CORE_H
#define COORDINATOR_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "proto/envelope.h"

struct coord_core;

struct coord_domain_rule { /* of the configuration */
    char name[64];
    GArray *switches; /* uint64_t GUIDs */
    GArray *ranges;   /* uint64_t pairs: first, last */
};

struct coord_enrolled {
    char name[64];
    uint8_t public_key[32];
    bool is_operator;
};

struct coord_config {
    char cluster[64];
    char name[64];
    uint64_t boot_id;
    uint64_t incarnation;                  /* of the opened ledger */
    bool auto_domains;                     /* cut along pods; else rules */
    GArray *rules;                         /* struct coord_domain_rule */
    GArray *enrolled;                      /* struct coord_enrolled */
    uint32_t domain_max_nodes;             /* 5,000 */
    uint32_t shard_max_nodes;              /* 12,000 */
    uint32_t domains_per_shard;            /* auto aims at this many a shard, 4 */
    uint32_t expected_shards;              /* auto waits for this many (all enrolled), or ... */
    uint32_t expected_timeout_ms;          /* ... this long after the first shard, then cuts */
    Heddle__ClusterConfig *cluster_config; /* heartbeat_ms, misses, subnet options, ... */
    uint8_t sign_secret_key[64];
    uint8_t sign_public_key[32];
    uint8_t cluster_secret[32];
};

enum coord_event_kind {
    COORD_EV_START,     /* once, with the ledger's values in `loaded` */
    COORD_EV_TICK,      /* at least when coord_core_deadline says */
    COORD_EV_MESSAGE,   /* from an authenticated peer */
    COORD_EV_LINK_DOWN, /* a session of this peer broke: a hint */
    COORD_EV_SWAPPED,   /* answer to COORD_ACT_SWAP */
};
struct coord_event {
    enum coord_event_kind kind;
    const char *peer;               /* MESSAGE, LINK_DOWN: enrolled name */
    const struct envelope *message; /* MESSAGE; already decoded and checked */
    uint64_t realtime_ms;           /* wall clock, only to be compared and shown */
    /* START: */
    const Heddle__Assignment *assignment; /* NULL = new ledger */
    const Heddle__LidBackup *lids;        /* NULL = none */
    uint64_t revision;                    /* START, SWAPPED: of the assignment */
    uint64_t ticket;                      /* SWAPPED */
    int error;                            /* SWAPPED: 0, EAGAIN = another writer, else the disk's */
};

enum coord_action_kind {
    COORD_ACT_SEND, /* message to peer; no session is not an error */
    COORD_ACT_SWAP, /* write assignment (and lids where not NULL) if at `expected` */
    COORD_ACT_LOG,
};
struct coord_action {
    enum coord_action_kind kind;
    char peer[64];
    struct envelope message;        /* SEND: owned by the action */
    uint64_t ticket, expected;      /* SWAP */
    Heddle__Assignment *assignment; /* SWAP: owned by the action */
    Heddle__LidBackup *lids;        /* SWAP: may be NULL */
    int level;                      /* LOG: enum log_level of base/log.h */
    char event[48];                 /* LOG */
    char text[512];                 /* LOG: key=value pairs */
};
void coord_action_clear(struct coord_action *a);

struct coord_core *coord_core_create(const struct coord_config *config); /* copies config */
void coord_core_destroy(struct coord_core *c);
/* Appends struct coord_action to actions (a GArray of them, cleared by the caller). */
void coord_core_step(struct coord_core *c, const struct coord_event *event, uint64_t now_ms,
                     GArray *actions);
/* When the next TICK is due; UINT64_MAX = never. */
uint64_t coord_core_deadline(const struct coord_core *c);

/* For tests and status: the assignment in force (durable), owned by the core. */
const Heddle__Assignment *coord_core_assignment(const struct coord_core *c);

#endif
