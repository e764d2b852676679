/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaching to the simulator and asking it for port values. */
#include "link.h"
#include "clock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    SOCKET_BUFFER_BYTES = 4 << 20,
    /* Names carry an id; the first port of a process uses its pid, so that ibsim's list of clients
     * shows it. Others step by more than the largest pid. */
    ID_STEP = 1 << 22,
    ID_TRIES = 500,
    NODE_INFO_TRIES = 5,
    NODE_INFO_WAIT_MS = 300,
};

static const char *socket_base(void)
{
    const char *base = getenv("IBSIM_SOCKNAME");
    return base ? base : "sim";
}

/* An abstract name is as long as its address says. ibsim's names end in a zero byte, which is part
 * of them; a simulator may do without, and then its clients must, too. */
__attribute__((format(printf, 4, 5))) static void abstract_name(const struct link *l,
                                                                struct sockaddr_storage *address,
                                                                socklen_t *length,
                                                                const char *format, ...)
{
    struct sockaddr_un *un = (struct sockaddr_un *)address;
    va_list args;
    int n;

    memset(address, 0, sizeof *address);
    un->sun_family = AF_UNIX;
    va_start(args, format);
    n = vsnprintf(un->sun_path + 1, sizeof un->sun_path - 1, format, args);
    va_end(args);
    if (n > (int)sizeof un->sun_path - 2)
        n = (int)sizeof un->sun_path - 2;
    *length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n + l->name_ends_in_zero);
}

static void fail(const struct link *l, const char *what, int error)
{
    fprintf(stderr, "heddle-umad: simulator at %s: %s%s%s\n", l->where, what, error ? ": " : "",
            error ? strerror(error) : "");
}

static int resolve_udp(struct link *l, const char *host)
{
    const char *port = getenv("IBSIM_SERVER_PORT");
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found = NULL;
    struct sockaddr_in *in = (struct sockaddr_in *)&l->server;
    int number = port && *port ? atoi(port) : WIRE_DEFAULT_UDP_PORT;

    snprintf(l->where, sizeof l->where, "udp %s port %d", host, number);
    if (getaddrinfo(host, NULL, &hints, &found)) {
        fail(l, "cannot resolve the host of IBSIM_SERVER_NAME", 0);
        return EHOSTUNREACH;
    }
    memcpy(in, found->ai_addr, sizeof *in);
    in->sin_port = htons((uint16_t)number);
    l->server_length = sizeof *in;
    freeaddrinfo(found);
    return 0;
}

static int find_server(struct link *l)
{
    const char *host = getenv("IBSIM_SERVER_NAME");

    l->udp = host && *host;
    if (l->udp)
        return resolve_udp(l, host);
    snprintf(l->where, sizeof l->where, "@%s:ctl (IBSIM_SOCKNAME)", socket_base());
    abstract_name(l, &l->server, &l->server_length, "%s:ctl", socket_base());
    return 0;
}

/* Find out which kind of names this simulator has. */
static void try_other_names(struct link *l)
{
    if (l->udp || link_alive(l))
        return;
    l->name_ends_in_zero = !l->name_ends_in_zero;
    abstract_name(l, &l->server, &l->server_length, "%s:ctl", socket_base());
}

static int new_socket(const struct link *l)
{
    return socket(l->udp ? AF_INET : AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static void grow_buffers(int fd)
{
    int bytes = SOCKET_BUFFER_BYTES;

    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

/* Bind both sockets; *id is what the simulator finds the data socket by. */
static int bind_sockets(struct link *l, uint32_t *id)
{
    struct sockaddr_storage address;
    socklen_t length;

    if (l->udp) {
        struct sockaddr_in any = {.sin_family = AF_INET};
        length = sizeof any;
        if (bind(l->ctl, (struct sockaddr *)&any, sizeof any) ||
            bind(l->data, (struct sockaddr *)&any, sizeof any) ||
            getsockname(l->data, (struct sockaddr *)&any, &length))
            return errno;
        *id = ntohs(any.sin_port);
        return 0;
    }
    for (uint32_t i = 0; i < ID_TRIES; i++) {
        *id = (uint32_t)getpid() + i * ID_STEP;
        abstract_name(l, &address, &length, "%s:ctl%d", socket_base(), (int)*id);
        if (bind(l->ctl, (struct sockaddr *)&address, length)) {
            if (errno == EADDRINUSE)
                continue;
            return errno;
        }
        abstract_name(l, &address, &length, "%s:in%d", socket_base(), (int)*id);
        if (bind(l->data, (struct sockaddr *)&address, length))
            return errno;
        return 0;
    }
    return EADDRINUSE;
}

static int open_sockets(struct link *l, uint32_t *id)
{
    int error;

    l->ctl = new_socket(l);
    l->data = new_socket(l);
    l->probe = new_socket(l);
    if (l->ctl < 0 || l->data < 0 || l->probe < 0) {
        error = errno;
    } else {
        try_other_names(l);
        error = bind_sockets(l, id);
    }
    if (error) {
        fail(l, "cannot open sockets", error);
        return error;
    }
    grow_buffers(l->data);
    if (connect(l->ctl, (struct sockaddr *)&l->server, l->server_length)) {
        error = errno;
        fail(l, "no simulator there", error);
        return error;
    }
    return 0;
}

static int connect_data(struct link *l)
{
    struct sockaddr_storage address = l->server;
    socklen_t length = l->server_length;

    if (l->udp) {
        struct sockaddr_in *in = (struct sockaddr_in *)&address;
        in->sin_port = htons((uint16_t)(ntohs(in->sin_port) + l->slot + 1));
    } else {
        abstract_name(l, &address, &length, "%s:out%d", socket_base(), (int)l->slot);
    }
    return connect(l->data, (struct sockaddr *)&address, length) ? errno : 0;
}

static int attach(struct link *l, uint32_t id, const char *node)
{
    struct wire_connect c = {.id = id};
    int error;

    snprintf(c.node, sizeof c.node, "%s", node);
    l->guardian.page->state = GUARDIAN_CONNECTING;
    error = link_ctl(l, WIRE_CONNECT, &c, sizeof c);
    if (error == ECONNREFUSED || error == ETIMEDOUT) {
        fail(l, "no answer to the request to attach", error);
        return error;
    }
    if (error) {
        char what[WIRE_NODE_ID_BYTES + 128];
        snprintf(what, sizeof what,
                 "refused to attach to node \"%s\": no such node or port, or no client slot free",
                 c.node);
        fail(l, what, 0);
        return error;
    }
    l->slot = c.id;
    l->guardian.page->slot = c.id;
    l->guardian.page->state = GUARDIAN_ATTACHED;
    error = connect_data(l);
    if (error)
        fail(l, "cannot connect the data socket", error);
    return error;
}

int link_open(struct link *l, const char *node)
{
    uint32_t id = 0;
    int error;

    memset(l, 0, sizeof *l);
    l->ctl = l->data = l->probe = -1;
    l->name_ends_in_zero = true;
    l->guardian = GUARDIAN_NONE;
    pthread_mutex_init(&l->ctl_lock, NULL);
    error = find_server(l);
    if (!error)
        error = open_sockets(l, &id);
    if (!error) {
        error = guardian_start(&l->guardian, l->ctl, l->data);
        if (error)
            fail(l, "cannot start the guardian of the slot", error);
    }
    if (!error)
        error = attach(l, id, node);
    if (error)
        link_close(l, false);
    return error;
}

void link_disconnect(struct link *l)
{
    if (!l->guardian.page || l->guardian.page->state != GUARDIAN_ATTACHED)
        return;
    if (l->guardian.page->issm)
        link_set_issm(l, false);
    if (link_ctl(l, WIRE_DISCONNECT, NULL, 0) == 0)
        l->guardian.page->state = GUARDIAN_IDLE;
}

void link_close(struct link *l, bool simulator_alive)
{
    if (simulator_alive)
        link_disconnect(l);
    link_abandon(l);
    pthread_mutex_destroy(&l->ctl_lock);
}

void link_abandon(struct link *l)
{
    int *fds[] = {&l->ctl, &l->data, &l->probe};

    guardian_stop(&l->guardian);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

static int send_ctl(const struct link *l, const struct wire_ctl *c, int64_t deadline)
{
    struct pollfd fd = {.fd = l->ctl, .events = POLLOUT};

    while (send(l->ctl, c, sizeof *c, MSG_NOSIGNAL) != sizeof *c) {
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        if (poll(&fd, 1, clock_ms_until(deadline)) == 0)
            return ETIMEDOUT;
    }
    return 0;
}

static int receive_ctl(const struct link *l, struct wire_ctl *c, enum wire_ctl_type type,
                       int64_t deadline)
{
    struct pollfd fd = {.fd = l->ctl, .events = POLLIN};
    bool refused;

    for (;;) {
        ssize_t n = recv(l->ctl, c, sizeof *c, MSG_DONTWAIT);
        if (n >= 0 && wire_ctl_is_reply(c, (size_t)n, type, &refused))
            return refused ? EPERM : 0;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return errno;
        if (n < 0 && poll(&fd, 1, clock_ms_until(deadline)) == 0)
            return ETIMEDOUT;
    }
}

int link_ctl(struct link *l, enum wire_ctl_type type, void *data, size_t length)
{
    int64_t deadline = clock_ns() + LINK_ANSWER_MS * CLOCK_NS_A_MS;
    struct wire_ctl request, answer;
    int error;

    pthread_mutex_lock(&l->ctl_lock);
    while (recv(l->ctl, &answer, sizeof answer, MSG_DONTWAIT) >= 0)
        ; /* an answer that came after we had given up */
    wire_ctl_request(&request, l->slot, type, data, length);
    error = send_ctl(l, &request, deadline);
    if (!error)
        error = receive_ctl(l, &answer, type, deadline);
    pthread_mutex_unlock(&l->ctl_lock);
    if (!error && data)
        memcpy(data, answer.data, length);
    return error;
}

int link_set_issm(struct link *l, bool issm)
{
    int value = issm;
    int error;

    if (issm)
        l->guardian.page->issm = 1;
    error = link_ctl(l, WIRE_SET_ISSM, &value, sizeof value);
    if (!issm && !error)
        l->guardian.page->issm = 0;
    return error;
}

bool link_alive(struct link *l)
{
    if (connect(l->probe, (struct sockaddr *)&l->server, l->server_length))
        return errno != ECONNREFUSED;
    /* By UDP an empty datagram, which the simulator ignores, brings back an ICMP error. */
    return !l->udp || send(l->probe, "", 0, MSG_NOSIGNAL) == 0 || errno != ECONNREFUSED;
}

static void node_info_request(struct wire_packet *p)
{
    uint8_t mad[MAD_BYTES] = {1, MAD_CLASS_SM_DIRECT, 1, MAD_METHOD_GET};

    mad_set_tid(mad, 1);
    mad_put16(mad + 16, MAD_ATTR_NODE_INFO);
    mad_put16(mad + SMP_DR_SLID, WIRE_LID_DIRECTED);
    mad_put16(mad + SMP_DR_DLID, WIRE_LID_DIRECTED);
    wire_packet_set(p, WIRE_LID_DIRECTED, 0, 0, mad, sizeof mad);
}

int link_get_node_info(struct link *l, uint8_t node_info[WIRE_CTL_DATA_BYTES])
{
    struct pollfd fd = {.fd = l->data, .events = POLLIN};
    struct wire_packet request, answer;

    node_info_request(&request);
    for (int i = 0; i < NODE_INFO_TRIES; i++) {
        if (send(l->data, &request, sizeof request, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
            return errno;
        while (poll(&fd, 1, NODE_INFO_WAIT_MS) == 1) {
            if (recv(l->data, &answer, sizeof answer, 0) != sizeof answer)
                break;
            if (wire_packet_status(&answer))
                break;
            if (mad_method(answer.mad) != (MAD_METHOD_GET | MAD_METHOD_RESPONSE) ||
                mad_attribute(answer.mad) != MAD_ATTR_NODE_INFO)
                continue;
            memcpy(node_info, answer.mad + SMP_DATA, WIRE_CTL_DATA_BYTES);
            return 0;
        }
    }
    return link_ctl(l, WIRE_GET_NODE_INFO, node_info, WIRE_CTL_DATA_BYTES);
}
