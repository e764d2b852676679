/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening: one process at a time, only files that are whole and ours.
 *
 * A new store is made in DIR/creating and renamed into place with its header record in it, so
 * that a crash at any moment leaves either no DIR/data.mdb or one with a header: a file without
 * one is somebody else's, and an empty file is a damaged one. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/internal.h"

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
        return fail(o, err, "store %s: cannot make the directory: %s", dir, g_strerror(err));
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
    if (lines[0] == NULL || strcmp(lines[0], "heddle-store") != 0 || version == 0 || kind == NULL ||
        cluster == NULL) {
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
    size_t len;
    g_autofree uint8_t *value =
        store_get(s, STORE_HEADER_TABLE, STORE_HEADER_KEY, strlen(STORE_HEADER_KEY), &len);
    if (value == NULL) {
        return fail(o, EMEDIUMTYPE,
                    "store %s: is an LMDB file of another program; use another directory", path);
    }
    g_autofree char *text = g_strndup((const char *)value, len);
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
    g_autofree char *text = header_text(o->config);
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
    return fail(o, rc, "store %s: cannot make it: %s", path, g_strerror(rc));
}

/* -- whole or cut ------------------------------------------------------------------------- */

/* In a child, as a page behind the end of the file answers with SIGBUS: reads every page in use. */
static int walk_in_child(const struct opening *o)
{
    pid_t pid = fork();
    if (pid < 0) {
        return errno;
    }
    if (pid == 0) {
        MDB_env *env;
        signal(SIGBUS, SIG_DFL);
        int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int rc = open_env(o, o->config->dir, MDB_RDONLY, &env);
        rc = rc == 0 ? mdb_env_copyfd2(env, out, MDB_CP_COMPACT) : rc;
        _exit(rc == 0 ? 0 : 1);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EILSEQ;
}

/* Closes the environment and opens it again where a walk is needed. A file may rightly end before
 * its last page number: pages that a transaction took and gave back at once are never written. */
static int check_length(struct opening *o, const char *path, MDB_env **env)
{
    MDB_envinfo info;
    MDB_stat stat_env;
    struct stat file;
    int rc = mdb_env_info(*env, &info);
    if (rc == 0) {
        rc = mdb_env_stat(*env, &stat_env);
    }
    if (rc == 0 && stat(path, &file) != 0) {
        rc = errno;
    }
    if (rc != 0) {
        rc = store_errno(rc);
        return fail(o, rc, "store %s: cannot be read: %s", path, g_strerror(rc));
    }
    if ((uint64_t)file.st_size >= ((uint64_t)info.me_last_pgno + 1) * stat_env.ms_psize) {
        return 0;
    }
    mdb_env_close(*env);
    *env = NULL;
    rc = walk_in_child(o);
    if (rc != 0) {
        return fail(o, rc, "store %s: is cut off or damaged; move the file away", path);
    }
    rc = store_errno(open_env(o, o->config->dir, 0, env));
    return rc == 0 ? 0 : fail(o, rc, "store %s: cannot be opened: %s", path, g_strerror(rc));
}

static int open_file(struct opening *o, const char *path, MDB_env **env)
{
    struct stat file;
    if (stat(path, &file) == 0 && file.st_size == 0) {
        return fail(o, EILSEQ, "store %s: is empty; move the file away", path);
    }
    int rc = open_env(o, o->config->dir, 0, env);
    if (rc == MDB_INVALID || rc == MDB_VERSION_MISMATCH) {
        return fail(o, EILSEQ, "store %s: is damaged or a file of another program (%s); %s", path,
                    mdb_strerror(rc), "move it away or use another directory");
    }
    if (rc != 0) {
        rc = store_errno(rc);
        return fail(o, rc, "store %s: cannot be opened: %s", path, g_strerror(rc));
    }
    return check_length(o, path, env);
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
