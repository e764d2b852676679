/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that authentication stands on: for each setting of a link an attack or a failure that
 * it prevents, and that happens when the setting is taken out. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>
#include <zmq.h>

#include "proto/link_test_peer.h"

#define NOT_HAPPENING_MS 300 /* how long we wait for what must not come */

static int say(struct peer *p, const char *to, const char *text)
{
    return link_send(p->link, LINK_CONTROL, to, (const uint8_t *)text, strlen(text));
}

/* Takes events for a while, whatever they are. */
static void idle(struct peer *p, int ms)
{
    assert_false(peer_await(p, LINK_MESSAGE, "nobody", ms, NULL));
}

/* --- who gets in --- */

static bool stranger_gets_in(const struct link_settings *settings)
{
    struct peer *s = peer_create("server", settings, 0);
    peer_bind(s);
    struct raw r = raw_connect(NULL, "server", s->endpoint, NULL, 0);
    bool in = raw_admitted(&r, TEST_PATIENCE_MS);
    raw_close(&r);
    peer_destroy(s);
    return in;
}

static void without_a_handler_any_key_is_accepted(void **state)
{
    struct link_settings o = link_default_settings;
    assert_false(stranger_gets_in(&o));
    o.canary = false;
    o.zap_enforce = false;
    assert_false(stranger_gets_in(&o)); /* the handler does it */
    o.zap_handler = false;
    assert_true(stranger_gets_in(&o));
}

static void an_enforced_domain_refuses_when_the_handler_is_missing(void **state)
{
    struct link_settings o = link_default_settings;
    o.canary = false;
    o.zap_handler = false;
    assert_false(stranger_gets_in(&o));
    o.zap_enforce = false;
    assert_true(stranger_gets_in(&o));
}

static void without_a_domain_the_handler_is_not_asked(void **state)
{
    struct link_settings o = link_default_settings;
    o.canary = false;
    assert_false(stranger_gets_in(&o));
    o.zap_domain = false;
    assert_true(stranger_gets_in(&o));
}

static int bind_without_handler(bool canary, char *error, size_t error_size)
{
    struct link_settings o = link_default_settings;
    o.zap_handler = false;
    o.zap_enforce = false;
    o.canary = canary;
    struct peer *s = peer_create("server", &o, 0);
    int rc = link_bind(s->link, LINK_CONTROL, "tcp://*:0", error, error_size);
    assert_true((link_bound_endpoint(s->link, LINK_CONTROL) == NULL) == (rc != 0));
    peer_destroy(s);
    return rc;
}

static void the_canary_finds_that_anybody_gets_in(void **state)
{
    char error[256] = "";
    assert_int_equal(bind_without_handler(true, error, sizeof error), EPERM);
    assert_non_null(strstr(error, "random key was accepted"));
    assert_int_equal(bind_without_handler(false, error, sizeof error), 0);
}

/* --- who speaks --- */

/* The holder of a's key calls itself b in the only place that it fills in. */
static void sender_heard(bool user_id, char heard[64])
{
    static const char routing_id[] = "b\0boot";
    struct link_settings o = link_default_settings;
    struct link_event e;
    o.sender_is_user_id = user_id;
    struct peer *s = peer_create("server", &o, 0);
    peer_allow(s, "a");
    peer_allow(s, "b");
    peer_bind(s);
    struct raw r = raw_connect("a", "server", s->endpoint, routing_id, sizeof routing_id);
    assert_true(raw_admitted(&r, TEST_PATIENCE_MS));
    assert_int_equal(zmq_send(r.socket, "I am b", 6, 0), 6);
    assert_true(peer_await(s, LINK_MESSAGE, NULL, TEST_PATIENCE_MS, &e));
    memcpy(heard, e.peer, 64);
    raw_close(&r);
    peer_destroy(s);
}

static void the_key_of_a_cannot_speak_as_b(void **state)
{
    char heard[64];
    sender_heard(true, heard);
    assert_string_equal(heard, "a");
    sender_heard(false, heard);
    assert_string_equal(heard, "b");
}

/* The holder of a's key takes the routing id of b's live session. Who gets what is sent to b? */
static bool session_is_stolen(int handover)
{
    struct link_settings o = link_default_settings;
    uint8_t id[LINK_MAX_ROUTING_ID];
    char buffer[64];
    o.router_handover = handover;
    struct peer *s = peer_create("server", &o, 0), *b = peer_create("b", NULL, 0);
    peer_allow(s, "a");
    peer_bind(s);
    peer_join(b, s);
    size_t id_len = link_routing_id(s->link, LINK_CONTROL, "b", id);
    assert_true(id_len > 0);
    struct raw r = raw_connect("a", "server", s->endpoint, id, id_len);
    assert_true(raw_admitted(&r, TEST_PATIENCE_MS));
    g_usleep(100000);
    say(s, "b", "secret");
    bool stolen = raw_receive(&r, buffer, sizeof buffer, NOT_HAPPENING_MS) > 0;
    bool arrived = peer_await(b, LINK_MESSAGE, "server", NOT_HAPPENING_MS, NULL);
    assert_true(stolen != arrived);
    raw_close(&r);
    peer_destroy(b);
    peer_destroy(s);
    return stolen;
}

static void a_routing_id_cannot_be_stolen(void **state)
{
    assert_false(session_is_stolen(0));
    assert_true(session_is_stolen(1));
}

/* A live session keeps its connection when its key is revoked. */
static bool revoked_is_heard(bool drop_revoked, bool replace)
{
    struct link_settings o = link_default_settings;
    o.drop_revoked = drop_revoked;
    struct peer *s = peer_create("server", &o, 0), *b = peer_create("b", NULL, 0);
    peer_bind(s);
    peer_join(b, s);
    if (replace)
        link_allow(s->link, "b", s->keys.public_key);
    else
        link_revoke(s->link, "b");
    assert_int_equal(say(b, "server", "still here"), 0);
    bool heard = peer_await(s, LINK_MESSAGE, NULL, NOT_HAPPENING_MS, NULL);
    assert_int_equal(link_counters(s->link).dropped_revoked > 0, drop_revoked);
    assert_int_equal(say(s, "b", "secret"), drop_revoked ? EHOSTUNREACH : 0);
    struct raw r = raw_connect("b", "server", s->endpoint, NULL, 0);
    assert_false(raw_admitted(&r, TEST_PATIENCE_MS));
    raw_close(&r);
    peer_destroy(b);
    peer_destroy(s);
    return heard;
}

static void a_revoked_key_is_not_heard(void **state)
{
    assert_false(revoked_is_heard(true, false));
    assert_false(revoked_is_heard(true, true));
    assert_true(revoked_is_heard(false, false));
    assert_true(revoked_is_heard(false, true));
}

/* The same key enrolled again is another session's; the live one of before stays unheard. */
static void an_old_session_stays_dropped_when_its_name_returns(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *b = peer_create("b", NULL, 0);
    peer_bind(s);
    peer_join(b, s);
    link_revoke(s->link, "b");
    peer_allow(s, "b");
    assert_int_equal(say(b, "server", "from before"), 0);
    assert_false(peer_await(s, LINK_MESSAGE, NULL, NOT_HAPPENING_MS, NULL));
    link_disconnect(b->link, LINK_CONTROL, "server");
    peer_join(b, s);
    peer_destroy(b);
    peer_destroy(s);
}

/* --- what a peer can do to us --- */

static void vanish(int mandatory, int *send_rc, bool *down)
{
    struct link_settings o = link_default_settings;
    o.router_mandatory = mandatory;
    struct peer *s = peer_create("server", &o, 0), *b = peer_create("b", NULL, 0);
    peer_bind(s);
    peer_join(b, s);
    peer_destroy(b);
    *down = peer_await(s, LINK_DOWN, "b", NOT_HAPPENING_MS, NULL);
    *send_rc = say(s, "b", "anybody?");
    peer_destroy(s);
}

static void messages_to_nobody_are_refused(void **state)
{
    int rc;
    bool down;
    vanish(1, &rc, &down);
    assert_int_equal(rc, EHOSTUNREACH);
    assert_true(down);
    vanish(0, &rc, &down);
    assert_int_equal(rc, 0);
    assert_false(down);
}

static bool oversized_is_heard(int64_t max)
{
    struct link_settings o = link_default_settings;
    struct link_event e;
    o.max_message_bytes = max;
    struct peer *s = peer_create("server", &o, 0);
    peer_allow(s, "a");
    peer_bind(s);
    struct raw r = raw_connect("a", "server", s->endpoint, NULL, 0);
    assert_true(raw_admitted(&r, TEST_PATIENCE_MS));
    uint8_t *big = g_malloc0(PROTO_MAX_MESSAGE + 1);
    zmq_send(r.socket, big, PROTO_MAX_MESSAGE + 1, 0);
    g_free(big);
    bool heard = peer_await(s, LINK_MESSAGE, "a", max < 0 ? TEST_PATIENCE_MS : 1000, &e);
    if (heard)
        assert_int_equal(e.len, PROTO_MAX_MESSAGE + 1);
    raw_close(&r);
    peer_destroy(s);
    return heard;
}

static void oversized_messages_are_not_received(void **state)
{
    assert_false(oversized_is_heard(link_default_settings.max_message_bytes));
    assert_true(oversized_is_heard(-1));
}

/* True if the server hangs up on a connection that says nothing. */
static bool silent_is_closed(int handshake_ivl_ms)
{
    struct link_settings o = link_default_settings;
    char buffer[256];
    o.handshake_ivl_ms = handshake_ivl_ms;
    struct peer *s = peer_create("server", &o, 0);
    peer_bind(s);
    int fd = tcp_connect(s->endpoint);
    struct timeval patience = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t n;
    do {
        n = read(fd, buffer, sizeof buffer); /* the server's greeting, then its end */
    } while (n > 0);
    close(fd);
    peer_destroy(s);
    return n == 0;
}

static void a_handshake_ends_in_time(void **state)
{
    assert_true(silent_is_closed(link_default_settings.handshake_ivl_ms));
    assert_false(silent_is_closed(0));
}

enum { PILE = 4000, PILE_BYTES = 16384, PILE_HWM = 64 };

/* Sends to a peer that does not read, until its queue is full; returns how many were taken. */
static int pile_up(struct peer *s, struct raw *r)
{
    static uint8_t bytes[PILE_BYTES];
    int taken = 0;
    peer_allow(s, "a");
    peer_bind(s);
    *r = raw_connect("a", "server", s->endpoint, NULL, 0);
    assert_int_equal(zmq_send(r->socket, "hi", 2, 0), 2);
    assert_true(peer_await(s, LINK_MESSAGE, "a", TEST_PATIENCE_MS, NULL));
    while (taken < PILE && link_send(s->link, LINK_CONTROL, "a", bytes, sizeof bytes) == 0)
        taken++;
    return taken;
}

static int taken_for_a_peer_that_does_not_read(bool finite)
{
    struct link_settings o = link_default_settings;
    struct raw r;
    o.finite_hwm = finite;
    struct peer *s = peer_create("server", &o, PILE_HWM);
    int taken = pile_up(s, &r);
    if (taken < PILE) {
        assert_int_equal(say(s, "a", "x"), EAGAIN);
        assert_true(link_counters(s->link).dropped_full > 0);
    }
    peer_destroy(s);
    raw_close(&r);
    return taken;
}

static void queues_are_bounded(void **state)
{
    int bounded = taken_for_a_peer_that_does_not_read(true);
    assert_true(bounded >= PILE_HWM && bounded < PILE);
    assert_int_equal(taken_for_a_peer_that_does_not_read(false), PILE);
}

static gint64 destroy_time_us(int linger_ms)
{
    struct link_settings o = link_default_settings;
    o.linger_ms = linger_ms;
    struct peer *s = peer_create("server", &o, 0);
    struct raw r;
    pile_up(s, &r);
    gint64 start = g_get_monotonic_time();
    peer_destroy(s);
    gint64 took = g_get_monotonic_time() - start;
    raw_close(&r);
    return took;
}

static void unsent_messages_do_not_delay_the_end(void **state)
{
    enum { LINGER_MS = 3000 };
    assert_true(destroy_time_us(link_default_settings.linger_ms) < (LINGER_MS - 500) * 1000);
    assert_true(destroy_time_us(LINGER_MS) > (LINGER_MS - 500) * 1000);
}

/* Many failed connections make many monitor events; can a peer still talk to us afterwards? */
static bool talks_after_many_events(bool drain)
{
    enum { CONNECTIONS = 2600 }; /* more than the monitor holds, less than it and the backlog */
    struct link_settings o = link_default_settings;
    o.drain_monitors = drain;
    struct peer *s = peer_create("server", &o, 0);
    peer_bind(s);
    peer_allow(s, "a");
    for (int i = 0; i < CONNECTIONS; i++) {
        int fd = tcp_connect(s->endpoint);
        assert_true(send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL) > 0);
        close(fd);
        if (i % 100 == 0)
            idle(s, 10);
    }
    struct raw r = raw_connect("a", "server", s->endpoint, NULL, 0);
    zmq_send(r.socket, "hi", 2, 0);
    bool heard = peer_await(s, LINK_MESSAGE, "a", drain ? TEST_PATIENCE_MS : 1000, NULL);
    raw_close(&r);
    link_settings(s->link)->drain_monitors = true; /* or the end would wait for the I/O thread */
    idle(s, 1);
    peer_destroy(s);
    return heard;
}

static void monitors_are_drained(void **state)
{
    assert_true(talks_after_many_events(true));
    assert_false(talks_after_many_events(false));
}

/* --- what ZMTP heartbeats say --- */

/* Waits for the end of a child whose loop stands still, or which is stopped as a whole. */
static bool end_is_told(bool stop, int heartbeat_ivl_ms)
{
    struct link_settings o = link_default_settings;
    o.heartbeat_ivl_ms = heartbeat_ivl_ms;
    o.heartbeat_timeout_ms = 150;
    struct peer *s = peer_create("server", &o, 0);
    peer_bind(s);
    peer_allow(s, "child");
    struct child c = child_start(CHILD_HANG, "child", "server", s->endpoint);
    while (say(s, "child", "ping") != 0)
        idle(s, 5);
    if (stop)
        child_kill(&c, SIGSTOP);
    bool told =
        peer_await(s, LINK_DOWN, "child", stop && heartbeat_ivl_ms ? TEST_PATIENCE_MS : 1000, NULL);
    child_end(&c);
    peer_destroy(s);
    return told;
}

static void heartbeats_of_zmtp_prove_nothing_about_a_loop(void **state)
{
    assert_false(end_is_told(false, 50)); /* its loop hangs, its I/O thread answers */
    assert_true(end_is_told(true, 50));   /* what they are for: a host that is gone */
    assert_false(end_is_told(true, 0));
}

int main(int argc, char **argv)
{
    int rc = child_main(argc, argv);
    if (rc >= 0)
        return rc;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_handler_any_key_is_accepted),
        cmocka_unit_test(an_enforced_domain_refuses_when_the_handler_is_missing),
        cmocka_unit_test(without_a_domain_the_handler_is_not_asked),
        cmocka_unit_test(the_canary_finds_that_anybody_gets_in),
        cmocka_unit_test(the_key_of_a_cannot_speak_as_b),
        cmocka_unit_test(a_routing_id_cannot_be_stolen),
        cmocka_unit_test(a_revoked_key_is_not_heard),
        cmocka_unit_test(an_old_session_stays_dropped_when_its_name_returns),
        cmocka_unit_test(messages_to_nobody_are_refused),
        cmocka_unit_test(oversized_messages_are_not_received),
        cmocka_unit_test(a_handshake_ends_in_time),
        cmocka_unit_test(queues_are_bounded),
        cmocka_unit_test(unsent_messages_do_not_delay_the_end),
        cmocka_unit_test(monitors_are_drained),
        cmocka_unit_test(heartbeats_of_zmtp_prove_nothing_about_a_loop),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
