/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of store/ share: the store's innards and the operations of a batch. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <glib.h>
#include <lmdb.h>
#include <pthread.h>

#include "store/store.h"

#define STORE_SCHEMA 1u
#define STORE_HEADER_TABLE ".heddle"
#define STORE_HEADER_KEY "store"
#define STORE_DATA_FILE "data.mdb"
#define STORE_LMDB_LOCK_FILE "lock.mdb"
#define STORE_OWN_LOCK_FILE "heddle.lock"
#define STORE_MAX_TABLES 64
#define STORE_MAX_MAP_BYTES (1ull << 40)

/* Locks are pthread's, not GLib's: the thread sanitizer cannot see through GLib's. */
struct store {
    MDB_env *env;
    char *dir;
    int lock_fd; /* DIR/heddle.lock, held with flock */
    pthread_mutex_t commit_mutex;
    pthread_rwlock_t map_lock; /* readers: whoever has a transaction; writer: who grows the map */
    pthread_mutex_t tables_mutex;
    GHashTable *tables; /* name -> MDB_dbi + 1, only those that a transaction has committed */
};

enum store_op_type { STORE_OP_PUT, STORE_OP_DELETE, STORE_OP_DELETE_PREFIX };

struct store_op {
    enum store_op_type type;
    char *table;
    uint8_t *key;
    size_t key_len;
    uint8_t *value;
    size_t value_len;
};

struct store_batch {
    GArray *ops; /* struct store_op, in order */
};

int store_errno(int mdb_rc); /* LMDB's result as an errno */
/* Opens every table that the file has into s->tables. Returns LMDB's result. */
int store_load_tables(struct store *s);
/* All batches in one transaction, or none. */
int store_commit_all(struct store *s, const struct store_batch *const *batches, size_t count);

#endif
