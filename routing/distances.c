/* SPDX-License-Identifier: BSD-2-Clause */
/* Up*-down* distances as byte vectors. Columns do not depend on each other, so RT_VECTOR of them at
 * a time go through all passes while they are in the cache; these jobs run on several threads. */
#include <glib.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "routing/engine.h"
#include "routing/vector.h"

#define HUGE_PAGE_BYTES (2u << 20)
#define PAGE_BYTES 4096u /* or a multiple */

void *rt_large_new(size_t size)
{
    bool large = size >= HUGE_PAGE_BYTES;
    size_t alignment = large ? HUGE_PAGE_BYTES : RT_VECTOR;
    void *memory = NULL;
    size = (size / alignment + 1) * alignment;
    if (posix_memalign(&memory, alignment, size))
        g_error("no memory for %zu bytes", size);
    if (large)
        madvise(memory, size, MADV_HUGEPAGE); /* speed only: a refusal does no harm */
    return memory;
}

void rt_distances_clear(struct rt_distances *d)
{
    free(d->down);
    free(d->any);
}

/* -- passes over RT_VECTOR columns ---------------------------------------------------------- */

/* A hop more, where 255 stays 255 and 254 + 1 becomes it. */
RT_INLINE uint8_t farther(uint8_t distance)
{
    return distance + (distance != RT_FAR);
}

RT_INLINE uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

struct job {
    const struct rt_updown *u;
    struct rt_distances *d;
    const uint32_t *owner; /* switch of each column; NULL = the same number */
    uint32_t columns;
    uint8_t *far, *pure; /* NULL in the pivot order */
};

/* Rows that are still far everywhere, most of them, are not pushed upwards. */
RT_VECTORISED static void find_down(const struct job *job, size_t from)
{
    const struct rt_graph *g = job->u->graph;
    const struct rt_distances *d = job->d;
    uint8_t *down = d->down + from;
    g_autofree bool *reached = g_new0(bool, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        memset(down + d->stride * s, RT_FAR, RT_VECTOR);
    for (size_t c = from; c < MIN(from + RT_VECTOR, job->columns); c++) {
        uint32_t x = job->owner ? job->owner[c] : c;
        down[d->stride * x + c - from] = 0;
        reached[x] = true;
    }
    for (uint32_t i = g->switch_count; i-- > 0;) { /* from the bottom */
        uint32_t s = d->order->at[i];
        const uint8_t *mine = down + d->stride * s;
        for (uint32_t k = d->order->upper.first[s]; reached[s] && k < d->order->upper.first[s + 1];
             k++) {
            uint8_t *theirs = down + d->stride * d->order->upper.peer[k];
            reached[d->order->upper.peer[k]] = true;
            for (unsigned j = 0; j < RT_VECTOR; j++)
                theirs[j] = least(theirs[j], farther(mine[j]));
        }
    }
}

/* The least of the rows of the neighbours on one side of s. */
RT_INLINE void find_least(const struct rt_side *side, uint32_t s, const uint8_t *matrix,
                          size_t stride, uint8_t result[RT_VECTOR])
{
    uint8_t best[RT_VECTOR];
    memset(best, RT_FAR, RT_VECTOR);
    for (uint32_t k = side->first[s]; k < side->first[s + 1]; k++) {
        const uint8_t *theirs = matrix + stride * side->peer[k];
        for (unsigned j = 0; j < RT_VECTOR; j++)
            best[j] = least(best[j], theirs[j]);
    }
    memcpy(result, best, RT_VECTOR);
}

/* From the top; twins together with the first of them: all of their upper neighbours are done. */
RT_VECTORISED static void find_any(const struct job *job, size_t from)
{
    const struct rt_distances *d = job->d;
    for (uint32_t i = 0; i < job->u->graph->switch_count; i++) {
        uint32_t s = d->order->at[i];
        uint8_t over[RT_VECTOR];
        if (!d->order->upper.leads[s])
            continue;
        find_least(&d->order->upper, s, d->any + from, d->stride, over);
        for (unsigned j = 0; j < RT_VECTOR; j++)
            over[j] = farther(over[j]);
        for (; s != RT_NONE; s = d->order->upper.twin[s]) {
            const uint8_t *down = d->down + d->stride * s + from;
            uint8_t *any = d->any + d->stride * s + from;
            for (unsigned j = 0; j < RT_VECTOR; j++)
                any[j] = least(down[j], over[j]);
        }
    }
}

RT_INLINE bool is_far_anywhere(const uint8_t any[RT_VECTOR])
{
    uint8_t far = 0;
    for (unsigned j = 0; j < RT_VECTOR; j++)
        far |= any[j] == RT_FAR;
    return far;
}

/* As find_any, in the pivot order. */
RT_VECTORISED static void find_climbs(const struct job *job, size_t from)
{
    const struct rt_updown *u = job->u;
    const struct rt_side *upper = &u->orders.pivot.upper;
    size_t stride = u->tree.stride;
    uint8_t far[RT_VECTOR] = {0};
    for (uint32_t i = 0; i < u->graph->switch_count; i++) {
        uint32_t s = u->orders.pivot.at[i];
        uint8_t over[RT_VECTOR];
        bool known = false;
        for (s = upper->leads[s] ? s : RT_NONE; s != RT_NONE; s = upper->twin[s]) {
            const uint8_t *any = u->tree.any + stride * s + from;
            uint8_t *climb = u->climb + stride * s + from;
            if (!is_far_anywhere(any)) {
                memcpy(climb, any, RT_VECTOR);
                continue;
            }
            if (!known)
                find_least(upper, s, u->climb + from, stride, over);
            known = true;
            for (unsigned j = 0; j < RT_VECTOR; j++) {
                uint8_t next = any[j] == RT_FAR ? farther(over[j]) : any[j];
                climb[j] = next;
                far[j] |= next == RT_FAR;
            }
        }
    }
    memcpy(job->far + from, far, RT_VECTOR);
}

/* -- turns that the pivot order forbids ----------------------------------------------------- */

/* chosen[x] |= whether the peer of s is a candidate for x, by the rules of the tree order and the
 * climb. */
RT_INLINE void add_candidates(const struct rt_updown *u, size_t from, uint32_t s, uint32_t peer,
                              uint8_t chosen[RT_VECTOR])
{
    size_t mine = u->tree.stride * s + from, theirs = u->tree.stride * peer + from;
    const uint8_t *down = u->tree.down + mine, *any = u->tree.any + mine;
    if (rt_is_above(u->tree.order, peer, s)) {
        const uint8_t *next = u->tree.any + theirs;
        for (unsigned j = 0; j < RT_VECTOR; j++)
            chosen[j] |= (down[j] == RT_FAR) & (any[j] != RT_FAR) & (next[j] < any[j]);
    } else {
        const uint8_t *next = u->tree.down + theirs;
        for (unsigned j = 0; j < RT_VECTOR; j++)
            chosen[j] |= (down[j] != RT_FAR) & (next[j] < down[j]);
    }
    if (!rt_is_above(&u->orders.pivot, peer, s) || !is_far_anywhere(any))
        return;
    const uint8_t *climb = u->climb + mine, *next = u->climb + theirs;
    for (unsigned j = 0; j < RT_VECTOR; j++)
        chosen[j] |= (any[j] == RT_FAR) & (climb[j] != RT_FAR) & (next[j] < climb[j]);
}

static void forget(uint8_t chosen[RT_VECTOR], size_t from, uint32_t x)
{
    if (x >= from && x < from + RT_VECTOR)
        chosen[x - from] = 0;
}

RT_INLINE bool is_any_chosen(const uint8_t chosen[RT_VECTOR])
{
    uint8_t any = 0;
    for (unsigned j = 0; j < RT_VECTOR; j++)
        any |= chosen[j];
    return any;
}

/* Columns for which a packet enters v from above and leaves it upwards, in the pivot order. */
RT_VECTORISED static void find_turns(const struct job *job, size_t from)
{
    const struct rt_updown *u = job->u;
    const struct rt_side *upper = &u->orders.pivot.upper;
    uint8_t pure[RT_VECTOR] = {0};
    for (uint32_t v = 0; v < u->graph->switch_count; v++) {
        uint8_t leaves[RT_VECTOR] = {0};
        if (!u->orders.in_list[v])
            continue;
        for (uint32_t k = upper->first[v]; k < upper->first[v + 1]; k++)
            add_candidates(u, from, v, upper->peer[k], leaves);
        forget(leaves, from, v);
        if (!is_any_chosen(leaves))
            continue;
        for (uint32_t k = upper->first[v]; k < upper->first[v + 1]; k++) {
            uint8_t enters[RT_VECTOR] = {0};
            add_candidates(u, from, upper->peer[k], v, enters);
            forget(enters, from, upper->peer[k]);
            for (unsigned j = 0; j < RT_VECTOR; j++)
                pure[j] |= enters[j] & leaves[j];
        }
    }
    memcpy(job->pure + from, pure, RT_VECTOR);
}

/* -- all ------------------------------------------------------------------------------------ */

static void find_columns(void *context, unsigned index)
{
    const struct job *job = context;
    size_t from = (size_t)index * RT_VECTOR;
    find_down(job, from);
    find_any(job, from);
    if (!job->far)
        return;
    find_climbs(job, from);
    find_turns(job, from);
}

static void run(struct job *job, const struct rt_options *options)
{
    rt_parallel(options, job->d->stride / RT_VECTOR, find_columns, job);
}

/* The kernel clears a page when it is written first: a quarter of the time that all passes take. */
static uint8_t *fetch_matrix(size_t size)
{
    uint8_t *matrix = rt_large_new(size);
    for (size_t at = 0; at < size; at += PAGE_BYTES)
        *(volatile uint8_t *)(matrix + at) = RT_FAR;
    return matrix;
}

void rt_fetch_tree(struct rt_updown *u, unsigned part)
{
    uint8_t **matrices[RT_TREE_PARTS] = {&u->tree.down, &u->tree.any, &u->climb};
    *matrices[part] = fetch_matrix(u->tree.stride * u->graph->switch_count);
}

void rt_find_tree(struct rt_updown *u, const struct rt_options *options, uint8_t *far,
                  uint8_t *pure)
{
    struct job job = {
        .u = u, .d = &u->tree, .columns = u->graph->switch_count, .far = far, .pure = pure};
    run(&job, options);
}

void rt_find_pivot(struct rt_updown *u, const struct rt_options *options)
{
    g_autofree uint32_t *owner = g_new(uint32_t, u->column_count + 1);
    for (uint32_t x = 0; x < u->graph->switch_count; x++)
        if (u->column[x] != RT_NONE)
            owner[u->column[x]] = x;
    struct rt_distances *d = &u->pivot;
    struct job job = {.u = u, .d = d, .owner = owner, .columns = u->column_count};
    d->stride = rt_stride(job.columns);
    free(d->down);
    free(d->any);
    d->down = rt_large_new(d->stride * u->graph->switch_count);
    d->any = rt_large_new(d->stride * u->graph->switch_count);
    run(&job, options);
}
