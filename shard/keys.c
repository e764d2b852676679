/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of the core's tables, and walks in their order. */
#include "shard/keys.h"

guint port_key_hash(gconstpointer p)
{
    const struct port_key *k = p;
    return g_int64_hash(&k->guid) * 31u + k->num;
}

gboolean port_key_equal(gconstpointer a, gconstpointer b)
{
    const struct port_key *x = a, *y = b;
    return x->guid == y->guid && x->num == y->num;
}

GHashTable *guid_table_new(GDestroyNotify value_free)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, value_free);
}

gpointer guid_key(uint64_t guid)
{
    return g_memdup2(&guid, sizeof guid);
}

static int by_guid(gconstpointer a, gconstpointer b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_port(gconstpointer a, gconstpointer b)
{
    const struct port_key *x = a, *y = b;
    int order = by_guid(&x->guid, &y->guid);
    return order ? order : (int)x->num - (int)y->num;
}

static GArray *keys_sorted(GHashTable *table, guint size, GCompareFunc order)
{
    GArray *keys = g_array_sized_new(FALSE, FALSE, size, g_hash_table_size(table));
    GHashTableIter it;
    gpointer key;
    g_hash_table_iter_init(&it, table);
    while (g_hash_table_iter_next(&it, &key, NULL))
        g_array_append_vals(keys, key, 1);
    g_array_sort(keys, order);
    return keys;
}

GArray *guid_keys_sorted(GHashTable *table)
{
    return keys_sorted(table, sizeof(uint64_t), by_guid);
}

GArray *port_keys_sorted(GHashTable *table)
{
    return keys_sorted(table, sizeof(struct port_key), by_port);
}
