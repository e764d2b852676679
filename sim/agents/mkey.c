/* SPDX-License-Identifier: BSD-2-Clause */
/* M_Keys (IBA 14.2.4): who may read and write, violations, and the lease.
 *
 * A switch has one key, at port 0, for all of it; a CA or router has one for each port. */
#include "sim/agents/attributes.h"
#include "sim/core/timers.h"

#define NS_PER_SECOND 1000000000ll
#define PROTECT_SHIFT 6
#define PROTECT_READS 2u /* levels 2 and 3: Gets need the key, too */

/* PortInfo bytes */
enum { LEASE_PERIOD = 26, PROTECT = 34, VIOLATIONS = 44 };

bool sim_mkey_matches(const struct sim_port *end, const struct sim_packet *p)
{
    uint64_t key = sim_mkey(end);
    return key == 0 || key == get64(p->mad + SIM_SMP_MKEY);
}

/* The lease ran out: reads are open again, so that a manager that lost the key can learn it. */
static void lease_ended(struct sim *s, void *arg)
{
    gsize packed = GPOINTER_TO_SIZE(arg);
    struct sim_port *end = sim_port(s, (uint32_t)(packed >> 8), packed & 0xff);
    end->lease_timer = NULL;
    end->lease_ends = SIM_NEVER;
    end->info[PROTECT] &= (1u << PROTECT_SHIFT) - 1;
}

static void start_lease(struct sim *s, uint32_t node, struct sim_port *end)
{
    unsigned period_s = get16(end->info + LEASE_PERIOD); /* 0 = it never ends */
    if (period_s == 0 || end->lease_timer)
        return;
    end->lease_ends = s->now + period_s * NS_PER_SECOND;
    end->lease_timer = sim_timer_at(s, end->lease_ends, lease_ended,
                                    GSIZE_TO_POINTER((gsize)node << 8 | end->number));
}

static void stop_lease(struct sim *s, struct sim_port *end)
{
    if (!end->lease_timer)
        return;
    sim_timer_cancel(s, end->lease_timer);
    end->lease_timer = NULL;
    end->lease_ends = SIM_NEVER;
}

static void violation(struct sim *s, uint32_t node, struct sim_port *end,
                      const struct sim_packet *p)
{
    unsigned count = get16(end->info + VIOLATIONS);
    if (count < UINT16_MAX)
        put16(end->info + VIOLATIONS, (uint16_t)(count + 1));
    start_lease(s, node, end);
    sim_trap_mkey(s, node, end->number, p);
}

static bool checked(uint8_t method)
{
    return method == SIM_METHOD_GET || method == SIM_METHOD_SET ||
           method == SIM_METHOD_TRAP_REPRESS;
}

static bool port_allows(struct sim *s, uint32_t node, struct sim_port *end,
                        const struct sim_packet *p)
{
    uint8_t method = p->mad[SIM_MAD_METHOD];
    if (sim_mkey_matches(end, p)) {
        stop_lease(s, end);
        return true;
    }
    /* a Get below level 2 is no violation, whatever its key */
    if (method == SIM_METHOD_GET && end->info[PROTECT] >> PROTECT_SHIFT < PROTECT_READS)
        return true;
    violation(s, node, end, p);
    return false;
}

bool sim_mkey_allows(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p)
{
    const struct sim_node *n = &s->nodes[node];
    if (!checked(p->mad[SIM_MAD_METHOD]))
        return true; /* Trap and responses carry no key */
    struct sim_port *end = sim_end_port(s, node, port);
    if (!port_allows(s, node, end, p))
        return false;
    /* PortInfo of a CA's other port: that port's key protects it. */
    unsigned other = get32(p->mad + SIM_MAD_MODIFIER) & 0xff;
    if (n->sw || get16(p->mad + SIM_MAD_ATTRIBUTE) != SIM_ATTR_PORT_INFO || other == 0 ||
        other == port || other > n->nports)
        return true;
    return port_allows(s, node, sim_port(s, node, other), p);
}
