/* SPDX-License-Identifier: BSD-2-Clause */
/* SwitchInfo (IBA 14.2.5.4). */
#include <string.h>

#include "sim/agents/attributes.h"

enum {
    LINEAR_FDB_CAP = 0,
    MULTICAST_FDB_CAP = 4,
    LINEAR_FDB_TOP = 6,
    DEFAULT_PORT = 8,
    DEFAULT_MULTICAST_PRIMARY = 9,
    DEFAULT_MULTICAST_NOT_PRIMARY = 10,
    LIFE_TIME = 11, /* LifeTimeValue 5, PortStateChange 1, OptimizedSLtoVLMappingProgramming 2 */
    MULTICAST_FDB_TOP = 18,
};
#define PORT_STATE_CHANGE 0x04u
#define LIFE_TIME_MASK 0xf8u
#define NO_MULTICAST 0xbfffu
#define FIRST_MULTICAST_LID 0xc000u

static bool port_is_legal(const struct sim_node *n, unsigned port)
{
    return port <= n->nports || port == SIM_NO_PORT;
}

static bool wanted_is_legal(const struct sim_node *n, const uint8_t *data)
{
    const uint8_t *info = n->sw->info;
    unsigned top = get16(data + MULTICAST_FDB_TOP);
    if (get16(data + LINEAR_FDB_TOP) >= get16(info + LINEAR_FDB_CAP))
        return false;
    if (top && top != NO_MULTICAST &&
        (top < FIRST_MULTICAST_LID || top - FIRST_MULTICAST_LID >= get16(info + MULTICAST_FDB_CAP)))
        return false;
    return port_is_legal(n, data[DEFAULT_PORT]) &&
           port_is_legal(n, data[DEFAULT_MULTICAST_PRIMARY]) &&
           port_is_legal(n, data[DEFAULT_MULTICAST_NOT_PRIMARY]);
}

uint16_t sim_sma_switch_info(struct sim *s, uint32_t node, bool set, uint8_t data[64],
                             unsigned *changed)
{
    struct sim_node *n = &s->nodes[node];
    if (!n->sw)
        return SIM_STATUS_BAD_ATTRIBUTE;
    uint8_t *info = n->sw->info;
    if (set) {
        if (!wanted_is_legal(n, data))
            return SIM_STATUS_BAD_VALUE;
        uint8_t wanted[SIM_SMP_DATA_BYTES];
        memcpy(wanted, info, sizeof wanted);
        memcpy(wanted + LINEAR_FDB_TOP, data + LINEAR_FDB_TOP, 2);
        memcpy(wanted + DEFAULT_PORT, data + DEFAULT_PORT, 3);
        memcpy(wanted + MULTICAST_FDB_TOP, data + MULTICAST_FDB_TOP, 2);
        /* PortStateChange is cleared by writing 1; 0 leaves it as it is. */
        unsigned kept = info[LIFE_TIME] & ~LIFE_TIME_MASK & ~(data[LIFE_TIME] & PORT_STATE_CHANGE);
        wanted[LIFE_TIME] = (uint8_t)((data[LIFE_TIME] & LIFE_TIME_MASK) | kept);
        *changed = sim_replace(info, wanted, sizeof wanted);
    }
    memcpy(data, info, SIM_SMP_DATA_BYTES);
    return SIM_STATUS_OK;
}
