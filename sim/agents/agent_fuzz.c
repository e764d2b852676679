/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer target: MADs from anywhere to anywhere. The input is a row of records
 *
 *   node (1 byte), port (1), QP (1), time that passes in units of 2^n ns (1), MAD header (24),
 *   M_Key (8), data (64)
 *
 * which arrive at an agent of a small fabric one after the other. An answer must be a GetResp, and
 * a MAD that is not answered must not have been changed. */
#include <stdlib.h>
#include <string.h>

#include "sim/agents/agent.h"
#include "sim/core/timers.h"

#define PORTS 20u
#define RECORD (4u + 24u + 8u + 64u)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sim *create(void)
{
    struct sim_config config = {.seed = 1};
    struct sim_hooks hooks = {0};
    struct fabric *f = fabric_create();
    fabric_add_node(f, 0x1000, FABRIC_SWITCH, PORTS, "switch");
    fabric_add_node(f, 0x2000, FABRIC_CA, 2, "ca");
    fabric_add_node(f, 0x3000, FABRIC_ROUTER, 1, "router");
    fabric_connect(f, 0, 1, 1, 1);
    fabric_connect(f, 0, 2, 1, 2);
    fabric_connect(f, 0, 3, 2, 1);
    fabric_connect(f, 0, 4, 0, 5); /* a loop */
    struct sim *s = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
    return s;
}

static void arrive(struct sim *s, const uint8_t *record)
{
    uint32_t node = record[0] % s->node_count;
    struct sim_packet p = {.dlid = 1, .slid = 2, .dqp = record[2] & 1, .sqp = record[2] & 1};
    sim_timers_run(s, s->now + (1ll << record[3] % 40));
    memcpy(p.mad, record + 4, 32);
    memcpy(p.mad + 64, record + 36, 64);
    struct sim_packet before = p;
    enum sim_verdict v = sim_agent(s, node, record[1], SIM_KIND_CLIENT, &p);
    if (v == SIM_REPLY ? p.mad[3] != 0x81 : memcmp(&before, &p, sizeof p) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim *s = create();
    for (; size >= RECORD; data += RECORD, size -= RECORD)
        arrive(s, data);
    sim_destroy(s);
    return 0;
}
