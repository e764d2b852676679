/* SPDX-License-Identifier: BSD-2-Clause */
/* The writable fields of PortInfo. Private to agents/port_info*.c: pure functions over bytes. */
#ifndef SIM_AGENTS_PORT_INFO_H
#define SIM_AGENTS_PORT_INFO_H

#include <stdbool.h>
#include <stdint.h>

/* Which fields a port has (the columns of the table in IBA 14.2.5.6). */
enum port_kind {
    PORT_KIND_BASE,     /* base port 0 of a switch: management only */
    PORT_KIND_ENHANCED, /* enhanced port 0: like a CA port without a link */
    PORT_KIND_EXTERNAL, /* other ports of a switch: the link only */
    PORT_KIND_END,      /* of a CA or router */
};

struct port_info_change {
    enum port_kind kind;
    bool extended;              /* the modifier says that LinkSpeedExtEnabled is meant */
    uint32_t capabilities;      /* CapabilityMask of the management port */
    const uint8_t *switch_info; /* NULL at CAs and routers */
    uint8_t peer_mtu_cap;       /* 0 = no peer */
    const uint8_t *in;          /* 64 bytes as received */
    uint8_t out[64];            /* as it was, then as it shall be */
};

/* Takes over what `in` may write, but for PortState and PortPhysicalState. false: a field has a
 * value that is not legal there. A field that is written as it was is always legal, and those that
 * the kind of port does not have are ignored. */
bool port_info_apply(struct port_info_change *c);

#endif
