/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the simulated subnet: state of nodes, the way of packets, the agents. */
#ifndef WORLD_SIM_FABRIC_PRIVATE_H
#define WORLD_SIM_FABRIC_PRIVATE_H

#include <glib.h>

#include "tests/world/sim_fabric.h"

#define SIM_LIDS 0xC000u
#define SIM_PERMISSIVE 0xffffu

enum sim_port_state { SIM_DOWN = 1, SIM_INIT = 2, SIM_ARMED = 3, SIM_ACTIVE = 4 };

struct sim_port {
    bool plugged; /* its cable */
    uint8_t info[64];
};

struct sim_node {
    const struct fabric_node *n;
    bool on;
    enum sim_process process;
    bool mute, left_out;
    uint64_t shown_guid; /* 0 = its own */
    unsigned sm_state;   /* of a manager here that is not ours, 0 = none */
    uint32_t last_leaf;  /* of a CA: what it was cabled to last, FABRIC_NONE = nothing yet */
    unsigned last_port;
    struct sim_counters count;
    uint8_t nodeinfo[40], switchinfo[20];
    struct sim_port *ports; /* nports + 1 */
    uint8_t *lft;           /* SIM_LIDS; switches only */
};

struct sim_fabric {
    const struct fabric *f;
    struct sim_fabric_callbacks cb;
    struct sim_node *nodes;
    bool muted;
    GHashTable *lid_of; /* port GUID -> the LID that it was given, for ever */
    uint64_t *guid_of;  /* by LID */
};

struct sim_place { /* where a packet is */
    uint32_t node;
    unsigned in_port; /* port it came in by; 0 = it began here */
};

static inline unsigned sim_get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}
static inline void sim_put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
static inline unsigned sim_state(const struct sim_port *p)
{
    return p->info[32] & 15u;
}
static inline unsigned sim_lid(const struct sim_port *p)
{
    return sim_get16(&p->info[16]);
}
static inline bool sim_is_switch(const struct sim_node *n)
{
    return n->n->type == FABRIC_SWITCH;
}

/* sim_walk.c */
bool sim_link_up(const struct sim_fabric *s, uint32_t node, unsigned port);
bool sim_hop(const struct sim_fabric *s, struct sim_place *at, unsigned out_port);
bool sim_walk_directed(const struct sim_fabric *s, const uint8_t *mad, struct sim_place *at);
bool sim_walk_lid(const struct sim_fabric *s, unsigned dlid, struct sim_place *at);
/* Port whose LID the node answers to: 0 of a switch, the one it came in by of a CA. */
unsigned sim_own_port(const struct sim_fabric *s, const struct sim_place *at);
unsigned sim_ca_port(const struct sim_fabric *s, uint32_t node);

/* sim_agent.c */
/* Executes a Get or Set in place: mad becomes the answer; false = silence. */
bool sim_agent(struct sim_fabric *s, const struct sim_place *at, uint8_t mad[MAD_BYTES]);
void sim_reset_node(struct sim_fabric *s, uint32_t node);
void sim_link_changed(struct sim_fabric *s, uint32_t node, unsigned port);
void sim_build_trap(uint8_t mad[MAD_BYTES], bool from_switch, unsigned number, unsigned lid);
void sim_violation(struct sim_fabric *s, const char *format, ...) G_GNUC_PRINTF(2, 3);

#endif
