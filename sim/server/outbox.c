/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of packets of a client. */
#include "sim/server/outbox.h"

#include <glib.h>

enum {
    FIRST = 64, /* packets of room to begin with */
    KEPT = 256, /* at most so many are kept while nothing waits */
};

static void grow(struct outbox *o)
{
    uint32_t capacity = o->capacity ? o->capacity * 2 : FIRST;
    struct wire_packet *ring = g_new(struct wire_packet, capacity);

    for (uint32_t i = 0; i < o->used; i++)
        ring[i] = *outbox_at(o, i);
    g_free(o->ring);
    o->ring = ring;
    o->capacity = capacity;
    o->head = 0;
}

struct wire_packet *outbox_add(struct outbox *o)
{
    if (o->used >= o->limit)
        return NULL;
    if (o->used == o->capacity)
        grow(o);
    return outbox_at(o, o->used++);
}

void outbox_take(struct outbox *o, uint32_t count)
{
    o->used -= count;
    o->head = o->used ? (o->head + count) & (o->capacity - 1) : 0;
    if (o->used == 0 && o->capacity > KEPT)
        outbox_clear(o);
}

void outbox_clear(struct outbox *o)
{
    g_free(o->ring);
    o->ring = NULL;
    o->capacity = o->head = o->used = 0;
}
