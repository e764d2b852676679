/* SPDX-License-Identifier: BSD-2-Clause */
/* MulticastForwardingTable (IBA 14.2.5.12): blocks of 32 MLIDs, 16 ports a position. */
#include <string.h>

#include "sim/agents/attributes.h"

#define PORTS_PER_POSITION 16u

/* Bits of ports that the switch has. */
static uint16_t existing_ports(const struct sim_node *n, unsigned position)
{
    unsigned first = position * PORTS_PER_POSITION, ports = n->nports + 1u;
    return ports >= first + PORTS_PER_POSITION ? UINT16_MAX
                                               : (uint16_t)((1u << (ports - first)) - 1);
}

static unsigned write_block(uint16_t *block, uint16_t ports, const uint8_t *data)
{
    unsigned changed = 0;
    for (unsigned i = 0; i < SIM_MFT_BLOCK; i++) {
        uint16_t wanted = get16(data + (size_t)i * 2) & ports, differs = wanted ^ block[i];
        changed += ((differs & 0xff) != 0) + ((differs >> 8) != 0);
        block[i] = wanted;
    }
    return changed;
}

uint16_t sim_sma_mft(struct sim *s, uint32_t node, bool set, uint32_t modifier, uint8_t data[64],
                     unsigned *changed)
{
    struct sim_node *n = &s->nodes[node];
    unsigned position = modifier >> 28, number = modifier & 0x0fffffff;
    if (!n->sw)
        return SIM_STATUS_BAD_ATTRIBUTE;
    if (number >= SIM_MFT_BLOCKS || position * PORTS_PER_POSITION > n->nports)
        return SIM_STATUS_BAD_VALUE;
    if (set)
        *changed = write_block(sim_mft_block(s, node, position, number),
                               existing_ports(n, position), data);
    const uint16_t *block = n->sw->mft[position] ? n->sw->mft[position][number] : NULL;
    for (unsigned i = 0; i < SIM_MFT_BLOCK; i++)
        put16(data + (size_t)i * 2, block ? block[i] : 0);
    return SIM_STATUS_OK;
}
