/* SPDX-License-Identifier: BSD-2-Clause */
/* Generated fabrics: a spec in place of a file, as in `heddle fabric convert torus:5x5x8:4 -`.
 *
 * pgft:h:m1,..,mh:w1,..,wh:p1,..,ph   parallel-ports generalised fat tree (Zahavi 2012): level 0
 *   are the hosts, levels 1..h switches; a node of level i has m_i children of level i-1, and a
 *   node of level i-1 has w_i parents of level i, joined by p_i parallel links.
 *   Hosts: product of all m. Switches of level i: (w_1..w_i) * (m_{i+1}..m_h).
 *   pgft:3:16,16,8:1,16,4:1,1,1 has 2,048 hosts and 128 + 128 + 64 = 320 switches.
 * rail:HOSTS:RAILS:HOSTS_PER_LEAF:SPINES[:LINKS[:CORES[:CORE_LINKS]]][:an]   rail-optimised fabric:
 *   hosts in groups of HOSTS_PER_LEAF (the last may have fewer), each with RAILS CAs; rail r of a
 *   group ends at one leaf, so there are G = HOSTS / HOSTS_PER_LEAF (rounded up) groups of RAILS
 *   leaves. Without CORES each leaf has LINKS links (1) to each of SPINES spines. With CORES each
 *   rail has SPINES spines of its own over its G leaves; spines of equal number in their rail are
 *   a plane, and each has CORE_LINKS links (1) to each of the CORES cores of the plane. With `an`
 *   each switch has an "Aggregation Node" (a CA with one port) at its last port, as saved fabrics
 *   with in-network reduction do.
 *   CAs: HOSTS * RAILS. Switches: G * RAILS + SPINES, or G * RAILS + RAILS * SPINES + SPINES *
 *   CORES. rail:140:8:20:10:2:7:2:an has 1,120 CAs of 140 hosts, 56 + 80 + 70 = 206 switches and
 *   206 aggregation nodes; rail:32:8:16:8:4 has 256 CAs and 16 + 8 switches.
 * torus:S1xS2x..:HOSTS_PER_SWITCH[:LINKS], mesh:..   grid of 1 to 15 dimensions of 2 or more, with
 *   LINKS parallel links (1) between neighbours. A torus closes each dimension to a ring; a ring
 *   of 2 is two neighbours joined twice (2 * LINKS links). A hypercube is a mesh of 2x2x..
 *   Switches: product of the sizes. torus:5x5x8:4 has 200 switches, 800 hosts and 600 links
 *   between switches, mesh:5x5x8:4 has 4*5*8 + 5*4*8 + 5*5*7 = 495 of them.
 * dragonfly:GROUPS:SWITCHES:HOSTS_PER_SWITCH:GLOBAL[:LINKS]   (Kim et al. 2008) a group is a
 *   complete graph of SWITCHES with LINKS parallel links (1); GLOBAL links join each two groups.
 *   dragonfly:9:4:2:1 has 36 switches, 72 hosts and 9*6 + 36 = 90 links between switches.
 * dragonfly+:GROUPS:LEAVES:SPINES:HOSTS_PER_LEAF:GLOBAL[:LINKS]   (Shpiner et al. 2017) in a group
 *   each leaf has LINKS links (1) to each spine; GLOBAL links join the spines of each two groups.
 *   dragonfly+:9:8:8:8:8 has 9*8 + 9*8 = 144 switches, 576 hosts and 9*64 + 36*8 = 864 links
 *   between switches.
 * random:SWITCHES:HOSTS:DEGREE:SEED   connected irregular fabric: a random tree, each switch
 *   joined to one with a lower number, then cables between random pairs of switches, parallel ones
 *   included, up to SWITCHES * DEGREE / 2 (rounded down; so DEGREE is the mean, 2 to 127), then
 *   each host on a random switch with a free port. The numbers are SplitMix64's, from SEED (32
 *   bits), the same on all machines.
 *   random:100:1000:6:1 has 100 switches, 1,000 hosts and 300 links between switches.
 *
 * Names: hosts are called h00001.., their CAs in a rail-optimised fabric h00001-r1, h00001-r2 ..;
 *   switches s<level>-<index from 1, 5 digits>. Level 1 has the hosts. Spines are of level 2 and
 *   cores of level 3.
 * Order. Node numbers: switches of level 1, 2, .. then the hosts (with rails: all CAs of h00001,
 *   then of h00002, ..), then aggregation nodes in the order of their switches. That is also the
 *   order in a file (fabric/write.h). Index of a switch in its level, all numbers from 0:
 *   - pgft: b + (w_1..w_i) * a, where a is the index of the subtree of m_1..m_i hosts and b that of
 *     the node among those over it. So with w_1 = 1 leaf k has the hosts k*m_1 .. k*m_1 + m_1 - 1,
 *     and the switches of a pod follow each other.
 *   - rail: leaf group * RAILS + rail; spine j, or rail * SPINES + j; core plane * CORES + c.
 *   - torus, mesh: x1 + S1 * (x2 + S2 * (x3 + ..)).
 *   - dragonfly, dragonfly+: group by group, leaves and spines each.
 *   Host h is on leaf h / HOSTS_PER_LEAF, or switch h / HOSTS_PER_SWITCH.
 * Ports. Down ports come before up ports, hosts first, but for torus and mesh. Parallel links are
 *   as in Zahavi: link k (from 0) between the a-th child of a parent and the b-th parent of a
 *   child is at the parent's down port 1 + a + k * m_i and at the child's up port 1 + b + k * w_i,
 *   counted after the child's down ports; so it is in rail and inside groups of dragonfly+.
 *   - torus, mesh of D dimensions: link k towards higher coordinates of dimension i (from 1) is at
 *     port 2i - 1 + 2D*k, that towards lower ones at 2i + 2D*k; then the hosts. At the ends of a
 *     mesh these ports are free. The lowest port of those on shortest paths is dimension order
 *     routing: first dimension 1, then 2, ..
 *   - dragonfly: hosts, then LINKS rounds of the other switches of the group, from the next one
 *     on, then global ports.
 *   - Global links of both: those to the group at distance o (1 .. GROUPS - 1, counted upwards and
 *     around) have the slots (o - 1) * GLOBAL .. o * GLOBAL - 1 of a group. Of n switches with
 *     global ports (SWITCHES, or SPINES) slot q is at switch q % n, its global port q / n. Link k
 *     is the k-th slot at both ends. With GLOBAL = SPINES spine k is joined to spine k of all
 *     other groups.
 *   - random: hosts, then cables as drawn.
 *   A host has w_1 * p_1 ports in a pgft, else one. All links are 4xHDR.
 * GUIDs: 0x0248 (locally administered), node type (8 bits), level (8; 0 for hosts, that of the
 *   switch for aggregation nodes), index from 1 (24; host number * RAILS + rail for rails), then
 *   8 bits that are 0 in node and switch port GUIDs and the port number in port GUIDs of CAs.
 *   The system image GUID is the node GUID; vendor and device are 0.
 * Limits: at most 254 ports a node, and at most 49,151 LIDs: one for each switch and each port of a
 *   CA. pgft: 1 to 8 levels, values 1 to 254. */
#ifndef FABRIC_GENERATE_H
#define FABRIC_GENERATE_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/fabric.h"

struct fabric_generator {
    const char *name;    /* what stands before the first colon */
    const char *grammar; /* of a whole spec */
    const char *example;
    const char *counts; /* what the example is */
};

/* For lists of generators: the index-th, or NULL behind the last. */
const struct fabric_generator *fabric_generator_at(size_t index);
/* Whether spec has the form of a generator (a known name before the first colon). */
bool fabric_is_generator(const char *spec);
/* Returns the fabric, or NULL with one clear line in error (what is wrong, an example). */
struct fabric *fabric_generate(const char *spec, char *error, size_t error_size);

#endif
