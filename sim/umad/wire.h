/* SPDX-License-Identifier: BSD-2-Clause */
/* The datagrams between a client and a fabric simulator (the protocol of ibsim).
 *
 * Two kinds: control datagrams (attach, port values, IsSM), which are answered one by one, and
 * data datagrams, which carry one MAD each. Both have a fixed size and the layout of a C struct;
 * simulator and client run on machines of one byte order. Inside a data datagram, LIDs, QP
 * numbers, the status and the length are big-endian. A datagram that is lost in the fabric comes
 * back to its sender with the status ETIMEDOUT.
 */
#ifndef SIM_UMAD_WIRE_H
#define SIM_UMAD_WIRE_H

#include "mad.h"
#include <stddef.h>

enum wire_ctl_type {
    WIRE_ERROR,
    WIRE_CONNECT,
    WIRE_DISCONNECT,
    WIRE_GET_PORT,
    WIRE_GET_VENDOR,
    WIRE_GET_GID,
    WIRE_GET_GUID,
    WIRE_GET_NODE_INFO,
    WIRE_GET_PORT_INFO,
    WIRE_SET_ISSM,
    WIRE_GET_PKEYS,
};

enum {
    WIRE_CTL_DATA_BYTES = 64,
    WIRE_NODE_ID_BYTES = 32,
    WIRE_LID_DIRECTED = 0xffff,
    WIRE_DEFAULT_UDP_PORT = 7070,
};

#define WIRE_MAGIC 0xdeadbeefu

struct wire_ctl {
    uint32_t magic;
    uint32_t client;
    uint32_t type;
    uint32_t length;
    uint8_t data[WIRE_CTL_DATA_BYTES];
};

struct wire_connect {
    uint32_t id;
    uint32_t qp;
    uint32_t issm;
    char node[WIRE_NODE_ID_BYTES];
};

struct wire_vendor {
    uint32_t vendor;
    uint32_t device;
    uint32_t hw_version;
    uint64_t fw_version;
};

struct wire_packet {
    uint32_t dlid;
    uint32_t slid;
    uint32_t dqp;
    uint32_t sqp;
    uint32_t status;
    uint64_t length;
    uint8_t mad[MAD_BYTES];
};

_Static_assert(sizeof(struct wire_ctl) == 80, "control datagram");
_Static_assert(sizeof(struct wire_connect) == 44, "CONNECT");
_Static_assert(sizeof(struct wire_packet) == 288, "data datagram");
_Static_assert(offsetof(struct wire_packet, mad) == 32, "data datagram");

/* Fill a control request; `data` of `length` bytes (at most WIRE_CTL_DATA_BYTES) may be NULL. */
void wire_ctl_request(struct wire_ctl *c, uint32_t client, enum wire_ctl_type type,
                      const void *data, size_t length);

/* Is `c`, of `bytes` bytes, an answer to a request of this type? *refused: with an error. */
bool wire_ctl_is_reply(const struct wire_ctl *c, size_t bytes, enum wire_ctl_type type,
                       bool *refused);

/* Address and empty out a data datagram for a MAD of `length` <= MAD_BYTES bytes. LID and QP of
 * the destination in host order. */
void wire_packet_set(struct wire_packet *p, uint16_t dlid, uint32_t dqp, uint32_t sqp,
                     const uint8_t *mad, size_t length);

/* The packet that goes back to where `in` came from. */
void wire_packet_reply(struct wire_packet *p, const struct wire_packet *in, const uint8_t *mad);

uint16_t wire_packet_slid(const struct wire_packet *p);
uint16_t wire_packet_dlid(const struct wire_packet *p);
uint32_t wire_packet_sqp(const struct wire_packet *p);
/* 0, or the errno with which the simulator gave the packet back. */
uint32_t wire_packet_status(const struct wire_packet *p);

#endif
