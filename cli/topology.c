/* SPDX-License-Identifier: BSD-2-Clause */
/* A view as a fabric. */
#include "cli/topology.h"

#include "cli/nodes.h"

#define PHYSICAL_LINK_UP 5u
#define CAPABILITY_EXTENDED_SPEEDS (1u << 14) /* PortInfo.CapabilityMask, IBA 14.2.5.6 */

static uint64_t big_endian(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* LinkSpeedExtActive where the node has one, else LinkSpeedActive: bit n stands for the n-th. A
 * switch tells what it is capable of at port 0 only: capable is the PortInfo that has the mask. */
static uint8_t speed_of(const uint8_t portinfo[64], const uint8_t capable[64])
{
    static const uint8_t basic[] = {FABRIC_SPEED_UNKNOWN, FABRIC_SDR, FABRIC_DDR,
                                    FABRIC_SPEED_UNKNOWN, FABRIC_QDR};
    static const uint8_t extended[] = {
        FABRIC_SPEED_UNKNOWN, FABRIC_FDR,           FABRIC_EDR,
        FABRIC_SPEED_UNKNOWN, FABRIC_HDR,           FABRIC_SPEED_UNKNOWN,
        FABRIC_SPEED_UNKNOWN, FABRIC_SPEED_UNKNOWN, FABRIC_NDR};
    unsigned ext = portinfo[62] >> 4, speed = portinfo[35] >> 4;
    bool has_ext = big_endian(capable + 20, 4) & CAPABILITY_EXTENDED_SPEEDS;
    if (has_ext && ext > 0 && ext < G_N_ELEMENTS(extended))
        return extended[ext];
    return speed < G_N_ELEMENTS(basic) ? basic[speed] : FABRIC_SPEED_UNKNOWN;
}

static void set_rate(struct fabric_port *p, const uint8_t portinfo[64], const uint8_t capable[64])
{
    p->width = portinfo[31]; /* LinkWidthActive */
    p->speed = speed_of(portinfo, capable);
}

/* NodeInfo, IBA 14.2.5.3. */
static void set_ids(struct fabric_node *n, const uint8_t nodeinfo[40])
{
    n->sys_guid = big_endian(nodeinfo + 4, 8);
    n->device_id = (uint16_t)big_endian(nodeinfo + 30, 2);
    n->vendor_id = (uint32_t)big_endian(nodeinfo + 37, 3);
}

static void add_switch(struct fabric *f, const struct view_switch *sw)
{
    uint32_t i = fabric_add_node(f, sw->guid, FABRIC_SWITCH, sw->nports, sw->description);
    if (i == FABRIC_NONE)
        return;
    struct fabric_node *n = &f->nodes[i];
    uint64_t port_guid = big_endian(sw->nodeinfo + 20, 8);
    set_ids(n, sw->nodeinfo);
    n->enhanced_port0 = sw->switchinfo[16] >> 3 & 1; /* IBA 14.2.5.4 */
    n->ports[0].lid = view_switch_lid(sw);
    n->ports[0].lmc = sw->ports[0].have_info ? sw->ports[0].portinfo[34] & 7 : 0;
    for (unsigned p = 0; p <= sw->nports; p++) {
        if (port_guid != 0)
            n->ports[p].guid = port_guid;
        if (p > 0 && sw->ports[p].have_info)
            set_rate(&n->ports[p], sw->ports[p].portinfo, sw->ports[0].portinfo);
    }
}

static void add_end_port(struct fabric *f, const struct view_end_port *e)
{
    enum fabric_node_type type = e->nodeinfo[2] == FABRIC_ROUTER ? FABRIC_ROUTER : FABRIC_CA;
    unsigned nports = MIN(MAX(e->nodeinfo[3], e->num), FABRIC_MAX_PORTS);
    uint32_t i = fabric_find(f, e->node_guid);
    if (i == FABRIC_NONE)
        i = fabric_add_node(f, e->node_guid, type, nports, e->description);
    if (i == FABRIC_NONE || e->num == 0 || e->num > f->nodes[i].nports ||
        f->nodes[i].type == FABRIC_SWITCH)
        return;
    struct fabric_node *n = &f->nodes[i];
    set_ids(n, e->nodeinfo);
    n->ports[e->num].guid = e->port_guid;
    n->ports[e->num].lid = e->lid;
    n->ports[e->num].lmc = e->lmc;
    set_rate(&n->ports[e->num], e->portinfo, e->portinfo);
}

static bool linked(const struct view_port *p)
{
    return p->have_info && nodes_portinfo_physical(p->portinfo) == PHYSICAL_LINK_UP;
}

/* Whether the record of the other end speaks against this cable. */
static bool denied(const struct view *v, const struct view_switch *sw, unsigned num)
{
    const struct view_port *port = &sw->ports[num];
    const struct view_switch *peer = view_switch(v, port->peer_guid);
    const struct view_end_port *end = view_end_port(v, port->peer_guid, port->peer_port);
    if (end != NULL)
        return end->switch_guid != sw->guid || end->switch_port != num;
    if (peer == NULL || port->peer_port > peer->nports)
        return peer != NULL;
    const struct view_port *back = &peer->ports[port->peer_port];
    return back->peer_guid != 0 && (back->peer_guid != sw->guid || back->peer_port != num);
}

/* fabric_connect refuses what is not there and what is taken. */
static void add_cables(struct fabric *f, const struct view *v, const struct view_switch *sw)
{
    uint32_t from = fabric_find(f, sw->guid);
    for (unsigned p = 1; from != FABRIC_NONE && p <= sw->nports; p++) {
        const struct view_port *port = &sw->ports[p];
        uint32_t to = port->peer_guid != 0 ? fabric_find(f, port->peer_guid) : FABRIC_NONE;
        if (to != FABRIC_NONE && linked(port) && !denied(v, sw, p))
            fabric_connect(f, from, p, to, port->peer_port);
    }
}

struct fabric *topology_of_view(const struct view *v)
{
    struct fabric *f = fabric_create();
    const GPtrArray *switches = view_switches(v);
    const GPtrArray *ends = view_end_ports(v);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *sw = g_ptr_array_index(switches, i);
        if (sw->reachable)
            add_switch(f, sw);
    }
    for (guint i = 0; i < ends->len; i++) {
        const struct view_end_port *e = g_ptr_array_index(ends, i);
        if (e->present)
            add_end_port(f, e);
    }
    for (guint i = 0; i < switches->len; i++)
        add_cables(f, v, g_ptr_array_index(switches, i));
    return f;
}
