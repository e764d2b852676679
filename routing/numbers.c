/* SPDX-License-Identifier: BSD-2-Clause */
/* Topological numbers of destinations: neighbours in the tree get neighbouring numbers, and a
 * number, once given to a (switch, port), stays. ROUTING: every leaf is given as many as the
 * fullest leaf has hosts, so that leaves with few hosts keep the pattern of the others.
 *
 * Compute nodes come first, on all leaves; then I/O nodes, then all other hosts, each class with
 * numbers of its own as if the others were not there. An I/O node among the compute nodes of a leaf
 * so shifts none of them. */
#include <glib.h>

#include "routing/engine.h"

#define WORD_BITS 64u
#define LOW_NUMBERS (1u << 21) /* dense numbers of all LIDs at many leaves that are not full */

enum { COMPUTE, STORAGE, OTHER, CLASSES, UNNUMBERED };

struct numbering {
    const struct rt_updown *u;
    uint8_t *class; /* of each destination */
    bool is_split;  /* not all are of one class */
    unsigned now;   /* the class whose turn it is */
    uint32_t *numbers;
    uint64_t *low;    /* a bit for each used number below LOW_NUMBERS */
    GHashTable *high; /* the others */
    uint32_t block;   /* numbers a leaf, of this class */
    uint32_t next;    /* first number above all that are used */
    uint32_t *lowest; /* known number of this class at each switch */
};

static bool needs_number(const struct rt_dest *d)
{
    return d->kind == RT_DEST_HOST || d->kind == RT_DEST_ROUTER;
}

static void mark_class(struct numbering *n, const uint64_t *guids, size_t count, uint8_t class)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t d = rt_find_dest_by_guid(n->u->graph, guids[i]);
        if (d != RT_NONE && n->class[d] != UNNUMBERED)
            n->class[d] = class;
    }
}

/* Who is in both lists is a compute node. */
static void find_classes(struct numbering *n, const struct rt_options *o)
{
    const struct rt_graph *g = n->u->graph;
    uint8_t rest = o && o->cn_guids ? OTHER : COMPUTE;
    n->is_split = o && (o->cn_guids || o->io_guids);
    n->class = g_malloc(g->dest_count + 1);
    for (uint32_t d = 0; d < g->dest_count; d++)
        n->class[d] = needs_number(&g->dests[d]) ? rest : UNNUMBERED;
    if (o && o->io_guids)
        mark_class(n, o->io_guids, o->io_count, STORAGE);
    if (o && o->cn_guids)
        mark_class(n, o->cn_guids, o->cn_count, COMPUTE);
}

static uint32_t count_class(const struct numbering *n, uint32_t sw)
{
    const struct rt_switch *s = &n->u->graph->switches[sw];
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->dest_count; i++)
        count += n->class[s->first_dest + i] == n->now;
    return count;
}

static void use(struct numbering *n, uint32_t number)
{
    if (number < LOW_NUMBERS)
        n->low[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    else
        g_hash_table_add(n->high, GUINT_TO_POINTER(number));
    n->next = MAX(n->next, number + 1);
}

static void take_known(struct numbering *n)
{
    const struct rt_graph *g = n->u->graph;
    for (uint32_t d = 0; d < g->dest_count; d++) {
        bool known = n->class[d] != UNNUMBERED && g->dests[d].number != RT_NONE;
        n->numbers[d] = known ? g->dests[d].number : RT_NONE;
        if (known)
            use(n, n->numbers[d]);
    }
    for (uint32_t i = 0; i < g->kept_count; i++)
        use(n, g->kept[i].number);
}

/* What is known of the class whose turn it is. Of a port without a destination nobody knows the
 * class, where there are several. */
static void begin_class(struct numbering *n)
{
    const struct rt_graph *g = n->u->graph;
    n->block = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        n->lowest[s] = RT_NONE;
        if (n->u->orders.leaf[s])
            n->block = MAX(n->block, count_class(n, s));
    }
    for (uint32_t d = 0; d < g->dest_count; d++)
        if (n->class[d] == n->now) /* RT_NONE is the greatest */
            n->lowest[g->dests[d].sw] = MIN(n->lowest[g->dests[d].sw], n->numbers[d]);
    for (uint32_t i = 0; !n->is_split && i < g->kept_count; i++)
        n->lowest[g->kept[i].sw] = MIN(n->lowest[g->kept[i].sw], g->kept[i].number);
}

static bool is_used(const struct numbering *n, uint32_t number)
{
    if (number < LOW_NUMBERS)
        return n->low[number / WORD_BITS] >> number % WORD_BITS & 1;
    return g_hash_table_contains(n->high, GUINT_TO_POINTER(number));
}

/* The next number above all others; where these reach the limit, the lowest that is free. */
static uint32_t next_number(const struct numbering *n)
{
    uint32_t number = n->next;
    if (number >= RT_MAX_NUMBER)
        for (number = 0; is_used(n, number);)
            number++;
    return number;
}

/* A free number of the block that begins at base, else the next above all. */
static uint32_t free_number(const struct numbering *n, uint32_t base, uint32_t size)
{
    for (uint32_t i = 0; i < size && base + i < RT_MAX_NUMBER; i++)
        if (!is_used(n, base + i))
            return base + i;
    return next_number(n);
}

static void number_switch(struct numbering *n, uint32_t sw)
{
    const struct rt_switch *s = &n->u->graph->switches[sw];
    uint32_t size = n->u->orders.leaf[sw] ? n->block : count_class(n, sw);
    uint32_t base = n->lowest[sw], fresh = n->next;
    bool is_new = base == RT_NONE;
    for (uint32_t i = 0; i < s->dest_count; i++) {
        uint32_t d = s->first_dest + i;
        if (n->class[d] != n->now || n->numbers[d] != RT_NONE)
            continue;
        n->numbers[d] = is_new ? next_number(n) : free_number(n, base, size);
        use(n, n->numbers[d]);
    }
    if (is_new && n->next > fresh)
        n->next = MAX(n->next, fresh + size);
}

/* The first leaf that is not done, then all such leaves at the least distance from it; again.
 * ROUTING: on an intact tree this is the natural order, whatever the GUIDs are. */
static void number_leaves(struct numbering *n)
{
    const struct rt_updown *u = n->u;
    uint32_t count = u->graph->switch_count;
    g_autofree bool *done = g_new0(bool, count + 1);
    for (uint32_t first = 0; first < count; first++) {
        if (done[first] || !u->orders.leaf[first])
            continue;
        number_switch(n, first);
        done[first] = true;
        const uint8_t *any = u->tree.any + u->tree.stride * first;
        unsigned least = RT_FAR;
        for (uint32_t x = first + 1; x < count; x++)
            if (u->orders.leaf[x] && !done[x] && any[x] < least)
                least = any[x];
        for (uint32_t x = first + 1; least != RT_FAR && x < count; x++) {
            if (!u->orders.leaf[x] || done[x] || any[x] != least)
                continue;
            number_switch(n, x);
            done[x] = true;
        }
    }
}

uint32_t *rt_numbers_make(const struct rt_updown *u, const struct rt_options *options)
{
    struct numbering n = {.u = u,
                          .numbers = g_new(uint32_t, u->graph->dest_count + 1),
                          .low = g_new0(uint64_t, LOW_NUMBERS / WORD_BITS),
                          .high = g_hash_table_new(g_direct_hash, g_direct_equal),
                          .lowest = g_new(uint32_t, u->graph->switch_count + 1)};
    find_classes(&n, options);
    take_known(&n);
    for (n.now = COMPUTE; n.now < (n.is_split ? CLASSES : STORAGE); n.now++) {
        begin_class(&n);
        number_leaves(&n);
        for (uint32_t s = 0; s < u->graph->switch_count; s++)
            if (!u->orders.leaf[s])
                number_switch(&n, s);
    }
    g_hash_table_destroy(n.high);
    g_free(n.low);
    g_free(n.lowest);
    g_free(n.class);
    return n.numbers;
}
