/* SPDX-License-Identifier: BSD-2-Clause */
/* The management agents of the simulated nodes, IBA 14.2.5. */
#include "tests/world/sim_fabric_private.h"

#include <string.h>

#include <infiniband/mad.h>

#define STATUS_UNSUPPORTED 0x000Cu /* method and attribute, IBA 13.4.7 */
#define STATUS_INVALID_FIELD 0x001Cu
#define PORT_STATE_CHANGE 0x04u /* SwitchInfo, byte 11 */
#define TRAP_LINK_STATE 128u
#define TRAP_CAPABILITIES 144u

void sim_violation(struct sim_fabric *s, const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    s->cb.violation(s->cb.user, text);
}

/* -- power-on values ------------------------------------------------------------------------- */

static void put64(uint8_t *p, uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        p[i] = (uint8_t)v;
}

static void reset_port(struct sim_node *n, unsigned num)
{
    struct sim_port *p = &n->ports[num];
    bool management = sim_is_switch(n) && num == 0;
    memset(p->info, 0, sizeof p->info);
    p->info[20] = management ? 0 : 0x02; /* CapabilityMask: IsSM off; reregistration on */
    p->info[21] = 0x00;
    p->info[22] = 0x00;
    p->info[23] = 0x48;
    p->info[20] = 0x02;
    p->info[29] = p->info[30] = 3; /* 1x or 4x */
    p->info[31] = 2;
    p->info[32] = 7 << 4 | (management ? SIM_ACTIVE : SIM_DOWN);
    p->info[33] = (uint8_t)((management ? 5 : 2) << 4 | 2);
    p->info[35] = 4 << 4 | 7;
    p->info[36] = 1 << 4;
    p->info[37] = 4 << 4;
    p->info[41] = 5; /* MTUCap 4096 */
    p->info[43] = 1 << 4;
    p->info[50] = management ? 0 : 8;
}

static void make_nodeinfo(struct sim_node *n)
{
    memset(n->nodeinfo, 0, sizeof n->nodeinfo);
    n->nodeinfo[0] = n->nodeinfo[1] = 1;
    n->nodeinfo[2] = n->n->type;
    n->nodeinfo[3] = n->n->nports;
    put64(&n->nodeinfo[4], n->n->sys_guid != 0 ? n->n->sys_guid : n->n->guid);
    put64(&n->nodeinfo[12], n->n->guid);
    n->nodeinfo[29] = 8; /* PartitionCap */
}

void sim_reset_node(struct sim_fabric *s, uint32_t node)
{
    struct sim_node *n = &s->nodes[node];
    make_nodeinfo(n);
    for (unsigned i = 0; i <= n->n->nports; i++)
        reset_port(n, i);
    memset(n->switchinfo, 0, sizeof n->switchinfo);
    sim_put16(&n->switchinfo[0], SIM_LIDS);
    n->switchinfo[15] = 8;
    if (n->lft != NULL)
        memset(n->lft, 255, SIM_LIDS);
}

/* -- PortInfo -------------------------------------------------------------------------------- */

static bool change_state(struct sim_fabric *s, const struct sim_place *at, unsigned num,
                         unsigned wanted)
{
    struct sim_port *p = &s->nodes[at->node].ports[num];
    unsigned state = sim_state(p);
    bool management = sim_is_switch(&s->nodes[at->node]) && num == 0;
    if (wanted == 0 || management)
        return true;
    if (wanted == SIM_ARMED && (state == SIM_INIT || state == SIM_ARMED)) {
        p->info[32] = (uint8_t)((p->info[32] & 0xf0) | SIM_ARMED);
        return true;
    }
    if (wanted == SIM_ACTIVE && (state == SIM_ARMED || state == SIM_ACTIVE)) {
        p->info[32] = (uint8_t)((p->info[32] & 0xf0) | SIM_ACTIVE);
        return true;
    }
    if (wanted == SIM_DOWN) { /* the link trains again */
        if (sim_link_up(s, at->node, num))
            sim_link_changed(s, at->node, num);
        return true;
    }
    return false;
}

static void check_lid(struct sim_fabric *s, const struct sim_node *n, unsigned num, unsigned lid)
{
    uint64_t shown = n->shown_guid + num;
    const uint64_t *guid = n->shown_guid != 0 ? &shown : &n->n->ports[num].guid;
    unsigned old = GPOINTER_TO_UINT(g_hash_table_lookup(s->lid_of, guid));
    if (lid == 0)
        return;
    if (lid >= SIM_LIDS) {
        sim_violation(s, "lid %u set on %016lx is no unicast LID", lid, *guid);
        return;
    }
    if (old != 0 && old != lid)
        sim_violation(s, "port %016lx had lid %u, is given %u", *guid, old, lid);
    if (s->guid_of[lid] != 0 && s->guid_of[lid] != *guid)
        sim_violation(s, "lid %u belongs to %016lx, is given to %016lx", lid, s->guid_of[lid],
                      *guid);
    s->guid_of[lid] = *guid;
    g_hash_table_insert(s->lid_of, g_memdup2(guid, sizeof *guid), GUINT_TO_POINTER(lid));
}

/* Bytes of PortInfo that a Set writes as they are. */
static const uint8_t writable[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                   14, 15, 16, 17, 18, 19, 26, 27, 34, 36, 38, 42, 43, 53};

static unsigned set_portinfo(struct sim_fabric *s, const struct sim_place *at, unsigned num,
                             const uint8_t *data)
{
    struct sim_node *n = &s->nodes[at->node];
    struct sim_port *p = &n->ports[num];
    bool has_lid = !sim_is_switch(n) || num == 0;
    unsigned lid = sim_get16(&data[16]);
    if (has_lid) {
        check_lid(s, n, num, lid);
        n->count.lid_changes += sim_lid(p) != 0 && lid != 0 && lid != sim_lid(p);
    }
    for (size_t i = 0; i < sizeof writable; i++)
        if (has_lid || writable[i] >= 20)
            p->info[writable[i]] = data[writable[i]];
    if (data[29] != 0)
        p->info[29] = data[29] == 0xff ? p->info[30] : data[29];
    p->info[51] = data[51] & 0x1f;
    return change_state(s, at, num, data[32] & 15u) ? 0 : STATUS_INVALID_FIELD;
}

static unsigned portinfo(struct sim_fabric *s, const struct sim_place *at, uint8_t *mad, bool set)
{
    struct sim_node *n = &s->nodes[at->node];
    unsigned num = mad_modifier(mad) & 0xffu, status = 0;
    uint8_t *data = smp_data(mad);
    if (num == 0 && !sim_is_switch(n))
        num = sim_own_port(s, at);
    if (num > n->n->nports)
        return STATUS_INVALID_FIELD;
    if (set)
        status = set_portinfo(s, at, num, data);
    memcpy(data, n->ports[num].info, 64);
    data[28] = (uint8_t)sim_own_port(s, at);
    if (sim_is_switch(n))
        data[28] = (uint8_t)at->in_port;
    return status;
}

/* -- others ---------------------------------------------------------------------------------- */

static void nodeinfo(struct sim_fabric *s, const struct sim_place *at, uint8_t *data)
{
    const struct sim_node *n = &s->nodes[at->node];
    unsigned own = sim_own_port(s, at);
    memset(data, 0, SMP_DATA_BYTES);
    memcpy(data, n->nodeinfo, 40);
    put64(&data[20], n->shown_guid != 0 ? n->shown_guid + own : n->n->ports[own].guid);
    if (n->shown_guid != 0)
        put64(&data[12], n->shown_guid);
    data[36] = (uint8_t)(sim_is_switch(n) ? at->in_port : own);
}

static unsigned switchinfo(struct sim_node *n, uint8_t *data, bool set)
{
    if (!sim_is_switch(n))
        return STATUS_UNSUPPORTED;
    if (set) {
        uint8_t kept = (data[11] & PORT_STATE_CHANGE) ? 0 : n->switchinfo[11] & PORT_STATE_CHANGE;
        memcpy(&n->switchinfo[6], &data[6], 5); /* LinearFDBTop and default ports */
        n->switchinfo[11] = (uint8_t)((data[11] & ~PORT_STATE_CHANGE) | kept);
    }
    memset(data, 0, SMP_DATA_BYTES);
    memcpy(data, n->switchinfo, sizeof n->switchinfo);
    return 0;
}

static unsigned lft(struct sim_node *n, uint32_t block, uint8_t *data, bool set)
{
    if (!sim_is_switch(n) || block >= SIM_LIDS / 64)
        return STATUS_UNSUPPORTED;
    if (set) {
        n->count.lft_sets++;
        n->count.lft_changes += memcmp(&n->lft[block * 64], data, 64) != 0;
        memcpy(&n->lft[block * 64], data, 64);
    }
    memcpy(data, &n->lft[block * 64], 64);
    return 0;
}

static unsigned attribute(struct sim_fabric *s, const struct sim_place *at, uint8_t *mad, bool set)
{
    struct sim_node *n = &s->nodes[at->node];
    uint8_t *data = smp_data(mad);
    switch (mad_attribute(mad)) {
    case SMP_NODE_INFO:
        nodeinfo(s, at, data);
        return 0;
    case SMP_NODE_DESCRIPTION:
        memset(data, 0, SMP_DATA_BYTES);
        memcpy(data, n->n->desc, strnlen(n->n->desc, 64));
        return 0;
    case SMP_PORT_INFO:
        return portinfo(s, at, mad, set);
    case SMP_SWITCH_INFO:
        return switchinfo(n, data, set);
    case SMP_LFT:
        return lft(n, mad_modifier(mad), data, set);
    case SMP_PKEY_TABLE:
        if (!set)
            memset(data, 0, SMP_DATA_BYTES);
        if (!set && mad_modifier(mad) % 0x10000u == 0)
            data[0] = data[1] = 0xff;
        return 0;
    case SMP_GUID_INFO:
        memset(data, 0, SMP_DATA_BYTES);
        put64(data, n->n->ports[sim_own_port(s, at)].guid);
        return 0;
    case SMP_SM_INFO:
        if (n->sm_state == 0 || set)
            return STATUS_UNSUPPORTED;
        memset(data, 0, SMP_DATA_BYTES);
        put64(data, n->n->ports[sim_own_port(s, at)].guid);
        data[20] = (uint8_t)(15u << 4 | n->sm_state); /* the highest priority */
        return 0;
    case SMP_SL2VL:
    case SMP_VLARB:
    case SMP_MFT:
        if (!set)
            memset(data, 0, SMP_DATA_BYTES);
        return 0;
    default:
        return STATUS_UNSUPPORTED;
    }
}

bool sim_agent(struct sim_fabric *s, const struct sim_place *at, uint8_t mad[MAD_BYTES])
{
    unsigned method = mad_method(mad);
    struct sim_counters *count = &s->nodes[at->node].count;
    if (method != MAD_GET && method != MAD_SET)
        return false;
    count->mads++;
    count->sets += method == MAD_SET;
    if (s->nodes[at->node].mute)
        return false;
    unsigned status = attribute(s, at, mad, method == MAD_SET);
    bool directed = mad_class(mad) == SMP_CLASS_DR;
    mad_set_field(mad, 0, IB_MAD_METHOD_F, MAD_GET_RESP & 0x7f);
    mad_set_field(mad, 0, IB_MAD_RESPONSE_F, 1);
    mad_set_field(mad, 0, IB_MAD_STATUS_F, status | (directed ? 0x8000u : 0));
    return true;
}

/* -- changes of links ------------------------------------------------------------------------ */

void sim_build_trap(uint8_t mad[MAD_BYTES], bool from_switch, unsigned number, unsigned lid)
{
    smp_build(mad, MAD_TRAP, SMP_NOTICE, 0, NULL, 0, 1);
    uint8_t *data = smp_data(mad);
    data[0] = 0x81; /* generic, urgent */
    data[3] = from_switch ? 2 : 1;
    sim_put16(&data[4], number);
    sim_put16(&data[6], lid);
    sim_put16(&data[number == TRAP_CAPABILITIES ? 12 : 10], lid); /* IBA 14.2.5.1 */
}

static void send_trap(struct sim_fabric *s, uint32_t node)
{
    struct sim_node *n = &s->nodes[node];
    unsigned lid = sim_lid(&n->ports[0]), sm_lid = sim_get16(&n->ports[0].info[18]);
    struct sim_place at = {node, 0};
    uint8_t mad[MAD_BYTES];
    if (s->muted || lid == 0 || !sim_walk_lid(s, sm_lid, &at) ||
        s->nodes[at.node].process != SIM_PROCESS_LIVE)
        return;
    sim_build_trap(mad, true, TRAP_LINK_STATE, lid);
    s->cb.deliver(s->cb.user, at.node, mad, &(struct mad_address){.lid = (uint16_t)lid});
}

static void settle_end(struct sim_fabric *s, uint32_t node, unsigned port, bool up)
{
    struct sim_node *n = &s->nodes[node];
    struct sim_port *p = &n->ports[port];
    if (!n->on)
        return;
    p->info[32] = (uint8_t)((p->info[32] & 0xf0) | (up ? SIM_INIT : SIM_DOWN));
    p->info[33] = (uint8_t)((up ? 5 : 2) << 4 | (p->info[33] & 15));
    if (sim_is_switch(n))
        n->switchinfo[11] |= PORT_STATE_CHANGE;
}

/* A link came, went or trains again: both ends start from there. */
void sim_link_changed(struct sim_fabric *s, uint32_t node, unsigned port)
{
    const struct fabric_port *p = &s->nodes[node].n->ports[port];
    bool up = sim_link_up(s, node, port);
    settle_end(s, node, port, up);
    if (p->peer_node != FABRIC_NONE)
        settle_end(s, p->peer_node, p->peer_port, up);
    if (s->nodes[node].on && sim_is_switch(&s->nodes[node]))
        send_trap(s, node);
    if (p->peer_node != FABRIC_NONE && s->nodes[p->peer_node].on &&
        sim_is_switch(&s->nodes[p->peer_node]))
        send_trap(s, p->peer_node);
}
