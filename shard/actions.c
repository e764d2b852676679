/* SPDX-License-Identifier: BSD-2-Clause */
/* Actions of the shard's core: what they own. */
#include <string.h>

#include "shard/core.h"

static void free_items(GPtrArray *items)
{
    for (guint i = 0; i < items->len; i++) {
        struct shard_store_item *item = items->pdata[i];
        if (item == NULL)
            continue;
        g_clear_pointer(&item->key, g_bytes_unref);
        g_clear_pointer(&item->value, g_bytes_unref);
        g_free(item);
    }
    /* A free function of the array itself would free them twice. */
    g_ptr_array_set_free_func(items, NULL);
    g_ptr_array_free(items, TRUE);
}

void shard_action_clear(struct shard_action *a)
{
    g_clear_pointer(&a->mad, g_free);
    envelope_clear(&a->message);
    if (a->peers != NULL)
        heddle__assignment__free_unpacked(a->peers, NULL);
    a->peers = NULL;
    g_clear_pointer(&a->job, route_job_free);
    g_clear_pointer(&a->items, free_items);
    memset(a, 0, sizeof(*a));
}
