/* SPDX-License-Identifier: BSD-2-Clause */
/* The writable fields of PortInfo, group by group (IBA 14.2.5.6). */
#include "sim/agents/port_info.h"

#include <string.h>

#include "sim/agents/link.h"

#define LAST_UNICAST_LID 0xbfffu
#define WIDTH_ALL 255u
#define SPEED_ALL 15u
#define SPEED_EXT_ALL 31u
#define SPEED_EXT2_ALL 7u
#define MTU_4096 5u
#define VLS_0_TO_14 5u
/* SwitchInfo byte 16 */
#define ENFORCES_IN 0x80u
#define ENFORCES_OUT 0x40u
#define FILTERS_IN 0x20u
#define FILTERS_OUT 0x10u

/* The bits of one byte that `mask` names come from `in`. */
static void take(struct port_info_change *c, unsigned byte, uint8_t mask)
{
    c->out[byte] = (uint8_t)((c->out[byte] & ~mask) | (c->in[byte] & mask));
}

static bool differs(const struct port_info_change *c, unsigned byte, uint8_t mask)
{
    return (c->in[byte] ^ c->out[byte]) & mask;
}

/* Counters of violations: a 0 resets them, anything else leaves them (a manager that writes back
 * what it has read must not turn them back). */
static void reset_violations(struct port_info_change *c)
{
    for (unsigned byte = 44; byte < 50; byte += 2)
        if (get16(c->in + byte) == 0)
            put16(c->out + byte, 0);
}

/* LMC: base port 0 has none. With an LMC the whole range must be unicast LIDs. */
static bool take_lid(struct port_info_change *c)
{
    unsigned lid = get16(c->in + 16), sm_lid = get16(c->in + 18);
    unsigned lmc = c->kind == PORT_KIND_BASE ? 0 : c->in[34] & 7;
    if (sm_lid > LAST_UNICAST_LID || lid + (1u << lmc) - 1 > LAST_UNICAST_LID)
        return false;
    memcpy(c->out + 16, c->in + 16, 4);
    take(c, 34, c->kind == PORT_KIND_BASE ? 0xc0 : 0xc7);
    return true;
}

static bool take_management(struct port_info_change *c)
{
    memcpy(c->out, c->in, 16);          /* M_Key, GidPrefix */
    memcpy(c->out + 26, c->in + 26, 2); /* M_KeyLeasePeriod */
    if (!take_lid(c))
        return false;
    take(c, 36, 0x0f); /* MasterSMSL */
    take(c, 51, 0x1f); /* SubnetTimeOut */
    if (c->capabilities & SIM_CAP_MULTICAST_PKEY_TRAP_SUPPRESSION) {
        if ((c->in[51] >> 5 & 3) > 1)
            return false;
        take(c, 51, 0x60);
    }
    if (c->capabilities & SIM_CAP_REINIT)
        take(c, 41, 0xf0); /* InitTypeReply */
    reset_violations(c);
    return true;
}

/* A set of things to enable: 0 = as it is, `all` = all supported, else some of the supported. */
static bool enabled_set(unsigned wanted, unsigned all, unsigned supported, unsigned now,
                        unsigned *result)
{
    *result = now;
    if (wanted == 0 || wanted == now)
        return true;
    *result = wanted == all ? supported : wanted;
    return (*result & ~supported) == 0;
}

static bool take_extended_speeds(struct port_info_change *c)
{
    unsigned supported = c->out[62] & 0x0f, result, wanted = c->in[63] & 0x1f;
    if (!c->extended || !(c->out[62] & 0x0f || c->out[56] & 0x18)) /* the port has none */
        return true;
    if (wanted == SIM_SPEED_EXT_DISABLED)
        result = wanted;
    else if (!enabled_set(wanted, SPEED_EXT_ALL, supported, c->out[63] & 0x1f, &result))
        return false;
    c->out[63] = (uint8_t)((c->out[63] & 0xe0) | result);
    if (!enabled_set(c->in[56] & 7, SPEED_EXT2_ALL, c->out[56] >> 3 & 3, c->out[56] & 7, &result))
        return false;
    c->out[56] = (uint8_t)((c->out[56] & 0xf8) | result);
    return true;
}

/* Widths and speeds: they count at the next training. */
static bool take_enabled(struct port_info_change *c)
{
    unsigned result;
    if (!enabled_set(c->in[29], WIDTH_ALL, c->out[30], c->out[29], &result))
        return false;
    c->out[29] = (uint8_t)result;
    if (!enabled_set(c->in[35] & 0x0f, SPEED_ALL, c->out[32] >> 4, c->out[35] & 0x0f, &result))
        return false;
    c->out[35] = (uint8_t)((c->out[35] & 0xf0) | result);
    return take_extended_speeds(c);
}

static bool take_mtu(struct port_info_change *c)
{
    unsigned mtu = c->in[36] >> 4, cap = c->out[41] & 0x0f;
    if (!differs(c, 36, 0xf0))
        return true;
    if (mtu < 1 || mtu > MTU_4096 || mtu > cap || (c->peer_mtu_cap && mtu > c->peer_mtu_cap))
        return false;
    take(c, 36, 0xf0);
    return true;
}

static bool take_vls(struct port_info_change *c)
{
    unsigned vls = c->in[43] >> 4, cap = c->out[37] >> 4;
    if (vls == 0 || !differs(c, 43, 0xf0)) /* 0: as it is */
        return true;
    if (vls > VLS_0_TO_14 || vls > cap)
        return false;
    take(c, 43, 0xf0);
    return true;
}

/* Of a switch's external ports, where the switch can do it. */
static void take_enforcement(struct port_info_change *c)
{
    static const uint8_t bits[][2] = {
        {ENFORCES_IN, 8}, {ENFORCES_OUT, 4}, {FILTERS_IN, 2}, {FILTERS_OUT, 1}};
    for (unsigned i = 0; i < 4; i++)
        if (c->switch_info[16] & bits[i][0])
            take(c, 43, bits[i][1]);
}

static bool take_link(struct port_info_change *c)
{
    if (!take_enabled(c))
        return false;
    if (c->in[33] & 0x0f) /* LinkDownDefaultState */
        take(c, 33, 0x0f);
    take(c, 42, 0xff); /* VLStallCount, HOQLife */
    if (c->kind == PORT_KIND_EXTERNAL)
        take_enforcement(c);
    return true;
}

bool port_info_apply(struct port_info_change *c)
{
    if (c->kind != PORT_KIND_EXTERNAL && !take_management(c))
        return false;
    if (c->kind == PORT_KIND_BASE)
        return true;
    take(c, 38, 0xff); /* VLHighLimit */
    take(c, 53, 0xff); /* LocalPhyErrors, OverrunErrors */
    if (!take_mtu(c) || !take_vls(c))
        return false;
    return c->kind == PORT_KIND_ENHANCED || take_link(c);
}
