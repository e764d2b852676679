/* SPDX-License-Identifier: BSD-2-Clause */
/* LinearForwardingTable (IBA 14.2.5.10): 64 LIDs a block. */
#include <string.h>

#include "sim/agents/attributes.h"

uint16_t sim_sma_lft(struct sim *s, uint32_t node, bool set, uint32_t modifier, uint8_t data[64],
                     unsigned *changed)
{
    struct sim_switch *sw = s->nodes[node].sw;
    if (!sw)
        return SIM_STATUS_BAD_ATTRIBUTE;
    if (modifier >= SIM_LFT_BLOCKS)
        return SIM_STATUS_BAD_VALUE;
    if (set)
        *changed = sim_replace(sim_lft_block(s, node, modifier), data, SIM_LFT_BLOCK);
    else if (sw->lft[modifier])
        memcpy(data, sw->lft[modifier], SIM_LFT_BLOCK);
    else
        memset(data, SIM_NO_PORT, SIM_LFT_BLOCK);
    return SIM_STATUS_OK;
}
