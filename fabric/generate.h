/* SPDX-License-Identifier: BSD-2-Clause */
/* Generated fabrics.
 *
 * pgft:h:m1,..,mh:w1,..,wh:p1,..,ph   parallel-ports generalised fat tree (Zahavi 2012): level 0
 *   are the hosts, levels 1..h switches; a node of level i has m_i children of level i-1, and a
 *   node of level i-1 has w_i parents of level i, joined by p_i parallel links.
 *   Hosts: product of all m. Switches of level i: (w_1..w_i) * (m_{i+1}..m_h).
 *   pgft:3:16,16,8:1,16,4:1,1,1 has 2,048 hosts and 128 + 128 + 64 = 320 switches.
 * Down ports come before up ports. Hosts are called h00001.., switches s<level>-<index from 1, 5
 * digits>. GUIDs are derived from type, level and index, so that a fabric is the same each time. */
#ifndef FABRIC_GENERATE_H
#define FABRIC_GENERATE_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/fabric.h"

/* Whether spec has the form of a generator (a known name before the first colon). */
bool fabric_is_generator(const char *spec);
/* Returns the fabric, or NULL with one clear line in error (what is wrong, an example). */
struct fabric *fabric_generate(const char *spec, char *error, size_t error_size);

#endif
