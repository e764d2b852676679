/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the program: shards over real links, a restart, SIGTERM, wrong input.
 * Argument: the path of heddle-coordinator. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <sodium.h>

#include "coordinator/records.h"
#include "proto/envelope.h"
#include "proto/link.h"

#define PATIENCE_MS 10000 /* on a busy machine with sanitizers */

static const char *program;

struct lab {
    char dir[64], config[128], log[128], endpoint[64];
    uint8_t coordinator_key[32];
    pid_t pid;
};

struct shard {
    char name[64];
    struct key_pair *keys;
    struct link *link;
    uint64_t boot_id;
    Heddle__Assignment *told;
    unsigned grants, acks;
};

/* -- the cluster --------------------------------------------------------------------------- */

static void make_keys(struct lab *l)
{
    static const char *const names[] = {"coordinator-1", "shard-1", "shard-2"};
    char error[256];
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        assert_int_equal(key_generate(l->dir, names[i], KEY_CURVE, error, sizeof error), 0);
    assert_int_equal(key_generate(l->dir, "sign", KEY_SIGN, error, sizeof error), 0);
    assert_int_equal(key_generate(l->dir, "cluster", KEY_CLUSTER, error, sizeof error), 0);
    g_autofree char *path = g_build_filename(l->dir, "coordinator-1.public", NULL);
    assert_int_equal(key_public_parse(path, l->coordinator_key, error, sizeof error), 0);
}

static void write_config(struct lab *l, const char *store)
{
    g_autofree char *text = g_strdup_printf(
        "cluster = \"test\"; name = \"coordinator-1\"; key_file = \"%s/coordinator-1.secret\";\n"
        "sign_key_file = \"%s/sign.secret\"; cluster_secret_file = \"%s/cluster.secret\";\n"
        "store_dir = \"%s/%s\"; control_endpoint = \"%s\"; log_level = \"info\";\n"
        "shards = ( { name = \"shard-1\"; public_key = \"%s/shard-1.public\"; },\n"
        "           { name = \"shard-2\"; public_key = \"%s/shard-2.public\"; } );\n",
        l->dir, l->dir, l->dir, l->dir, store, l->endpoint, l->dir, l->dir);
    assert_true(g_file_set_contents(l->config, text, -1, NULL));
}

static int make_lab(void **state)
{
    struct lab *l = g_new0(struct lab, 1);
    g_strlcpy(l->dir, "/tmp/coordinator-daemon-XXXXXX", sizeof l->dir);
    assert_non_null(g_mkdtemp(l->dir));
    snprintf(l->config, sizeof l->config, "%s/c.conf", l->dir);
    snprintf(l->log, sizeof l->log, "%s/log", l->dir);
    snprintf(l->endpoint, sizeof l->endpoint, "tcp://127.0.0.1:%u",
             20000 + randombytes_uniform(10000));
    make_keys(l);
    write_config(l, "store");
    *state = l;
    return 0;
}

static void remove_tree(const char *path)
{
    GDir *d = g_dir_open(path, 0, NULL);
    for (const char *name; d && (name = g_dir_read_name(d));) {
        g_autofree char *below = g_build_filename(path, name, NULL);
        remove_tree(below);
    }
    if (d)
        g_dir_close(d);
    g_remove(path);
}

static pid_t start_program(const struct lab *l, const char *const *args)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    int fd = open(l->log, O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(program, (char *const *)args);
    _exit(127);
}

static void start(struct lab *l)
{
    const char *args[] = {program, "-c", l->config, NULL};
    l->pid = start_program(l, args);
}

/* The exit status, 128 + the signal that ended it, or -1 when it hung and had to be killed. */
static int wait_end(pid_t pid)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        g_usleep(10000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

static int end_with(struct lab *l, int signal)
{
    kill(l->pid, signal);
    int status = wait_end(l->pid);
    l->pid = 0;
    return status;
}

static int remove_lab(void **state)
{
    struct lab *l = *state;
    if (l->pid)
        end_with(l, SIGKILL);
    remove_tree(l->dir);
    g_free(l);
    return 0;
}

static int run(struct lab *l, const char *a, const char *b, const char *c)
{
    const char *args[] = {program, a, b, c, NULL};
    g_unlink(l->log);
    return wait_end(start_program(l, args));
}

static bool logged(const struct lab *l, const char *text)
{
    g_autofree char *log = NULL;
    if (g_file_get_contents(l->log, &log, NULL, NULL) && strstr(log, text))
        return true;
    print_message("no \"%s\" in: %s\n", text, log ? log : "");
    return false;
}

/* -- shards -------------------------------------------------------------------------------- */

static struct shard *shard_open(const struct lab *l, unsigned number)
{
    struct shard *s = g_new0(struct shard, 1);
    char error[256];
    snprintf(s->name, sizeof s->name, "shard-%u", number);
    g_autofree char *path = g_strdup_printf("%s/%s.secret", l->dir, s->name);
    assert_int_equal(key_load(path, KEY_CURVE, &s->keys, error, sizeof error), 0);
    s->boot_id = 100 + number;
    struct link_config config = {
        .name = s->name, .cluster = "test", .boot_id = s->boot_id, .keys = s->keys};
    s->link = link_create(&config, error, sizeof error);
    assert_non_null(s->link);
    link_allow(s->link, "coordinator-1", l->coordinator_key);
    assert_int_equal(link_connect(s->link, LINK_CONTROL, "coordinator-1", l->coordinator_key,
                                  l->endpoint, error, sizeof error),
                     0);
    return s;
}

static void shard_close(struct shard *s)
{
    link_destroy(s->link);
    key_free(s->keys);
    heddle__assignment__free_unpacked(s->told, NULL);
    g_free(s);
}

static void say(struct shard *s, uint32_t type, ProtobufCMessage *body)
{
    struct envelope e = {.cluster = "test", .boot_id = s->boot_id, .type = type, .body = body};
    uint8_t *bytes;
    size_t len;
    g_strlcpy(e.sender, s->name, sizeof e.sender);
    assert_int_equal(envelope_encode(&e, &bytes, &len), 0);
    link_send(s->link, LINK_CONTROL, "coordinator-1", bytes, len);
    g_free(bytes);
}

static void say_hello(struct shard *s)
{
    Heddle__Hello h = HEDDLE__HELLO__INIT;
    h.port_guid = 0x1000 + s->boot_id;
    say(s, HEDDLE__MESSAGE_TYPE__MSG_HELLO, &h.base);
}

static void take(struct shard *s, const struct envelope *e)
{
    const Heddle__Assignment *a = NULL;
    if (e->type == HEDDLE__MESSAGE_TYPE__MSG_WELCOME)
        a = ((const Heddle__Welcome *)e->body)->assignment;
    else if (e->type == HEDDLE__MESSAGE_TYPE__MSG_ASSIGNMENT)
        a = (const Heddle__Assignment *)e->body;
    s->grants += e->type == HEDDLE__MESSAGE_TYPE__MSG_GRANT;
    s->acks += e->type == HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT_ACK;
    if (a == NULL)
        return;
    heddle__assignment__free_unpacked(s->told, NULL);
    s->told = record_copy(a);
}

/* One turn of a shard's loop: 40 ms, a heartbeat, what came. */
static void turn(struct shard *s)
{
    struct link_event event;
    char error[256];
    link_wait(s->link, NULL, 0, 40);
    while (link_receive(s->link, &event) == 0) {
        struct envelope e;
        if (event.kind == LINK_UP)
            say_hello(s);
        if (event.kind != LINK_MESSAGE)
            continue;
        assert_int_equal(envelope_decode(event.bytes, event.len, &e, error, sizeof error), 0);
        take(s, &e);
        envelope_clear(&e);
    }
    Heddle__Heartbeat h = HEDDLE__HEARTBEAT__INIT;
    if (s->told)
        say(s, HEDDLE__MESSAGE_TYPE__MSG_HEARTBEAT, &h.base);
}

static bool until_leads(struct shard *one, struct shard *two, const char *name)
{
    for (int i = 0; i < PATIENCE_MS / 40; i++) {
        turn(one);
        if (two)
            turn(two);
        const Heddle__Domain *d = one->told ? assignment_domain(one->told, 0) : NULL;
        if (d && strcmp(d->owner, name) == 0)
            return true;
    }
    return false;
}

/* -- tests --------------------------------------------------------------------------------- */

static void shards_join_and_outlive_it(void **state)
{
    struct lab *l = *state;
    start(l);
    struct shard *one = shard_open(l, 1);
    assert_true(until_leads(one, NULL, "shard-1"));
    for (int i = 0; i < 5; i++)
        turn(one);
    assert_true(one->grants > 0 && one->acks > 0);
    struct shard *two = shard_open(l, 2);
    for (int i = 0; i < PATIENCE_MS / 40 && two->told == NULL; i++) {
        turn(one);
        turn(two);
    }
    assert_non_null(two->told);
    assert_int_equal(two->told->members[1]->state, HEDDLE__MEMBER_STATE__MEMBER_LIVE);

    uint64_t epoch = assignment_domain(one->told, 0)->epoch, revision = one->told->revision;
    end_with(l, SIGKILL); /* the coordinator: its ledger remembers */
    start(l);
    unsigned acks = one->acks;
    for (int i = 0; i < PATIENCE_MS / 40 && one->acks < acks + 3; i++) {
        turn(one);
        turn(two);
    }
    assert_true(one->acks >= acks + 3);
    assert_true(one->told->revision >= revision);
    assert_int_equal(assignment_domain(one->told, 0)->epoch, epoch);
    assert_int_equal(end_with(l, SIGTERM), 0);
    shard_close(one);
    shard_close(two);
}

static void sigterm_in_its_first_moments(void **state)
{
    struct lab *l = *state;
    for (int i = 0; i < 10; i++) {
        start(l);
        g_usleep((gulong)i * 5000);
        kill(l->pid, SIGTERM);
        int status = wait_end(l->pid);
        l->pid = 0;
        /* before main() blocks the signal it just dies of it */
        assert_true(status == 0 || status == 128 + SIGTERM);
    }
}

static void wrong_input_is_one_clear_line(void **state)
{
    struct lab *l = *state;
    assert_int_equal(run(l, "--frobnicate", NULL, NULL), 2);
    assert_true(logged(l, "unknown option --frobnicate"));
    assert_int_equal(run(l, "-c", NULL, NULL), 2);
    assert_int_equal(run(l, NULL, NULL, NULL), 2);
    assert_true(logged(l, "-c FILE"));
    assert_int_equal(run(l, "-c", "/nowhere", NULL), 1);
    assert_true(logged(l, "/nowhere: cannot be read"));
    assert_int_equal(run(l, "-c", l->config, "--check"), 0);
    assert_int_equal(run(l, "--version", NULL, NULL), 0);
    g_autofree char *store = g_build_filename(l->dir, "store", NULL);
    assert_false(g_file_test(store, G_FILE_TEST_EXISTS)); /* --check starts nothing */

    g_autofree char *other = g_build_filename(l->dir, "other", NULL);
    g_autofree char *data = g_build_filename(other, "data.mdb", NULL);
    assert_int_equal(g_mkdir(other, 0700), 0);
    g_autofree char *noise = g_strnfill(8192, 'x');
    assert_true(g_file_set_contents(data, noise, 8192, NULL));
    write_config(l, "other");
    assert_int_equal(run(l, "-c", l->config, NULL), 1);
    assert_true(logged(l, "event=ledger_failed"));
    g_autofree char *after = NULL;
    assert_true(g_file_get_contents(data, &after, NULL, NULL));
    assert_memory_equal(after, noise, 8192); /* untouched */
    write_config(l, "store");
}

static void a_port_in_use_is_said(void **state)
{
    struct lab *l = *state;
    start(l);
    struct shard *one = shard_open(l, 1);
    assert_true(until_leads(one, NULL, "shard-1")); /* it is up */
    shard_close(one);
    assert_int_equal(run(l, "-c", l->config, NULL), 1);
    assert_true(logged(l, "event=bind_failed"));
    assert_int_equal(end_with(l, SIGTERM), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shards_join_and_outlive_it, make_lab, remove_lab),
        cmocka_unit_test_setup_teardown(sigterm_in_its_first_moments, make_lab, remove_lab),
        cmocka_unit_test_setup_teardown(wrong_input_is_one_clear_line, make_lab, remove_lab),
        cmocka_unit_test_setup_teardown(a_port_in_use_is_said, make_lab, remove_lab),
    };
    if (argc < 2 || sodium_init() < 0) {
        fprintf(stderr, "usage: %s PATH-OF-HEDDLE-COORDINATOR\n", argv[0]);
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
