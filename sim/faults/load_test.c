/* SPDX-License-Identifier: BSD-2-Clause */
/* Random faults while SMPs, pings and modelled hosts are under way: nothing of them may be left
 * over, neither packets nor places in buffers, and (under a sanitizer) no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "fabric/generate.h"
#include "sim/core/ping.h"
#include "sim/faults/private.h"
#include "sim/hosts/host.h"
#include "sim/judge/judge.h"
#include "sim/script/script.h"

/* Two leaves with three hosts each and two spines. */
#define SPEC "pgft:2:3,2:1,2:1,1"
#define MS 1000000LL
#define S 1000000000LL
#define STEPS 60000u /* of 10 ms */
enum { LEAF1, LEAF2, SPINE1, SPINE2, HOST1, NODES = 10, HOSTS = 6, FIRST_UP = 4 };

struct load {
    struct sim *s;
    GRand *random;
    uint64_t delivered, lost;
};

static bool deliver(void *user, uint32_t node, unsigned port, const struct sim_packet *p)
{
    ((struct load *)user)->delivered++;
    return true;
}

static void lost(void *user, const struct sim_packet *p)
{
    ((struct load *)user)->lost++;
}

static void create(struct load *l, uint64_t seed)
{
    char error[256];
    struct fabric *f = fabric_generate(SPEC, error, sizeof(error));
    struct sim_config config = {.seed = seed, .train_ms = 20};
    struct sim_hooks hooks = {.user = l, .deliver = deliver, .lost = lost};
    assert_non_null(f);
    l->random = g_rand_new_with_seed(6);
    l->s = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
}

static unsigned way_to(uint32_t node, unsigned host)
{
    unsigned leaf = host / 3;
    if (node == SPINE1 || node == SPINE2)
        return leaf + 1;
    return node == leaf ? host % 3 + 1 : FIRST_UP + host % 2;
}

/* A manager in a hurry: LIDs, tables and states of all that has power, by no packet. */
static void configure(struct sim *s)
{
    for (uint32_t i = 0; i < NODES; i++) {
        struct sim_node *n = &s->nodes[i];
        if (!n->powered)
            continue;
        uint8_t *info = sim_port(s, i, n->sw ? 0 : 1)->info;
        put16(info + 16, (uint16_t)(i + 1));
        put16(info + 18, HOST1 + 1);
        for (unsigned j = 1; j <= n->nports; j++)
            if (sim_port_state(&n->ports[j]) == SIM_INIT)
                n->ports[j].info[32] = (uint8_t)((n->ports[j].info[32] & 0xf0) | SIM_ACTIVE);
        for (unsigned host = 0; n->sw != NULL && host < HOSTS; host++)
            sim_lft_block(s, i, 0)[HOST1 + host + 1] = (uint8_t)way_to(i, host);
        if (n->sw != NULL)
            put16(n->sw->info + 6, NODES);
    }
}

/* Get or Set of something, by a random route or to a random LID. */
static void send_smp(struct load *l)
{
    GRand *r = l->random;
    struct sim_packet p = {.dlid = (uint16_t)g_rand_int_range(r, 1, NODES + 2)};
    bool directed = g_rand_boolean(r);
    p.mad[0] = 1;
    p.mad[1] = directed ? 0x81 : 0x01;
    p.mad[2] = 1;
    p.mad[3] = (uint8_t)g_rand_int_range(r, 1, 3);
    put16(p.mad + 16, (uint16_t)g_rand_int_range(r, 0x10, 0x21));
    put32(p.mad + 20, (uint32_t)g_rand_int_range(r, 0, 3));
    put32(p.mad + 32, 0xffffffff);
    if (directed) {
        p.dlid = SIM_LID_PERMISSIVE;
        p.mad[7] = (uint8_t)g_rand_int_range(r, 0, 6);
        for (unsigned i = 1; i <= p.mad[7]; i++)
            p.mad[128 + i] = (uint8_t)g_rand_int_range(r, 1, i == 1 ? 2 : 6);
    }
    sim_send(l->s, HOST1 + (uint32_t)g_rand_int_range(r, 0, HOSTS), 1, &p, l->s->now);
}

static void start_pings(struct sim *s)
{
    char error[256];
    for (unsigned i = 0; i < 3; i++) {
        struct sim_ping_spec spec = {.from_node = HOST1 + i,
                                     .from_port = 1,
                                     .to_node = HOST1 + 3 + i,
                                     .to_port = 1,
                                     .rate = 100};
        assert_int_not_equal(sim_ping_start(s, &spec, error, sizeof(error)), 0);
    }
}

static void assert_nothing_left(struct sim *s)
{
    assert_int_equal(sim_transit_count(s), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(s->nodes[i].vl15_used, 0);
        assert_true(s->nodes[i].powered);
        for (unsigned j = 1; j <= s->nodes[i].nports; j++) {
            struct sim_port *p = sim_port(s, i, j);
            assert_true(sim_port_state(p) >= SIM_INIT);
            assert_false(p->unplugged || p->mute || p->training);
            assert_null(p->disturbance);
        }
    }
}

static void test_load(void **state)
{
    struct load l = {0};
    struct sim_host_spec spec = {.groups = 1, .services = 1, .paths = 2, .inform = true};
    struct sim_ping_result r;
    create(&l, 5);
    sim_fault_service(l.s, SIM_NONE, 0, 200000, 4);
    sim_hosts_start(l.s, SIM_NONE, &spec);
    sim_fault_random(l.s, 4);
    start_pings(l.s);
    for (unsigned i = 0; i < STEPS; i++) {
        if (i % 8 == 0)
            configure(l.s);
        for (unsigned j = 0; j < 4; j++)
            send_smp(&l);
        sim_run(l.s, l.s->now + 10 * MS);
    }
    sim_fault_random(l.s, 0);
    sim_hosts_stop(l.s, SIM_NONE);
    sim_run(l.s, l.s->now + 10 * S);
    for (unsigned stream = 1; stream <= 3; stream++) {
        assert_true(sim_ping_stop(l.s, stream));
        assert_true(sim_ping_result(l.s, stream, &r));
        assert_true(r.answered > 0 && r.lost > 0);
    }
    sim_run(l.s, l.s->now + 100 * S);
    assert_nothing_left(l.s);
    assert_true(l.delivered > 0 && l.lost > 0);
    sim_destroy(l.s);
    g_rand_free(l.random);
}

/* The sim ends in the middle of it. */
static void test_sudden_end(void **state)
{
    struct load l = {0};
    struct sim_host_spec spec = {.paths = 1};
    struct sim_disturbance d = {.delay_ns = 50 * MS, .jitter_ns = 50 * MS, .reorder_ppm = 100000};
    create(&l, 5);
    sim_run(l.s, S);
    configure(l.s);
    sim_fault_service(l.s, SIM_NONE, 0, MS, 0);
    sim_fault_disturb(l.s, SIM_NONE, 0, &d);
    sim_hosts_start(l.s, SIM_NONE, &spec);
    sim_fault_random(l.s, 50);
    start_pings(l.s);
    sim_fault_reboot(l.s, LEAF2, S);
    sim_fault_flap(l.s, SPINE1, 1, 9, S, S);
    for (unsigned i = 0; i < 100; i++)
        send_smp(&l);
    sim_run(l.s, l.s->now + 20 * MS);
    assert_true(sim_transit_count(l.s) > 0);
    sim_destroy(l.s);
    g_rand_free(l.random);
}

/* -- a seed makes a run repeatable -- */

static const char *const chaos[] = {
    "hosts start groups=1 services=1 paths=4 inform=yes",
    "service all 20us buffer=8",
    "at 10ms random 40",
    "at 20ms disturb all loss=1% delay=10us jitter=50us duplicate=1% reorder=1%",
    "at 100ms leave 3",
    "at 300ms join",
    "every 40ms flap s2-00001[1] 2 5ms 7ms",
    "at 60ms reboot s1-00001 30ms",
    "at 900ms random off",
};

/* All that a run of two seconds left behind. The steps do not matter, only when SMPs are sent. */
static GString *transcript(uint64_t seed, unsigned steps)
{
    struct load l = {0};
    g_autofree char *log = g_strdup_printf("%s/sim-load-%d", g_get_tmp_dir(), (int)getpid());
    g_autofree char *lines = NULL;
    GString *out = g_string_new(NULL);
    create(&l, seed);
    assert_int_equal(sim_judge_log(l.s, log), 0);
    for (size_t i = 0; i < G_N_ELEMENTS(chaos); i++)
        assert_true(sim_script_line(l.s, chaos[i], 0, out));
    start_pings(l.s);
    for (unsigned i = 0; i < 200; i++) {
        int64_t end = l.s->now + 10 * MS;
        if (i % 10 == 3)
            configure(l.s);
        for (unsigned j = 0; j < 8; j++)
            send_smp(&l);
        for (unsigned step = steps; step > 0; step--)
            sim_run(l.s, end - (step - 1) * (10 * MS / steps));
    }
    sim_judge_flush(l.s);
    assert_true(g_file_get_contents(log, &lines, NULL, NULL));
    assert_non_null(strstr(lines, "accepted"));
    g_string_append(out, lines);
    sim_script_line(l.s, "ping losses", l.s->now, out);
    sim_script_line(l.s, "status", l.s->now, out);
    sim_hosts_status(l.s, HOST1, out);
    remove(log);
    sim_destroy(l.s);
    g_rand_free(l.random);
    return out;
}

static void test_repeatable(void **state)
{
    g_autofree char *a = g_string_free(transcript(11, 1), FALSE);
    g_autofree char *again = g_string_free(transcript(11, 1), FALSE);
    g_autofree char *finer = g_string_free(transcript(11, 7), FALSE);
    g_autofree char *other = g_string_free(transcript(12, 1), FALSE);
    assert_non_null(strstr(a, " lost at "));
    assert_string_equal(a, again);
    assert_string_equal(a, finer);
    assert_string_not_equal(a, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_sudden_end),
        cmocka_unit_test(test_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
