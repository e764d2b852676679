/* SPDX-License-Identifier: BSD-2-Clause */
/* A port: attaching, its thread, and what becomes of packets received and MADs sent. */
#include "port.h"
#include "clock.h"
#include "madlog.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    RECEIVE_BATCH = 64,
    NODE_INFO_LOCAL_PORT = 36,
    MANY_ON_THE_WAY = 16,
    TIMER_SLACK_NS = 1000,
};

#define PROBE_INTERVAL_NS (500 * CLOCK_NS_A_MS)
/* While many are on the way the thread lets some answers gather before it takes them: at 15 us of
 * the simulator's time for each, the socket holds ten. */
#define GATHER_NS (100 * 1000)

void port_source(const struct wire_packet *packet, ib_mad_addr_t *address)
{
    memset(address, 0, sizeof *address);
    address->qpn = packet->sqp;
    address->lid = (uint16_t)packet->slid;
}

/* The simulator gives back what it cannot deliver. The kernel would know nothing of that and wait
 * for the time-out; so do we. */
static void on_bounce(struct port *p, const struct wire_packet *packet)
{
    struct port_request *r = request_find(p, packet->mad);

    if (r && !mad_is_response(packet->mad))
        request_bounced(p, r);
}

static void on_response(struct port *p, struct match_agent *agent, const struct wire_packet *packet)
{
    struct port_request *r = request_find(p, packet->mad);
    ib_mad_addr_t address;
    uint8_t mad[MAD_BYTES];

    if (!r) {
        p->unclaimed++;
        return;
    }
    memcpy(mad, packet->mad, sizeof mad);
    mad_set_tid(mad, r->caller_tid);
    request_end(p, r);
    port_source(packet, &address);
    file_deliver(agent->owner, agent->id, 0, &address, mad, sizeof mad);
}

static void on_packet(struct port *p, const struct wire_packet *packet, int64_t now)
{
    struct match_agent *agent;
    ib_mad_addr_t address;

    if (wire_packet_status(packet)) {
        on_bounce(p, packet);
        return;
    }
    madlog_add(MADLOG_RX, now, packet->mad, wire_packet_slid(packet));
    agent = match_find(&p->agents, packet->mad);
    if (!agent) {
        p->unclaimed++;
        return;
    }
    if (agent->rmpp && rmpp_is_active(packet->mad)) {
        transfer_input(p, agent, packet, now);
    } else if (mad_is_response(packet->mad)) {
        on_response(p, agent, packet);
    } else {
        port_source(packet, &address);
        file_deliver(agent->owner, agent->id, 0, &address, packet->mad, MAD_BYTES);
    }
}

/* Take everything that has come. Returns false when the socket reports that the peer is gone. */
static bool receive_all(struct port *p, struct wire_packet *packets)
{
    struct mmsghdr messages[RECEIVE_BATCH];
    struct iovec vectors[RECEIVE_BATCH];
    int n;

    for (int i = 0; i < RECEIVE_BATCH; i++) {
        vectors[i] = (struct iovec){&packets[i], sizeof packets[i]};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
    }
    do {
        int64_t now;
        n = recvmmsg(p->link.data, messages, RECEIVE_BATCH, MSG_DONTWAIT, NULL);
        if (n <= 0)
            break;
        now = clock_ns();
        pthread_mutex_lock(&p->lock);
        for (int i = 0; i < n; i++)
            if (messages[i].msg_len == sizeof packets[i])
                on_packet(p, &packets[i], now);
        port_announce(p);
        queue_flush(p);
        pthread_mutex_unlock(&p->lock);
    } while (n == RECEIVE_BATCH);
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static void expire_locked(struct port *p, int64_t now)
{
    request_expire_due(p, now);
    transfer_expire(p, now);
    port_announce(p);
    queue_flush(p);
}

void port_expire(struct port *p)
{
    pthread_mutex_lock(&p->lock);
    expire_locked(p, clock_ns());
    pthread_mutex_unlock(&p->lock);
}

/* Sleep until something comes, a deadline passes or `latest`; a little longer in a crowd. */
static void wait_for_events(struct port *p, int64_t latest)
{
    struct pollfd fds[2] = {{.fd = p->link.data, .events = POLLIN},
                            {.fd = p->wake, .events = POLLIN}};
    const struct timespec gather = {.tv_nsec = GATHER_NS};
    struct timespec wait;
    int64_t now = clock_ns(), left;
    uint64_t count;
    bool crowded;

    pthread_mutex_lock(&p->lock);
    expire_locked(p, now);
    p->sleeps_until = MIN(latest, MIN(p->first_deadline, transfer_deadline(p)));
    p->sleeps_for_output = p->blocked;
    if (p->blocked)
        fds[0].events |= POLLOUT;
    left = MAX(p->sleeps_until - now, 0);
    pthread_mutex_unlock(&p->lock);
    wait = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    ppoll(fds, 2, &wait, NULL);
    pthread_mutex_lock(&p->lock);
    p->sleeps_until = 0;
    p->sleeps_for_output = false;
    crowded = p->on_the_way >= MANY_ON_THE_WAY && !p->stopping;
    pthread_mutex_unlock(&p->lock);
    if (fds[1].revents && read(p->wake, &count, sizeof count) < 0)
        return;
    if (crowded)
        nanosleep(&gather, NULL);
}

static void *port_thread(void *argument)
{
    struct port *p = argument;
    g_autofree struct wire_packet *packets = g_new(struct wire_packet, RECEIVE_BATCH);
    int64_t next_probe = clock_ns() + PROBE_INTERVAL_NS;
    bool running = true;

    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    while (running) {
        bool alive;
        wait_for_events(p, next_probe);
        alive = receive_all(p, packets);
        if (clock_ns() >= next_probe) {
            next_probe = clock_ns() + PROBE_INTERVAL_NS;
            alive = alive && link_alive(&p->link);
        }
        pthread_mutex_lock(&p->lock);
        if (!alive)
            port_die(p);
        running = !p->stopping && !p->dead;
        pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

static int start_thread(struct port *p)
{
    sigset_t all, old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&p->thread, NULL, port_thread, p);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    p->has_thread = !error;
    return error;
}

/* Held for microseconds only: it is better to spin for it than to sleep. */
static void init_lock(struct port *p)
{
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&p->lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

int port_open(struct port **port, const char *name, const char *node)
{
    struct port *p = g_new0(struct port, 1);
    int error = link_open(&p->link, node);

    *port = NULL;
    if (error) {
        g_free(p);
        return error;
    }
    g_strlcpy(p->name, name, sizeof p->name);
    init_lock(p);
    match_init(&p->agents);
    transfer_init(p);
    p->requests = g_hash_table_new(g_int64_hash, g_int64_equal);
    p->files = g_ptr_array_new();
    g_queue_init(&p->unlimited);
    g_queue_init(&p->windowed);
    p->window = p->link.udp ? PORT_WINDOW_UDP : PORT_WINDOW;
    p->first_deadline = CLOCK_NEVER;
    p->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    error = p->wake < 0 ? errno : link_get_node_info(&p->link, p->node_info);
    p->number = p->node_info[NODE_INFO_LOCAL_PORT];
    if (!error)
        error = start_thread(p);
    if (error) {
        fprintf(stderr, "heddle-umad: port %s: %s\n", name, strerror(error));
        port_close(p);
        return error;
    }
    *port = p;
    return 0;
}

static void free_queue(GQueue *queue)
{
    for (GList *l; (l = g_queue_pop_head_link(queue));) {
        struct port_tx *tx = l->data;
        tx->is_queued = false;
        if (!tx->request)
            g_free(tx);
    }
}

/* A thread that closed its file may still be on its way out of a send, which never blocks. */
static void wait_for_sender(struct port *p)
{
    bool sending = true;

    while (sending) {
        pthread_mutex_lock(&p->lock);
        sending = p->sending;
        pthread_mutex_unlock(&p->lock);
        if (sending)
            sched_yield();
    }
}

void port_close(struct port *p)
{
    uint64_t one = 1;

    if (p->has_thread) {
        pthread_mutex_lock(&p->lock);
        p->stopping = true;
        if (write(p->wake, &one, sizeof one) < 0)
            p->sleeps_until = 0;
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    wait_for_sender(p);
    link_close(&p->link, !p->dead);
    if (p->wake >= 0)
        close(p->wake);
    free_queue(&p->unlimited);
    free_queue(&p->windowed);
    transfer_clear(p);
    g_hash_table_unref(p->requests); /* agents took theirs with them */
    match_clear(&p->agents);
    g_ptr_array_unref(p->files);
    pthread_mutex_destroy(&p->lock);
    g_free(p);
}

void port_abandon(struct port *p)
{
    for (guint i = 0; i < p->files->len; i++)
        close(((struct file *)g_ptr_array_index(p->files, i))->fd);
    link_abandon(&p->link);
    close(p->wake);
}

/* Does the simulator itself answer this class? Those requests are held to the window. */
static bool simulator_answers(const uint8_t *mad)
{
    return mad_is_smp(mad) || mad_class(mad) == MAD_CLASS_PERF;
}

/* Whether a directed SMP sets out by LID: a combined route (IBA 14.2.2), whose directed part starts at
 * the switch of that LID (for an answer, ended by LID at this port). */
static bool starts_by_lid(const uint8_t *mad)
{
    const uint8_t *lid = mad + (mad_is_response(mad) ? SMP_DR_DLID : SMP_DR_SLID);
    return lid[0] != 0xff || lid[1] != 0xff;
}

/* The packet as it goes out: with our transaction id where it asks something. */
static void make_packet(const struct port *p, const struct match_agent *agent,
                        const struct ib_user_mad *umad, size_t length, struct wire_packet *packet)
{
    uint8_t *mad = packet->mad;

    wire_packet_set(packet, ntohs(umad->addr.lid), ntohl(umad->addr.qpn),
                    mad_is_smp(umad->data) ? 0 : 1, umad->data, MIN(length, (size_t)MAD_BYTES));
    if (!mad_is_response(mad))
        mad_set_tid(mad, (uint64_t)p->link.slot << 48 | (uint64_t)agent->uid << 32 |
                             (mad_tid(mad) & 0xffffffff));
    if (mad_class(mad) == MAD_CLASS_SM_DIRECT) {
        mad[SMP_HOP_POINTER] = 0;
        if (mad_is_response(mad))
            mad[4] |= SMP_DIRECTION_BIT;
        if (!starts_by_lid(mad))
            packet->dlid = packet->slid = htons(WIRE_LID_DIRECTED);
    }
}

static int send_single(struct port *p, struct match_agent *agent, const struct ib_user_mad *umad,
                       const struct wire_packet *packet, int timeout_ms, int retries)
{
    struct port_request *r;

    if (timeout_ms <= 0 || mad_is_response(packet->mad)) {
        queue_packet(p, packet);
        return 0;
    }
    r = request_new(p, agent, mad_tid(umad->data), &umad->addr, timeout_ms, retries);
    r->tx.packet = *packet;
    r->windowed = simulator_answers(packet->mad);
    queue_request(p, r);
    return 0;
}

static int send_locked(struct file *f, uint32_t id, const struct ib_user_mad *umad, size_t length,
                       int timeout_ms, int retries)
{
    struct port *p = f->port;
    struct match_agent *agent = id < FILE_MAX_AGENTS ? f->agents[id] : NULL;
    struct wire_packet packet;
    bool expects;

    if (f->closed || p->dead)
        return f->closed ? EBADF : ENODEV;
    if (!agent || length < MAD_HEADER_BYTES)
        return EINVAL;
    if (p->unlimited.length + p->windowed.length >= PORT_MAX_QUEUED)
        return ENOBUFS;
    make_packet(p, agent, umad, length, &packet);
    expects = timeout_ms > 0 && !mad_is_response(packet.mad);
    if (expects && request_exists(p, request_key(packet.mad)))
        return EINVAL; /* as the kernel: a second operation of the same id */
    if (agent->rmpp && length >= MAD_RMPP_HEADER_BYTES && rmpp_is_active(packet.mad))
        return transfer_start(p, agent, umad, umad->data, length, timeout_ms, retries, &packet);
    if (length > MAD_BYTES)
        return EINVAL;
    return send_single(p, agent, umad, &packet, timeout_ms, retries);
}

int port_send(struct file *f, uint32_t id, const struct ib_user_mad *umad, size_t length,
              int timeout_ms, int retries)
{
    struct port *p = f->port;
    int error;

    pthread_mutex_lock(&p->lock);
    error = send_locked(f, id, umad, length, timeout_ms, retries);
    if (!error)
        queue_flush_soon(p);
    pthread_mutex_unlock(&p->lock);
    return error;
}
