/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication: the bounded log of the last deltas of a domain. */
#include "shard/replication_private.h"

static void entry_free(gpointer p)
{
    struct log_entry *e = p;
    g_bytes_unref(e->packed);
    g_free(e);
}

void delta_log_add(struct delta_log *log, struct position at, struct position after,
                   const Heddle__Delta *d)
{
    struct log_entry *last = g_queue_peek_tail(&log->entries);
    if (last != NULL && position_compare(last->at, after) != 0)
        delta_log_clear(log); /* not a continuation: the rest can serve nobody */
    struct log_entry *e = g_new0(struct log_entry, 1);
    size_t size = heddle__delta__get_packed_size(d);
    uint8_t *bytes = g_malloc(size + 1);
    heddle__delta__pack(d, bytes);
    e->at = at;
    e->after = after;
    e->packed = g_bytes_new_take(bytes, size);
    g_queue_push_tail(&log->entries, e);
    log->bytes += size;
    while (log->entries.length > REPL_LOG_DELTAS ||
           (log->bytes > REPL_LOG_BYTES && log->entries.length > 1)) {
        struct log_entry *old = g_queue_pop_head(&log->entries);
        log->bytes -= g_bytes_get_size(old->packed);
        entry_free(old);
    }
}

void delta_log_clear(struct delta_log *log)
{
    g_queue_clear_full(&log->entries, entry_free);
    log->bytes = 0;
}

const GList *delta_log_after(const struct delta_log *log, struct position at)
{
    /* From the end: those who ask are mostly close to it. */
    for (const GList *i = log->entries.tail; i != NULL; i = i->prev) {
        const struct log_entry *e = i->data;
        int order = position_compare(e->after, at);
        if (order == 0)
            return i;
        if (order < 0)
            return NULL;
    }
    return NULL;
}
