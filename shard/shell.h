/* SPDX-License-Identifier: BSD-2-Clause */
/* The shell: what turns the pure core into a daemon.
 *
 * One loop in one thread waits for messages, MADs, finished jobs, signals and time, turns them into
 * events, and carries the core's actions out. Beside it run two threads for routing,
 * one for commits and those of ZeroMQ. */
#ifndef SHARD_SHELL_H
#define SHARD_SHELL_H

#include <stddef.h>

#include "shard/config.h"

struct shell;

/* Opens the store, the port and the endpoints. Returns 0, or errno with one line in error. Signals
 * are blocked in the calling thread and those that are started from it. */
int shell_create(const struct shard_config *config, struct shell **shell, char *error,
                 size_t error_size);
/* Runs until SIGTERM or SIGINT; returns 0, or errno after a failure that is logged. */
int shell_run(struct shell *s);
void shell_destroy(struct shell *s); /* NULL allowed */

#endif
