/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools run each job once, whatever their size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <glib.h>

#include "base/pool.h"

#define JOBS 1000u

static void count_one(void *context, unsigned index)
{
    guint *done = context;
    g_atomic_int_inc(&done[index]);
}

static void run_and_check(struct pool *p, unsigned jobs)
{
    guint done[JOBS + 1] = {0};
    pool_run(p, jobs, count_one, done);
    for (unsigned i = 0; i <= JOBS; i++)
        assert_int_equal(done[i], i < jobs);
}

static void test_each_job_once(void **state)
{
    static const unsigned sizes[] = {1, 2, 3, 8};
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct pool *p = pool_create(sizes[i]);
        assert_int_equal(pool_threads(p), sizes[i]);
        for (unsigned round = 0; round < 200; round++)
            run_and_check(p, round % 20 == 19 ? JOBS : round % 20);
        pool_destroy(p);
    }
    struct pool *p = pool_create(0);
    assert_true(pool_threads(p) >= 1);
    run_and_check(p, JOBS);
    pool_destroy(p);
    pool_destroy(NULL);
}

static gpointer call_often(gpointer pool)
{
    for (unsigned round = 0; round < 100; round++)
        run_and_check(pool, 50);
    return NULL;
}

static void test_callers_wait_for_each_other(void **state)
{
    struct pool *p = pool_create(3);
    GThread *callers[4];
    for (unsigned i = 0; i < G_N_ELEMENTS(callers); i++)
        callers[i] = g_thread_new("caller", call_often, p);
    for (unsigned i = 0; i < G_N_ELEMENTS(callers); i++)
        g_thread_join(callers[i]);
    pool_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_job_once),
        cmocka_unit_test(test_callers_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
