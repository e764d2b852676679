/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that take time: processors, buffers, delays, disturbances, and what is lost meanwhile. */
#include "sim/core/timers.h"
#include "sim/core/transit_testing.h"

static void test_service_is_paid_at_each_node(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    for (uint32_t i = 0; i < NODES; i++)
        s->nodes[i].service_ns = 10 * US;
    /* switch 0, switch 1, the host there; and back by both switches */
    struct sim_packet p = directed(3, (uint8_t[]){1, NEXT, HOST_PORT});
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(sim_transit_count(s), 1);
    assert_int_equal(sim_next(s), 10 * US);
    sim_run(s, 50 * US - 1);
    assert_int_equal(t->arrivals->len, 0);
    sim_run(s, 50 * US);
    assert_int_equal(arrived(t, 0)->at, 50 * US);
    assert_int_equal(sim_transit_count(s), 0);
    assert_true(sim_next(s) == SIM_NEVER);
    /* by LID the switches' processors are not asked: only the destination */
    p = by_lid(0, 1, lid_of(HOST + 1));
    sim_send(s, HOST, 1, &p, 100 * US);
    sim_run(s, 1 * MS);
    assert_int_equal(arrived(t, 1)->at, 110 * US);
}

static void test_processor_is_fifo(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    s->nodes[0].service_ns = 10 * US;
    for (unsigned i = 0; i < 4; i++) {
        struct sim_packet p = directed(1, (uint8_t[]){1});
        put64(p.mad + 8, i);
        sim_send(s, i % 2 ? GUEST : HOST, 1, &p, i);
    }
    sim_run(s, 1 * MS);
    assert_int_equal(t->arrivals->len, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(get64(arrived(t, i)->p.mad + 8), i);
        assert_int_equal(arrived(t, i)->at, (i + 1) * 10 * US);
    }
}

static void test_vl15_buffer(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    s->nodes[0].service_ns = 10 * US;
    s->nodes[0].vl15_size = 3;
    struct sim_packet p = directed(1, (uint8_t[]){1});
    for (unsigned i = 0; i < 5; i++)
        sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(s->nodes[0].vl15_used, 3);
    assert_int_equal(s->drops[SIM_DROP_BUFFER], 2);
    assert_int_equal(t->lost, 2);
    assert_int_equal(counter(t, 0, HOST_PORT, SIM_CNT_VL15_DROPPED), 2);
    sim_run(s, 10 * US); /* one is done: room for one */
    sim_send(s, HOST, 1, &p, 10 * US);
    sim_send(s, HOST, 1, &p, 10 * US);
    assert_int_equal(s->drops[SIM_DROP_BUFFER], 3);
    sim_run(s, 1 * MS);
    assert_int_equal(t->arrivals->len, 4);
    assert_int_equal(s->nodes[0].vl15_used, 0);
}

static void test_power_lost_meanwhile(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    s->nodes[1].service_ns = 100 * US;
    s->nodes[1].vl15_size = 8;
    struct sim_packet p = directed(2, (uint8_t[]){1, NEXT});
    for (unsigned i = 0; i < 3; i++)
        sim_send(s, HOST, 1, &p, 0);
    sim_run(s, 150 * US); /* one is back */
    sim_transit_lose_node(s, 0);
    assert_int_equal(sim_transit_count(s), 2);
    sim_transit_lose_node(s, 1);
    assert_int_equal(s->drops[SIM_DROP_POWER], 2);
    assert_int_equal(t->lost, 2);
    assert_int_equal(s->nodes[1].vl15_used, 0);
    assert_true(s->nodes[1].busy_until <= 150 * US);
    assert_int_equal(sim_transit_count(s), 0);
    sim_run(s, 10 * MS);
    assert_int_equal(t->arrivals->len, 1);
}

static void test_link_lost_meanwhile(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_disturbance d = {.delay_ns = 100 * US};
    s->nodes[0].ports[NEXT].disturbance = &d;
    struct sim_packet p = by_lid(0, 1, lid_of(HOST + 1));
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(sim_transit_count(s), 1);
    s->nodes[0].ports[NEXT].unplugged = s->nodes[1].ports[BEFORE].unplugged = true;
    sim_link_update(s, 0, NEXT);
    sim_run(s, 1 * MS);
    assert_int_equal(s->drops[SIM_DROP_LINK_DOWN], 1);
    assert_int_equal(t->arrivals->len, 0);
    s->nodes[0].ports[NEXT].disturbance = NULL;
}

/* Numbers of 200 packets in the order of their arrival at host 1, with times. */
static GArray *send_disturbed(uint32_t seed, struct sim_disturbance d, uint64_t *lost)
{
    void *state;
    transit_testing_setup(&state);
    struct transit_testing *t = state;
    struct sim *s = t->s;
    g_rand_set_seed(s->random, seed);
    s->nodes[0].ports[NEXT].disturbance = &d;
    for (unsigned i = 0; i < 200; i++) {
        struct sim_packet p = by_lid(1, 3, lid_of(HOST + 1));
        put64(p.mad + 8, i);
        sim_send(s, HOST, 1, &p, i * 10 * US);
    }
    sim_run(s, 1000 * MS);
    assert_int_equal(sim_transit_count(s), 0);
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (unsigned i = 0; i < t->arrivals->len; i++) {
        uint64_t seen[] = {get64(arrived(t, i)->p.mad + 8), (uint64_t)arrived(t, i)->at};
        g_array_append_vals(numbers, seen, 2);
    }
    *lost = s->drops[SIM_DROP_DISTURBED];
    assert_int_equal(*lost, t->lost);
    s->nodes[0].ports[NEXT].disturbance = NULL;
    transit_testing_teardown(&state);
    return numbers;
}

static void check_repeats(struct sim_disturbance d, GArray *first)
{
    uint64_t lost;
    g_autoptr(GArray) same = send_disturbed(1, d, &lost);
    g_autoptr(GArray) other = send_disturbed(2, d, &lost);
    assert_int_equal(same->len, first->len);
    assert_memory_equal(same->data, first->data, first->len * sizeof(uint64_t));
    assert_true(other->len != first->len ||
                memcmp(other->data, first->data, first->len * sizeof(uint64_t)) != 0);
}

static unsigned count_overtaken(const GArray *numbers)
{
    unsigned n = 0;
    for (unsigned i = 2; i < numbers->len; i += 2)
        n += g_array_index(numbers, uint64_t, i) < g_array_index(numbers, uint64_t, i - 2);
    return n;
}

static void test_loss(void **state)
{
    struct sim_disturbance d = {.loss_ppm = 200000};
    uint64_t lost;
    g_autoptr(GArray) numbers = send_disturbed(1, d, &lost);
    assert_in_range(lost, 15, 75);
    assert_int_equal(numbers->len / 2 + lost, 200);
    check_repeats(d, numbers);
}

static void test_duplicate(void **state)
{
    struct sim_disturbance d = {.duplicate_ppm = 200000};
    uint64_t lost;
    g_autoptr(GArray) numbers = send_disturbed(1, d, &lost);
    assert_in_range(numbers->len / 2, 215, 275);
    check_repeats(d, numbers);
}

static void test_reorder(void **state)
{
    struct sim_disturbance d = {.reorder_ppm = 200000};
    uint64_t lost;
    g_autoptr(GArray) numbers = send_disturbed(1, d, &lost);
    assert_int_equal(numbers->len / 2, 200);
    assert_in_range(count_overtaken(numbers), 15, 75);
    check_repeats(d, numbers);
}

static void test_delay(void **state)
{
    struct sim_disturbance d = {.delay_ns = 500 * US};
    uint64_t lost;
    g_autoptr(GArray) numbers = send_disturbed(1, d, &lost);
    assert_int_equal(numbers->len / 2, 200);
    assert_int_equal(count_overtaken(numbers), 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(g_array_index(numbers, uint64_t, 2 * i + 1), (i * 10 + 500) * US);
    d.jitter_ns = 500 * US; /* 50 packets on the way at once */
    g_autoptr(GArray) shaken = send_disturbed(1, d, &lost);
    assert_int_equal(shaken->len / 2, 200);
    assert_true(count_overtaken(shaken) > 20);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t number = g_array_index(shaken, uint64_t, 2 * i);
        assert_in_range(g_array_index(shaken, uint64_t, 2 * i + 1), (number * 10 + 500) * US,
                        (number * 10 + 1000) * US);
    }
    check_repeats(d, shaken);
}

/* The last one of all has nobody to pass it. */
static void test_held_back_for_nobody(void **state)
{
    struct transit_testing *t = *state;
    struct sim_disturbance d = {.reorder_ppm = 1000000};
    t->s->nodes[0].ports[NEXT].disturbance = &d;
    struct sim_packet p = by_lid(0, 1, lid_of(HOST + 1));
    sim_send(t->s, HOST, 1, &p, 0);
    sim_run(t->s, 5 * MS);
    assert_int_equal(t->arrivals->len, 0);
    sim_run(t->s, 20 * MS);
    assert_int_equal(t->arrivals->len, 1);
    t->s->nodes[0].ports[NEXT].disturbance = NULL;
}

/* What is sent from within too many deliveries starts a little later, from the top of the stack. */
static void test_deep(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    struct sim_packet p = by_lid(0, 1, lid_of(HOST + 1));
    s->flights->depth = 100;
    sim_transit_send(s, HOST, 1, SIM_KIND_CLIENT, &p);
    sim_transit_send(s, GUEST, 1, SIM_KIND_CLIENT, &p);
    s->flights->depth = 0;
    assert_int_equal(t->arrivals->len, 0);
    assert_int_equal(sim_transit_count(s), 2);
    sim_transit_lose_node(s, GUEST);
    assert_int_equal(t->lost, 1);
    sim_run(s, 0);
    assert_int_equal(arrived(t, 0)->node, HOST);
    assert_int_equal(s->flights->depth, 0);
}

static void test_flood_is_bounded(void **state)
{
    struct transit_testing *t = *state;
    struct sim *s = t->s;
    s->nodes[0].service_ns = 1000000000;
    struct sim_packet p = directed(1, (uint8_t[]){1});
    while (!s->drops[SIM_DROP_BUFFER] && sim_transit_count(s) < 1000000)
        sim_send(s, HOST, 1, &p, 0);
    assert_in_range(sim_transit_count(s), 100000, 300000);
    /* and the rest of the fabric goes on */
    p = by_lid(0, 1, lid_of(HOST + 1));
    sim_send(s, HOST, 1, &p, 0);
    assert_int_equal(t->arrivals->len, 1);
} /* the flights end with the sim: none may be left in memory */

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(name, transit_testing_setup, transit_testing_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_service_is_paid_at_each_node),
        T(test_processor_is_fifo),
        T(test_vl15_buffer),
        T(test_power_lost_meanwhile),
        T(test_link_lost_meanwhile),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_duplicate),
        cmocka_unit_test(test_reorder),
        cmocka_unit_test(test_delay),
        T(test_held_back_for_nobody),
        T(test_deep),
        T(test_flood_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
