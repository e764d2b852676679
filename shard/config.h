/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration file of heddle-shard: libconfig syntax, see packaging/examples/shard.conf.
 *
 * Reading collects every error it finds, each as "FILE:LINE: what is wrong", so that --check shows
 * all of them at once. Ownership: the configuration owns all that it points to. */
#ifndef SHARD_CONFIG_H
#define SHARD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "base/log.h"
#include "proto/keys.h"

struct config_peer { /* a coordinator or an operator */
    char name[64];
    char *endpoint; /* of a coordinator */
    uint8_t public_key[32];
    uint8_t sign_public_key[32]; /* of a coordinator */
};

struct shard_config {
    char cluster[64], name[64];
    char *key_file, *store_dir;
    char *delta_endpoint, *bulk_endpoint;
    GArray *coordinators, *operators; /* struct config_peer */
    uint64_t port_guid;               /* 0 = not given */
    char *device;                     /* or NULL */
    unsigned port;                    /* of the device, 0 = not given */
    unsigned priority;
    bool standby;
    enum log_level log_level;
    struct key_pair *keys;
};

/* Reads and checks everything that needs no running daemon, the key file included. Errors are
 * appended to `errors` (char *, g_free); the result is valid only when there are none. */
struct shard_config *shard_config_read(const char *path, GPtrArray *errors);
void shard_config_free(struct shard_config *c); /* NULL allowed */

#endif
