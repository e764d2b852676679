/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of nodes, switches, links and managers, and ClassPortInfo. */
#include <string.h>

#include "shard/sa/sa_private.h"

#define NODE_DESCRIPTION_BYTES 64u

/* -- ClassPortInfo, IBA 13.4.8.1 --------------------------------------------------------------- */

enum { CPI_BYTES = 72, CPI_RESPONSE_TIME = 7 };

enum sa_status sa_class_port_info(struct sa_query *q)
{
    uint8_t r[CPI_BYTES] = {1, 2}; /* base and class version */
    r[CPI_RESPONSE_TIME] = q->context->response_time & 0x1f;
    q->record_bytes = sizeof(r);
    sa_add(q, r);
    return SA_OK;
}

/* -- NodeRecord, IBA 15.2.5.2 ------------------------------------------------------------------ */

enum {
    NR_BYTES = 112,
    NR_NODEINFO = 4,
    NR_PORT_GUID = NR_NODEINFO + 20,
    NR_LOCAL_PORT = NR_NODEINFO + 36,
    NR_DESCRIPTION = 44,
};

static const struct sa_component node_components[] = {
    {0, 0, 16},    {2, 32, 8},   {3, 40, 8},    {4, 48, 8},     {5, 56, 8},
    {6, 64, 64},   {7, 128, 64}, {8, 192, 64},  {9, 256, 16},   {10, 272, 16},
    {11, 288, 32}, {12, 320, 8}, {13, 328, 24}, {14, 352, 512},
};

static void add_node(struct sa_query *q, uint16_t lid, const uint8_t nodeinfo[40],
                     const char *description, uint64_t port_guid, uint8_t port)
{
    uint8_t r[NR_BYTES] = {0};
    sa_put16(r, lid);
    memcpy(r + NR_NODEINFO, nodeinfo, 40);
    if (port_guid != 0)
        sa_put64(r + NR_PORT_GUID, port_guid);
    r[NR_LOCAL_PORT] = port;
    memcpy(r + NR_DESCRIPTION, description, strnlen(description, NODE_DESCRIPTION_BYTES));
    if (sa_matches(q, node_components, G_N_ELEMENTS(node_components), r))
        sa_add(q, r);
}

static void add_switch_node(struct sa_query *q, const struct view_switch *s)
{
    uint16_t lid = view_switch_lid(s);
    if (lid != 0 && s->reachable)
        add_node(q, lid, s->nodeinfo, s->description, 0, 0);
}

static void add_end_node(struct sa_query *q, const struct view_end_port *e)
{
    if (e->lid != 0 && e->present)
        add_node(q, e->lid, e->nodeinfo, e->description, e->port_guid, e->num);
}

enum sa_status sa_node_records(struct sa_query *q)
{
    q->record_bytes = NR_BYTES;
    if (sa_has(q, 0)) { /* by LID: the usual question, no walk */
        struct view_switch *s = NULL;
        struct view_end_port *e = NULL;
        if (!view_by_lid(q->context->view, sa_get16(q->wanted), &s, &e))
            return SA_OK;
        q->mask &= ~(uint64_t)1; /* any LID of its range names the port */
        if (s != NULL)
            add_switch_node(q, s);
        else
            add_end_node(q, e);
        return SA_OK;
    }
    const GPtrArray *switches = view_switches(q->context->view);
    for (guint i = 0; i < switches->len; i++)
        add_switch_node(q, switches->pdata[i]);
    const GPtrArray *ends = view_end_ports(q->context->view);
    for (guint i = 0; i < ends->len; i++)
        add_end_node(q, ends->pdata[i]);
    return SA_OK;
}

/* -- SwitchInfoRecord, IBA 15.2.5.4 ------------------------------------------------------------ */

enum { SWIR_BYTES = 24, SWIR_SWITCHINFO = 4 };

static const struct sa_component switch_components[] = {{0, 0, 16}};

enum sa_status sa_switchinfo_records(struct sa_query *q)
{
    q->record_bytes = SWIR_BYTES;
    const GPtrArray *switches = view_switches(q->context->view);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = switches->pdata[i];
        uint8_t r[SWIR_BYTES] = {0};
        sa_put16(r, view_switch_lid(s));
        memcpy(r + SWIR_SWITCHINFO, s->switchinfo, sizeof(s->switchinfo));
        if (view_switch_lid(s) != 0 && s->reachable &&
            sa_matches(q, switch_components, G_N_ELEMENTS(switch_components), r))
            sa_add(q, r);
    }
    return SA_OK;
}

/* -- LinkRecord, IBA 15.2.5.12 ----------------------------------------------------------------- */

enum { LR_BYTES = 8, LR_FROM_PORT = 2, LR_TO_PORT = 3, LR_TO_LID = 4 };

static const struct sa_component link_components[] = {
    {0, 0, 16}, {1, 16, 8}, {2, 24, 8}, {3, 32, 16}};

static void add_link(struct sa_query *q, uint16_t from, unsigned from_port, uint16_t to,
                     unsigned to_port)
{
    uint8_t r[LR_BYTES] = {0};
    sa_put16(r, from);
    r[LR_FROM_PORT] = (uint8_t)from_port;
    r[LR_TO_PORT] = (uint8_t)to_port;
    sa_put16(r + LR_TO_LID, to);
    if (from != 0 && to != 0 && sa_matches(q, link_components, G_N_ELEMENTS(link_components), r))
        sa_add(q, r);
}

enum sa_status sa_link_records(struct sa_query *q)
{
    q->record_bytes = LR_BYTES;
    const struct view *v = q->context->view;
    const GPtrArray *switches = view_switches(v);
    for (guint i = 0; i < switches->len; i++) {
        const struct view_switch *s = switches->pdata[i];
        for (unsigned p = 1; s->reachable && p <= s->nports; p++) {
            const struct view_port *port = &s->ports[p];
            if (port->peer_guid == 0)
                continue;
            const struct view_switch *peer = view_switch(v, port->peer_guid);
            const struct view_end_port *e =
                peer == NULL ? view_end_port(v, port->peer_guid, port->peer_port) : NULL;
            if (peer != NULL)
                add_link(q, view_switch_lid(s), p, view_switch_lid(peer), port->peer_port);
            else if (e != NULL && e->present)
                add_link(q, view_switch_lid(s), p, e->lid, e->num);
        }
    }
    const GPtrArray *ends = view_end_ports(v);
    for (guint i = 0; i < ends->len; i++) {
        const struct view_end_port *e = ends->pdata[i];
        const struct view_switch *s = view_switch(v, e->switch_guid);
        if (e->present && s != NULL && s->reachable)
            add_link(q, e->lid, e->num, view_switch_lid(s), e->switch_port);
    }
    return SA_OK;
}

/* -- SMInfoRecord, IBA 15.2.5.13 --------------------------------------------------------------- */

enum { SMIR_BYTES = 32, SMIR_SMINFO = 4, SMIR_SM_KEY = SMIR_SMINFO + 8 };

static const struct sa_component sm_components[] = {
    {0, 0, 16}, {2, 32, 64}, {4, 160, 32}, {5, 192, 4}, {6, 196, 4}};

enum sa_status sa_sminfo_records(struct sa_query *q)
{
    q->record_bytes = SMIR_BYTES;
    for (size_t i = 0; i < q->context->manager_count; i++) {
        const struct sa_manager *m = &q->context->managers[i];
        uint8_t r[SMIR_BYTES] = {0};
        sa_put16(r, m->lid);
        memcpy(r + SMIR_SMINFO, m->sminfo, sizeof(m->sminfo));
        sa_put64(r + SMIR_SM_KEY, 0); /* nobody's business */
        if (sa_matches(q, sm_components, G_N_ELEMENTS(sm_components), r))
            sa_add(q, r);
    }
    return SA_OK;
}
