/* SPDX-License-Identifier: BSD-2-Clause */
/* One value for whole tables, by names that stay: GUIDs, never LIDs. Two runs, machines or programs
 * that say the same value route the same way, however their LIDs were dealt out and in whatever
 * order their files list the fabric.
 *
 * BLAKE2b-256 over: of each destination with a LID, ascending by port GUID, the GUID (8 bytes, most
 * significant first) and the LMC (1 byte); then of each switch, ascending by GUID, the GUID and the
 * BLAKE2b-256 over the pairs of bytes SL, output port (RT_NO_PATH = none) of each of those
 * destinations in that order, LIDs of one LMC range ascending. The SL is that of packets from any
 * end port of the switch. */
#ifndef ROUTING_DIGEST_H
#define ROUTING_DIGEST_H

#include "routing/check.h"

#define RT_DIGEST_BYTES 32u
#define RT_DIGEST_TEXT_BYTES 65u

/* lanes: where SLs are from, NULL = all 0. Only options->parallel is used; NULL allowed. */
void rt_tables_digest(const struct rt_graph *g, const struct rt_tables *t,
                      const struct rt_lanes *lanes, const struct rt_options *options,
                      uint8_t digest[RT_DIGEST_BYTES]);
/* In hexadecimal, lower case. */
void rt_digest_text(const uint8_t digest[RT_DIGEST_BYTES], char text[RT_DIGEST_TEXT_BYTES]);

#endif
