/* SPDX-License-Identifier: BSD-2-Clause */
/* Least hops: rows of distances are relaxed along links until nothing changes, all destination
 * switches at once. */
#include "routing/hops.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VECTOR_BYTES 64u

/* Whether anything came nearer. */
static bool relax(uint8_t *restrict mine, const uint8_t *restrict theirs, size_t n)
{
    uint8_t changed = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t next = theirs[i] + (theirs[i] != RT_FAR);
        uint8_t less = mine[i] < next ? mine[i] : next;
        changed |= mine[i] ^ less;
        mine[i] = less;
    }
    return changed != 0;
}

/* Breadth first from the first switch: whether all of its piece are within 254 hops of each other
 * is told by the distances, and what belongs together by this. */
static uint32_t *find_pieces(const struct rt_graph *g)
{
    uint32_t *piece = g_new(uint32_t, g->switch_count + 1);
    g_autofree uint32_t *queue = g_new(uint32_t, g->switch_count + 1);
    memset(piece, 0xff, (g->switch_count + 1) * sizeof *piece);
    for (uint32_t root = 0; root < g->switch_count; root++) {
        uint32_t head = 0, tail = 0;
        if (piece[root] != RT_NONE)
            continue;
        piece[root] = root;
        queue[tail++] = root;
        for (; head < tail; head++) {
            const struct rt_switch *sw = &g->switches[queue[head]];
            for (uint32_t i = 0; i < sw->group_count; i++) {
                uint32_t next = g->groups[sw->first_group + i].peer;
                if (piece[next] != RT_NONE)
                    continue;
                piece[next] = root;
                queue[tail++] = next;
            }
        }
    }
    return piece;
}

static int refuse_far(const struct rt_hops *h, char *error, size_t error_size)
{
    const struct rt_graph *g = h->g;
    g_autofree uint32_t *piece = find_pieces(g);
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t x = 0; x < g->switch_count; x++) {
            if (rt_hops_between(h, s, x) != RT_FAR || piece[s] != piece[x])
                continue;
            snprintf(error, error_size,
                     "switches 0x%016" PRIx64 " and 0x%016" PRIx64 " are more than 254 hops apart",
                     g->switches[s].guid, g->switches[x].guid);
            return ENOTSUP;
        }
    return 0;
}

int rt_hops_make(const struct rt_graph *g, struct rt_hops *h, char *error, size_t error_size)
{
    uint32_t n = g->switch_count;
    *h = (struct rt_hops){.g = g, .stride = (n + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES};
    h->distance = g_malloc(h->stride * n + 1);
    memset(h->distance, RT_FAR, h->stride * n);
    for (uint32_t x = 0; x < n; x++)
        h->distance[h->stride * x + x] = 0;
    /* A pass in each direction of the numbers; long lines in their order need two passes only. */
    for (bool changed = true, up = true; changed; up = !up) {
        changed = false;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t s = up ? i : n - 1 - i;
            for (uint32_t k = 0; k < g->switches[s].group_count; k++)
                changed |= relax(h->distance + h->stride * s,
                                 h->distance + h->stride * rt_group_of(g, s, k)->peer, h->stride);
        }
    }
    int rc = refuse_far(h, error, error_size);
    if (rc)
        rt_hops_clear(h);
    return rc;
}

void rt_hops_clear(struct rt_hops *h)
{
    g_free(h->distance);
    *h = (struct rt_hops){0};
}

void rt_hops_nearer(const struct rt_hops *h, uint32_t s, uint64_t (*nearer)[4])
{
    const struct rt_graph *g = h->g;
    memset(nearer, 0, g->switch_count * sizeof *nearer);
    const uint8_t *mine = h->distance + h->stride * s;
    for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
        const uint8_t *theirs = h->distance + h->stride * rt_group_of(g, s, k)->peer;
        for (uint32_t x = 0; x < g->switch_count; x++)
            nearer[x][k / 64] |= (uint64_t)(theirs[x] < mine[x]) << (k % 64);
    }
}
