/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of sa/ share: the request, the records of the answer, matching. */
#ifndef SHARD_SA_PRIVATE_H
#define SHARD_SA_PRIVATE_H

#include <glib.h>

#include "shard/sa/sa.h"

#define SA_HEADER_BYTES 56u /* MAD, RMPP and SA headers, IBA 15.2.1.1 */
#define SA_MAX_RECORD_BYTES 112u
#define SA_MAX_ANSWER_BYTES (16u << 20)

enum sa_method { /* IBA 15.2.2; requests */
                 SA_GET = 0x01,
                 SA_SET = 0x02,
                 SA_SEND = 0x03,
                 SA_TRAP = 0x05,
                 SA_REPORT = 0x06,
                 SA_TRAP_REPRESS = 0x07,
                 SA_GET_TABLE = 0x12,
                 SA_GET_TRACE_TABLE = 0x13,
                 SA_GET_MULTI = 0x14,
                 SA_DELETE = 0x15,
};

enum sa_status { /* IBA 13.4.7 and 15.2.3 */
                 SA_OK = 0,
                 SA_BUSY = 0x0001,
                 SA_UNSUP_VERSION = 0x0004,
                 SA_UNSUP_METHOD = 0x0008,
                 SA_UNSUP_ATTRIBUTE = 0x000C,
                 SA_NO_RESOURCES = 0x0100,
                 SA_REQ_INVALID = 0x0200,
                 SA_NO_RECORDS = 0x0300,
                 SA_TOO_MANY_RECORDS = 0x0400,
                 SA_REQ_INSUFFICIENT_COMPONENTS = 0x0600,
};

struct sa_query {
    const struct sa_context *context;
    bool get;      /* else GetTable */
    bool trusted;  /* it came with the right SM_Key */
    uint64_t mask; /* components that count */
    uint32_t modifier;
    const uint8_t *wanted; /* the record of the request, 200 bytes */
    GByteArray *records;   /* of the answer, each of record_bytes */
    size_t record_bytes;
    size_t count;
    bool overflow; /* more than SA_MAX_ANSWER_BYTES */
};

/* Whether component `bit` of the mask was given. */
static inline bool sa_has(const struct sa_query *q, unsigned bit)
{
    return (q->mask >> bit & 1) != 0;
}

/* A component of a record: bit of the mask, where it stands, how long it is. */
struct sa_component {
    uint8_t bit;
    uint16_t offset_bits, width_bits;
};
/* Whether record has what the request wants in each of these components that it gave. */
bool sa_matches(const struct sa_query *q, const struct sa_component *components, size_t count,
                const uint8_t *record);
/* Appends a record to the answer. */
void sa_add(struct sa_query *q, const uint8_t *record);

static inline uint16_t sa_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}
static inline void sa_put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
uint64_t sa_get64(const uint8_t *p);
void sa_put64(uint8_t *p, uint64_t v);

/* Each fills q->record_bytes and the records; returns a status (SA_OK with no records is fine). */
enum sa_status sa_class_port_info(struct sa_query *q);
enum sa_status sa_node_records(struct sa_query *q);
enum sa_status sa_portinfo_records(struct sa_query *q);
enum sa_status sa_switchinfo_records(struct sa_query *q);
enum sa_status sa_link_records(struct sa_query *q);
enum sa_status sa_sminfo_records(struct sa_query *q);
enum sa_status sa_path_records(struct sa_query *q);

#endif
