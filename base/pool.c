/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that take the jobs of a run one after the other. */
#include "base/pool.h"

#include <glib.h>
#include <stdbool.h>

struct run {
    void (*job)(void *context, unsigned index);
    void *context;
    guint count, next; /* next: atomic */
};

struct pool {
    GMutex callers; /* held during a run */
    GMutex lock;    /* of all below */
    GCond work, done;
    struct run *run;  /* NULL = none; threads that come late find nothing to do */
    guint generation; /* counts runs, so that no thread takes part in one twice */
    unsigned busy;    /* threads that take part in the run */
    bool closing;
    unsigned count; /* of threads, without callers */
    GThread *threads[];
};

static void take_jobs(struct run *r)
{
    for (guint i; (i = (guint)g_atomic_int_add(&r->next, 1)) < r->count;)
        r->job(r->context, i);
}

static gpointer work(gpointer argument)
{
    struct pool *p = argument;
    guint seen = 0;
    g_mutex_lock(&p->lock);
    while (!p->closing) {
        if (!p->run || p->generation == seen) {
            g_cond_wait(&p->work, &p->lock);
            continue;
        }
        struct run *r = p->run;
        seen = p->generation;
        p->busy++;
        g_mutex_unlock(&p->lock);
        take_jobs(r);
        g_mutex_lock(&p->lock);
        if (--p->busy == 0)
            g_cond_signal(&p->done);
    }
    g_mutex_unlock(&p->lock);
    return NULL;
}

struct pool *pool_create(unsigned threads)
{
    if (threads == 0)
        threads = g_get_num_processors();
    struct pool *p = g_malloc0(sizeof *p + (threads - 1) * sizeof *p->threads);
    g_mutex_init(&p->callers);
    g_mutex_init(&p->lock);
    g_cond_init(&p->work);
    g_cond_init(&p->done);
    while (p->count < threads - 1) {
        GThread *thread = g_thread_try_new("pool", work, p, NULL);
        if (!thread)
            break;
        p->threads[p->count++] = thread;
    }
    return p;
}

void pool_destroy(struct pool *p)
{
    if (!p)
        return;
    g_mutex_lock(&p->lock);
    p->closing = true;
    g_cond_broadcast(&p->work);
    g_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->count; i++)
        g_thread_join(p->threads[i]);
    g_cond_clear(&p->work);
    g_cond_clear(&p->done);
    g_mutex_clear(&p->lock);
    g_mutex_clear(&p->callers);
    g_free(p);
}

unsigned pool_threads(const struct pool *p)
{
    return p->count + 1;
}

void pool_run(void *pool, unsigned count, void (*job)(void *context, unsigned index), void *context)
{
    struct pool *p = pool;
    struct run r = {.job = job, .context = context, .count = count};
    g_mutex_lock(&p->callers);
    if (count > 1 && p->count > 0) {
        g_mutex_lock(&p->lock);
        p->run = &r;
        p->generation++;
        g_cond_broadcast(&p->work);
        g_mutex_unlock(&p->lock);
    }
    take_jobs(&r);
    g_mutex_lock(&p->lock);
    p->run = NULL;
    while (p->busy > 0)
        g_cond_wait(&p->done, &p->lock);
    g_mutex_unlock(&p->lock);
    g_mutex_unlock(&p->callers);
}
