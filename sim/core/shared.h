/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables that are the same at many ports, kept once. Private to sim/core.
 *
 * A manager writes the same P_Keys, SL2VL and VL arbitration tables to most ports of a fabric; one
 * copy of each at every port would take more memory than all of the rest but the LFTs. A table is
 * either private, from g_malloc, or shared, and then nobody writes to it. */
#ifndef SIM_CORE_SHARED_H
#define SIM_CORE_SHARED_H

#include <stddef.h>

struct sim_shared;

struct sim_shared *sim_shared_create(void);
void sim_shared_destroy(struct sim_shared *all); /* NULL allowed; tables still shared are gone */
/* Takes a table, private or shared; returns the one that is kept instead, the same bytes. */
void *sim_shared_keep(struct sim_shared *all, void *table, size_t size);
/* The other way round: a private table of the same bytes. */
void *sim_shared_own(struct sim_shared *all, void *table, size_t size);
void sim_shared_free(struct sim_shared *all, void *table); /* of either kind; NULL allowed */

#endif
