/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that wait for one client's socket: a bounded ring that grows and shrinks with need. */
#ifndef SIM_SERVER_OUTBOX_H
#define SIM_SERVER_OUTBOX_H

#include "sim/umad/wire.h"

struct outbox {
    struct wire_packet *ring;
    uint32_t capacity; /* a power of two, or 0 */
    uint32_t head, used;
    uint32_t limit; /* most packets that may wait */
};

/* Room for one more packet at the end, to be filled; NULL where it is full. */
struct wire_packet *outbox_add(struct outbox *o);
/* The i-th that waits, 0 = the oldest. */
static inline struct wire_packet *outbox_at(const struct outbox *o, uint32_t i)
{
    return &o->ring[(o->head + i) & (o->capacity - 1)];
}
void outbox_take(struct outbox *o, uint32_t count); /* the oldest ones are gone */
void outbox_clear(struct outbox *o);

#endif
