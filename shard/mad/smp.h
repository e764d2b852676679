/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs as bytes: building and reading of SMPs, and where a MAD goes. Pure.
 *
 * Fields are read and set with libibmad's mad_get_field/mad_set_field and friends; lengths are
 * fixed (256 bytes for SMPs), so that every access is in bounds. */
#ifndef SHARD_MAD_SMP_H
#define SHARD_MAD_SMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAD_BYTES 256u
#define SMP_DATA_BYTES 64u
#define DR_MAX_HOPS 63u /* IBA 14.2.2 */

#define SMP_CLASS_LID 0x01u
#define SMP_CLASS_DR 0x81u
#define SA_CLASS 0x03u

enum mad_method {
    MAD_GET = 0x01,
    MAD_SET = 0x02,
    MAD_TRAP = 0x05,
    MAD_TRAP_REPRESS = 0x07,
    MAD_GET_RESP = 0x81,
};

enum smp_attribute { /* IBA 14.2.5 */
    SMP_NOTICE = 0x0002,
    SMP_NODE_DESCRIPTION = 0x0010,
    SMP_NODE_INFO = 0x0011,
    SMP_SWITCH_INFO = 0x0012,
    SMP_GUID_INFO = 0x0014,
    SMP_PORT_INFO = 0x0015,
    SMP_PKEY_TABLE = 0x0016,
    SMP_SL2VL = 0x0017,
    SMP_VLARB = 0x0018,
    SMP_LFT = 0x0019,
    SMP_MFT = 0x001A,
    SMP_SM_INFO = 0x0020,
};

struct dr_path { /* a directed route: hop i leaves by port[i]; hops 0 = the local node */
    uint8_t hops;
    uint8_t port[DR_MAX_HOPS + 1]; /* port[0] unused, as on the wire */
};

/* Appends a hop; false when the path is full. */
bool dr_path_extend(struct dr_path *p, unsigned port);

struct mad_address { /* where a MAD goes to or came from */
    uint16_t lid;    /* 0xffff = directed route, the path is in the MAD */
    uint8_t sl;
    uint8_t path_bits;
    uint32_t qpn;  /* 0 or 1 */
    uint32_t qkey;
    uint16_t pkey_index;
};

/* A 256-byte SMP. path NULL = LID routed. DrSLID/DrDLID are permissive. mkey host order. */
void smp_build(uint8_t mad[MAD_BYTES], unsigned method, unsigned attribute, uint32_t modifier,
               const struct dr_path *path, uint64_t mkey, uint64_t tid);
unsigned mad_class(const uint8_t *mad);
unsigned mad_method(const uint8_t *mad);
unsigned mad_status(const uint8_t *mad); /* without the D bit of directed routes */
unsigned mad_attribute(const uint8_t *mad);
uint32_t mad_modifier(const uint8_t *mad);
uint64_t mad_tid(const uint8_t *mad);
uint64_t smp_mkey(const uint8_t *mad);
uint8_t *smp_data(uint8_t *mad); /* 64 bytes at offset 64 */
const uint8_t *smp_data_const(const uint8_t *mad);
const char *smp_attribute_name(unsigned attribute);

#endif
