/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what store_open refuses: each gives its errno and one clear line. */
#include "store/test_util.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/internal.h"

static char *dir;
static char *data_file;

static int set_up(void **state)
{
    dir = test_dir();
    data_file = g_build_filename(dir, "data.mdb", NULL);
    return 0;
}

static int tear_down(void **state)
{
    chmod(dir, 0700);
    test_remove_tree(dir);
    g_clear_pointer(&dir, g_free);
    g_clear_pointer(&data_file, g_free);
    return 0;
}

static void expect_refused(const struct store_config *config, int err, const char *words)
{
    struct store *s = NULL;
    char error[512] = "";
    assert_int_equal(store_open(config, &s, error, sizeof(error)), err);
    assert_null(s);
    if (strstr(error, words) == NULL || strchr(error, '\n') != NULL) {
        fail_msg("error is \"%s\", expected \"%s\" in it", error, words);
    }
}

static void expect_refused_here(int err, const char *words)
{
    struct store_config config = {dir, "test", "c1", 0};
    expect_refused(&config, err, words);
}

static void make_store_with_data(void)
{
    struct store *s = test_open(dir, 0);
    struct store_batch *b = store_batch_create();
    for (uint32_t i = 0; i < 1000; i++) {
        store_batch_put(b, "t", &i, sizeof(i), "some value of some length", 25);
    }
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    store_close(s);
}

static void write_file(const char *path, const char *bytes, size_t len)
{
    assert_true(g_file_set_contents(path, bytes, (gssize)len, NULL));
}

static void random_bytes_are_refused(void **state)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    char bytes[20000];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)g_rand_int(rand);
    }
    write_file(data_file, bytes, sizeof(bytes));
    expect_refused_here(EILSEQ, "damaged or a file of another program");
    write_file(data_file, bytes, 5);
    expect_refused_here(EILSEQ, "damaged or a file of another program");
}

static void an_empty_file_is_refused(void **state)
{
    write_file(data_file, "", 0);
    expect_refused_here(EILSEQ, "is empty");
}

static void a_truncated_file_is_refused_at_any_length(void **state)
{
    make_store_with_data();
    struct stat st;
    assert_int_equal(stat(data_file, &st), 0);
    assert_true(st.st_size > 8 * 4096);
    /* The last pages are the newest: the roots. */
    for (off_t size = st.st_size - 4096; size >= 0; size -= 4096 * 3 + 100) {
        assert_int_equal(truncate(data_file, size), 0);
        expect_refused_here(EILSEQ, "move");
    }
}

/* A transaction that takes pages and gives them back at once may leave the file shorter than its
 * highest page number: that is no damage. */
static void a_file_that_rightly_ends_early_opens(void **state)
{
    make_store_with_data();
    struct store *s = test_open(dir, 0);
    struct store_batch *b = store_batch_create();
    for (uint32_t i = 0; i < 3000; i++) {
        store_batch_put(b, "u", &i, sizeof(i), "some value of some length", 25);
    }
    store_batch_delete_prefix(b, "u", NULL, 0);
    assert_int_equal(store_commit(s, b), 0);
    store_batch_destroy(b);
    store_close(s);
    s = test_open(dir, 0);
    uint32_t key = 999;
    size_t len;
    g_autofree uint8_t *value = store_get(s, "t", &key, sizeof(key), &len);
    assert_int_equal(len, 25);
    store_close(s);
}

static void make_foreign(bool plain_keys)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = {.mv_size = 3, .mv_data = "key"}, value = {.mv_size = 5, .mv_data = "value"};
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 4), 0);
    assert_int_equal(mdb_env_open(env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, plain_keys ? NULL : "theirs", MDB_CREATE, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void lmdb_files_of_other_programs_are_refused(void **state)
{
    make_foreign(false);
    expect_refused_here(EMEDIUMTYPE, "LMDB file of another program");
    assert_int_equal(unlink(data_file), 0);
    make_foreign(true);
    expect_refused_here(EMEDIUMTYPE, "LMDB file of another program");
}

static void another_kind_and_cluster_are_refused(void **state)
{
    make_store_with_data();
    struct store_config kind = {dir, "ledger", "c1", 0};
    expect_refused(&kind, EMEDIUMTYPE, "holds \"test\", not \"ledger\"");
    struct store_config cluster = {dir, "test", "c2", 0};
    expect_refused(&cluster, EMEDIUMTYPE, "belongs to cluster \"c1\", not \"c2\"");
}

static void set_header(const char *plain)
{
    g_autofree char *text = store_header_seal(plain);
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = {.mv_size = strlen(STORE_HEADER_KEY), .mv_data = STORE_HEADER_KEY};
    MDB_val value = {.mv_size = strlen(text), .mv_data = (void *)text};
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 4), 0);
    assert_int_equal(mdb_env_open(env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, STORE_HEADER_TABLE, 0, &dbi), 0);
    uint64_t total, txn_id;
    assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
    assert_int_equal(store_total_read(txn, dbi, &total, &txn_id), 0);
    assert_int_equal(store_total_write(txn, dbi, total), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void a_newer_schema_is_refused(void **state)
{
    make_store_with_data();
    set_header("heddle-store\nschema=3\nkind=test\ncluster=c1\n");
    expect_refused_here(EPROTO, "has schema 3, this program knows up to 2");
}

static void a_damaged_header_is_refused(void **state)
{
    static const char *const headers[] = {"", "x",
                                          "heddle-store\nschema=0\nkind=test\ncluster=c1\n",
                                          "heddle-store\nschema=2\nkind=test\n"};
    make_store_with_data();
    for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
        set_header(headers[i]);
        expect_refused_here(EILSEQ, "header record is damaged");
    }
}

static void a_second_opener_is_refused(void **state)
{
    g_autofree char *words = g_strdup_printf("process %ld has it open", (long)getpid());
    struct store *s = test_open(dir, 0);
    expect_refused_here(EBUSY, words);
    store_close(s);
    store_close(test_open(dir, 0));
}

/* In a child that has given up root, which may write anywhere. */
static void a_directory_that_is_not_writable_is_refused(void **state)
{
    chmod(dir, 0500);
    pid_t pid = fork();
    if (pid == 0) {
        struct store_config config = {dir, "test", "c1", 0};
        struct store *s;
        char error[256] = "";
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(2);
        }
        int rc = store_open(&config, &s, error, sizeof(error));
        _exit(rc == EACCES && strstr(error, "cannot open") != NULL ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    g_autofree char *below = g_build_filename(data_file, "store", NULL);
    write_file(data_file, "x", 1);
    struct store_config config = {below, "test", "c1", 0};
    expect_refused(&config, ENOTDIR, "cannot make the directory");
}

static void a_nameless_store_is_refused(void **state)
{
    struct store_config config = {dir, NULL, "c1", 0};
    expect_refused(&config, EINVAL, "needs a directory, a kind and a cluster name");
    config = (struct store_config){dir, "test", "two\nlines", 0};
    expect_refused(&config, EINVAL, "needs a directory, a kind and a cluster name");
}

static void damaged_files_are_set_aside(void **state)
{
    struct store_config config = {dir, "test", "c1", 0};
    char error[256] = "";
    for (int round = 0; round < 2; round++) { /* both in the same second */
        struct store *s = NULL;
        char *aside = NULL;
        write_file(data_file, "no LMDB", 7);
        assert_int_equal(store_open_or_set_aside(&config, &s, &aside, error, sizeof(error)), 0);
        assert_non_null(aside);
        g_autofree char *kept = g_build_filename(aside, "data.mdb", NULL);
        g_autofree char *bytes = NULL;
        assert_true(g_file_get_contents(kept, &bytes, NULL, NULL));
        assert_string_equal(bytes, "no LMDB");
        test_expect(s, "t", "k", NULL);
        store_close(s);
        g_free(aside);
        assert_int_equal(store_open_or_set_aside(&config, &s, &aside, error, sizeof(error)), 0);
        assert_null(aside);
        store_close(s);
    }
    struct store *s = NULL;
    char *aside = NULL;
    config.cluster = "c2"; /* whole, but not ours: not touched */
    assert_int_equal(store_open_or_set_aside(&config, &s, &aside, error, sizeof(error)),
                     EMEDIUMTYPE);
    assert_null(aside);
}

static void an_open_store_is_set_aside(void **state)
{
    struct store_config config = {dir, "test", "c1", 0};
    char error[256] = "";
    g_autofree char *aside = NULL;
    make_store_with_data();
    struct store *s = test_open(dir, 0);
    assert_int_equal(store_set_aside(&config, &s, &aside, error, sizeof(error)), 0);
    g_autofree char *kept = g_build_filename(aside, "data.mdb", NULL);
    assert_int_equal(access(kept, F_OK), 0);
    g_autofree char *nothing = test_list(s, "t", "");
    assert_string_equal(nothing, "");
    expect_refused_here(EBUSY, "has it open");
    store_close(s);
}

static void leftovers_of_a_crash_while_creating_do_no_harm(void **state)
{
    g_autofree char *creating = g_build_filename(dir, "creating", NULL);
    g_autofree char *half = g_build_filename(creating, "data.mdb", NULL);
    assert_int_equal(mkdir(creating, 0700), 0);
    write_file(half, "half", 4);
    store_close(test_open(dir, 0));
    assert_int_equal(access(creating, F_OK), -1);
}

/* A child with a small file system of its own. */
static int open_in_small_file_system(const char *options)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct store_config config = {dir, "test", "c1", 0};
        struct store *s;
        char error[256] = "";
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", dir, "tmpfs", 0, options) != 0) {
            _exit(2);
        }
        int rc = store_open(&config, &s, error, sizeof(error));
        if (rc == 0) {
            store_close(s);
            _exit(0);
        }
        g_autofree char *line =
            g_strdup_printf("store %s: no space left in its file system; free some", dir);
        _exit(rc == ENOSPC && strcmp(error, line) == 0 ? 3 : 4);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_full_file_system_is_refused(void **state)
{
    static const char *const small[] = {"size=4k", "size=8k", "size=64k", "size=1020k"};
    int outcome = open_in_small_file_system("size=8m");
    if (outcome == 2) {
        printf("skipped: may not mount a file system\n");
        skip();
    }
    assert_int_equal(outcome, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(small); i++) {
        assert_int_equal(open_in_small_file_system(small[i]), 3);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(random_bytes_are_refused),
        TEST(an_empty_file_is_refused),
        TEST(a_truncated_file_is_refused_at_any_length),
        TEST(a_file_that_rightly_ends_early_opens),
        TEST(lmdb_files_of_other_programs_are_refused),
        TEST(another_kind_and_cluster_are_refused),
        TEST(a_newer_schema_is_refused),
        TEST(a_damaged_header_is_refused),
        TEST(a_second_opener_is_refused),
        TEST(a_directory_that_is_not_writable_is_refused),
        TEST(a_nameless_store_is_refused),
        TEST(damaged_files_are_set_aside),
        TEST(an_open_store_is_set_aside),
        TEST(a_full_file_system_is_refused),
        TEST(leftovers_of_a_crash_while_creating_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
