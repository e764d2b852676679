/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that run routing jobs. */
#include "shard/shell_routes.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define THREADS 2

struct shell_routes {
    GThreadPool *pool;
    GAsyncQueue *done;    /* struct route_result */
    atomic_bool stopping; /* jobs that wait are dropped */
    /* What GLib's locks order already; thread checkers do not see into GLib, but see these. */
    atomic_uint handed_over, finished;
    int event_fd;
};

static void run(void *data, void *user)
{
    struct route_job *job = data;
    struct shell_routes *r = user;
    (void)atomic_load_explicit(&r->handed_over, memory_order_acquire);
    struct route_result *result = NULL;
    if (!atomic_load(&r->stopping))
        result = route_job_run(job);
    route_job_free(job);
    atomic_fetch_add_explicit(&r->finished, 1, memory_order_release);
    if (result != NULL)
        g_async_queue_push(r->done, result);
    uint64_t one = 1;
    ssize_t n = write(r->event_fd, &one, sizeof(one));
    (void)n;
}

struct shell_routes *shell_routes_create(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct shell_routes *r = g_new0(struct shell_routes, 1);
    r->event_fd = fd;
    r->done = g_async_queue_new();
    /* Exclusive threads are started now, with the signal mask of the caller. */
    r->pool = g_thread_pool_new(run, r, THREADS, TRUE, NULL);
    if (r->pool == NULL) {
        shell_routes_destroy(r);
        errno = EAGAIN;
        return NULL;
    }
    return r;
}

void shell_routes_destroy(struct shell_routes *r)
{
    if (r == NULL)
        return;
    atomic_store(&r->stopping, true);
    if (r->pool != NULL)
        g_thread_pool_free(r->pool, FALSE, TRUE);
    for (struct route_result *x; (x = g_async_queue_try_pop(r->done)) != NULL;)
        route_result_free(x);
    g_async_queue_unref(r->done);
    close(r->event_fd);
    g_free(r);
}

void shell_routes_submit(struct shell_routes *r, struct route_job *job)
{
    atomic_fetch_add_explicit(&r->handed_over, 1, memory_order_release);
    g_thread_pool_push(r->pool, job, NULL);
}

int shell_routes_fd(const struct shell_routes *r)
{
    return r->event_fd;
}

struct route_result *shell_routes_done(struct shell_routes *r)
{
    uint64_t count;
    ssize_t n = read(r->event_fd, &count, sizeof(count));
    (void)n;
    struct route_result *result = g_async_queue_try_pop(r->done);
    (void)atomic_load_explicit(&r->finished, memory_order_acquire);
    return result;
}
