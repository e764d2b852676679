/* SPDX-License-Identifier: BSD-2-Clause */
/* The durable store: LMDB behind tables of byte strings. The only user of lmdb.h.
 *
 * One environment a process, never used across fork, on local disks only. Keys are ordered as
 * bytes (encode numbers big endian). Values are protobuf messages, as on the wire. A batch of
 * changes is one durable transaction: all of it or nothing, and after store_commit returns 0 it
 * survives SIGKILL and power loss. Map full: the transaction is aborted, the map grown (nobody
 * else has a transaction open then) and the batch retried.
 *
 * A store has a kind ("shard view", "ledger"), a cluster name and a schema version: opening a
 * store of another kind or cluster or of a newer version is refused, an older one is migrated; a
 * corrupt or foreign file gives a clear error, and store_open_or_set_aside moves it aside.
 *
 * Threads: store_commit may run in one thread while others read; readers get copies. A batch
 * belongs to one thread at a time. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct store_batch;

#define STORE_DEFAULT_MAP_BYTES (4ull << 30) /* sparse */
#define STORE_MAX_KEY 511                    /* LMDB's */

struct store_config {
    const char *dir; /* made (mode 0700) when missing */
    const char *kind;
    const char *cluster;
    size_t map_bytes; /* 0 = default */
};

/* Returns 0, or errno with one clear line in error: EILSEQ for a file that is corrupt or no
 * LMDB file, EMEDIUMTYPE for another program's, kind's or cluster's store, EPROTO for a newer
 * schema, EBUSY when another process has it open, ENOSPC when the file system has under 1 MiB left,
 * else the system's. Every value of the file is read first, in a child that damage may kill. */
int store_open(const struct store_config *config, struct store **store, char *error,
               size_t error_size);
/* As store_open, but on EILSEQ renames the files to DIR/damaged-<time>-<n>/ and starts empty;
 * *set_aside (g_free) names where, or NULL. */
int store_open_or_set_aside(const struct store_config *config, struct store **store,
                            char **set_aside, char *error, size_t error_size);
/* For a store whose values a reader found damaged: closes it (in every case), sets its files aside
 * likewise and starts empty. */
int store_set_aside(const struct store_config *config, struct store **store, char **set_aside,
                    char *error, size_t error_size);
void store_close(struct store *s); /* NULL allowed */

struct store_batch *store_batch_create(void);
void store_batch_destroy(struct store_batch *b); /* NULL allowed */
/* Table names are short ASCII words. value NULL = delete. Copies key and value. */
void store_batch_put(struct store_batch *b, const char *table, const void *key, size_t key_len,
                     const void *value, size_t value_len);
void store_batch_delete(struct store_batch *b, const char *table, const void *key, size_t key_len);
/* Deletes every key of the table that begins with prefix. */
void store_batch_delete_prefix(struct store_batch *b, const char *table, const void *prefix,
                               size_t prefix_len);
size_t store_batch_count(const struct store_batch *b);

/* Applies the batch durably. Returns 0 or errno (ENOSPC, EROFS, EIO ...), then nothing of it is in
 * the store. The batch stays the caller's. */
int store_commit(struct store *s, const struct store_batch *b);

/* A copy of the value (g_free); NULL with *len 0 and errno 0 when it is not there, with errno
 * EILSEQ when it is damaged (each value carries a checksum), else with the system's errno. */
uint8_t *store_get(struct store *s, const char *table, const void *key, size_t key_len,
                   size_t *len);
/* Calls f for each key with this prefix in order, in one short read transaction; f returns false to
 * stop. f must not call the store. Returns 0 or errno; EILSEQ at the first damaged value. */
int store_each(struct store *s, const char *table, const void *prefix, size_t prefix_len,
               bool (*f)(void *user, const void *key, size_t key_len, const void *value,
                         size_t value_len),
               void *user);
/* Clears slots of dead readers; call at start and each minute. Returns how many. */
int store_check_readers(struct store *s);
/* A compacted copy while running (mdb_env_copy2). dir must not exist. */
int store_backup(struct store *s, const char *dir);

/* -- a thread that commits ----------------------------------------------------------------- */

struct store_writer;

/* Starts the thread; at most max_queued batches wait (then store_writer_submit says EAGAIN).
 * Batches that wait are committed together (group commit), in the order of submission; where that
 * fails each is tried alone, so that only the faulty one reports an error. Read the completions:
 * they are kept until then. NULL with errno when there is no descriptor or thread to have. */
struct store_writer *store_writer_create(struct store *s, size_t max_queued);
void store_writer_destroy(struct store_writer *w); /* commits what waits first; NULL allowed */
/* Takes the batch over. */
int store_writer_submit(struct store_writer *w, struct store_batch *b, uint64_t ticket);
/* An eventfd that is readable when completions wait. */
int store_writer_fd(const struct store_writer *w);
/* The next completion: true, its ticket and its error (0 = durable). */
bool store_writer_done(struct store_writer *w, uint64_t *ticket, int *error);

#endif
