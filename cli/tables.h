/* SPDX-License-Identifier: BSD-2-Clause */
/* Routing graphs for tables that were read back: LIDs are those that the tables were made for. */
#ifndef CLI_TABLES_H
#define CLI_TABLES_H

#include "cli/lfts.h"
#include "fabric/fabric.h"
#include "routing/check.h"

/* The fabric that lines of JSON describe. For fabric_destroy. */
struct fabric *tables_fabric(const struct lfts *l);
/* A graph of f with the LIDs that l tells for its ports; *without_lid = how many ends of cables
 * to switches, and switches, have none. Returns 0, or as rt_builder_finish. */
int tables_graph(const struct fabric *f, const struct lfts *l, struct rt_graph **g,
                 uint32_t *without_lid, uint16_t *duplicate_lid);
/* Rows in the order of g's switches (g_free), pointing into l; *missing = switches without one. */
const uint8_t **tables_rows(const struct rt_graph *g, const struct lfts *l, uint32_t *missing);

#endif
