/* SPDX-License-Identifier: BSD-2-Clause */
/* SLtoVLMappingTable (IBA 14.2.5.8) and VLArbitrationTable (14.2.5.9). */
#include <string.h>

#include "sim/agents/attributes.h"

#define ALL_OUTPUTS (1u << 16) /* optimised programming: one Set for many ports */
#define ALL_INPUTS (1u << 17)
#define RESERVED 0xfffc0000u
#define ROW sizeof(sim_sl2vl_default)
#define ARB_ENTRIES 32u /* of 2 bytes, in a block */

enum { VLARB_HIGH_CAP = 39, VLARB_LOW_CAP = 40 }; /* PortInfo bytes */

struct range {
    unsigned first, last;
};

/* Port 0 has tables of its own on a switch with an enhanced port 0 only. */
static struct range all_ports(const struct sim_node *n)
{
    bool enhanced = n->sw->info[16] & 0x08;
    return (struct range){enhanced ? 0 : 1, n->nports};
}

static const uint8_t *row_of(const struct sim_port *p, unsigned in)
{
    return p->sl2vl ? p->sl2vl + in * ROW : sim_sl2vl_default;
}

static unsigned write_rows(struct sim *s, uint32_t node, struct range in, struct range out,
                           const uint8_t *row)
{
    unsigned changed = 0;
    for (unsigned o = out.first; o <= out.last; o++) {
        for (unsigned i = in.first; i <= in.last; i++)
            if (memcmp(row, row_of(sim_port(s, node, o), i), ROW) != 0)
                changed += sim_replace(sim_sl2vl(s, node, o, i), row, ROW);
        sim_tables_share(s, node, o);
    }
    return changed;
}

static void read_row(const struct sim_port *p, unsigned in, uint8_t data[64])
{
    memset(data, 0, SIM_SMP_DATA_BYTES);
    memcpy(data, row_of(p, in), ROW);
}

uint16_t sim_sma_sl2vl(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                       uint8_t data[64], unsigned *changed)
{
    const struct sim_node *n = &s->nodes[node];
    if (!n->sw) { /* one table a port; the modifier is not used */
        if (set)
            *changed = write_rows(s, node, (struct range){0, 0}, (struct range){port, port}, data);
        read_row(&n->ports[port], 0, data);
        return SIM_STATUS_OK;
    }
    struct range in = {modifier >> 8 & 0xff, modifier >> 8 & 0xff};
    struct range out = {modifier & 0xff, modifier & 0xff};
    if (set && modifier & ALL_INPUTS) /* the port's number is then not used */
        in = all_ports(n);
    if (set && modifier & ALL_OUTPUTS)
        out = all_ports(n);
    if (modifier & RESERVED || in.last > n->nports || out.last > n->nports)
        return SIM_STATUS_BAD_VALUE;
    if (set)
        *changed = write_rows(s, node, in, out, data);
    read_row(&n->ports[out.last], in.last, data);
    return SIM_STATUS_OK;
}

uint16_t sim_sma_vlarb(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                       uint8_t data[64], unsigned *changed)
{
    const struct sim_node *n = &s->nodes[node];
    unsigned target = n->sw ? modifier & 0xffff : port;
    unsigned block = (modifier >> 16) - 1; /* 1, 2: low priority; 3, 4: high priority */
    if (target > n->nports || block > 3)
        return SIM_STATUS_BAD_VALUE;
    const struct sim_port *p = &n->ports[target];
    unsigned cap = p->info[block < 2 ? VLARB_LOW_CAP : VLARB_HIGH_CAP];
    unsigned first = block % 2 * ARB_ENTRIES;
    if (first >= cap)
        return SIM_STATUS_BAD_VALUE;
    size_t bytes = 2u * MIN(ARB_ENTRIES, cap - first);
    const uint8_t *now = p->vlarb ? p->vlarb + (size_t)block * 64 : sim_vlarb_default[block];
    if (set && memcmp(data, now, bytes) != 0) {
        *changed = sim_replace(sim_vlarb(s, node, target, block), data, bytes);
        sim_tables_share(s, node, target);
    }
    memset(data + bytes, 0, SIM_SMP_DATA_BYTES - bytes);
    memcpy(data, p->vlarb ? p->vlarb + (size_t)block * 64 : sim_vlarb_default[block], bytes);
    return SIM_STATUS_OK;
}
