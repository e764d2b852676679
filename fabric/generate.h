/* SPDX-License-Identifier: BSD-2-Clause */
/* Generated fabrics.
 *
 * pgft:h:m1,..,mh:w1,..,wh:p1,..,ph   parallel-ports generalised fat tree (Zahavi 2012): level 0
 *   are the hosts, levels 1..h switches; a node of level i has m_i children of level i-1, and a
 *   node of level i-1 has w_i parents of level i, joined by p_i parallel links.
 *   Hosts: product of all m. Switches of level i: (w_1..w_i) * (m_{i+1}..m_h).
 *   pgft:3:16,16,8:1,16,4:1,1,1 has 2,048 hosts and 128 + 128 + 64 = 320 switches.
 * Down ports come before up ports. Hosts are called h00001.., switches s<level>-<index from 1, 5
 * digits>. GUIDs are derived from type, level and index, so that a fabric is the same each time.
 *
 * Order. Node numbers: switches of level 1, 2, .. h, then the hosts, which is also the order in a
 *   file (fabric/write.h). Within level i the index is b + (w_1..w_i) * a, where a is the index of
 *   the subtree of m_1..m_i hosts and b that of the node among those over it. So with w_1 = 1 leaf
 *   k has the hosts k*m_1 .. k*m_1 + m_1 - 1, and the switches of a pod follow each other.
 * Ports (Zahavi): link k (from 0) between the a-th child of a parent and the b-th parent of a
 *   child is at the parent's down port 1 + a + k * m_i and at the child's up port 1 + b + k * w_i,
 *   counted after the child's down ports. A host has w_1 * p_1 ports. All links are 4xHDR.
 * GUIDs: 0x0248 (locally administered), node type (8 bits), level (8), index from 1 (24), then
 *   8 bits that are 0 in node and switch port GUIDs and the port number in port GUIDs of hosts.
 *   The system image GUID is the node GUID; vendor and device are 0.
 * Limits: 1 to 8 levels, values 1 to 254, at most 254 ports a node, and at most 49,151 LIDs: one
 *   for each switch and each host port. */
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
