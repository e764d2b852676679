/* SPDX-License-Identifier: BSD-2-Clause */
/* What `heddle route compute --shards N` says of tables that N processes made (route_split.h). */
#ifndef CLI_ROUTE_SHARDS_H
#define CLI_ROUTE_SHARDS_H

#include "cli/route_work.h"

/* Splits what made t, and adds what came out to r; *json is an object of all of it. Where the union
 * differs from t and the engine did not promise otherwise, both are measured. An exit status:
 * CLI_FAILED also when the engine promised that the union is the same, and it is not. */
int route_shards(struct route_work *w, struct route_tables *t, unsigned shards,
                 struct route_record *r, json_t **json);

#endif
