/* SPDX-License-Identifier: BSD-2-Clause */
/* The checksum before each value, and the total of them that each commit writes. */
#include <sodium.h>
#include <string.h>

#include "store/internal.h"

uint64_t store_sum(const char *table, const void *key, size_t key_len, const void *value,
                   size_t value_len)
{
    crypto_generichash_state state;
    uint8_t hash[crypto_generichash_BYTES_MIN];
    uint64_t big, lengths[2] = {GUINT64_TO_BE(strlen(table)), GUINT64_TO_BE(key_len)};
    crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    crypto_generichash_update(&state, (const uint8_t *)lengths, sizeof(lengths));
    crypto_generichash_update(&state, (const uint8_t *)table, strlen(table));
    crypto_generichash_update(&state, key, key_len);
    crypto_generichash_update(&state, value, value_len);
    crypto_generichash_final(&state, hash, sizeof(hash));
    memcpy(&big, hash, sizeof(big));
    return GUINT64_FROM_BE(big);
}

uint8_t *store_seal(const char *table, const void *key, size_t key_len, const void *value,
                    size_t value_len)
{
    uint64_t big = GUINT64_TO_BE(store_sum(table, key, key_len, value, value_len));
    uint8_t *sealed = g_malloc(STORE_SUM_BYTES + value_len);
    memcpy(sealed, &big, sizeof(big));
    if (value_len > 0) {
        memcpy(sealed + STORE_SUM_BYTES, value, value_len);
    }
    return sealed;
}

uint64_t store_sealed_sum(const MDB_val *sealed)
{
    uint64_t big = 0;
    if (sealed->mv_size >= STORE_SUM_BYTES) {
        memcpy(&big, sealed->mv_data, sizeof(big));
    }
    return GUINT64_FROM_BE(big);
}

bool store_unseal(const char *table, const MDB_val *key, MDB_val *value)
{
    if (value->mv_size < STORE_SUM_BYTES) {
        return false;
    }
    const uint8_t *payload = (const uint8_t *)value->mv_data + STORE_SUM_BYTES;
    size_t len = value->mv_size - STORE_SUM_BYTES;
    bool whole =
        store_sealed_sum(value) == store_sum(table, key->mv_data, key->mv_size, payload, len);
    *value = (MDB_val){.mv_size = len, .mv_data = (void *)payload};
    return whole;
}

/* -- the total ---------------------------------------------------------------------------- */

int store_total_read(MDB_txn *txn, MDB_dbi header, uint64_t *total, uint64_t *txn_id)
{
    MDB_val key = {.mv_size = strlen(STORE_TOTAL_KEY), .mv_data = STORE_TOTAL_KEY}, value;
    uint64_t numbers[2];
    int rc = mdb_get(txn, header, &key, &value);
    if (rc == MDB_NOTFOUND || (rc == 0 && (!store_unseal(STORE_HEADER_TABLE, &key, &value) ||
                                           value.mv_size != sizeof(numbers)))) {
        return MDB_CORRUPTED;
    }
    if (rc == 0) {
        memcpy(numbers, value.mv_data, sizeof(numbers));
        *total = GUINT64_FROM_BE(numbers[0]);
        *txn_id = GUINT64_FROM_BE(numbers[1]);
    }
    return rc;
}

int store_total_write(MDB_txn *txn, MDB_dbi header, uint64_t total)
{
    const char *name = STORE_TOTAL_KEY;
    uint64_t numbers[2] = {GUINT64_TO_BE(total), GUINT64_TO_BE((uint64_t)mdb_txn_id(txn))};
    g_autofree uint8_t *sealed =
        store_seal(STORE_HEADER_TABLE, name, strlen(name), numbers, sizeof(numbers));
    MDB_val key = {.mv_size = strlen(name), .mv_data = (void *)name};
    MDB_val value = {.mv_size = STORE_SUM_BYTES + sizeof(numbers), .mv_data = sealed};
    return mdb_put(txn, header, &key, &value, 0);
}
