/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the writer thread: order, group commit, bounds, errors of one batch among many. */
#include "store/test_util.h"

#include <errno.h>
#include <poll.h>

#define BATCHES 300
#define WAIT_MS 10000

static struct store_batch *numbered(uint32_t n)
{
    struct store_batch *b = store_batch_create();
    uint32_t key = GUINT32_TO_BE(n);
    store_batch_put(b, "log", &key, sizeof(key), "", 0);
    store_batch_put(b, "last", "n", 1, &n, sizeof(n));
    return b;
}

static void submit(struct store_writer *w, struct store_batch *b, uint64_t ticket)
{
    int rc;
    while ((rc = store_writer_submit(w, b, ticket)) == EAGAIN) {
        g_usleep(1000);
    }
    assert_int_equal(rc, 0);
}

static void next(struct store_writer *w, uint64_t *ticket, int *error)
{
    while (!store_writer_done(w, ticket, error)) {
        struct pollfd p = {.fd = store_writer_fd(w), .events = POLLIN};
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    }
}

static void completions_come_in_order_and_the_last_batch_wins(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_writer *w = store_writer_create(s, 50);
    for (uint32_t i = 1; i <= BATCHES; i++) {
        submit(w, numbered(i), i);
    }
    for (uint32_t i = 1; i <= BATCHES; i++) {
        uint64_t ticket;
        int error;
        next(w, &ticket, &error);
        assert_int_equal(ticket, i);
        assert_int_equal(error, 0);
    }
    uint64_t ticket;
    int error;
    assert_false(store_writer_done(w, &ticket, &error));
    struct pollfd p = {.fd = store_writer_fd(w), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    store_writer_destroy(w);
    size_t len;
    g_autofree uint8_t *last = store_get(s, "last", "n", 1, &len);
    uint32_t n;
    assert_int_equal(len, sizeof(n));
    memcpy(&n, last, sizeof(n));
    assert_int_equal(n, BATCHES);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static void a_faulty_batch_fails_alone(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_writer *w = store_writer_create(s, 100);
    for (uint32_t i = 1; i <= 30; i++) {
        struct store_batch *b = numbered(i);
        if (i % 10 == 0) {
            store_batch_put(b, "log", "", 0, "no key", 6);
        }
        submit(w, b, i);
    }
    for (uint32_t i = 1; i <= 30; i++) {
        uint64_t ticket;
        int error;
        next(w, &ticket, &error);
        assert_int_equal(ticket, i);
        assert_int_equal(error, i % 10 == 0 ? EINVAL : 0);
        uint32_t key = GUINT32_TO_BE(i);
        size_t len;
        g_autofree uint8_t *value = store_get(s, "log", &key, sizeof(key), &len);
        assert_true((value != NULL) == (i % 10 != 0));
    }
    store_writer_destroy(w);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static void the_queue_is_bounded(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_writer *w = store_writer_create(s, 0);
    struct store_batch *b = numbered(1);
    assert_int_equal(store_writer_submit(w, b, 1), EAGAIN);
    store_batch_destroy(b); /* still ours */
    store_writer_destroy(w);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static void destroying_commits_what_waits(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_writer *w = store_writer_create(s, BATCHES);
    for (uint32_t i = 1; i <= 100; i++) {
        assert_int_equal(store_writer_submit(w, numbered(i), i), 0);
    }
    store_writer_destroy(w);
    uint32_t key = GUINT32_TO_BE(100);
    size_t len;
    g_autofree uint8_t *value = store_get(s, "log", &key, sizeof(key), &len);
    assert_non_null(value);
    store_writer_destroy(NULL);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_come_in_order_and_the_last_batch_wins),
        cmocka_unit_test(a_faulty_batch_fails_alone),
        cmocka_unit_test(the_queue_is_bounded),
        cmocka_unit_test(destroying_commits_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
