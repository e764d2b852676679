/* SPDX-License-Identifier: BSD-2-Clause */
/* RMPP over a port: which transfer a segment belongs to, and what is done when one ends. */
#include "clock.h"
#include "port.h"
#include <errno.h>

enum {
    MIN_SEND_RETRIES = 3,
    MAX_KNOWN = 256, /* receptions, together with those that are done and linger */
};

struct transfer_send {
    struct rmpp_send *machine;
    struct match_agent *agent;
    struct wire_packet packet;    /* how it is addressed */
    struct port_request *request; /* NULL: expects no response */
};

struct transfer_receive {
    struct rmpp_recv *machine;
    struct match_agent *agent;
    uint64_t tid;
    uint32_t sqp;
    uint16_t slid;
    uint8_t class;
    uint8_t method;
};

static void free_send(gpointer data)
{
    struct transfer_send *s = data;

    rmpp_send_free(s->machine);
    g_free(s);
}

static void free_receive(gpointer data)
{
    struct transfer_receive *r = data;

    rmpp_recv_free(r->machine);
    g_free(r);
}

void transfer_init(struct port *p)
{
    p->sends = g_ptr_array_new_with_free_func(free_send);
    p->receives = g_ptr_array_new_with_free_func(free_receive);
}

void transfer_clear(struct port *p)
{
    g_ptr_array_unref(p->sends);
    g_ptr_array_unref(p->receives);
}

/* The send that an ACK, STOP or ABORT is about. */
static struct transfer_send *find_send(const struct port *p, uint64_t tid, uint8_t class,
                                       uint16_t lid)
{
    for (guint i = 0; i < p->sends->len; i++) {
        struct transfer_send *s = g_ptr_array_index(p->sends, i);
        if (mad_tid(s->packet.mad) == tid && mad_class(s->packet.mad) == class &&
            wire_packet_dlid(&s->packet) == lid)
            return s;
    }
    return NULL;
}

static void pump(struct port *p, struct transfer_send *s, int64_t now)
{
    struct wire_packet out = s->packet;

    while (rmpp_send_next(s->machine, now, out.mad))
        queue_packet(p, &out);
}

int transfer_start(struct port *p, struct match_agent *agent, const struct ib_user_mad *umad,
                   const uint8_t *mad, size_t length, int timeout_ms, int retries,
                   const struct wire_packet *packet)
{
    g_autofree uint8_t *copy = NULL;
    int64_t now = clock_ns(), wait = timeout_ms * CLOCK_NS_A_MS;
    struct transfer_send *s;

    if (length < rmpp_class_data_offset(mad_class(mad)) || length > RMPP_MAX_PAYLOAD_BYTES)
        return EINVAL;
    if (find_send(p, mad_tid(packet->mad), mad_class(mad), wire_packet_dlid(packet)))
        return EINVAL;
    if (wait <= 0 || wait > RMPP_ACK_TIMEOUT_NS)
        wait = RMPP_ACK_TIMEOUT_NS;
    copy = g_memdup2(mad, length);
    mad_set_tid(copy, mad_tid(packet->mad));
    s = g_new0(struct transfer_send, 1);
    s->machine = rmpp_send_new(copy, length, wait, (unsigned)MAX(retries, MIN_SEND_RETRIES));
    s->agent = agent;
    s->packet = *packet;
    if (timeout_ms > 0 && !mad_is_response(mad)) {
        s->request = request_new(p, agent, mad_tid(mad), &umad->addr, timeout_ms, 0);
        s->request->tx.packet = *packet;
    }
    g_ptr_array_add(p->sends, s);
    pump(p, s, now);
    return 0;
}

static void send_answer(struct port *p, const struct wire_packet *in, const uint8_t *mad)
{
    struct wire_packet out;

    wire_packet_reply(&out, in, mad);
    queue_packet(p, &out);
}

/* A request that could not be sent whole times out when its time is up, as if it had been lost. */
static void end_send(struct port *p, struct transfer_send *s, int64_t now)
{
    if (s->request)
        request_expect(p, s->request, now);
    g_ptr_array_remove(p->sends, s);
}

/* An ACK or refusal says what became of segments sent. */
static void input_to_send(struct port *p, const struct wire_packet *packet, int64_t now)
{
    const uint8_t *mad = packet->mad;
    uint8_t answer[MAD_BYTES], abort;
    struct transfer_send *s = find_send(p, mad_tid(mad), mad_class(mad), wire_packet_slid(packet));

    if (!s)
        return;
    if (rmpp_send_input(s->machine, now, mad, &abort) == RMPP_RUNNING) {
        pump(p, s, now);
        return;
    }
    if (abort) {
        rmpp_format_answer(answer, mad, RMPP_ABORT, abort, 0, 0);
        send_answer(p, packet, answer);
    }
    end_send(p, s, now);
}

static struct transfer_receive *find_receive(const struct port *p, const struct wire_packet *packet)
{
    const uint8_t *mad = packet->mad;

    for (guint i = 0; i < p->receives->len; i++) {
        struct transfer_receive *r = g_ptr_array_index(p->receives, i);
        if (r->tid == mad_tid(mad) && r->class == mad_class(mad) && r->method == mad_method(mad) &&
            r->slid == wire_packet_slid(packet) && r->sqp == wire_packet_sqp(packet))
            return r;
    }
    return NULL;
}

static bool make_room(struct port *p)
{
    unsigned active = 0;

    for (guint i = 0; i < p->receives->len; i++) {
        struct transfer_receive *r = g_ptr_array_index(p->receives, i);
        active += !rmpp_recv_is_done(r->machine);
    }
    if (active >= PORT_MAX_TRANSFERS)
        return false;
    for (guint i = 0; p->receives->len >= MAX_KNOWN && i < p->receives->len;) {
        struct transfer_receive *r = g_ptr_array_index(p->receives, i);
        if (rmpp_recv_is_done(r->machine))
            g_ptr_array_remove_index(p->receives, i);
        else
            i++;
    }
    return true;
}

static struct transfer_receive *start_receive(struct port *p, struct match_agent *agent,
                                              const struct wire_packet *packet, int64_t now)
{
    struct transfer_receive *r;

    if (!make_room(p))
        return NULL;
    r = g_new0(struct transfer_receive, 1);
    r->machine = rmpp_recv_new(now);
    r->agent = agent;
    r->tid = mad_tid(packet->mad);
    r->sqp = wire_packet_sqp(packet);
    r->slid = wire_packet_slid(packet);
    r->class = mad_class(packet->mad);
    r->method = mad_method(packet->mad);
    g_ptr_array_add(p->receives, r);
    return r;
}

static void deliver(struct port *p, struct match_agent *agent, const struct wire_packet *packet,
                    struct transfer_receive *t)
{
    struct port_request *request = request_find(p, packet->mad);
    ib_mad_addr_t address;
    size_t length;
    g_autofree uint8_t *mad = rmpp_recv_steal(t->machine, &length);

    if (mad_is_response(packet->mad)) {
        if (!request)
            return;
        mad_set_tid(mad, request->caller_tid);
        request_end(p, request);
    }
    port_source(packet, &address);
    file_deliver(agent->owner, agent->id, 0, &address, mad, length);
}

static void input_data(struct port *p, struct match_agent *agent, const struct wire_packet *packet,
                       int64_t now)
{
    struct transfer_receive *t = find_receive(p, packet);
    bool response = mad_is_response(packet->mad), has_reply;
    struct port_request *request = response ? request_find(p, packet->mad) : NULL;
    uint8_t reply[MAD_BYTES];
    enum rmpp_result result;

    /* A new request of the same id, after a transfer that is done: begin again. */
    if (t && request && rmpp_recv_is_done(t->machine)) {
        g_ptr_array_remove(p->receives, t);
        t = NULL;
    }
    if (!t && response && !request)
        return; /* nobody waits for it any more */
    if (!t && !(t = start_receive(p, agent, packet, now)))
        return;
    result = rmpp_recv_input(t->machine, now, packet->mad, reply, &has_reply);
    if (has_reply)
        send_answer(p, packet, reply);
    if (request)
        request_expect(p, request, now); /* not while its answer arrives */
    if (result == RMPP_DONE)
        deliver(p, agent, packet, t);
    else if (result == RMPP_FAILED)
        g_ptr_array_remove(p->receives, t);
}

void transfer_input(struct port *p, struct match_agent *agent, const struct wire_packet *packet,
                    int64_t now)
{
    struct transfer_receive *t;
    uint8_t answer[MAD_BYTES];

    switch (packet->mad[RMPP_OFF_TYPE]) {
    case RMPP_DATA:
        input_data(p, agent, packet, now);
        break;
    case RMPP_ABORT:
        t = find_receive(p, packet);
        if (t && !rmpp_recv_is_done(t->machine))
            g_ptr_array_remove(p->receives, t);
        input_to_send(p, packet, now);
        break;
    case RMPP_ACK:
    case RMPP_STOP:
        input_to_send(p, packet, now);
        break;
    default:
        rmpp_format_answer(answer, packet->mad, RMPP_ABORT, RMPP_BAD_TYPE, 0, 0);
        send_answer(p, packet, answer);
        break;
    }
}

int64_t transfer_deadline(const struct port *p)
{
    int64_t first = CLOCK_NEVER;

    for (guint i = 0; i < p->sends->len; i++) {
        const struct transfer_send *s = g_ptr_array_index(p->sends, i);
        first = MIN(first, rmpp_send_deadline(s->machine));
    }
    for (guint i = 0; i < p->receives->len; i++) {
        const struct transfer_receive *r = g_ptr_array_index(p->receives, i);
        first = MIN(first, rmpp_recv_deadline(r->machine));
    }
    return first;
}

static void give_up(struct port *p, struct transfer_send *s, int64_t now)
{
    struct wire_packet out = s->packet;

    out.mad[RMPP_OFF_VERSION] = RMPP_VERSION;
    out.mad[RMPP_OFF_TYPE] = RMPP_ABORT;
    out.mad[RMPP_OFF_FLAGS] = RMPP_ACTIVE;
    out.mad[RMPP_OFF_STATUS] = RMPP_TOO_MANY_RETRIES;
    mad_put32(out.mad + RMPP_OFF_SEGMENT, 0);
    mad_put32(out.mad + RMPP_OFF_LENGTH, 0);
    queue_packet(p, &out);
    end_send(p, s, now);
}

void transfer_expire(struct port *p, int64_t now)
{
    for (guint i = p->sends->len; i-- > 0;) {
        struct transfer_send *s = g_ptr_array_index(p->sends, i);
        if (rmpp_send_expire(s->machine, now) == RMPP_FAILED)
            give_up(p, s, now);
        else
            pump(p, s, now);
    }
    for (guint i = p->receives->len; i-- > 0;) {
        struct transfer_receive *r = g_ptr_array_index(p->receives, i);
        if (rmpp_recv_deadline(r->machine) <= now)
            g_ptr_array_remove_index(p->receives, i);
    }
}

void transfer_forget_agent(struct port *p, const struct match_agent *agent)
{
    for (guint i = p->sends->len; i-- > 0;) {
        const struct transfer_send *s = g_ptr_array_index(p->sends, i);
        if (s->agent == agent)
            g_ptr_array_remove_index(p->sends, i);
    }
    for (guint i = p->receives->len; i-- > 0;) {
        const struct transfer_receive *r = g_ptr_array_index(p->receives, i);
        if (r->agent == agent)
            g_ptr_array_remove_index(p->receives, i);
    }
}
