/* SPDX-License-Identifier: BSD-2-Clause */
/* operator.conf: who the operator is and where the coordinators are. libconfig syntax:
 *
 *   cluster = "a1"; name = "operator"; key_file = "operator.secret";
 *   coordinators = ( { name = "c1"; endpoint = "tcp://10.0.0.1:7100";
 *                      public_key = "64 hex digits, or a file"; sign_public_key = "the same"; } );
 *
 * Relative file names are looked for beside the configuration. sign_public_key is for the daemons
 * (one list of coordinators serves all files) and may be left out here. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli/cli.h"
#include "proto/keys.h"

struct operator_coordinator {
    char name[64];
    char *endpoint;
    uint8_t public_key[32];
};

struct operator_config {
    char cluster[64], name[64];
    struct key_pair *keys;
    GArray *coordinators; /* struct operator_coordinator, at least one */
};

/* The file that the options and the environment name (g_free). */
char *operator_config_path(const struct cli *c);
/* Returns NULL with all that is wrong appended to errors (char *, g_free), a line each. */
struct operator_config *operator_config_read(const char *path, GPtrArray *errors);
void operator_config_free(struct operator_config *config); /* NULL allowed */

#endif
