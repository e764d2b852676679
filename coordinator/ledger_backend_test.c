/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the embedded ledger as a backend: swaps, revisions, what a second process finds. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <glib/gstdio.h>

#include "coordinator/ledger_backend.h"
#include "coordinator/records.h"

static struct ledger_backend *open_in(const char *dir)
{
    struct ledger_backend *b = NULL;
    char error[256] = "";
    if (ledger_backend_lmdb(dir, "test", &b, error, sizeof error))
        fail_msg("%s", error);
    return b;
}

static void wait_done(struct ledger_backend *b, uint64_t ticket, int wanted, uint64_t *revision)
{
    uint64_t done = 0;
    int error = -1;
    struct pollfd p = {.fd = b->class->fd(b), .events = POLLIN};
    while (!b->class->done(b, &done, &error, revision))
        assert_int_equal(poll(&p, 1, 10000), 1);
    assert_int_equal(done, ticket);
    assert_int_equal(error, wanted);
}

static void remove_dir(const char *dir)
{
    GDir *d = g_dir_open(dir, 0, NULL);
    for (const char *name; (name = g_dir_read_name(d));) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_unlink(path);
    }
    g_dir_close(d);
    g_rmdir(dir);
}

static void swaps_are_durable(void **state)
{
    char dir[] = "/tmp/coordinator-ledger-XXXXXX", error[256];
    assert_non_null(g_mkdtemp(dir));
    struct ledger_backend *b = open_in(dir);
    Heddle__Assignment *a = NULL;
    Heddle__LidBackup *lids = NULL;
    uint64_t revision = 99, first, second, third, incarnation = b->class->incarnation(b);
    assert_true(incarnation != 0);
    assert_int_equal(b->class->read(b, &a, &lids, &revision, error, sizeof error), 0);
    assert_null(a);
    assert_null(lids);
    assert_int_equal(revision, 0);

    Heddle__Assignment value = HEDDLE__ASSIGNMENT__INIT;
    Heddle__FoundLid found = HEDDLE__FOUND_LID__INIT, *list[] = {&found};
    Heddle__LidBackup backup = {PROTOBUF_C_MESSAGE_INIT(&heddle__lid_backup__descriptor), 1, list};
    value.incarnation = 5;
    found.lid = 7;
    b->class->submit(b, &value, NULL, 0, 1);
    wait_done(b, 1, 0, &first);
    b->class->submit(b, &value, &backup, first, 2);
    wait_done(b, 2, 0, &second);
    b->class->submit(b, &value, NULL, second, 3); /* the LIDs keep their revision */
    wait_done(b, 3, 0, &third);
    found.lid = 8;
    b->class->submit(b, &value, &backup, third, 4);
    wait_done(b, 4, 0, &third);
    assert_true(first < second && second < third);
    value.incarnation = 6;
    b->class->submit(b, &value, NULL, second, 5); /* not the present one */
    wait_done(b, 5, EAGAIN, &revision);
    b->class->close(b);

    b = open_in(dir);
    assert_true(b->class->incarnation(b) == incarnation);
    assert_int_equal(b->class->read(b, &a, &lids, &revision, error, sizeof error), 0);
    assert_true(revision == third);
    assert_true(a->incarnation == 5);
    assert_int_equal(lids->lids[0]->lid, 8);
    found.lid = 9;
    b->class->submit(b, &value, &backup, revision, 6); /* finished before close returns */
    b->class->close(b);
    heddle__assignment__free_unpacked(a, NULL);
    heddle__lid_backup__free_unpacked(lids, NULL);

    b = open_in(dir);
    assert_int_equal(b->class->read(b, &a, &lids, &revision, error, sizeof error), 0);
    assert_true(a->incarnation == 6);
    assert_int_equal(lids->lids[0]->lid, 9);
    heddle__assignment__free_unpacked(a, NULL);
    heddle__lid_backup__free_unpacked(lids, NULL);
    b->class->close(b);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(swaps_are_durable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
