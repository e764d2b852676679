/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches: lists of changes, kept in memory until they are committed. */
#include "store/internal.h"

static void op_clear(void *data)
{
    struct store_op *op = data;
    g_free(op->table);
    g_free(op->key);
    g_free(op->value);
}

struct store_batch *store_batch_create(void)
{
    struct store_batch *b = g_new0(struct store_batch, 1);
    b->ops = g_array_new(FALSE, TRUE, sizeof(struct store_op));
    g_array_set_clear_func(b->ops, op_clear);
    return b;
}

void store_batch_destroy(struct store_batch *b)
{
    if (b == NULL) {
        return;
    }
    g_array_free(b->ops, TRUE);
    g_free(b);
}

static void add(struct store_batch *b, enum store_op_type type, const char *table, const void *key,
                size_t key_len, const void *value, size_t value_len)
{
    struct store_op op = {
        .type = type,
        .table = g_strdup(table),
        .key = g_memdup2(key, key_len),
        .key_len = key_len,
        .value = g_memdup2(value, value_len),
        .value_len = value_len,
    };
    g_array_append_val(b->ops, op);
}

void store_batch_put(struct store_batch *b, const char *table, const void *key, size_t key_len,
                     const void *value, size_t value_len)
{
    if (value == NULL) {
        add(b, STORE_OP_DELETE, table, key, key_len, NULL, 0);
        return;
    }
    g_autofree uint8_t *sealed = store_seal(table, key, key_len, value, value_len);
    add(b, STORE_OP_PUT, table, key, key_len, sealed, STORE_SUM_BYTES + value_len);
}

void store_batch_delete(struct store_batch *b, const char *table, const void *key, size_t key_len)
{
    add(b, STORE_OP_DELETE, table, key, key_len, NULL, 0);
}

void store_batch_delete_prefix(struct store_batch *b, const char *table, const void *prefix,
                               size_t prefix_len)
{
    add(b, STORE_OP_DELETE_PREFIX, table, prefix, prefix_len, NULL, 0);
}

size_t store_batch_count(const struct store_batch *b)
{
    return b->ops->len;
}
