/* SPDX-License-Identifier: BSD-2-Clause */
/* ExtendedPortInfo, Mellanox's attribute for FDR10: QDR lanes that run a little faster, which
 * PortInfo cannot tell from QDR. */
#include <string.h>

#include "sim/agents/attributes.h"

enum { CHANGE_ENABLE = 3, SPEED_SUPPORTED = 7, SPEED_ENABLED = 11, SPEED_ACTIVE = 15 };
#define CHANGE_SPEED 0x01u
#define FDR10 0x01u
#define QDR 4u

/* Both ends enabled it, and the link that came up is QDR to those who do not know better. */
static bool active(const struct sim *s, const struct sim_port *p)
{
    if (p->peer_node == SIM_NONE || sim_phys_state(p) != SIM_PHYS_LINKUP || !p->fdr10_enabled)
        return false;
    const struct sim_port *peer = &s->nodes[p->peer_node].ports[p->peer_port];
    return peer->fdr10_enabled && p->info[35] >> 4 == QDR && p->info[62] >> 4 == 0;
}

uint16_t sim_sma_extended_port_info(struct sim *s, uint32_t node, unsigned port, bool set,
                                    uint32_t modifier, uint8_t data[64], unsigned *changed)
{
    const struct sim_node *n = &s->nodes[node];
    uint32_t target = modifier == 0 && !n->sw ? port : modifier;
    if (target > n->nports)
        return SIM_STATUS_BAD_VALUE;
    struct sim_port *p = sim_port(s, node, target);
    if (set && data[CHANGE_ENABLE] & CHANGE_SPEED) {
        bool wanted = p->fdr10_supported && data[SPEED_ENABLED] & FDR10;
        *changed = wanted != p->fdr10_enabled;
        p->fdr10_enabled = wanted; /* from the next training on */
    }
    memset(data, 0, SIM_SMP_DATA_BYTES);
    data[SPEED_SUPPORTED] = p->fdr10_supported ? FDR10 : 0;
    data[SPEED_ENABLED] = p->fdr10_enabled ? FDR10 : 0;
    data[SPEED_ACTIVE] = active(s, p) ? FDR10 : 0;
    return SIM_STATUS_OK;
}
