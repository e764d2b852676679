/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers, attackers and child processes for the tests of link. */
#include "proto/link_test_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>
#include <zmq.h>

/* libzmq and libsodium are not built for it: what they hand from thread to thread looks unordered.
 */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libzmq.so.5\ncalled_from_lib:libsodium.so.23\n";
}

static const char *const mode_words[] = {"connect", "bind", "hang"};

void test_keys(const char *name, struct key_pair *keys)
{
    memset(keys, 0, sizeof *keys);
    crypto_generichash(keys->secret, LINK_KEY_BYTES, (const uint8_t *)name, strlen(name), NULL, 0);
    crypto_scalarmult_base(keys->public_key, keys->secret);
}

struct peer *peer_create(const char *name, const struct link_settings *settings, int hwm)
{
    char error[256] = "";
    struct peer *p = g_new0(struct peer, 1);
    test_keys(name, &p->keys);
    g_strlcpy(p->name, name, sizeof p->name);
    struct link_config config = {.name = p->name,
                                 .cluster = TEST_CLUSTER,
                                 .boot_id = randombytes_random(),
                                 .keys = &p->keys,
                                 .send_hwm = hwm,
                                 .receive_hwm = hwm};
    p->link = link_create_with(&config, settings ? settings : &link_default_settings, error,
                               sizeof error);
    assert_string_equal(error, "");
    assert_non_null(p->link);
    return p;
}

void peer_destroy(struct peer *p)
{
    link_destroy(p->link);
    g_free(p);
}

void peer_allow(struct peer *p, const char *name)
{
    struct key_pair keys;
    test_keys(name, &keys);
    link_allow(p->link, name, keys.public_key);
}

void peer_bind(struct peer *p)
{
    char error[256] = "";
    link_bind(p->link, LINK_CONTROL, "tcp://127.0.0.1:0", error, sizeof error);
    assert_string_equal(error, "");
    g_strlcpy(p->endpoint, link_bound_endpoint(p->link, LINK_CONTROL), sizeof p->endpoint);
}

void peer_connect(struct peer *p, const char *server, const char *endpoint)
{
    char error[256] = "";
    struct key_pair keys;
    test_keys(server, &keys);
    link_connect(p->link, LINK_CONTROL, server, keys.public_key, endpoint, error, sizeof error);
    assert_string_equal(error, "");
}

bool peer_await(struct peer *p, enum link_event_kind kind, const char *from, int timeout_ms,
                struct link_event *event)
{
    struct link_event spare, *e = event ? event : &spare;
    gint64 end = g_get_monotonic_time() + timeout_ms * 1000;
    for (;;) {
        while (link_receive(p->link, e) == 0)
            if (e->kind == kind && (!from || strcmp(e->peer, from) == 0))
                return true;
        gint64 left = end - g_get_monotonic_time();
        if (left <= 0)
            return false;
        link_wait(p->link, NULL, 0, (int)(left / 1000) + 1);
    }
}

void peer_join(struct peer *client, struct peer *server)
{
    peer_allow(server, client->name);
    peer_connect(client, server->name, server->endpoint);
    assert_true(peer_await(client, LINK_UP, server->name, TEST_PATIENCE_MS, NULL));
    assert_int_equal(
        link_send(client->link, LINK_CONTROL, server->name, (const uint8_t *)"join", 4), 0);
    assert_true(peer_await(server, LINK_MESSAGE, client->name, TEST_PATIENCE_MS, NULL));
}

struct raw raw_connect(const char *name, const char *server, const char *endpoint,
                       const void *routing_id, size_t routing_id_len)
{
    struct key_pair keys, server_keys;
    char random_name[32];
    snprintf(random_name, sizeof random_name, "stranger-%08x", randombytes_random());
    test_keys(name ? name : random_name, &keys);
    test_keys(server, &server_keys);
    struct raw r = {.ctx = zmq_ctx_new()};
    int linger = 0, once = -1;
    r.socket = zmq_socket(r.ctx, ZMQ_DEALER);
    zmq_setsockopt(r.socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(r.socket, ZMQ_RECONNECT_IVL, &once, sizeof once);
    zmq_setsockopt(r.socket, ZMQ_CURVE_PUBLICKEY, keys.public_key, LINK_KEY_BYTES);
    zmq_setsockopt(r.socket, ZMQ_CURVE_SECRETKEY, keys.secret, LINK_KEY_BYTES);
    zmq_setsockopt(r.socket, ZMQ_CURVE_SERVERKEY, server_keys.public_key, LINK_KEY_BYTES);
    if (routing_id_len)
        zmq_setsockopt(r.socket, ZMQ_ROUTING_ID, routing_id, routing_id_len);
    zmq_socket_monitor(r.socket, "inproc://monitor", ZMQ_EVENT_ALL);
    r.monitor = zmq_socket(r.ctx, ZMQ_PAIR);
    zmq_connect(r.monitor, "inproc://monitor");
    assert_int_equal(zmq_connect(r.socket, endpoint), 0);
    return r;
}

bool raw_admitted(struct raw *r, int timeout_ms)
{
    gint64 end = g_get_monotonic_time() + timeout_ms * 1000;
    while (g_get_monotonic_time() < end) {
        zmq_pollitem_t item = {.socket = r->monitor, .events = ZMQ_POLLIN};
        uint16_t event;
        uint32_t value;
        zmq_poll(&item, 1, 10);
        while (monitor_next(r->monitor, &event, &value)) {
            if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
                return true;
            if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || event == ZMQ_EVENT_DISCONNECTED ||
                event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
                return false;
        }
    }
    return false;
}

int raw_receive(struct raw *r, void *buffer, size_t size, int timeout_ms)
{
    zmq_pollitem_t item = {.socket = r->socket, .events = ZMQ_POLLIN};
    if (zmq_poll(&item, 1, timeout_ms) <= 0)
        return -1;
    return zmq_recv(r->socket, buffer, size, ZMQ_DONTWAIT);
}

void raw_close(struct raw *r)
{
    int linger = 0;
    zmq_socket_monitor(r->socket, NULL, 0);
    zmq_setsockopt(r->monitor, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close(r->monitor);
    zmq_close(r->socket);
    zmq_ctx_term(r->ctx);
}

int tcp_connect(const char *endpoint)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    a.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

struct child child_start(enum child_mode mode, const char *name, const char *server,
                         const char *endpoint)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct child c = {.output = fds[0]};
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        execl("/proc/self/exe", "link-test-peer", mode_words[mode], name, server, endpoint, NULL);
        _exit(127);
    }
    close(fds[1]);
    if (mode != CHILD_BIND)
        return c;
    ssize_t n = read(c.output, c.endpoint, sizeof c.endpoint - 1);
    assert_true(n > 1);
    c.endpoint[n - 1] = 0;
    return c;
}

void child_kill(struct child *c, int signal)
{
    kill(c->pid, signal);
}

void child_end(struct child *c)
{
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->output);
}

/* Sends back what it hears, until it is killed. */
static _Noreturn void serve(struct peer *p, bool hang)
{
    struct link_event e;
    for (;;) {
        while (link_receive(p->link, &e) == 0) {
            if (e.kind == LINK_MESSAGE)
                link_send(p->link, e.channel, e.peer, e.bytes, e.len);
            if (e.kind == LINK_UP && hang)
                for (;;)
                    pause();
        }
        link_wait(p->link, NULL, 0, -1);
    }
}

int child_main(int argc, char **argv)
{
    if (argc != 5 || strcmp(argv[0], "link-test-peer") != 0)
        return -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sodium_init() < 0)
        return 1;
    struct peer *p = peer_create(argv[2], NULL, 0);
    if (strcmp(argv[1], "bind") == 0) {
        peer_allow(p, argv[3]);
        peer_bind(p);
        puts(p->endpoint);
        fflush(stdout);
    } else {
        peer_connect(p, argv[3], argv[4]);
    }
    serve(p, strcmp(argv[1], "hang") == 0);
}
