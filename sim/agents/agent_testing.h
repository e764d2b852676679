/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of agents: a small fabric, and SMPs put before an agent as if they had just arrived. */
#ifndef SIM_AGENTS_AGENT_TESTING_H
#define SIM_AGENTS_AGENT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>

#include "sim/agents/attributes.h"
#include "sim/core/timers.h"

enum { SW = 0, CA = 1, CA2 = 2, BASE_SW = 3, SW_PORTS = 20 };

struct agent_testing {
    struct sim *s;
    struct sim_packet p; /* the last packet: the answer */
    enum sim_verdict verdict;
    unsigned lost; /* told to the sender */
};

static inline void agent_testing_lost(void *user, const struct sim_packet *p)
{
    ((struct agent_testing *)user)->lost++;
}

/* A switch of 20 ports with an enhanced port 0 and two CAs, one of them with both of its ports on
 * the switch, and a switch of 4 ports. */
static inline int agent_testing_setup(void **state)
{
    struct agent_testing *t = g_new0(struct agent_testing, 1);
    struct sim_config config = {.seed = 7};
    struct sim_hooks hooks = {.user = t, .lost = agent_testing_lost};
    struct fabric *f = fabric_create();
    fabric_add_node(f, 0x1000, FABRIC_SWITCH, SW_PORTS, "switch");
    fabric_add_node(f, 0x2000, FABRIC_CA, 2, "ca");
    fabric_add_node(f, 0x3000, FABRIC_CA, 1, "ca 2");
    fabric_add_node(f, 0x4000, FABRIC_SWITCH, 4, "base");
    f->nodes[SW].enhanced_port0 = true;
    fabric_connect(f, SW, 1, CA, 1);
    fabric_connect(f, SW, 2, CA, 2);
    fabric_connect(f, SW, 3, CA2, 1);
    fabric_connect(f, SW, 4, BASE_SW, 1);
    t->s = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
    *state = t;
    return 0;
}

static inline int agent_testing_teardown(void **state)
{
    struct agent_testing *t = *state;
    sim_destroy(t->s);
    g_free(t);
    return 0;
}

static inline uint8_t *agent_testing_data(struct agent_testing *t)
{
    return t->p.mad + SIM_SMP_DATA;
}

/* Prepares t->p: a LID-routed SMP with these 64 bytes (NULL = zeros). */
static inline void agent_testing_smp(struct agent_testing *t, unsigned method, unsigned attribute,
                                     uint32_t modifier, uint64_t key, const uint8_t *data)
{
    memset(&t->p, 0, sizeof t->p);
    t->p.dlid = 1;
    t->p.mad[0] = 1;
    t->p.mad[SIM_MAD_CLASS] = SIM_CLASS_SMP_LID;
    t->p.mad[SIM_MAD_CLASS_VERSION] = 1;
    t->p.mad[SIM_MAD_METHOD] = (uint8_t)method;
    put16(t->p.mad + SIM_MAD_ATTRIBUTE, (uint16_t)attribute);
    put32(t->p.mad + SIM_MAD_MODIFIER, modifier);
    put64(t->p.mad + SIM_SMP_MKEY, key);
    if (data)
        memcpy(t->p.mad + SIM_SMP_DATA, data, 64);
}

static inline enum sim_verdict agent_testing_arrive(struct agent_testing *t, uint32_t node,
                                                    unsigned port)
{
    t->verdict = sim_agent(t->s, node, port, SIM_KIND_CLIENT, &t->p);
    return t->verdict;
}

/* The status of the answer that must come. */
static inline unsigned agent_testing_status(struct agent_testing *t)
{
    assert_int_equal(t->verdict, SIM_REPLY);
    assert_int_equal(t->p.mad[SIM_MAD_METHOD], SIM_METHOD_GET_RESP);
    return get16(t->p.mad + SIM_MAD_STATUS);
}

static inline unsigned agent_testing_get(struct agent_testing *t, uint32_t node, unsigned port,
                                         unsigned attribute, uint32_t modifier)
{
    agent_testing_smp(t, SIM_METHOD_GET, attribute, modifier, 0, NULL);
    memset(agent_testing_data(t), 0x5a, 64); /* what was there must not come back */
    agent_testing_arrive(t, node, port);
    return agent_testing_status(t);
}

static inline unsigned agent_testing_set(struct agent_testing *t, uint32_t node, unsigned port,
                                         unsigned attribute, uint32_t modifier, const uint8_t *data)
{
    agent_testing_smp(t, SIM_METHOD_SET, attribute, modifier, 0, data);
    agent_testing_arrive(t, node, port);
    return agent_testing_status(t);
}

#endif
