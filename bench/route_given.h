/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks and measures tables, whoever made them; prints what it finds as words of one line. */
#ifndef BENCH_ROUTE_GIVEN_H
#define BENCH_ROUTE_GIVEN_H

#include "fabric/fabric.h"
#include "routing/check.h"

/* Tables read back from the switches of f: lfts is a file as cli/lfts.h reads them. LIDs are those
 * of that file. sls: NULL, or a file with a line "SLID DLID SL" for a path from some end port of
 * each switch; where none is told the SL is 0. Prints one line. Returns an exit status, with a line
 * on stderr when a file is bad. Sets the LIDs of f. Of options only parallel is used. */
int route_given(struct fabric *f, const char *lfts, const char *sls,
                const struct rt_options *options, unsigned seed);

/* What rt_check finds with these lanes (NULL: one); the credit loops with all on one VL; and those
 * with these lanes among CAs alone, without the LIDs of switches. */
void route_given_check(const struct rt_graph *g, const struct rt_tables *t,
                       const struct rt_lanes *lanes);
/* A2A, RP and SP of the hosts of f, in the order of the file, and "lost": the pairs of hosts
 * without a path. RP of 1,000 permutations; SP of all shifts, above 4,096 hosts of 1,000 that are
 * drawn. */
void route_given_measure(const struct fabric *f, const struct rt_graph *g,
                         const struct rt_tables *t, const struct rt_options *options,
                         unsigned seed);

#endif
