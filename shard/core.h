/* SPDX-License-Identifier: BSD-2-Clause */
/* The shard's core: protocol logic of one shard as a pure step function.
 *
 * (state, event, now) -> actions. No clock, socket, random source, thread or disk: the daemon
 * (main.c, shell.c) is a thin shell that turns MADs, messages, time and finished jobs into events
 * and carries actions out; tests/world runs many cores under one virtual clock. Deterministic.
 *
 * Parts, each with a header of its own: view (the replica), replication (streams of deltas),
 * mad/smpq (outstanding SMPs), explore, lids, setup, tables, sweep, traps, takeover, sminfo, probe,
 * sa/. core.c dispatches events to them.
 *
 * now_ms is monotonic and never 0. */
#ifndef SHARD_CORE_H
#define SHARD_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "proto/envelope.h"
#include "routing/plan.h"
#include "shard/mad/smp.h"
#include "shard/view.h"

struct shard_core;

struct shard_core_config {
    char cluster[64];
    char name[64];
    uint64_t boot_id;
    char delta_endpoint[128], bulk_endpoint[128];
    uint32_t priority;
    bool standby;
    const uint8_t *public_key, *secret_key; /* CURVE, 32 bytes each; outlive the core */
    uint8_t sign_public_key[32];            /* of the coordinators */
    GPtrArray *coordinators;                /* char *: enrolled names */
    GPtrArray *operators;                   /* char *: names that may ask for status and view */
    /* From the store, NULL = none: the view as it was (positions included) and own LIDs. */
    GPtrArray *stored; /* struct shard_stored */
    uint64_t stored_incarnation;
    uint32_t tid_seed;
};

struct shard_stored { /* a value of the store's tables, handed in at start */
    char table[16];   /* "switch", "endport", "domain", "lid", "numbers" */
    GBytes *key, *value;
};

enum shard_event_kind {
    SHARD_EV_START,
    SHARD_EV_TICK,
    SHARD_EV_MAD,        /* received: mad, len, address */
    SHARD_EV_MAD_FAILED, /* a request came back unanswered: mad (for its TID) */
    SHARD_EV_MESSAGE,    /* from an authenticated peer */
    SHARD_EV_LINK_UP,
    SHARD_EV_LINK_DOWN,
    SHARD_EV_ROUTED,    /* a job of SHARD_ACT_ROUTE is done; the core takes the result over */
    SHARD_EV_STORED,    /* a batch of SHARD_ACT_STORE is durable, or error */
    SHARD_EV_PORT_DOWN, /* the local port died (asynchronous event): step down */
    SHARD_EV_STALLED,   /* the loop stalled for stall_ms before this event */
};

enum shard_channel { SHARD_CONTROL, SHARD_DELTA, SHARD_BULK }; /* = enum link_channel */

struct route_job { /* handed to the pool; immutable */
    uint64_t ticket;
    struct rt_graph *graph; /* a reference */
    char engine[16];
    GArray *root_guids; /* uint64_t */
    uint8_t digest[32]; /* of the graph */
    GArray *switches;   /* uint64_t GUIDs whose rows are wanted */
};
struct route_result {
    uint64_t ticket;
    uint8_t digest[32];
    struct rt_plan *plan; /* NULL on error */
    char error[256];
    GArray *switches; /* as in the job */
    GPtrArray *rows;  /* uint8_t[row_size] each, g_malloc */
    size_t row_size;  /* multiple of RT_LFT_BLOCK, above max_lid */
};
void route_job_free(struct route_job *j);
void route_result_free(struct route_result *r);
/* Runs the job; pure; called by the pool's threads and by tests/world. */
struct route_result *route_job_run(const struct route_job *j);

struct shard_event {
    enum shard_event_kind kind;
    /* MAD, MAD_FAILED */
    const uint8_t *mad;
    size_t mad_len; /* 256, or more for a reassembled RMPP message */
    struct mad_address address;
    /* MESSAGE, LINK_* */
    enum shard_channel channel;
    const char *peer;
    const struct envelope *message;
    /* ROUTED */
    struct route_result *routed;
    /* STORED */
    uint64_t ticket;
    int error;
    uint32_t stall_ms;
    uint64_t realtime_ms; /* wall clock, to be shown only */
    bool unread; /* MADs have come that are not handed in yet: no SMP is given up before they are */
    bool more; /* another event follows at once: what is done once for many waits for the last */
};

enum shard_action_kind {
    SHARD_ACT_SEND_MAD,
    SHARD_ACT_SEND,  /* message to a peer */
    SHARD_ACT_PEERS, /* allow and connect these members, drop others */
    SHARD_ACT_ROUTE,
    SHARD_ACT_STORE,
    SHARD_ACT_LOG,
};
struct shard_store_item {
    char table[16];
    GBytes *key, *value; /* value NULL = delete */
};
struct shard_action {
    enum shard_action_kind kind;
    /* SEND_MAD */
    uint8_t *mad; /* g_malloc */
    size_t mad_len;
    struct mad_address address;
    uint32_t timeout_ms; /* 0 = no answer is expected */
    bool rmpp;           /* let the kernel segment it */
    /* SEND */
    enum shard_channel channel;
    char peer[64];
    struct envelope message;
    /* PEERS */
    Heddle__Assignment *peers; /* members only; owned by the action */
    /* ROUTE */
    struct route_job *job;
    /* STORE */
    uint64_t ticket;
    GPtrArray *items; /* struct shard_store_item */
    /* LOG */
    int level;
    char event[48];
    char text[512];
};
void shard_action_clear(struct shard_action *a);

/* Copies what it needs but the keys, which must outlive it. */
struct shard_core *shard_core_create(const struct shard_core_config *config);
void shard_core_destroy(struct shard_core *c);
/* Appends struct shard_action to actions (a GArray, cleared by the caller with
 * shard_action_clear). */
void shard_core_step(struct shard_core *c, const struct shard_event *event, uint64_t now_ms,
                     GArray *actions);
uint64_t shard_core_deadline(const struct shard_core *c);

/* For tests/world and the shell's status: read only. */
const struct view *shard_core_view(const struct shard_core *c);
bool shard_core_owns(const struct shard_core *c, uint32_t domain, uint64_t *epoch);
/* SMPs on the wire: the shell takes answers in larger batches when there are many. */
uint32_t shard_core_outstanding(const struct shard_core *c);
bool shard_core_frozen(const struct shard_core *c);

#endif
