/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening: one process at a time, only files that are whole and ours.
 *
 * A new store is made in DIR/creating and renamed into place with its header record in it, so
 * that a crash at any moment leaves either no DIR/data.mdb or one with a header: a file without
 * one is somebody else's, and an empty file is a damaged one. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "store/internal.h"

#define SUM_LINE "sum="
#define MIN_FREE_BYTES (1u << 20)
#define CREATING_DIR "creating"
#define MIN_MAP_BYTES (64u << 10)
#define FILE_MODE 0600
#define DIR_MODE 0700

struct opening {
    const struct store_config *config;
    char *error;
    size_t error_size;
};

static int fail(struct opening *o, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct opening *o, int err, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (o->error_size > 0) {
        vsnprintf(o->error, o->error_size, format, ap);
    }
    va_end(ap);
    return err;
}

static char *path_in(const struct opening *o, const char *name)
{
    return g_build_filename(o->config->dir, name, NULL);
}

static int sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    int rc = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return rc;
}

/* LMDB maps its lock file, and a mapped page that finds no block is SIGBUS, not an error. */
static int check_space(struct opening *o)
{
    struct statvfs fs;
    if (statvfs(o->config->dir, &fs) != 0 || fs.f_blocks == 0) {
        return 0; /* a file system that does not count */
    }
    if ((uint64_t)fs.f_bavail * fs.f_frsize >= MIN_FREE_BYTES) {
        return 0;
    }
    return fail(o, ENOSPC, "store %s: no space left in its file system; free some", o->config->dir);
}

/* -- the lock ----------------------------------------------------------------------------- */

static void note_pid(int fd)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len) {
        return; /* only a hint for the message of the next one */
    }
}

static long noted_pid(int fd)
{
    char text[24] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static int take_lock(struct opening *o, int *lock_fd)
{
    const char *dir = o->config->dir;
    if (g_mkdir_with_parents(dir, DIR_MODE) != 0) {
        int err = errno;
        if (err == ENOSPC) {
            return fail(o, err, "store %s: no space left in its file system; free some", dir);
        }
        return fail(o, err, "store %s: cannot make the directory: %s", dir, g_strerror(err));
    }
    int rc = check_space(o);
    if (rc != 0) {
        return rc;
    }
    g_autofree char *path = path_in(o, STORE_OWN_LOCK_FILE);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        int err = errno;
        return fail(o, err, "store %s: cannot open %s: %s; the directory must be writable", dir,
                    STORE_OWN_LOCK_FILE, g_strerror(err));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int err = errno == EWOULDBLOCK ? EBUSY : errno;
        long pid = noted_pid(fd);
        close(fd);
        if (err != EBUSY) {
            return fail(o, err, "store %s: cannot lock %s: %s", dir, path, g_strerror(err));
        }
        return fail(o, err, "store %s: process %ld has it open; stop that one first", dir, pid);
    }
    note_pid(fd);
    *lock_fd = fd;
    return 0;
}

/* -- header record ------------------------------------------------------------------------ */

static char *header_text(const struct store_config *config)
{
    return g_strdup_printf("heddle-store\nschema=%u\nkind=%s\ncluster=%s\n", STORE_SCHEMA,
                           config->kind, config->cluster);
}

/* Any version can read the header, so its checksum is a last line of text. */
char *store_header_seal(const char *text)
{
    return g_strdup_printf("%s" SUM_LINE "%016" PRIx64 "\n", text,
                           store_sum(STORE_HEADER_TABLE, STORE_HEADER_KEY, strlen(STORE_HEADER_KEY),
                                     text, strlen(text)));
}

bool store_header_is_whole(const char *sealed)
{
    const char *line = strstr(sealed, "\n" SUM_LINE);
    if (line == NULL) {
        return false;
    }
    g_autofree char *text = g_strndup(sealed, (size_t)(line + 1 - sealed));
    g_autofree char *right = store_header_seal(text);
    return strcmp(right, sealed) == 0;
}

static const char *header_value(char **lines, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; lines[i] != NULL; i++) {
        if (strncmp(lines[i], name, len) == 0 && lines[i][len] == '=') {
            return lines[i] + len + 1;
        }
    }
    return NULL;
}

static int judge_header(struct opening *o, const char *path, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    const char *schema = header_value(lines, "schema");
    const char *kind = header_value(lines, "kind");
    const char *cluster = header_value(lines, "cluster");
    uint64_t version = schema == NULL ? 0 : g_ascii_strtoull(schema, NULL, 10);
    if (version == 1 && header_value(lines, "sum") == NULL) {
        return fail(o, EPROTO,
                    "store %s: has schema 1, of a version before the first release; move the file "
                    "away and begin anew",
                    path);
    }
    if (!store_header_is_whole(text) || lines[0] == NULL || strcmp(lines[0], "heddle-store") != 0 ||
        version == 0 || kind == NULL || cluster == NULL) {
        return fail(o, EILSEQ, "store %s: its header record is damaged; move the file away", path);
    }
    if (version > STORE_SCHEMA) {
        return fail(o, EPROTO,
                    "store %s: has schema %" PRIu64
                    ", this program knows up to %u; use the newer program or an older backup",
                    path, version, STORE_SCHEMA);
    }
    if (strcmp(kind, o->config->kind) != 0) {
        return fail(o, EMEDIUMTYPE, "store %s: holds \"%s\", not \"%s\"; use another directory",
                    path, kind, o->config->kind);
    }
    if (strcmp(cluster, o->config->cluster) != 0) {
        return fail(o, EMEDIUMTYPE,
                    "store %s: belongs to cluster \"%s\", not \"%s\"; use another directory", path,
                    cluster, o->config->cluster);
    }
    return 0;
}

static int check_header(struct opening *o, struct store *s, const char *path)
{
    MDB_val key = {.mv_size = strlen(STORE_HEADER_KEY), .mv_data = STORE_HEADER_KEY}, value;
    MDB_txn *txn;
    MDB_dbi dbi;
    int rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn);
    if (rc != 0) {
        return fail(o, store_errno(rc), "store %s: cannot be read: %s", path, mdb_strerror(rc));
    }
    g_autofree char *text = NULL;
    rc = mdb_dbi_open(txn, STORE_HEADER_TABLE, 0, &dbi);
    if (rc == 0) {
        rc = mdb_get(txn, dbi, &key, &value);
        text = g_strndup(rc == 0 ? value.mv_data : "", rc == 0 ? value.mv_size : 0);
    }
    mdb_txn_abort(txn);
    if (text == NULL) {
        return fail(o, EMEDIUMTYPE,
                    "store %s: is an LMDB file of another program; use another directory", path);
    }
    return judge_header(o, path, text);
}

/* -- environment -------------------------------------------------------------------------- */

static int open_env(const struct opening *o, const char *dir, unsigned flags, MDB_env **env)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t map = o->config->map_bytes == 0 ? STORE_DEFAULT_MAP_BYTES : o->config->map_bytes;
    map = (MAX(map, MIN_MAP_BYTES) + page - 1) / page * page;
    int rc = mdb_env_create(env);
    if (rc != 0) {
        return rc;
    }
    rc = mdb_env_set_mapsize(*env, map);
    if (rc == 0) {
        rc = mdb_env_set_maxdbs(*env, STORE_MAX_TABLES);
    }
    if (rc == 0) {
        /* NOTLS ties a reader's slot to its transaction instead of its thread: threads of a pool
         * that read once do not hold slots. */
        rc = mdb_env_open(*env, dir, MDB_NOTLS | flags, FILE_MODE);
    }
    if (rc != 0) {
        mdb_env_close(*env);
        *env = NULL;
    }
    return rc;
}

static int put_header(MDB_env *env, const char *text)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = {.mv_size = strlen(STORE_HEADER_KEY), .mv_data = STORE_HEADER_KEY};
    MDB_val value = {.mv_size = strlen(text), .mv_data = (void *)text};
    int rc = mdb_txn_begin(env, NULL, 0, &txn);
    if (rc != 0) {
        return rc;
    }
    rc = mdb_dbi_open(txn, STORE_HEADER_TABLE, MDB_CREATE, &dbi);
    if (rc == 0) {
        rc = mdb_put(txn, dbi, &key, &value, 0);
    }
    if (rc == 0) {
        rc = store_total_write(txn, dbi, 0);
    }
    if (rc != 0) {
        mdb_txn_abort(txn);
        return rc;
    }
    return mdb_txn_commit(txn);
}

static void remove_creating(const char *dir)
{
    g_autofree char *data = g_build_filename(dir, STORE_DATA_FILE, NULL);
    g_autofree char *lock = g_build_filename(dir, STORE_LMDB_LOCK_FILE, NULL);
    unlink(data);
    unlink(lock);
    rmdir(dir);
}

static int create_file(struct opening *o, const char *path)
{
    g_autofree char *creating = path_in(o, CREATING_DIR);
    g_autofree char *made = g_build_filename(creating, STORE_DATA_FILE, NULL);
    g_autofree char *plain = header_text(o->config);
    g_autofree char *text = store_header_seal(plain);
    MDB_env *env = NULL;
    remove_creating(creating); /* of one that died here */
    int rc = mkdir(creating, DIR_MODE) == 0 ? 0 : errno;
    if (rc == 0) {
        rc = open_env(o, creating, 0, &env);
    }
    if (rc == 0) {
        rc = put_header(env, text);
        mdb_env_close(env);
    }
    if (rc == 0 && rename(made, path) != 0) {
        rc = errno;
    }
    remove_creating(creating);
    if (rc == 0) {
        rc = sync_dir(o->config->dir);
    }
    if (rc == 0) {
        return 0;
    }
    rc = store_errno(rc);
    if (rc == EIO && check_space(o) != 0) { /* LMDB's answer to a write that was cut short */
        return ENOSPC;
    }
    return fail(o, rc, "store %s: cannot make it: %s", path, g_strerror(rc));
}

static MDB_env *open_in_child(void *user, unsigned flags, int *rc)
{
    const struct opening *o = user;
    MDB_env *env;
    *rc = open_env(o, o->config->dir, flags, &env);
    return env;
}

static int open_file(struct opening *o, const char *path, MDB_env **env)
{
    struct stat file;
    if (stat(path, &file) == 0 && file.st_size == 0) {
        return fail(o, EILSEQ, "store %s: is empty; move the file away", path);
    }
    int rc = store_check_in_child(open_in_child, o, path);
    if (rc == EILSEQ) {
        return fail(o, rc,
                    "store %s: is damaged or a file of another program; move it away or use "
                    "another directory",
                    path);
    }
    if (rc == 0) {
        rc = open_env(o, o->config->dir, 0, env);
    }
    if (rc != 0) {
        rc = store_errno(rc);
        return fail(o, rc, "store %s: cannot be opened: %s", path, g_strerror(rc));
    }
    return 0;
}

/* A stream of readers must not keep the map from growing. */
static void init_map_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attr);
    pthread_rwlockattr_destroy(&attr);
}

static struct store *store_around(const struct opening *o, MDB_env *env)
{
    struct store *s = g_new0(struct store, 1);
    s->env = env;
    s->dir = g_strdup(o->config->dir);
    s->lock_fd = -1;
    s->tables = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    pthread_mutex_init(&s->commit_mutex, NULL);
    pthread_mutex_init(&s->tables_mutex, NULL);
    init_map_lock(&s->map_lock);
    return s;
}

void store_close(struct store *s)
{
    if (s == NULL) {
        return;
    }
    if (s->env != NULL) {
        mdb_env_close(s->env);
    }
    if (s->lock_fd >= 0) {
        close(s->lock_fd);
    }
    g_hash_table_destroy(s->tables);
    pthread_mutex_destroy(&s->commit_mutex);
    pthread_mutex_destroy(&s->tables_mutex);
    pthread_rwlock_destroy(&s->map_lock);
    g_free(s->dir);
    g_free(s);
}

static int load(struct opening *o, struct store *s, const char *path)
{
    int rc = store_load_tables(s);
    if (rc == MDB_DBS_FULL || rc == MDB_INCOMPATIBLE || rc == MDB_NOTFOUND ||
        rc == MDB_BAD_VALSIZE) {
        return fail(o, EMEDIUMTYPE,
                    "store %s: is an LMDB file of another program; use another directory", path);
    }
    if (rc != 0) {
        rc = store_errno(rc);
        return fail(o, rc, "store %s: its tables cannot be read: %s", path, g_strerror(rc));
    }
    return check_header(o, s, path);
}

/* With the lock held. */
static int open_locked(struct opening *o, struct store **store)
{
    g_autofree char *path = path_in(o, STORE_DATA_FILE);
    MDB_env *env = NULL;
    struct stat file;
    int rc = 0;
    if (stat(path, &file) != 0) {
        rc = errno == ENOENT
                 ? create_file(o, path)
                 : fail(o, errno, "store %s: cannot be read: %s", path, g_strerror(errno));
    }
    if (rc == 0) {
        rc = open_file(o, path, &env);
    }
    if (rc != 0) {
        return rc;
    }
    struct store *s = store_around(o, env);
    rc = load(o, s, path);
    if (rc != 0) {
        store_close(s);
        return rc;
    }
    store_check_readers(s);
    *store = s;
    return 0;
}

static int valid_config(struct opening *o)
{
    const struct store_config *c = o->config;
    if (c->dir == NULL || c->dir[0] == '\0' || c->kind == NULL || c->cluster == NULL ||
        strchr(c->kind, '\n') != NULL || strchr(c->cluster, '\n') != NULL) {
        return fail(o, EINVAL, "store: needs a directory, a kind and a cluster name of one line");
    }
    return 0;
}

/* -- set aside ---------------------------------------------------------------------------- */

static int set_files_aside(struct opening *o, char **where)
{
    static const char *const names[] = {STORE_DATA_FILE, STORE_LMDB_LOCK_FILE};
    g_autofree char *dir = NULL;
    int made = -1;
    for (unsigned n = 0; made != 0; n++) {
        g_free(dir);
        dir = g_strdup_printf("%s/damaged-%" PRId64 "-%u", o->config->dir, (int64_t)time(NULL), n);
        made = mkdir(dir, DIR_MODE);
        if (made != 0 && errno != EEXIST) {
            int err = errno;
            return fail(o, err, "store %s: cannot set damaged files aside: %s", o->config->dir,
                        g_strerror(err));
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *from = path_in(o, names[i]);
        g_autofree char *to = g_build_filename(dir, names[i], NULL);
        if (rename(from, to) != 0 && errno != ENOENT) {
            int err = errno;
            return fail(o, err, "store %s: cannot be moved to %s: %s", from, dir, g_strerror(err));
        }
    }
    sync_dir(dir);
    sync_dir(o->config->dir);
    *where = g_steal_pointer(&dir);
    return 0;
}

static int open_any(const struct store_config *config, struct store **store, char **set_aside,
                    char *error, size_t error_size)
{
    struct opening o = {.config = config, .error = error, .error_size = error_size};
    int lock_fd = -1;
    *store = NULL;
    int rc = valid_config(&o);
    if (rc == 0) {
        rc = take_lock(&o, &lock_fd);
    }
    if (rc != 0) {
        return rc;
    }
    rc = open_locked(&o, store);
    if (rc == EILSEQ && set_aside != NULL) {
        rc = set_files_aside(&o, set_aside);
        if (rc == 0) {
            rc = open_locked(&o, store);
        }
    }
    if (rc != 0) {
        close(lock_fd);
        return rc;
    }
    (*store)->lock_fd = lock_fd;
    return 0;
}

int store_open(const struct store_config *config, struct store **store, char *error,
               size_t error_size)
{
    return open_any(config, store, NULL, error, error_size);
}

int store_open_or_set_aside(const struct store_config *config, struct store **store,
                            char **set_aside, char *error, size_t error_size)
{
    *set_aside = NULL;
    return open_any(config, store, set_aside, error, error_size);
}

/* The lock is kept all the while. */
int store_set_aside(const struct store_config *config, struct store **store, char **set_aside,
                    char *error, size_t error_size)
{
    struct opening o = {.config = config, .error = error, .error_size = error_size};
    int lock_fd = (*store)->lock_fd;
    *set_aside = NULL;
    (*store)->lock_fd = -1;
    store_close(*store);
    *store = NULL;
    int rc = set_files_aside(&o, set_aside);
    if (rc == 0) {
        rc = open_locked(&o, store);
    }
    if (rc != 0) {
        close(lock_fd);
        return rc;
    }
    (*store)->lock_fd = lock_fd;
    return 0;
}
