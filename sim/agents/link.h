/* SPDX-License-Identifier: BSD-2-Clause */
/* What Set(PortInfo) and the traps need of link.c and of each other. Private to agents/. */
#ifndef SIM_AGENTS_LINK_H
#define SIM_AGENTS_LINK_H

#include "sim/core/model.h"
#include "sim/core/timers.h"

/* PortInfo.CapabilityMask (IBA 14.2.5.6) */
#define SIM_CAP_NOTICE (1u << 2)
#define SIM_CAP_TRAP (1u << 3)
#define SIM_CAP_PKEY_EXTERNAL_PORT_TRAP (1u << 12)
#define SIM_CAP_REINIT (1u << 18)
#define SIM_CAP_MASK_NOTICE (1u << 22)
#define SIM_CAP_CLIENT_REREGISTRATION (1u << 25)
#define SIM_CAP_OTHER_LOCAL_CHANGES (1u << 26)
#define SIM_CAP_MULTICAST_PKEY_TRAP_SUPPRESSION (1u << 29)

#define SIM_SPEED_EXT_DISABLED 30u /* LinkSpeedExtEnabled: no extended speed */

static inline uint32_t sim_capability_mask(const struct sim_port *end)
{
    return get32(end->info + 20);
}

/* Set(PortInfo.PortState): to ARMED or ACTIVE, which the caller has found to be legal. */
void sim_link_arm(struct sim *s, uint32_t node, unsigned port);
void sim_link_activate(struct sim *s, uint32_t node, unsigned port);
/* Set(PortInfo.PortPhysicalState) to Sleep, Polling or Disabled: the link goes down. It comes up
 * again unless one end is Disabled. Where the Set came by this very link, it goes down only when
 * the answer has left, which shows it as it still is; unless it is back at once (Polling without
 * train_ms), when nothing has to wait. */
void sim_link_command(struct sim *s, uint32_t node, unsigned port, enum sim_phys_state phys,
                      bool asked_by_it);
/* The other end of the cable at this port, NULL = none. */
struct sim_port *sim_link_peer(struct sim *s, const struct sim_port *p);

/* A port as the argument of a timer. */
static inline void *sim_port_key(uint32_t node, unsigned port)
{
    return (void *)((uintptr_t)node << 8 | port);
}

static inline uint32_t sim_key_node(const void *key)
{
    return (uint32_t)((uintptr_t)key >> 8);
}

static inline unsigned sim_key_port(const void *key)
{
    return (unsigned)((uintptr_t)key & 255);
}

#endif
