/* SPDX-License-Identifier: BSD-2-Clause */
/* What a modelled host is called and where it belongs: its GIDs, groups, Service IDs, and what it
 * learns from its port. */
#include "sim/hosts/host_private.h"

#include <string.h>

enum {
    PKEY_FULL = 0x8000,
    DEFAULT_PKEY = 0x7fff,
    GROUP_BROADCAST = 0,
    GROUP_ALL_HOSTS,
    GROUP_ALL_ROUTERS,
    GROUP_SOLICITED_NODE,
    GROUP_FIRST_SYNTHETIC,
    TEAM_NODES = 64,
};

enum host_kind host_record_kind(const struct sim_host *h, unsigned index, unsigned *place)
{
    unsigned groups = 1 + h->spec->groups;
    unsigned services = groups + h->spec->services;
    unsigned informs = services + (h->spec->inform ? HOST_TRAPS : 0);

    if (index < groups) {
        *place = index;
        return HOST_GROUP;
    }
    if (index < services) {
        *place = index - groups;
        return HOST_SERVICE;
    }
    if (index < informs) {
        *place = index - services;
        return HOST_INFORM;
    }
    *place = index - informs;
    return HOST_PATH;
}

/* RFC 4391, 4 (IPv4 and IPv6 signatures 401B and 601B): link-local scope, the P_Key with its
 * membership bit set, then the low bits of the IP group. */
void host_mgid(const struct sim_host *h, uint64_t port_guid, unsigned group, uint8_t mgid[16])
{
    unsigned synthetic;

    memset(mgid, 0, 16);
    put16(mgid, 0xff12);
    put16(mgid + 2, group == GROUP_SOLICITED_NODE ? 0x601b : 0x401b);
    put16(mgid + 4, h->pkey);
    switch (group) {
    case GROUP_BROADCAST:
        put32(mgid + 12, 0xffffffff);
        break;
    case GROUP_ALL_HOSTS: /* 224.0.0.1, without its 4 class bits */
    case GROUP_ALL_ROUTERS:
        put32(mgid + 12, group);
        break;
    case GROUP_SOLICITED_NODE: /* RFC 4291, 2.7.1 */
        put16(mgid + 10, 1);
        put32(mgid + 12, 0xff000000u | (uint32_t)(port_guid & 0xffffff));
        break;
    default: /* 239.x.x.x: 12 bits of the group's number, 12 of the team's */
        synthetic = group - GROUP_FIRST_SYNTHETIC;
        put32(mgid + 12, 0x0f000000u | (synthetic & 0xfff) << 12 | (h->node / TEAM_NODES & 0xfff));
        put32(mgid + 8, synthetic >> 12 << 16 | h->node / TEAM_NODES >> 12);
        break;
    }
}

void host_gid(const struct sim *s, uint32_t node, unsigned port, uint8_t gid[16])
{
    const struct sim_port *p = &s->nodes[node].ports[port];

    memcpy(gid, p->info + 8, 8); /* PortInfo.GidPrefix */
    put64(gid + 8, p->guid);
}

/* IBA annex A3: 02 leads IDs that the local operating system gives out. */
uint64_t host_service_id(const struct sim_host *h, unsigned service)
{
    return 0x02ull << 56 | (uint64_t)service << 40 | (uint64_t)h->node << 8 | h->port;
}

/* The SA is asked in the default partition, as a full member where the table has that (IBA 10.9.2);
 * without either, with entry 0. */
static uint16_t pkey_for_sa(const struct sim *s, uint32_t node, unsigned port)
{
    unsigned capacity = sim_pkey_capacity(s, node, port);
    uint16_t found = 0;

    for (unsigned i = 0; i < capacity; i++) {
        uint16_t pkey = sim_pkey(s, node, port, i);

        if (pkey == (DEFAULT_PKEY | PKEY_FULL))
            return pkey;
        if (pkey == DEFAULT_PKEY)
            found = pkey;
    }
    return found;
}

bool host_learn(struct sim *s, struct sim_host *h)
{
    const struct sim_port *p = sim_port(s, h->node, h->port);
    uint16_t pkey = sim_pkey(s, h->node, h->port, 0) | PKEY_FULL;
    bool changed = pkey != h->pkey;

    h->sm_lid = get16(p->info + 18); /* PortInfo.MasterSMLID */
    h->sm_sl = p->info[36] & 0x0f;   /* PortInfo.MasterSMSL */
    h->sa_pkey = pkey_for_sa(s, h->node, h->port);
    h->pkey = pkey;
    return changed;
}
