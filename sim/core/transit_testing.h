/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of transit: a ring of four switches with hosts, its tables written directly, and what
 * reached clients. */
#ifndef SIM_CORE_TRANSIT_TESTING_H
#define SIM_CORE_TRANSIT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>

#include "sim/agents/agent.h"
#include "sim/core/flight.h"
#include "sim/core/ping.h"

/* Switch i has its port NEXT on port BEFORE of switch i + 1, and host i on HOST_PORT; a fifth host
 * is on GUEST_PORT of the first switch. The LID of a node is its number + 1. */
enum { SWITCHES = 4, HOST = 4, GUEST = 8, NODES = 9 };
enum { NEXT = 1, BEFORE = 2, HOST_PORT = 3, GUEST_PORT = 4, SWITCH_PORTS = 8 };
enum { MLID = 0xc001 };
#define US 1000
#define MS 1000000

struct arrival {
    uint32_t node;
    unsigned port;
    int64_t at;
    struct sim_packet p;
};

struct transit_testing {
    struct sim *s;
    GArray *arrivals; /* of struct arrival */
    unsigned lost;    /* told to the sender */
    struct sim_packet last_lost;
    bool nobody; /* no process takes anything */
};

static inline unsigned lid_of(uint32_t node)
{
    return node + 1;
}

static inline bool testing_deliver(void *user, uint32_t node, unsigned port,
                                   const struct sim_packet *p)
{
    struct transit_testing *t = user;
    struct arrival a = {node, port, t->s->now, *p};
    if (t->nobody && !(p->mad[3] & 0x80))
        return false;
    g_array_append_val(t->arrivals, a);
    return true;
}

static inline void testing_lost(void *user, const struct sim_packet *p)
{
    struct transit_testing *t = user;
    t->lost++;
    t->last_lost = *p;
}

static inline void set_entry(struct sim *s, uint32_t sw, unsigned lid, unsigned port)
{
    sim_lft_block(s, sw, lid / SIM_LFT_BLOCK)[lid % SIM_LFT_BLOCK] = (uint8_t)port;
}

static inline void set_members(struct sim *s, uint32_t sw, uint16_t ports)
{
    sim_mft_block(s, sw, 0, 0)[MLID - 0xc000] = ports;
}

static inline void configure(struct sim *s)
{
    for (uint32_t i = 0; i < NODES; i++) {
        put16(s->nodes[i].ports[i < SWITCHES ? 0 : 1].info + 16, (uint16_t)lid_of(i));
        for (unsigned p = 1; p <= s->nodes[i].nports; p++)
            if (s->nodes[i].ports[p].peer_node != SIM_NONE)
                s->nodes[i].ports[p].info[32] = SIM_ACTIVE;
    }
    for (uint32_t sw = 0; sw < SWITCHES; sw++) {
        put16(s->nodes[sw].sw->info + 6, NODES); /* LinearFDBTop */
        for (uint32_t to = 0; to < NODES; to++) {
            uint32_t home = to == GUEST ? 0 : to % SWITCHES;
            unsigned local = to == GUEST ? GUEST_PORT : to < SWITCHES ? 0 : HOST_PORT;
            set_entry(s, sw, lid_of(to), home == sw ? local : NEXT);
        }
    }
}

static inline int transit_testing_setup(void **state)
{
    struct transit_testing *t = g_new0(struct transit_testing, 1);
    struct sim_config config = {.seed = 7};
    struct sim_hooks hooks = {.user = t, .deliver = testing_deliver, .lost = testing_lost};
    struct fabric *f = fabric_create();
    for (unsigned i = 0; i < NODES; i++) {
        char name[16];
        g_snprintf(name, sizeof name, i < SWITCHES ? "switch %u" : "host %u", i % SWITCHES);
        fabric_add_node(f, 0x1000 + i * 0x100, i < SWITCHES ? FABRIC_SWITCH : FABRIC_CA,
                        i < SWITCHES ? SWITCH_PORTS : 1, i == GUEST ? "guest" : name);
    }
    for (unsigned i = 0; i < SWITCHES; i++) {
        fabric_connect(f, i, NEXT, (i + 1) % SWITCHES, BEFORE);
        fabric_connect(f, i, HOST_PORT, HOST + i, 1);
    }
    fabric_connect(f, 0, GUEST_PORT, GUEST, 1);
    t->arrivals = g_array_new(FALSE, FALSE, sizeof(struct arrival));
    t->s = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
    configure(t->s);
    *state = t;
    return 0;
}

static inline int transit_testing_teardown(void **state)
{
    struct transit_testing *t = *state;
    sim_destroy(t->s);
    g_array_unref(t->arrivals);
    g_free(t);
    return 0;
}

/* A Get of NodeInfo by the directed route of these ports, the first of them the sender's. */
static inline struct sim_packet directed(unsigned hops, const uint8_t *ports)
{
    struct sim_packet p = {.dlid = SIM_LID_PERMISSIVE, .slid = SIM_LID_PERMISSIVE};
    p.mad[0] = p.mad[2] = 1;
    p.mad[1] = 0x81;
    p.mad[3] = 1;
    p.mad[7] = (uint8_t)hops;
    put16(p.mad + 16, 0x11);
    put16(p.mad + 32, SIM_LID_PERMISSIVE);
    put16(p.mad + 34, SIM_LID_PERMISSIVE);
    if (hops)
        memcpy(p.mad + 129, ports, hops);
    return p;
}

/* A Get of an attribute: of NodeInfo by LID, of ClassPortInfo of the PMA, or what a process
 * answers. */
static inline struct sim_packet by_lid(unsigned qp, unsigned class, unsigned dlid)
{
    struct sim_packet p = {.dlid = (uint16_t)dlid, .dqp = qp, .sqp = qp};
    p.mad[0] = p.mad[2] = 1;
    p.mad[1] = (uint8_t) class;
    p.mad[3] = 1;
    put16(p.mad + 16, class == 1 ? 0x11 : 1);
    return p;
}

static inline const struct arrival *arrived(const struct transit_testing *t, unsigned i)
{
    assert_true(i < t->arrivals->len);
    return &g_array_index(t->arrivals, struct arrival, i);
}

/* The node whose NodeInfo the answer shows. */
static inline uint32_t node_shown(const struct arrival *a)
{
    return (uint32_t)((get64(a->p.mad + 64 + 12) - 0x1000) / 0x100);
}

static inline uint64_t counter(const struct transit_testing *t, uint32_t node, unsigned port,
                               enum sim_counter c)
{
    const uint64_t *all = t->s->nodes[node].ports[port].counters;
    return all ? all[c] : 0;
}

#endif
