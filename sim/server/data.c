/* SPDX-License-Identifier: BSD-2-Clause */
/* Data sockets: packets from and to clients, in batches. */
#include "sim/server/server.h"

#include <errno.h>
#include <unistd.h>

enum {
    SEND_BUFFER_BYTES = 512 << 10,
    RECEIVE_BUFFER_BYTES = 2 << 20,
    /* So many packets of one client are answered one by one. A manager that has four SMPs in flight
     * so works on the first answer while the second is made; together they would cost less and
     * come later. */
    ANSWERED_AT_ONCE = 4,
};

static bool means_later(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == EINTR;
}

void data_start(struct server *s)
{
    for (int i = 0; i < DATA_BATCH; i++) {
        s->receiving.vectors[i] = (struct iovec){&s->input[i], sizeof s->input[i]};
        s->sending.vectors[i].iov_len = sizeof(struct wire_packet);
        s->receiving.messages[i].msg_hdr =
            (struct msghdr){.msg_iov = &s->receiving.vectors[i], .msg_iovlen = 1};
        s->sending.messages[i].msg_hdr =
            (struct msghdr){.msg_iov = &s->sending.vectors[i], .msg_iovlen = 1};
    }
}

/* One batch only: others wait, too. */
static void receive(struct server *s, struct client *c)
{
    const struct mmsghdr *m = s->receiving.messages;
    struct sim_packet packet;
    int n = recvmmsg(c->watch.fd, s->receiving.messages, DATA_BATCH, MSG_DONTWAIT, NULL);

    if (n < 0) {
        if (!means_later(errno))
            ctl_detach(s, c, "its socket is gone");
        return;
    }
    for (int i = 0; i < n && c->attached; i++) {
        if (m[i].msg_len != sizeof s->input[i] || (m[i].msg_hdr.msg_flags & MSG_TRUNC))
            c->malformed++;
        else if (clients_take(c, &s->input[i], &packet))
            sim_send(s->sim, c->node, c->port, &packet, server_now(s));
        if (n <= ANSWERED_AT_ONCE)
            data_flush(s);
    }
}

/* Returns an errno that says that the client is gone, or 0. */
static int send_some(struct server *s, struct client *c)
{
    while (c->outbox.used) {
        unsigned n = MIN(c->outbox.used, (uint32_t)DATA_BATCH);
        int sent;
        for (unsigned i = 0; i < n; i++)
            s->sending.vectors[i].iov_base = outbox_at(&c->outbox, i);
        sent = sendmmsg(c->watch.fd, s->sending.messages, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && !means_later(errno))
            return errno;
        if (sent > 0) {
            c->sent += (unsigned)sent;
            outbox_take(&c->outbox, (uint32_t)sent);
        }
        if (sent < (int)n) { /* no room, or an error that the next call will tell */
            loop_change(&s->loop, &c->watch, EPOLLIN | EPOLLOUT);
            return 0;
        }
    }
    loop_change(&s->loop, &c->watch, EPOLLIN);
    return 0;
}

static bool is_blocked(const struct client *c)
{
    return c->watch.events & EPOLLOUT;
}

static void flush(struct server *s, struct client *c)
{
    if (c->attached && send_some(s, c))
        ctl_detach(s, c, "its socket is gone");
}

void data_flush(struct server *s)
{
    /* Detaching may give others something to send: a trap about IsSM. */
    for (guint i = 0; i < s->clients.dirty->len; i++) {
        struct client *c = s->clients.dirty->pdata[i];
        c->is_dirty = false;
        if (!is_blocked(c))
            flush(s, c);
    }
    g_ptr_array_set_size(s->clients.dirty, 0);
}

static void on_ready(struct watch *w, uint32_t events)
{
    struct client *c = (struct client *)w;
    struct server *s = w->user;

    if (events & EPOLLOUT)
        flush(s, c);
    if (c->attached && (events & ~(uint32_t)EPOLLOUT))
        receive(s, c);
}

static void set_buffer(int fd, int forced, int plain, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof bytes);
}

int data_open(struct server *s, struct client *c)
{
    const struct options *o = s->options;
    bool udp = c->kind == ADDRESS_UDP;
    struct address own;
    int fd, error;

    if (udp)
        address_udp(&own, o->udp_address, (uint16_t)(o->udp_port + c->slot + 1));
    else
        address_local(&own, c->kind, o->name, "out", c->slot);
    fd = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER_BYTES);
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, RECEIVE_BUFFER_BYTES);
    c->watch = (struct watch){.fd = fd, .events = EPOLLIN, .ready = on_ready, .user = s};
    if (bind(fd, &own.any, own.length) == 0 && connect(fd, &c->data.any, c->data.length) == 0)
        error = loop_add(&s->loop, &c->watch);
    else
        error = errno;
    if (error) {
        close(fd);
        c->watch.fd = -1;
    }
    return error;
}

void data_close(struct server *s, struct client *c)
{
    loop_remove(&s->loop, &c->watch);
    close(c->watch.fd);
    c->watch.fd = -1;
}

static bool is_loopback(const struct address *a)
{
    return ntohl(a->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* A local name that nobody holds refuses a connection (one that is held by somebody connected
 * elsewhere does it with EPERM). A port of this machine that nobody holds can be bound; whether
 * another machine's is there only a send can tell. */
bool data_is_alive(const struct client *c)
{
    bool udp = c->kind == ADDRESS_UDP, alive;
    int fd;

    if (udp && !is_loopback(&c->data))
        return true;
    fd = socket(c->data.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    if (udp)
        alive = bind(fd, &c->data.any, c->data.length) != 0;
    else
        alive = connect(fd, &c->data.any, c->data.length) == 0 || errno != ECONNREFUSED;
    close(fd);
    return alive;
}

void data_look(struct server *s)
{
    for (guint i = s->clients.active->len; i-- > 0;) {
        struct client *c = s->clients.active->pdata[i];
        if (!data_is_alive(c))
            ctl_detach(s, c, "it has ended");
        else if (is_blocked(c))
            flush(s, c);
    }
}
