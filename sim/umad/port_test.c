/* SPDX-License-Identifier: BSD-2-Clause */
/* A port against a simulator of a few lines: retries, time-outs, ids, long MADs, its death. */
#include "clock.h"
#include "port.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum mode { ANSWER, BOUNCE, SWALLOW, ECHO_AS_REQUEST };

/* One thread; answers Get(NodeInfo) always, other packets as `mode` says. */
static struct {
    int ctl, out;
    pthread_t thread;
    _Atomic int mode, seen, stop, dlid;
    char name[64];
} sim;

static int bind_name(const char *suffix)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    int n = snprintf(un.sun_path + 1, sizeof un.sun_path - 1, "%s%s", sim.name, suffix);

    /* no zero byte at the end, unlike ibsim */
    assert_int_equal(bind(fd, (struct sockaddr *)&un, (socklen_t)(sizeof(sa_family_t) + 1 + n)), 0);
    return fd;
}

static void on_ctl(void)
{
    struct sockaddr_un from, data = {.sun_family = AF_UNIX};
    socklen_t length = sizeof from;
    struct wire_ctl c;

    if (recvfrom(sim.ctl, &c, sizeof c, 0, (struct sockaddr *)&from, &length) != sizeof c)
        return;
    if (c.type == WIRE_CONNECT) {
        struct wire_connect *connect_data = (struct wire_connect *)c.data;
        int n = snprintf(data.sun_path + 1, sizeof data.sun_path - 1, "%s:in%d", sim.name,
                         (int)connect_data->id);
        connect(sim.out, (struct sockaddr *)&data, (socklen_t)(sizeof(sa_family_t) + 1 + n));
        connect_data->id = 0;
    }
    sendto(sim.ctl, &c, sizeof c, 0, (struct sockaddr *)&from, length);
}

static void on_data(void)
{
    struct wire_packet p;
    int mode = sim.mode;

    if (recv(sim.out, &p, sizeof p, 0) != sizeof p)
        return;
    if (mad_attribute(p.mad) == MAD_ATTR_NODE_INFO)
        mode = ANSWER;
    else
        sim.seen++;
    sim.dlid = wire_packet_dlid(&p);
    if (mode == SWALLOW)
        return;
    if (mode == BOUNCE)
        p.status = htonl(ETIMEDOUT);
    if (mode == ANSWER)
        p.mad[3] |= MAD_METHOD_RESPONSE;
    if (mode != BOUNCE)
        p.slid = p.dlid;
    send(sim.out, &p, sizeof p, 0);
}

static void *simulate(void *unused)
{
    struct pollfd fds[2] = {{.fd = sim.ctl, .events = POLLIN}, {.fd = sim.out, .events = POLLIN}};

    while (!sim.stop) {
        poll(fds, 2, 20);
        if (fds[0].revents)
            on_ctl();
        if (fds[1].revents)
            on_data();
    }
    close(sim.ctl);
    close(sim.out);
    return unused;
}

static void start_simulator(void)
{
    static int count;

    snprintf(sim.name, sizeof sim.name, "porttest%d.%d", (int)getpid(), count++);
    setenv("IBSIM_SOCKNAME", sim.name, 1);
    sim.stop = sim.seen = 0;
    sim.mode = ANSWER;
    sim.ctl = bind_name(":ctl");
    sim.out = bind_name(":out0");
    pthread_create(&sim.thread, NULL, simulate, NULL);
}

static void stop_simulator(void)
{
    sim.stop = 1;
    pthread_join(sim.thread, NULL);
}

struct fixture {
    struct port *port;
    struct file *file;
    struct ib_user_mad *umad;
};

static int setup(void **state)
{
    struct fixture *f = g_new0(struct fixture, 1);

    start_simulator();
    assert_int_equal(port_open(&f->port, "test0", ""), 0);
    assert_int_equal(file_open(f->port, &f->file), 0);
    f->umad = g_malloc0(sizeof *f->umad + 100000);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    file_close(f->file);
    port_close(f->port);
    if (!sim.stop)
        stop_simulator();
    g_free(f->umad);
    g_free(f);
    return 0;
}

static uint32_t add_agent(struct fixture *f, uint8_t class, uint8_t version, bool rmpp,
                          uint64_t low_methods)
{
    struct match_agent a = {
        .class = class, .version = version, .rmpp = rmpp, .methods = {low_methods}};

    pthread_mutex_lock(&f->port->lock);
    assert_int_equal(file_register(f->file, &a), 0);
    pthread_mutex_unlock(&f->port->lock);
    return a.id;
}

static void prepare(struct fixture *f, uint8_t class, uint8_t version, uint8_t method, uint64_t tid)
{
    uint8_t *mad = f->umad->data;

    memset(f->umad, 0, sizeof *f->umad + MAD_BYTES);
    mad[0] = 1;
    mad[1] = class;
    mad[2] = version;
    mad[3] = method;
    mad[17] = 0x15;
    mad_set_tid(mad, tid);
    f->umad->addr.lid = htons(7);
    f->umad->addr.qpn = htonl(class == 1 ? 0 : 1);
}

/* Read one MAD, waiting at most this long. */
static int await(struct fixture *f, size_t room, size_t *length, int timeout_ms)
{
    struct pollfd fd = {.fd = f->file->fd, .events = POLLIN};

    poll(&fd, 1, timeout_ms);
    return file_read(f->file, f->umad, room, length);
}

static void test_answer_has_the_callers_id(void **state)
{
    struct fixture *f = *state;
    uint32_t id = add_agent(f, 1, 1, false, 0);
    size_t length;

    prepare(f, 1, 1, 1, 0x1122334455667788);
    assert_int_equal(port_send(f->file, id, f->umad, MAD_BYTES, 1000, 0), 0);
    assert_int_equal(await(f, MAD_BYTES, &length, 1000), 0);
    assert_int_equal(f->umad->status, 0);
    assert_int_equal(length, MAD_BYTES);
    assert_int_equal(ntohs(f->umad->addr.lid), 7);
    assert_true(mad_tid(f->umad->data) == 0x1122334455667788);
    assert_int_equal(file_read(f->file, f->umad, MAD_BYTES, &length), EAGAIN);
}

static void time_out(struct fixture *f, enum mode mode)
{
    uint32_t id = add_agent(f, 1, 1, false, 0);
    int64_t begin = clock_ns(), took;
    size_t length;

    sim.mode = (int)mode;
    prepare(f, 1, 1, 1, 99);
    assert_int_equal(port_send(f->file, id, f->umad, MAD_BYTES, 50, 2), 0);
    assert_int_equal(port_send(f->file, id, f->umad, MAD_BYTES, 50, 2), EINVAL); /* same id */
    assert_int_equal(await(f, MAD_BYTES, &length, 3000), 0);
    took = (clock_ns() - begin) / CLOCK_NS_A_MS;
    assert_int_equal(f->umad->status, ETIMEDOUT);
    assert_int_equal(length, MAD_HEADER_BYTES);
    assert_true(mad_tid(f->umad->data) == 99);
    assert_int_equal(sim.seen, 3);
    assert_true(took >= 150);
}

static void test_silence_is_a_timeout_after_retries(void **state)
{
    time_out(*state, SWALLOW);
}

static void test_a_packet_given_back_is_no_verdict(void **state)
{
    time_out(*state, BOUNCE);
}

static void test_more_than_the_window(void **state)
{
    struct fixture *f = *state;
    uint32_t id = add_agent(f, 1, 1, false, 0);
    size_t length;

    for (uint64_t i = 0; i < 2000; i++) {
        prepare(f, 1, 1, 1, i);
        assert_int_equal(port_send(f->file, id, f->umad, MAD_BYTES, 5000, 0), 0);
    }
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(await(f, MAD_BYTES, &length, 5000), 0);
        assert_int_equal(f->umad->status, 0);
    }
}

enum { SENDERS = 4, SENDS_EACH = 400 };

struct sender {
    struct fixture *fixture;
    pthread_t thread;
    uint32_t agent;
    uint64_t first_tid;
    int errors;
};

static void *send_many(void *argument)
{
    struct sender *s = argument;
    struct fixture own = *s->fixture;

    own.umad = g_malloc0(sizeof *own.umad + MAD_BYTES);
    for (uint64_t i = 0; i < SENDS_EACH; i++) {
        prepare(&own, 1, 1, 1, s->first_tid + i);
        s->errors += port_send(own.file, s->agent, own.umad, MAD_BYTES, 5000, 0) != 0;
    }
    g_free(own.umad);
    return NULL;
}

/* One of them sends for the others; nothing is lost or sent twice. */
static void test_senders_at_once(void **state)
{
    struct fixture *f = *state;
    uint32_t id = add_agent(f, 1, 1, false, 0);
    struct sender senders[SENDERS];
    bool seen[SENDERS * SENDS_EACH] = {false};
    size_t length;

    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.fixture = f, .agent = id, .first_tid = i * SENDS_EACH};
        pthread_create(&senders[i].thread, NULL, send_many, &senders[i]);
    }
    for (int i = 0; i < SENDERS * SENDS_EACH; i++) {
        uint64_t tid;
        assert_int_equal(await(f, MAD_BYTES, &length, 5000), 0);
        assert_int_equal(f->umad->status, 0);
        tid = mad_tid(f->umad->data);
        assert_true(tid < SENDERS * SENDS_EACH && !seen[tid]);
        seen[tid] = true;
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        pthread_join(senders[i].thread, NULL);
        assert_int_equal(senders[i].errors, 0);
    }
    assert_int_equal(sim.seen, SENDERS * SENDS_EACH);
}

/* A long request meets itself coming back as somebody else's: both halves of RMPP at once. */
static void test_long_mad(void **state)
{
    struct fixture *f = *state;
    uint32_t id = add_agent(f, 3, 2, true, 1ull << 0x14);
    const size_t bytes = 56 + 70001;
    size_t length = 0;

    sim.mode = ECHO_AS_REQUEST;
    prepare(f, 3, 2, 0x14, 5);
    f->umad->data[RMPP_OFF_FLAGS] = RMPP_ACTIVE;
    for (size_t i = 56; i < bytes; i++)
        f->umad->data[i] = (uint8_t)(i * 7 >> 3);
    assert_int_equal(port_send(f->file, id, f->umad, bytes, 0, 3), 0);
    /* Our own ACKs carry the response bit, by which our agent is found again. */
    assert_int_equal(await(f, MAD_BYTES, &length, 5000), ENOSPC);
    assert_int_equal(length, bytes);
    assert_int_equal(file_read(f->file, f->umad, bytes, &length), 0);
    for (size_t i = 56; i < bytes; i++)
        assert_int_equal(f->umad->data[i], (uint8_t)(i * 7 >> 3));
}

static void test_death(void **state)
{
    struct fixture *f = *state;
    uint32_t id = add_agent(f, 1, 1, false, 0);
    size_t length;

    sim.mode = SWALLOW;
    prepare(f, 1, 1, 1, 3);
    assert_int_equal(port_send(f->file, id, f->umad, MAD_BYTES, 100000, 9), 0);
    stop_simulator();
    assert_int_equal(await(f, MAD_BYTES, &length, 3000), 0);
    assert_int_equal(f->umad->status, ETIMEDOUT);
    assert_int_equal(await(f, MAD_BYTES, &length, 3000), EIO);
    assert_int_equal(port_send(f->file, id, f->umad, MAD_BYTES, 100, 0), ENODEV);
}

/* A directed route starts at the own port, or by LID at a distant switch (smpquery -c). */
static void test_combined_routes_set_out_by_lid(void **state)
{
    struct fixture *f = *state;
    uint32_t id = add_agent(f, MAD_CLASS_SM_DIRECT, 1, false, 0);
    size_t length;

    for (int combined = 0; combined < 2; combined++) {
        prepare(f, MAD_CLASS_SM_DIRECT, 1, 1, 5 + combined);
        f->umad->addr.qpn = 0;
        memset(f->umad->data + SMP_DR_SLID, 0xff, 4);
        if (combined)
            memcpy(f->umad->data + SMP_DR_SLID, (uint8_t[]){0, 9}, 2);
        assert_int_equal(port_send(f->file, id, f->umad, MAD_BYTES, 1000, 0), 0);
        assert_int_equal(await(f, MAD_BYTES, &length, 1000), 0);
        assert_int_equal(f->umad->status, 0);
        assert_int_equal(sim.dlid, combined ? 7 : WIRE_LID_DIRECTED);
    }
}

#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PORT_TEST(test_answer_has_the_callers_id),
        PORT_TEST(test_silence_is_a_timeout_after_retries),
        PORT_TEST(test_a_packet_given_back_is_no_verdict),
        PORT_TEST(test_more_than_the_window),
        PORT_TEST(test_senders_at_once),
        PORT_TEST(test_combined_routes_set_out_by_lid),
        PORT_TEST(test_long_mad),
        PORT_TEST(test_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
