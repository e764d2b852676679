/* SPDX-License-Identifier: BSD-2-Clause */
/* What the generators share (generate_*.c; only they and generate.c include this): reading the
 * fields of a spec, names, GUIDs and cables as generate.h describes them, limits.
 *
 * A generator reads all fields, checks that such a subnet can exist, and only then adds nodes: the
 * functions that add and join cannot fail. Sizes are checked in 64 bits before anything is
 * allocated; fields are limited so that a product of four of them does not overflow. */
#ifndef FABRIC_GENERATOR_H
#define FABRIC_GENERATOR_H

#include <glib.h>

#include "fabric/generate.h"

#define GENERATOR_MAX_LIDS 49151 /* unicast LIDs: 0x0001 to 0xBFFF (IBA 4.1.1) */

/* A spec in the making: what stands behind the name, split at colons. */
struct generator_spec {
    char **fields;
    unsigned count;
    const char *example;
    char error[256];
};

struct generator {
    struct fabric_generator about;
    unsigned min_fields, max_fields;
    /* NULL: error says why. fields are within the limits. */
    struct fabric *(*make)(struct generator_spec *spec);
};

extern const struct generator generator_pgft, generator_rail, generator_torus, generator_mesh,
    generator_dragonfly, generator_dragonfly_plus, generator_random;

/* Writes the error; false, to be returned. */
bool generator_fail(struct generator_spec *spec, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Reads text, all of it, or fails with "WHAT is .., expected min to max, as in EXAMPLE". */
bool generator_value(struct generator_spec *spec, const char *text, const char *what, uint32_t min,
                     uint32_t max, uint32_t *value);
/* The same for a field; one that is absent leaves *value as it is. */
bool generator_field(struct generator_spec *spec, unsigned field, const char *what, uint32_t min,
                     uint32_t max, uint32_t *value);
/* Fails where a node ("a leaf") would have more ports than there can be. */
bool generator_ports_fit(struct generator_spec *spec, const char *node, uint64_t ports);
/* Fails where switches and ports of CAs are more than there are LIDs. */
bool generator_lids_fit(struct generator_spec *spec, uint64_t lids);

/* Add a node (index from 0) and return its number. */
uint32_t generator_add_switch(struct fabric *f, unsigned level, uint32_t index, unsigned nports);
uint32_t generator_add_ca(struct fabric *f, unsigned level, uint32_t index, unsigned nports,
                          const char *desc);
uint32_t generator_add_host(struct fabric *f, uint32_t index, unsigned nports);
/* Joins two free ports by a 4xHDR cable. */
void generator_join(struct fabric *f, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b);

#endif
