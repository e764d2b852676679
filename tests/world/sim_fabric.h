/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulated subnet: the management agents of switches and CAs, and the way of SMPs to them.
 *
 * Directed SMPs go hop by hop over cables that are up; LID-routed ones by what is programmed in
 * the switches, there and back. Sets follow the state rules of ports. A process (a shard) may sit
 * at a CA; SMInfo and traps go to it. No clock, no random source: the caller delays and loses.
 *
 * Rules that no manager may break are checked at each Set: a LID belongs to one port, and a port
 * keeps its LID, over a power cycle too. Errors go to `violation`. *
 * Nodes can be odd in the ways that real ones are: mute, with another node's GUID, with LIDs of
 * another manager, with a manager of their own. Counters tell what was asked and written. */
#ifndef WORLD_SIM_FABRIC_H
#define WORLD_SIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/fabric.h"
#include "shard/mad/smp.h"

struct sim_fabric;

enum sim_process {
    SIM_PROCESS_NONE,   /* the host's agent answers SMInfo with status 0x000C */
    SIM_PROCESS_SILENT, /* nobody answers it */
    SIM_PROCESS_LIVE,   /* it is delivered */
};

struct sim_fabric_callbacks {
    void *user;
    /* A MAD reaches the process at this CA. */
    void (*deliver)(void *user, uint32_t node, const uint8_t mad[MAD_BYTES],
                    const struct mad_address *from);
    void (*violation)(void *user, const char *text);
};

struct sim_fabric *sim_fabric_create(const struct fabric *f,
                                     const struct sim_fabric_callbacks *callbacks);
void sim_fabric_destroy(struct sim_fabric *s);

void sim_fabric_process(struct sim_fabric *s, uint32_t node, enum sim_process process);
/* What the process at this CA sends: requests, answers to SMInfo, repressed traps. */
void sim_fabric_send(struct sim_fabric *s, uint32_t node, const uint8_t mad[MAD_BYTES],
                     const struct mad_address *to);
/* Traps of changes go out at once, unless muted. */
void sim_fabric_mute_traps(struct sim_fabric *s, bool mute);
void sim_fabric_cable(struct sim_fabric *s, uint32_t node, unsigned port, bool plugged);
void sim_fabric_power(struct sim_fabric *s, uint32_t node, bool on); /* off loses all tables */
void sim_fabric_repair(struct sim_fabric *s);                        /* all cables, all power */

/* -- odd nodes, and hands that are not ours (sim_odd.c) -- */
struct sim_counters {
    uint64_t mads;                  /* requests that arrived at the node */
    uint64_t sets;                  /* of them Sets */
    uint64_t lft_sets, lft_changes; /* Sets of LFT blocks; those that changed a byte */
    uint64_t lid_changes;           /* a LID that was there gave way to another one */
};
/* Of one node, or of all (node = FABRIC_NONE). */
struct sim_counters sim_fabric_counters(const struct sim_fabric *s, uint32_t node);
void sim_fabric_mute(struct sim_fabric *s, uint32_t node, bool mute); /* answers no SMP */
/* Its NodeInfo shows this node GUID, and port GUIDs that follow it. */
void sim_fabric_show_guid(struct sim_fabric *s, uint32_t node, uint64_t guid);
/* The judgement of sim_fabric_whole does not count it, nor its links. */
void sim_fabric_leave_out(struct sim_fabric *s, uint32_t node, bool out);
/* A manager at this CA: SMInfo's state (3 = MASTER), 0 = none. */
void sim_fabric_foreign_sm(struct sim_fabric *s, uint32_t node, unsigned state);
/* The LID that somebody else gave to this port; it is the one that must stay when `stays`. */
void sim_fabric_preset_lid(struct sim_fabric *s, uint32_t node, unsigned port, unsigned lid,
                           bool stays);
unsigned sim_fabric_lid(const struct sim_fabric *s, uint32_t node, unsigned port);
unsigned sim_fabric_sm_lid(const struct sim_fabric *s, uint32_t node, unsigned port);
unsigned sim_fabric_port_state(const struct sim_fabric *s, uint32_t node, unsigned port);
uint8_t sim_fabric_lft(const struct sim_fabric *s, uint32_t node, unsigned lid);
void sim_fabric_write_lft(struct sim_fabric *s, uint32_t node, unsigned lid, uint8_t port);
/* A trap from `lid` to the process at a CA, whatever the tables say. */
void sim_fabric_trap(struct sim_fabric *s, uint32_t to, unsigned number, unsigned lid);
/* Pulls what is at both ports and puts a cable between them; f is the fabric of the creation. */
void sim_fabric_recable(struct sim_fabric *s, struct fabric *f, uint32_t a, unsigned port_a,
                        uint32_t b, unsigned port_b);

uint64_t sim_fabric_guid(const struct sim_fabric *s, uint32_t node);
/* The GUID of the switch that owns the target of this SMP: itself, or the one that the CA port is
 * cabled to; 0 = it reaches nobody. */
uint64_t sim_fabric_target_switch(struct sim_fabric *s, uint32_t node, const uint8_t mad[MAD_BYTES],
                                  const struct mad_address *to);
/* Whether all cabled ports are ACTIVE, all LIDs set and unique, and all pairs reached by the
 * programmed tables. Writes what is wrong to report (NULL = nowhere). */
bool sim_fabric_whole(struct sim_fabric *s, FILE *report);

#endif
