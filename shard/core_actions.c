/* SPDX-License-Identifier: BSD-2-Clause */
/* How the core's parts say what they want done: log lines, messages, MADs, values to be stored. */
#include <string.h>

#include "shard/core_internal.h"

void core_vlog(struct shard_core *c, int level, const char *event, const char *format, va_list ap)
{
    struct shard_action a = {.kind = SHARD_ACT_LOG, .level = level};
    g_strlcpy(a.event, event, sizeof a.event);
    g_vsnprintf(a.text, sizeof a.text, format, ap);
    g_array_append_val(c->actions, a);
}

void core_log(struct shard_core *c, int level, const char *event, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    core_vlog(c, level, event, format, ap);
    va_end(ap);
}

void core_send(struct shard_core *c, enum shard_channel channel, const char *peer, uint32_t type,
               uint32_t domain, uint64_t epoch, uint64_t seq, ProtobufCMessage *body)
{
    struct shard_action a = {.kind = SHARD_ACT_SEND, .channel = channel};
    g_strlcpy(a.peer, peer, sizeof a.peer);
    g_strlcpy(a.message.cluster, c->cfg.cluster, sizeof a.message.cluster);
    g_strlcpy(a.message.sender, c->cfg.name, sizeof a.message.sender);
    a.message.boot_id = c->cfg.boot_id;
    a.message.incarnation = c->incarnation;
    a.message.type = type;
    a.message.domain = domain;
    a.message.epoch = epoch;
    a.message.seq = seq;
    a.message.body = body;
    g_array_append_val(c->actions, a);
}

void core_send_mad(struct shard_core *c, const uint8_t *mad, size_t len,
                   const struct mad_address *to, uint32_t timeout_ms, bool rmpp)
{
    struct shard_action a = {.kind = SHARD_ACT_SEND_MAD,
                             .mad = g_memdup2(mad, len),
                             .mad_len = len,
                             .address = *to,
                             .timeout_ms = timeout_ms,
                             .rmpp = rmpp};
    g_array_append_val(c->actions, a);
}

void core_store(struct shard_core *c, const char *table, GBytes *key, GBytes *value)
{
    struct shard_store_item *item = g_new0(struct shard_store_item, 1);
    g_strlcpy(item->table, table, sizeof item->table);
    item->key = key;
    item->value = value;
    g_ptr_array_add(c->store_items, item);
}
