/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulated fabric: nodes with their management agents, cables, and packets that go hop by hop.
 *
 * A `struct sim` is a pure state machine. It is made from a struct fabric, takes packets that
 * clients send at a port (sim_send), commands (script/script.h) and the time, and calls hooks with
 * what reaches a client. It opens no socket, reads no clock and draws its random numbers from one
 * seeded generator: the same calls with the same times give the same results.
 *
 * Time is in nanoseconds on any clock that never goes back; each call that takes `now` sets it,
 * and first runs what was due before. Without service times and delays (the default) a request and
 * its answer pass within sim_send itself; the hooks are then called from there. Hooks must not
 * call back into the sim.
 *
 * Numbers of nodes are those of the fabric that it was made from. Ports of nodes are numbered as on
 * the wire; 0 is the management port of a switch.
 *
 * Ownership: a sim copies what it needs of the fabric. Threads: one at a time. */
#ifndef SIM_CORE_SIM_H
#define SIM_CORE_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/fabric.h"

#define SIM_NONE UINT32_MAX
#define SIM_NEVER INT64_MAX
#define SIM_LID_PERMISSIVE 0xffffu
#define SIM_MAD_BYTES 256u
#define SIM_GSI_QKEY 0x80010000u /* IBA 16.1.2: the well-known Q_Key of QP 1 */

/* A MAD on its way. Host order; slid 0 = the sending port's LID. */
struct sim_packet {
    uint16_t dlid, slid; /* dlid 0xffff = directed route, the path is in the MAD */
    uint32_t dqp, sqp;   /* 0 or 1 for MADs to agents; others between clients */
    uint8_t sl;
    uint16_t pkey; /* 0 = entry 0 of the sender's table; ignored on QP 0 */
    uint32_t qkey; /* 0 = SIM_GSI_QKEY; ignored on QP 0 */
    /* How much of the MAD its sender named; 0 = all. For the process that gets it: libumad2sim
     * takes the length of a segmented answer from there. Agents look at all of it. */
    uint16_t length;
    uint8_t mad[SIM_MAD_BYTES];
};

struct sim_hooks {
    void *user;
    /* A MAD that the agents do not answer themselves arrived at this port. Returns whether a
     * process there took it: a Get or Set that nobody takes is answered with status 0x000C, as the
     * kernel of a host does. */
    bool (*deliver)(void *user, uint32_t node, unsigned port, const struct sim_packet *p);
    /* A packet that a client sent, or the answer to one, ended without arriving. NULL allowed. */
    void (*lost)(void *user, const struct sim_packet *p);
    /* Something that an operator of the simulator should see, one line without its end. */
    void (*note)(void *user, const char *line);
};

struct sim_config {
    uint64_t seed;
    unsigned train_ms;   /* from cable or power to LinkUp; 0 = at once */
};

struct sim;

struct sim *sim_create(const struct fabric *f, const struct sim_config *config,
                       const struct sim_hooks *hooks, int64_t now);
void sim_destroy(struct sim *s); /* NULL allowed */

/* What a client that sits at this port sends. The MAD must be as on the wire (directed routes
 * start with hop pointer 0, answers to them with the D bit and hop pointer 0, as ibsim's clients
 * have it). Malformed MADs are counted and lost. */
void sim_send(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p, int64_t now);
/* Runs all that is due at `now`: packets under way, traps, timers, scripts, hosts. */
void sim_run(struct sim *s, int64_t now);
/* When sim_run has work next, or SIM_NEVER. */
int64_t sim_next(const struct sim *s);

/* "NODE" or "NODE:PORT" or "NODE[PORT]", where NODE is a description, an id (S-<guid>, H-<guid>)
 * or a node GUID (0x...). "" = the first CA (or node). Without a port: port 0 of a switch, the
 * first port of others. false: there is none; error gets one line. */
bool sim_find_port(const struct sim *s, const char *text, uint32_t *node, unsigned *port,
                   char *error, size_t error_size);
/* An SM process holds the port's IsSM bit, or lets go of it (trap 144 where the port sends it). */
void sim_set_issm(struct sim *s, uint32_t node, unsigned port, bool issm, int64_t now);

/* As a client's kernel sees its port: PortInfo and NodeInfo of 64 bytes as on the wire (M_Key
 * blank), the first 32 P_Keys. */
void sim_get_port_info(const struct sim *s, uint32_t node, unsigned port, uint8_t info[64]);
void sim_get_node_info(const struct sim *s, uint32_t node, unsigned port, uint8_t info[64]);
void sim_get_pkeys(const struct sim *s, uint32_t node, unsigned port, uint16_t pkeys[32]);
/* Whether the node has power: a client on a node without it hears and is heard by nobody. */
bool sim_has_power(const struct sim *s, uint32_t node);

#endif
