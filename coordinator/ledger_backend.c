/* SPDX-License-Identifier: BSD-2-Clause */
/* The embedded ledger as a backend: a thread makes the swaps durable. */
#include "coordinator/ledger_backend.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "store/ledger.h"

#define KEY_ASSIGNMENT "assignment"
#define KEY_LIDS "lids"

struct job {
    uint64_t ticket, expected, revision;
    int error;
    bool stop;
    uint8_t *assignment, *lids; /* packed; lids may be NULL */
    size_t assignment_len, lids_len;
};

struct lmdb_backend {
    struct ledger_backend base;
    struct ledger *ledger;
    uint64_t incarnation, lids_revision; /* the latter belongs to the thread once it runs */
    GAsyncQueue *jobs, *finished;
    pthread_t thread;
    int event_fd;
};

static void job_free(void *data)
{
    struct job *j = data;
    g_free(j->assignment);
    g_free(j->lids);
    g_free(j);
}

static uint8_t *pack(const ProtobufCMessage *m, size_t *len)
{
    *len = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = g_malloc(*len + 1);
    protobuf_c_message_pack(m, bytes);
    return bytes;
}

static void run_swap(struct lmdb_backend *b, struct job *j)
{
    struct ledger_change changes[2] = {
        {.key = KEY_ASSIGNMENT,
         .expected = j->expected,
         .value = j->assignment,
         .len = j->assignment_len},
        {.key = KEY_LIDS, .expected = b->lids_revision, .value = j->lids, .len = j->lids_len},
    };
    j->error = ledger_swap(b->ledger, changes, j->lids ? 2 : 1, &j->revision);
    if (j->error == 0 && j->lids)
        b->lids_revision = j->revision;
}

static void *run(void *data)
{
    struct lmdb_backend *b = data;
    for (;;) {
        struct job *j = g_async_queue_pop(b->jobs);
        if (j->stop) {
            job_free(j);
            return NULL;
        }
        run_swap(b, j);
        g_async_queue_push(b->finished, j);
        uint64_t one = 1;
        while (write(b->event_fd, &one, sizeof one) < 0 && errno == EINTR)
            ;
    }
}

static uint64_t backend_incarnation(const struct ledger_backend *base)
{
    return ((const struct lmdb_backend *)base)->incarnation;
}

static int backend_read(struct ledger_backend *base, Heddle__Assignment **assignment,
                        Heddle__LidBackup **lids, uint64_t *revision, char *error,
                        size_t error_size)
{
    struct lmdb_backend *b = (struct lmdb_backend *)base;
    size_t len = 0, lids_len = 0;
    *assignment = NULL;
    *lids = NULL;
    g_autofree uint8_t *bytes = ledger_get(b->ledger, KEY_ASSIGNMENT, &len, revision);
    bool damaged = bytes == NULL && errno != 0;
    g_autofree uint8_t *lids_bytes = ledger_get(b->ledger, KEY_LIDS, &lids_len, &b->lids_revision);
    damaged = damaged || (lids_bytes == NULL && errno != 0);
    if (bytes)
        *assignment = heddle__assignment__unpack(NULL, len, bytes);
    if (lids_bytes)
        *lids = heddle__lid_backup__unpack(NULL, lids_len, lids_bytes);
    if (!damaged && (bytes == NULL || *assignment) && (lids_bytes == NULL || *lids))
        return 0;
    heddle__assignment__free_unpacked(*assignment, NULL);
    heddle__lid_backup__free_unpacked(*lids, NULL);
    *assignment = NULL;
    *lids = NULL;
    snprintf(error, error_size, "the ledger holds a value that cannot be read; restore a backup");
    return EBADMSG;
}

static void backend_submit(struct ledger_backend *base, const Heddle__Assignment *assignment,
                           const Heddle__LidBackup *lids, uint64_t expected, uint64_t ticket)
{
    struct lmdb_backend *b = (struct lmdb_backend *)base;
    struct job *j = g_new0(struct job, 1);
    j->ticket = ticket;
    j->expected = expected;
    j->assignment = pack(&assignment->base, &j->assignment_len);
    if (lids)
        j->lids = pack(&lids->base, &j->lids_len);
    g_async_queue_push(b->jobs, j);
}

static int backend_fd(const struct ledger_backend *base)
{
    return ((const struct lmdb_backend *)base)->event_fd;
}

static bool backend_done(struct ledger_backend *base, uint64_t *ticket, int *error,
                         uint64_t *revision)
{
    struct lmdb_backend *b = (struct lmdb_backend *)base;
    struct job *j = g_async_queue_try_pop(b->finished);
    if (j == NULL) {
        uint64_t count;
        if (read(b->event_fd, &count, sizeof count) < 0)
            return false;
        j = g_async_queue_try_pop(b->finished); /* one may have come before the read */
        if (j == NULL)
            return false;
    }
    *ticket = j->ticket;
    *error = j->error;
    *revision = j->revision;
    job_free(j);
    return true;
}

static void backend_close(struct ledger_backend *base)
{
    struct lmdb_backend *b = (struct lmdb_backend *)base;
    struct job *stop = g_new0(struct job, 1);
    stop->stop = true;
    g_async_queue_push(b->jobs, stop);
    pthread_join(b->thread, NULL);
    g_async_queue_unref(b->jobs);
    g_async_queue_unref(b->finished);
    close(b->event_fd);
    ledger_close(b->ledger);
    g_free(b);
}

static const struct ledger_backend_class lmdb_class = {
    .name = "lmdb",
    .incarnation = backend_incarnation,
    .read = backend_read,
    .submit = backend_submit,
    .fd = backend_fd,
    .done = backend_done,
    .close = backend_close,
};

int ledger_backend_lmdb(const char *dir, const char *cluster, struct ledger_backend **backend,
                        char *error, size_t error_size)
{
    struct store_config config = {.dir = dir, .kind = "ledger", .cluster = cluster};
    struct lmdb_backend *b = g_new0(struct lmdb_backend, 1);
    b->base.class = &lmdb_class;
    int e = ledger_open(&config, &b->ledger, error, error_size);
    if (e) {
        g_free(b);
        return e;
    }
    b->incarnation = ledger_incarnation(b->ledger);
    b->jobs = g_async_queue_new_full(job_free);
    b->finished = g_async_queue_new_full(job_free);
    b->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    e = b->event_fd < 0 ? errno : pthread_create(&b->thread, NULL, run, b);
    if (e) {
        snprintf(error, error_size, "cannot start the ledger's thread: %s", g_strerror(e));
        g_async_queue_unref(b->jobs);
        g_async_queue_unref(b->finished);
        if (b->event_fd >= 0)
            close(b->event_fd);
        ledger_close(b->ledger);
        g_free(b);
        return e;
    }
    *backend = &b->base;
    return 0;
}
