/* SPDX-License-Identifier: BSD-2-Clause */
/* Random packets through random tables, disturbances, and power that comes and goes: nothing
 * breaks, nothing is left behind, and the same seed gives the same. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/timers.h"
#include "sim/core/transit_testing.h"
#include "sim/faults/fault.h"

enum { STEPS = 20000 };

static uint32_t seed_of_run(void)
{
    const char *text = getenv("SIM_TRANSIT_SEED");
    uint32_t seed = text ? (uint32_t)strtoul(text, NULL, 10) : g_random_int();
    printf("replay: SIM_TRANSIT_SEED=%u sim_transit_random_test\n", seed);
    return seed;
}

static uint32_t any(GRand *r, uint32_t count)
{
    return (uint32_t)g_rand_int_range(r, 0, (gint32)count);
}

static void fill(GRand *r, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)any(r, 256);
}

/* Half of them random bytes, half nearly right. */
static struct sim_packet random_packet(GRand *r)
{
    struct sim_packet p = {0};
    if (any(r, 2)) {
        fill(r, p.mad, sizeof p.mad);
        p.dlid = (uint16_t)any(r, 65536);
        p.dqp = any(r, 3);
        p.sqp = any(r, 3);
        p.sl = (uint8_t)any(r, 256);
        p.pkey = (uint16_t)(any(r, 2) ? any(r, 65536) : 0);
        p.qkey = any(r, 4) ? 0 : g_rand_int(r);
    } else if (any(r, 2)) {
        uint8_t ports[63];
        for (unsigned i = 0; i < 63; i++)
            ports[i] = (uint8_t)(i ? 1 + any(r, 5) : 1);
        p = directed(any(r, 12), ports);
        if (any(r, 4) == 0)
            put16(p.mad + 34, (uint16_t)any(r, 12));
        if (any(r, 4) == 0) {
            put16(p.mad + 32, (uint16_t)any(r, 12));
            p.dlid = (uint16_t)any(r, 12);
        }
    } else {
        static const uint8_t classes[] = {1, 3, 4, 0x32};
        p = by_lid(any(r, 2), classes[any(r, 4)], any(r, 3) ? 1 + any(r, 10) : MLID);
    }
    if (any(r, 3) == 0)
        p.mad[3] = (uint8_t)any(r, 256);
    if (any(r, 3) == 0)
        put16(p.mad + 16, (uint16_t)any(r, 0x40));
    if (any(r, 8) == 0)
        fill(r, p.mad + any(r, 128), 128);
    return p;
}

static void random_disturbance(GRand *r, struct sim *s)
{
    struct sim_disturbance d = {.loss_ppm = any(r, 200000),
                                .duplicate_ppm = any(r, 200000),
                                .reorder_ppm = any(r, 200000),
                                .delay_ns = any(r, 100 * US),
                                .jitter_ns = any(r, 100 * US)};
    if (any(r, 2))
        memset(&d, 0, sizeof d);
    uint32_t node = any(r, NODES);
    sim_fault_disturb(s, node, 1 + any(r, s->nodes[node].nports), &d);
}

static void random_change(GRand *r, struct sim *s)
{
    uint32_t node = any(r, NODES), sw = any(r, SWITCHES);
    switch (any(r, 10)) {
    case 0:
        sim_fault_power(s, node, any(r, 3) > 0);
        break;
    case 1:
        random_disturbance(r, s);
        break;
    case 2:
        s->nodes[node].service_ns = any(r, 2) ? any(r, 50 * US) : 0;
        s->nodes[node].vl15_size = any(r, 2) ? any(r, 4) : 0;
        break;
    case 3:
        set_members(s, sw, (uint16_t)any(r, 65536));
        break;
    case 4:
        sim_sl2vl(s, node, 1 + any(r, s->nodes[node].nports), 1)[any(r, 8)] = (uint8_t)any(r, 256);
        break;
    case 5:
        sim_pkeys(s, node, node < SWITCHES ? any(r, 5) : 1)[0] = (uint16_t)any(r, 65536);
        break;
    case 6:
        s->nodes[sw].ports[1 + any(r, 4)].info[43] ^= (uint8_t)(4 << any(r, 2));
        break;
    case 7:
        for (unsigned i = 0; i < NODES; i++)
            if (!s->nodes[i].powered)
                sim_fault_power(s, i, true);
        configure(s);
        break;
    default:
        set_entry(s, sw, any(r, 64), any(r, 256));
        break;
    }
}

/* Returns the stream if each of its packets must have an end: a group may have no members. */
static unsigned random_ping(GRand *r, struct sim *s)
{
    char error[128];
    struct sim_ping_spec spec = {.from_node = HOST + any(r, 5),
                                 .to_node = HOST + any(r, 5),
                                 .from_port = 1,
                                 .to_port = 1,
                                 .mlid = any(r, 4) ? 0 : MLID,
                                 .rate = 1 + any(r, 100000),
                                 .count = 1 + any(r, 100)};
    unsigned stream = sim_ping_start(s, &spec, error, sizeof error);
    assert_true(stream > 0);
    return spec.mlid ? 0 : stream;
}

static void check_ended(struct sim *s, const GArray *streams)
{
    for (uint32_t i = 0; i < NODES; i++)
        s->nodes[i].service_ns = 0;
    sim_run(s, s->now + 20ll * 1000 * MS);
    for (unsigned i = 0; i < streams->len; i++) {
        struct sim_ping_result r;
        unsigned stream = g_array_index(streams, unsigned, i);
        if (stream && sim_ping_result(s, stream, &r) && r.answered + r.lost != r.sent)
            fail_msg("stream %u: %u sent, %u answered, %u lost", stream, (unsigned)r.sent,
                     (unsigned)r.answered, (unsigned)r.lost);
    }
}

/* A digest of all that came out. */
static uint32_t play(uint32_t seed)
{
    void *state;
    transit_testing_setup(&state);
    struct transit_testing *t = state;
    struct sim *s = t->s;
    GRand *r = g_rand_new_with_seed(seed);
    GArray *streams = g_array_new(FALSE, FALSE, sizeof(unsigned));
    uint32_t digest = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        int64_t now = s->now + any(r, 20 * US);
        uint32_t node = any(r, NODES);
        struct sim_packet p = random_packet(r);
        sim_send(s, node, node < SWITCHES ? 0 : 1, &p, now);
        if (any(r, 10) == 0)
            random_change(r, s);
        if (any(r, 200) == 0) {
            unsigned stream = random_ping(r, s);
            g_array_append_val(streams, stream);
        }
        digest = digest * 31 + t->lost * 7 + t->arrivals->len;
        if (t->arrivals->len)
            digest += arrived(t, 0)->p.mad[any(r, 256)];
        g_array_set_size(t->arrivals, 0);
    }
    check_ended(s, streams);
    g_array_unref(streams);
    for (unsigned i = 0; i < SIM_DROP_COUNT; i++)
        digest = digest * 31 + (uint32_t)s->drops[i];
    g_rand_free(r);
    transit_testing_teardown(&state);
    return digest;
}

static void test_random(void **state)
{
    (void)state;
    uint32_t seed = seed_of_run();
    assert_int_equal(play(seed), play(seed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
