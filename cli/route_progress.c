/* SPDX-License-Identifier: BSD-2-Clause */
/* What long work is at, on stderr. */
#include "cli/route_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/pool.h"

#define TERMINAL_US 100000 /* between two lines that are written over */
#define LINES_US 2000000   /* between two lines elsewhere */

struct route_progress {
    struct pool *pool;
    bool shown, terminal;
    char *stage; /* NULL = none */
    GMutex lock; /* of what follows */
    gint64 last_us;
    bool on_line; /* the cursor stands after a line of ours */
};

struct counted {
    struct route_progress *p;
    void (*job)(void *context, unsigned index);
    void *context;
    unsigned count;
    gint done;
};

struct route_progress *route_progress_create(bool asked, unsigned threads)
{
    struct route_progress *p = g_new0(struct route_progress, 1);
    p->pool = pool_create(threads);
    p->terminal = isatty(STDERR_FILENO) == 1;
    p->shown = asked || p->terminal;
    g_mutex_init(&p->lock);
    return p;
}

void route_progress_destroy(struct route_progress *p)
{
    if (p == NULL)
        return;
    route_progress_end(p);
    pool_destroy(p->pool);
    g_mutex_clear(&p->lock);
    g_free(p);
}

unsigned route_progress_threads(const struct route_progress *p)
{
    return pool_threads(p->pool);
}

static void show(struct route_progress *p, unsigned done, unsigned count)
{
    g_autofree char *far = count > 0 ? g_strdup_printf(": %u of %u", done, count) : g_strdup(" ..");
    fprintf(stderr, p->terminal ? "\r%s%s\033[K" : "heddle: %s%s\n", p->stage, far);
    fflush(stderr);
    p->on_line = p->terminal;
    p->last_us = g_get_monotonic_time();
}

void route_progress_stage(struct route_progress *p, const char *format, ...)
{
    va_list ap;
    g_free(p->stage);
    va_start(ap, format);
    p->stage = g_strdup_vprintf(format, ap);
    va_end(ap);
    if (p->shown)
        show(p, 0, 0);
}

void route_progress_end(struct route_progress *p)
{
    if (p->on_line)
        fputs("\r\033[K", stderr);
    p->on_line = false;
    g_clear_pointer(&p->stage, g_free);
}

/* Whoever comes while another thread prints goes on with its work. */
static void tell(struct route_progress *p, unsigned done, unsigned count)
{
    if (!g_mutex_trylock(&p->lock))
        return;
    if (g_get_monotonic_time() - p->last_us > (p->terminal ? TERMINAL_US : LINES_US))
        show(p, done, count);
    g_mutex_unlock(&p->lock);
}

static void run_counted(void *context, unsigned index)
{
    struct counted *c = context;
    c->job(c->context, index);
    tell(c->p, (unsigned)g_atomic_int_add(&c->done, 1) + 1, c->count);
}

void route_progress_run(void *progress, unsigned count, void (*job)(void *context, unsigned index),
                        void *context)
{
    struct route_progress *p = progress;
    struct counted c = {.p = p, .job = job, .context = context, .count = count};
    if (p->shown && p->stage != NULL)
        pool_run(p->pool, count, run_counted, &c);
    else
        pool_run(p->pool, count, job, context);
}
