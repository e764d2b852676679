/* SPDX-License-Identifier: BSD-2-Clause */
/* PortSamplesControl and PortSamplesResult (IBA 16.1.3.2, 16.1.3.4): what some counters count
 * within a time. An agent has one sampler with five counters of 32 bits: a switch one for all its
 * ports. */
#include "sim/agents/pma_samples.h"

#include <string.h>

#include "sim/agents/agent.h"
#include "sim/agents/link.h"
#include "sim/core/timers.h"

#define COUNTERS 5u
#define WIDTH_32_BITS 4u
#define TICK 9u /* (TICK + 1) * 10 bit times of a lane */
#define STATUS_ATTRIBUTE 0x000cu
#define STATUS_INVALID 0x001cu
#define PS_PER_NS 1000u
#define DATA_BYTES 192u

enum { /* bytes of PortSamplesControl */
       PORT_SELECT = 1,
       TICK_AT = 2,
       COUNTER_WIDTH = 3,
       COUNTER_MASKS = 4, /* of counters 0 to 9, three bits each from bit 29 on */
       SAMPLE_STATUS = 11,
       SAMPLE_START = 28,
       SAMPLE_INTERVAL = 32,
       TAG = 36,
       COUNTER_SELECT = 38,
};

enum sample_status { DONE, WAITS, RUNS };

struct sim_sampler { /* of the management port */
    enum sample_status status;
    unsigned port;            /* that it looks at */
    uint32_t start, interval; /* in ticks */
    uint16_t tag, select[COUNTERS];
    uint64_t before[COUNTERS];
    uint32_t result[COUNTERS];
    struct sim_timer *timer;
};

/* A hundred bit times, in picoseconds. */
static uint32_t tick_ps(const struct sim_port *p)
{
    static const uint16_t extended[] = {7111, 3879, 1882, 941};
    unsigned ext = p->info[62] >> 4, plain = p->info[35] >> 4;
    if (p->info[56] >> 5 & 3)
        return 471;
    for (unsigned i = G_N_ELEMENTS(extended); i-- > 0;)
        if (ext & 1u << i)
            return extended[i];
    return plain & 4 ? 10000 : plain & 2 ? 20000 : 40000;
}

static bool counter_of(unsigned select, enum sim_counter *c)
{
    static const enum sim_counter selected[] = {SIM_CNT_XMIT_DATA, SIM_CNT_RCV_DATA,
                                                SIM_CNT_XMIT_PKTS, SIM_CNT_RCV_PKTS,
                                                SIM_CNT_XMIT_WAIT};
    if (select == 0 || select > G_N_ELEMENTS(selected))
        return false;
    *c = selected[select - 1];
    return true;
}

static uint64_t value_of(const struct sim_port *p, unsigned select)
{
    enum sim_counter c;
    return p->counters && counter_of(select, &c) ? p->counters[c] : 0;
}

static int64_t ticks_ns(const struct sim_port *p, uint32_t ticks)
{
    return (int64_t)((uint64_t)ticks * tick_ps(p) / PS_PER_NS);
}

/* By the management port, as the argument of a timer. */
static struct sim_sampler *sampler_of(struct sim *s, void *key, const struct sim_port **sampled)
{
    uint32_t node = sim_key_node(key);
    struct sim_sampler *m = sim_port(s, node, sim_key_port(key))->sampler;
    *sampled = sim_port(s, node, m->port);
    return m;
}

static void finish(struct sim *s, void *key)
{
    const struct sim_port *p;
    struct sim_sampler *m = sampler_of(s, key, &p);
    m->timer = NULL;
    m->status = DONE;
    for (unsigned i = 0; i < COUNTERS; i++) {
        uint64_t now = value_of(p, m->select[i]);
        uint64_t counted = now - MIN(now, m->before[i]); /* 0 after a reset in between */
        m->result[i] = (uint32_t)MIN(counted, UINT32_MAX);
    }
}

static void begin(struct sim *s, void *key)
{
    const struct sim_port *p;
    struct sim_sampler *m = sampler_of(s, key, &p);
    m->status = RUNS;
    for (unsigned i = 0; i < COUNTERS; i++)
        m->before[i] = value_of(p, m->select[i]);
    m->timer = sim_timer_at(s, s->now + ticks_ns(p, m->interval), finish, key);
}

static void start_sample(struct sim *s, uint32_t node, struct sim_port *end, unsigned port,
                         const uint8_t *data)
{
    if (!end->sampler)
        end->sampler = g_new0(struct sim_sampler, 1);
    struct sim_sampler *m = end->sampler;
    if (m->status != DONE)
        return;
    m->port = port;
    m->start = get32(data + SAMPLE_START);
    m->interval = get32(data + SAMPLE_INTERVAL);
    m->tag = get16(data + TAG);
    memset(m->result, 0, sizeof m->result);
    for (unsigned i = 0; i < COUNTERS; i++)
        m->select[i] = get16(data + COUNTER_SELECT + 2 * (size_t)i);
    m->status = WAITS;
    m->timer = sim_timer_at(s, s->now + ticks_ns(sim_port(s, node, port), m->start), begin,
                            sim_port_key(node, end->number));
}

static bool legal(const struct sim_node *n, unsigned port, bool set, const uint8_t *data)
{
    enum sim_counter c;
    unsigned wanted = data[PORT_SELECT];
    for (unsigned i = 0; set && i < COUNTERS; i++) {
        unsigned select = get16(data + COUNTER_SELECT + 2 * (size_t)i);
        if (select && !counter_of(select, &c))
            return false;
    }
    return wanted <= n->nports && (n->sw || wanted == port);
}

uint16_t sim_samples_control(struct sim *s, uint32_t node, unsigned port, bool set, uint8_t *data)
{
    static const struct sim_sampler none;
    struct sim_port *end = sim_end_port(s, node, port);
    unsigned wanted = data[PORT_SELECT];
    if (!legal(&s->nodes[node], port, set, data))
        return STATUS_INVALID;
    if (set)
        start_sample(s, node, end, wanted, data);
    const struct sim_sampler *m = end->sampler ? end->sampler : &none;
    memset(data, 0, DATA_BYTES);
    data[PORT_SELECT] = (uint8_t)(end->sampler ? m->port : wanted);
    data[TICK_AT] = TICK;
    data[COUNTER_WIDTH] = WIDTH_32_BITS;
    put32(data + COUNTER_MASKS, 1u << 27 | 1u << 24 | 1u << 21 | 1u << 18 | 1u << 15);
    data[SAMPLE_STATUS] = (uint8_t)m->status;
    put32(data + SAMPLE_START, m->start);
    put32(data + SAMPLE_INTERVAL, m->interval);
    put16(data + TAG, m->tag);
    for (unsigned i = 0; i < COUNTERS; i++)
        put16(data + COUNTER_SELECT + 2 * (size_t)i, m->select[i]);
    return 0;
}

uint16_t sim_samples_result(struct sim *s, uint32_t node, unsigned port, bool set, uint8_t *data)
{
    const struct sim_sampler *m = sim_end_port(s, node, port)->sampler;
    if (set)
        return STATUS_ATTRIBUTE;
    memset(data, 0, DATA_BYTES);
    if (!m)
        return 0;
    put16(data, m->tag);
    data[3] = (uint8_t)m->status;
    for (unsigned i = 0; i < COUNTERS; i++)
        put32(data + 4 + 4 * (size_t)i, m->result[i]);
    return 0;
}

void sim_samples_forget(struct sim *s, uint32_t node)
{
    for (unsigned i = 0; i <= s->nodes[node].nports; i++) {
        struct sim_port *p = sim_port(s, node, i);
        if (p->sampler)
            sim_timer_cancel(s, p->sampler->timer);
        g_clear_pointer(&p->sampler, g_free);
    }
}
