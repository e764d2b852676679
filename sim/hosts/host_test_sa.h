/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of hosts: a fabric that is configured, without a manager, and a small subnet
 * administrator on its first host that answers as it is told. */
#ifndef SIM_HOSTS_HOST_TEST_SA_H
#define SIM_HOSTS_HOST_TEST_SA_H

#include "sim/hosts/host.h"

#define MS ((int64_t)1000000)
#define SECOND (1000 * MS)

enum test_attribute { TEST_GROUP, TEST_SERVICE, TEST_INFORM, TEST_PATH, TEST_ATTRIBUTES };

struct test_request {
    int64_t at;
    struct sim_packet packet;
};

struct test_sa {
    struct sim *s;
    uint32_t node; /* where it sits: port 1 of the first host */
    bool silent;
    uint16_t status;   /* of all answers */
    bool wrong;        /* answers name another record */
    unsigned ignore;   /* so many requests more are not answered */
    unsigned per_ms;   /* requests answered in a millisecond; 0 = all at once */
    int64_t answer_at; /* the next such millisecond */
    GArray *log;       /* struct test_request, all that arrived */
    guint answered;    /* requests of the log that are done with */
    unsigned of[TEST_ATTRIBUTES];
    unsigned report_answers;
    GHashTable *mlids; /* MGID (text) -> MLID */
};

/* All ports ACTIVE, LIDs from 1 on by node and port, LFTs by shortest paths, the SM's address at
 * each port; no hosts yet. Ends the test when it cannot. */
struct test_sa *test_sa_create(const char *generator, uint64_t seed);
void test_sa_destroy(struct test_sa *sa);
/* Lets the fabric and the administrator run until this time. */
void test_sa_run(struct test_sa *sa, int64_t until);
void test_sa_send_report(struct test_sa *sa, uint32_t to_node, uint64_t tid);
/* The value of a field of the status line; fails when there is none. */
double test_status(struct sim *s, const char *field);
enum test_attribute test_attribute_of(const uint8_t *mad);

#endif
