/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of a MAD that a transport looks at, read and written bytewise.
 *
 * A MAD is 256 bytes; all fields are big-endian (IBA 13.4.2). The functions take a pointer to at
 * least MAD_BYTES bytes, or to the 24 bytes of the common header where the name says so.
 */
#ifndef SIM_UMAD_MAD_H
#define SIM_UMAD_MAD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MAD_BYTES = 256,
    MAD_HEADER_BYTES = 24,
    MAD_RMPP_HEADER_BYTES = 36,
};

enum mad_class {
    MAD_CLASS_SM_LID = 0x01,
    MAD_CLASS_SA = 0x03,
    MAD_CLASS_PERF = 0x04,
    MAD_CLASS_BM = 0x05,
    MAD_CLASS_DEVICE_MGMT = 0x06,
    MAD_CLASS_DEVICE_ADM = 0x10,
    MAD_CLASS_BIS = 0x12,
    MAD_CLASS_VENDOR2_FIRST = 0x30,
    MAD_CLASS_VENDOR2_LAST = 0x4f,
    MAD_CLASS_SM_DIRECT = 0x81,
};

enum {
    MAD_METHOD_GET = 0x01,
    MAD_METHOD_SET = 0x02,
    MAD_METHOD_TRAP_REPRESS = 0x07,
    MAD_METHOD_RESPONSE = 0x80,
    MAD_ATTR_NODE_INFO = 0x11,
    MAD_ATTR_PORT_INFO = 0x15,
};

/* Offsets inside SMPs (IBA 14.2.1). */
enum {
    SMP_HOP_POINTER = 6,
    SMP_HOP_COUNT = 7,
    SMP_DR_SLID = 32,
    SMP_DR_DLID = 34,
    SMP_DATA = 64,
    SMP_INITIAL_PATH = 128,
    SMP_MAX_HOPS = 63,
    SMP_DIRECTION_BIT = 0x80, /* of the first status byte */
};

static inline uint16_t mad_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t mad_get32(const uint8_t *p)
{
    return (uint32_t)mad_get16(p) << 16 | mad_get16(p + 2);
}

static inline uint64_t mad_get64(const uint8_t *p)
{
    return (uint64_t)mad_get32(p) << 32 | mad_get32(p + 4);
}

static inline void mad_put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void mad_put32(uint8_t *p, uint32_t v)
{
    mad_put16(p, (uint16_t)(v >> 16));
    mad_put16(p + 2, (uint16_t)v);
}

static inline void mad_put64(uint8_t *p, uint64_t v)
{
    mad_put32(p, (uint32_t)(v >> 32));
    mad_put32(p + 4, (uint32_t)v);
}

static inline uint8_t mad_class(const uint8_t *mad)
{
    return mad[1];
}

static inline uint8_t mad_class_version(const uint8_t *mad)
{
    return mad[2];
}

static inline uint8_t mad_method(const uint8_t *mad)
{
    return mad[3];
}

static inline uint16_t mad_status(const uint8_t *mad)
{
    return mad_get16(mad + 4);
}

static inline uint64_t mad_tid(const uint8_t *mad)
{
    return mad_get64(mad + 8);
}

static inline void mad_set_tid(uint8_t *mad, uint64_t tid)
{
    mad_put64(mad + 8, tid);
}

static inline uint16_t mad_attribute(const uint8_t *mad)
{
    return mad_get16(mad + 16);
}

static inline uint32_t mad_modifier(const uint8_t *mad)
{
    return mad_get32(mad + 20);
}

static inline bool mad_is_smp(const uint8_t *mad)
{
    return mad_class(mad) == MAD_CLASS_SM_LID || mad_class(mad) == MAD_CLASS_SM_DIRECT;
}

/* Does the MAD answer another one, so that its transaction id names the asker? A TrapRepress does
 * (IBA 13.4.5), and a Baseboard Management Send with bit 0 of the modifier. */
static inline bool mad_is_response(const uint8_t *mad)
{
    return (mad_method(mad) & MAD_METHOD_RESPONSE) || mad_method(mad) == MAD_METHOD_TRAP_REPRESS ||
           (mad_class(mad) == MAD_CLASS_BM && (mad_modifier(mad) & 1));
}

#endif
