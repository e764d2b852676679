/* SPDX-License-Identifier: BSD-2-Clause */
/* P_KeyTable (IBA 14.2.5.7): blocks of 32; of a switch the modifier's upper half is the port. */
#include "sim/agents/attributes.h"
#include "sim/hosts/host.h"

static unsigned write_entries(struct sim *s, uint32_t node, unsigned port, unsigned first,
                              unsigned entries, const uint8_t *data)
{
    unsigned changed = 0;
    for (unsigned i = 0; i < entries; i++) {
        uint16_t differs = get16(data + (size_t)i * 2) ^ sim_pkey(s, node, port, first + i);
        changed += ((differs & 0xff) != 0) + ((differs >> 8) != 0);
    }
    if (!changed)
        return 0;
    uint16_t *table = sim_pkeys(s, node, port) + first;
    for (unsigned i = 0; i < entries; i++)
        table[i] = get16(data + (size_t)i * 2);
    sim_tables_share(s, node, port);
    return changed;
}

uint16_t sim_sma_pkey_table(struct sim *s, uint32_t node, unsigned port, bool set,
                            uint32_t modifier, uint8_t data[64], unsigned *changed)
{
    const struct sim_node *n = &s->nodes[node];
    unsigned target = n->sw ? modifier >> 16 : port;
    unsigned first = (modifier & 0xffff) * SIM_PKEY_BLOCK;
    if (target > n->nports)
        return SIM_STATUS_BAD_VALUE;
    unsigned capacity = sim_pkey_capacity(s, node, target);
    if (first >= capacity)
        return SIM_STATUS_BAD_VALUE;
    /* Entries above the capacity are not written, and read as 0. */
    unsigned entries = MIN(SIM_PKEY_BLOCK, capacity - first);
    if (set)
        *changed = write_entries(s, node, target, first, entries, data);
    for (unsigned i = 0; i < SIM_PKEY_BLOCK; i++)
        put16(data + (size_t)i * 2, sim_pkey(s, node, target, first + i));
    if (*changed && !n->sw)
        sim_host_event(s, node, target, SIM_HOST_PKEY_CHANGE);
    return SIM_STATUS_OK;
}
