/* SPDX-License-Identifier: BSD-2-Clause */
/* The victim of kill_test: commits numbered transactions for ever and reports each on stdout.
 *
 * kill_child ledger|writer DIR: a report is the number, 8 bytes in host order, written after the
 * commit was said to be durable. Starts after the highest number that it finds. */
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/kill_records.h"
#include "store/ledger.h"

#define MAX_OUTSTANDING 16

static int report(uint64_t number)
{
    return write(STDOUT_FILENO, &number, sizeof(number)) == (ssize_t)sizeof(number) ? 0 : EPIPE;
}

static int run_ledger(const struct store_config *config)
{
    struct ledger *l;
    char error[256];
    size_t len;
    uint64_t revision, number = 0;
    int rc = ledger_open(config, &l, error, sizeof(error));
    if (rc != 0) {
        fprintf(stderr, "%s\n", error);
        return rc;
    }
    uint8_t *value = ledger_get(l, kill_keys[0], &len, &revision);
    if (value != NULL) {
        memcpy(&number, value, sizeof(number));
    }
    g_free(value);
    while (rc == 0) {
        uint8_t bytes[KILL_VALUE_BYTES] = {0};
        struct ledger_change changes[KILL_KEYS];
        number++;
        memcpy(bytes, &number, sizeof(number));
        for (size_t i = 0; i < KILL_KEYS; i++) {
            changes[i] =
                (struct ledger_change){kill_keys[i], revision, bytes, 8 + number * i % 5000};
        }
        rc = ledger_swap(l, changes, KILL_KEYS, &revision);
        rc = rc == 0 ? report(number) : rc;
    }
    ledger_close(l);
    return rc;
}

static bool note_highest(void *user, const void *key, size_t key_len, const void *value,
                         size_t value_len)
{
    *(uint64_t *)user = kill_number(key);
    return true;
}

static int report_done(struct store_writer *w, uint64_t *outstanding)
{
    uint64_t ticket;
    int error, rc = 0;
    while (rc == 0 && store_writer_done(w, &ticket, &error)) {
        (*outstanding)--;
        rc = error == 0 ? report(ticket) : error;
    }
    return rc;
}

static int run_writer(const struct store_config *config)
{
    struct store *s;
    char error[256];
    uint64_t number = 0, outstanding = 0;
    int rc = store_open(config, &s, error, sizeof(error));
    if (rc != 0) {
        fprintf(stderr, "%s\n", error);
        return rc;
    }
    store_each(s, "first", NULL, 0, note_highest, &number);
    struct store_writer *w = store_writer_create(s, MAX_OUTSTANDING);
    while (rc == 0) {
        if (outstanding < MAX_OUTSTANDING) {
            struct store_batch *b = kill_batch(++number);
            rc = store_writer_submit(w, b, number);
            outstanding++;
        } else {
            struct pollfd p = {.fd = store_writer_fd(w), .events = POLLIN};
            poll(&p, 1, -1);
        }
        rc = rc == 0 ? report_done(w, &outstanding) : rc;
    }
    store_writer_destroy(w);
    store_close(s);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    bool ledger = strcmp(argv[1], "ledger") == 0;
    struct store_config config = {argv[2], ledger ? "ledger" : "test", "c1", KILL_MAP_BYTES};
    return ledger ? run_ledger(&config) : run_writer(&config);
}
