/* SPDX-License-Identifier: BSD-2-Clause */
/* Control sockets: attaching, detaching, port values, IsSM.
 *
 * Every request is answered by one datagram of the same form: type 0 where it is refused. What is
 * no request at all (size, magic) is ignored. A slot is spoken for by the address that attached it
 * alone. */
#include "sim/server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/core/model.h"

enum {
    REQUESTS_A_TURN = 64,
    REFUSALS_A_SECOND = 10,
    NS_A_SECOND = 1000000000,
    SEND_BUFFER_BYTES = 8 << 20, /* for all answers that clients have not taken yet */
    FIRMWARE_VERSION = 1,
    TYPES = WIRE_GET_PKEYS + 1,
};

/* Offsets in NodeInfo (IBA 14.2.5.3) and PortInfo (14.2.5.6). */
enum {
    NODE_INFO_GUID = 12,
    NODE_INFO_DEVICE = 30,
    NODE_INFO_REVISION = 32,
    NODE_INFO_VENDOR = 36, /* below the local port's 8 bits */
    PORT_INFO_GID_PREFIX = 8,
    PORT_INFO_LID = 16,
    PORT_INFO_STATE = 32,
};

struct request {
    struct server *server;
    struct listener *listener;
    struct address from;
    pid_t pid;
    struct wire_ctl *ctl;  /* its data becomes the answer's */
    struct client *client; /* NULL for CONNECT */
};

/* -- detaching -- */

static void set_issm(struct server *s, struct client *c, bool issm)
{
    if (c->issm == issm)
        return;
    c->issm = issm;
    sim_set_issm(s->sim, c->node, c->port, issm, server_now(s));
}

void ctl_detach(struct server *s, struct client *c, const char *why)
{
    log_emit(HL_INFO, "client_detached", "slot=%u pid=%d why=\"%s\"", c->slot, (int)c->pid, why);
    set_issm(s, c, false);
    data_close(s, c);
    clients_detach(&s->clients, c);
}

/* -- attaching -- */

/* Anybody may ask for ever to attach: only so many lines a second tell of it. */
static bool refuse(const struct request *r, const char *why)
{
    struct refusals *told = &r->server->refusals;
    int64_t second = loop_now() / NS_A_SECOND;
    char quoted[256];

    if (second != told->second) {
        told->second = second;
        told->lines = 0;
    }
    if (told->lines++ >= REFUSALS_A_SECOND) {
        told->untold++;
        return false;
    }
    log_emit(HL_NOTICE, "client_refused", "from=\"%s\" pid=%d why=%s untold=%" PRIu64,
             address_text(&r->from), (int)r->pid, log_quote(quoted, sizeof quoted, why),
             told->untold);
    told->untold = 0;
    return false;
}

static void set_addresses(const struct request *r, struct client *c)
{
    c->kind = r->listener->kind;
    c->ctl = r->from;
    if (c->kind == ADDRESS_UDP)
        address_udp(&c->data, r->from.in.sin_addr, (uint16_t)c->id);
    else
        /* Clients print the number with %d. */
        address_local(&c->data, c->kind, r->server->options->name, "in", c->id & INT32_MAX);
}

/* Another process may hold a slot's name or port: then the next slot it is. */
static struct client *open_slot(const struct request *r, const struct client *wanted, int *error)
{
    struct server *s = r->server;
    struct client *c;

    *error = EUSERS;
    for (unsigned from = 0; (c = clients_free_slot(&s->clients, from)); from = c->slot + 1) {
        *c = (struct client){.slot = c->slot,
                             .is_dirty = c->is_dirty,
                             .outbox.limit = s->options->queue,
                             .watch.fd = -1,
                             .id = wanted->id,
                             .qp = wanted->qp,
                             .pid = r->pid,
                             .node = wanted->node,
                             .port = wanted->port};
        set_addresses(r, c);
        *error = data_open(s, c);
        if (!*error)
            return c;
        if (*error != EADDRINUSE && *error != EACCES)
            break;
    }
    return NULL;
}

/* Is IsSM of this port free for `client`? Looks whether its holder is still there. */
static bool issm_is_free(struct server *s, uint32_t node, unsigned port,
                         const struct client *client)
{
    struct client *holder = clients_holder(&s->clients, node, port);

    if (!holder || holder == client)
        return true;
    if (data_is_alive(holder))
        return false;
    ctl_detach(s, holder, "it has ended");
    return true;
}

static void tell_node(const struct server *s, struct wire_connect *connect, const struct client *c)
{
    uint8_t info[64];

    if (connect->node[0])
        return; /* a client warns where it gets another name than it asked for */
    sim_get_node_info(s->sim, c->node, c->port, info);
    snprintf(connect->node, sizeof connect->node, "%c-%016" PRIx64, info[2] == 2 ? 'S' : 'H',
             get64(info + NODE_INFO_GUID));
}

static bool do_connect(struct request *r)
{
    struct server *s = r->server;
    struct wire_connect *connect = (struct wire_connect *)r->ctl->data;
    struct client wanted = {.id = connect->id, .qp = connect->qp}, *c;
    char error[256] = "";
    int open_error;

    connect->node[sizeof connect->node - 1] = '\0';
    c = clients_by_address(&s->clients, &r->from);
    if (c)
        ctl_detach(s, c, "it attaches again");
    if (connect->id == 0 || (r->listener->kind == ADDRESS_UDP && connect->id > UINT16_MAX))
        return refuse(r, "its id makes no sense");
    if (!sim_find_port(s->sim, connect->node, &wanted.node, &wanted.port, error, sizeof error))
        return refuse(r, error);
    if (connect->issm && !issm_is_free(s, wanted.node, wanted.port, NULL))
        return refuse(r, "another client holds IsSM of the port");
    c = open_slot(r, &wanted, &open_error);
    if (!c && open_error == EUSERS) {
        data_look(s); /* some may have ended since the last look */
        c = open_slot(r, &wanted, &open_error);
    }
    if (!c)
        return refuse(r,
                      open_error == EUSERS ? "no slot is free (--clients)" : strerror(open_error));
    clients_attach(&s->clients, c);
    set_issm(s, c, connect->issm != 0);
    connect->id = c->slot;
    tell_node(s, connect, c);
    log_emit(HL_INFO, "client_attached", "slot=%u pid=%d from=\"%s\" node=%s", c->slot, (int)c->pid,
             address_text(&c->ctl), sim_port_name(s->sim, c->node, c->port));
    return true;
}

/* -- values -- */

static bool do_get_port(struct request *r)
{
    struct {
        uint16_t lid;
        uint8_t state;
    } answer = {0};
    uint8_t info[64];

    sim_get_port_info(r->server->sim, r->client->node, r->client->port, info);
    answer.lid = get16(info + PORT_INFO_LID);
    answer.state = info[PORT_INFO_STATE] & 0x0f;
    memcpy(r->ctl->data, &answer, sizeof answer);
    return true;
}

static bool do_get_vendor(struct request *r)
{
    struct wire_vendor v = {.fw_version = FIRMWARE_VERSION};
    uint8_t info[64];

    sim_get_node_info(r->server->sim, r->client->node, r->client->port, info);
    v.vendor = get32(info + NODE_INFO_VENDOR) & 0xffffff;
    v.device = get16(info + NODE_INFO_DEVICE);
    v.hw_version = get32(info + NODE_INFO_REVISION);
    memcpy(r->ctl->data, &v, sizeof v);
    return true;
}

/* Host order, as ibsim has it; the prefix of a GID is in network order. */
static bool do_get_guid(struct request *r)
{
    uint8_t info[64];
    uint64_t guid;

    sim_get_node_info(r->server->sim, r->client->node, r->client->port, info);
    guid = get64(info + NODE_INFO_GUID);
    memcpy(r->ctl->data, &guid, sizeof guid);
    return true;
}

static bool do_get_gid(struct request *r)
{
    uint8_t info[64];

    do_get_guid(r);
    memmove(r->ctl->data + 8, r->ctl->data, 8);
    sim_get_port_info(r->server->sim, r->client->node, r->client->port, info);
    memcpy(r->ctl->data, info + PORT_INFO_GID_PREFIX, 8);
    return true;
}

static bool do_get_node_info(struct request *r)
{
    sim_get_node_info(r->server->sim, r->client->node, r->client->port, r->ctl->data);
    return true;
}

/* The first byte names another port of the node; 0 and what the node has not: the client's own. */
static bool do_get_port_info(struct request *r)
{
    uint8_t info[64];
    unsigned port = r->ctl->data[0];

    sim_get_node_info(r->server->sim, r->client->node, r->client->port, info);
    if (port == 0 || port > info[3])
        port = r->client->port;
    sim_get_port_info(r->server->sim, r->client->node, port, r->ctl->data);
    return true;
}

static bool do_get_pkeys(struct request *r)
{
    uint16_t keys[WIRE_CTL_DATA_BYTES / 2];

    sim_get_pkeys(r->server->sim, r->client->node, r->client->port, keys);
    for (unsigned i = 0; i < WIRE_CTL_DATA_BYTES / 2; i++)
        put16(r->ctl->data + 2 * i, keys[i]);
    return true;
}

static bool do_set_issm(struct request *r)
{
    int issm;

    memcpy(&issm, r->ctl->data, sizeof issm);
    if (issm && !issm_is_free(r->server, r->client->node, r->client->port, r->client))
        return refuse(r, "another client holds IsSM of the port");
    set_issm(r->server, r->client, issm != 0);
    return true;
}

/* -- requests -- */

typedef bool handler(struct request *r);

static handler *const handlers[TYPES] = {
    [WIRE_CONNECT] = do_connect,
    [WIRE_GET_PORT] = do_get_port,
    [WIRE_GET_VENDOR] = do_get_vendor,
    [WIRE_GET_GID] = do_get_gid,
    [WIRE_GET_GUID] = do_get_guid,
    [WIRE_GET_NODE_INFO] = do_get_node_info,
    [WIRE_GET_PORT_INFO] = do_get_port_info,
    [WIRE_SET_ISSM] = do_set_issm,
    [WIRE_GET_PKEYS] = do_get_pkeys,
};

/* A slot that nobody has may be given back again: whoever was dropped does so at its end. */
static bool disconnect(struct request *r)
{
    struct client *c = r->client;

    if (c->attached && !address_equal(&c->ctl, &r->from))
        return false;
    if (c->attached)
        ctl_detach(r->server, c, "it says so");
    return true;
}

static bool handle(struct request *r)
{
    struct clients *clients = &r->server->clients;

    if (r->ctl->type == WIRE_CONNECT)
        return do_connect(r);
    if (r->ctl->client >= clients->count)
        return false;
    r->client = &clients->slots[r->ctl->client];
    if (r->ctl->type == WIRE_DISCONNECT)
        return disconnect(r);
    if (!r->client->attached || !address_equal(&r->client->ctl, &r->from))
        return false;
    return r->ctl->type < TYPES && handlers[r->ctl->type] && handlers[r->ctl->type](r);
}

static pid_t sender_pid(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        struct ucred cred;
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&cred, CMSG_DATA(c), sizeof cred);
        return cred.pid;
    }
    return 0;
}

/* By UDP nothing of ours waits for a reader. */
static bool may_be_answered(const struct request *r)
{
    struct listener *l = r->listener;
    int bytes = 0;

    return l->kind == ADDRESS_UDP || ioctl(l->watch.fd, SIOCOUTQ, &bytes) ||
           unread_allows(&l->unread, &r->from, bytes);
}

/* false: nothing is left. */
static bool handle_next(struct server *s, struct listener *l)
{
    struct wire_ctl ctl = {0};
    struct request r = {.server = s, .listener = l, .ctl = &ctl};
    struct iovec vector = {&ctl, sizeof ctl};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr m = {.msg_name = &r.from.any,
                       .msg_namelen = sizeof r.from.un,
                       .msg_iov = &vector,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(l->watch.fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0) /* an error that a former answer brought back is read off */
        return errno != EAGAIN;
    r.from.length = m.msg_namelen;
    if (n != sizeof ctl || (m.msg_flags & MSG_TRUNC) || ctl.magic != WIRE_MAGIC ||
        m.msg_namelen <= sizeof(sa_family_t) || !may_be_answered(&r)) {
        s->ignored++;
        return true;
    }
    r.pid = sender_pid(&m);
    if (!handle(&r)) {
        ctl.type = WIRE_ERROR;
        s->refused++;
    }
    if (sendto(l->watch.fd, &ctl, sizeof ctl, MSG_DONTWAIT | MSG_NOSIGNAL, &r.from.any,
               r.from.length) < 0)
        s->unanswered++;
    return true;
}

static void on_ready(struct watch *w, uint32_t events)
{
    for (int i = 0; i < REQUESTS_A_TURN && handle_next(w->user, (struct listener *)w); i++)
        ;
}

/* -- sockets -- */

static int open_listener(struct server *s, enum address_kind kind, char *error, size_t error_size)
{
    const struct options *o = s->options;
    struct listener *l = &s->listeners[kind];
    struct address own;
    int on = 1, bytes = SEND_BUFFER_BYTES, failed;

    if (kind == ADDRESS_UDP)
        address_udp(&own, o->udp_address, o->udp_port);
    else
        address_local(&own, kind, o->name, "ctl", -1);
    l->kind = kind;
    unread_create(&l->unread);
    l->watch = (struct watch){.events = EPOLLIN, .ready = on_ready, .user = s};
    l->watch.fd = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->watch.fd < 0 || bind(l->watch.fd, &own.any, own.length) ||
        (kind != ADDRESS_UDP && setsockopt(l->watch.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on))) {
        failed = errno;
        snprintf(
            error, error_size, "cannot serve at %s: %s%s", address_text(&own), strerror(failed),
            failed == EADDRINUSE ? "; another simulator has it, use another --name or port" : "");
        return failed;
    }
    if (setsockopt(l->watch.fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
        setsockopt(l->watch.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    failed = loop_add(&s->loop, &l->watch);
    if (failed)
        snprintf(error, error_size, "cannot watch %s: %s", address_text(&own), strerror(failed));
    return failed;
}

int ctl_open(struct server *s, char *error, size_t error_size)
{
    for (int kind = 0; kind < ADDRESS_KINDS; kind++) {
        int failed = kind == ADDRESS_UDP && !s->options->udp_port
                         ? 0
                         : open_listener(s, kind, error, error_size);
        if (failed)
            return failed;
    }
    return 0;
}

void ctl_close(struct server *s)
{
    while (s->clients.active->len)
        ctl_detach(s, s->clients.active->pdata[s->clients.active->len - 1], "the simulator ends");
    for (int kind = 0; kind < ADDRESS_KINDS; kind++) {
        unread_destroy(&s->listeners[kind].unread);
        if (s->listeners[kind].watch.fd >= 0)
            close(s->listeners[kind].watch.fd);
    }
}
