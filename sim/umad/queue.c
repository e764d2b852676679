/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests in flight and the queues of packets to be sent. The port's lock is held throughout. */
#include "clock.h"
#include "madlog.h"
#include "port.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* With no more requests than this on the way, a caller sends by itself. */
enum { FEW_ON_THE_WAY = 4 };

#define KEY_MASK 0xffffffffffffull

uint64_t request_key(const uint8_t *mad)
{
    return mad_tid(mad) & KEY_MASK;
}

bool request_exists(const struct port *p, uint64_t key)
{
    return g_hash_table_contains(p->requests, &key);
}

struct port_request *request_find(const struct port *p, const uint8_t *mad)
{
    uint64_t key = request_key(mad);
    struct port_request *r = g_hash_table_lookup(p->requests, &key);

    return r && r->agent->class == mad_class(mad) ? r : NULL;
}

struct port_request *request_new(struct port *p, struct match_agent *agent, uint64_t caller_tid,
                                 const ib_mad_addr_t *address, int timeout_ms, int retries)
{
    struct port_request *r = g_new0(struct port_request, 1);

    r->tx.queued.data = &r->tx;
    r->tx.request = r;
    r->key = (uint64_t)agent->uid << 32 | (caller_tid & 0xffffffff);
    r->order = ++p->last_order;
    r->caller_tid = caller_tid;
    r->agent = agent;
    r->address = *address;
    r->timeout_ns = timeout_ms * CLOCK_NS_A_MS;
    r->deadline = CLOCK_NEVER;
    r->retries_left = retries > 0 ? (unsigned)retries : 0;
    g_hash_table_insert(p->requests, &r->key, r);
    return r;
}

static GQueue *queue_of(struct port *p, const struct port_tx *tx)
{
    return tx->request && tx->request->windowed ? &p->windowed : &p->unlimited;
}

static void leave_way(struct port *p, struct port_request *r)
{
    if (r->on_the_way)
        p->on_the_way--;
    r->on_the_way = false;
}

void request_end(struct port *p, struct port_request *r)
{
    if (r->tx.is_queued)
        g_queue_unlink(queue_of(p, &r->tx), &r->tx.queued);
    leave_way(p, r);
    g_hash_table_remove(p->requests, &r->key);
    g_free(r);
}

void request_expect(struct port *p, struct port_request *r, int64_t now)
{
    r->deadline = now + r->timeout_ns;
    p->first_deadline = MIN(p->first_deadline, r->deadline);
}

void request_bounced(struct port *p, struct port_request *r)
{
    leave_way(p, r);
}

/* As the kernel does: the caller gets the header of its request back, with a status. */
static void time_out(struct port *p, struct port_request *r, int64_t now)
{
    uint8_t *mad = r->tx.packet.mad;

    madlog_add(MADLOG_TIMEOUT, now, mad, wire_packet_dlid(&r->tx.packet));
    mad_set_tid(mad, r->caller_tid);
    file_deliver(r->agent->owner, r->agent->id, ETIMEDOUT, &r->address, mad, MAD_HEADER_BYTES);
    request_end(p, r);
}

static gint by_deadline(gconstpointer a, gconstpointer b)
{
    const struct port_request *x = *(struct port_request *const *)a;
    const struct port_request *y = *(struct port_request *const *)b;

    if (x->deadline != y->deadline)
        return x->deadline < y->deadline ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* The requests due by `now`, in order; also finds the next deadline. */
static GPtrArray *collect_due(struct port *p, int64_t now)
{
    GPtrArray *due = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    p->first_deadline = CLOCK_NEVER;
    g_hash_table_iter_init(&iter, p->requests);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct port_request *r = value;
        if (r->deadline <= now)
            g_ptr_array_add(due, r);
        else
            p->first_deadline = MIN(p->first_deadline, r->deadline);
    }
    g_ptr_array_sort(due, by_deadline);
    return due;
}

void request_expire_due(struct port *p, int64_t now)
{
    g_autoptr(GPtrArray) due = NULL;

    if (now < p->first_deadline)
        return;
    due = collect_due(p, now);
    for (guint i = 0; i < due->len; i++) {
        struct port_request *r = g_ptr_array_index(due, i);
        leave_way(p, r);
        if (r->retries_left == 0) {
            time_out(p, r, now);
            continue;
        }
        r->retries_left--;
        r->deadline = CLOCK_NEVER;
        queue_request(p, r);
    }
}

void port_die(struct port *p)
{
    g_autoptr(GPtrArray) all = NULL;
    int64_t now = clock_ns();

    if (p->dead)
        return;
    p->dead = true;
    fprintf(stderr, "heddle-umad: simulator at %s has gone\n", p->link.where);
    all = collect_due(p, CLOCK_NEVER);
    for (guint i = 0; i < all->len; i++)
        time_out(p, g_ptr_array_index(all, i), now);
    for (guint i = 0; i < p->files->len; i++)
        file_signal(g_ptr_array_index(p->files, i));
}

static void enqueue(struct port *p, struct port_tx *tx)
{
    if (tx->is_queued)
        return;
    tx->is_queued = true;
    g_queue_push_tail_link(queue_of(p, tx), &tx->queued);
}

void queue_packet(struct port *p, const struct wire_packet *packet)
{
    struct port_tx *tx = g_new0(struct port_tx, 1);

    tx->queued.data = tx;
    tx->packet = *packet;
    enqueue(p, tx);
}

void queue_request(struct port *p, struct port_request *r)
{
    enqueue(p, &r->tx);
}

/* The packet goes to the socket next: from now on its time counts. */
static void put_in_outbox(struct port *p, struct port_tx *tx, int64_t now)
{
    struct port_request *r = tx->request;

    g_queue_unlink(queue_of(p, tx), &tx->queued);
    tx->is_queued = false;
    madlog_add(MADLOG_TX, now, tx->packet.mad, wire_packet_dlid(&tx->packet));
    p->outbox[p->outbox_used++] = tx->packet;
    if (!r) {
        g_free(tx);
        return;
    }
    request_expect(p, r, now);
    if (r->windowed) {
        r->on_the_way = true;
        p->on_the_way++;
    }
}

/* Is there something to send? Refills the outbox where it is empty. */
static bool fill_outbox(struct port *p)
{
    int64_t now;

    if (p->outbox_sent < p->outbox_used)
        return true;
    p->outbox_sent = p->outbox_used = 0;
    now = clock_ns();
    while (p->unlimited.head && p->outbox_used < PORT_OUTBOX)
        put_in_outbox(p, p->unlimited.head->data, now);
    while (p->windowed.head && p->outbox_used < PORT_OUTBOX && p->on_the_way < p->window)
        put_in_outbox(p, p->windowed.head->data, now);
    return p->outbox_used > 0;
}

/* Without the lock. 0, EAGAIN, or what says that the simulator has gone. */
static int send_outbox(struct port *p)
{
    struct mmsghdr messages[PORT_OUTBOX];
    struct iovec vectors[PORT_OUTBOX];
    unsigned n = p->outbox_used - p->outbox_sent;
    int sent;

    for (unsigned i = 0; i < n; i++) {
        struct wire_packet *packet = &p->outbox[p->outbox_sent + i];
        vectors[i] = (struct iovec){packet, sizeof *packet};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
    }
    sent = sendmmsg(p->link.data, messages, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return errno == EINTR ? 0 : errno == ENOBUFS ? EAGAIN : errno;
    p->outbox_sent += (unsigned)sent;
    return (unsigned)sent < n ? EAGAIN : 0;
}

static void wake_thread(struct port *p)
{
    uint64_t one = 1;

    if (p->sleeps_until && write(p->wake, &one, sizeof one) == sizeof one)
        p->sleeps_until = 0;
}

void queue_flush(struct port *p)
{
    if (p->sending)
        return;
    p->sending = true;
    p->blocked = false;
    while (!p->dead && !p->blocked && fill_outbox(p)) {
        int error;
        pthread_mutex_unlock(&p->lock);
        error = send_outbox(p);
        pthread_mutex_lock(&p->lock);
        p->blocked = error == EAGAIN;
        if (error && error != EAGAIN)
            port_die(p);
    }
    p->sending = false;
    if ((p->blocked && !p->sleeps_for_output) || p->first_deadline < p->sleeps_until)
        wake_thread(p);
}

void queue_flush_soon(struct port *p)
{
    if (p->sending || p->blocked)
        return; /* who sends, or waits for room, takes it along */
    if (p->on_the_way <= FEW_ON_THE_WAY)
        queue_flush(p);
    else
        wake_thread(p);
}
