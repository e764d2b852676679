/* SPDX-License-Identifier: BSD-2-Clause */
/* What kill_child writes and kill_test expects. */
#ifndef STORE_KILL_RECORDS_H
#define STORE_KILL_RECORDS_H

#include <glib.h>
#include <string.h>

#include "store/store.h"

#define KILL_KEYS 3
#define KILL_VALUE_BYTES 6000
#define KILL_MAP_BYTES (128u << 10) /* so that the map grows in between */

static const char *const kill_keys[KILL_KEYS] = {"assignment", "domain/1", "domain/2"};

static inline uint64_t kill_number(const void *key)
{
    uint64_t big;
    memcpy(&big, key, sizeof(big));
    return GUINT64_FROM_BE(big);
}

/* Number n as a key of tables "first" and "second", and alone in table "only". */
static inline struct store_batch *kill_batch(uint64_t number)
{
    struct store_batch *b = store_batch_create();
    uint64_t key = GUINT64_TO_BE(number);
    g_autofree char *value = g_strnfill(number * 37 % 3000, 'v');
    store_batch_put(b, "first", &key, sizeof(key), value, strlen(value));
    store_batch_delete_prefix(b, "only", NULL, 0);
    store_batch_put(b, "only", &key, sizeof(key), "", 0);
    store_batch_put(b, "second", &key, sizeof(key), "", 0);
    return b;
}

#endif
