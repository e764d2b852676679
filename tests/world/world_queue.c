/* SPDX-License-Identifier: BSD-2-Clause */
/* The world's clock: one queue of tasks, and the ticks that the cores ask for. */
#include "tests/world/world.h"

#include <stdio.h>

#define MAX_INBOX 4096u

uint32_t world_random(struct world *w, uint32_t low, uint32_t high)
{
    return low + (uint32_t)(g_rand_int(w->rand) % (high - low + 1u));
}

bool world_chance(struct world *w, double probability)
{
    return g_rand_double(w->rand) < probability;
}

void world_task_free(void *task)
{
    struct task *t = task;
    if (t->free_data != NULL && t->data != NULL)
        t->free_data(t->data);
    g_free(t);
}

static gint compare_tasks(gconstpointer a, gconstpointer b, gpointer unused)
{
    const struct task *x = a, *y = b;
    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

struct task *world_task(struct world *w, uint64_t delay_ms,
                        void (*run)(struct world *, struct task *))
{
    struct task *t = g_new0(struct task, 1);
    t->at_ms = w->now_ms + delay_ms;
    t->order = ++w->order;
    t->run = run;
    g_sequence_insert_sorted(w->queue, t, compare_tasks, NULL);
    return t;
}

void world_fail(struct world *w, const char *format, ...)
{
    va_list ap;
    if (w->failed)
        return;
    w->failed = true;
    va_start(ap, format);
    g_vsnprintf(w->failure, sizeof w->failure, format, ap);
    va_end(ap);
}

void world_log(struct world *w, const char *who, const char *format, ...)
{
    va_list ap;
    if (!w->verbose)
        return;
    printf("%7.3f %-8s ", (double)w->now_ms / 1000, who);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    putchar('\n');
}

void world_event(struct world *w, const char *who, int level, const char *event, const char *text)
{
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(w->events, event));
    g_hash_table_replace(w->events, g_strdup(event), GUINT_TO_POINTER(n + 1));
    world_log(w, who, "%d %s %s", level, event, text);
}

unsigned world_events(const struct world *w, const char *event)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(w->events, event));
}

bool world_deferred(struct world *w, struct task *t)
{
    struct process *p = &w->process[t->process];
    if (!p->alive || p->life != t->life)
        return true; /* gone with the process that it was for */
    if (!p->paused)
        return false;
    if (p->inbox.length < MAX_INBOX) {
        struct task *later = g_new(struct task, 1);
        *later = *t;
        t->data = NULL; /* moved */
        g_queue_push_tail(&p->inbox, later);
    }
    return true;
}

static uint64_t tick_due(const struct process *p)
{
    uint64_t deadline = UINT64_MAX;
    if (!p->alive || p->paused)
        return UINT64_MAX;
    if (p->shard != NULL)
        deadline = shard_core_deadline(p->shard);
    else if (p->coord != NULL)
        deadline = coord_core_deadline(p->coord);
    return MAX(deadline, p->last_tick_ms + 1);
}

static void tick(struct world *w, struct process *p)
{
    p->last_tick_ms = w->now_ms;
    if (p->shard != NULL)
        shard_step(w, p, &(struct shard_event){.kind = SHARD_EV_TICK});
    else
        coord_step(w, &(struct coord_event){.kind = COORD_EV_TICK});
}

static uint64_t next_time(struct world *w)
{
    uint64_t next = UINT64_MAX;
    GSequenceIter *first = g_sequence_get_begin_iter(w->queue);
    if (!g_sequence_iter_is_end(first))
        next = ((struct task *)g_sequence_get(first))->at_ms;
    for (int i = 0; i <= w->shards; i++)
        next = MIN(next, tick_due(&w->process[i]));
    return MAX(next, w->now_ms);
}

static void run_tasks_of_now(struct world *w)
{
    for (;;) {
        GSequenceIter *first = g_sequence_get_begin_iter(w->queue);
        if (w->failed || g_sequence_iter_is_end(first))
            return;
        struct task *t = g_sequence_get(first);
        if (t->at_ms > w->now_ms)
            return;
        struct task copy = *t;
        t->data = NULL;
        g_sequence_remove(first);
        copy.run(w, &copy);
        if (copy.free_data != NULL && copy.data != NULL)
            copy.free_data(copy.data);
    }
}

void world_run_until(struct world *w, uint64_t until_ms)
{
    while (!w->failed && w->now_ms < until_ms) {
        uint64_t next = next_time(w);
        w->now_ms = MIN(next, until_ms);
        run_tasks_of_now(w);
        for (int i = 0; i <= w->shards && !w->failed; i++)
            if (tick_due(&w->process[i]) <= w->now_ms)
                tick(w, &w->process[i]);
    }
}
