/* SPDX-License-Identifier: BSD-2-Clause */
/* The operator's end of heddle's links: asks coordinators for the status, shards for their view
 * and for routes.
 *
 * A client connects to all coordinators of operator.conf on the control channel; whichever answers
 * first is believed. Shards are found through the status (endpoints and keys of its members) and
 * asked on the bulk channel, one after the other, until one answers.
 *
 * Each call ends within the client's time-out; while a view streams in, the time-out counts from
 * the last chunk. Errors are one line each, left in client_error. Threads: one. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "cli/config.h"
#include "proto/envelope.h"

struct client;
struct view;

/* Connects (without waiting) to the coordinators; config must outlive the client. NULL with one
 * line in *error (g_free). */
struct client *client_create(const struct operator_config *config, double timeout_s, char **error);
void client_destroy(struct client *cl); /* NULL allowed */
const char *client_error(const struct client *cl);

/* The status, for heddle__status__free_unpacked; NULL on error, after patience_s without answer. */
Heddle__Status *client_status(struct client *cl, double patience_s);
/* The view of one shard: that of this name, or, with NULL, the first live one that answers. For
 * view_destroy; NULL on error. */
struct view *client_view(struct client *cl, const Heddle__Status *status, const char *shard);
/* A route as the shard's plan has it, for heddle__route__free_unpacked; NULL on error. */
Heddle__Route *client_route(struct client *cl, const Heddle__Status *status, const char *shard,
                            const char *source, const char *destination);

/* For commands: reads the configuration that c names and connects. NULL after a line on stderr. */
struct client *client_open(const struct cli *c);

#endif
