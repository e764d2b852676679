/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs as bytes: building and reading of SMPs. */
#include "shard/mad/smp.h"

#include <string.h>

#include <infiniband/mad.h>

#define MAD_BASE_VERSION 1
#define SMP_CLASS_VERSION 1
#define PERMISSIVE_LID 0xffff
#define STATUS_MASK 0x7fff /* the top bit is the direction of directed routes */

bool dr_path_extend(struct dr_path *p, unsigned port)
{
    if (p->hops >= DR_MAX_HOPS || port == 0 || port > 254)
        return false;
    p->port[++p->hops] = (uint8_t)port;
    return true;
}

void smp_build(uint8_t mad[MAD_BYTES], unsigned method, unsigned attribute, uint32_t modifier,
               const struct dr_path *path, uint64_t mkey, uint64_t tid)
{
    memset(mad, 0, MAD_BYTES);
    mad_set_field(mad, 0, IB_MAD_BASEVER_F, MAD_BASE_VERSION);
    mad_set_field(mad, 0, IB_MAD_MGMTCLASS_F, path != NULL ? SMP_CLASS_DR : SMP_CLASS_LID);
    mad_set_field(mad, 0, IB_MAD_CLASSVER_F, SMP_CLASS_VERSION);
    mad_set_field(mad, 0, IB_MAD_METHOD_F, method & 0x7f);
    mad_set_field(mad, 0, IB_MAD_RESPONSE_F, (method & 0x80) != 0);
    mad_set_field64(mad, 0, IB_MAD_TRID_F, tid);
    mad_set_field(mad, 0, IB_MAD_ATTRID_F, attribute);
    mad_set_field(mad, 0, IB_MAD_ATTRMOD_F, modifier);
    mad_set_field64(mad, 0, IB_MAD_MKEY_F, mkey);
    if (path != NULL) {
        uint8_t hops = path->hops <= DR_MAX_HOPS ? path->hops : DR_MAX_HOPS;
        mad_set_field(mad, 0, IB_DRSMP_HOPCNT_F, hops);
        mad_set_field(mad, 0, IB_DRSMP_DRDLID_F, PERMISSIVE_LID);
        mad_set_field(mad, 0, IB_DRSMP_DRSLID_F, PERMISSIVE_LID);
        uint8_t ports[DR_MAX_HOPS + 1] = {0};
        memcpy(ports + 1, path->port + 1, hops);
        mad_set_array(mad, 0, IB_DRSMP_PATH_F, ports);
    }
}

/* libibmad's getters take void * but only read. */
static uint32_t field(const uint8_t *mad, enum MAD_FIELDS f)
{
    return mad_get_field((void *)mad, 0, f);
}

unsigned mad_class(const uint8_t *mad)
{
    return field(mad, IB_MAD_MGMTCLASS_F);
}

unsigned mad_method(const uint8_t *mad)
{
    return field(mad, IB_MAD_METHOD_F) | (field(mad, IB_MAD_RESPONSE_F) ? 0x80u : 0u);
}

unsigned mad_status(const uint8_t *mad)
{
    unsigned status = field(mad, IB_MAD_STATUS_F);
    return mad_class(mad) == SMP_CLASS_DR ? status & STATUS_MASK : status;
}

unsigned mad_attribute(const uint8_t *mad)
{
    return field(mad, IB_MAD_ATTRID_F);
}

uint32_t mad_modifier(const uint8_t *mad)
{
    return field(mad, IB_MAD_ATTRMOD_F);
}

uint64_t mad_tid(const uint8_t *mad)
{
    return mad_get_field64((void *)mad, 0, IB_MAD_TRID_F);
}

uint64_t smp_mkey(const uint8_t *mad)
{
    return mad_get_field64((void *)mad, 0, IB_MAD_MKEY_F);
}

uint8_t *smp_data(uint8_t *mad)
{
    return mad + IB_SMP_DATA_OFFS;
}

const uint8_t *smp_data_const(const uint8_t *mad)
{
    return mad + IB_SMP_DATA_OFFS;
}

const char *smp_attribute_name(unsigned attribute)
{
    switch (attribute) {
    case SMP_NOTICE:
        return "Notice";
    case SMP_NODE_DESCRIPTION:
        return "NodeDescription";
    case SMP_NODE_INFO:
        return "NodeInfo";
    case SMP_SWITCH_INFO:
        return "SwitchInfo";
    case SMP_GUID_INFO:
        return "GUIDInfo";
    case SMP_PORT_INFO:
        return "PortInfo";
    case SMP_PKEY_TABLE:
        return "P_KeyTable";
    case SMP_SL2VL:
        return "SLtoVLMappingTable";
    case SMP_VLARB:
        return "VLArbitrationTable";
    case SMP_LFT:
        return "LinearForwardingTable";
    case SMP_MFT:
        return "MulticastForwardingTable";
    case SMP_SM_INFO:
        return "SMInfo";
    default:
        return "unknown";
    }
}
