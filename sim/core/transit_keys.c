/* SPDX-License-Identifier: BSD-2-Clause */
/* P_Keys and Q_Keys of packets that are not on VL 15 (IBA 10.9, 10.2.4). */
#include "sim/agents/agent.h"
#include "sim/core/flight.h"

#define FULL_MEMBER 0x8000u
#define KEY_BITS 0x7fffu
#define GSI_QP 1u

enum { /* PortInfo bytes (IBA 14.2.5.6) */
       ENFORCEMENT = 43,
       ENFORCE_INBOUND = 0x08,
       ENFORCE_OUTBOUND = 0x04,
       PKEY_VIOLATIONS = 46,
       QKEY_VIOLATIONS = 48,
       MULTICAST_SUPPRESSION = 51, /* McastPkeyTrapSuppressionEnabled */
       SUPPRESSION_BITS = 0x60,
};

/* IBA 10.9.3: the same key, and not two limited members. */
static bool lets_in(uint16_t entry, uint16_t pkey)
{
    return (entry & KEY_BITS) && ((entry ^ pkey) & KEY_BITS) == 0 && ((entry | pkey) & FULL_MEMBER);
}

uint16_t key_match(const struct sim *s, uint32_t node, unsigned port, uint16_t pkey)
{
    unsigned capacity = sim_pkey_capacity(s, node, port);
    if (!s->nodes[node].ports[port].pkeys) /* all but the first entry are empty */
        capacity = MIN(capacity, 1);
    for (unsigned i = 0; i < capacity; i++) {
        uint16_t entry = sim_pkey(s, node, port, i);
        if (lets_in(entry, pkey))
            return entry;
    }
    return 0;
}

static void count_violation(uint8_t *field)
{
    uint16_t count = get16(field);
    if (count < UINT16_MAX) /* IBA 14.2.5.6: it stays there */
        put16(field, count + 1);
}

bool keys_allow(struct sim *s, struct flight *f, enum flight_state *state)
{
    struct sim_port *end = sim_end_port(s, f->node, f->in);
    f->matched = key_match(s, f->node, end->number, f->p.pkey);
    if (!f->matched) {
        count_violation(end->info + PKEY_VIOLATIONS);
        if (!f->burst || !(end->info[MULTICAST_SUPPRESSION] & SUPPRESSION_BITS))
            sim_trap_key(s, f->node, end->number, 257, &f->p);
        *state = flight_drop(s, f, SIM_DROP_PKEY, f->in);
        return false;
    }
    /* Other queue pairs have keys that the simulator does not know. */
    bool known = f->p.dqp == GSI_QP || f->kind == SIM_KIND_PING;
    if (known && f->p.qkey != SIM_GSI_QKEY) {
        count_violation(end->info + QKEY_VIOLATIONS);
        sim_trap_key(s, f->node, end->number, 258, &f->p);
        *state = flight_drop(s, f, SIM_DROP_QKEY, f->in);
        return false;
    }
    return true;
}

bool keys_enforce(struct sim *s, struct flight *f, unsigned port, bool inbound)
{
    struct sim_port *p = sim_port(s, f->node, port);
    if (!(p->info[ENFORCEMENT] & (inbound ? ENFORCE_INBOUND : ENFORCE_OUTBOUND)) ||
        key_match(s, f->node, port, f->p.pkey))
        return true;
    sim_count(s, f->node, port,
              inbound ? SIM_CNT_RCV_CONSTRAINT_ERRORS : SIM_CNT_XMIT_CONSTRAINT_ERRORS, 1);
    sim_trap_key(s, f->node, port, 259, &f->p);
    return false;
}
