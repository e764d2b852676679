/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults on a small fabric: each does what it says, those that overlap end one by one, and the
 * random process leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those four */
#include <cmocka.h>
#include <string.h>

#include "fabric/generate.h"
#include "sim/faults/private.h"

/* Two leaves with three hosts each and two spines, in this order of numbers. A leaf has hosts at
 * ports 1 to 3 and spines at 4 and 5. */
#define SPEC "pgft:2:3,2:1,2:1,1"
#define MS 1000000LL
#define S 1000000000LL
enum { LEAF1, LEAF2, SPINE1, SPINE2, HOST1, HOST2, HOST3, HOST4, NODES = 10 };

static struct sim *create(uint64_t seed, unsigned train_ms)
{
    char error[256];
    struct fabric *f = fabric_generate(SPEC, error, sizeof(error));
    struct sim_config config = {.seed = seed, .train_ms = train_ms};
    struct sim_hooks hooks = {0};
    assert_non_null(f);
    struct sim *s = sim_create(f, &config, &hooks, 0);
    fabric_destroy(f);
    sim_run(s, S);
    return s;
}

static int setup(void **state)
{
    *state = create(1, 0);
    return 0;
}

static int setup_slow(void **state)
{
    *state = create(1, 20);
    return 0;
}

static int teardown(void **state)
{
    sim_destroy(*state);
    return 0;
}

static unsigned port_state(struct sim *s, uint32_t node, unsigned port)
{
    return sim_port_state(sim_port(s, node, port));
}

static void assert_link(struct sim *s, uint32_t node, unsigned port, enum sim_port_state state)
{
    const struct sim_port *p = sim_port(s, node, port);
    assert_int_equal(sim_port_state(p), state);
    assert_int_not_equal(p->peer_node, SIM_NONE);
    assert_int_equal(port_state(s, p->peer_node, p->peer_port), state);
}

static void cable(struct sim *s, uint32_t node, unsigned port, bool plugged)
{
    char error[512];
    assert_true(sim_fault_cable(s, node, port, plugged, error, sizeof(error)));
}

static void test_cable(void **state)
{
    struct sim *s = *state;
    char error[512];
    assert_link(s, HOST1, 1, SIM_INIT);
    cable(s, HOST1, 1, false);
    assert_link(s, HOST1, 1, SIM_DOWN);
    cable(s, HOST1, 1, false);
    cable(s, LEAF1, 1, true); /* from the other end */
    assert_link(s, HOST1, 1, SIM_INIT);
    assert_false(sim_fault_cable(s, LEAF1, 0, true, error, sizeof(error)));
    assert_non_null(strstr(error, "has no cable"));
}

static void test_training(void **state)
{
    struct sim *s = *state;
    cable(s, LEAF1, 4, false);
    cable(s, LEAF1, 4, true);
    assert_int_equal(port_state(s, LEAF1, 4), SIM_DOWN);
    sim_run(s, s->now + 10 * MS);
    cable(s, LEAF1, 4, false); /* while it trains */
    sim_run(s, s->now + 50 * MS);
    assert_link(s, LEAF1, 4, SIM_DOWN);
    cable(s, LEAF1, 4, true);
    sim_run(s, s->now + 20 * MS);
    assert_link(s, LEAF1, 4, SIM_INIT);
}

static void test_move(void **state)
{
    struct sim *s = *state;
    char error[512];
    /* HOST1 was at LEAF1[1]; LEAF2[1] is taken until its host is moved away. */
    assert_false(sim_fault_move(s, HOST1, 1, LEAF2, 1, error, sizeof(error)));
    assert_non_null(strstr(error, "has a cable already"));
    assert_false(sim_fault_move(s, HOST1, 1, HOST1, 1, error, sizeof(error)));
    assert_false(sim_fault_move(s, HOST1, 1, LEAF2, 0, error, sizeof(error)));
    assert_link(s, HOST1, 1, SIM_INIT);
    assert_true(sim_fault_move(s, SPINE1, 1, LEAF1, 4, error, sizeof(error))); /* where it is */
    assert_link(s, SPINE1, 1, SIM_INIT);
    cable(s, HOST1, 1, false);
    sim_port(s, HOST1, 1)->peer_node = SIM_NONE; /* a free pair of ports */
    sim_port(s, HOST1, 1)->unplugged = false;
    sim_port(s, LEAF1, 1)->peer_node = SIM_NONE;
    sim_port(s, LEAF1, 1)->unplugged = false;
    assert_true(sim_fault_move(s, LEAF2, 1, HOST1, 1, error, sizeof(error)));
    assert_link(s, LEAF2, 1, SIM_INIT);
    assert_int_equal(sim_port(s, HOST1, 1)->peer_node, LEAF2);
    assert_int_equal(sim_port(s, HOST4, 1)->peer_node, SIM_NONE);
    assert_int_equal(port_state(s, HOST4, 1), SIM_DOWN);
    assert_true(sim_fault_move(s, LEAF2, 1, HOST4, 1, error, sizeof(error))); /* and back */
    assert_link(s, HOST4, 1, SIM_INIT);
    assert_int_equal(port_state(s, HOST1, 1), SIM_DOWN);
}

static void test_power(void **state)
{
    struct sim *s = *state;
    put64(sim_port(s, LEAF1, 0)->info, 0x1234);
    put16(sim_port(s, LEAF1, 0)->info + 16, 7);
    sim_lft_block(s, LEAF1, 0)[1] = 1;
    sim_count(s, LEAF1, 1, SIM_CNT_SYMBOL_ERRORS, 5);
    sim_fault_power(s, LEAF1, false);
    assert_false(sim_has_power(s, LEAF1));
    for (unsigned port = 1; port <= 5; port++)
        assert_link(s, LEAF1, port, SIM_DOWN);
    sim_fault_power(s, LEAF1, true);
    assert_true(sim_has_power(s, LEAF1));
    for (unsigned port = 1; port <= 5; port++)
        assert_link(s, LEAF1, port, SIM_INIT);
    assert_int_equal(sim_mkey(sim_port(s, LEAF1, 0)), 0);
    assert_int_equal(sim_lid(sim_port(s, LEAF1, 0)), 0);
    assert_null(s->nodes[LEAF1].sw->lft[0]);
    assert_null(sim_port(s, LEAF1, 1)->counters);
}

static void test_reboot(void **state)
{
    struct sim *s = *state;
    int64_t start = s->now;
    sim_fault_reboot(s, SPINE1, 10 * MS);
    sim_fault_reboot(s, SPINE1, 50 * MS); /* counts from the last one */
    sim_run(s, start + 49 * MS);
    assert_false(sim_has_power(s, SPINE1));
    sim_run(s, start + 50 * MS);
    assert_true(sim_has_power(s, SPINE1));
    assert_link(s, SPINE1, 1, SIM_INIT);
    sim_fault_reboot(s, SPINE1, 10 * MS);
    sim_fault_power(s, SPINE1, false); /* by hand: no timer brings it back */
    sim_run(s, start + S);
    assert_false(sim_has_power(s, SPINE1));
    sim_fault_power(s, SPINE1, true);
    assert_link(s, SPINE1, 2, SIM_INIT);
}

static void test_flap(void **state)
{
    struct sim *s = *state;
    int64_t start = s->now;
    sim_fault_flap(s, HOST2, 1, 3, 10 * MS, 5 * MS);
    for (unsigned i = 0; i < 3; i++) {
        sim_run(s, start + (15 * i + 9) * MS);
        assert_link(s, HOST2, 1, SIM_DOWN);
        sim_run(s, start + (15 * i + 14) * MS);
        assert_link(s, HOST2, 1, SIM_INIT);
    }
    sim_run(s, start + S);
    assert_link(s, HOST2, 1, SIM_INIT);
    assert_int_equal(g_hash_table_size(s->faults->flaps), 0);
    sim_fault_flap(s, HOST2, 1, 1000, 10 * MS, 5 * MS);
    sim_fault_flap(s, HOST2, 1, 0, 0, 0);
    assert_link(s, HOST2, 1, SIM_INIT);
    sim_fault_flap(s, HOST2, 1, 1000, 10 * MS, 5 * MS); /* goes on when the sim ends */
}

static void test_cut_and_heal(void **state)
{
    struct sim *s = *state;
    const uint32_t side[] = {LEAF1, HOST1, HOST2, HOST3};
    cable(s, LEAF1, 4, false); /* by hand: heal leaves it */
    cable(s, HOST4, 1, false);
    assert_int_equal(sim_fault_cut(s, side, 4), 1);
    assert_link(s, LEAF1, 5, SIM_DOWN);
    assert_link(s, LEAF1, 1, SIM_INIT);
    assert_link(s, LEAF2, 4, SIM_INIT);
    assert_int_equal(sim_fault_heal(s), 1);
    assert_link(s, LEAF1, 5, SIM_INIT);
    assert_link(s, LEAF1, 4, SIM_DOWN);
    assert_link(s, HOST4, 1, SIM_DOWN);
    assert_int_equal(sim_fault_heal(s), 0);
}

static void test_overlaps(void **state)
{
    struct sim *s = *state;
    const uint32_t side[] = {HOST1};
    sim_fault_cut(s, side, 1);
    sim_fault_flap(s, HOST1, 1, 1, 10 * MS, 0);
    sim_fault_heal(s);
    assert_link(s, HOST1, 1, SIM_DOWN); /* the flap's */
    sim_run(s, s->now + 20 * MS);
    assert_link(s, HOST1, 1, SIM_INIT);
    sim_fault_cut(s, side, 1);
    sim_fault_flap(s, HOST1, 1, 1, 10 * MS, 0);
    sim_run(s, s->now + 20 * MS);
    assert_link(s, HOST1, 1, SIM_DOWN); /* the cut's */
    cable(s, HOST1, 1, true);           /* by hand ends all */
    assert_link(s, HOST1, 1, SIM_INIT);
    sim_fault_reboot(s, HOST1, 10 * MS);
    assert_int_equal(sim_fault_leave(s, NODES), 5);
    sim_fault_join(s);
    assert_false(sim_has_power(s, HOST1)); /* the reboot's */
    sim_run(s, s->now + 20 * MS);
    assert_true(sim_has_power(s, HOST1));
    assert_link(s, HOST1, 1, SIM_INIT);
}

static void test_leave_and_join(void **state)
{
    struct sim *s = *state;
    sim_port(s, HOST2, 1)->has_sm = true;
    sim_fault_power(s, HOST3, false);
    assert_int_equal(sim_fault_leave(s, 2), 2);
    unsigned off = 0;
    for (uint32_t i = 0; i < NODES; i++)
        off += !sim_has_power(s, i);
    assert_int_equal(off, 3);
    assert_int_equal(sim_fault_leave(s, 100), 2);
    assert_true(sim_has_power(s, HOST2));
    assert_int_equal(sim_fault_join(s), 4);
    assert_false(sim_has_power(s, HOST3)); /* by hand */
    assert_int_equal(sim_fault_join(s), 0);
    sim_port(s, HOST2, 1)->has_sm = false;
}

static void test_single_nodes(void **state)
{
    struct sim *s = *state;
    uint8_t info[64];
    sim_fault_guid(s, HOST1, 0x77);
    sim_get_node_info(s, HOST1, 1, info);
    assert_int_equal(get64(info + 12), 0x77);
    sim_fault_power(s, HOST1, false);
    sim_fault_power(s, HOST1, true);
    sim_get_node_info(s, HOST1, 1, info);
    assert_int_equal(get64(info + 12), 0x77);
    sim_fault_guid(s, HOST1, 0);
    sim_get_node_info(s, HOST1, 1, info);
    assert_int_equal(get64(info + 12), s->nodes[HOST1].guid);
    sim_fault_mute(s, LEAF1, 3, true);
    assert_true(sim_port(s, LEAF1, 0)->mute);
    sim_fault_mute(s, LEAF1, 0, false);
    assert_false(sim_port(s, LEAF1, 0)->mute);
    sim_fault_service(s, SIM_NONE, FABRIC_SWITCH, 5000, 3);
    assert_int_equal(s->nodes[SPINE2].service_ns, 5000);
    assert_int_equal(s->nodes[SPINE2].vl15_size, 3);
    assert_int_equal(s->nodes[HOST1].service_ns, 0);
    sim_fault_service(s, HOST1, 0, 7, 0);
    assert_int_equal(s->nodes[HOST1].service_ns, 7);
    assert_int_equal(s->nodes[HOST2].service_ns, 0);
}

static uint64_t shown_port_guid(struct sim *s, uint32_t node, unsigned port)
{
    uint8_t info[64];
    sim_get_node_info(s, node, port, info);
    return get64(info + 20);
}

/* A duplicate has the GUIDs of the other one's ports as well, and gives them back. */
static void test_duplicate(void **state)
{
    struct sim *s = *state;
    uint64_t own = shown_port_guid(s, HOST1, 1), others = shown_port_guid(s, HOST2, 1);
    assert_true(own != others);
    sim_fault_guid(s, HOST1, s->nodes[HOST2].guid);
    assert_int_equal(shown_port_guid(s, HOST1, 1), others);
    assert_int_equal(sim_guids(s, HOST1, 1)[0], others);
    sim_fault_guid(s, HOST1, s->nodes[HOST3].guid);
    assert_int_equal(shown_port_guid(s, HOST1, 1), shown_port_guid(s, HOST3, 1));
    sim_fault_guid(s, HOST1, 0x77);
    assert_int_equal(shown_port_guid(s, HOST1, 1), own);
    sim_fault_guid(s, LEAF1, s->nodes[SPINE2].guid);
    assert_int_equal(shown_port_guid(s, LEAF1, 0), shown_port_guid(s, SPINE2, 0));
    sim_fault_guid(s, LEAF1, s->nodes[HOST2].guid); /* its ports are of another kind */
    assert_int_equal(shown_port_guid(s, LEAF1, 0), s->nodes[LEAF1].guid);
    sim_fault_guid(s, HOST1, 0);
    assert_int_equal(shown_port_guid(s, HOST1, 1), own);
    assert_int_equal(sim_guids(s, HOST1, 1)[0], own);
}

static unsigned disturbed_ports(struct sim *s)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < s->node_count; i++)
        for (unsigned j = 0; j <= s->nodes[i].nports; j++)
            n += s->nodes[i].ports[j].disturbance != NULL;
    return n;
}

static void test_disturb(void **state)
{
    struct sim *s = *state;
    struct sim_disturbance some = {.loss_ppm = 5}, none = {0};
    sim_fault_disturb(s, LEAF1, 2, &some);
    assert_int_equal(disturbed_ports(s), 1);
    assert_int_equal(sim_port(s, LEAF1, 2)->disturbance->loss_ppm, 5);
    sim_fault_disturb(s, LEAF1, 0, &some);
    assert_int_equal(disturbed_ports(s), 5);
    sim_fault_disturb(s, SIM_NONE, 0, &some);
    assert_int_equal(disturbed_ports(s), 5 + 5 + 2 + 2 + 6);
    sim_fault_disturb(s, SIM_NONE, 0, &none);
    assert_int_equal(disturbed_ports(s), 0);
}

/* -- random faults ----------------------------------------------------------------------------- */

struct damage {
    unsigned unplugged, off_hosts, off_switches, mute, disturbed;
};

static struct damage look(struct sim *s)
{
    struct damage d = {.disturbed = disturbed_ports(s)};
    for (uint32_t i = 0; i < s->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        d.off_hosts += !n->sw && !n->powered;
        d.off_switches += n->sw && !n->powered;
        for (unsigned j = 0; j <= n->nports; j++) {
            d.unplugged += n->ports[j].unplugged;
            d.mute += n->ports[j].mute;
        }
    }
    return d;
}

static void assert_whole(struct sim *s)
{
    struct damage d = look(s), none = {0};
    assert_memory_equal(&d, &none, sizeof(d));
    for (uint32_t i = 0; i < s->node_count; i++)
        for (unsigned j = 1; j <= s->nodes[i].nports; j++)
            if (sim_port(s, i, j)->peer_node != SIM_NONE)
                assert_int_equal(port_state(s, i, j), SIM_INIT);
    assert_int_equal(g_hash_table_size(s->faults->cables), 0);
    assert_int_equal(g_hash_table_size(s->faults->power), 0);
    assert_int_equal(g_hash_table_size(s->faults->mute), 0);
    assert_int_equal(g_hash_table_size(s->faults->disturbed), 0);
    assert_int_equal(s->faults->broken->len, 0);
}

static void test_random(void **state)
{
    struct sim *s = *state;
    uint64_t broken;
    unsigned pending, kinds[5] = {0};
    sim_fault_random(s, 0.5);
    for (unsigned i = 0; i < 4000; i++) {
        sim_run(s, s->now + S);
        struct damage d = look(s);
        kinds[0] += d.unplugged > 0;
        kinds[1] += d.off_hosts > 0;
        kinds[2] += d.off_switches > 0;
        kinds[3] += d.mute > 0;
        kinds[4] += d.disturbed > 0;
        sim_fault_random_counts(s, &broken, &pending);
        assert_true(pending <= NODES / 4 + 1);
    }
    for (unsigned i = 0; i < 5; i++)
        assert_true(kinds[i] > 0);
    /* Poisson, 2,000 in the mean; some find the quarter of the nodes taken or nothing whole. */
    assert_true(broken > 1000 && broken < 2300);
    sim_fault_random(s, 20);
    sim_run(s, s->now + 20 * S);
    sim_fault_random(s, 0);
    sim_run(s, s->now + S); /* links train */
    assert_whole(s);
    assert_int_equal(sim_next(s), SIM_NEVER);
}

static void trace(struct sim *s, GString *out)
{
    for (uint32_t i = 0; i < s->node_count; i++)
        for (unsigned j = 1; j <= s->nodes[i].nports; j++)
            g_string_append_c(out, (char)('0' + port_state(s, i, j)));
}

static void test_seed(void **state)
{
    GString *traces[3];
    for (unsigned i = 0; i < 3; i++) {
        struct sim *s = create(i < 2 ? 42 : 43, 10);
        traces[i] = g_string_new(NULL);
        sim_fault_random(s, 5);
        for (unsigned step = 0; step < 300; step++) {
            sim_run(s, s->now + 100 * MS * (i == 1 && step % 2 ? 2 : i == 1 ? 0 : 1));
            if (step % 2)
                trace(s, traces[i]); /* at the same times, but driven in other steps */
        }
        sim_destroy(s);
    }
    assert_string_equal(traces[0]->str, traces[1]->str);
    assert_string_not_equal(traces[0]->str, traces[2]->str);
    for (unsigned i = 0; i < 3; i++)
        g_string_free(traces[i], TRUE);
}

static void by_hand(struct sim *s, GRand *r)
{
    char error[512];
    struct sim_disturbance d = {.loss_ppm = (uint32_t)g_rand_int_range(r, 0, 2)};
    uint32_t node = (uint32_t)g_rand_int_range(r, 0, NODES);
    uint32_t other = (uint32_t)g_rand_int_range(r, 0, NODES), side[] = {node, other};
    unsigned port = (unsigned)g_rand_int_range(r, 1, s->nodes[node].nports + 1);
    unsigned to = (unsigned)g_rand_int_range(r, 1, s->nodes[other].nports + 1);
    bool on = g_rand_boolean(r);
    switch (g_rand_int_range(r, 0, 10)) {
    case 0:
        sim_fault_cable(s, node, port, on, error, sizeof(error));
        break;
    case 1:
        sim_fault_move(s, node, port, other, to, error, sizeof(error));
        break;
    case 2:
        sim_fault_power(s, node, on);
        break;
    case 3:
        sim_fault_reboot(s, node, g_rand_int_range(r, 1, 1000) * MS);
        break;
    case 4:
        sim_fault_mute(s, node, port, on);
        break;
    case 5:
        sim_fault_flap(s, node, port, to, 20 * MS, 20 * MS);
        break;
    case 6:
        sim_fault_cut(s, side, on ? 2 : 1);
        break;
    case 7:
        sim_fault_leave(s, port);
        break;
    case 8:
        sim_fault_disturb(s, on ? node : SIM_NONE, port, &d);
        break;
    default:
        sim_fault_heal(s);
        sim_fault_join(s);
    }
}

/* All kinds at once, by hand and at random; when all of them have ended, nothing is left. */
static void test_everything(void **state)
{
    struct sim *s = *state;
    const guint32 seed = 7;
    g_autoptr(GRand) r = g_rand_new_with_seed(seed);
    struct sim_disturbance none = {0};
    print_message("seed %u\n", seed);
    for (unsigned round = 0; round < 20; round++) {
        sim_fault_random(s, 10);
        for (unsigned i = 0; i < 300; i++) {
            by_hand(s, r);
            sim_run(s, s->now + g_rand_int_range(r, 0, 50) * MS);
        }
        sim_fault_random(s, 0);
        sim_fault_heal(s);
        sim_fault_join(s);
        sim_fault_disturb(s, SIM_NONE, 0, &none);
        for (uint32_t i = 0; i < NODES; i++) {
            sim_fault_power(s, i, true);
            for (unsigned j = 1; j <= s->nodes[i].nports; j++) {
                sim_fault_flap(s, i, j, 0, 0, 0);
                sim_fault_mute(s, i, j, false);
                if (sim_port(s, i, j)->peer_node != SIM_NONE)
                    cable(s, i, j, true);
            }
        }
        sim_run(s, s->now + S);
        assert_whole(s);
        assert_int_equal(sim_next(s), SIM_NEVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_training, setup_slow, teardown),
        cmocka_unit_test_setup_teardown(test_move, setup, teardown),
        cmocka_unit_test_setup_teardown(test_power, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reboot, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_and_heal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_overlaps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leave_and_join, setup, teardown),
        cmocka_unit_test_setup_teardown(test_single_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_duplicate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disturb, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
        cmocka_unit_test(test_seed),
        cmocka_unit_test_setup_teardown(test_everything, setup, teardown),
        cmocka_unit_test_setup_teardown(test_everything, setup_slow, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
