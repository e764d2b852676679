/* SPDX-License-Identifier: BSD-2-Clause */
/* The embedded ledger: compare-and-swap over a store that this process alone writes.
 *
 * Table "entries": key -> 8 bytes revision (big endian), value. Table "ledger": "incarnation" and
 * "revision", 8 bytes each. As the store belongs to one process (its lock) and the mutex admits one
 * swap at a time, what was compared still holds when the batch is committed. */
#include "store/ledger.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define ENTRIES "entries"
#define META "ledger"
#define INCARNATION "incarnation"
#define REVISION "revision"
#define NUMBER_BYTES 8

struct ledger {
    struct store *store;
    pthread_mutex_t mutex;
    uint64_t revision;
    uint64_t incarnation;
};

static void put_u64(uint8_t *out, uint64_t value)
{
    uint64_t big = GUINT64_TO_BE(value);
    memcpy(out, &big, sizeof(big));
}

static uint64_t get_u64(const uint8_t *in)
{
    uint64_t big;
    memcpy(&big, in, sizeof(big));
    return GUINT64_FROM_BE(big);
}

static void batch_number(struct store_batch *b, const char *name, uint64_t value)
{
    uint8_t bytes[NUMBER_BYTES];
    put_u64(bytes, value);
    store_batch_put(b, META, name, strlen(name), bytes, sizeof(bytes));
}

/* ENOENT when it is not there, EILSEQ when it is no number. */
static int read_number(struct store *s, const char *name, uint64_t *value)
{
    size_t len;
    g_autofree uint8_t *bytes = store_get(s, META, name, strlen(name), &len);
    if (bytes == NULL) {
        return errno != 0 ? errno : ENOENT;
    }
    if (len != NUMBER_BYTES) {
        return EILSEQ;
    }
    *value = get_u64(bytes);
    return 0;
}

static int random_incarnation(uint64_t *value)
{
    do {
        if (getrandom(value, sizeof(*value), 0) != (ssize_t)sizeof(*value)) {
            return errno;
        }
    } while (*value == 0);
    return 0;
}

static int set_incarnation(struct ledger *l, bool first)
{
    uint64_t incarnation;
    int rc = random_incarnation(&incarnation);
    if (rc != 0) {
        return rc;
    }
    struct store_batch *b = store_batch_create();
    batch_number(b, INCARNATION, incarnation);
    if (first) {
        batch_number(b, REVISION, 0);
    }
    rc = store_commit(l->store, b);
    store_batch_destroy(b);
    if (rc == 0) {
        l->incarnation = incarnation;
    }
    return rc;
}

static int load(struct ledger *l)
{
    int rc = read_number(l->store, INCARNATION, &l->incarnation);
    if (rc == ENOENT) { /* both numbers are written together: a new ledger */
        return set_incarnation(l, true);
    }
    if (rc == 0) {
        rc = read_number(l->store, REVISION, &l->revision);
    }
    return rc == ENOENT || (rc == 0 && l->incarnation == 0) ? EILSEQ : rc;
}

int ledger_open(const struct store_config *config, struct ledger **ledger, char *error,
                size_t error_size)
{
    struct store *store;
    *ledger = NULL;
    int rc = store_open(config, &store, error, error_size);
    if (rc != 0) {
        return rc;
    }
    struct ledger *l = g_new0(struct ledger, 1);
    l->store = store;
    pthread_mutex_init(&l->mutex, NULL);
    rc = load(l);
    if (rc != 0) {
        snprintf(error, error_size, "ledger %s: its incarnation or revision cannot be %s: %s",
                 config->dir, rc == EILSEQ ? "read" : "written",
                 rc == EILSEQ ? "the record is damaged; restore a backup" : g_strerror(rc));
        ledger_close(l);
        return rc;
    }
    *ledger = l;
    return 0;
}

void ledger_close(struct ledger *l)
{
    if (l == NULL) {
        return;
    }
    store_close(l->store);
    pthread_mutex_destroy(&l->mutex);
    g_free(l);
}

uint64_t ledger_incarnation(const struct ledger *l)
{
    return l->incarnation;
}

int ledger_renew(struct ledger *l)
{
    pthread_mutex_lock(&l->mutex);
    int rc = set_incarnation(l, false);
    pthread_mutex_unlock(&l->mutex);
    return rc;
}

uint8_t *ledger_get(struct ledger *l, const char *key, size_t *len, uint64_t *revision)
{
    size_t stored;
    *len = 0;
    *revision = 0;
    uint8_t *bytes = store_get(l->store, ENTRIES, key, strlen(key), &stored);
    if (bytes == NULL || stored < NUMBER_BYTES) {
        int err = bytes == NULL ? errno : EILSEQ;
        g_free(bytes);
        errno = err;
        return NULL;
    }
    *revision = get_u64(bytes);
    *len = stored - NUMBER_BYTES;
    memmove(bytes, bytes + NUMBER_BYTES, *len);
    return bytes;
}

static int compare(struct ledger *l, const struct ledger_change *changes, size_t count)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < count; i++) {
        size_t key_len = strlen(changes[i].key), len;
        uint64_t revision;
        if (key_len == 0 || key_len > STORE_MAX_KEY ||
            !g_hash_table_add(seen, (char *)changes[i].key)) {
            return EINVAL;
        }
        g_autofree uint8_t *value = ledger_get(l, changes[i].key, &len, &revision);
        if (value == NULL && errno != 0) {
            return errno;
        }
        if (revision != changes[i].expected) {
            return EAGAIN;
        }
    }
    return 0;
}

static struct store_batch *batch_of(const struct ledger_change *changes, size_t count,
                                    uint64_t revision)
{
    struct store_batch *b = store_batch_create();
    for (size_t i = 0; i < count; i++) {
        const struct ledger_change *c = &changes[i];
        if (c->value == NULL) {
            store_batch_delete(b, ENTRIES, c->key, strlen(c->key));
            continue;
        }
        g_autofree uint8_t *bytes = g_malloc(NUMBER_BYTES + c->len);
        put_u64(bytes, revision);
        memcpy(bytes + NUMBER_BYTES, c->value, c->len);
        store_batch_put(b, ENTRIES, c->key, strlen(c->key), bytes, NUMBER_BYTES + c->len);
    }
    batch_number(b, REVISION, revision);
    return b;
}

int ledger_swap(struct ledger *l, const struct ledger_change *changes, size_t count,
                uint64_t *revision)
{
    pthread_mutex_lock(&l->mutex);
    int rc = compare(l, changes, count);
    if (rc == 0) {
        struct store_batch *b = batch_of(changes, count, l->revision + 1);
        rc = store_commit(l->store, b);
        store_batch_destroy(b);
        l->revision += rc == 0;
    }
    *revision = l->revision;
    pthread_mutex_unlock(&l->mutex);
    return rc;
}
