/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of store/ share: a scratch directory and short names for common calls. */
#ifndef STORE_TEST_UTIL_H
#define STORE_TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

static int test_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static inline void test_remove_tree(const char *dir)
{
    nftw(dir, test_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* g_free after test_remove_tree. */
static inline char *test_dir(void)
{
    char *dir = g_dir_make_tmp("heddle-store-XXXXXX", NULL);
    assert_non_null(dir);
    return dir;
}

static inline struct store *test_open(const char *dir, size_t map_bytes)
{
    struct store_config config = {dir, "test", "c1", map_bytes};
    struct store *s = NULL;
    char error[256] = "";
    int rc = store_open(&config, &s, error, sizeof(error));
    if (rc != 0) {
        fail_msg("store_open: %d: %s", rc, error);
    }
    return s;
}

static inline void test_put(struct store_batch *b, const char *table, const char *key,
                            const char *value)
{
    store_batch_put(b, table, key, strlen(key), value, strlen(value));
}

static inline void test_expect(struct store *s, const char *table, const char *key,
                               const char *expected)
{
    size_t len;
    uint8_t *value = store_get(s, table, key, strlen(key), &len);
    if (expected == NULL) {
        assert_null(value);
        assert_int_equal(len, 0);
        return;
    }
    assert_non_null(value);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(value, expected, len);
    g_free(value);
}

static bool test_collect(void *user, const void *key, size_t key_len, const void *value,
                         size_t value_len)
{
    g_string_append_len(user, key, (gssize)key_len);
    g_string_append_c(user, '=');
    g_string_append_len(user, value, (gssize)value_len);
    g_string_append_c(user, ' ');
    return true;
}

/* "key=value key=value " of the table's keys with that prefix; g_free. */
static inline char *test_list(struct store *s, const char *table, const char *prefix)
{
    GString *out = g_string_new(NULL);
    assert_int_equal(store_each(s, table, prefix, strlen(prefix), test_collect, out), 0);
    return g_string_free(out, FALSE);
}

#endif
