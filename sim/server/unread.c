/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting answers that nobody reads. */
#include "sim/server/unread.h"

#define BANNED UINT_MAX

void unread_create(struct unread *u)
{
    u->asked =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    u->level = 0;
}

void unread_destroy(struct unread *u)
{
    if (u->asked)
        g_hash_table_unref(u->asked);
    u->asked = NULL;
}

/* Bans the one with most answers and forgets the counts of the others. */
static void ban(struct unread *u)
{
    GHashTableIter i;
    gpointer key, value, most = NULL;
    guint count = 0;

    g_hash_table_iter_init(&i, u->asked);
    while (g_hash_table_iter_next(&i, &key, &value))
        if (GPOINTER_TO_UINT(value) != BANNED && GPOINTER_TO_UINT(value) > count) {
            count = GPOINTER_TO_UINT(value);
            most = key;
        }
    g_hash_table_iter_init(&i, u->asked);
    while (g_hash_table_iter_next(&i, &key, &value)) {
        if (key == most)
            g_hash_table_iter_replace(&i, GUINT_TO_POINTER(BANNED));
        else if (GPOINTER_TO_UINT(value) != BANNED)
            g_hash_table_iter_remove(&i);
    }
}

bool unread_allows(struct unread *u, const struct address *from, int bytes)
{
    g_autoptr(GBytes) key = g_bytes_new(&from->any, from->length);
    guint count;

    if (bytes == 0) {
        g_hash_table_remove_all(u->asked);
        u->level = 0;
    }
    count = GPOINTER_TO_UINT(g_hash_table_lookup(u->asked, key));
    if (count == BANNED)
        return false;
    g_hash_table_replace(u->asked, g_steal_pointer(&key), GUINT_TO_POINTER(count + 1));
    if (bytes - u->level >= UNREAD_STEP) {
        u->level = bytes;
        ban(u);
    }
    return true;
}
