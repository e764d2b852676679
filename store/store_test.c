/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of tables and batches: round trips, order, prefixes, growth, backup, readers. */
#include "store/test_util.h"

#include <errno.h>

static void a_batch_is_read_back_and_survives_reopening(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_batch *b = store_batch_create();
    test_put(b, "nodes", "a", "1");
    test_put(b, "nodes", "b", "");
    test_put(b, "ports", "a", "other table");
    assert_int_equal(store_batch_count(b), 3);
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    for (int round = 0; round < 2; round++) {
        test_expect(s, "nodes", "a", "1");
        test_expect(s, "nodes", "b", "");
        test_expect(s, "nodes", "c", NULL);
        test_expect(s, "ports", "a", "other table");
        test_expect(s, "nothing", "a", NULL);
        store_close(s);
        s = test_open(dir, 0);
    }
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static void changes_of_a_batch_apply_in_order(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_batch *b = store_batch_create();
    test_put(b, "t", "k", "first");
    test_put(b, "t", "k", "second");
    test_put(b, "t", "gone", "x");
    store_batch_delete(b, "t", "gone", 4);
    store_batch_delete(b, "t", "never", 5);
    test_put(b, "t", "null", "x");
    store_batch_put(b, "t", "null", 4, NULL, 0);
    test_put(b, "t", "p1", "x");
    store_batch_delete_prefix(b, "t", "p", 1);
    test_put(b, "t", "p2", "after");
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    char *all = test_list(s, "t", "");
    assert_string_equal(all, "k=second p2=after ");
    g_free(all);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static void prefixes_are_exact(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_batch *b = store_batch_create();
    static const char *const keys[] = {"a", "ab", "abc", "abd", "ac", "b"};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        test_put(b, "t", keys[i], "v");
    }
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    char *some = test_list(s, "t", "ab");
    assert_string_equal(some, "ab=v abc=v abd=v ");
    g_free(some);

    b = store_batch_create();
    store_batch_delete_prefix(b, "t", "ab", 2);
    store_batch_delete_prefix(b, "unknown", "ab", 2);
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    some = test_list(s, "t", "");
    assert_string_equal(some, "a=v ac=v b=v ");
    g_free(some);

    b = store_batch_create();
    store_batch_delete_prefix(b, "t", NULL, 0);
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    some = test_list(s, "t", "");
    assert_string_equal(some, "");
    g_free(some);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static bool stop_at_second(void *user, const void *key, size_t key_len, const void *value,
                           size_t value_len)
{
    return ++*(int *)user < 2;
}

static void a_walk_stops_when_told(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    struct store_batch *b = store_batch_create();
    test_put(b, "t", "1", "");
    test_put(b, "t", "2", "");
    test_put(b, "t", "3", "");
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    int seen = 0;
    assert_int_equal(store_each(s, "t", "", 0, stop_at_second, &seen), 0);
    assert_int_equal(seen, 2);
    assert_int_equal(store_each(s, "none", "", 0, stop_at_second, &seen), 0);
    assert_int_equal(seen, 2);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static void a_wrong_change_spoils_its_whole_batch(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 0);
    static const char long_key[STORE_MAX_KEY + 1] = "x";
    struct {
        const char *table;
        size_t key_len;
    } wrong[] = {{"t", 0}, {"t", sizeof(long_key)}, {"", 1}, {".heddle", 5}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        struct store_batch *b = store_batch_create();
        test_put(b, "fresh", "good", "v");
        store_batch_put(b, wrong[i].table, long_key, wrong[i].key_len, "v", 1);
        assert_int_equal(store_commit(s, b), EINVAL);
        store_batch_destroy(b);
        test_expect(s, "fresh", "good", NULL);
    }
    struct store_batch *b = store_batch_create();
    test_put(b, "fresh", "good", "v");
    store_batch_put(b, "t", long_key, STORE_MAX_KEY, "longest", 7);
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    test_expect(s, "fresh", "good", "v");
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

#define GROW_KEYS 400
#define GROW_VALUE_BYTES 5000

static void a_small_map_grows_under_one_big_batch_and_many_small(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 64 << 10);
    char *value = g_malloc(GROW_VALUE_BYTES);
    for (int big = 0; big < 2; big++) {
        struct store_batch *b = store_batch_create();
        for (int i = 0; i < GROW_KEYS; i++) {
            uint32_t key = GUINT32_TO_BE((uint32_t)i);
            memset(value, 'a' + i % 26, GROW_VALUE_BYTES);
            store_batch_put(b, big ? "big" : "small", &key, sizeof(key), value, GROW_VALUE_BYTES);
            if (!big && i % 50 == 49) {
                assert_int_equal(store_commit(s, b), 0);
                store_batch_destroy(b);
                b = store_batch_create();
            }
        }
        assert_int_equal(store_commit(s, b), 0);
        store_batch_destroy(b);
    }
    store_close(s);
    s = test_open(dir, 64 << 10); /* smaller than what is in it */
    for (int i = 0; i < GROW_KEYS; i++) {
        uint32_t key = GUINT32_TO_BE((uint32_t)i);
        size_t len;
        uint8_t *got = store_get(s, "big", &key, sizeof(key), &len);
        assert_int_equal(len, GROW_VALUE_BYTES);
        assert_int_equal(got[len - 1], 'a' + i % 26);
        g_free(got);
    }
    g_free(value);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

struct reading {
    struct store *s;
    gint stop;
    gint reads;
};

static void *read_all_the_time(void *data)
{
    struct reading *r = data;
    while (!g_atomic_int_get(&r->stop)) {
        size_t len_a, len_b;
        uint8_t *a = store_get(r->s, "t", "key", 3, &len_a);
        uint8_t *b = store_get(r->s, "late", "key", 3, &len_b);
        assert_true(a != NULL && len_a >= 1 && a[0] == a[len_a - 1]);
        g_free(a);
        g_free(b);
        g_atomic_int_inc(&r->reads);
    }
    return NULL;
}

static void readers_go_on_while_the_map_grows(void **state)
{
    char *dir = test_dir();
    struct store *s = test_open(dir, 64 << 10);
    struct store_batch *b = store_batch_create();
    test_put(b, "t", "key", "aa");
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    struct reading r = {.s = s};
    GThread *threads[2];
    for (int i = 0; i < 2; i++) {
        threads[i] = g_thread_new("reader", read_all_the_time, &r);
    }
    while (g_atomic_int_get(&r.reads) == 0) {
        g_usleep(100);
    }
    for (uint32_t i = 0; i < 60; i++) {
        g_autofree char *value = g_strnfill(20000, (char)('a' + i % 26));
        b = store_batch_create();
        test_put(b, "t", "key", value);
        store_batch_put(b, i < 30 ? "t" : "late", &i, sizeof(i), value, 20000);
        test_put(b, "late", "key", value);
        assert_int_equal(store_commit(s, b), 0);
        store_batch_destroy(b);
    }
    g_atomic_int_set(&r.stop, 1);
    for (int i = 0; i < 2; i++) {
        g_thread_join(threads[i]);
    }
    assert_int_equal(store_check_readers(s), 0);
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

static void a_backup_opens_as_a_store(void **state)
{
    char *dir = test_dir();
    g_autofree char *copy = g_build_filename(dir, "copy", NULL);
    g_autofree char *original = g_build_filename(dir, "original", NULL);
    struct store *s = test_open(original, 0);
    struct store_batch *b = store_batch_create();
    test_put(b, "t", "k", "v");
    assert_int_equal(store_commit(s, b), 0);
    assert_int_equal(store_backup(s, copy), 0);
    assert_int_equal(store_backup(s, copy), EEXIST);
    store_batch_destroy(b);
    store_close(s);
    s = test_open(copy, 0);
    test_expect(s, "t", "k", "v");
    store_close(s);
    test_remove_tree(dir);
    g_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_read_back_and_survives_reopening),
        cmocka_unit_test(changes_of_a_batch_apply_in_order),
        cmocka_unit_test(prefixes_are_exact),
        cmocka_unit_test(a_walk_stops_when_told),
        cmocka_unit_test(a_wrong_change_spoils_its_whole_batch),
        cmocka_unit_test(a_small_map_grows_under_one_big_batch_and_many_small),
        cmocka_unit_test(readers_go_on_while_the_map_grows),
        cmocka_unit_test(a_backup_opens_as_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
