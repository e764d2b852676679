/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that run routing jobs; results come back through an eventfd. */
#ifndef SHARD_SHELL_ROUTES_H
#define SHARD_SHELL_ROUTES_H

#include "shard/core.h"

struct shell_routes;

struct shell_routes *shell_routes_create(void);    /* NULL with errno */
void shell_routes_destroy(struct shell_routes *r); /* waits for running jobs; NULL allowed */
void shell_routes_submit(struct shell_routes *r, struct route_job *job); /* takes the job over */
int shell_routes_fd(const struct shell_routes *r);
struct route_result *shell_routes_done(struct shell_routes *r); /* the next one, or NULL */

#endif
