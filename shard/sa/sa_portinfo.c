/* SPDX-License-Identifier: BSD-2-Clause */
/* PortInfoRecord, IBA 15.2.5.3. */
#include <string.h>

#include "shard/sa/sa_private.h"

enum {
    PIR_BYTES = 72,
    PIR_PORT = 2,
    PIR_PORTINFO = 4,
    PIR_CAPMASK = PIR_PORTINFO + 20,
    PORTINFO_BYTES = 64,
    MKEY_BYTES = 8,
};
#define COMPONENT_LID 0
#define COMPONENT_MKEY 3
#define COMPONENT_CAPMASK 7
#define MODIFIER_CAPMASK_SUBSET (1u << 31) /* CapabilityMask matches if it has all bits wanted */

/* Offsets count from the record's begin, PortInfo stands at bit 32. CapabilityMask and M_Key are
 * handled apart. */
static const struct sa_component components[] = {
    {0, 0, 16},    {1, 16, 8},    {4, 96, 64},   {5, 160, 16},  {6, 176, 16},  {8, 224, 16},
    {9, 240, 16},  {10, 256, 8},  {11, 264, 8},  {12, 272, 8},  {13, 280, 8},  {14, 288, 4},
    {15, 292, 4},  {16, 296, 4},  {17, 300, 4},  {18, 304, 2},  {20, 309, 3},  {21, 312, 4},
    {22, 316, 4},  {23, 320, 4},  {24, 324, 4},  {25, 328, 4},  {26, 332, 4},  {27, 336, 8},
    {28, 344, 8},  {29, 352, 8},  {30, 360, 4},  {31, 364, 4},  {32, 368, 3},  {33, 371, 5},
    {34, 376, 4},  {35, 380, 1},  {36, 381, 1},  {37, 382, 1},  {38, 383, 1},  {39, 384, 16},
    {40, 400, 16}, {41, 416, 16}, {42, 432, 8},  {43, 440, 1},  {45, 443, 5},  {47, 451, 5},
    {48, 456, 4},  {49, 460, 4},  {50, 464, 16}, {52, 488, 24}, {53, 512, 16}, {54, 528, 4},
    {55, 532, 4},  {57, 539, 5},
};

static bool capmask_matches(const struct sa_query *q, const uint8_t *record)
{
    if (!sa_has(q, COMPONENT_CAPMASK))
        return true;
    bool subset = (q->modifier & MODIFIER_CAPMASK_SUBSET) != 0;
    for (unsigned i = PIR_CAPMASK; i < PIR_CAPMASK + 4; i++) {
        uint8_t has = record[i], wants = q->wanted[i];
        if (subset ? (has & wants) != wants : has != wants)
            return false;
    }
    return true;
}

static void add_port(struct sa_query *q, uint16_t lid, unsigned num,
                     const uint8_t portinfo[PORTINFO_BYTES])
{
    uint8_t r[PIR_BYTES] = {0};
    sa_put16(r, lid);
    r[PIR_PORT] = (uint8_t)num;
    memcpy(r + PIR_PORTINFO, portinfo, PORTINFO_BYTES);
    memset(r + PIR_PORTINFO, 0, MKEY_BYTES); /* never shown, so never matched either */
    if (capmask_matches(q, r) && sa_matches(q, components, G_N_ELEMENTS(components), r))
        sa_add(q, r);
}

static void add_switch(struct sa_query *q, const struct view_switch *s)
{
    uint16_t lid = view_switch_lid(s);
    if (lid == 0 || !s->reachable)
        return;
    for (unsigned p = 0; p <= s->nports; p++)
        if (s->ports[p].have_info)
            add_port(q, lid, p, s->ports[p].portinfo);
}

static void add_end(struct sa_query *q, const struct view_end_port *e)
{
    if (e->lid != 0 && e->present)
        add_port(q, e->lid, e->num, e->portinfo);
}

enum sa_status sa_portinfo_records(struct sa_query *q)
{
    q->record_bytes = PIR_BYTES;
    if (sa_has(q, COMPONENT_MKEY) && sa_get64(q->wanted + PIR_PORTINFO) != 0)
        return SA_OK;
    const struct view *v = q->context->view;
    if (sa_has(q, COMPONENT_LID)) {
        struct view_switch *s = NULL;
        struct view_end_port *e = NULL;
        if (view_by_lid(v, sa_get16(q->wanted), &s, &e)) {
            q->mask &= ~(uint64_t)1; /* any LID of its range names the port */
            if (s != NULL)
                add_switch(q, s);
            else
                add_end(q, e);
        }
        return SA_OK;
    }
    const GPtrArray *switches = view_switches(v);
    for (guint i = 0; i < switches->len; i++)
        add_switch(q, switches->pdata[i]);
    const GPtrArray *ends = view_end_ports(v);
    for (guint i = 0; i < ends->len; i++)
        add_end(q, ends->pdata[i]);
    return SA_OK;
}
