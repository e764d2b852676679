/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of detection: suspicion, verdicts, isolation, TILT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/test_rig.h"

/* Shards with domains: a leaf-spine fabric, cut and granted, everything heard. */
static struct rig *running(unsigned shards)
{
    struct rig *r = rig_new(shards);
    rig_start(r);
    rig_join_all(r);
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    t.complete = true;
    rig_leaf_spine(&t, 16, 4, 10);
    rig_topology(r, 1, &t);
    rig_topology_clear(&t);
    rig_run(r, 300);
    for (unsigned i = 1; i <= shards; i++)
        assert_true(rig_owned(r, i) > 0);
    return r;
}

static bool suspect_in_status(struct rig *r, unsigned i)
{
    const Heddle__Status *s = rig_status(r);
    return s->assignment->members[i - 1]->state == HEDDLE__MEMBER_STATE__MEMBER_SUSPECT;
}

static void a_healthy_cluster_is_quiet(void **state)
{
    struct rig *r = running(3);
    unsigned swaps = r->swaps, grants = rig_shard(r, 1)->grant_messages;
    rig_run(r, 10000);
    assert_int_equal(r->swaps, swaps);
    assert_int_equal(rig_shard(r, 1)->grant_messages, grants);
    assert_int_equal(r->warnings, 0);
    assert_int_equal(rig_shard(r, 1)->probes, 0);
    rig_free(r);
}

static void a_suspect_that_is_heard_is_live_again(void **state)
{
    struct rig *r = running(3);
    unsigned swaps = r->swaps;
    rig_shard(r, 2)->cut = true;
    rig_run(r, 180);
    assert_true(suspect_in_status(r, 2));
    assert_true(rig_shard(r, 1)->probes > 0 && rig_shard(r, 3)->probes > 0);
    rig_shard(r, 2)->cut = false;
    rig_run(r, 50);
    assert_false(suspect_in_status(r, 2));
    rig_run(r, 3000);
    assert_int_equal(r->swaps, swaps); /* nothing moved */
    rig_free(r);
}

static void proof_from_one_peer_is_enough(void **state)
{
    struct rig *r = running(3);
    uint32_t mine = rig_owned(r, 3);
    unsigned swaps = r->swaps;
    assert_true(mine > 0);
    rig_shard(r, 3)->running = false;
    rig_shard(r, 3)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_link_down(r, 3); /* suspect at once: no need to miss three heartbeats */
    rig_run(r, 101);
    assert_int_equal(rig_state(r, 3), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    assert_int_equal(rig_owned(r, 3), 0);
    assert_int_equal(r->swaps, swaps + 1); /* all domains in one swap */
    const Heddle__Status *s = rig_status(r);
    assert_int_equal(s->n_takeovers, mine);
    assert_string_equal(s->takeovers[0]->from, "shard-3");
    assert_string_equal(s->takeovers[0]->reason, "proof");
    assert_true(s->takeovers[0]->detect_ms <= 150);
    rig_free(r);
}

static void silence_needs_two_peers(void **state)
{
    struct rig *r = running(4);
    rig_shard(r, 4)->running = false;
    rig_shard(r, 4)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_SILENT;
    rig_shard(r, 2)->cut = false;
    rig_link_down(r, 4);
    /* One answer only: the others of each round are lost. */
    rig_run(r, 50);
    g_array_set_size(rig_shard(r, 1)->pending_probes, 0);
    rig_run(r, 60);
    assert_int_equal(rig_state(r, 4), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    rig_run(r, 200); /* the next round asks others too */
    assert_int_equal(rig_state(r, 4), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    rig_free(r);
}

static void the_only_peer_decides_alone(void **state)
{
    struct rig *r = running(2);
    rig_shard(r, 2)->running = false;
    rig_shard(r, 2)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_SILENT;
    rig_link_down(r, 2);
    rig_run(r, 150);
    assert_int_equal(rig_state(r, 2), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    assert_int_equal(rig_owned(r, 2), 0);
    rig_free(r);
}

static void a_hung_shard_is_dead_and_may_return(void **state)
{
    struct rig *r = running(3);
    rig_shard(r, 1)->cut = true; /* SIGSTOP: it answers nothing of ours, ActCount stands still */
    rig_shard(r, 1)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_HUNG;
    rig_run(r, 400);
    assert_int_equal(rig_state(r, 1), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    assert_string_not_equal(rig_domain(r, 0)->owner, "shard-1");
    rig_shard(r, 1)->cut = false;
    rig_run(r, 2000);
    assert_int_equal(rig_state(r, 1), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    assert_int_equal(rig_owned(r, 1), 0); /* it takes nothing back */
    /* and knows that its domains have moved */
    assert_true(rig_shard(r, 1)->told->revision == coord_core_assignment(r->core)->revision);
    rig_free(r);
}

static void an_isolated_shard_keeps_its_domains_for_the_grace(void **state)
{
    struct rig *r = running(4);
    rig_shard(r, 2)->cut = true; /* peers see it alive in band */
    rig_run(r, 1900);
    assert_int_equal(rig_state(r, 2), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    assert_true(rig_owned(r, 2) > 0);
    rig_run(r, 300);
    assert_int_equal(rig_state(r, 2), HEDDLE__MEMBER_STATE__MEMBER_ISOLATED);
    assert_int_equal(rig_owned(r, 2), 0);
    rig_shard(r, 2)->cut = false;
    rig_run(r, 100);
    assert_int_equal(rig_state(r, 2), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    assert_int_equal(rig_owned(r, 2), 0);
    rig_free(r);
}

static void no_more_than_a_third_is_isolated(void **state)
{
    struct rig *r = running(6);
    unsigned swaps = r->swaps;
    for (unsigned i = 1; i <= 3; i++)
        rig_shard(r, i)->cut = true;
    rig_run(r, 10000);
    assert_int_equal(r->swaps, swaps); /* half of them at once: our own network */
    for (unsigned i = 1; i <= 3; i++)
        assert_true(rig_owned(r, i) > 0);
    rig_shard(r, 3)->cut = false;
    rig_run(r, 1000); /* two of six are left */
    assert_int_equal(rig_owned(r, 1) + rig_owned(r, 2), 0);
    assert_true(rig_owned(r, 3) > 0);
    rig_free(r);
}

static void isolated_shards_move_one_at_a_time(void **state)
{
    struct rig *r = running(6);
    rig_shard(r, 1)->cut = rig_shard(r, 2)->cut = true;
    for (unsigned i = 0; i < 2500; i++) {
        unsigned before = (rig_owned(r, 1) > 0) + (rig_owned(r, 2) > 0);
        rig_run(r, 1);
        unsigned after = (rig_owned(r, 1) > 0) + (rig_owned(r, 2) > 0);
        assert_true(before - after <= 1);
    }
    assert_int_equal(rig_owned(r, 1) + rig_owned(r, 2), 0);
    rig_free(r);
}

static void isolation_respects_the_limits_of_receivers(void **state)
{
    struct rig *r = rig_new(3);
    r->config.shard_max_nodes = 70; /* each has about 60 of 180 */
    rig_start(r);
    rig_join_all(r);
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    t.complete = true;
    rig_leaf_spine(&t, 16, 4, 10);
    rig_topology(r, 1, &t);
    rig_topology_clear(&t);
    rig_run(r, 300);
    rig_shard(r, 2)->cut = true;
    rig_run(r, 5000);
    assert_int_equal(rig_state(r, 2), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    assert_true(rig_owned(r, 2) > 0);
    rig_shard(r, 2)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD; /* a death does move them */
    rig_run(r, 300);
    assert_int_equal(rig_owned(r, 2), 0);
    assert_non_null(strstr(r->last_warning, "shard_over_limit"));
    assert_true(rig_has_problem(r, "shard_max_nodes"));
    rig_free(r);
}

/* A rack without power: the leaf of the suspect is gone too, so that no peer can tell. */
static void a_shard_that_nobody_reaches_moves_after_the_grace(void **state)
{
    struct rig *r = running(3);
    rig_shard(r, 2)->running = false;
    rig_shard(r, 2)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_UNREACHED;
    rig_run(r, 1900);
    assert_true(rig_owned(r, 2) > 0);
    rig_run(r, 500);
    assert_int_equal(rig_owned(r, 2), 0);
    rig_free(r);
}

static void all_silent_at_once_moves_nothing(void **state)
{
    struct rig *r = running(3);
    unsigned swaps = r->swaps;
    for (unsigned i = 1; i <= 3; i++)
        rig_shard(r, i)->cut = true;
    rig_run(r, 20000);
    for (unsigned i = 1; i <= 3; i++)
        rig_shard(r, i)->cut = false;
    rig_run(r, 2000);
    assert_int_equal(r->swaps, swaps);
    rig_free(r);
}

static void the_last_shard_keeps_its_domains(void **state)
{
    struct rig *r = running(1);
    uint64_t epoch = rig_domain(r, 1)->epoch;
    rig_shard(r, 1)->running = false;
    rig_run(r, 2500); /* it may write on until its grace ends */
    assert_int_equal(rig_state(r, 1), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    rig_shard(r, 1)->running = true; /* the same process, it was stopped */
    rig_run(r, 2000);
    assert_int_equal(rig_state(r, 1), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    assert_int_equal(rig_domain(r, 1)->epoch, epoch);
    rig_shard(r, 1)->running = false;
    rig_run(r, 1000);
    rig_reboot(r, 1); /* another process: a new epoch */
    rig_run(r, 100);
    assert_string_equal(rig_domain(r, 1)->owner, "shard-1");
    assert_int_equal(rig_domain(r, 1)->epoch, epoch + 1);
    assert_true(rig_granted(r, 1, 1));
    rig_free(r);
}

static void after_a_stall_nothing_is_decided(void **state)
{
    struct rig *r = running(3);
    unsigned swaps = r->swaps;
    rig_shard(r, 3)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_jump(r, 5000); /* we stood still: everybody looks silent */
    assert_non_null(strstr(r->last_warning, "tilt"));
    rig_run(r, 100);
    assert_int_equal(r->swaps, swaps);
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(rig_state(r, i), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    rig_jump(r, -300);
    rig_run(r, 1000);
    assert_int_equal(r->swaps, swaps);
    rig_shard(r, 3)->running = false; /* and it still sees a death */
    rig_run(r, 400);
    assert_int_equal(rig_state(r, 3), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    rig_free(r);
}

/* It would take any message of ours for contact and go on writing. */
static void a_suspect_hears_nothing_until_it_is_deposed(void **state)
{
    struct rig *r = running(6);
    rig_shard(r, 2)->mute = true;
    rig_run(r, 300);
    unsigned told = rig_shard(r, 2)->assignments;
    rig_shard(r, 3)->running = false;
    rig_shard(r, 3)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_run(r, 500);
    assert_int_equal(rig_owned(r, 3), 0);
    assert_int_equal(rig_shard(r, 2)->assignments, told);
    rig_run(r, 2000);
    assert_int_equal(rig_state(r, 2), HEDDLE__MEMBER_STATE__MEMBER_ISOLATED);
    assert_int_equal(rig_shard(r, 2)->assignments, told + 1);
    assert_true(rig_shard(r, 2)->told->revision == coord_core_assignment(r->core)->revision);
    rig_free(r);
}

static void old_probe_results_say_nothing(void **state)
{
    struct rig *r = running(3);
    Heddle__ProbeResult p = HEDDLE__PROBE_RESULT__INIT;
    p.suspect = (char *)"shard-3";
    p.boot_id = rig_shard(r, 3)->boot_id;
    p.verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    for (p.id = 0; p.id < 5; p.id++)
        rig_send(r, 1, HEDDLE__MESSAGE_TYPE__MSG_PROBE_RESULT, &p.base);
    rig_run(r, 500);
    assert_int_equal(rig_state(r, 3), HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_cluster_is_quiet),
        cmocka_unit_test(a_suspect_that_is_heard_is_live_again),
        cmocka_unit_test(proof_from_one_peer_is_enough),
        cmocka_unit_test(silence_needs_two_peers),
        cmocka_unit_test(the_only_peer_decides_alone),
        cmocka_unit_test(a_hung_shard_is_dead_and_may_return),
        cmocka_unit_test(an_isolated_shard_keeps_its_domains_for_the_grace),
        cmocka_unit_test(no_more_than_a_third_is_isolated),
        cmocka_unit_test(isolated_shards_move_one_at_a_time),
        cmocka_unit_test(isolation_respects_the_limits_of_receivers),
        cmocka_unit_test(a_shard_that_nobody_reaches_moves_after_the_grace),
        cmocka_unit_test(all_silent_at_once_moves_nothing),
        cmocka_unit_test(the_last_shard_keeps_its_domains),
        cmocka_unit_test(after_a_stall_nothing_is_decided),
        cmocka_unit_test(a_suspect_hears_nothing_until_it_is_deposed),
        cmocka_unit_test(old_probe_results_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
