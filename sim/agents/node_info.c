/* SPDX-License-Identifier: BSD-2-Clause */
/* NodeInfo and NodeDescription (IBA 14.2.5.3, 14.2.5.2): read only. */
#include <string.h>

#include "sim/agents/attributes.h"

uint16_t sim_sma_node_info(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                           uint8_t data[64])
{
    if (set)
        return SIM_STATUS_BAD_ATTRIBUTE;
    sim_get_node_info(s, node, port, data);
    return SIM_STATUS_OK;
}

/* Set would need CapabilityMask2.IsSetNodeDescriptionSupported. */
uint16_t sim_sma_node_description(struct sim *s, uint32_t node, bool set, uint8_t data[64])
{
    if (set)
        return SIM_STATUS_BAD_ATTRIBUTE;
    memcpy(data, s->nodes[node].description, SIM_SMP_DATA_BYTES);
    return SIM_STATUS_OK;
}
