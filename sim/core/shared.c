/* SPDX-License-Identifier: BSD-2-Clause */
/* A store of equal tables: found by content, given back by address. */
#include "sim/core/shared.h"

#include <glib.h>
#include <string.h>

struct kept {
    size_t size;
    unsigned refs;
    void *bytes;
};

struct sim_shared {
    GHashTable *by_content; /* struct kept, itself the key */
    GHashTable *by_address; /* bytes -> struct kept */
};

static guint hash_bytes(gconstpointer key)
{
    const struct kept *k = key;
    const guint8 *bytes = k->bytes;
    guint64 hash = k->size, word;
    size_t i = 0;
    for (; i + sizeof word <= k->size; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    for (; i < k->size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return (guint)(hash ^ hash >> 32);
}

static gboolean equal_bytes(gconstpointer a, gconstpointer b)
{
    const struct kept *x = a, *y = b;
    return x->size == y->size && memcmp(x->bytes, y->bytes, x->size) == 0;
}

static void free_kept(void *arg)
{
    struct kept *k = arg;
    g_free(k->bytes);
    g_free(k);
}

struct sim_shared *sim_shared_create(void)
{
    struct sim_shared *all = g_new0(struct sim_shared, 1);
    all->by_content = g_hash_table_new(hash_bytes, equal_bytes);
    all->by_address = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_kept);
    return all;
}

void sim_shared_destroy(struct sim_shared *all)
{
    if (!all)
        return;
    g_hash_table_destroy(all->by_content);
    g_hash_table_destroy(all->by_address);
    g_free(all);
}

static void give_back(struct sim_shared *all, struct kept *k)
{
    if (--k->refs > 0)
        return;
    g_hash_table_remove(all->by_content, k);
    g_hash_table_remove(all->by_address, k->bytes); /* frees it */
}

void *sim_shared_keep(struct sim_shared *all, void *table, size_t size)
{
    if (g_hash_table_contains(all->by_address, table))
        return table;
    struct kept wanted = {.size = size, .bytes = table};
    struct kept *k = g_hash_table_lookup(all->by_content, &wanted);
    if (k) {
        g_free(table);
        k->refs++;
        return k->bytes;
    }
    wanted.refs = 1;
    k = g_memdup2(&wanted, sizeof wanted);
    g_hash_table_add(all->by_content, k);
    g_hash_table_insert(all->by_address, table, k);
    return table;
}

void *sim_shared_own(struct sim_shared *all, void *table, size_t size)
{
    struct kept *k = g_hash_table_lookup(all->by_address, table);
    if (!k)
        return table;
    void *own = g_memdup2(table, size);
    give_back(all, k);
    return own;
}

void sim_shared_free(struct sim_shared *all, void *table)
{
    struct kept *k = table ? g_hash_table_lookup(all->by_address, table) : NULL;
    if (k)
        give_back(all, k);
    else
        g_free(table);
}
