/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the agents share: a small fabric, and requests to PortInfo.
 *
 *   host 0 -- [1] switch 1 [2] -- host 2
 *                 switch 1 [3] -- [1] switch 3 [2] -- host 4 (QDR, and one port more) */
#ifndef SIM_AGENTS_AGENTS_TEST_H
#define SIM_AGENTS_AGENTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>

#include "sim/agents/agent.h"
#include "sim/core/model.h"

enum { HOST = 0, SWITCH = 1, HOST2 = 2, SWITCH2 = 3, HOST4 = 4 };

#define MS 1000000LL

static inline void test_cable(struct fabric *f, uint32_t a, unsigned pa, uint32_t b, unsigned pb,
                              uint8_t speed)
{
    assert_int_equal(fabric_connect(f, a, pa, b, pb), 0);
    f->nodes[a].ports[pa].width = f->nodes[b].ports[pb].width = 2; /* 4x */
    f->nodes[a].ports[pa].speed = f->nodes[b].ports[pb].speed = speed;
}

static inline struct sim *test_fabric(unsigned train_ms, const struct sim_hooks *hooks)
{
    struct fabric *f = fabric_create();
    assert_int_equal(fabric_add_node(f, 0x100, FABRIC_CA, 1, "host 0"), HOST);
    assert_int_equal(fabric_add_node(f, 0x200, FABRIC_SWITCH, 4, "switch 1"), SWITCH);
    assert_int_equal(fabric_add_node(f, 0x300, FABRIC_CA, 1, "host 2"), HOST2);
    assert_int_equal(fabric_add_node(f, 0x400, FABRIC_SWITCH, 4, "switch 3"), SWITCH2);
    assert_int_equal(fabric_add_node(f, 0x500, FABRIC_CA, 2, "host 4"), HOST4);
    test_cable(f, HOST, 1, SWITCH, 1, FABRIC_NDR);
    test_cable(f, SWITCH, 2, HOST2, 1, FABRIC_NDR);
    test_cable(f, SWITCH, 3, SWITCH2, 1, FABRIC_XDR);
    test_cable(f, SWITCH2, 2, HOST4, 1, FABRIC_QDR);
    struct sim_config config = {.seed = 1, .train_ms = train_ms};
    struct sim *s = sim_create(f, &config, hooks, 0);
    fabric_destroy(f);
    return s;
}

static inline void test_get(struct sim *s, uint32_t node, unsigned port, uint8_t info[64])
{
    assert_int_equal(sim_sma_port_info(s, node, port, false, port, info, true), 0);
}

/* A Set of what the port has, without commands, but for one byte's bits. */
static inline uint16_t test_set(struct sim *s, uint32_t node, unsigned port, unsigned byte,
                                uint8_t mask, uint8_t value)
{
    uint8_t info[64];
    test_get(s, node, port, info);
    info[32] &= 0xf0;
    info[33] = 0;
    info[byte] = (uint8_t)((info[byte] & ~mask) | value);
    uint16_t status = sim_sma_port_info(s, node, port, true, 0x80000000u | port, info, true);
    sim_run(s, s->now);
    return status;
}

static inline uint16_t test_set_state(struct sim *s, uint32_t node, unsigned port, unsigned state)
{
    return test_set(s, node, port, 32, 0x0f, (uint8_t)state);
}

static inline uint16_t test_set_phys(struct sim *s, uint32_t node, unsigned port, unsigned phys)
{
    return test_set(s, node, port, 33, 0xf0, (uint8_t)(phys << 4));
}

/* LID and MasterSMLID of an end port. */
static inline void test_set_lids(struct sim *s, uint32_t node, unsigned port, uint16_t lid,
                                 uint16_t sm_lid)
{
    uint8_t info[64];
    test_get(s, node, port, info);
    info[32] &= 0xf0;
    info[33] = 0;
    put16(info + 16, lid);
    put16(info + 18, sm_lid);
    info[51] = 18; /* SubnetTimeOut: 1.07 s */
    assert_int_equal(sim_sma_port_info(s, node, port, true, port, info, true), 0);
}

#endif
