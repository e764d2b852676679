/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of links: messages, sessions, waiting, and how fast the end of a peer is known. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "proto/link_test_peer.h"

static int say(struct peer *p, const char *to, const char *text)
{
    return link_send(p->link, LINK_CONTROL, to, (const uint8_t *)text, strlen(text));
}

static void messages_pass_both_ways(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *c = peer_create("client", NULL, 0);
    struct link_event e;
    assert_int_equal(say(c, "server", "x"), EHOSTUNREACH);
    assert_int_equal(say(s, "client", "x"), EHOSTUNREACH);
    peer_bind(s);
    peer_join(c, s);
    assert_int_equal(say(s, "client", "hello"), 0);
    assert_true(peer_await(c, LINK_MESSAGE, "server", TEST_PATIENCE_MS, &e));
    assert_int_equal(e.len, 5);
    assert_memory_equal(e.bytes, "hello", 5);
    assert_int_equal(link_counters(s->link).refused_handshakes, 0);
    assert_int_equal(link_send(c->link, LINK_CONTROL, "server", NULL, 0), EINVAL);
    peer_destroy(c);
    peer_destroy(s);
}

static void the_largest_message_passes_and_no_larger(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *c = peer_create("client", NULL, 0);
    struct link_event e;
    uint8_t *big = g_malloc0(PROTO_MAX_MESSAGE + 1);
    big[PROTO_MAX_MESSAGE - 1] = 7;
    peer_bind(s);
    peer_join(c, s);
    assert_int_equal(link_send(c->link, LINK_CONTROL, "server", big, PROTO_MAX_MESSAGE + 1),
                     EMSGSIZE);
    assert_int_equal(link_counters(c->link).dropped_oversized, 1);
    assert_int_equal(link_send(c->link, LINK_CONTROL, "server", big, PROTO_MAX_MESSAGE), 0);
    assert_true(peer_await(s, LINK_MESSAGE, "client", TEST_PATIENCE_MS, &e));
    assert_int_equal(e.len, PROTO_MAX_MESSAGE);
    assert_int_equal(e.bytes[PROTO_MAX_MESSAGE - 1], 7);
    g_free(big);
    peer_destroy(c);
    peer_destroy(s);
}

static void a_restarted_server_is_found_again(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *c = peer_create("client", NULL, 0);
    char endpoint[64], error[256] = "";
    peer_bind(s);
    peer_join(c, s);
    g_strlcpy(endpoint, s->endpoint, sizeof endpoint);
    peer_destroy(s);
    assert_true(peer_await(c, LINK_DOWN, "server", TEST_PATIENCE_MS, NULL));
    assert_int_equal(say(c, "server", "x"), EHOSTUNREACH);
    s = peer_create("server", NULL, 0);
    peer_allow(s, "client");
    link_bind(s->link, LINK_CONTROL, endpoint, error, sizeof error);
    assert_string_equal(error, "");
    assert_true(peer_await(c, LINK_UP, "server", TEST_PATIENCE_MS, NULL));
    assert_int_equal(say(c, "server", "again"), 0);
    assert_true(peer_await(s, LINK_MESSAGE, "client", TEST_PATIENCE_MS, NULL));
    peer_destroy(c);
    peer_destroy(s);
}

static int tell(struct peer *s, struct peer *p, const char *text)
{
    int rc = say(s, "client", text);
    return rc ? rc : peer_await(p, LINK_MESSAGE, "server", TEST_PATIENCE_MS, NULL) ? 0 : ETIMEDOUT;
}

/* A second process with the key of a live peer is heard, but the answers go to the first. */
static void the_session_in_use_is_kept_until_it_ends(void **state)
{
    struct peer *s = peer_create("server", NULL, 0);
    struct peer *first = peer_create("client", NULL, 0), *second = peer_create("client", NULL, 0);
    peer_bind(s);
    peer_join(first, s);
    peer_join(second, s);
    for (int i = 0; i < 30; i++) { /* longer than the silence that would end it */
        assert_int_equal(say(first, "server", "x"), 0);
        assert_int_equal(say(second, "server", "x"), 0);
        for (int k = 0; k < 2; k++)
            assert_true(peer_await(s, LINK_MESSAGE, "client", TEST_PATIENCE_MS, NULL));
        assert_int_equal(tell(s, first, "for the first"), 0);
        assert_false(peer_await(second, LINK_MESSAGE, "server", 50, NULL));
    }
    assert_int_equal(say(second, "server", "pending"), 0);
    g_usleep(50000);
    peer_destroy(first);
    assert_true(peer_await(s, LINK_MESSAGE, "client", TEST_PATIENCE_MS, NULL));
    assert_true(peer_await(s, LINK_DOWN, "client", TEST_PATIENCE_MS, NULL));
    assert_int_equal(tell(s, second, "for the second"), 0);
    first = peer_create("client", NULL, 0);
    peer_join(first, s);
    peer_destroy(first); /* the end of one that is not in use says nothing about the peer's life */
    assert_false(peer_await(s, LINK_DOWN, "client", 200, NULL));
    assert_int_equal(tell(s, second, "still for the second"), 0);
    peer_destroy(second);
    assert_true(peer_await(s, LINK_DOWN, "client", TEST_PATIENCE_MS, NULL));
    assert_int_equal(say(s, "client", "x"), EHOSTUNREACH);
    peer_destroy(s);
}

/* Its host may have died: no end is told, and the next process must be answered. */
static void a_silent_session_gives_way_to_one_that_speaks(void **state)
{
    struct peer *s = peer_create("server", NULL, 0);
    struct peer *first = peer_create("client", NULL, 0), *second = peer_create("client", NULL, 0);
    peer_bind(s);
    peer_join(first, s);
    peer_join(second, s);
    g_usleep(1100000); /* this process stands still: that is not the silence of the first */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(say(second, "server", "x"), 0);
        assert_int_equal(say(first, "server", "x"), 0);
    }
    g_usleep(50000);
    for (int i = 0; i < 6; i++) {
        assert_true(peer_await(s, LINK_MESSAGE, "client", TEST_PATIENCE_MS, NULL));
        assert_int_equal(tell(s, first, "for the first"), 0);
    }
    g_usleep(1100000);
    assert_false(peer_await(s, LINK_MESSAGE, "client", 100, NULL));
    assert_int_equal(say(second, "server", "x"), 0);
    assert_true(peer_await(s, LINK_MESSAGE, "client", TEST_PATIENCE_MS, NULL));
    assert_int_equal(tell(s, second, "for the second"), 0);
    peer_destroy(first);
    assert_false(peer_await(s, LINK_DOWN, "client", 200, NULL));
    peer_destroy(second);
    peer_destroy(s);
}

static void a_refused_key_is_told_and_comes_in_when_enrolled(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *c = peer_create("client", NULL, 0);
    peer_bind(s);
    peer_connect(c, "server", s->endpoint);
    assert_true(peer_await(c, LINK_REFUSED, "server", TEST_PATIENCE_MS, NULL));
    assert_false(peer_await(s, LINK_MESSAGE, NULL, 1, NULL)); /* reads its monitor */
    assert_true(link_counters(s->link).refused_handshakes >= 1);
    peer_allow(s, "client");
    assert_true(peer_await(c, LINK_UP, "server", TEST_PATIENCE_MS, NULL));
    peer_destroy(c);
    peer_destroy(s);
}

static void a_server_with_another_key_is_refused(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *c = peer_create("client", NULL, 0);
    peer_bind(s);
    peer_allow(s, "client");
    peer_connect(c, "not-the-server", s->endpoint);
    assert_true(peer_await(c, LINK_REFUSED, "not-the-server", TEST_PATIENCE_MS, NULL));
    assert_false(peer_await(c, LINK_UP, NULL, 100, NULL));
    peer_destroy(c);
    peer_destroy(s);
}

static void connecting_again_replaces_only_what_differs(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *c = peer_create("client", NULL, 0);
    struct peer *other = peer_create("server", NULL, 0);
    peer_bind(s);
    peer_bind(other);
    peer_join(c, s);
    peer_connect(c, "server", s->endpoint);
    assert_int_equal(say(c, "server", "x"), 0); /* still up */
    peer_allow(other, "client");
    peer_connect(c, "server", other->endpoint);
    assert_true(peer_await(c, LINK_UP, "server", TEST_PATIENCE_MS, NULL));
    assert_int_equal(say(c, "server", "x"), 0);
    assert_true(peer_await(other, LINK_MESSAGE, "client", TEST_PATIENCE_MS, NULL));
    link_disconnect(c->link, LINK_CONTROL, "server");
    assert_int_equal(say(c, "server", "x"), EHOSTUNREACH);
    peer_destroy(c);
    peer_destroy(other);
    peer_destroy(s);
}

static void wrong_endpoints_are_told(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *t = peer_create("second", NULL, 0);
    char error[256] = "";
    peer_bind(s);
    assert_int_equal(link_bind(t->link, LINK_CONTROL, s->endpoint, error, sizeof error),
                     EADDRINUSE);
    assert_non_null(strstr(error, s->endpoint));
    assert_null(link_bound_endpoint(t->link, LINK_CONTROL));
    assert_int_equal(link_bind(t->link, LINK_CONTROL, "nonsense", error, sizeof error), EINVAL);
    assert_int_equal(
        link_connect(t->link, LINK_DELTA, "p", s->keys.public_key, "nonsense", error, sizeof error),
        EINVAL);
    assert_int_equal(link_bind(s->link, LINK_CONTROL, "tcp://127.0.0.1:0", error, sizeof error),
                     EBUSY);
    peer_destroy(t);
    peer_destroy(s);
}

/* The descriptor of a ZeroMQ socket is edge-triggered: a wait that trusted it alone would sleep on
 * the messages that the last link_receive left behind. */
static void waiting_sees_messages_left_behind_and_descriptors(void **state)
{
    struct peer *s = peer_create("server", NULL, 0), *c = peer_create("client", NULL, 0);
    struct link_event e;
    peer_bind(s);
    peer_join(c, s);
    for (int i = 0; i < 100; i++)
        assert_int_equal(say(c, "server", "x"), 0);
    assert_true(peer_await(s, LINK_MESSAGE, "client", TEST_PATIENCE_MS, &e));
    g_usleep(100000); /* all have arrived, none will come */
    for (int i = 1; i < 100; i++) {
        gint64 start = g_get_monotonic_time();
        assert_int_equal(link_wait(s->link, NULL, 0, 10000), 0);
        assert_true(g_get_monotonic_time() - start < 5 * G_USEC_PER_SEC);
        assert_int_equal(link_receive(s->link, &e), 0);
        assert_int_equal(e.kind, LINK_MESSAGE);
    }
    assert_int_equal(link_receive(s->link, &e), EAGAIN);

    struct pollfd extra[2] = {{.fd = -1, .events = POLLIN}, {.events = POLLIN}};
    extra[1].fd = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(link_wait(s->link, extra, 2, 1), 0);
    assert_int_equal(extra[1].revents, 0);
    assert_int_equal(eventfd_write(extra[1].fd, 1), 0);
    assert_int_equal(link_wait(s->link, extra, 2, -1), 0);
    assert_int_equal(extra[1].revents, POLLIN);
    close(extra[1].fd);
    peer_destroy(c);
    peer_destroy(s);
}

/* Kills the middle one of several peers that connected to us. */
static void the_end_of_a_peer_that_connected_is_known_by_name(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct peer *s = peer_create("server", NULL, 0);
    struct link_event e;
    peer_bind(s);
    gint64 worst = 0;
    for (int round = 0; round < 10; round++) {
        struct child children[3];
        for (int i = 0; i < 3; i++) {
            peer_allow(s, names[i]);
            children[i] = child_start(CHILD_CONNECT, names[i], "server", s->endpoint);
        }
        for (int i = 0; i < 3; i++)
            while (say(s, names[i], "ping") != 0)
                peer_await(s, LINK_UP, "never", 5, NULL);
        gint64 start = g_get_monotonic_time();
        child_kill(&children[1], SIGKILL);
        assert_true(peer_await(s, LINK_DOWN, NULL, TEST_PATIENCE_MS, &e));
        worst = MAX(worst, g_get_monotonic_time() - start);
        assert_string_equal(e.peer, "b");
        assert_int_equal(say(s, "b", "x"), EHOSTUNREACH);
        assert_false(peer_await(s, LINK_DOWN, NULL, 60, &e));
        assert_int_equal(say(s, "a", "x"), 0);
        for (int i = 0; i < 3; i++)
            child_end(&children[i]);
        assert_true(peer_await(s, LINK_DOWN, NULL, TEST_PATIENCE_MS, &e));
        assert_true(peer_await(s, LINK_DOWN, NULL, TEST_PATIENCE_MS, &e));
    }
    print_message("binding side: SIGKILL to LINK_DOWN at most %d us in 10 rounds\n", (int)worst);
    peer_destroy(s);
}

static void the_end_of_a_peer_we_connected_to_is_known(void **state)
{
    struct peer *c = peer_create("client", NULL, 0);
    gint64 worst = 0;
    for (int round = 0; round < 10; round++) {
        struct child s = child_start(CHILD_BIND, "server", "client", "");
        peer_connect(c, "server", s.endpoint);
        assert_true(peer_await(c, LINK_UP, "server", TEST_PATIENCE_MS, NULL));
        gint64 start = g_get_monotonic_time();
        child_kill(&s, SIGKILL);
        assert_true(peer_await(c, LINK_DOWN, "server", TEST_PATIENCE_MS, NULL));
        worst = MAX(worst, g_get_monotonic_time() - start);
        child_end(&s);
    }
    print_message("connecting side: SIGKILL to LINK_DOWN at most %d us in 10 rounds\n", (int)worst);
    peer_destroy(c);
}

enum { WORDS = 500, FIRST_REST_MS = 100, LONGEST_REST_MS = 6400 };

/* Returns how many words were heard before the end; none may be heard after it. */
static int hear_until_the_end(struct peer *listener, struct peer *speaker, int rest_ms)
{
    struct link_event e = {0};
    int heard = 0;
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(say(speaker, listener->name, "words"), 0);
    assert_true(peer_await(listener, LINK_MESSAGE, speaker->name, TEST_PATIENCE_MS, NULL));
    g_usleep(1000 * (gulong)rest_ms);
    peer_destroy(speaker);
    g_usleep(100000);
    for (heard = 1; e.kind != LINK_DOWN; heard += e.kind == LINK_MESSAGE && e.len)
        while (link_receive(listener->link, &e) != 0)
            link_wait(listener->link, NULL, 0, TEST_PATIENCE_MS);
    assert_false(peer_await(listener, LINK_MESSAGE, speaker->name, 60, NULL));
    return heard;
}

/* What a peer said before its end is delivered before its end is told. Words that its thread has
 * not written to the socket yet end with it (LINGER 0): on a machine that was too busy for that,
 * once more with a longer rest. */
static void expect_last_words(bool server_speaks)
{
    int heard = 0;
    for (int rest_ms = FIRST_REST_MS; heard < WORDS && rest_ms <= LONGEST_REST_MS; rest_ms *= 2) {
        struct peer *c = peer_create("client", NULL, 0), *s = peer_create("server", NULL, 0);
        peer_bind(s);
        peer_join(c, s);
        heard =
            server_speaks ? hear_until_the_end(c, s, rest_ms) : hear_until_the_end(s, c, rest_ms);
        peer_destroy(server_speaks ? c : s);
    }
    assert_int_equal(heard, WORDS);
}

static void last_words_come_before_the_end(void **state)
{
    expect_last_words(true);
    expect_last_words(false);
}

static void silent_connections_delay_nobody(void **state)
{
    enum { SILENT = 1000, ROUNDS = 200 };
    static int fds[SILENT];
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = MIN(files.rlim_max, 8192);
    setrlimit(RLIMIT_NOFILE, &files);
    struct peer *s = peer_create("server", NULL, 0);
    peer_bind(s);
    peer_allow(s, "child");
    struct child c = child_start(CHILD_CONNECT, "child", "server", s->endpoint);
    while (say(s, "child", "ping") != 0)
        peer_await(s, LINK_UP, "never", 5, NULL);
    assert_true(peer_await(s, LINK_MESSAGE, "child", TEST_PATIENCE_MS, NULL));
    for (int i = 0; i < SILENT; i++)
        fds[i] = tcp_connect(s->endpoint);
    gint64 worst = 0;
    for (int i = 0; i < ROUNDS; i++) { /* while the handshakes of the silent ones time out */
        gint64 start = g_get_monotonic_time();
        assert_int_equal(say(s, "child", "ping"), 0);
        assert_true(peer_await(s, LINK_MESSAGE, "child", TEST_PATIENCE_MS, NULL));
        worst = MAX(worst, g_get_monotonic_time() - start);
        peer_await(s, LINK_MESSAGE, "never", 5, NULL);
    }
    print_message("1000 silent connections: worst of %d round trips %d us\n", ROUNDS, (int)worst);
    assert_true(link_counters(s->link).refused_handshakes >= SILENT);
    for (int i = 0; i < SILENT; i++)
        close(fds[i]);
    child_end(&c);
    peer_destroy(s);
}

int main(int argc, char **argv)
{
    int rc = child_main(argc, argv);
    if (rc >= 0)
        return rc;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_pass_both_ways),
        cmocka_unit_test(the_largest_message_passes_and_no_larger),
        cmocka_unit_test(a_restarted_server_is_found_again),
        cmocka_unit_test(the_session_in_use_is_kept_until_it_ends),
        cmocka_unit_test(a_silent_session_gives_way_to_one_that_speaks),
        cmocka_unit_test(a_refused_key_is_told_and_comes_in_when_enrolled),
        cmocka_unit_test(a_server_with_another_key_is_refused),
        cmocka_unit_test(connecting_again_replaces_only_what_differs),
        cmocka_unit_test(wrong_endpoints_are_told),
        cmocka_unit_test(waiting_sees_messages_left_behind_and_descriptors),
        cmocka_unit_test(the_end_of_a_peer_that_connected_is_known_by_name),
        cmocka_unit_test(the_end_of_a_peer_we_connected_to_is_known),
        cmocka_unit_test(last_words_come_before_the_end),
        cmocka_unit_test(silent_connections_delay_nobody),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
