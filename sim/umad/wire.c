/* SPDX-License-Identifier: BSD-2-Clause */
/* Coding of the simulator's datagrams. */
#include "wire.h"
#include <arpa/inet.h>
#include <endian.h>

void wire_ctl_request(struct wire_ctl *c, uint32_t client, enum wire_ctl_type type,
                      const void *data, size_t length)
{
    memset(c, 0, sizeof *c);
    c->magic = WIRE_MAGIC;
    c->client = client;
    c->type = type;
    c->length = (uint32_t)length;
    if (data && length <= sizeof c->data)
        memcpy(c->data, data, length);
}

bool wire_ctl_is_reply(const struct wire_ctl *c, size_t bytes, enum wire_ctl_type type,
                       bool *refused)
{
    *refused = false;
    if (bytes != sizeof *c || c->magic != WIRE_MAGIC)
        return false;
    *refused = c->type == WIRE_ERROR;
    return *refused || c->type == (uint32_t)type;
}

void wire_packet_set(struct wire_packet *p, uint16_t dlid, uint32_t dqp, uint32_t sqp,
                     const uint8_t *mad, size_t length)
{
    memset(p, 0, sizeof *p);
    p->dlid = htons(dlid);
    /* 0 lets the simulator fill in the port's LID, whatever it is by then. */
    p->slid = dlid == WIRE_LID_DIRECTED ? htons(WIRE_LID_DIRECTED) : 0;
    p->dqp = htonl(dqp);
    p->sqp = htonl(sqp);
    p->length = htobe64(MAD_BYTES);
    memcpy(p->mad, mad, length <= MAD_BYTES ? length : MAD_BYTES);
}

void wire_packet_reply(struct wire_packet *p, const struct wire_packet *in, const uint8_t *mad)
{
    wire_packet_set(p, wire_packet_slid(in), wire_packet_sqp(in), ntohl(in->dqp), mad, MAD_BYTES);
}

uint16_t wire_packet_slid(const struct wire_packet *p)
{
    return ntohs((uint16_t)p->slid);
}

uint16_t wire_packet_dlid(const struct wire_packet *p)
{
    return ntohs((uint16_t)p->dlid);
}

uint32_t wire_packet_sqp(const struct wire_packet *p)
{
    return ntohl(p->sqp);
}

uint32_t wire_packet_status(const struct wire_packet *p)
{
    return ntohl(p->status);
}
