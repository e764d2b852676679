/* SPDX-License-Identifier: BSD-2-Clause */
/* Commits and reads over LMDB's tables, growth of the map, backup. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal.h"

int store_errno(int mdb_rc)
{
    switch (mdb_rc) {
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        return EILSEQ;
    case MDB_MAP_FULL:
        return ENOSPC;
    case MDB_BAD_VALSIZE:
        return EINVAL;
    case MDB_TXN_FULL:
        return E2BIG;
    case MDB_DBS_FULL:
    case MDB_READERS_FULL:
        return ENFILE;
    default:
        /* The rest of LMDB's own numbers (a transaction spoilt by an earlier error, an environment
         * whose last write failed) mean that the file must be opened anew. */
        return mdb_rc < 0 ? EIO : mdb_rc;
    }
}

/* -- tables ------------------------------------------------------------------------------- */

static void remember_table(struct store *s, const char *name, MDB_dbi dbi)
{
    pthread_mutex_lock(&s->tables_mutex);
    g_hash_table_replace(s->tables, g_strdup(name), GUINT_TO_POINTER(dbi + 1));
    pthread_mutex_unlock(&s->tables_mutex);
}

static bool find_table(struct store *s, const char *name, MDB_dbi *dbi)
{
    pthread_mutex_lock(&s->tables_mutex);
    guint plus_one = GPOINTER_TO_UINT(g_hash_table_lookup(s->tables, name));
    pthread_mutex_unlock(&s->tables_mutex);
    *dbi = plus_one - 1;
    return plus_one != 0;
}

int store_list_tables(MDB_txn *txn, GPtrArray *names)
{
    MDB_dbi main_dbi;
    MDB_cursor *cursor;
    int rc = mdb_dbi_open(txn, NULL, 0, &main_dbi);
    if (rc == 0) {
        rc = mdb_cursor_open(txn, main_dbi, &cursor);
    }
    if (rc != 0) {
        return rc;
    }
    MDB_val key, value;
    while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        if (names->len == STORE_MAX_TABLES) { /* ours never has so many: it is not ours */
            rc = MDB_DBS_FULL;
            break;
        }
        g_ptr_array_add(names, g_strndup(key.mv_data, key.mv_size));
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int store_load_tables(struct store *s)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree MDB_dbi *dbis = NULL;
    MDB_txn *txn;
    int rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn);
    if (rc != 0) {
        return rc;
    }
    rc = store_list_tables(txn, names);
    dbis = g_new0(MDB_dbi, names->len + 1);
    for (guint i = 0; rc == 0 && i < names->len; i++) {
        rc = mdb_dbi_open(txn, names->pdata[i], 0, &dbis[i]);
    }
    if (rc != 0) {
        mdb_txn_abort(txn);
        return rc;
    }
    rc = mdb_txn_commit(txn); /* makes the handles public */
    for (guint i = 0; rc == 0 && i < names->len; i++) {
        remember_table(s, names->pdata[i], dbis[i]);
    }
    return rc;
}

/* -- commits ------------------------------------------------------------------------------ */

static bool has_prefix(const MDB_val *key, const void *prefix, size_t prefix_len)
{
    return key->mv_size >= prefix_len &&
           (prefix_len == 0 || memcmp(key->mv_data, prefix, prefix_len) == 0);
}

static int first_with_prefix(MDB_cursor *cursor, const void *prefix, size_t prefix_len,
                             MDB_val *key, MDB_val *value)
{
    if (prefix_len == 0) {
        return mdb_cursor_get(cursor, key, value, MDB_FIRST);
    }
    *key = (MDB_val){.mv_size = prefix_len, .mv_data = (void *)prefix};
    return mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
}

static int delete_prefix(MDB_txn *txn, MDB_dbi dbi, const struct store_op *op, uint64_t *total)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0) {
        return rc;
    }
    while ((rc = first_with_prefix(cursor, op->key, op->key_len, &key, &value)) == 0 &&
           has_prefix(&key, op->key, op->key_len)) {
        *total -= store_sealed_sum(&value);
        if ((rc = mdb_cursor_del(cursor, 0)) != 0) {
            break;
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int apply(MDB_txn *txn, MDB_dbi dbi, const struct store_op *op, uint64_t *total)
{
    MDB_val key = {.mv_size = op->key_len, .mv_data = op->key};
    MDB_val value = {.mv_size = op->value_len, .mv_data = op->value}, old;
    if (op->type == STORE_OP_DELETE_PREFIX) {
        return delete_prefix(txn, dbi, op, total);
    }
    int rc = mdb_get(txn, dbi, &key, &old);
    if (rc != 0 && rc != MDB_NOTFOUND) {
        return rc;
    }
    if (rc == 0) {
        *total -= store_sealed_sum(&old);
    }
    if (op->type == STORE_OP_PUT) {
        *total += store_sealed_sum(&value);
        return mdb_put(txn, dbi, &key, &value, 0);
    }
    return rc == 0 ? mdb_del(txn, dbi, &key, NULL) : 0;
}

static bool op_is_valid(const struct store_op *op)
{
    return op->table[0] != '\0' && op->table[0] != '.' && op->key_len <= STORE_MAX_KEY &&
           (op->key_len > 0 || op->type == STORE_OP_DELETE_PREFIX);
}

/* Opens the table of op in txn, which new tables then belong to: other transactions may use the
 * handle only after the commit, so it is kept in fresh until then. */
static int table_in_txn(struct store *s, MDB_txn *txn, GHashTable *fresh, const char *name,
                        MDB_dbi *dbi)
{
    if (find_table(s, name, dbi)) {
        return 0;
    }
    guint plus_one = GPOINTER_TO_UINT(g_hash_table_lookup(fresh, name));
    if (plus_one != 0) {
        *dbi = plus_one - 1;
        return 0;
    }
    int rc = mdb_dbi_open(txn, name, MDB_CREATE, dbi);
    if (rc == 0) {
        g_hash_table_insert(fresh, (char *)name, GUINT_TO_POINTER(*dbi + 1));
    }
    return rc;
}

static int apply_batch(struct store *s, MDB_txn *txn, GHashTable *fresh,
                       const struct store_batch *b, uint64_t *total)
{
    for (guint i = 0; i < b->ops->len; i++) {
        const struct store_op *op = &g_array_index(b->ops, struct store_op, i);
        MDB_dbi dbi;
        int rc = op_is_valid(op) ? table_in_txn(s, txn, fresh, op->table, &dbi) : EINVAL;
        if (rc == 0) {
            rc = apply(txn, dbi, op, total);
        }
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* One try in one transaction. Returns LMDB's result. */
static int try_commit(struct store *s, const struct store_batch *const *batches, size_t count)
{
    g_autoptr(GHashTable) fresh = g_hash_table_new(g_str_hash, g_str_equal);
    MDB_txn *txn;
    MDB_dbi header;
    uint64_t total, txn_id;
    int rc = mdb_txn_begin(s->env, NULL, 0, &txn);
    if (rc != 0) {
        return rc;
    }
    rc = find_table(s, STORE_HEADER_TABLE, &header) ? store_total_read(txn, header, &total, &txn_id)
                                                    : MDB_CORRUPTED;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = apply_batch(s, txn, fresh, batches[i], &total);
    }
    if (rc == 0) {
        rc = store_total_write(txn, header, total);
    }
    if (rc != 0) {
        mdb_txn_abort(txn);
        return rc;
    }
    rc = mdb_txn_commit(txn);
    if (rc == 0) {
        GHashTableIter iter;
        void *name, *plus_one;
        g_hash_table_iter_init(&iter, fresh);
        while (g_hash_table_iter_next(&iter, &name, &plus_one)) {
            remember_table(s, name, GPOINTER_TO_UINT(plus_one) - 1);
        }
    }
    return rc;
}

static int grow_map(struct store *s)
{
    MDB_envinfo info;
    pthread_rwlock_wrlock(&s->map_lock);
    int rc = mdb_env_info(s->env, &info);
    if (rc == 0 && info.me_mapsize > STORE_MAX_MAP_BYTES / 2) {
        rc = MDB_MAP_FULL;
    }
    if (rc == 0) {
        rc = mdb_env_set_mapsize(s->env, info.me_mapsize * 2);
    }
    pthread_rwlock_unlock(&s->map_lock);
    return rc;
}

int store_commit_all(struct store *s, const struct store_batch *const *batches, size_t count)
{
    int rc;
    pthread_mutex_lock(&s->commit_mutex);
    do {
        pthread_rwlock_rdlock(&s->map_lock);
        rc = try_commit(s, batches, count);
        pthread_rwlock_unlock(&s->map_lock);
    } while (rc == MDB_MAP_FULL && (rc = grow_map(s)) == 0);
    pthread_mutex_unlock(&s->commit_mutex);
    return store_errno(rc);
}

int store_commit(struct store *s, const struct store_batch *b)
{
    return store_commit_all(s, &b, 1);
}

/* -- reads -------------------------------------------------------------------------------- */

uint8_t *store_get(struct store *s, const char *table, const void *key, size_t key_len, size_t *len)
{
    MDB_dbi dbi;
    MDB_txn *txn;
    MDB_val k = {.mv_size = key_len, .mv_data = (void *)key}, v;
    uint8_t *copy = NULL;
    *len = 0;
    errno = 0;
    if (key_len == 0 || key_len > STORE_MAX_KEY || !find_table(s, table, &dbi)) {
        return NULL;
    }
    pthread_rwlock_rdlock(&s->map_lock);
    int rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0) {
        rc = mdb_get(txn, dbi, &k, &v);
        if (rc == 0 && !store_unseal(table, &k, &v)) {
            rc = MDB_CORRUPTED;
        }
        if (rc == 0) {
            copy = g_malloc(v.mv_size + 1); /* an empty value is not NULL */
            memcpy(copy, v.mv_data, v.mv_size);
            *len = v.mv_size;
        }
        mdb_txn_abort(txn);
    }
    pthread_rwlock_unlock(&s->map_lock);
    errno = rc == MDB_NOTFOUND ? 0 : store_errno(rc);
    return copy;
}

static int each_in_txn(MDB_txn *txn, MDB_dbi dbi, const char *table, const void *prefix,
                       size_t prefix_len,
                       bool (*f)(void *user, const void *key, size_t key_len, const void *value,
                                 size_t value_len),
                       void *user)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0) {
        return rc;
    }
    rc = first_with_prefix(cursor, prefix, prefix_len, &key, &value);
    while (rc == 0 && has_prefix(&key, prefix, prefix_len)) {
        if (!store_unseal(table, &key, &value)) {
            rc = MDB_CORRUPTED;
        } else if (!f(user, key.mv_data, key.mv_size, value.mv_data, value.mv_size)) {
            break;
        } else {
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int store_each(struct store *s, const char *table, const void *prefix, size_t prefix_len,
               bool (*f)(void *user, const void *key, size_t key_len, const void *value,
                         size_t value_len),
               void *user)
{
    MDB_dbi dbi;
    MDB_txn *txn;
    if (prefix_len > STORE_MAX_KEY) {
        return EINVAL;
    }
    if (!find_table(s, table, &dbi)) {
        return 0;
    }
    pthread_rwlock_rdlock(&s->map_lock);
    int rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0) {
        rc = each_in_txn(txn, dbi, table, prefix, prefix_len, f, user);
        mdb_txn_abort(txn);
    }
    pthread_rwlock_unlock(&s->map_lock);
    return store_errno(rc);
}

/* -- upkeep ------------------------------------------------------------------------------- */

int store_check_readers(struct store *s)
{
    int dead = 0;
    return mdb_reader_check(s->env, &dead) == 0 ? dead : 0;
}

static int sync_path(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0) {
        return errno;
    }
    int rc = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return rc;
}

int store_backup(struct store *s, const char *dir)
{
    if (mkdir(dir, 0700) != 0) {
        return errno;
    }
    g_autofree char *file = g_build_filename(dir, STORE_DATA_FILE, NULL);
    pthread_rwlock_rdlock(&s->map_lock);
    int rc = mdb_env_copy2(s->env, dir, MDB_CP_COMPACT);
    pthread_rwlock_unlock(&s->map_lock);
    if (rc == 0) {
        rc = sync_path(file, 0);
    }
    if (rc == 0) {
        rc = sync_path(dir, O_DIRECTORY);
    }
    if (rc != 0) { /* half a backup must not look like one */
        unlink(file);
        rmdir(dir);
    }
    return store_errno(rc);
}
