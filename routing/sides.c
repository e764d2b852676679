/* SPDX-License-Identifier: BSD-2-Clause */
/* Who stands above and below each switch in an order, and which switches have the same above. */
#include <glib.h>
#include <string.h>

#include "routing/order.h"

/* Two neighbours see each other: one of them upwards, the other downwards. */
static void side_init(struct rt_side *side, const struct rt_graph *g)
{
    *side = (struct rt_side){.first = g_new(uint32_t, g->switch_count + 1),
                             .peer = g_new(uint32_t, g->group_count / 2 + 1),
                             .group = g_malloc(g->group_count / 2 + 1)};
}

static void side_clear(struct rt_side *side)
{
    g_free(side->first);
    g_free(side->peer);
    g_free(side->group);
    g_free(side->twin);
    g_free(side->leads);
}

static bool has_same_peers(const struct rt_side *side, uint32_t a, uint32_t b)
{
    uint32_t count = side->first[a + 1] - side->first[a];
    return side->first[b + 1] - side->first[b] == count &&
           memcmp(side->peer + side->first[a], side->peer + side->first[b],
                  count * sizeof *side->peer) == 0;
}

/* FNV-1a over the peers. */
static uint64_t hash_peers(const struct rt_side *side, uint32_t s)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t k = side->first[s]; k < side->first[s + 1]; k++)
        hash = (hash ^ side->peer[k]) * UINT64_C(0x100000001b3);
    return hash;
}

/* In a fat tree all leaves of a pod are twins, and so are the switches of a plane above them. Two
 * sets of peers with one hash (which costs time only) may leave twins apart. */
static void find_twins(struct rt_side *upper, const struct rt_order *order, uint32_t count)
{
    g_autofree uint64_t *hash = g_new(uint64_t, count + 1);
    g_autofree uint32_t *last = g_new(uint32_t, count + 1);
    g_autoptr(GHashTable) first = g_hash_table_new(g_int64_hash, g_int64_equal);
    upper->twin = g_new(uint32_t, count + 1);
    upper->leads = g_new0(bool, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = order->at[i];
        hash[s] = hash_peers(upper, s);
        upper->twin[s] = RT_NONE;
        gpointer known = g_hash_table_lookup(first, &hash[s]);
        uint32_t leader = known ? GPOINTER_TO_UINT(known) - 1 : RT_NONE;
        upper->leads[s] = leader == RT_NONE || !has_same_peers(upper, leader, s);
        if (leader == RT_NONE)
            g_hash_table_insert(first, &hash[s], GUINT_TO_POINTER(s + 1));
        if (upper->leads[s]) {
            last[s] = s;
            continue;
        }
        upper->twin[last[leader]] = s;
        last[leader] = s;
    }
}

void rt_sides_make(const struct rt_graph *g, struct rt_order *order)
{
    struct rt_side *sides[] = {&order->lower, &order->upper};
    uint32_t count[2] = {0, 0};
    side_init(&order->lower, g);
    side_init(&order->upper, g);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_group *groups = g->groups + g->switches[s].first_group;
        order->lower.first[s] = count[0];
        order->upper.first[s] = count[1];
        for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
            unsigned up = rt_is_above(order, groups[k].peer, s);
            sides[up]->peer[count[up]] = groups[k].peer;
            sides[up]->group[count[up]++] = k;
        }
    }
    order->lower.first[g->switch_count] = count[0];
    order->upper.first[g->switch_count] = count[1];
    find_twins(&order->upper, order, g->switch_count);
}

void rt_sides_clear(struct rt_order *order)
{
    side_clear(&order->lower);
    side_clear(&order->upper);
}
