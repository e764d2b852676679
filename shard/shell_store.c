/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading of the store at start. */
#include <errno.h>
#include <string.h>

#include "shard/shell_private.h"

#define META_TABLE "meta"
#define INCARNATION_KEY "incarnation" /* 8 bytes, big endian */

static const char *const tables[] = {"switch", "endport", "domain", "lid", "numbers"};

struct loading {
    GPtrArray *stored;
    const char *table;
};

static bool take(void *user, const void *key, size_t key_len, const void *value, size_t value_len)
{
    struct loading *l = user;
    struct shard_stored *s = g_new0(struct shard_stored, 1);
    g_strlcpy(s->table, l->table, sizeof(s->table));
    s->key = g_bytes_new(key, key_len);
    s->value = g_bytes_new(value, value_len);
    g_ptr_array_add(l->stored, s);
    return true;
}

static void free_stored(void *data)
{
    struct shard_stored *s = data;
    g_bytes_unref(s->key);
    g_bytes_unref(s->value);
    g_free(s);
}

int shell_load_store(struct store *store, GPtrArray **stored, uint64_t *incarnation)
{
    struct loading l = {.stored = g_ptr_array_new_with_free_func(free_stored)};
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        l.table = tables[i];
        int rc = store_each(store, l.table, "", 0, take, &l);
        if (rc != 0 && rc != ENOENT) {
            shell_free_stored(l.stored);
            return rc;
        }
    }
    *incarnation = 0;
    size_t len = 0;
    g_autofree uint8_t *value =
        store_get(store, META_TABLE, INCARNATION_KEY, strlen(INCARNATION_KEY), &len);
    if (value == NULL && errno == EILSEQ) {
        shell_free_stored(l.stored);
        return EILSEQ;
    }
    if (value != NULL && len == sizeof(*incarnation)) {
        memcpy(incarnation, value, sizeof(*incarnation));
        *incarnation = GUINT64_FROM_BE(*incarnation);
    }
    *stored = l.stored;
    return 0;
}

void shell_free_stored(GPtrArray *stored)
{
    if (stored != NULL)
        g_ptr_array_free(stored, TRUE);
}
