/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs between a modelled host and the SA: requests, what answers say, Reports (IBA 15.2). */
#include "sim/hosts/host_private.h"

#include <string.h>

enum {
    CLASS_SUBN_ADM = 0x03,
    METHOD_GET = 0x01,
    METHOD_SET = 0x02,
    METHOD_REPORT = 0x06,
    METHOD_GET_RESP = 0x81,
    METHOD_REPORT_RESP = 0x86,
    ATTR_NOTICE = 0x0002,
    ATTR_INFORM_INFO = 0x0003,
    ATTR_SERVICE_RECORD = 0x0031,
    ATTR_PATH_RECORD = 0x0035,
    ATTR_MC_MEMBER_RECORD = 0x0038,
    SA_DATA = 56, /* offset of the attribute: MAD, RMPP and SA headers (15.2.1.1) */
};

/* Bits of the component masks: the number of the component in the attribute's table. */
#define MC_JOIN (1u << 0 | 1u << 1 | 1u << 7 | 1u << 16) /* MGID, PortGID, P_Key, JoinState */
/* Q_Key, MTU and its selector, TClass, rate and its selector, SL, FlowLabel, HopLimit */
#define MC_CREATE (1u << 2 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 8 | 1u << 9 | 7u << 12)
#define SERVICE_MASK                                                                               \
    (1u << 0 | 1u << 1 | 1u << 2 | 1u << 4 | 1u << 6) /* ID, GID, P_Key, lease, name */
#define PATH_MASK                                                                                  \
    (1u << 2 | 1u << 3 | 1u << 10 | 1u << 12 | 1u << 13) /* GIDs, TClass, count, P_Key */

enum { SELECT_EXACTLY = 2u << 6, FULL_MEMBER = 1, LEASE_PERMANENT = -1 };

static void encode_header(uint8_t *mad, unsigned method, unsigned attribute, unsigned bytes,
                          uint64_t mask)
{
    mad[0] = 1;
    mad[1] = CLASS_SUBN_ADM;
    mad[2] = 2;
    mad[3] = (uint8_t)method;
    put16(mad + 16, (uint16_t)attribute);
    put16(mad + 44, (uint16_t)((bytes + 7) / 8));
    put64(mad + 48, mask);
}

static void encode_group(const struct sim *s, const struct sim_host *h, unsigned group,
                         uint8_t *mad)
{
    uint8_t *d = mad + SA_DATA;

    encode_header(mad, METHOD_SET, ATTR_MC_MEMBER_RECORD, 52, MC_JOIN | (group ? MC_CREATE : 0));
    host_mgid(h, s->nodes[h->node].ports[h->port].guid, group, d);
    host_gid(s, h->node, h->port, d + 16);
    put16(d + 40, h->pkey);
    d[48] = FULL_MEMBER;
    if (group == 0)
        return;
    put32(d + 32, h->qos.qkey);
    d[38] = SELECT_EXACTLY | h->qos.mtu;
    d[39] = h->qos.tclass;
    d[42] = SELECT_EXACTLY | h->qos.rate;
    put32(d + 44, h->qos.sl_flow_hop);
}

static void encode_service(const struct sim *s, const struct sim_host *h, unsigned service,
                           uint8_t *mad)
{
    uint8_t *d = mad + SA_DATA;
    unsigned lease_s = h->spec->service_lease_s;

    encode_header(mad, METHOD_SET, ATTR_SERVICE_RECORD, 176, SERVICE_MASK);
    put64(d, host_service_id(h, service));
    host_gid(s, h->node, h->port, d + 8);
    put16(d + 24, h->pkey);
    put32(d + 28, lease_s ? lease_s : (uint32_t)LEASE_PERMANENT);
    g_snprintf((char *)d + 48, 64, "sim-service-%u-%u-%u", h->node, h->port, service);
}

static void encode_inform(unsigned place, uint8_t *mad)
{
    uint8_t *d = mad + SA_DATA;

    encode_header(mad, METHOD_SET, ATTR_INFORM_INFO, 36, 0);
    put16(d + 16, 0xffff); /* LIDRangeBegin: all LIDs */
    d[22] = 1;             /* IsGeneric */
    d[23] = 1;             /* Subscribe */
    put16(d + 24, 0xffff); /* Type: all */
    put16(d + 26, (uint16_t)(HOST_FIRST_TRAP + place));
    put32(d + 28, 1u << 8 | 19); /* Reports to QP 1, RespTimeValue 2 s */
    d[33] = 0;                   /* ProducerType 4: a subnet manager */
    put16(d + 34, 4);
}

static void encode_path(const struct sim *s, const struct sim_host *h, const struct host_record *r,
                        uint8_t *mad)
{
    uint8_t *d = mad + SA_DATA;

    encode_header(mad, METHOD_GET, ATTR_PATH_RECORD, 64, PATH_MASK);
    host_gid(s, r->target, r->value, d + 8);
    host_gid(s, h->node, h->port, d + 24);
    d[49] = 1; /* NumbPath */
    put16(d + 50, h->pkey);
}

void host_encode(const struct sim *s, const struct sim_host *h, unsigned index,
                 uint8_t mad[SIM_MAD_BYTES])
{
    const struct host_record *r = &h->records[index];
    unsigned place;

    memset(mad, 0, SIM_MAD_BYTES);
    switch (host_record_kind(h, index, &place)) {
    case HOST_GROUP:
        encode_group(s, h, place, mad);
        break;
    case HOST_SERVICE:
        encode_service(s, h, place, mad);
        break;
    case HOST_INFORM:
        encode_inform(place, mad);
        break;
    case HOST_PATH:
        encode_path(s, h, r, mad);
        break;
    }
    put64(mad + 8, (uint64_t)SIM_HOST_TID_MARK << 48 | (uint64_t)index << 32 | r->serial);
}

bool host_match(const struct sim_host *h, const uint8_t mad[SIM_MAD_BYTES], unsigned *index,
                uint32_t *serial)
{
    uint64_t tid = get64(mad + 8);

    *index = tid >> 32 & 0xffff;
    *serial = (uint32_t)tid;
    return mad[0] == 1 && mad[1] == CLASS_SUBN_ADM && mad[2] == 2 && mad[3] == METHOD_GET_RESP &&
           tid >> 48 == SIM_HOST_TID_MARK && *index < h->record_count;
}

/* -- answers -- */

static bool take_group(struct sim *s, struct sim_host *h, unsigned group, struct host_record *r,
                       const uint8_t *d)
{
    uint8_t mgid[16];
    uint16_t mlid = get16(d + 36);

    host_mgid(h, s->nodes[h->node].ports[h->port].guid, group, mgid);
    if (memcmp(mgid, d, 16) != 0 || mlid < 0xc000 || mlid == 0xffff)
        return false;
    r->value = mlid;
    if (group == 0)
        h->qos = (struct host_qos){.qkey = get32(d + 32),
                                   .sl_flow_hop = get32(d + 44),
                                   .mtu = d[38] & 0x3f,
                                   .tclass = d[39],
                                   .rate = d[42] & 0x3f};
    return true;
}

static bool take_service(const struct sim *s, const struct sim_host *h, unsigned service,
                         const uint8_t *d)
{
    uint8_t gid[16];

    host_gid(s, h->node, h->port, gid);
    return get64(d) == host_service_id(h, service) && memcmp(gid, d + 8, 16) == 0;
}

/* A path whose LIDs are not those of its ends would send data astray. */
static bool take_path(const struct sim *s, const struct sim_host *h, const struct host_record *r,
                      const uint8_t *d)
{
    const struct sim_port *to = &s->nodes[r->target].ports[r->value];
    const struct sim_port *from = &s->nodes[h->node].ports[h->port];
    uint8_t gid[16];
    unsigned lmc_to = to->info[34] & 7, lmc_from = from->info[34] & 7;

    host_gid(s, r->target, r->value, gid);
    return memcmp(gid, d + 8, 16) == 0 && get16(d + 40) != 0 &&
           get16(d + 40) >> lmc_to == sim_lid(to) >> lmc_to &&
           get16(d + 42) >> lmc_from == sim_lid(from) >> lmc_from;
}

bool host_take_answer(struct sim *s, struct sim_host *h, unsigned index,
                      const uint8_t mad[SIM_MAD_BYTES])
{
    struct host_record *r = &h->records[index];
    unsigned attribute = get16(mad + 16), place;
    const uint8_t *d = mad + SA_DATA;

    switch (host_record_kind(h, index, &place)) {
    case HOST_GROUP:
        return attribute == ATTR_MC_MEMBER_RECORD && take_group(s, h, place, r, d);
    case HOST_SERVICE:
        return attribute == ATTR_SERVICE_RECORD && take_service(s, h, place, d);
    case HOST_INFORM:
        return attribute == ATTR_INFORM_INFO && get16(d + 26) == HOST_FIRST_TRAP + place;
    case HOST_PATH:
        return attribute == ATTR_PATH_RECORD && take_path(s, h, r, d);
    }
    return false;
}

/* -- Reports (IBA 13.4.8.3, 15.4.5) -- */

bool host_is_report(const uint8_t mad[SIM_MAD_BYTES])
{
    return mad[0] == 1 && mad[1] == CLASS_SUBN_ADM && mad[2] == 2 && mad[3] == METHOD_REPORT &&
           get16(mad + 16) == ATTR_NOTICE;
}

void host_answer_report(const struct sim_packet *report, struct sim_packet *answer)
{
    *answer = *report;
    answer->dlid = report->slid;
    answer->slid = 0;
    answer->dqp = report->sqp;
    answer->sqp = 1;
    answer->qkey = 0;
    answer->mad[3] = METHOD_REPORT_RESP;
    put16(answer->mad + 4, 0);
}
