/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of store/ share: the store's innards and the operations of a batch. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <glib.h>
#include <lmdb.h>
#include <pthread.h>

#include "store/store.h"

#define STORE_SCHEMA 2u
#define STORE_HEADER_TABLE ".heddle"
#define STORE_HEADER_KEY "store"
#define STORE_TOTAL_KEY "total"
#define STORE_SUM_BYTES 8 /* before each value */
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
/* The names of the file's tables. MDB_DBS_FULL when they are more than ours ever are. */
int store_list_tables(MDB_txn *txn, GPtrArray *names);

/* -- checksums (sum.c): of the table's name, the key and the value ------------------------- */

uint64_t store_sum(const char *table, const void *key, size_t key_len, const void *value,
                   size_t value_len);
/* The value with its checksum before it (g_free): value_len + STORE_SUM_BYTES. */
uint8_t *store_seal(const char *table, const void *key, size_t key_len, const void *value,
                    size_t value_len);
/* The checksum that is written before a value. */
uint64_t store_sealed_sum(const MDB_val *sealed);
/* Makes *value the payload. False when it is damaged. */
bool store_unseal(const char *table, const MDB_val *key, MDB_val *value);
/* The sum of all values' checksums and the transaction that wrote it, kept beside the header: a
 * value that is missing, or an old one that came back with its old checksum, changes it. */
int store_total_read(MDB_txn *txn, MDB_dbi header, uint64_t *total, uint64_t *txn_id);
int store_total_write(MDB_txn *txn, MDB_dbi header, uint64_t total);

/* Reads all of the file (check.c), in a child as damage may kill it. 0, EILSEQ, or the system's
 * error of fork. A file that is whole but no store of ours is left to the caller to judge. */
int store_check_in_child(MDB_env *(*open_env)(void *user, unsigned flags, int *rc), void *user,
                         const char *file);

/* A header record's text with the line of its checksum; g_free. */
char *store_header_seal(const char *text);
bool store_header_is_whole(const char *sealed);
/* All batches in one transaction, or none. */
int store_commit_all(struct store *s, const struct store_batch *const *batches, size_t count);

#endif
