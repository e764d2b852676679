/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the timers: order, equal times, cancelling, timers that make timers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/core/timers.h"

static GArray *fired; /* of int: the numbers of the timers in the order in which they fired */
static GArray *fired_at;

static void note(struct sim *s, void *arg)
{
    int number = GPOINTER_TO_INT(arg);
    g_array_append_val(fired, number);
    g_array_append_val(fired_at, s->now);
}

static int setup(void **state)
{
    struct sim *s = g_new0(struct sim, 1);
    s->timers = sim_timers_create();
    fired = g_array_new(FALSE, FALSE, sizeof(int));
    fired_at = g_array_new(FALSE, FALSE, sizeof(int64_t));
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct sim *s = *state;
    sim_timers_destroy(s->timers);
    g_free(s);
    g_array_unref(fired);
    g_array_unref(fired_at);
    return 0;
}

static void assert_fired(unsigned count, const int *numbers)
{
    assert_int_equal(fired->len, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(g_array_index(fired, int, i), numbers[i]);
}

static void test_order(void **state)
{
    struct sim *s = *state;
    assert_true(sim_timers_next(s->timers) == SIM_NEVER);
    sim_timer_at(s, 30, note, GINT_TO_POINTER(3));
    sim_timer_at(s, 10, note, GINT_TO_POINTER(1));
    sim_timer_at(s, 20, note, GINT_TO_POINTER(2));
    sim_timer_at(s, 20, note, GINT_TO_POINTER(4));
    assert_int_equal(sim_timers_next(s->timers), 10);
    sim_timers_run(s, 20);
    assert_fired(3, (int[]){1, 2, 4});
    assert_int_equal(g_array_index(fired_at, int64_t, 0), 10);
    assert_int_equal(s->now, 20);
    assert_int_equal(sim_timers_next(s->timers), 30);
    sim_timers_run(s, 5); /* time does not go back */
    assert_int_equal(s->now, 20);
}

static void test_past(void **state)
{
    struct sim *s = *state;
    sim_timers_run(s, 100);
    sim_timer_at(s, 7, note, GINT_TO_POINTER(1));
    sim_timers_run(s, 100);
    assert_int_equal(g_array_index(fired_at, int64_t, 0), 100);
}

static void chain(struct sim *s, void *arg)
{
    int left = GPOINTER_TO_INT(arg);
    note(s, arg);
    if (left > 1)
        sim_timer_at(s, s->now + 10, chain, GINT_TO_POINTER(left - 1));
}

static void test_timers_make_timers(void **state)
{
    struct sim *s = *state;
    sim_timer_at(s, 10, chain, GINT_TO_POINTER(3));
    sim_timers_run(s, 25);
    assert_fired(2, (int[]){3, 2});
    sim_timers_run(s, 30);
    assert_fired(3, (int[]){3, 2, 1});
}

/* Random timers, a third of them cancelled, fire in the order of a stable sort. */
static void test_random(void **state)
{
    enum { COUNT = 5000 };
    struct sim *s = *state;
    struct sim_timer *timers[COUNT];
    int64_t at[COUNT];
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    for (int i = 0; i < COUNT; i++) {
        at[i] = g_rand_int_range(random, 0, 1000);
        timers[i] = sim_timer_at(s, at[i], note, GINT_TO_POINTER(i));
    }
    unsigned left = COUNT;
    for (int i = 0; i < COUNT; i++) {
        if (g_rand_int_range(random, 0, 3))
            continue;
        sim_timer_cancel(s, timers[i]);
        at[i] = SIM_NEVER;
        left--;
    }
    sim_timer_cancel(s, NULL);
    sim_timers_run(s, 1000);
    assert_int_equal(fired->len, left);
    for (unsigned i = 0; i < left; i++) {
        int number = g_array_index(fired, int, i);
        assert_true(at[number] != SIM_NEVER);
        if (i == 0)
            continue;
        int before = g_array_index(fired, int, i - 1);
        assert_true(at[before] < at[number] || (at[before] == at[number] && before < number));
    }
}

static void test_destroy_with_pending(void **state)
{
    struct sim *s = *state;
    sim_timer_at(s, 10, note, NULL);
    sim_timers_destroy(NULL);
    sim_timers_run(s, 9);
    assert_int_equal(fired->len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_past, setup, teardown),
        cmocka_unit_test_setup_teardown(test_timers_make_timers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
        cmocka_unit_test_setup_teardown(test_destroy_with_pending, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
