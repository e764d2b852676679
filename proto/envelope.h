/* SPDX-License-Identifier: BSD-2-Clause */
/* Envelope: coding and checking of the messages between heddle's processes. Pure.
 *
 * A struct envelope is a decoded message: the header's fields and the body, unpacked to the
 * protobuf-c type that belongs to its MessageType. Whatever arrives is hostile: lengths, enum
 * values, strings (UTF-8, at most PROTO_MAX_NAME for names) and the size of raw attributes are
 * checked in envelope_decode, so that a decoded message can be used as it is. */
#ifndef PROTO_ENVELOPE_H
#define PROTO_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/messages.pb-c.h"
#include "proto/records.pb-c.h"

#define PROTO_MAJOR 1u
#define PROTO_MAX_NAME 63u             /* bytes of a cluster's, shard's or domain's name */
#define PROTO_MAX_MESSAGE (4u << 20)   /* bytes on the wire, DESIGN: MAXMSGSIZE */

struct envelope {
    char cluster[PROTO_MAX_NAME + 1];
    char sender[PROTO_MAX_NAME + 1];
    uint64_t incarnation;
    uint64_t boot_id;
    uint32_t type; /* Heddle__MessageType */
    uint32_t domain;
    uint64_t epoch;
    uint64_t seq;
    ProtobufCMessage *body; /* NULL for types without one */
};

/* The descriptor of a type's body, NULL when it has none or the type is unknown. */
const ProtobufCMessageDescriptor *envelope_body_descriptor(uint32_t type);
bool envelope_type_known(uint32_t type);

/* Packs e (body may be NULL) into *bytes (g_malloc), *len. Returns 0 or EMSGSIZE. */
int envelope_encode(const struct envelope *e, uint8_t **bytes, size_t *len);
/* Returns 0, or EBADMSG (not a message), EPROTO (another major), EINVAL (a field out of bounds),
 * EPROTONOSUPPORT (unknown type; header fields are filled, body NULL), with one line in error. */
int envelope_decode(const uint8_t *bytes, size_t len, struct envelope *e, char *error,
                    size_t error_size);
void envelope_clear(struct envelope *e); /* frees the body */

#endif
