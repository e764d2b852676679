/* SPDX-License-Identifier: BSD-2-Clause */
/* Open ports: descriptors, receive queues and registrations. */
#include "clock.h"
#include "port.h"
#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* All open files by descriptor. A file is freed with its last reference. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *table;

int file_open(struct port *p, struct file **file)
{
    struct file *f = g_new0(struct file, 1);

    f->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (f->fd < 0) {
        int error = errno;
        g_free(f);
        return error;
    }
    f->references = 1;
    f->port = p;
    pthread_mutex_lock(&p->lock);
    g_ptr_array_add(p->files, f);
    if (p->dead)
        file_signal(f);
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_lock(&table_lock);
    if (!table)
        table = g_hash_table_new(NULL, NULL);
    g_hash_table_insert(table, GINT_TO_POINTER(f->fd), f);
    pthread_mutex_unlock(&table_lock);
    *file = f;
    return 0;
}

struct file *file_get(int fd)
{
    struct file *f = NULL;

    pthread_mutex_lock(&table_lock);
    if (table)
        f = g_hash_table_lookup(table, GINT_TO_POINTER(fd));
    if (f)
        f->references++;
    pthread_mutex_unlock(&table_lock);
    return f;
}

void file_put(struct file *f)
{
    bool last;

    pthread_mutex_lock(&table_lock);
    last = --f->references == 0;
    pthread_mutex_unlock(&table_lock);
    if (last)
        g_free(f);
}

unsigned file_count(void)
{
    unsigned n;

    pthread_mutex_lock(&table_lock);
    n = table ? g_hash_table_size(table) : 0;
    pthread_mutex_unlock(&table_lock);
    return n;
}

static void forget_agent(struct file *f, struct match_agent *agent)
{
    struct port *p = f->port;
    g_autoptr(GPtrArray) ended = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, p->requests);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        if (((struct port_request *)value)->agent == agent)
            g_ptr_array_add(ended, value);
    for (guint i = 0; i < ended->len; i++)
        request_end(p, g_ptr_array_index(ended, i));
    transfer_forget_agent(p, agent);
    match_remove(&p->agents, agent);
    f->agents[agent->id] = NULL;
    g_free(agent);
}

void file_close(struct file *f)
{
    struct port *p = f->port;

    pthread_mutex_lock(&table_lock);
    g_hash_table_remove(table, GINT_TO_POINTER(f->fd));
    pthread_mutex_unlock(&table_lock);
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < FILE_MAX_AGENTS; i++)
        if (f->agents[i])
            forget_agent(f, f->agents[i]);
    g_ptr_array_remove(p->files, f);
    f->closed = true;
    file_signal(f);
    for (GList *l; (l = g_queue_pop_head_link(&f->received));)
        g_free(l->data);
    close(f->fd);
    pthread_mutex_unlock(&p->lock);
    file_put(f);
}

int file_register(struct file *f, struct match_agent *agent)
{
    struct match_agent *kept;
    int error;

    for (uint32_t id = 0; id < FILE_MAX_AGENTS; id++) {
        if (f->agents[id])
            continue;
        agent->id = id;
        agent->owner = f;
        kept = g_memdup2(agent, sizeof *agent);
        error = match_add(&f->port->agents, kept);
        if (error)
            g_free(kept);
        else
            f->agents[id] = kept;
        return error;
    }
    return ENOMEM;
}

int file_unregister(struct file *f, uint32_t id)
{
    if (id >= FILE_MAX_AGENTS || !f->agents[id])
        return EINVAL;
    forget_agent(f, f->agents[id]);
    return 0;
}

void file_signal(struct file *f)
{
    uint64_t one = 1;

    if (!f->signalled && write(f->fd, &one, sizeof one) == sizeof one)
        f->signalled = true;
}

void file_deliver(struct file *f, uint32_t agent, uint32_t status, const ib_mad_addr_t *address,
                  const uint8_t *mad, size_t length)
{
    struct file_item *item;

    if (f->received.length >= FILE_MAX_RECEIVED) {
        if (f->dropped++ == 0)
            fprintf(stderr, "heddle-umad: receive queue full, MADs are dropped\n");
        return;
    }
    item = g_malloc(sizeof *item + length);
    item->queued = (GList){.data = item};
    item->agent = agent;
    item->status = status;
    item->address = *address;
    item->length = length;
    memcpy(item->mad, mad, length);
    g_queue_push_tail_link(&f->received, &item->queued);
    f->has_news = true;
}

/* Readers need the lock at once: they are woken when its holder is about to be done. */
void port_announce(struct port *p)
{
    for (guint i = 0; i < p->files->len; i++) {
        struct file *f = g_ptr_array_index(p->files, i);
        if (f->has_news)
            file_signal(f);
        f->has_news = false;
    }
}

static void clear_signal(struct file *f)
{
    uint64_t count;

    if (f->received.length == 0 && f->signalled && !f->port->dead &&
        read(f->fd, &count, sizeof count) == sizeof count)
        f->signalled = false;
}

static void fill_umad(struct ib_user_mad *umad, const struct file_item *item, size_t room)
{
    umad->agent_id = item->agent;
    umad->status = item->status;
    umad->timeout_ms = 0;
    umad->retries = 0;
    umad->length = (uint32_t)(sizeof *umad + item->length);
    umad->addr = item->address;
    memcpy(umad->data, item->mad, MIN(room, item->length));
}

int file_read(struct file *f, struct ib_user_mad *umad, size_t room, size_t *length)
{
    struct port *p = f->port;
    GList *first;
    int error = 0;

    pthread_mutex_lock(&p->lock);
    first = f->received.head;
    if (f->closed) {
        error = EBADF;
    } else if (!first) {
        error = p->dead ? EIO : EAGAIN;
    } else {
        struct file_item *item = first->data;
        *length = item->length;
        /* The kernel shows the first segment of what does not fit. */
        fill_umad(umad, item, MIN(room, MAX(item->length, (size_t)MAD_BYTES)));
        if (item->length > room) {
            error = ENOSPC;
        } else {
            g_queue_unlink(&f->received, first);
            g_free(item);
            clear_signal(f);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return error;
}

void file_abandon_all(void)
{
    pthread_mutex_init(&table_lock, NULL);
    table = NULL;
}
