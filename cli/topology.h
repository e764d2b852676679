/* SPDX-License-Identifier: BSD-2-Clause */
/* A view as a fabric, as ibnetdiscover would find it. Pure. */
#ifndef CLI_TOPOLOGY_H
#define CLI_TOPOLOGY_H

#include "fabric/fabric.h"
#include "shard/view.h"

/* Reachable switches, present end ports, and the cables whose physical link is up. For
 * fabric_destroy. */
struct fabric *topology_of_view(const struct view *v);

#endif
