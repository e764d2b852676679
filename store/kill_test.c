/* SPDX-License-Identifier: BSD-2-Clause */
/* Kills a committing process at random moments, several hundred times: everything that it
 * reported must be in the store afterwards, and nothing by half.
 *
 * Usage: kill_test CHILD. $HEDDLE_SEED replays the moments of an earlier run. */
#include "store/test_util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "store/kill_records.h"
#include "store/ledger.h"

#define ROUNDS 200 /* of each kind */
#define ROUNDS_A_DIR 10
#define MAX_DELAY_US 30000

extern char **environ;
static const char *child_path;
static GRand *rng;

static pid_t start_child(const char *kind, const char *dir, int *out)
{
    char *argv[] = {(char *)child_path, (char *)kind, (char *)dir, NULL};
    posix_spawn_file_actions_t actions;
    int pipe_fds[2];
    pid_t pid;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    assert_int_equal(posix_spawn(&pid, child_path, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    *out = pipe_fds[0];
    return pid;
}

static uint64_t last_report(int fd)
{
    uint64_t number, last = 0;
    while (read(fd, &number, sizeof(number)) == (ssize_t)sizeof(number)) {
        assert_true(last == 0 || number == last + 1);
        last = number;
    }
    return last;
}

/* Runs the child for a random time; the last number it reported, 0 = none. */
static uint64_t run_and_kill(const char *kind, const char *dir)
{
    int out, status;
    pid_t pid = start_child(kind, dir, &out);
    g_usleep((gulong)g_rand_int_range(rng, 0, MAX_DELAY_US));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    uint64_t last = last_report(out);
    close(out);
    return last;
}

static uint64_t check_ledger(const char *dir, uint64_t known)
{
    struct store_config config = {dir, "ledger", "c1", KILL_MAP_BYTES};
    struct ledger *l = NULL;
    char error[256] = "";
    uint64_t revisions[KILL_KEYS], numbers[KILL_KEYS] = {0};
    int rc = ledger_open(&config, &l, error, sizeof(error));
    if (rc != 0) {
        fail_msg("after a kill: %s", error);
    }
    for (size_t i = 0; i < KILL_KEYS; i++) {
        size_t len;
        g_autofree uint8_t *value = ledger_get(l, kill_keys[i], &len, &revisions[i]);
        if (value != NULL) {
            assert_true(len >= sizeof(numbers[i]));
            memcpy(&numbers[i], value, sizeof(numbers[i]));
            assert_int_equal(len, 8 + numbers[i] * i % 5000);
        }
        assert_int_equal(numbers[i], numbers[0]);
        assert_int_equal(revisions[i], numbers[0]);
    }
    ledger_close(l);
    assert_in_range(numbers[0], known, known + 1); /* killed between commit and report */
    return numbers[0];
}

struct tally {
    uint64_t count;
    uint64_t last;
};

static bool tally(void *user, const void *key, size_t key_len, const void *value, size_t value_len)
{
    struct tally *t = user;
    t->count++;
    t->last = kill_number(key);
    return true;
}

static uint64_t check_writer(const char *dir, uint64_t known)
{
    struct store *s = test_open(dir, KILL_MAP_BYTES);
    struct tally first = {0}, second = {0}, only = {0};
    assert_int_equal(store_each(s, "first", NULL, 0, tally, &first), 0);
    assert_int_equal(store_each(s, "second", NULL, 0, tally, &second), 0);
    assert_int_equal(store_each(s, "only", NULL, 0, tally, &only), 0);
    store_close(s);
    assert_true(first.last >= known);       /* a group may be durable before its reports are out */
    assert_true(first.count == first.last); /* 1..last, none missing */
    assert_true(second.count == first.count && second.last == first.last);
    assert_true(only.last == first.last && only.count == (first.last > 0));
    return first.last;
}

static void kill_often(const char *kind, uint64_t (*check)(const char *dir, uint64_t known))
{
    uint64_t commits = 0;
    int reports = 0; /* rounds in which something was reported */
    for (int round = 0; round < ROUNDS;) {
        char *dir = test_dir();
        uint64_t known = 0; /* the highest number that must be there */
        for (int i = 0; i < ROUNDS_A_DIR; i++, round++) {
            uint64_t reported = run_and_kill(kind, dir);
            reports += reported > known;
            known = check(dir, MAX(known, reported));
        }
        commits += known;
        test_remove_tree(dir);
        g_free(dir);
    }
    print_message("%s: %d kills, %d of them after reports, %lu commits kept\n", kind, ROUNDS,
                  reports, (unsigned long)commits);
    assert_true(reports > ROUNDS / 10);
}

static void a_killed_ledger_keeps_every_swap(void **state)
{
    kill_often("ledger", check_ledger);
}

static void a_killed_writer_keeps_every_ticket(void **state)
{
    kill_often("writer", check_writer);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_ledger_keeps_every_swap),
        cmocka_unit_test(a_killed_writer_keeps_every_ticket),
    };
    if (argc != 2) {
        fprintf(stderr, "usage: %s CHILD\n", argv[0]);
        return 2;
    }
    child_path = argv[1];
    const char *given = g_getenv("HEDDLE_SEED");
    guint32 seed = given != NULL ? (guint32)g_ascii_strtoull(given, NULL, 10) : g_random_int();
    print_message("replay with: HEDDLE_SEED=%u %s %s\n", seed, argv[0], argv[1]);
    rng = g_rand_new_with_seed(seed);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    g_rand_free(rng);
    return rc;
}
