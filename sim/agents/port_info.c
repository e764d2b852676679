/* SPDX-License-Identifier: BSD-2-Clause */
/* PortInfo (IBA 14.2.5.6): what a Get shows, and a Set as a whole.
 *
 * A Set is checked field by field on a copy (port_info_fields.c); only when every field is legal
 * does anything change. */
#include "sim/agents/port_info.h"

#include <string.h>

#include "sim/agents/agent.h"
#include "sim/agents/link.h"
#include "sim/hosts/host.h"

#define STATUS_INVALID 0x001cu
#define MODIFIER_EXTENDED_SPEEDS 0x80000000u /* the manager knows LinkSpeedExt* */
#define MODIFIER_PORT 0xffu
#define CLIENT_REREGISTER 0x80u /* in byte 51 */

/* The port that the modifier names, or false: 0 is the arrival port of a CA, and port 0 of a
 * switch. A CA shows its other ports, and sets only the one that is asked. */
static bool target_port(const struct sim_node *n, unsigned arrived, bool set, uint32_t modifier,
                        unsigned *target)
{
    *target = modifier & MODIFIER_PORT;
    if (modifier & ~(MODIFIER_EXTENDED_SPEEDS | MODIFIER_PORT))
        return false;
    if (!n->sw && *target == 0)
        *target = arrived;
    return *target <= n->nports && (n->sw || !set || *target == arrived);
}

/* IBA 14.2.4.1: from protection level 1 on the key is shown to those only who know it. */
static void show(const struct sim_port *p, unsigned arrived, bool key_matches, uint8_t data[64])
{
    memcpy(data, p->info, 64);
    data[28] = (uint8_t)arrived; /* LocalPortNum */
    if (!key_matches && data[34] >> 6)
        memset(data, 0, 8);
}

static enum port_kind kind_of(const struct sim_node *n, unsigned port)
{
    if (!n->sw)
        return PORT_KIND_END;
    if (port > 0)
        return PORT_KIND_EXTERNAL;
    return n->sw->info[16] & 0x08 ? PORT_KIND_ENHANCED : PORT_KIND_BASE;
}

/* The legal transitions of PortState by a Set (IBA 7.2.7): down from everywhere, ARMED from INIT,
 * ACTIVE from ARMED; asking for the state that is there changes nothing. Whether the other end is
 * as far does not matter: packets wait for both (sim_link_carries). */
static bool state_legal(unsigned now, unsigned wanted)
{
    switch (wanted) {
    case 0:
    case SIM_DOWN:
        return true;
    case SIM_ARMED:
        return now == SIM_INIT || now == SIM_ARMED;
    case SIM_ACTIVE:
        return now == SIM_ARMED || now == SIM_ACTIVE;
    default:
        return false;
    }
}

static bool commands_legal(const struct sim_port *p, const uint8_t *in)
{
    return state_legal(sim_port_state(p), in[32] & 0x0f) && in[33] >> 4 <= SIM_PHYS_DISABLED &&
           (in[33] & 0x0f) <= SIM_PHYS_POLLING;
}

/* Where a Set of PortState Down leaves the physical state: where it was told, else training. */
static void run_commands(struct sim *s, uint32_t node, unsigned port, const uint8_t *in,
                         bool asked_by_it)
{
    struct sim_port *p = sim_port(s, node, port);
    unsigned state = in[32] & 0x0f, phys = in[33] >> 4;
    if (phys)
        sim_link_command(s, node, port, (enum sim_phys_state)phys, asked_by_it);
    else if (state == SIM_DOWN && sim_port_state(p) != SIM_DOWN)
        sim_link_command(s, node, port, SIM_PHYS_POLLING, asked_by_it);
    else if (state == SIM_ARMED && sim_port_state(p) == SIM_INIT)
        sim_link_arm(s, node, port);
    else if (state == SIM_ACTIVE)
        sim_link_activate(s, node, port);
}

static void tell_host(struct sim *s, uint32_t node, unsigned port, bool moved, bool reregister)
{
    struct sim_port *p = sim_port(s, node, port);
    if (!p->host)
        return;
    if (moved)
        sim_host_event(s, node, port, SIM_HOST_LID_CHANGE);
    if (reregister && sim_capability_mask(p) & SIM_CAP_CLIENT_REREGISTRATION)
        sim_host_event(s, node, port, SIM_HOST_REREGISTER);
}

static bool set_port_info(struct sim *s, uint32_t node, unsigned port, unsigned arrived,
                          bool extended, const uint8_t in[64])
{
    struct sim_port *p = sim_port(s, node, port);
    const struct sim_port *peer = sim_link_peer(s, p);
    struct port_info_change c = {
        .kind = kind_of(&s->nodes[node], port),
        .extended = extended,
        .capabilities = sim_capability_mask(sim_end_port(s, node, port)),
        .switch_info = s->nodes[node].sw ? s->nodes[node].sw->info : NULL,
        .peer_mtu_cap = peer ? peer->info[41] & 0x0f : 0,
        .in = in,
    };
    bool link = c.kind == PORT_KIND_END || c.kind == PORT_KIND_EXTERNAL;
    memcpy(c.out, p->info, 64);
    if ((link && !commands_legal(p, in)) || !port_info_apply(&c))
        return false;
    bool moved = memcmp(c.out + 16, p->info + 16, 2) != 0 || (c.out[34] ^ p->info[34]) & 7;
    memcpy(p->info, c.out, 64);
    tell_host(s, node, port, moved, in[51] & CLIENT_REREGISTER);
    if (link)
        run_commands(s, node, port, in, port == arrived);
    return true;
}

uint16_t sim_sma_port_info(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                           uint8_t data[64], bool key_matches)
{
    unsigned target;
    bool legal = true;
    if (!target_port(&s->nodes[node], port, set, modifier, &target))
        return STATUS_INVALID;
    if (set)
        legal = set_port_info(s, node, target, port, modifier & MODIFIER_EXTENDED_SPEEDS, data);
    bool same_key = s->nodes[node].sw || target == port;
    show(sim_port(s, node, target), port, key_matches && same_key, data);
    return legal ? 0 : STATUS_INVALID;
}
