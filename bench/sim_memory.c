/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory a simulated fabric takes, step by step, as a manager fills its tables.
 *
 *   sim_memory [FABRIC]      default: 48,928 nodes, a fat tree of three levels
 *
 * Every table is written by SMPs, handed to the agents: all LIDs into every LFT with ports that
 * differ from switch to switch, the MFT blocks of 64 groups, SL2VL, VL arbitration and P_Keys of
 * every port with a cable, and PortInfo of each port. Counters are there as after traffic at each
 * port. Prints one line a step and, as the last one, a JSON object of megabytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/load.h"
#include "fabric/messages.h"
#include "sim/agents/agent.h"
#include "sim/agents/attributes.h"
#include "sim/hosts/host.h"

#define BIG_FABRIC "pgft:3:16,16,169:1,16,16:1,1,1"
#define MLIDS 64u
#define FIRST_PORT_LID 1u

static double resident_mb(void)
{
    unsigned long total, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%lu %lu", &total, &resident) != 2)
        exit(EXIT_FAILURE);
    fclose(f);
    return (double)resident * 4096 / 1e6;
}

/* A Set as it arrives at the node's port 0, or at that port of a CA. */
static void set(struct sim *s, uint32_t node, unsigned port, uint16_t attribute, uint32_t modifier,
                const uint8_t data[64])
{
    struct sim_packet p = {.dlid = SIM_LID_PERMISSIVE, .slid = SIM_LID_PERMISSIVE};
    p.mad[0] = 1;
    p.mad[SIM_MAD_CLASS] = SIM_CLASS_SMP_DIRECTED;
    p.mad[SIM_MAD_CLASS_VERSION] = 1;
    p.mad[SIM_MAD_METHOD] = SIM_METHOD_SET;
    put16(p.mad + SIM_MAD_ATTRIBUTE, attribute);
    put32(p.mad + SIM_MAD_MODIFIER, modifier);
    memcpy(p.mad + SIM_SMP_DATA, data, SIM_SMP_DATA_BYTES);
    enum sim_verdict verdict = sim_agent(s, node, port, SIM_KIND_CLIENT, &p);
    if (verdict == SIM_REPLY && (get16(p.mad + SIM_MAD_STATUS) & 0x7fff) == 0)
        return;
    fprintf(stderr, "sim_memory: Set of %04x %08x at node %u was refused: %d %04x\n", attribute,
            modifier, node, (int)verdict, get16(p.mad + SIM_MAD_STATUS));
    exit(EXIT_FAILURE);
}

static bool is_used(const struct sim_node *n, unsigned port)
{
    return port == 0 || n->ports[port].peer_node != SIM_NONE;
}

/* LIDs in the order of the nodes; switches first have 1 and up. */
static void write_port_infos(struct sim *s)
{
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        for (unsigned p = n->sw ? 0 : 1; p <= n->nports; p++) {
            uint8_t data[64];
            memcpy(data, n->ports[p].info, sizeof data);
            if (p == 0 || !n->sw)
                put16(data + 16, (uint16_t)(FIRST_PORT_LID + i));
            data[32] &= 0xf0; /* PortState, PortPhysicalState: as they are */
            data[33] &= 0x0f;
            set(s, i, n->sw ? 0 : p, SIM_ATTR_PORT_INFO, n->sw ? p : 0, data);
        }
    }
}

static void write_lfts(struct sim *s)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        if (!n->sw)
            continue;
        for (unsigned block = 0; block <= s->node_count / SIM_LFT_BLOCK; block++) {
            uint8_t data[64];
            for (unsigned j = 0; j < sizeof data; j++)
                data[j] = (uint8_t)g_rand_int_range(random, 1, n->nports + 1);
            set(s, i, 0, SIM_ATTR_LFT, block, data);
        }
    }
}

static void write_mfts(struct sim *s)
{
    uint8_t data[64];
    memset(data, 0xff, sizeof data);
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        for (unsigned position = 0; n->sw && position <= n->nports / 16u; position++)
            for (unsigned block = 0; block < MLIDS / SIM_MFT_BLOCK; block++)
                set(s, i, 0, SIM_ATTR_MFT, position << 28 | block, data);
    }
}

/* What a QoS policy sets on all links of one kind. */
static void write_qos(struct sim *s)
{
    static const uint8_t vls[64] = {0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01};
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        for (unsigned p = 1; p <= n->nports; p++) {
            if (!is_used(n, p))
                continue;
            for (unsigned in = 0; in <= (n->sw ? n->nports : 0); in++)
                set(s, i, n->sw ? 0 : p, SIM_ATTR_SL2VL, n->sw ? in << 8 | p : 0, vls);
            for (unsigned block = 1; block <= 3; block += 2) {
                uint8_t arbitration[64] = {0, 8, 1, (uint8_t)(n->sw ? 16 : 32)};
                set(s, i, n->sw ? 0 : p, SIM_ATTR_VLARB, block << 16 | (n->sw ? p : 0),
                    arbitration);
            }
        }
    }
}

static void write_pkeys(struct sim *s)
{
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        for (unsigned p = n->sw ? 0 : 1; p <= n->nports; p++) {
            uint8_t data[64] = {0x7f, 0xff, 0x80, 1, 0x80, (uint8_t)(2 + i % 16)};
            if (is_used(n, p))
                set(s, i, n->sw ? 0 : p, SIM_ATTR_PKEY_TABLE, n->sw ? p << 16 : 0, data);
        }
    }
}

static void count_traffic(struct sim *s)
{
    for (uint32_t i = 0; i < s->node_count; i++)
        for (unsigned p = 1; p <= s->nodes[i].nports; p++)
            if (is_used(&s->nodes[i], p))
                sim_count(s, i, p, SIM_CNT_XMIT_PKTS, 1 + i);
}

static void start_hosts(struct sim *s)
{
    struct sim_host_spec spec = {.groups = 2, .services = 1, .paths = 8, .inform = true};
    sim_hosts_start(s, SIM_NONE, &spec);
}

static struct fabric *load(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    for (size_t i = 0; i < fabric_messages_total(messages); i++)
        fprintf(stderr, "sim_memory: %s\n", fabric_messages_text(messages, i));
    fabric_messages_destroy(messages);
    if (f == NULL)
        exit(EXIT_FAILURE);
    return f;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct sim *s);
    } steps[] = {{"port_infos", write_port_infos},
                 {"lfts", write_lfts},
                 {"mfts", write_mfts},
                 {"pkeys", write_pkeys},
                 {"qos", write_qos},
                 {"counters", count_traffic},
                 {"hosts", start_hosts}};
    struct sim_config config = {.seed = 1};
    struct sim_hooks hooks = {0};
    struct fabric *f = load(argc > 1 ? argv[1] : BIG_FABRIC);
    struct sim *s = sim_create(f, &config, &hooks, 0);
    g_autoptr(GString) json = g_string_new(NULL);
    fabric_destroy(f);
    g_string_append_printf(json, "{\"nodes\": %u, \"started\": %.1f", s->node_count, resident_mb());
    printf("%-12s %8.1f MB, %u nodes\n", "started", resident_mb(), s->node_count);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        steps[i].run(s);
        printf("%-12s %8.1f MB\n", steps[i].name, resident_mb());
        g_string_append_printf(json, ", \"%s\": %.1f", steps[i].name, resident_mb());
    }
    printf("%s}\n", json->str);
    sim_destroy(s);
    return EXIT_SUCCESS;
}
