/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the shell share. */
#ifndef SHARD_SHELL_PRIVATE_H
#define SHARD_SHELL_PRIVATE_H

#include <glib.h>

#include "proto/link.h"
#include "shard/core.h"
#include "shard/mad/umad_port.h"
#include "shard/shell.h"
#include "shard/shell_routes.h"
#include "shard/shell_verbs.h"
#include "store/store.h"

struct pending_stored { /* a batch that could not even be queued */
    uint64_t ticket;
    int error;
};

struct shell {
    const struct shard_config *config;
    struct shard_core *core;
    struct link *link;
    struct mad_port *port;
    struct store *store;
    struct store_writer *writer;
    struct shell_routes *routes;
    struct shell_verbs *verbs; /* NULL where there is no such device */
    int signal_fd;
    uint64_t boot_id;
    GArray *actions;       /* struct shard_action, of the step in progress */
    GHashTable *peers;     /* name -> itself: other shards that are allowed now */
    GArray *failed_stores; /* struct pending_stored */
    bool port_lost;
    uint64_t last_tick_ms;
    GHashTable *refused; /* peer -> since when it refuses us, uint64_t * */
    bool unread;  /* MADs may wait at the port */
    bool stepped; /* events were given to the core that wait for the turn's last one */
    uint64_t watchdog_ms, next_watchdog_ms; /* 0 = none */
    uint64_t next_store_check_ms;
    uint64_t send_errors, unsent; /* MADs; messages */
};

uint64_t shell_now_ms(void); /* monotonic, never 0 */

/* Gives an event to the core and carries out what it wants done. */
void shell_step(struct shell *s, struct shard_event *event);
void shell_act(struct shell *s, struct shard_action *a);

/* The store's tables as the core wants them at start: an array of struct shard_stored *, and the
 * ledger's incarnation that was known. Returns 0 or errno. */
int shell_load_store(struct store *store, GPtrArray **stored, uint64_t *incarnation);
void shell_free_stored(GPtrArray *stored); /* NULL allowed */

#endif
