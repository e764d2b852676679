/* SPDX-License-Identifier: BSD-2-Clause */
/* Check: bounds of the fields of any message of ours, by walking its descriptor. Pure.
 *
 * protobuf-c checks the syntax only. Here each field is held to what its name promises: the size
 * of raw attributes, digests and keys, the range of port numbers and LIDs, known enum values,
 * UTF-8 in strings, names of at most PROTO_MAX_NAME bytes without control characters, and equal
 * length of arrays that belong together. A bytes field that no rule names is refused, so that a
 * new one cannot be forgotten. Sub-messages may be absent (NULL). */
#ifndef PROTO_CHECK_H
#define PROTO_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#define PROTO_MAX_TEXT 4096u /* bytes of a string that is no name */

/* At most PROTO_MAX_NAME bytes of UTF-8 without control characters; "" is valid. */
bool check_name(const char *name);
/* Returns 0, or EINVAL with the field that is out of bounds in error. */
int check_message(const ProtobufCMessage *m, char *error, size_t error_size);
/* Unpacks and checks. Memory is bounded in proportion to len, so that a small hostile message
 * cannot claim a lot. Returns 0 with *m for protobuf_c_message_free_unpacked(m, NULL), or EBADMSG
 * or EINVAL with one line in error. */
int check_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t len,
                 ProtobufCMessage **m, char *error, size_t error_size);

#endif
