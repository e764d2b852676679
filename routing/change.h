/* SPDX-License-Identifier: BSD-2-Clause */
/* Which blocks of forwarding tables differ between two plans of one engine, found by looking at
 * what can differ and at nothing else, where the engine can tell: always what comparing all rows
 * finds.
 *
 * ftree tells entry by entry, updn and dnup row by row. Where switches have come or gone, and with
 * all other engines, all rows are compared. The graph of `after` should know the numbers that
 * `before` gave (rt_plan_numbers), else numbers move and much differs. */
#ifndef ROUTING_CHANGE_H
#define ROUTING_CHANGE_H

#include <glib.h>

#include "routing/plan.h"

struct rt_block {
    uint32_t sw;    /* switch number in the graph of `after` */
    uint16_t block; /* LIDs block * RT_LFT_BLOCK .. + RT_LFT_BLOCK - 1 */
};

/* struct rt_block, ascending. LIDs beyond the max_lid of a graph have no entry (RT_NO_PATH); of a
 * switch that `before` does not have, all blocks count as changed. Only options->parallel is used;
 * NULL allowed. */
GArray *rt_changed_blocks(const struct rt_plan *before, const struct rt_plan *after,
                          const struct rt_options *options);

#endif
