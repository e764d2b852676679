/* SPDX-License-Identifier: BSD-2-Clause */
/* Equal tables are kept once, and a write to one leaves the others alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <glib.h>
#include <string.h>

#include "sim/core/shared.h"

enum { SIZE = 13, TABLES = 64, KINDS = 5, STEPS = 20000 };

static void *table_of(uint8_t byte)
{
    return memset(g_malloc(SIZE), byte, SIZE);
}

static void test_equal_tables_are_one(void **state)
{
    struct sim_shared *all = sim_shared_create();
    uint8_t *a = sim_shared_keep(all, table_of(1), SIZE);
    uint8_t *b = sim_shared_keep(all, table_of(1), SIZE);
    uint8_t *c = sim_shared_keep(all, table_of(2), SIZE);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_ptr_equal(sim_shared_keep(all, a, SIZE), a); /* it is there already */
    b = sim_shared_own(all, b, SIZE);
    assert_ptr_not_equal(a, b);
    b[0] = 9;
    assert_int_equal(a[0], 1);
    assert_ptr_equal(sim_shared_own(all, b, SIZE), b); /* it is private already */
    sim_shared_free(all, a);
    sim_shared_free(all, b);
    sim_shared_free(all, NULL);
    sim_shared_destroy(all); /* c with it */
}

static void test_sizes_differ(void **state)
{
    struct sim_shared *all = sim_shared_create();
    uint8_t *a = sim_shared_keep(all, g_malloc0(8), 8),
            *b = sim_shared_keep(all, g_malloc0(16), 16);
    assert_ptr_not_equal(a, b);
    sim_shared_destroy(all);
}

/* Owners that write, keep and free at random see their own bytes always. */
static void test_random_owners(void **state)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    struct sim_shared *all = sim_shared_create();
    uint8_t *tables[TABLES] = {0}, wanted[TABLES] = {0};
    for (int step = 0; step < STEPS; step++) {
        int i = g_rand_int_range(random, 0, TABLES);
        uint8_t byte = (uint8_t)g_rand_int_range(random, 0, KINDS);
        switch (g_rand_int_range(random, 0, 4)) {
        case 0:
            sim_shared_free(all, tables[i]);
            tables[i] = NULL;
            break;
        case 1:
            if (tables[i] != NULL)
                tables[i] = sim_shared_keep(all, tables[i], SIZE);
            break;
        default:
            tables[i] = tables[i] != NULL ? sim_shared_own(all, tables[i], SIZE) : table_of(byte);
            memset(tables[i], byte, SIZE);
            wanted[i] = byte;
        }
        for (int j = 0; j < TABLES; j++)
            for (int k = 0; tables[j] != NULL && k < SIZE; k++)
                assert_int_equal(tables[j][k], wanted[j]);
    }
    for (int j = 0; j < TABLES; j++)
        sim_shared_free(all, tables[j]);
    sim_shared_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_tables_are_one),
        cmocka_unit_test(test_sizes_differ),
        cmocka_unit_test(test_random_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
