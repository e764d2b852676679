/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of nodes out of a view. */
#include "cli/nodes.h"

#define NODE_TYPE_SWITCH 2u
#define NODEINFO_TYPE 2u /* offsets, IBA 14.2.5.3 */
#define NODEINFO_PORTS 3u
#define STATE_ACTIVE 4u
#define PHYSICAL_LINK_UP 5u

unsigned nodes_portinfo_state(const uint8_t portinfo[64])
{
    return portinfo[32] & 15u;
}

unsigned nodes_portinfo_physical(const uint8_t portinfo[64])
{
    return portinfo[33] >> 4;
}

const char *nodes_type_name(unsigned type)
{
    static const char *const names[] = {"?", "ca", "switch", "router"};
    return type < G_N_ELEMENTS(names) ? names[type] : "?";
}

const char *nodes_state_name(unsigned state)
{
    static const char *const names[] = {"?", "Down", "Init", "Armed", "Active"};
    return state < G_N_ELEMENTS(names) ? names[state] : "?";
}

const char *nodes_physical_name(unsigned physical)
{
    static const char *const names[] = {"?",        "Sleep",  "Polling",           "Disabled",
                                        "Training", "LinkUp", "LinkErrorRecovery", "PhyTest"};
    return physical < G_N_ELEMENTS(names) ? names[physical] : "?";
}

static const char *owner_of(const Heddle__Status *s, uint32_t domain)
{
    const Heddle__Domain *d = domain != VIEW_NO_DOMAIN ? report_domain(s, domain) : NULL;
    return d != NULL ? d->owner : "";
}

static struct node_row switch_row(const Heddle__Status *s, const struct view_switch *sw)
{
    struct node_row row = {.node_guid = sw->guid,
                           .description = sw->description,
                           .owner = owner_of(s, sw->domain),
                           .domain = sw->domain,
                           .type = NODE_TYPE_SWITCH,
                           .lid = view_switch_lid(sw),
                           .ports = sw->nports,
                           .present = sw->reachable};
    for (unsigned i = 0; i < 8; i++) /* NodeInfo.PortGUID, IBA 14.2.5.3 */
        row.port_guid = row.port_guid << 8 | sw->nodeinfo[20 + i];
    if (sw->ports[0].have_info)
        row.lmc = sw->ports[0].portinfo[34] & 7u;
    for (unsigned i = 1; i <= sw->nports; i++) {
        const struct view_port *p = &sw->ports[i];
        bool up = p->have_info && nodes_portinfo_physical(p->portinfo) == PHYSICAL_LINK_UP;
        row.links += up;
        row.active += up && nodes_portinfo_state(p->portinfo) == STATE_ACTIVE;
    }
    return row;
}

static struct node_row end_port_row(const struct view *v, const Heddle__Status *s,
                                    const struct view_end_port *e)
{
    uint32_t domain = view_domain_of_switch(v, e->switch_guid);
    bool up = e->present && nodes_portinfo_physical(e->portinfo) == PHYSICAL_LINK_UP;
    return (struct node_row){.node_guid = e->node_guid,
                             .port_guid = e->port_guid,
                             .description = e->description,
                             .owner = owner_of(s, domain),
                             .domain = domain,
                             .type = e->nodeinfo[NODEINFO_TYPE],
                             .port = e->num,
                             .lid = e->lid,
                             .lmc = e->lmc,
                             .ports = e->nodeinfo[NODEINFO_PORTS],
                             .links = up,
                             .active = up && nodes_portinfo_state(e->portinfo) == STATE_ACTIVE,
                             .present = e->present};
}

GArray *nodes_list(const struct view *v, const Heddle__Status *s)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct node_row));
    const GPtrArray *switches = view_switches(v);
    const GPtrArray *ends = view_end_ports(v);
    for (guint i = 0; i < switches->len; i++) {
        struct node_row row = switch_row(s, g_ptr_array_index(switches, i));
        g_array_append_val(rows, row);
    }
    for (guint i = 0; i < ends->len; i++) {
        struct node_row row = end_port_row(v, s, g_ptr_array_index(ends, i));
        g_array_append_val(rows, row);
    }
    return rows;
}
