/* SPDX-License-Identifier: BSD-2-Clause */
/* Dependencies without cycles: the search in the affected part of the order, and its repair. */
#include "routing/acyclic.h"

#include <stdlib.h>
#include <string.h>

uint32_t *rt_reverse_channels(const struct rt_graph *g)
{
    uint32_t *reverse = g_new(uint32_t, g->group_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_switch *sw = &g->switches[s];
        for (uint32_t c = sw->first_group; c < sw->first_group + sw->group_count; c++) {
            /* Groups are sorted by the peer's GUID, which is the order of its number. */
            const struct rt_switch *peer = &g->switches[g->groups[c].peer];
            uint32_t low = peer->first_group, high = low + peer->group_count;
            while (high - low > 1) {
                uint32_t middle = low + (high - low) / 2;
                if (g->groups[middle].peer <= s)
                    low = middle;
                else
                    high = middle;
            }
            reverse[c] = low;
        }
    }
    return reverse;
}

void rt_acyclic_init(struct rt_acyclic *a, const struct rt_graph *g, const uint32_t *reverse)
{
    size_t n = (size_t)g->group_count + 1;
    *a = (struct rt_acyclic){.g = g, .reverse = reverse};
    a->used = g_malloc0_n(n, sizeof *a->used);
    a->refused = g_malloc0_n(n, sizeof *a->refused);
    a->place = g_new(uint32_t, n);
    a->seen = g_new0(bool, n);
    a->stack = g_new(uint32_t, n);
    a->ahead = g_new(uint32_t, n);
    a->behind = g_new(uint32_t, n);
    a->pool = g_new(uint32_t, n);
    a->journal = g_array_new(FALSE, FALSE, sizeof(struct rt_dependency));
    for (uint32_t c = 0; c < g->group_count; c++)
        a->place[c] = c;
}

void rt_acyclic_clear(struct rt_acyclic *a)
{
    void *all[] = {a->used, a->refused, a->place, a->seen, a->stack, a->ahead, a->behind, a->pool};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
    if (a->journal)
        g_array_unref(a->journal);
    memset(a, 0, sizeof *a);
}

static bool has(uint64_t set[4], unsigned slot)
{
    return set[slot / 64] >> (slot % 64) & 1;
}

/* What `from` waits for, as far as it stands before place `limit`, into list; false when one of
 * them stands at `limit` itself, which is where the new dependency comes from. */
static bool search_ahead(struct rt_acyclic *a, uint32_t from, uint32_t limit, uint32_t *count)
{
    uint32_t depth = 0;
    bool good = true;
    a->stack[depth++] = from;
    a->seen[from] = true;
    while (depth > 0 && good) {
        uint32_t c = a->stack[--depth];
        const struct rt_switch *next = &a->g->switches[a->g->groups[c].peer];
        a->ahead[(*count)++] = c;
        for (unsigned word = 0; word < 4; word++) {
            for (uint64_t bits = a->used[c][word]; bits && good; bits &= bits - 1) {
                uint32_t d = next->first_group + word * 64 + __builtin_ctzll(bits);
                if (a->place[d] > limit || a->seen[d])
                    continue;
                good = a->place[d] != limit;
                a->seen[d] = true;
                a->stack[depth++] = d;
            }
        }
    }
    while (depth > 0)
        a->seen[a->stack[--depth]] = false;
    return good;
}

/* What waits for `from`, as far as it stands behind place `limit`. */
static void search_behind(struct rt_acyclic *a, uint32_t from, uint32_t limit, uint32_t *count)
{
    const struct rt_graph *g = a->g;
    uint32_t depth = 0;
    a->stack[depth++] = from;
    a->seen[from] = true;
    while (depth > 0) {
        uint32_t c = a->stack[--depth], s = g->groups[a->reverse[c]].peer;
        a->behind[(*count)++] = c;
        for (uint32_t i = 0; i < g->switches[s].group_count; i++) {
            uint32_t b = a->reverse[g->switches[s].first_group + i];
            if (a->place[b] <= limit || a->seen[b] || !has(a->used[b], rt_slot(g, s, c)))
                continue;
            a->seen[b] = true;
            a->stack[depth++] = b;
        }
    }
}

static int by_place(const void *x, const void *y, void *user)
{
    const uint32_t *place = user;
    uint32_t a = place[*(const uint32_t *)x], b = place[*(const uint32_t *)y];
    return (a > b) - (a < b);
}

static int by_value(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Those behind go first, in the places that both lists had together. */
static void repair_order(struct rt_acyclic *a, uint32_t ahead, uint32_t behind)
{
    qsort_r(a->ahead, ahead, sizeof *a->ahead, by_place, a->place);
    qsort_r(a->behind, behind, sizeof *a->behind, by_place, a->place);
    for (uint32_t i = 0; i < behind; i++)
        a->pool[i] = a->place[a->behind[i]];
    for (uint32_t i = 0; i < ahead; i++)
        a->pool[behind + i] = a->place[a->ahead[i]];
    qsort(a->pool, ahead + behind, sizeof *a->pool, by_value);
    for (uint32_t i = 0; i < ahead + behind; i++) {
        uint32_t c = i < behind ? a->behind[i] : a->ahead[i - behind];
        a->place[c] = a->pool[i];
    }
}

static bool make_room(struct rt_acyclic *a, uint32_t from, uint32_t to)
{
    uint32_t ahead = 0, behind = 0;
    bool good = from != to && search_ahead(a, to, a->place[from], &ahead);
    if (good)
        search_behind(a, from, a->place[to], &behind);
    for (uint32_t i = 0; i < ahead; i++)
        a->seen[a->ahead[i]] = false;
    for (uint32_t i = 0; i < behind; i++)
        a->seen[a->behind[i]] = false;
    if (good)
        repair_order(a, ahead, behind);
    return good;
}

bool rt_acyclic_add(struct rt_acyclic *a, uint32_t channel, unsigned slot)
{
    if (has(a->used[channel], slot))
        return true;
    if (has(a->refused[channel], slot))
        return false;
    uint32_t to = a->g->switches[a->g->groups[channel].peer].first_group + slot;
    if (a->place[channel] >= a->place[to] && !make_room(a, channel, to)) {
        a->refused[channel][slot / 64] |= UINT64_C(1) << (slot % 64);
        return false;
    }
    a->used[channel][slot / 64] |= UINT64_C(1) << (slot % 64);
    struct rt_dependency added = {channel, (uint8_t)slot};
    g_array_append_val(a->journal, added);
    return true;
}

void rt_acyclic_back(struct rt_acyclic *a, guint mark)
{
    while (a->journal->len > mark) {
        const struct rt_dependency *d =
            &g_array_index(a->journal, struct rt_dependency, a->journal->len - 1);
        a->used[d->channel][d->slot / 64] &= ~(UINT64_C(1) << (d->slot % 64));
        g_array_set_size(a->journal, a->journal->len - 1);
    }
}

void rt_acyclic_forget_refused(struct rt_acyclic *a)
{
    memset(a->refused, 0, a->g->group_count * sizeof *a->refused);
}
