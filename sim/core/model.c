/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes from a struct fabric, and their state after a power-up.
 *
 * What is fixed about a port (the widths and speeds that it supports) is kept in the Supported
 * fields of its PortInfo alone: a reset reads it from there. */
#include <string.h>

#include "sim/core/model.h"
#include "sim/core/timers.h"

/* PortInfo.CapabilityMask (IBA 14.2.5.6) */
#define CAP_SM (1u << 1)
#define CAP_TRAP (1u << 3)
#define CAP_SL_MAPPING (1u << 6)
#define CAP_SYSTEM_IMAGE_GUID (1u << 11)
#define CAP_PKEY_EXTERNAL_PORT_TRAP (1u << 12)
#define CAP_EXTENDED_SPEEDS (1u << 14)
#define CAP_MASK2 (1u << 15)
#define CAP_MASK_NOTICE (1u << 22)
#define CAP_CLIENT_REREGISTRATION (1u << 25)
#define CAP_OTHER_LOCAL_CHANGES (1u << 26)
#define CAP_MULTICAST_FDB_TOP (1u << 30)
/* PortInfo.CapabilityMask2 */
#define CAP2_WIDTH_2X (1u << 4)
#define CAP2_SPEED_HDR (1u << 5)
#define CAP2_SPEED_NDR (1u << 10)
#define CAP2_SPEED_XDR (1u << 12)

#define WIDTH_1X 1u
#define WIDTH_2X 16u
#define WIDTH_4X 2u
#define EXT_HDR 4u
#define EXT_NDR 8u
#define DEFAULT_GID_PREFIX 0xfe80000000000000u /* IBA 4.1.1 */
#define MTU_1024 3u
#define MTU_2048 4u
#define VLS_0_TO_7 4u
#define VLARB_ENTRIES 8u
#define CA_GUIDS 32u
#define LFT_CAP (SIM_LFT_BLOCKS * SIM_LFT_BLOCK)
#define MFT_CAP (SIM_MFT_BLOCKS * SIM_MFT_BLOCK)
#define SWITCH_PKEYS 8u /* of the management port */
#define CA_PKEYS 64u
#define EXTERNAL_PKEYS 64u /* SwitchInfo.PartitionEnforcementCap */
#define REVISION 0xa1u

/* What a port of this speed can do: all speeds up to it. */
struct speeds {
    uint8_t plain, ext, ext2;
    bool fdr10;
};

static struct speeds speeds_of(unsigned speed)
{
    static const struct speeds table[] = {
        [FABRIC_SPEED_UNKNOWN] = {1, 0, 0, false}, [FABRIC_SDR] = {1, 0, 0, false},
        [FABRIC_DDR] = {3, 0, 0, false},           [FABRIC_QDR] = {7, 0, 0, false},
        [FABRIC_FDR10] = {7, 0, 0, true},          [FABRIC_FDR] = {7, 1, 0, false},
        [FABRIC_EDR] = {7, 3, 0, false},           [FABRIC_HDR] = {7, 7, 0, false},
        [FABRIC_NDR] = {7, 15, 0, false},          [FABRIC_XDR] = {7, 15, 1, false},
    };
    return table[speed < G_N_ELEMENTS(table) ? speed : FABRIC_SPEED_UNKNOWN];
}

/* 1x is always there (IBA 14.2.5.6: LinkWidthSupported). */
static uint8_t widths_of(unsigned width)
{
    switch (width) {
    case 1:
        return WIDTH_1X;
    case 4:
        return WIDTH_1X | WIDTH_4X | 4;
    case 8:
        return WIDTH_1X | WIDTH_4X | 8;
    case 16:
        return WIDTH_1X | WIDTH_2X;
    default:
        return WIDTH_1X | WIDTH_4X;
    }
}

/* A port whose width or speed is open has its peer's, or the best of its node's ports: the ports
 * of a device are alike, and a cable may be moved to one that has none now. Port 0 of a switch has
 * the best, too: its capability masks are those of the whole switch (IBA 14.2.5.6). */
static void set_supported(const struct fabric *f, const struct fabric_node *n, unsigned number,
                          struct sim_port *p)
{
    const struct fabric_port *own = &n->ports[number];
    unsigned width = own->width, speed = own->speed;
    if (number > 0 && own->peer_node != FABRIC_NONE) {
        const struct fabric_port *far = &f->nodes[own->peer_node].ports[own->peer_port];
        width = width ? width : far->width;
        speed = speed ? speed : far->speed;
    } else {
        for (unsigned i = 1; i <= n->nports; i++) {
            speed = MAX(speed, n->ports[i].speed);
            width = n->ports[i].width > width && n->ports[i].width < 16 ? n->ports[i].width : width;
        }
    }
    struct speeds can = speeds_of(speed);
    p->info[30] = widths_of(width);
    p->info[32] = (uint8_t)(can.plain << 4);
    p->info[56] = (uint8_t)(can.ext2 << 3);
    p->info[62] = can.ext;
    p->fdr10_supported = can.fdr10;
}

static void build_ports(struct sim *s, const struct fabric *f, uint32_t node)
{
    const struct fabric_node *from = &f->nodes[node];
    struct sim_node *n = &s->nodes[node];
    for (unsigned i = 0; i <= from->nports; i++) {
        struct sim_port *p = &n->ports[i];
        bool used = i > 0 || n->sw;
        uint64_t made = n->sw ? from->guid : from->guid + i; /* as ibsim has them */
        p->number = (uint8_t)i;
        p->guid = from->ports[i].guid && !n->sw ? from->ports[i].guid : made;
        p->peer_node = i > 0 ? from->ports[i].peer_node : SIM_NONE;
        p->peer_port = i > 0 ? from->ports[i].peer_port : 0;
        p->lease_ends = SIM_NEVER;
        if (used)
            set_supported(f, from, i, p);
    }
}

/* NodeInfo (IBA 14.2.5.3) but for the fields of the port that is asked. */
static void build_node_info(struct sim_node *n, const struct fabric_node *from)
{
    n->info[0] = 1; /* BaseVersion */
    n->info[1] = 1; /* ClassVersion */
    n->info[2] = from->type;
    n->info[3] = from->nports;
    put64(n->info + 4, from->sys_guid ? from->sys_guid : from->guid);
    put64(n->info + 12, from->guid);
    put16(n->info + 28, n->sw ? SWITCH_PKEYS : CA_PKEYS);
    put16(n->info + 30, from->device_id);
    put32(n->info + 32, REVISION);
    put32(n->info + 36, from->vendor_id & 0xffffff);
}

static void build_node(struct sim *s, const struct fabric *f, uint32_t node)
{
    const struct fabric_node *from = &f->nodes[node];
    struct sim_node *n = &s->nodes[node];
    n->guid = from->guid;
    n->type = from->type;
    n->nports = from->nports;
    memcpy(n->description, from->desc, sizeof n->description);
    n->description[sizeof n->description - 1] = '\0';
    n->sw = from->type == FABRIC_SWITCH ? g_new0(struct sim_switch, 1) : NULL;
    if (n->sw)
        n->sw->info[16] = from->enhanced_port0 ? 1u << 3 : 0;
    build_node_info(n, from);
    build_ports(s, f, node);
    g_hash_table_insert(s->by_guid, &n->guid, GUINT_TO_POINTER(node + 1));
    if (!g_hash_table_contains(s->by_description, n->description))
        g_hash_table_insert(s->by_description, g_strdup(n->description),
                            GUINT_TO_POINTER(node + 1));
}

void sim_model_build(struct sim *s, const struct fabric *f)
{
    size_t ports = 0;
    for (uint32_t i = 0; i < f->node_count; i++)
        ports += f->nodes[i].nports + 1u;
    s->by_guid = g_hash_table_new(g_int64_hash, g_int64_equal);
    s->by_description = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    s->node_count = f->node_count;
    s->nodes = g_new0(struct sim_node, f->node_count);
    s->all_ports = g_new0(struct sim_port, ports);
    struct sim_port *next = s->all_ports;
    for (uint32_t i = 0; i < f->node_count; i++) {
        s->nodes[i].ports = next;
        next += f->nodes[i].nports + 1u;
        build_node(s, f, i);
        sim_node_reset(s, i);
    }
}

void sim_model_free(struct sim *s)
{
    for (uint32_t i = 0; i < s->node_count; i++) {
        sim_tables_free(s, i);
        for (unsigned p = 0; p <= s->nodes[i].nports; p++) {
            g_free(s->nodes[i].ports[p].counters);
            g_free(s->nodes[i].ports[p].disturbance);
        }
        g_free(s->nodes[i].sw);
    }
    g_free(s->all_ports);
    g_free(s->nodes);
    g_hash_table_destroy(s->by_guid);
    g_hash_table_destroy(s->by_description);
}

/* SwitchInfo (IBA 14.2.5.4) */
static void reset_switch_info(struct sim_switch *sw)
{
    uint8_t enhanced = sw->info[16] & 1u << 3;
    memset(sw->info, 0, sizeof sw->info);
    put16(sw->info, LFT_CAP);
    put16(sw->info + 4, MFT_CAP);
    sw->info[11] = 1; /* OptimizedSLtoVLMappingProgramming: supported */
    put16(sw->info + 14, EXTERNAL_PKEYS);
    sw->info[16] = 0xf0 | enhanced; /* enforces P_Keys and filters raw packets, in and out */
}

static uint32_t capability_mask(const struct sim_node *n, const struct sim_port *p)
{
    uint32_t cap = CAP_TRAP | CAP_SL_MAPPING | CAP_SYSTEM_IMAGE_GUID | CAP_MASK_NOTICE |
                   CAP_OTHER_LOCAL_CHANGES;
    if (p->info[62] & 0x0f || p->info[56])
        cap |= CAP_EXTENDED_SPEEDS;
    if (get16(p->info + 60))
        cap |= CAP_MASK2;
    if (n->sw)
        cap |= CAP_MULTICAST_FDB_TOP | CAP_PKEY_EXTERNAL_PORT_TRAP;
    if (!n->sw || n->sw->info[16] & 1u << 3) /* where clients can sit */
        cap |= CAP_CLIENT_REREGISTRATION;
    return p->has_sm ? cap | CAP_SM : cap;
}

static uint16_t capability_mask2(const uint8_t *info)
{
    unsigned cap = 0;
    cap |= info[30] & WIDTH_2X ? CAP2_WIDTH_2X : 0;
    cap |= info[62] & EXT_HDR ? CAP2_SPEED_HDR : 0;
    cap |= info[62] & EXT_NDR ? CAP2_SPEED_NDR : 0;
    cap |= info[56] ? CAP2_SPEED_XDR : 0;
    return (uint16_t)cap;
}

/* Everything that ports have in common; Enabled = Supported. */
static void reset_link(struct sim_port *p)
{
    uint8_t *info = p->info;
    uint8_t widths = info[30], speeds = info[32] >> 4, ext = info[62] & 0x0f,
            ext2 = info[56] >> 3 & 3;
    memset(info, 0, sizeof p->info);
    info[29] = info[30] = widths;
    info[31] = widths & WIDTH_4X ? WIDTH_4X : WIDTH_1X;
    info[32] = (uint8_t)(speeds << 4 | SIM_DOWN);
    info[33] = SIM_PHYS_POLLING << 4 | SIM_PHYS_POLLING; /* LinkDownDefaultState: Polling */
    info[35] = (uint8_t)(1u << 4 | speeds);
    info[36] = MTU_2048 << 4;
    info[37] = VLS_0_TO_7 << 4;
    info[39] = info[40] = VLARB_ENTRIES;
    info[41] = MTU_2048;
    info[42] = 0xe0; /* VLStallCount 7 */
    info[43] = VLS_0_TO_7 << 4;
    info[56] = (uint8_t)(ext2 << 3 | ext2);
    info[62] = ext;
    info[63] = ext;
    put16(info + 60, capability_mask2(info));
    p->fdr10_enabled = p->fdr10_supported;
}

static void reset_port(struct sim_node *n, unsigned number)
{
    struct sim_port *p = &n->ports[number];
    reset_link(p);
    if (n->sw && number > 0)
        return;
    put64(p->info + 8, DEFAULT_GID_PREFIX);
    put32(p->info + 20, capability_mask(n, p));
    p->info[28] = (uint8_t)number;
    p->info[50] = n->sw ? 1 : CA_GUIDS;
    p->info[51] = 31; /* SubnetTimeOut */
    if (n->sw) {      /* a management port has no link to wait for */
        p->info[32] = (uint8_t)((p->info[32] & 0xf0) | SIM_ACTIVE);
        p->info[33] = SIM_PHYS_LINKUP << 4 | SIM_PHYS_POLLING;
        p->info[36] = 1u << 4; /* NeighborMTU 256 */
        p->info[41] = MTU_1024;
        p->info[42] = 0;
        p->info[52] = 8; /* RespTimeValue */
    }
}

void sim_node_reset(struct sim *s, uint32_t node)
{
    struct sim_node *n = &s->nodes[node];
    sim_tables_free(s, node);
    if (n->sw)
        reset_switch_info(n->sw);
    for (unsigned i = n->sw ? 0 : 1; i <= n->nports; i++) {
        struct sim_port *p = &n->ports[i];
        sim_timer_cancel(s, p->lease_timer);
        p->lease_timer = NULL;
        p->lease_ends = SIM_NEVER;
        reset_port(n, i);
    }
}
