/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of the local port through libibverbs, where the device exists. */
#ifndef SHARD_SHELL_VERBS_H
#define SHARD_SHELL_VERBS_H

#include <stdbool.h>

struct shell_verbs;

/* NULL when libibverbs has no such device (a simulated port). */
struct shell_verbs *shell_verbs_open(const char *device, unsigned port);
void shell_verbs_close(struct shell_verbs *v); /* NULL allowed */
int shell_verbs_fd(const struct shell_verbs *v);
/* Takes all events that wait; true when one of them says that the port or device is down. */
bool shell_verbs_down(struct shell_verbs *v);

#endif
