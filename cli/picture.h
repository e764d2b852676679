/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture of the load of links between switches, as SVG: for each tier and direction (jobs.h)
 * how many links carry how much, and a strip with the load of each link, or of some neighbouring
 * ones together. One scale for all, so that tiers can be compared. No more than 1 MB whatever the
 * fabric's size, no scripts, no references to anything outside. Same arguments, same bytes. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include <stdint.h>
#include <stdio.h>

#include "routing/graph.h"

/* load_of_link: g->link_count loads in the order of g->links. title is shown, and may be hostile.
 * Returns 0, or errno of writing. */
int picture_write(FILE *out, const struct rt_graph *g, const uint32_t *load_of_link,
                  const char *title);

#endif
