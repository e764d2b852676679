/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of the core's tables: GUIDs, and ports by (node GUID, number); and walks in their order. */
#ifndef SHARD_KEYS_H
#define SHARD_KEYS_H

#include <stdint.h>

#include <glib.h>

struct port_key {
    uint64_t guid;
    uint8_t num;
};

guint port_key_hash(gconstpointer key);
gboolean port_key_equal(gconstpointer a, gconstpointer b);

/* A table or set whose keys are GUIDs, g_malloc'ed. */
GHashTable *guid_table_new(GDestroyNotify value_free);
gpointer guid_key(uint64_t guid); /* a new key */
/* The keys in order, as a GArray of uint64_t (or struct port_key): what is done for each of them
 * must not depend on the order of a hash. */
GArray *guid_keys_sorted(GHashTable *table);
GArray *port_keys_sorted(GHashTable *table);

#endif
