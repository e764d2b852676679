/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that commits: takes all batches that wait, in order, into one transaction. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "store/internal.h"

struct job {
    struct store_batch *batch;
    uint64_t ticket;
};

struct done {
    uint64_t ticket;
    int error;
};

struct store_writer {
    struct store *store;
    size_t max_queued;
    int event_fd;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    GArray *waiting; /* struct job */
    GArray *done;    /* struct done, from done_next on */
    guint done_next;
    bool stopping;
};

/* One transaction for all. When it fails, each batch alone, so that only the faulty one is
 * refused. */
static void commit_jobs(struct store_writer *w, const GArray *jobs, struct done *results)
{
    g_autofree const struct store_batch **batches = g_new0(const struct store_batch *, jobs->len);
    for (guint i = 0; i < jobs->len; i++) {
        batches[i] = g_array_index(jobs, struct job, i).batch;
    }
    int rc = store_commit_all(w->store, batches, jobs->len);
    for (guint i = 0; i < jobs->len; i++) {
        results[i].ticket = g_array_index(jobs, struct job, i).ticket;
        results[i].error = rc == 0 || jobs->len == 1 ? rc : store_commit(w->store, batches[i]);
    }
}

static void report(struct store_writer *w, const struct done *results, guint count)
{
    uint64_t one = 1;
    pthread_mutex_lock(&w->mutex);
    g_array_append_vals(w->done, results, count);
    pthread_mutex_unlock(&w->mutex);
    if (write(w->event_fd, &one, sizeof(one)) < 0) {
        /* Only a full counter (2^64 - 1) can refuse, and then the descriptor is readable. */
        return;
    }
}

static void *run(void *data)
{
    struct store_writer *w = data;
    for (;;) {
        pthread_mutex_lock(&w->mutex);
        while (w->waiting->len == 0 && !w->stopping) {
            pthread_cond_wait(&w->wake, &w->mutex);
        }
        GArray *jobs = w->waiting;
        w->waiting = g_array_new(FALSE, FALSE, sizeof(struct job));
        pthread_mutex_unlock(&w->mutex);
        guint count = jobs->len;
        if (count > 0) {
            g_autofree struct done *results = g_new0(struct done, count);
            commit_jobs(w, jobs, results);
            report(w, results, count);
        }
        for (guint i = 0; i < count; i++) {
            store_batch_destroy(g_array_index(jobs, struct job, i).batch);
        }
        g_array_free(jobs, TRUE);
        if (count == 0) {
            return NULL; /* stopping, and nothing waits */
        }
    }
}

static void release(struct store_writer *w)
{
    close(w->event_fd);
    g_array_free(w->waiting, TRUE);
    g_array_free(w->done, TRUE);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->wake);
    g_free(w);
}

struct store_writer *store_writer_create(struct store *s, size_t max_queued)
{
    int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_fd < 0) {
        return NULL;
    }
    struct store_writer *w = g_new0(struct store_writer, 1);
    w->store = s;
    w->max_queued = max_queued;
    w->event_fd = event_fd;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->waiting = g_array_new(FALSE, FALSE, sizeof(struct job));
    w->done = g_array_new(FALSE, FALSE, sizeof(struct done));
    int rc = pthread_create(&w->thread, NULL, run, w);
    if (rc != 0) {
        release(w);
        errno = rc;
        return NULL;
    }
    return w;
}

void store_writer_destroy(struct store_writer *w)
{
    if (w == NULL) {
        return;
    }
    pthread_mutex_lock(&w->mutex);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    release(w);
}

int store_writer_submit(struct store_writer *w, struct store_batch *b, uint64_t ticket)
{
    struct job job = {.batch = b, .ticket = ticket};
    pthread_mutex_lock(&w->mutex);
    bool full = w->waiting->len >= w->max_queued;
    if (!full) {
        g_array_append_val(w->waiting, job);
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->mutex);
    return full ? EAGAIN : 0;
}

int store_writer_fd(const struct store_writer *w)
{
    return w->event_fd;
}

bool store_writer_done(struct store_writer *w, uint64_t *ticket, int *error)
{
    uint64_t count;
    pthread_mutex_lock(&w->mutex);
    bool found = w->done_next < w->done->len;
    if (found) {
        const struct done *d = &g_array_index(w->done, struct done, w->done_next);
        *ticket = d->ticket;
        *error = d->error;
        w->done_next++;
    } else {
        g_array_set_size(w->done, 0);
        w->done_next = 0;
    }
    pthread_mutex_unlock(&w->mutex);
    if (!found && read(w->event_fd, &count, sizeof(count)) > 0) {
        /* A completion may have come between the look and the read: look again, now that the
         * descriptor is quiet. */
        return store_writer_done(w, ticket, error);
    }
    return found;
}
