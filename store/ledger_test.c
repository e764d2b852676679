/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the embedded ledger: revisions, compare-and-swap, incarnations. */
#include "store/test_util.h"

#include <errno.h>

#include "store/ledger.h"

static struct ledger *open_ledger(const char *dir)
{
    struct store_config config = {dir, "ledger", "c1", 0};
    struct ledger *l = NULL;
    char error[256] = "";
    int rc = ledger_open(&config, &l, error, sizeof(error));
    if (rc != 0) {
        fail_msg("ledger_open: %d: %s", rc, error);
    }
    return l;
}

static int swap1(struct ledger *l, const char *key, uint64_t expected, const char *value,
                 uint64_t *revision)
{
    struct ledger_change c = {key, expected, value, value == NULL ? 0 : strlen(value)};
    return ledger_swap(l, &c, 1, revision);
}

static void expect(struct ledger *l, const char *key, const char *value, uint64_t revision)
{
    size_t len;
    uint64_t got;
    g_autofree uint8_t *bytes = ledger_get(l, key, &len, &got);
    assert_int_equal(got, revision);
    if (value == NULL) {
        assert_null(bytes);
        return;
    }
    assert_int_equal(len, strlen(value));
    assert_memory_equal(bytes, value, len);
}

static void a_swap_needs_the_expected_revision(void **state)
{
    char *dir = test_dir();
    struct ledger *l = open_ledger(dir);
    uint64_t r;
    expect(l, "a", NULL, 0);
    assert_int_equal(swap1(l, "a", 1, "x", &r), EAGAIN);
    assert_int_equal(swap1(l, "a", 0, "x", &r), 0);
    assert_int_equal(r, 1);
    assert_int_equal(swap1(l, "a", 0, "y", &r), EAGAIN);
    assert_int_equal(swap1(l, "b", 0, "z", &r), 0);
    assert_int_equal(r, 2);
    assert_int_equal(swap1(l, "a", 1, "", &r), 0);
    expect(l, "a", "", 3);
    expect(l, "b", "z", 2);
    ledger_close(l);
    l = open_ledger(dir);
    expect(l, "a", "", 3);
    assert_int_equal(swap1(l, "a", 3, NULL, &r), 0);
    assert_int_equal(r, 4);
    expect(l, "a", NULL, 0);
    assert_int_equal(swap1(l, "a", 3, "old hand", &r), EAGAIN);
    assert_int_equal(swap1(l, "a", 0, "again", &r), 0);
    expect(l, "a", "again", 5);
    ledger_close(l);
    test_remove_tree(dir);
    g_free(dir);
}

static void a_swap_is_all_or_nothing(void **state)
{
    char *dir = test_dir();
    struct ledger *l = open_ledger(dir);
    uint64_t r;
    struct ledger_change both[] = {{"a", 0, "1", 1}, {"b", 0, "1", 1}};
    assert_int_equal(ledger_swap(l, both, 2, &r), 0);
    assert_int_equal(r, 1);
    struct ledger_change mixed[] = {{"a", 1, "2", 1}, {"b", 7, "2", 1}};
    assert_int_equal(ledger_swap(l, mixed, 2, &r), EAGAIN);
    expect(l, "a", "1", 1);
    expect(l, "b", "1", 1);
    struct ledger_change twice[] = {{"a", 1, "2", 1}, {"a", 1, "3", 1}};
    assert_int_equal(ledger_swap(l, twice, 2, &r), EINVAL);
    assert_int_equal(swap1(l, "", 0, "x", &r), EINVAL);
    expect(l, "a", "1", 1);
    ledger_close(l);
    test_remove_tree(dir);
    g_free(dir);
}

static void the_incarnation_stays_until_it_is_renewed(void **state)
{
    char *dir = test_dir();
    struct ledger *l = open_ledger(dir);
    uint64_t first = ledger_incarnation(l);
    assert_true(first != 0);
    ledger_close(l);
    l = open_ledger(dir);
    assert_true(ledger_incarnation(l) == first);
    assert_int_equal(ledger_renew(l), 0);
    uint64_t second = ledger_incarnation(l);
    assert_true(second != 0 && second != first);
    ledger_close(l);
    l = open_ledger(dir);
    assert_true(ledger_incarnation(l) == second);
    ledger_close(l);
    ledger_close(NULL);
    test_remove_tree(dir);
    g_free(dir);
}

#define RACERS 4
#define TURNS 50

static void *count_up(void *data)
{
    struct ledger *l = data;
    for (int done = 0; done < TURNS;) {
        size_t len;
        uint64_t revision, r, n = 0;
        g_autofree uint8_t *value = ledger_get(l, "counter", &len, &revision);
        if (value != NULL) {
            memcpy(&n, value, sizeof(n));
        }
        n++;
        struct ledger_change c = {"counter", revision, &n, sizeof(n)};
        done += ledger_swap(l, &c, 1, &r) == 0;
    }
    return NULL;
}

static void racing_swaps_lose_no_update(void **state)
{
    char *dir = test_dir();
    struct ledger *l = open_ledger(dir);
    GThread *threads[RACERS];
    for (int i = 0; i < RACERS; i++) {
        threads[i] = g_thread_new("racer", count_up, l);
    }
    for (int i = 0; i < RACERS; i++) {
        g_thread_join(threads[i]);
    }
    size_t len;
    uint64_t revision, n;
    g_autofree uint8_t *value = ledger_get(l, "counter", &len, &revision);
    memcpy(&n, value, sizeof(n));
    assert_int_equal(n, RACERS * TURNS);
    assert_int_equal(revision, RACERS * TURNS);
    ledger_close(l);
    test_remove_tree(dir);
    g_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_swap_needs_the_expected_revision),
        cmocka_unit_test(a_swap_is_all_or_nothing),
        cmocka_unit_test(the_incarnation_stays_until_it_is_renewed),
        cmocka_unit_test(racing_swaps_lose_no_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
