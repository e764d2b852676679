/* SPDX-License-Identifier: BSD-2-Clause */
/* What reaches a node's agents: versions, methods and keys are checked here, and attributes handed
 * to their functions (IBA 13.4, 14.2). */
#include <string.h>

#include "sim/agents/attributes.h"
#include "sim/judge/judge.h"

#define VERSION 1 /* base version, and class version of SMPs */
#define DIRECTION_BIT 0x8000u

unsigned sim_replace(uint8_t *table, const uint8_t *wanted, size_t bytes)
{
    unsigned changed = 0;
    for (size_t i = 0; i < bytes; i++) {
        changed += table[i] != wanted[i];
        table[i] = wanted[i];
    }
    return changed;
}

void sim_mad_answer(uint8_t *mad, uint16_t status)
{
    mad[SIM_MAD_METHOD] = SIM_METHOD_GET_RESP;
    if (mad[SIM_MAD_CLASS] == SIM_CLASS_SMP_DIRECTED)
        status |= DIRECTION_BIT;
    put16(mad + SIM_MAD_STATUS, status);
}

static bool is_smp(const uint8_t *mad)
{
    return mad[SIM_MAD_CLASS] == SIM_CLASS_SMP_LID || mad[SIM_MAD_CLASS] == SIM_CLASS_SMP_DIRECTED;
}

/* Answers and what only a manager's process takes. */
static bool is_for_process(const uint8_t *mad)
{
    if (mad[SIM_MAD_METHOD] & SIM_METHOD_RESPONSE || mad[SIM_MAD_METHOD] == SIM_METHOD_TRAP)
        return true;
    return mad[SIM_MAD_CLASS] == SIM_CLASS_SMP_DIRECTED &&
           get16(mad + SIM_MAD_STATUS) & DIRECTION_BIT;
}

static uint16_t handle(struct sim *s, uint32_t node, unsigned port, struct sim_packet *p, bool set,
                       unsigned *changed)
{
    uint8_t *data = p->mad + SIM_SMP_DATA;
    uint32_t modifier = get32(p->mad + SIM_MAD_MODIFIER);
    switch (get16(p->mad + SIM_MAD_ATTRIBUTE)) {
    case SIM_ATTR_NOTICE:
        return sim_sma_notice(s, node, port, set, modifier, data);
    case SIM_ATTR_NODE_DESCRIPTION:
        return sim_sma_node_description(s, node, set, data);
    case SIM_ATTR_NODE_INFO:
        return sim_sma_node_info(s, node, port, set, modifier, data);
    case SIM_ATTR_SWITCH_INFO:
        return sim_sma_switch_info(s, node, set, data, changed);
    case SIM_ATTR_GUID_INFO:
        return sim_sma_guid_info(s, node, port, set, modifier, data, changed);
    case SIM_ATTR_PORT_INFO:
        return sim_sma_port_info(s, node, port, set, modifier, data,
                                 sim_mkey_matches(sim_end_port(s, node, port), p));
    case SIM_ATTR_PKEY_TABLE:
        return sim_sma_pkey_table(s, node, port, set, modifier, data, changed);
    case SIM_ATTR_SL2VL:
        return sim_sma_sl2vl(s, node, port, set, modifier, data, changed);
    case SIM_ATTR_VLARB:
        return sim_sma_vlarb(s, node, port, set, modifier, data, changed);
    case SIM_ATTR_LFT:
        return sim_sma_lft(s, node, set, modifier, data, changed);
    case SIM_ATTR_MFT:
        return sim_sma_mft(s, node, set, modifier, data, changed);
    case SIM_ATTR_EXTENDED_PORT_INFO:
        return sim_sma_extended_port_info(s, node, port, set, modifier, data, changed);
    default:
        return SIM_STATUS_BAD_ATTRIBUTE;
    }
}

static void judge(struct sim *s, const struct sim_judged *d)
{
    uint8_t method = d->packet->mad[SIM_MAD_METHOD];
    if (method == SIM_METHOD_SET || method == SIM_METHOD_TRAP_REPRESS)
        sim_judge_set(s, d);
}

/* No answer. The sender of a request waits for one in vain; nobody waits after a TrapRepress. */
static enum sim_verdict silence(struct sim *s, uint32_t node, unsigned port, enum sim_kind kind,
                                const struct sim_packet *p, enum sim_drop why)
{
    if (p->mad[SIM_MAD_METHOD] == SIM_METHOD_TRAP_REPRESS)
        s->drops[why]++;
    else
        sim_drop(s, kind, p, why, node, port);
    return SIM_SILENCE;
}

static enum sim_verdict get(struct sim *s, uint32_t node, unsigned port, struct sim_packet *p)
{
    unsigned changed = 0;
    uint16_t status = handle(s, node, port, p, false, &changed);
    sim_mad_answer(p->mad, status);
    return SIM_REPLY;
}

/* The judge sees the SMP as it arrived. Without a log it only counts, by the header, which the
 * attributes leave alone: then no copy is needed. */
static enum sim_verdict set(struct sim *s, uint32_t node, unsigned port, struct sim_packet *p)
{
    struct sim_packet arrived;
    struct sim_judged d = {.node = node, .port = port, .packet = p};
    if (sim_judge_wanted(s)) {
        arrived = *p;
        d.packet = &arrived;
    }
    d.status = handle(s, node, port, p, true, &d.changed);
    d.accepted = d.status == SIM_STATUS_OK;
    d.reason = d.accepted ? "ok" : "status";
    judge(s, &d);
    sim_mad_answer(p->mad, d.status);
    return SIM_REPLY;
}

static enum sim_verdict refuse(struct sim *s, uint32_t node, unsigned port, struct sim_packet *p,
                               uint16_t status)
{
    judge(s, &(struct sim_judged){
                 .node = node, .port = port, .packet = p, .reason = "status", .status = status});
    if (p->mad[SIM_MAD_METHOD] == SIM_METHOD_TRAP_REPRESS)
        return SIM_SILENCE;
    sim_mad_answer(p->mad, status);
    return SIM_REPLY;
}

static enum sim_verdict repress(struct sim *s, uint32_t node, unsigned port,
                                const struct sim_packet *p)
{
    judge(s, &(struct sim_judged){
                 .node = node, .port = port, .packet = p, .reason = "ok", .accepted = true});
    sim_trap_repressed(s, node, port, p);
    return SIM_SILENCE;
}

static enum sim_verdict subnet_agent(struct sim *s, uint32_t node, unsigned port,
                                     enum sim_kind kind, struct sim_packet *p)
{
    const uint8_t *mad = p->mad;
    uint8_t method = mad[SIM_MAD_METHOD];
    s->smps++;
    if (sim_port(s, node, port)->mute || sim_end_port(s, node, port)->mute) {
        judge(s, &(struct sim_judged){.node = node, .port = port, .packet = p, .reason = "mute"});
        return silence(s, node, port, kind, p, SIM_DROP_MUTE);
    }
    if (mad[0] != VERSION || mad[SIM_MAD_CLASS_VERSION] != VERSION)
        return refuse(s, node, port, p, SIM_STATUS_BAD_VERSION);
    if (method != SIM_METHOD_GET && method != SIM_METHOD_SET && method != SIM_METHOD_TRAP_REPRESS)
        return refuse(s, node, port, p, SIM_STATUS_BAD_METHOD);
    if (!sim_mkey_allows(s, node, port, p)) {
        judge(s, &(struct sim_judged){.node = node, .port = port, .packet = p, .reason = "mkey"});
        return silence(s, node, port, kind, p, SIM_DROP_MKEY);
    }
    if (method == SIM_METHOD_TRAP_REPRESS)
        return repress(s, node, port, p);
    if (get16(mad + SIM_MAD_ATTRIBUTE) == SIM_ATTR_SM_INFO)
        return SIM_FORWARD;
    return method == SIM_METHOD_SET ? set(s, node, port, p) : get(s, node, port, p);
}

enum sim_verdict sim_agent(struct sim *s, uint32_t node, unsigned port, enum sim_kind kind,
                           struct sim_packet *p)
{
    const struct sim_node *n = &s->nodes[node];
    if (port > n->nports || (port == 0 && !n->sw)) {
        sim_drop(s, kind, p, SIM_DROP_MALFORMED, node, port);
        return SIM_SILENCE;
    }
    if (is_for_process(p->mad))
        return SIM_FORWARD;
    if (p->dqp == 0 && is_smp(p->mad))
        return subnet_agent(s, node, port, kind, p);
    if (p->dqp != 1 || p->mad[SIM_MAD_CLASS] != SIM_CLASS_PERF)
        return SIM_FORWARD;
    s->gmps++;
    if (sim_port(s, node, port)->mute || sim_end_port(s, node, port)->mute)
        return silence(s, node, port, kind, p, SIM_DROP_MUTE);
    return sim_pma(s, node, port, p);
}
