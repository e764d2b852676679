/* SPDX-License-Identifier: BSD-2-Clause */
/* GUIDInfo (IBA 14.2.5.5): 8 GUIDs a block; the first of block 0 is the port's own, read only. */
#include "sim/agents/attributes.h"

#define BLOCK 8u
#define GUID_CAP 50 /* PortInfo byte */

static unsigned write_guids(uint64_t *guids, unsigned first, unsigned entries, const uint8_t *data)
{
    unsigned changed = 0;
    for (unsigned i = first == 0 ? 1 : 0; i < entries; i++) {
        uint64_t wanted = get64(data + (size_t)i * 8);
        for (uint64_t differs = wanted ^ guids[first + i]; differs; differs >>= 8)
            changed += (differs & 0xff) != 0;
        guids[first + i] = wanted;
    }
    return changed;
}

uint16_t sim_sma_guid_info(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                           uint8_t data[64], unsigned *changed)
{
    unsigned target = s->nodes[node].sw ? 0 : port;
    struct sim_port *p = sim_port(s, node, target);
    unsigned cap = p->info[GUID_CAP];
    if (modifier > UINT8_MAX || modifier * BLOCK >= cap)
        return SIM_STATUS_BAD_VALUE;
    unsigned first = modifier * BLOCK, entries = MIN(BLOCK, cap - first);
    if (set)
        *changed = write_guids(sim_guids(s, node, target), first, entries, data);
    for (unsigned i = 0; i < BLOCK; i++) {
        uint64_t guid = first + i == 0 ? p->guid : 0;
        if (p->guids && i < entries)
            guid = p->guids[first + i];
        put64(data + (size_t)i * 8, guid);
    }
    return SIM_STATUS_OK;
}
