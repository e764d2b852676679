/* SPDX-License-Identifier: BSD-2-Clause */
/* Links: physical state and link state of both ends (IBA 5.8.4, 7.2.7).
 *
 * A link trains when both nodes have power, the cable is plugged in, neither end is Disabled, one
 * of them at least polls, and both have a width and a speed in common. */
#include "sim/agents/link.h"

#include "sim/agents/agent.h"
#include "sim/agents/trap.h"
#include "sim/hosts/host.h"

#define PORT_STATE_CHANGE 0x04u /* in byte 11 of SwitchInfo */
#define NS_PER_MS 1000000LL

struct rate { /* LinkWidthActive, LinkSpeedActive, ...ExtActive, ...ExtActive2 */
    uint8_t width, speed, ext, ext2;
};

/* One end of a link. */
struct end {
    uint32_t node;
    struct sim_port *p;
};

static struct end end_at(struct sim *s, uint32_t node, unsigned port)
{
    return (struct end){node, sim_port(s, node, port)};
}

struct sim_port *sim_link_peer(struct sim *s, const struct sim_port *p)
{
    return p->peer_node == SIM_NONE ? NULL : sim_port(s, p->peer_node, p->peer_port);
}

static void put_state(struct sim_port *p, enum sim_port_state state)
{
    p->info[32] = (uint8_t)((p->info[32] & 0xf0) | state);
}

static void put_phys(struct sim_port *p, enum sim_phys_state phys)
{
    p->info[33] = (uint8_t)(phys << 4 | (p->info[33] & 0x0f));
}

static void tell_host(struct sim *s, struct end e, enum sim_host_event event)
{
    if (e.p->host)
        sim_host_event(s, e.node, e.p->number, event);
}

/* The link state machine moved a port (IBA 14.2.5.4: not what a Set moved). */
static void port_state_changed(struct sim *s, struct end e)
{
    struct sim_switch *sw = s->nodes[e.node].sw;
    if (!sw || !s->nodes[e.node].powered)
        return;
    sw->info[11] |= PORT_STATE_CHANGE;
    sim_trap_link_state(s, e.node);
}

static uint8_t best_width(unsigned widths)
{
    static const uint8_t by_lanes[] = {8, 4, 2, 16, 1}; /* 12x 8x 4x 2x 1x */
    for (unsigned i = 0; i < G_N_ELEMENTS(by_lanes); i++)
        if (widths & by_lanes[i])
            return by_lanes[i];
    return 0;
}

static uint8_t highest_bit(unsigned bits)
{
    return bits ? (uint8_t)(1u << (g_bit_storage(bits) - 1)) : 0;
}

static unsigned ext_enabled(const struct sim_port *p)
{
    unsigned enabled = p->info[63] & 0x1f;
    return enabled == SIM_SPEED_EXT_DISABLED ? 0 : enabled & p->info[62] & 0x0f;
}

static unsigned ext2_enabled(const struct sim_port *p)
{
    return p->info[56] & p->info[56] >> 3 & 3;
}

/* The best that both have enabled; an extended speed only where both have one. */
static struct rate negotiate(struct end a, struct end b)
{
    const uint8_t *x = a.p->info, *y = b.p->info;
    unsigned ext2 = ext2_enabled(a.p) & ext2_enabled(b.p);
    return (struct rate){
        .width = best_width(x[29] & x[30] & y[29] & y[30]),
        .speed = highest_bit(x[35] & x[32] >> 4 & y[35] & y[32] >> 4 & 0x0f),
        .ext = ext2 ? 0 : highest_bit(ext_enabled(a.p) & ext_enabled(b.p)),
        .ext2 = highest_bit(ext2),
    };
}

static bool ready(const struct sim *s, struct end e)
{
    return s->nodes[e.node].powered && !e.p->unplugged && sim_phys_state(e.p) != SIM_PHYS_DISABLED;
}

static bool can_train(struct sim *s, struct end a, struct end b)
{
    if (!ready(s, a) || !ready(s, b))
        return false;
    if (sim_phys_state(a.p) == SIM_PHYS_SLEEP && sim_phys_state(b.p) == SIM_PHYS_SLEEP)
        return false;
    struct rate r = negotiate(a, b);
    return r.width && r.speed;
}

/* The physical state of a port without a link: Disabled stays, else LinkDownDefaultState. */
static void idle(struct end e)
{
    if (sim_phys_state(e.p) != SIM_PHYS_DISABLED)
        put_phys(e.p, (e.p->info[33] & 0x0f) == SIM_PHYS_SLEEP ? SIM_PHYS_SLEEP : SIM_PHYS_POLLING);
}

/* Returns whether the end was up. */
static bool take_down(struct sim *s, struct end e)
{
    unsigned was = sim_port_state(e.p);
    if (was == SIM_DOWN) {
        if (sim_phys_state(e.p) == SIM_PHYS_TRAINING)
            idle(e);
        return false;
    }
    put_state(e.p, SIM_DOWN);
    idle(e);
    if (s->nodes[e.node].powered)
        sim_count(s, e.node, e.p->number, SIM_CNT_LINK_DOWNED, 1);
    if (was == SIM_ACTIVE)
        tell_host(s, e, SIM_HOST_PORT_DOWN);
    return true;
}

static void show_rate(struct sim_port *p, const struct rate *r)
{
    p->info[31] = r->width;
    p->info[35] = (uint8_t)(r->speed << 4 | (p->info[35] & 0x0f));
    p->info[56] = (uint8_t)((p->info[56] & 0x1f) | r->ext2 << 5);
    p->info[62] = (uint8_t)(r->ext << 4 | (p->info[62] & 0x0f));
}

static void bring_up(struct sim *s, struct end a, struct end b)
{
    struct rate r = negotiate(a, b);
    struct end both[] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        show_rate(both[i].p, &r);
        put_state(both[i].p, SIM_INIT);
        put_phys(both[i].p, SIM_PHYS_LINKUP);
    }
    port_state_changed(s, a);
    port_state_changed(s, b);
}

static void stop_training(struct sim *s, struct end e)
{
    e.p->training = false;
    if (!e.p->traps || !e.p->traps->training)
        return;
    sim_timer_cancel(s, e.p->traps->training);
    e.p->traps->training = NULL;
    sim_port_traps_tidy(e.p);
}

static void trained(struct sim *s, void *key)
{
    struct end a = end_at(s, sim_key_node(key), sim_key_port(key));
    a.p->traps->training = NULL;
    sim_port_traps_tidy(a.p);
    a.p->training = false;
    if (a.p->peer_node == SIM_NONE)
        return;
    struct end b = end_at(s, a.p->peer_node, a.p->peer_port);
    b.p->training = false;
    if (can_train(s, a, b))
        bring_up(s, a, b);
}

static void train(struct sim *s, struct end a, struct end b)
{
    if (!s->config.train_ms) {
        bring_up(s, a, b);
        return;
    }
    a.p->training = b.p->training = true;
    put_phys(a.p, SIM_PHYS_TRAINING);
    put_phys(b.p, SIM_PHYS_TRAINING);
    sim_port_traps(a.p)->training = sim_timer_at(s, s->now + s->config.train_ms * NS_PER_MS,
                                                 trained, sim_port_key(a.node, a.p->number));
}

static void take_down_alone(struct sim *s, struct end e)
{
    stop_training(s, e);
    if (take_down(s, e))
        port_state_changed(s, e);
}

void sim_link_update(struct sim *s, uint32_t node, unsigned port)
{
    if (port == 0)
        return;
    struct end a = end_at(s, node, port);
    if (a.p->peer_node == SIM_NONE) {
        take_down_alone(s, a);
        return;
    }
    struct end b = end_at(s, a.p->peer_node, a.p->peer_port);
    bool possible = can_train(s, a, b);
    if (possible && (a.p->training || b.p->training))
        return;
    if (possible && sim_port_state(a.p) != SIM_DOWN && sim_port_state(b.p) != SIM_DOWN)
        return;
    /* One end down alone: its node was reset. The other one notices before they train. */
    take_down_alone(s, a);
    take_down_alone(s, b);
    if (possible)
        train(s, a, b);
}

void sim_link_bounce(struct sim *s, uint32_t node, unsigned port)
{
    if (port == 0)
        return;
    struct end a = end_at(s, node, port);
    take_down_alone(s, a);
    if (a.p->peer_node != SIM_NONE)
        take_down_alone(s, end_at(s, a.p->peer_node, a.p->peer_port));
    sim_link_update(s, node, port);
}

static void command(struct sim *s, struct end a, enum sim_phys_state phys)
{
    stop_training(s, a);
    take_down(s, a); /* by a Set: no PortStateChange at this end */
    put_phys(a.p, phys);
    if (a.p->peer_node != SIM_NONE)
        take_down_alone(s, end_at(s, a.p->peer_node, a.p->peer_port));
    sim_link_update(s, a.node, a.p->number);
}

static void run_command(struct sim *s, void *key)
{
    struct end e = end_at(s, sim_key_node(key), sim_key_port(key));
    enum sim_phys_state phys = e.p->traps->commanded;
    e.p->traps->command = NULL;
    command(s, e, phys);
    sim_port_traps_tidy(e.p);
}

void sim_link_command(struct sim *s, uint32_t node, unsigned port, enum sim_phys_state phys,
                      bool asked_by_it)
{
    struct end e = end_at(s, node, port);
    if (!asked_by_it || (phys == SIM_PHYS_POLLING && !s->config.train_ms)) {
        command(s, e, phys);
        return;
    }
    struct sim_port_traps *t = sim_port_traps(e.p);
    t->commanded = phys;
    if (!t->command)
        t->command = sim_timer_at(s, s->now, run_command, sim_port_key(node, port));
}

void sim_link_arm(struct sim *s, uint32_t node, unsigned port)
{
    put_state(sim_port(s, node, port), SIM_ARMED);
}

void sim_link_activate(struct sim *s, uint32_t node, unsigned port)
{
    struct end e = end_at(s, node, port);
    if (sim_port_state(e.p) == SIM_ACTIVE)
        return;
    put_state(e.p, SIM_ACTIVE);
    tell_host(s, e, SIM_HOST_PORT_UP);
}

bool sim_link_carries(struct sim *s, uint32_t node, unsigned port, bool vl15)
{
    if (port == 0) /* inside a switch */
        return true;
    struct sim_port *p = sim_port(s, node, port), *peer = sim_link_peer(s, p);
    if (!peer || sim_port_state(p) < SIM_INIT || sim_port_state(peer) < SIM_INIT)
        return false;
    if (vl15)
        return true;
    if (sim_port_state(p) != SIM_ACTIVE || sim_port_state(peer) < SIM_ARMED)
        return false;
    sim_link_activate(s, p->peer_node, p->peer_port);
    return true;
}
