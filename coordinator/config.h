/* SPDX-License-Identifier: BSD-2-Clause */
/* coordinator.conf (libconfig syntax): reading it and finding everything that is wrong with it.
 *
 * All errors are collected, as FILE:LINE: what is wrong and what is expected; an unknown setting
 * is an error. Key files are read too, so that --check finds those that are missing or open to
 * others. packaging/examples/coordinator.conf explains each setting. */
#ifndef COORDINATOR_CONFIG_H
#define COORDINATOR_CONFIG_H

#include <glib.h>

#include "coordinator/core.h"
#include "proto/keys.h"

struct coordinator_settings {
    struct coord_config core; /* boot_id, incarnation and secrets are filled by main */
    char *store_dir, *control_endpoint;
    int log_level;
    struct key_pair *key, *sign_key, *cluster_secret;
};

/* Returns the settings, or NULL with lines appended to errors (a GPtrArray of char *, g_free). */
struct coordinator_settings *coordinator_settings_load(const char *path, GPtrArray *errors);
void coordinator_settings_free(struct coordinator_settings *s); /* NULL allowed; wipes keys */

#endif
