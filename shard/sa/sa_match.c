/* SPDX-License-Identifier: BSD-2-Clause */
/* Matching of records against the components of a request. */
#include <string.h>

#include "shard/sa/sa_private.h"

static bool equal_bits(const uint8_t *a, const uint8_t *b, unsigned offset, unsigned width)
{
    if (offset % 8 == 0 && width % 8 == 0)
        return memcmp(a + offset / 8, b + offset / 8, width / 8) == 0;
    for (unsigned i = offset; i < offset + width; i++)
        if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) != 0)
            return false;
    return true;
}

bool sa_matches(const struct sa_query *q, const struct sa_component *components, size_t count,
                const uint8_t *record)
{
    if (q->mask == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (sa_has(q, components[i].bit) &&
            !equal_bits(record, q->wanted, components[i].offset_bits, components[i].width_bits))
            return false;
    return true;
}
