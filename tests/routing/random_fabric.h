/* SPDX-License-Identifier: BSD-2-Clause */
/* Small fabrics of all shapes, whole and damaged, drawn from a seed. */
#ifndef TESTS_RANDOM_FABRIC_H
#define TESTS_RANDOM_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"

/* One generator of fabric/generate.h with small numbers, GUIDs and LIDs in a random order, some
 * with LMCs, some with parallel links, CAs and aggregation nodes on any switch, links and switches
 * gone; some fall into pieces. spec (size bytes) is told what it was made of. */
struct fabric *random_fabric(uint32_t seed, char *spec, size_t size);

#endif
