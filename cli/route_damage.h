/* SPDX-License-Identifier: BSD-2-Clause */
/* Fabrics with cables and nodes taken away: some that are named, and a share that is drawn. What is
 * drawn depends on GUIDs, ports and the seed alone, not on the order of a file. Pure. */
#ifndef CLI_ROUTE_DAMAGE_H
#define CLI_ROUTE_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "fabric/fabric.h"

struct route_named {
    uint64_t guid; /* of a node */
    uint8_t port;  /* 0 = the node itself */
};

struct route_damage {
    double links_percent, switches_percent; /* of those between switches, rounded up */
    uint64_t links_seed, switches_seed;
    GArray *named; /* struct route_named; NULL = none */
    /* What was done: cables between switches that are gone, also those of switches that are gone;
     * end ports that have no switch any more. */
    uint32_t links_gone, switches_gone, ends_gone;
};

/* "GUID" or "GUID/PORT". */
bool route_parse_named(const char *text, struct route_named *n);
/* A copy of f with the damage done: nodes that are taken, and others than switches that have no
 * cable any more, are left out; the rest keeps its order. Named things go first, then switches,
 * then links of what is left. NULL after a line on stderr, when something named is not there. */
struct fabric *route_damage_do(const struct fabric *f, struct route_damage *d, const char *name);

#endif
