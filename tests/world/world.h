/* SPDX-License-Identifier: BSD-2-Clause */
/* The world: real cores of one coordinator and several shards under a virtual clock.
 *
 * Process 0 is the coordinator, 1..shards are shards; each sits at a CA of a simulated fabric.
 * Everything that happens is an event in one queue, ordered by (time, order of creation); all
 * chance comes from one seeded generator. So a seed replays a run exactly.
 *
 *   world.c        options, the runs of seeds
 *   scenarios*.c   named stories on chosen fabrics
 *   world_life.c   making and unmaking of a world
 *   world_queue.c  the clock and the queue, ticks
 *   world_net.c    sessions and messages between processes, partitions
 *   world_shard.c  a shard's process: its core, its store, its MADs
 *   world_coord.c  the coordinator's process and the ledger
 *   world_check.c  invariants, convergence
 *   world_faults.c what goes wrong */
#ifndef WORLD_WORLD_H
#define WORLD_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "coordinator/core.h"
#include "shard/core.h"
#include "tests/world/sim_fabric.h"

#define WORLD_MAX_SHARDS 5
#define WORLD_PROCESSES (WORLD_MAX_SHARDS + 1)
#define WORLD_COORDINATOR 0
#define WORLD_CHANNELS 3
#define WORLD_CLUSTER "world"
#define WORLD_OPERATOR "operator"

struct world;

struct task { /* an event to come */
    uint64_t at_ms, order;
    void (*run)(struct world *w, struct task *t);
    int process, other; /* as the task needs them */
    uint64_t life;      /* of the process; another one by then = dropped */
    uint64_t session;
    int channel;
    void *data;
    GDestroyNotify free_data;
    uint8_t mad[MAD_BYTES];
    struct mad_address address;
    int64_t number;
};

struct process {
    char name[64];
    int index;
    uint8_t public_key[32], secret_key[32];
    bool alive, paused;
    uint64_t life; /* counts starts and crashes */
    uint64_t boot_id;
    uint64_t paused_at_ms;
    GQueue inbox; /* tasks that came while paused */
    uint64_t last_tick_ms, last_store_ms;
    /* shard: */
    struct shard_core *shard;
    uint32_t node;               /* its CA */
    GHashTable *store;           /* "table\0key" GBytes -> GBytes: what is durable */
    GHashTable *epochs;          /* domain -> last epoch in its view, as uint64_t * */
    bool wants[WORLD_PROCESSES]; /* sessions with shards */
    /* coordinator: */
    struct coord_core *coord;
};

struct session {
    bool up, changing;
    uint64_t generation;
    uint64_t last_ms[2][WORLD_CHANNELS]; /* FIFO in each direction */
};

struct ledger {
    Heddle__Assignment *assignment;
    Heddle__LidBackup *lids;
    uint64_t revision;
    GHashTable *owners; /* "domain/epoch" -> "owner/boot id" */
};

struct heard { /* a MAD that reached the listening host */
    uint8_t mad[MAD_BYTES];
    struct mad_address from;
};

struct world {
    uint64_t seed;
    GRand *rand;
    uint64_t now_ms, order, steps;
    GSequence *queue;
    struct fabric *fabric;
    char fabric_spec[64];
    struct sim_fabric *sim;
    int shards;
    struct process process[WORLD_PROCESSES];
    struct session session[WORLD_PROCESSES][WORLD_PROCESSES]; /* [low][high] */
    bool cut[WORLD_PROCESSES][WORLD_PROCESSES];               /* [from][to] */
    double mad_loss;
    uint32_t net_delay_ms;
    struct ledger ledger;
    struct coord_config coord_config;
    GPtrArray *coordinators, *operators; /* char * */
    uint64_t unfenced_sets;  /* of owners that could not know yet that they were replaced */
    GHashTable *acted_since; /* domain -> when that epoch began to act */
    GHashTable *acted;       /* domain -> highest epoch that a Set was sent for, as uint64_t * */
    uint64_t sets, mads, messages, faults, swaps;
    uint32_t listener;      /* a host without a shard whose MADs are kept, or FABRIC_NONE */
    GArray *heard;          /* struct heard */
    GHashTable *events;     /* event of the cores' log lines -> how often */
    Heddle__Status *status; /* the latest that was asked for */
    unsigned variant;       /* of a story that is told several times */
    bool verbose, failed, faults_over;
    char failure[512];
};

/* world_life.c */
struct world_setup {
    uint64_t seed;
    bool verbose;
    struct fabric *fabric; /* taken over; NULL = a random one */
    int shards;            /* 0 = 2 to WORLD_MAX_SHARDS */
};
void world_create(struct world *w, const struct world_setup *setup);
void world_destroy(struct world *w);

/* world_queue.c */
struct task *world_task(struct world *w, uint64_t delay_ms,
                        void (*run)(struct world *, struct task *)); /* in the queue */
void world_task_free(void *task);
uint32_t world_random(struct world *w, uint32_t low, uint32_t high); /* both included */
bool world_chance(struct world *w, double probability);
void world_run_until(struct world *w, uint64_t until_ms);
void world_fail(struct world *w, const char *format, ...) G_GNUC_PRINTF(2, 3);
void world_event(struct world *w, const char *who, int level, const char *event, const char *text);
unsigned world_events(const struct world *w, const char *event); /* how often it was logged */
void world_log(struct world *w, const char *who, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Runs a task for a process now, or when it goes on; drops it when it is another life. */
bool world_deferred(struct world *w, struct task *t);

/* world_net.c */
void net_update(struct world *w);
void net_connect(struct world *w, int process, int other); /* process wants it from now on */
void net_send(struct world *w, int from, int to, int channel, const struct envelope *m);
void net_process_died(struct world *w, int process, bool silently);
void net_cut(struct world *w, int from, int to, bool cut);

/* world_shard.c */
void shard_start(struct world *w, int process);
void shard_crash(struct world *w, int process, bool power_off);
void shard_step(struct world *w, struct process *p, const struct shard_event *e);
void shard_mad_arrives(void *user, uint32_t node, const uint8_t mad[MAD_BYTES],
                       const struct mad_address *from);
void process_pause(struct world *w, int process);
void process_resume(struct world *w, int process);

/* world_coord.c */
void ledger_create(struct world *w);
void ledger_destroy(struct world *w);
void coord_start(struct world *w);
void coord_crash(struct world *w);
const Heddle__Status *coord_ask_status(struct world *w); /* valid until the next one */
void coord_step(struct world *w, const struct coord_event *e);

/* world_check.c */
void check_ledger(struct world *w, const Heddle__Assignment *next);
void check_set(struct world *w, struct process *p, const struct shard_action *a);
void check_shard(struct world *w, struct process *p);
bool world_converged(struct world *w, FILE *report);

/* world_faults.c */
void faults_start(struct world *w);
void faults_end(struct world *w); /* heals everything */

#endif
