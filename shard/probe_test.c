/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of probes: each verdict on another shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <infiniband/mad.h>

#include "shard/probe.h"
#include "shard/test_rig.h"

#define NO_SM 0x000cu
#define PROBE_ID 99u

enum leaf { LEAF_MUTE, LEAF_UP, LEAF_DOWN };

struct suspect {      /* what the fabric answers */
    unsigned answers; /* the first so many Get(SMInfo) are answered */
    unsigned status;
    unsigned step; /* of ActCount between answers */
    enum leaf leaf;
};

static int setup(void **state)
{
    *state = rig_create();
    return 0;
}

static int teardown(void **state)
{
    rig_destroy(*state);
    return 0;
}

static void start(struct rig *r, uint64_t leaf_guid, uint32_t lid)
{
    Heddle__Probe p = HEDDLE__PROBE__INIT;
    p.id = PROBE_ID;
    p.suspect = (char *)"shard2";
    p.boot_id = 4;
    p.port_guid = RIG_HOST_C + 1;
    p.leaf_guid = leaf_guid;
    p.leaf_port = 1;
    p.lid = lid;
    probes_start(r->core, RIG_COORDINATOR, &p);
}

static const Heddle__ProbeResult *result(struct rig *r)
{
    const struct shard_action *a;
    for (unsigned k = 0; (a = rig_action(r, SHARD_ACT_SEND, 0, k)); k++)
        if (a->message.type == HEDDLE__MESSAGE_TYPE__MSG_PROBE_RESULT) {
            assert_string_equal(a->peer, RIG_COORDINATOR);
            return (const Heddle__ProbeResult *)a->message.body;
        }
    return NULL;
}

static bool is_of_leaf2(const struct shard_action *a)
{
    return mad_attribute(a->mad) == SMP_PORT_INFO && mad_modifier(a->mad) == 1;
}

/* Answers the k-th MAD that was sent, as the suspect and its leaf would. */
static void answer(struct rig *r, const struct suspect *s, guint k, unsigned *asked)
{
    uint8_t data[64] = {0};
    const struct shard_action a = g_array_index(r->actions, struct shard_action, k);
    if (a.kind != SHARD_ACT_SEND_MAD || mad_method(a.mad) != MAD_GET)
        return;
    if (mad_attribute(a.mad) == SMP_SM_INFO) {
        unsigned n = (*asked)++;
        mad_set_field(data, 0, IB_SMINFO_ACT_F, 1000 + n * s->step);
        if (n < s->answers)
            rig_answer(r, &a, s->status, data);
    } else if (is_of_leaf2(&a) && s->leaf != LEAF_MUTE) {
        rig_portinfo(data, 0);
        mad_set_field(data, 0, IB_PORT_STATE_F, s->leaf == LEAF_UP ? 4 : 1);
        rig_answer(r, &a, 0, data);
    }
}

/* Runs the probe to its end. Returns how long it took. */
static uint32_t run(struct rig *r, const struct suspect *s, Heddle__ProbeVerdict verdict)
{
    guint seen = 0;
    unsigned asked = 0;
    uint64_t began = r->now_ms;
    while (!result(r) && r->now_ms < began + 1000) {
        rig_run(r, 1);
        for (; seen < r->actions->len; seen++)
            answer(r, s, seen, &asked);
    }
    assert_non_null(result(r));
    assert_int_equal(result(r)->verdict, verdict);
    assert_int_equal(result(r)->id, PROBE_ID);
    assert_int_equal(result(r)->boot_id, 4);
    assert_string_equal(result(r)->suspect, "shard2");
    assert_true(asked <= 3);
    return (uint32_t)(r->now_ms - began);
}

static void alive(void **state)
{
    start(*state, RIG_LEAF2, 12);
    assert_true(run(*state, &(struct suspect){3, 0, 1, LEAF_UP},
                    HEDDLE__PROBE_VERDICT__VERDICT_ALIVE) < 40);
}

static void alive_with_one_loss(void **state)
{
    start(*state, RIG_LEAF2, 12);
    run(*state, &(struct suspect){2, 0, 1, LEAF_UP}, HEDDLE__PROBE_VERDICT__VERDICT_ALIVE);
}

/* A host without a process answers at once: proof, without any waiting. */
static void dead_by_status(void **state)
{
    start(*state, RIG_LEAF2, 12);
    assert_true(run(*state, &(struct suspect){3, NO_SM, 0, LEAF_UP},
                    HEDDLE__PROBE_VERDICT__VERDICT_DEAD) < 10);
}

static void dead_by_its_leaf_port(void **state)
{
    start(*state, RIG_LEAF2, 12);
    assert_true(run(*state, &(struct suspect){0, 0, 0, LEAF_DOWN},
                    HEDDLE__PROBE_VERDICT__VERDICT_DEAD) < 10);
}

static void hung(void **state)
{
    start(*state, RIG_LEAF2, 12);
    run(*state, &(struct suspect){3, 0, 0, LEAF_UP}, HEDDLE__PROBE_VERDICT__VERDICT_HUNG);
}

static void silent(void **state)
{
    start(*state, RIG_LEAF2, 12);
    assert_true(run(*state, &(struct suspect){0, 0, 0, LEAF_UP},
                    HEDDLE__PROBE_VERDICT__VERDICT_SILENT) < 150);
}

/* Silence says nothing where the leaf is silent, too. */
static void unreached(void **state)
{
    start(*state, RIG_LEAF2, 12);
    run(*state, &(struct suspect){0, 0, 0, LEAF_MUTE}, HEDDLE__PROBE_VERDICT__VERDICT_UNREACHED);
}

static void unreached_without_a_way(void **state)
{
    start(*state, 0x9999, 0);
    run(*state, &(struct suspect){3, 0, 1, LEAF_UP}, HEDDLE__PROBE_VERDICT__VERDICT_UNREACHED);
}

/* A leaf that is not known yet: by LID. */
static void alive_by_lid(void **state)
{
    struct rig *r = *state;
    start(r, 0, 12);
    rig_run(r, 1);
    const struct shard_action *a = rig_action(r, SHARD_ACT_SEND_MAD, SMP_SM_INFO, 0);
    assert_non_null(a);
    assert_int_equal(mad_class(a->mad), SMP_CLASS_LID);
    assert_int_equal(a->address.lid, 12);
    rig_clear(r);
    run(r, &(struct suspect){3, 0, 7, LEAF_MUTE}, HEDDLE__PROBE_VERDICT__VERDICT_ALIVE);
}

/* One answer is not enough for hung; what moves is alive. */
static void one_answer_is_alive(void **state)
{
    start(*state, RIG_LEAF2, 12);
    run(*state, &(struct suspect){1, 0, 0, LEAF_UP}, HEDDLE__PROBE_VERDICT__VERDICT_ALIVE);
}

static void one_probe_of_an_id_and_bounded(void **state)
{
    struct rig *r = *state;
    start(r, RIG_LEAF2, 12);
    start(r, RIG_LEAF2, 12); /* the same again */
    Heddle__Probe p = HEDDLE__PROBE__INIT;
    p.suspect = (char *)"shard2";
    for (p.id = 1000; p.id < 1100; p.id++)
        probes_start(r->core, RIG_COORDINATOR, &p);
    rig_run(r, 400);
    unsigned results = 0;
    const struct shard_action *a;
    for (unsigned k = 0; (a = rig_action(r, SHARD_ACT_SEND, 0, k)); k++)
        results += a->message.type == HEDDLE__MESSAGE_TYPE__MSG_PROBE_RESULT;
    assert_int_equal(results, 16);
    assert_true(probes_deadline(r->core) == UINT64_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(alive),
        TEST(alive_with_one_loss),
        TEST(dead_by_status),
        TEST(dead_by_its_leaf_port),
        TEST(hung),
        TEST(silent),
        TEST(unreached),
        TEST(unreached_without_a_way),
        TEST(alive_by_lid),
        TEST(one_answer_is_alive),
        TEST(one_probe_of_an_id_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
