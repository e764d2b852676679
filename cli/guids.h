/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of GUIDs, as OpenSM's root_guid_file, cn_guid_file and io_guid_file are: one a line.
 *
 *    # roots of the second pod
 *    0x0002c90300000001
 *    0002c90300000002         # without 0x all 16 digits are needed; OpenSM wants the 0x
 *    0x0002c90300000003 2     # of an I/O node: so many reverse hops lead to it at most
 *    0x0002c90300000004 "ufm" # a name, as in a node name map: not looked at
 *
 * Roots are node GUIDs of switches, the others port GUIDs of hosts. Text is hostile. Pure but for
 * guids_load. */
#ifndef CLI_GUIDS_H
#define CLI_GUIDS_H

#include <stdbool.h>

#include <glib.h>

#include "routing/graph.h"

/* Return the GUIDs (uint64_t) sorted, each once, as the options of engines take them; or NULL with
 * a line "FILE:LINE: what; what to do" in errors (char * for g_free) for each bad line, the first
 * GUIDS_MAX_ERRORS of them. A file without any GUID is an error, too: whoever names one has meant
 * some. reverse_hops may be NULL, else it gets one uint8_t for each GUID of the result: the number
 * behind it, the highest if it stands there more than once, 0 = none. */
#define GUIDS_MAX_ERRORS 20u
GArray *guids_read_text(const char *name, const char *text, gsize len, GArray *reverse_hops,
                        GPtrArray *errors);
GArray *guids_load(const char *path, GArray *reverse_hops, GPtrArray *errors);

/* One line that names those of the GUIDs that the fabric has not, or that are not what they should
 * be; NULL when there are none. switches: node GUIDs of switches, else port GUIDs of hosts. A
 * warning: engines pass over such GUIDs, for a node may be away. g_free. */
char *guids_check(const struct rt_graph *g, const GArray *guids, bool switches, const char *name);

#endif
