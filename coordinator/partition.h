/* SPDX-License-Identifier: BSD-2-Clause */
/* Cutting a fabric into domains. Pure and deterministic.
 *
 * Ranks are distances from the leaves (switches with hosts; a switch with far fewer hosts than the
 * fullest is none, since spines carry aggregation nodes and management hosts). The connected
 * pieces below the top rank are the pods. Pods are bundled, or cut along their own inner pods or
 * into groups of leaves, so that there are about `domains` parts of at most max_nodes; switches
 * above are dealt evenly into the parts in the order of their GUIDs. A fabric without levels is
 * cut by METIS. No part is empty, and there are never more parts than switches. */
#ifndef COORDINATOR_PARTITION_H
#define COORDINATOR_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#include "proto/messages.pb-c.h"

/* switches must be sorted by GUID, without repetition. Writes the part (0 ..) of each switch to
 * part[count]; returns the number of parts, 0 when count is 0. Parts are numbered in the order of
 * their lowest GUID. */
uint32_t partition_cut(Heddle__TopologySwitch *const *switches, size_t count, uint32_t domains,
                       uint32_t max_nodes, uint32_t *part);

#endif
