/* SPDX-License-Identifier: BSD-2-Clause */
/* A local port through libibumad: sending and the thread that receives. */
#include "shard/mad/umad_port.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <glib.h>
#include <infiniband/umad.h>

#include "shard/mad/umad_open.h"

#define DEFAULT_QUEUE 8192u
#define FIRST_BUFFER_BYTES 4096u
#define MAX_MAD_BYTES (4u << 20) /* a reassembled request; more is read and dropped */
#define MAD_HEADER_BYTES 24u
#define GSI_QKEY 0x80010000u
#define RMPP_RETRIES 3 /* of segments, by the kernel */
#define SEGMENT_TIMEOUT_MS 2000u

struct slot {
    uint8_t mad[MAD_BYTES];
    uint8_t *big; /* instead, when it is longer */
    size_t len;
    struct mad_address from;
    bool failed;
};

struct mad_port {
    struct mad_handle h;
    int wake_fd, stop_fd;
    pthread_t thread;
    size_t queue_length;
    uint8_t *send_buffer;
    size_t send_size;

    pthread_mutex_t lock; /* of what follows */
    GArray *incoming;     /* struct slot */
    bool lost;
    struct mad_port_counters counters;

    GArray *batch; /* the loop's; swapped with incoming */
};

/* -- the thread -------------------------------------------------------------------------------- */

static void signal_fd(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof(one));
    (void)n; /* EAGAIN: it is readable already */
}

static struct mad_address address_of(void *umad)
{
    const ib_mad_addr_t *a = umad_get_mad_addr(umad);
    return (struct mad_address){.lid = ntohs(a->lid),
                                .sl = a->sl,
                                .path_bits = a->path_bits,
                                .qpn = ntohl(a->qpn),
                                .qkey = ntohl(a->qkey),
                                .pkey_index = a->pkey_index};
}

static void enqueue(struct mad_port *p, void *umad, size_t len)
{
    struct slot s = {.failed = umad_status(umad) != 0, .from = address_of(umad)};
    /* Of an unanswered request the kernel gives the header back only. */
    bool malformed = len > MAX_MAD_BYTES || len < (s.failed ? MAD_HEADER_BYTES : MAD_BYTES);
    s.len = MAX(len, MAD_BYTES);
    pthread_mutex_lock(&p->lock);
    bool first = p->incoming->len == 0;
    if (malformed) {
        p->counters.dropped_malformed++;
    } else if (p->incoming->len >= p->queue_length) {
        p->counters.dropped_full++;
    } else {
        if (len <= MAD_BYTES)
            memcpy(s.mad, umad_get_mad(umad), len);
        else
            s.big = g_memdup2(umad_get_mad(umad), len);
        g_array_append_val(p->incoming, s);
        p->counters.received++;
        p->counters.failed += s.failed;
    }
    pthread_mutex_unlock(&p->lock);
    if (first)
        signal_fd(p->wake_fd);
}

static void set_lost(struct mad_port *p)
{
    pthread_mutex_lock(&p->lock);
    p->lost = true;
    pthread_mutex_unlock(&p->lock);
    signal_fd(p->wake_fd);
}

/* Reads until nothing is left. False when the device is gone. */
static bool read_all(struct mad_port *p, void **umad, size_t *size)
{
    for (;;) {
        int length = (int)*size;
        int rc = umad_recv(p->h.fd, *umad, &length, 0);
        if (rc >= 0) {
            enqueue(p, *umad, length > 0 ? (size_t)length : 0);
            continue;
        }
        int e = errno;
        if (e == EAGAIN || e == EWOULDBLOCK || e == ETIMEDOUT || e == EINTR)
            return true;
        if (e != ENOSPC || length <= (int)*size)
            return false;
        /* The kernel keeps a long message until the buffer is large enough. */
        *size = (size_t)length;
        g_free(*umad);
        *umad = g_malloc0(umad_size() + *size);
    }
}

static void *receive_thread(void *arg)
{
    struct mad_port *p = arg;
    size_t size = FIRST_BUFFER_BYTES;
    void *umad = g_malloc0(umad_size() + size);
    struct pollfd fds[2] = {{.fd = umad_get_fd(p->h.fd), .events = POLLIN},
                            {.fd = p->stop_fd, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents != 0)
            break;
        if ((fds[0].revents & POLLIN) != 0 && !read_all(p, &umad, &size)) {
            set_lost(p);
            break;
        }
        if ((fds[0].revents & POLLIN) == 0 &&
            (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
            set_lost(p);
            break;
        }
    }
    g_free(umad);
    return NULL;
}

/* -- opening ----------------------------------------------------------------------------------- */

int mad_port_open(const struct mad_port_config *config, struct mad_port **port, char *error,
                  size_t error_size)
{
    struct mad_handle h;
    int rc = mad_handle_open(config, &h, error, error_size);
    if (rc != 0)
        return rc;
    struct mad_port *p = g_new0(struct mad_port, 1);
    p->h = h;
    p->queue_length = config->queue_length ? config->queue_length : DEFAULT_QUEUE;
    p->incoming = g_array_new(FALSE, FALSE, sizeof(struct slot));
    p->batch = g_array_new(FALSE, FALSE, sizeof(struct slot));
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&p->lock, NULL);
    rc = p->wake_fd < 0 || p->stop_fd < 0 ? errno
                                          : pthread_create(&p->thread, NULL, receive_thread, p);
    if (rc != 0) {
        snprintf(error, error_size, "cannot start the receive thread: %s", strerror(rc));
        p->thread = 0;
        mad_port_close(p);
        return rc;
    }
    *port = p;
    return 0;
}

static void free_slots(GArray *slots)
{
    for (guint i = 0; i < slots->len; i++)
        g_free(g_array_index(slots, struct slot, i).big);
    g_array_free(slots, TRUE);
}

void mad_port_close(struct mad_port *p)
{
    if (p == NULL)
        return;
    if (p->thread != 0) {
        signal_fd(p->stop_fd);
        pthread_join(p->thread, NULL);
    }
    mad_handle_close(&p->h);
    if (p->wake_fd >= 0)
        close(p->wake_fd);
    if (p->stop_fd >= 0)
        close(p->stop_fd);
    pthread_mutex_destroy(&p->lock);
    free_slots(p->incoming);
    free_slots(p->batch);
    g_free(p->send_buffer);
    g_free(p);
}

const char *mad_port_device(const struct mad_port *p)
{
    return p->h.device;
}

unsigned mad_port_number(const struct mad_port *p)
{
    return p->h.number;
}

uint64_t mad_port_guid(const struct mad_port *p)
{
    return p->h.guid;
}

/* -- the loop's side --------------------------------------------------------------------------- */

static int agent_of(const struct mad_port *p, unsigned class)
{
    switch (class) {
    case SMP_CLASS_LID:
        return p->h.smi_lid_agent;
    case SMP_CLASS_DR:
        return p->h.smi_dr_agent;
    case SA_CLASS:
        return p->h.sa_agent;
    default:
        return -1;
    }
}

int mad_port_send(struct mad_port *p, const uint8_t *mad, size_t len, const struct mad_address *to,
                  uint32_t timeout_ms, bool rmpp)
{
    int agent = len >= MAD_BYTES || rmpp ? agent_of(p, mad_class(mad)) : -1;
    if (agent < 0)
        return EINVAL;
    if (p->send_size < len) {
        p->send_size = MAX(len, FIRST_BUFFER_BYTES);
        g_free(p->send_buffer);
        p->send_buffer = g_malloc(umad_size() + p->send_size);
    }
    memset(p->send_buffer, 0, umad_size());
    bool smp = agent != p->h.sa_agent;
    umad_set_addr(p->send_buffer, to->lid, smp ? 0 : (int)to->qpn, to->sl, smp ? 0 : (int)GSI_QKEY);
    umad_set_pkey(p->send_buffer, smp ? 0 : to->pkey_index);
    umad_get_mad_addr(p->send_buffer)->path_bits = to->path_bits;
    memcpy(umad_get_mad(p->send_buffer), mad, len);
    int rc = umad_send(p->h.fd, agent, p->send_buffer, (int)len,
                       rmpp ? (int)SEGMENT_TIMEOUT_MS : (int)timeout_ms, rmpp ? RMPP_RETRIES : 0);
    if (rc == 0)
        return 0;
    int e = errno != 0 ? errno : EIO;
    pthread_mutex_lock(&p->lock);
    p->counters.send_errors++;
    if (e == ENODEV)
        p->lost = true;
    pthread_mutex_unlock(&p->lock);
    return e;
}

int mad_port_fd(const struct mad_port *p)
{
    return p->wake_fd;
}

size_t mad_port_receive(struct mad_port *p, void (*f)(void *user, const struct mad_received *m),
                        void *user)
{
    uint64_t count;
    ssize_t n = read(p->wake_fd, &count, sizeof(count));
    (void)n;
    pthread_mutex_lock(&p->lock);
    GArray *batch = p->incoming;
    p->incoming = p->batch;
    pthread_mutex_unlock(&p->lock);
    p->batch = batch;
    for (guint i = 0; i < batch->len; i++) {
        struct slot *s = &g_array_index(batch, struct slot, i);
        struct mad_received m = {.mad = s->big != NULL ? s->big : s->mad,
                                 .len = s->len,
                                 .from = s->from,
                                 .failed = s->failed};
        f(user, &m);
        g_clear_pointer(&s->big, g_free);
    }
    size_t handled = batch->len;
    g_array_set_size(batch, 0);
    return handled;
}

bool mad_port_lost(struct mad_port *p)
{
    pthread_mutex_lock(&p->lock);
    bool lost = p->lost;
    pthread_mutex_unlock(&p->lock);
    return lost;
}

struct mad_port_counters mad_port_counters(struct mad_port *p)
{
    pthread_mutex_lock(&p->lock);
    struct mad_port_counters c = p->counters;
    pthread_mutex_unlock(&p->lock);
    return c;
}
