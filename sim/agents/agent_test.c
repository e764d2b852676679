/* SPDX-License-Identifier: BSD-2-Clause */
/* What the agents take, refuse and leave to processes; and MADs of random bytes. */
#include "sim/agents/agent_testing.h"

#include <glib/gstdio.h>

#include "sim/judge/judge.h"

static void test_versions_and_methods(void **state)
{
    struct agent_testing *t = *state;
    for (unsigned at = 0; at <= 2; at += 2) {
        agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
        t->p.mad[at] = 2;
        agent_testing_arrive(t, CA, 1);
        assert_int_equal(agent_testing_status(t), SIM_STATUS_BAD_VERSION);
    }
    static const uint8_t methods[] = {0, 3, 4, 6, 8, 0x15, 0x7f};
    for (size_t i = 0; i < sizeof methods; i++) {
        agent_testing_smp(t, methods[i], SIM_ATTR_NODE_INFO, 0, 0, NULL);
        agent_testing_arrive(t, CA, 1);
        assert_int_equal(agent_testing_status(t), SIM_STATUS_BAD_METHOD);
    }
    static const uint16_t attributes[] = {0, 1, 0x13, 0x1a, 0x1c, 0x30, 0x31, 0xff00};
    for (size_t i = 0; i < G_N_ELEMENTS(attributes); i++) {
        assert_int_equal(agent_testing_get(t, SW, 0, attributes[i], 0), SIM_STATUS_BAD_ATTRIBUTE);
        assert_int_equal(agent_testing_set(t, SW, 0, attributes[i], 0, NULL),
                         SIM_STATUS_BAD_ATTRIBUTE);
    }
}

static void test_answers(void **state)
{
    struct agent_testing *t = *state;
    agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    put64(t->p.mad + 8, 0x1122334455667788);
    struct sim_packet before = t->p;
    agent_testing_arrive(t, CA, 1);
    assert_int_equal(agent_testing_status(t), 0);
    /* only method, status and data may differ */
    before.mad[SIM_MAD_METHOD] = SIM_METHOD_GET_RESP;
    memcpy(before.mad + SIM_SMP_DATA, t->p.mad + SIM_SMP_DATA, 64);
    assert_memory_equal(before.mad, t->p.mad, sizeof before.mad);
    /* directed: the D bit beside the status */
    agent_testing_smp(t, SIM_METHOD_SET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    t->p.mad[SIM_MAD_CLASS] = SIM_CLASS_SMP_DIRECTED;
    agent_testing_arrive(t, CA, 1);
    assert_int_equal(agent_testing_status(t), 0x8000 | SIM_STATUS_BAD_ATTRIBUTE);
}

static void forwarded(struct agent_testing *t, uint32_t node, unsigned port)
{
    struct sim_packet before = t->p;
    assert_int_equal(agent_testing_arrive(t, node, port), SIM_FORWARD);
    assert_memory_equal(&before, &t->p, sizeof before);
}

static void test_left_to_processes(void **state)
{
    struct agent_testing *t = *state;
    agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_SM_INFO, 0, 0, NULL);
    forwarded(t, CA, 1);
    agent_testing_smp(t, SIM_METHOD_SET, SIM_ATTR_SM_INFO, 2, 0, NULL);
    forwarded(t, SW, 0);
    agent_testing_smp(t, SIM_METHOD_TRAP, 2, 0, 0, NULL);
    forwarded(t, CA, 1);
    agent_testing_smp(t, SIM_METHOD_GET_RESP, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    forwarded(t, CA, 1);
    agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    t->p.mad[SIM_MAD_CLASS] = SIM_CLASS_SMP_DIRECTED;
    t->p.mad[SIM_MAD_STATUS] = 0x80; /* on its way back */
    forwarded(t, CA, 1);
    /* subnet administration, and SMPs on another QP than 0 */
    agent_testing_smp(t, SIM_METHOD_GET, 0x35, 0, 0, NULL);
    t->p.mad[SIM_MAD_CLASS] = 3;
    t->p.dqp = 1;
    forwarded(t, CA, 1);
    agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    t->p.dqp = 1;
    forwarded(t, CA, 1);
    agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    t->p.mad[SIM_MAD_CLASS] = SIM_CLASS_PERF;
    forwarded(t, CA, 1);
    assert_int_equal(t->lost, 0);
}

static void test_mute(void **state)
{
    struct agent_testing *t = *state;
    sim_port(t->s, CA, 1)->mute = true;
    agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    assert_int_equal(agent_testing_arrive(t, CA, 1), SIM_SILENCE);
    assert_int_equal(t->s->drops[SIM_DROP_MUTE], 1);
    assert_int_equal(t->lost, 1);
    assert_int_equal(agent_testing_get(t, CA, 2, SIM_ATTR_NODE_INFO, 0), 0);
    sim_port(t->s, SW, 0)->mute = true; /* a switch has one agent */
    uint8_t block[64] = {1};
    agent_testing_smp(t, SIM_METHOD_SET, SIM_ATTR_LFT, 0, 0, block);
    assert_int_equal(agent_testing_arrive(t, SW, 3), SIM_SILENCE);
    assert_null(t->s->nodes[SW].sw->lft[0]);
    t->p.mad[SIM_MAD_CLASS] = SIM_CLASS_PERF;
    t->p.dqp = 1;
    assert_int_equal(agent_testing_arrive(t, SW, 3), SIM_SILENCE);
    agent_testing_smp(t, SIM_METHOD_TRAP_REPRESS, SIM_ATTR_NOTICE, 0, 0, NULL);
    unsigned lost = t->lost;
    assert_int_equal(agent_testing_arrive(t, SW, 3), SIM_SILENCE);
    assert_int_equal(t->lost, lost); /* nobody waits for an answer to it */
    assert_int_equal(t->s->drops[SIM_DROP_MUTE], 4);
}

static void test_no_such_port(void **state)
{
    struct agent_testing *t = *state;
    agent_testing_smp(t, SIM_METHOD_GET, SIM_ATTR_NODE_INFO, 0, 0, NULL);
    assert_int_equal(agent_testing_arrive(t, CA, 0), SIM_SILENCE);
    assert_int_equal(agent_testing_arrive(t, CA, 3), SIM_SILENCE);
    assert_int_equal(agent_testing_arrive(t, SW, 255), SIM_SILENCE);
    assert_int_equal(t->s->drops[SIM_DROP_MALFORMED], 3);
}

/* What the judge is told is read in its own log. */
static void test_judged(void **state)
{
    struct agent_testing *t = *state;
    g_autofree char *dir = g_dir_make_tmp("sim-agent-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "log", NULL);
    assert_int_equal(sim_judge_log(t->s, path), 0);
    uint8_t block[64] = {[5] = 3, [63] = 255};
    agent_testing_set(t, SW, 0, SIM_ATTR_LFT, 2, block); /* 63 entries were 255 */
    agent_testing_set(t, SW, 0, SIM_ATTR_LFT, 999, block);
    put64(sim_port(t->s, SW, 0)->info, 9);
    agent_testing_smp(t, SIM_METHOD_SET, SIM_ATTR_LFT, 2, 8, block);
    agent_testing_arrive(t, SW, 0);
    agent_testing_smp(t, SIM_METHOD_TRAP_REPRESS, SIM_ATTR_NOTICE, 0, 9, NULL);
    agent_testing_arrive(t, SW, 0);
    agent_testing_get(t, SW, 0, SIM_ATTR_LFT, 2); /* Gets are not judged */
    sim_port(t->s, CA2, 1)->mute = true;
    agent_testing_smp(t, SIM_METHOD_SET, SIM_ATTR_PORT_INFO, 1, 0, (uint8_t[64]){[17] = 77});
    agent_testing_arrive(t, CA2, 1);
    assert_int_equal(sim_judge_log(t->s, NULL), 0);
    g_autofree char *text = NULL;
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_unlink(path);
    g_rmdir(dir);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    assert_int_equal(g_strv_length(lines), 6);
    static const char *const want[][2] = {{" set accepted ok ", " changed=63"},
                                          {" set refused status ", " status=001c"},
                                          {" set refused mkey ", " key=0000000000000008"},
                                          {" repress accepted ok ", " key=0000000000000009"},
                                          {" set refused mute ", " lid=77"}};
    for (size_t i = 0; i < G_N_ELEMENTS(want); i++) {
        assert_non_null(strstr(lines[i], want[i][0]));
        assert_non_null(strstr(lines[i], want[i][1]));
    }
}

/* One bit or byte of a sensible SMP is damaged, or all of it is random: nothing may break. */
static void random_packet(GRand *r, struct agent_testing *t)
{
    static const uint16_t attributes[] = {0x02, 0x10, 0x11, 0x12, 0x14, 0x15,  0x16,
                                          0x17, 0x18, 0x19, 0x1b, 0x20, 0xff90};
    static const uint8_t methods[] = {1, 2, 2, 2, 7};
    uint8_t block[64];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)(g_rand_boolean(r) ? g_rand_int(r) : g_rand_int(r) % 6);
    uint32_t modifier = g_rand_int(r);
    if (g_rand_boolean(r))
        modifier &= (uint32_t)g_rand_int_range(r, 0, 32) << (8 * g_rand_int_range(r, 0, 4));
    uint64_t key = g_rand_boolean(r) ? get64(block) : 0;
    agent_testing_smp(t, methods[g_rand_int_range(r, 0, G_N_ELEMENTS(methods))],
                      attributes[g_rand_int_range(r, 0, G_N_ELEMENTS(attributes))], modifier, key,
                      block);
    t->p.dqp = (uint32_t)(g_rand_int_range(r, 0, 5) == 0);
    for (int damage = g_rand_int_range(r, 0, 3); damage > 1; damage--)
        t->p.mad[g_rand_int_range(r, 0, 64)] = (uint8_t)g_rand_int(r);
    if (t->p.dqp)
        t->p.mad[SIM_MAD_CLASS] = SIM_CLASS_PERF;
    if (g_rand_int_range(r, 0, 20) == 0)
        for (size_t i = 0; i < sizeof t->p.mad; i++)
            t->p.mad[i] = (uint8_t)g_rand_int(r);
}

static void test_random_mads(void **state)
{
    struct agent_testing *t = *state;
    const char *given = g_getenv("SIM_AGENT_SEED");
    guint32 seed = given ? (guint32)g_ascii_strtoull(given, NULL, 10) : g_random_int();
    print_message("replay: SIM_AGENT_SEED=%u sim_agent_test\n", seed);
    GRand *r = g_rand_new_with_seed(seed);
    for (unsigned i = 0; i < 200000; i++) {
        random_packet(r, t);
        uint32_t node = (uint32_t)g_rand_int_range(r, 0, (gint32)t->s->node_count);
        unsigned port = (unsigned)g_rand_int_range(r, 0, t->s->nodes[node].nports + 2);
        struct sim_packet before = t->p;
        enum sim_verdict v = agent_testing_arrive(t, node, port);
        if (v == SIM_REPLY)
            assert_int_equal(t->p.mad[SIM_MAD_METHOD], SIM_METHOD_GET_RESP);
        else
            assert_memory_equal(&before, &t->p, sizeof before);
        if (i % 1000 == 0) {
            sim_node_reset(t->s, node);
            for (uint32_t n = 0; n < t->s->node_count; n++)
                for (unsigned p = 0; p <= t->s->nodes[n].nports; p++)
                    put64(sim_port(t->s, n, p)->info, 0); /* a key that was set by chance */
        }
    }
    g_rand_free(r);
}

#define test(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, agent_testing_setup, agent_testing_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_versions_and_methods), test(test_answers),
        test(test_left_to_processes),    test(test_mute),
        test(test_no_such_port),         test(test_judged),
        test(test_random_mads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
