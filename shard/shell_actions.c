/* SPDX-License-Identifier: BSD-2-Clause */
/* Carries the core's actions out. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "shard/shell_private.h"

static void send_mad(struct shell *s, const struct shard_action *a)
{
    int rc = mad_port_send(s->port, a->mad, a->mad_len, &a->address, a->timeout_ms, a->rmpp);
    if (rc == 0)
        return;
    /* The queue of outstanding SMPs times out and asks again. One line for each power of two. */
    s->send_errors++;
    if ((s->send_errors & (s->send_errors - 1)) == 0)
        log_emit(HL_WARNING, "mad_not_sent",
                 "lid=%u class=0x%02x count=%" G_GUINT64_FORMAT " error=\"%s\"", a->address.lid,
                 mad_class(a->mad), s->send_errors, strerror(rc));
}

static void send_message(struct shell *s, const struct shard_action *a)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    int rc = envelope_encode(&a->message, &bytes, &len);
    if (rc == 0)
        rc = link_send(s->link, (enum link_channel)a->channel, a->peer, bytes, len);
    g_free(bytes);
    if (rc == 0)
        return;
    s->unsent++;
    log_emit(rc == EMSGSIZE ? HL_ERROR : HL_DEBUG, "message_not_sent",
             "peer=%s type=%u channel=%d error=\"%s\"", a->peer, a->message.type, (int)a->channel,
             strerror(rc));
}

/* -- peers -- */

static bool is_fixed(const struct shell *s, const char *name)
{
    const GArray *lists[] = {s->config->coordinators, s->config->operators};
    for (size_t l = 0; l < G_N_ELEMENTS(lists); l++)
        for (guint i = 0; i < lists[l]->len; i++)
            if (strcmp(g_array_index(lists[l], struct config_peer, i).name, name) == 0)
                return true;
    return false;
}

static void connect_peer(struct shell *s, const Heddle__Member *m)
{
    const struct {
        enum link_channel channel;
        const char *endpoint;
    } to[] = {{LINK_DELTA, m->delta_endpoint}, {LINK_BULK, m->bulk_endpoint}};
    for (size_t i = 0; i < G_N_ELEMENTS(to); i++) {
        char error[256] = "";
        if (to[i].endpoint == NULL || to[i].endpoint[0] == '\0')
            continue; /* it has not said yet where it listens */
        if (link_connect(s->link, to[i].channel, m->name, m->public_key.data, to[i].endpoint, error,
                         sizeof(error)) != 0) {
            char quoted[512];
            log_emit(HL_WARNING, "peer_not_connected", "peer=%s error=%s", m->name,
                     log_quote(quoted, sizeof(quoted), error));
        }
    }
}

static void set_peers(struct shell *s, const Heddle__Assignment *a)
{
    GHashTable *wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (size_t i = 0; i < a->n_members; i++) {
        const Heddle__Member *m = a->members[i];
        if (m->name == NULL || m->name[0] == '\0' || strcmp(m->name, s->config->name) == 0 ||
            m->public_key.len != 32 || is_fixed(s, m->name))
            continue;
        g_hash_table_add(wanted, g_strdup(m->name));
        link_allow(s->link, m->name, m->public_key.data);
        connect_peer(s, m);
    }
    GHashTableIter it;
    gpointer name;
    g_hash_table_iter_init(&it, s->peers);
    while (g_hash_table_iter_next(&it, &name, NULL)) {
        if (g_hash_table_contains(wanted, name))
            continue;
        link_disconnect(s->link, LINK_DELTA, name);
        link_disconnect(s->link, LINK_BULK, name);
        link_revoke(s->link, name);
    }
    g_hash_table_destroy(s->peers);
    s->peers = wanted;
}

/* -- store -- */

static void put_item(struct store_batch *b, const struct shard_store_item *item)
{
    gsize key_len, value_len;
    const void *key = g_bytes_get_data(item->key, &key_len);
    if (item->value == NULL) {
        store_batch_delete(b, item->table, key, key_len);
        return;
    }
    const void *value = g_bytes_get_data(item->value, &value_len);
    store_batch_put(b, item->table, key, key_len, value != NULL ? value : "", value_len);
}

static void store_items(struct shell *s, const struct shard_action *a)
{
    struct store_batch *b = store_batch_create();
    for (guint i = 0; i < a->items->len; i++)
        put_item(b, a->items->pdata[i]);
    int rc = store_writer_submit(s->writer, b, a->ticket);
    if (rc == 0)
        return;
    store_batch_destroy(b);
    struct pending_stored failed = {a->ticket, rc};
    g_array_append_val(s->failed_stores, failed);
}

void shell_act(struct shell *s, struct shard_action *a)
{
    switch (a->kind) {
    case SHARD_ACT_SEND_MAD:
        send_mad(s, a);
        break;
    case SHARD_ACT_SEND:
        send_message(s, a);
        break;
    case SHARD_ACT_PEERS:
        if (a->peers != NULL)
            set_peers(s, a->peers);
        break;
    case SHARD_ACT_ROUTE:
        shell_routes_submit(s->routes, g_steal_pointer(&a->job));
        break;
    case SHARD_ACT_STORE:
        store_items(s, a);
        break;
    case SHARD_ACT_LOG:
        log_emit((enum log_level)a->level, a->event, "%s", a->text);
        break;
    }
}
