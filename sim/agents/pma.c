/* SPDX-License-Identifier: BSD-2-Clause */
/* The performance management agent (IBA 16.1): ClassPortInfo, PortSamplesControl, PortSamplesResult
 * (pma_samples.c), PortCounters, PortCountersExtended.
 *
 * A port has one register for each counter, which both attributes show, each at the width of its
 * fields; a reset by one is seen in the other. Other attributes are answered as not supported. */
#include "sim/agents/pma.h"

#include <string.h>

#include "sim/agents/agent.h"
#include "sim/agents/pma_samples.h"

#define METHOD_GET 0x01u
#define METHOD_SET 0x02u
#define METHOD_RESPONSE 0x80u
#define METHOD_TRAP_REPRESS 0x07u
#define DATA_AT 64u
#define ALL_PORTS 255u
#define ATTR_CLASS_PORT_INFO 0x0001u
#define ATTR_PORT_SAMPLES_CONTROL 0x0010u
#define ATTR_PORT_SAMPLES_RESULT 0x0011u
#define ATTR_PORT_COUNTERS 0x0012u
#define ATTR_PORT_COUNTERS_EXTENDED 0x001du
#define STATUS_METHOD 0x0008u
#define STATUS_ATTRIBUTE 0x000cu
#define STATUS_INVALID 0x001cu
#define CAP_ALL_PORT_SELECT 0x0100u
#define CAP_EXTENDED_WIDTH 0x0200u
#define CAP_XMIT_WAIT 0x1000u
#define CAP_QP1_DROPPED 0x8000u
#define CAP2_ADDITIONAL_EXTENDED (1u << 1)
#define RESPONSE_TIME 0x12u

/* A counter in PortCounters: where, how wide, and its bit of CounterSelect or, from 16 on,
 * CounterSelect2. */
struct field {
    uint8_t byte, bits, select;
};

static const struct field plain_fields[SIM_CNT_COUNT] = {
    [SIM_CNT_SYMBOL_ERRORS] = {4, 16, 0},
    [SIM_CNT_LINK_RECOVERS] = {6, 8, 1},
    [SIM_CNT_LINK_DOWNED] = {7, 8, 2},
    [SIM_CNT_RCV_ERRORS] = {8, 16, 3},
    [SIM_CNT_RCV_REMOTE_PHYSICAL_ERRORS] = {10, 16, 4},
    [SIM_CNT_RCV_SWITCH_RELAY_ERRORS] = {12, 16, 5},
    [SIM_CNT_XMIT_DISCARDS] = {14, 16, 6},
    [SIM_CNT_XMIT_CONSTRAINT_ERRORS] = {16, 8, 7},
    [SIM_CNT_RCV_CONSTRAINT_ERRORS] = {17, 8, 8},
    [SIM_CNT_LOCAL_LINK_INTEGRITY_ERRORS] = {19, 4, 9}, /* the upper half of byte 19 */
    [SIM_CNT_EXCESSIVE_BUFFER_OVERRUNS] = {19, 4, 10},  /* the lower one */
    [SIM_CNT_QP1_DROPS] = {20, 16, 17},
    [SIM_CNT_VL15_DROPPED] = {22, 16, 11},
    [SIM_CNT_XMIT_WAIT] = {40, 32, 16},
    [SIM_CNT_XMIT_DATA] = {24, 32, 12},
    [SIM_CNT_RCV_DATA] = {28, 32, 13},
    [SIM_CNT_XMIT_PKTS] = {32, 32, 14},
    [SIM_CNT_RCV_PKTS] = {36, 32, 15},
};

/* In PortCountersExtended all are 64 bits wide, in this order from byte 8 on; the first eight have
 * the bits of CounterSelect, the others those of CounterSelect2. */
static const uint8_t extended_order[] = {
    SIM_CNT_XMIT_DATA,
    SIM_CNT_RCV_DATA,
    SIM_CNT_XMIT_PKTS,
    SIM_CNT_RCV_PKTS,
    SIM_CNT_UNICAST_XMIT_PKTS,
    SIM_CNT_UNICAST_RCV_PKTS,
    SIM_CNT_MULTICAST_XMIT_PKTS,
    SIM_CNT_MULTICAST_RCV_PKTS,
    SIM_CNT_SYMBOL_ERRORS,
    SIM_CNT_LINK_RECOVERS,
    SIM_CNT_LINK_DOWNED,
    SIM_CNT_RCV_ERRORS,
    SIM_CNT_RCV_REMOTE_PHYSICAL_ERRORS,
    SIM_CNT_RCV_SWITCH_RELAY_ERRORS,
    SIM_CNT_XMIT_DISCARDS,
    SIM_CNT_XMIT_CONSTRAINT_ERRORS,
    SIM_CNT_RCV_CONSTRAINT_ERRORS,
    SIM_CNT_LOCAL_LINK_INTEGRITY_ERRORS,
    SIM_CNT_EXCESSIVE_BUFFER_OVERRUNS,
    SIM_CNT_VL15_DROPPED,
    SIM_CNT_XMIT_WAIT,
    SIM_CNT_QP1_DROPS,
};
#define EXTENDED_FIRST 8u /* counters of CounterSelect */

static const char *const names[SIM_CNT_COUNT] = {
    [SIM_CNT_SYMBOL_ERRORS] = "SymbolErrorCounter",
    [SIM_CNT_LINK_RECOVERS] = "LinkErrorRecoveryCounter",
    [SIM_CNT_LINK_DOWNED] = "LinkDownedCounter",
    [SIM_CNT_RCV_ERRORS] = "PortRcvErrors",
    [SIM_CNT_RCV_REMOTE_PHYSICAL_ERRORS] = "PortRcvRemotePhysicalErrors",
    [SIM_CNT_RCV_SWITCH_RELAY_ERRORS] = "PortRcvSwitchRelayErrors",
    [SIM_CNT_XMIT_DISCARDS] = "PortXmitDiscards",
    [SIM_CNT_XMIT_CONSTRAINT_ERRORS] = "PortXmitConstraintErrors",
    [SIM_CNT_RCV_CONSTRAINT_ERRORS] = "PortRcvConstraintErrors",
    [SIM_CNT_LOCAL_LINK_INTEGRITY_ERRORS] = "LocalLinkIntegrityErrors",
    [SIM_CNT_EXCESSIVE_BUFFER_OVERRUNS] = "ExcessiveBufferOverrunErrors",
    [SIM_CNT_QP1_DROPS] = "QP1Dropped",
    [SIM_CNT_VL15_DROPPED] = "VL15Dropped",
    [SIM_CNT_XMIT_WAIT] = "PortXmitWait",
    [SIM_CNT_XMIT_DATA] = "PortXmitData",
    [SIM_CNT_RCV_DATA] = "PortRcvData",
    [SIM_CNT_XMIT_PKTS] = "PortXmitPkts",
    [SIM_CNT_RCV_PKTS] = "PortRcvPkts",
    [SIM_CNT_UNICAST_XMIT_PKTS] = "PortUnicastXmitPkts",
    [SIM_CNT_UNICAST_RCV_PKTS] = "PortUnicastRcvPkts",
    [SIM_CNT_MULTICAST_XMIT_PKTS] = "PortMulticastXmitPkts",
    [SIM_CNT_MULTICAST_RCV_PKTS] = "PortMulticastRcvPkts",
};

const char *sim_counter_name(enum sim_counter c)
{
    return (unsigned)c < SIM_CNT_COUNT ? names[c] : "?";
}

bool sim_counter_by_name(const char *name, enum sim_counter *c)
{
    for (unsigned i = 0; i < SIM_CNT_COUNT; i++) {
        if (g_ascii_strcasecmp(name, names[i]) == 0) {
            *c = (enum sim_counter)i;
            return true;
        }
    }
    return false;
}

/* The ports that a PortSelect names: from..to. CAs and routers answer for the port asked. */
static bool select_ports(const struct sim *s, uint32_t node, unsigned port, unsigned select,
                         unsigned *from, unsigned *to)
{
    const struct sim_node *n = &s->nodes[node];
    *from = *to = select;
    if (!n->sw)
        return select == port;
    if (select == ALL_PORTS) {
        *from = 0;
        *to = n->nports;
    }
    return *to <= n->nports;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void sum(struct sim *s, uint32_t node, unsigned from, unsigned to,
                uint64_t totals[SIM_CNT_COUNT])
{
    for (unsigned i = from; i <= to; i++) {
        const uint64_t *counters = sim_port(s, node, i)->counters;
        for (unsigned c = 0; counters && c < SIM_CNT_COUNT; c++)
            totals[c] = add_saturating(totals[c], counters[c]);
    }
}

static void reset(struct sim *s, uint32_t node, unsigned from, unsigned to,
                  const bool selected[SIM_CNT_COUNT])
{
    for (unsigned i = from; i <= to; i++) {
        uint64_t *counters = sim_port(s, node, i)->counters;
        for (unsigned c = 0; counters && c < SIM_CNT_COUNT; c++)
            if (selected[c])
                counters[c] = 0;
    }
}

static void put_plain(uint8_t *data, const struct field *f, uint64_t value, bool upper)
{
    uint64_t max = (1ull << f->bits) - 1;
    uint32_t v = (uint32_t)MIN(value, max);
    switch (f->bits) {
    case 4:
        data[f->byte] |= (uint8_t)(upper ? v << 4 : v);
        break;
    case 8:
        data[f->byte] = (uint8_t)v;
        break;
    case 16:
        put16(data + f->byte, (uint16_t)v);
        break;
    default:
        put32(data + f->byte, v);
        break;
    }
}

/* IBA 16.1.3.5 */
static uint16_t port_counters(struct sim *s, uint32_t node, unsigned port, bool set, uint8_t *data)
{
    unsigned from, to;
    uint64_t totals[SIM_CNT_COUNT] = {0};
    bool selected[SIM_CNT_COUNT] = {0};
    uint32_t mask = get16(data + 2) | (uint32_t)data[18] << 16;
    if (!select_ports(s, node, port, data[1], &from, &to))
        return STATUS_INVALID;
    for (unsigned c = 0; c < SIM_CNT_COUNT; c++)
        selected[c] = plain_fields[c].bits && mask & 1u << plain_fields[c].select;
    if (set)
        reset(s, node, from, to, selected);
    sum(s, node, from, to, totals);
    data[19] = 0;
    for (unsigned c = 0; c < SIM_CNT_COUNT; c++)
        if (plain_fields[c].bits)
            put_plain(data, &plain_fields[c], totals[c], c == SIM_CNT_LOCAL_LINK_INTEGRITY_ERRORS);
    return 0;
}

/* IBA 16.1.4.11 */
static uint16_t port_counters_extended(struct sim *s, uint32_t node, unsigned port, bool set,
                                       uint8_t *data)
{
    unsigned from, to;
    uint64_t totals[SIM_CNT_COUNT] = {0};
    bool selected[SIM_CNT_COUNT] = {0};
    if (!select_ports(s, node, port, data[1], &from, &to))
        return STATUS_INVALID;
    for (unsigned i = 0; i < G_N_ELEMENTS(extended_order); i++)
        selected[extended_order[i]] = i < EXTENDED_FIRST
                                          ? get16(data + 2) & 1u << i
                                          : get32(data + 4) & 1u << (i - EXTENDED_FIRST);
    if (set)
        reset(s, node, from, to, selected);
    sum(s, node, from, to, totals);
    for (unsigned i = 0; i < G_N_ELEMENTS(extended_order); i++)
        put64(data + 8 + 8 * (size_t)i, totals[extended_order[i]]);
    return 0;
}

static uint16_t class_port_info(const struct sim_node *n, bool set, uint8_t *data)
{
    if (set)
        return STATUS_ATTRIBUTE;
    memset(data, 0, SIM_MAD_BYTES - DATA_AT);
    data[0] = 1; /* BaseVersion */
    data[1] = 1; /* ClassVersion */
    put16(data + 2,
          CAP_EXTENDED_WIDTH | CAP_XMIT_WAIT | CAP_QP1_DROPPED | (n->sw ? CAP_ALL_PORT_SELECT : 0));
    put32(data + 4, CAP2_ADDITIONAL_EXTENDED << 5 | RESPONSE_TIME);
    return 0;
}

enum sim_verdict sim_pma(struct sim *s, uint32_t node, unsigned port, struct sim_packet *p)
{
    uint8_t method = p->mad[3], *data = p->mad + DATA_AT;
    bool set = method == METHOD_SET;
    uint16_t status = STATUS_ATTRIBUTE;
    if (method & METHOD_RESPONSE || method == METHOD_TRAP_REPRESS)
        return SIM_FORWARD;
    if (method != METHOD_GET && !set) {
        sim_mad_answer(p->mad, STATUS_METHOD);
        return SIM_REPLY;
    }
    switch (get16(p->mad + 16)) {
    case ATTR_CLASS_PORT_INFO:
        status = class_port_info(&s->nodes[node], set, data);
        break;
    case ATTR_PORT_SAMPLES_CONTROL:
        status = sim_samples_control(s, node, port, set, data);
        break;
    case ATTR_PORT_SAMPLES_RESULT:
        status = sim_samples_result(s, node, port, set, data);
        break;
    case ATTR_PORT_COUNTERS:
        status = port_counters(s, node, port, set, data);
        break;
    case ATTR_PORT_COUNTERS_EXTENDED:
        status = port_counters_extended(s, node, port, set, data);
        break;
    }
    sim_mad_answer(p->mad, status);
    return SIM_REPLY;
}
