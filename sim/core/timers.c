/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap of timers: an array in which no timer is later than its two children. Each timer knows
 * its place, so that it can be taken out from anywhere. */
#include "sim/core/timers.h"

struct sim_timer {
    int64_t at;
    uint64_t order; /* decides between equal times */
    unsigned place;
    sim_timer_fn *fn;
    void *arg;
};

struct sim_timers {
    GPtrArray *heap;
    uint64_t made;
};

struct sim_timers *sim_timers_create(void)
{
    struct sim_timers *t = g_new0(struct sim_timers, 1);
    t->heap = g_ptr_array_new_with_free_func(g_free);
    return t;
}

void sim_timers_destroy(struct sim_timers *t)
{
    if (!t)
        return;
    g_ptr_array_unref(t->heap);
    g_free(t);
}

static bool earlier(const struct sim_timer *a, const struct sim_timer *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void put(struct sim_timers *t, unsigned place, struct sim_timer *timer)
{
    t->heap->pdata[place] = timer;
    timer->place = place;
}

static void move_up(struct sim_timers *t, unsigned place, struct sim_timer *timer)
{
    while (place > 0) {
        unsigned parent = (place - 1) / 2;
        struct sim_timer *above = t->heap->pdata[parent];
        if (!earlier(timer, above))
            break;
        put(t, place, above);
        place = parent;
    }
    put(t, place, timer);
}

static void move_down(struct sim_timers *t, unsigned place, struct sim_timer *timer)
{
    for (;;) {
        unsigned child = 2 * place + 1;
        if (child >= t->heap->len)
            break;
        if (child + 1 < t->heap->len && earlier(t->heap->pdata[child + 1], t->heap->pdata[child]))
            child++;
        struct sim_timer *below = t->heap->pdata[child];
        if (!earlier(below, timer))
            break;
        put(t, place, below);
        place = child;
    }
    put(t, place, timer);
}

static void take_out(struct sim_timers *t, struct sim_timer *timer)
{
    unsigned place = timer->place;
    struct sim_timer *last = t->heap->pdata[t->heap->len - 1];
    t->heap->pdata[t->heap->len - 1] = NULL; /* the array must not free what it gives up */
    g_ptr_array_set_size(t->heap, (int)t->heap->len - 1);
    if (last == timer)
        return;
    if (earlier(last, timer))
        move_up(t, place, last);
    else
        move_down(t, place, last);
}

struct sim_timer *sim_timer_at(struct sim *s, int64_t at, sim_timer_fn *fn, void *arg)
{
    struct sim_timers *t = s->timers;
    struct sim_timer *timer = g_new(struct sim_timer, 1);
    *timer = (struct sim_timer){.at = at, .order = t->made++, .fn = fn, .arg = arg};
    g_ptr_array_add(t->heap, timer);
    move_up(t, t->heap->len - 1, timer);
    return timer;
}

void sim_timer_cancel(struct sim *s, struct sim_timer *timer)
{
    if (!timer)
        return;
    take_out(s->timers, timer);
    g_free(timer);
}

int64_t sim_timers_next(const struct sim_timers *t)
{
    return t->heap->len ? ((const struct sim_timer *)t->heap->pdata[0])->at : SIM_NEVER;
}

void sim_timers_run(struct sim *s, int64_t now)
{
    while (sim_timers_next(s->timers) <= now) {
        struct sim_timer *first = s->timers->heap->pdata[0];
        sim_timer_fn *fn = first->fn;
        void *arg = first->arg;
        /* what was asked for in the past happens now: time never goes back */
        s->now = MAX(s->now, first->at);
        take_out(s->timers, first);
        g_free(first);
        fn(s, arg);
    }
    s->now = MAX(s->now, now);
}
