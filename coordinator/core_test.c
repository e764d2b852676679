/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of joining, refusal, epochs, grants, the ledger and the status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/records.h"
#include "coordinator/test_rig.h"

#define DIGEST_1 "one digest of thirty-two letters"
#define DIGEST_2 "two digest of thirty-two letters"

static struct rig *started(unsigned shards)
{
    struct rig *r = rig_new(shards);
    rig_start(r);
    return r;
}

static void explore(struct rig *r, unsigned from, unsigned leaves, unsigned spines)
{
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    t.complete = true;
    rig_leaf_spine(&t, leaves, spines, 10);
    rig_topology(r, from, &t);
    rig_topology_clear(&t);
}

static struct rig *running(unsigned shards)
{
    struct rig *r = started(shards);
    rig_join_all(r);
    explore(r, 1, 16, 4);
    rig_run(r, 300);
    return r;
}

/* -- joining --------------------------------------------------------------------------------- */

static void a_shard_joins(void **state)
{
    struct rig *r = started(3);
    rig_shard(r, 2)->leaf_guid = 0x55;
    rig_hello(r, 2);
    const struct rig_shard *s = rig_shard(r, 2);
    assert_int_equal(s->welcomes, 1);
    assert_non_null(s->told);
    assert_true(s->told->auto_partition);
    assert_true(s->told->incarnation == r->config.incarnation);
    assert_int_equal(s->told->n_members, 3);
    const Heddle__Member *m = assignment_member(s->told, "shard-2");
    assert_int_equal(m->state, HEDDLE__MEMBER_STATE__MEMBER_LIVE);
    assert_true(m->boot_id == s->boot_id && m->leaf_guid == 0x55 && m->lid >= 64);
    assert_true(rig_granted(r, 2, 0)); /* the first leads */
    assert_int_equal(rig_state(r, 1), HEDDLE__MEMBER_STATE__MEMBER_ENROLLED);
    rig_hello(r, 2); /* again: nothing changes, but it is welcomed */
    assert_int_equal(s->welcomes, 2);
    rig_free(r);
}

static void nothing_is_said_before_it_is_durable(void **state)
{
    struct rig *r = started(2);
    r->hold_swaps = true;
    rig_hello(r, 1);
    rig_run(r, 200);
    assert_int_equal(rig_shard(r, 1)->welcomes, 0);
    assert_int_equal(rig_shard(r, 1)->grant_messages, 0);
    r->hold_swaps = false;
    rig_hello(r, 1); /* any step: the rig answers the swap */
    assert_int_equal(rig_shard(r, 1)->welcomes, 1);
    assert_true(rig_granted(r, 1, 0));
    rig_free(r);
}

static void a_failing_disk_loses_no_decision(void **state)
{
    struct rig *r = running(3);
    r->swap_error = EIO;
    rig_shard(r, 3)->running = false;
    rig_shard(r, 3)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_run(r, 3000);
    assert_int_equal(rig_state(r, 3), HEDDLE__MEMBER_STATE__MEMBER_LIVE); /* not durable */
    assert_true(rig_has_problem(r, "ledger cannot be written"));
    assert_int_equal(rig_status(r)->n_takeovers, 0);
    r->swap_error = 0;
    rig_run(r, 1000);
    assert_int_equal(rig_state(r, 3), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    assert_int_equal(rig_owned(r, 3), 0);
    assert_true(rig_status(r)->n_takeovers > 0);
    assert_false(rig_has_problem(r, "ledger cannot be written"));
    rig_free(r);
}

static void another_writer_makes_it_read_again(void **state)
{
    struct rig *r = running(3);
    r->swap_error = EAGAIN;
    rig_shard(r, 3)->running = false;
    rig_shard(r, 3)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_run(r, 1000);
    unsigned swaps = r->swaps;
    r->swap_error = 0;
    rig_run(r, 1000);
    assert_int_equal(r->swaps, swaps); /* it waits for the shell to read */
    rig_reload(r);
    rig_run(r, 500); /* still silent: decided again on what the ledger holds */
    assert_int_equal(rig_state(r, 3), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    rig_free(r);
}

static void wrong_shards_are_refused(void **state)
{
    struct rig *r = started(3);
    rig_hello(r, 1);
    rig_shard(r, 2)->port_guid = rig_shard(r, 1)->port_guid;
    rig_hello(r, 2); /* two shards on one port */
    assert_non_null(strstr(rig_shard(r, 2)->refused, "used by shard shard-1"));
    assert_int_equal(rig_shard(r, 2)->welcomes, 0);
    rig_shard(r, 3)->port_guid = 0;
    rig_hello(r, 3);
    assert_non_null(strstr(rig_shard(r, 3)->refused, "port GUID"));
    rig_shard(r, 3)->port_guid = 0x1003;
    g_strlcpy(r->config.cluster, "other", sizeof r->config.cluster); /* what the rig sends */
    rig_hello(r, 3);
    assert_non_null(strstr(rig_shard(r, 3)->refused, "cluster test"));
    assert_int_equal(rig_shard(r, 3)->welcomes, 0);
    rig_free(r);
}

static void a_replaced_process_stays_out(void **state)
{
    struct rig *r = running(3);
    struct rig_shard *s = rig_shard(r, 2);
    uint64_t first = s->boot_id;
    rig_reboot(r, 2);
    assert_int_equal(rig_owned(r, 2), 0); /* its domains went to the others */
    unsigned acks = s->acks, welcomes = s->welcomes;
    s->boot_id = first; /* the old one still runs and asks to join */
    rig_hello(r, 2);
    rig_run(r, 100); /* nor do its heartbeats count */
    assert_int_equal(s->acks, acks);
    assert_int_equal(s->welcomes, welcomes);
    rig_run(r, 3000); /* the new one is silent: the old one comes back */
    rig_hello(r, 2);
    rig_run(r, 100);
    assert_int_equal(s->welcomes, welcomes + 1);
    assert_true(s->acks > acks);
    assert_string_equal(s->refused, "");
    rig_free(r);
}

/* A HELLO of another process with the shard's key, while the shard lives. */
static void clone_hello(struct rig *r, unsigned i)
{
    struct rig_shard *s = rig_shard(r, i);
    s->boot_id += 5000;
    rig_hello(r, i);
    s->boot_id -= 5000;
}

static void a_clone_takes_nothing_from_a_live_shard(void **state)
{
    struct rig *r = running(3);
    struct rig_shard *s = rig_shard(r, 3);
    unsigned welcomes = s->welcomes, owned = rig_owned(r, 3), swaps = r->swaps;
    unsigned warnings = r->warnings;
    clone_hello(r, 3);
    assert_int_equal(r->warnings, warnings); /* it may yet be a restart */
    assert_false(rig_has_problem(r, "two processes"));
    for (unsigned k = 0; k < 12; k++) {
        rig_run(r, 1000);
        clone_hello(r, 3);
        assert_true(rig_has_problem(r, "two processes use the name shard-3"));
    }
    assert_int_equal(r->warnings - warnings, 2); /* one in ten seconds */
    assert_int_equal(s->welcomes, welcomes);
    assert_string_equal(s->refused, "");
    assert_int_equal(rig_owned(r, 3), owned);
    assert_int_equal(r->swaps, swaps);
    rig_run(r, 11000);
    assert_false(rig_has_problem(r, "two processes"));
    rig_free(r);
}

static void a_restart_is_let_in_when_the_old_process_is_silent(void **state)
{
    struct rig *r = running(3);
    struct rig_shard *s = rig_shard(r, 3);
    unsigned welcomes = s->welcomes, warnings = r->warnings;
    s->boot_id += 1000; /* no end of the old connection is told: its host died */
    rig_hello(r, 3);
    assert_int_equal(s->welcomes, welcomes);
    rig_run(r, 200);
    rig_hello(r, 3);
    assert_int_equal(s->welcomes, welcomes + 1);
    assert_int_equal(r->warnings, warnings);
    assert_false(rig_has_problem(r, "two processes"));
    rig_free(r);
}

static void lids_of_shards_are_unique(void **state)
{
    struct rig *r = started(4);
    rig_shard(r, 1)->lid = 500; /* set already: kept */
    rig_shard(r, 2)->lid = 500; /* the same: another one is chosen */
    rig_shard(r, 3)->lid = 0xC001;
    rig_join_all(r);
    const Heddle__Assignment *a = coord_core_assignment(r->core);
    assert_int_equal(a->members[0]->lid, 500);
    assert_in_range(a->members[1]->lid, 64, 127);
    assert_in_range(a->members[2]->lid, 64, 127);
    assert_in_range(a->members[3]->lid, 64, 127);
    assert_int_not_equal(a->members[1]->lid, a->members[2]->lid);
    assert_int_not_equal(a->members[2]->lid, a->members[3]->lid);
    uint32_t lid = a->members[3]->lid;
    rig_reboot(r, 4); /* and they stay with the port */
    assert_int_equal(coord_core_assignment(r->core)->members[3]->lid, lid);
    rig_free(r);
}

/* -- grants and epochs ------------------------------------------------------------------------ */

static void grants_are_repeated_until_confirmed(void **state)
{
    struct rig *r = running(2);
    rig_run(r, 2000);
    unsigned sent = rig_shard(r, 1)->grant_messages;
    g_hash_table_remove_all(rig_shard(r, 1)->grants); /* as if they had been lost */
    rig_restart(r);                                   /* which forgets what was confirmed */
    rig_run(r, 2500);
    assert_true(rig_shard(r, 1)->grant_messages > sent);
    assert_true(rig_granted(r, 1, rig_owned(r, 1) ? 1 : 0) || rig_owned(r, 1) == 0);
    sent = rig_shard(r, 1)->grant_messages + rig_shard(r, 2)->grant_messages;
    rig_run(r, 5000);
    assert_int_equal(rig_shard(r, 1)->grant_messages + rig_shard(r, 2)->grant_messages, sent);
    rig_free(r);
}

static void a_restarted_coordinator_changes_nothing(void **state)
{
    struct rig *r = running(3);
    unsigned swaps = r->swaps, grants = rig_shard(r, 1)->grant_messages;
    uint64_t epoch = rig_domain(r, 2)->epoch;
    rig_restart(r);
    rig_run(r, 3000);
    assert_int_equal(r->swaps, swaps);
    assert_int_equal(rig_domain(r, 2)->epoch, epoch);
    assert_int_equal(rig_shard(r, 1)->grant_messages, grants);
    /* one that died meanwhile is found */
    rig_shard(r, 2)->running = false;
    rig_shard(r, 2)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_restart(r);
    rig_run(r, 2500);
    assert_int_equal(rig_state(r, 2), HEDDLE__MEMBER_STATE__MEMBER_DEAD);
    assert_int_equal(rig_owned(r, 2), 0);
    rig_free(r);
}

static void a_restored_ledger_raises_all_epochs(void **state)
{
    struct rig *r = running(2);
    uint64_t epoch = rig_domain(r, 1)->epoch;
    coord_core_destroy(r->core);
    r->config.incarnation = 0x123;
    g_hash_table_remove_all(r->owners);
    rig_start(r);
    rig_run(r, 100);
    assert_true(coord_core_assignment(r->core)->incarnation == 0x123);
    assert_int_equal(rig_domain(r, 1)->epoch, epoch + 1);
    rig_free(r);
}

static void epochs_are_never_below_what_shards_saw(void **state)
{
    struct rig *r = running(2);
    struct rig_shard *s = rig_shard(r, 1);
    Heddle__Position p = HEDDLE__POSITION__INIT;
    Heddle__Position *list[] = {&p};
    Heddle__Hello h = HEDDLE__HELLO__INIT;
    p.domain = 1;
    p.epoch = 90;
    h.port_guid = s->port_guid;
    h.incarnation = r->config.incarnation;
    h.positions = list;
    h.n_positions = 1;
    rig_send(r, 1, HEDDLE__MESSAGE_TYPE__MSG_HELLO, &h.base);
    assert_int_equal(rig_domain(r, 1)->epoch, 91);
    rig_free(r);
}

/* -- LIDs and status --------------------------------------------------------------------------- */

static void found_lids_reach_the_ledger_and_newcomers(void **state)
{
    struct rig *r = running(3);
    unsigned writes = r->lids_swaps;
    Heddle__FoundLid f[50];
    Heddle__FoundLid *list[50];
    Heddle__LidBackup b = HEDDLE__LID_BACKUP__INIT;
    for (unsigned i = 0; i < 50; i++) {
        heddle__found_lid__init(&f[i]);
        f[i].port_guid = 0x9000 + 50 - i;
        f[i].lid = 1000 + i;
        list[i] = &f[i];
        b.lids = &list[i];
        b.n_lids = 1;
        rig_send(r, 2, HEDDLE__MESSAGE_TYPE__MSG_LID_BACKUP, &b.base);
        rig_run(r, 10);
    }
    rig_run(r, 1500);
    assert_in_range(r->lids_swaps - writes, 1, 3); /* coalesced */
    assert_int_equal(r->lids->n_lids, 50);
    rig_restart(r);
    rig_run(r, 200);
    rig_reboot(r, 1);
    assert_int_equal(rig_shard(r, 1)->told->n_known_lids, 50);
    assert_true(rig_shard(r, 1)->told->known_lids[0]->port_guid == 0x9001);
    rig_free(r);
}

static void converged_when_all_digests_agree(void **state)
{
    struct rig *r = running(3);
    for (unsigned i = 1; i <= 3; i++) {
        struct rig_shard *s = rig_shard(r, i);
        s->phase = HEDDLE__DOMAIN_PHASE__PHASE_RUNNING;
        s->programmed = s->digest = DIGEST_1;
    }
    rig_run(r, 100);
    assert_true(rig_status(r)->converged);
    rig_shard(r, 2)->unseen = 1;
    rig_run(r, 100);
    assert_false(rig_status(r)->converged); /* of a switch never seen nothing is known */
    rig_shard(r, 2)->unseen = 0;
    rig_shard(r, 2)->intent = DIGEST_1;
    rig_run(r, 100);
    assert_false(rig_status(r)->converged);
    rig_shard(r, 2)->intent = NULL;
    rig_shard(r, 2)->digest = DIGEST_2;
    rig_run(r, 100);
    assert_false(rig_status(r)->converged);
    rig_shard(r, 2)->digest = DIGEST_1;
    rig_shard(r, 3)->phase = HEDDLE__DOMAIN_PHASE__PHASE_LIDS;
    rig_run(r, 100);
    assert_false(rig_status(r)->converged);
    rig_shard(r, 3)->phase = HEDDLE__DOMAIN_PHASE__PHASE_RUNNING;
    for (unsigned i = 1; i <= 3; i++)
        rig_shard(r, i)->programmed = rig_shard(r, i)->digest = "";
    rig_run(r, 100);
    assert_false(rig_status(r)->converged); /* empty digests agree on nothing */
    rig_free(r);
}

static void status_names_what_is_missing(void **state)
{
    struct rig *r = started(3);
    rig_hello(r, 1);
    assert_true(rig_has_problem(r, "shard shard-2 has not joined"));
    assert_true(rig_has_problem(r, "waiting for the lead"));
    explore(r, 1, 4, 2);
    assert_true(rig_has_problem(r, "waiting for the expected shards"));
    assert_false(rig_status(r)->converged);
    rig_free(r);
}

static void an_unknown_peer_is_ignored(void **state)
{
    struct rig *r = started(2);
    struct envelope m = {.type = HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK};
    g_strlcpy(m.cluster, "test", sizeof m.cluster);
    g_strlcpy(m.sender, "stranger", sizeof m.sender);
    struct coord_event e = {.kind = COORD_EV_MESSAGE, .peer = "stranger", .message = &m};
    g_autoptr(GArray) actions = g_array_new(FALSE, TRUE, sizeof(struct coord_action));
    coord_core_step(r->core, &e, r->now, actions);
    assert_int_equal(actions->len, 0);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_joins),
        cmocka_unit_test(nothing_is_said_before_it_is_durable),
        cmocka_unit_test(a_failing_disk_loses_no_decision),
        cmocka_unit_test(another_writer_makes_it_read_again),
        cmocka_unit_test(wrong_shards_are_refused),
        cmocka_unit_test(a_replaced_process_stays_out),
        cmocka_unit_test(a_clone_takes_nothing_from_a_live_shard),
        cmocka_unit_test(a_restart_is_let_in_when_the_old_process_is_silent),
        cmocka_unit_test(lids_of_shards_are_unique),
        cmocka_unit_test(grants_are_repeated_until_confirmed),
        cmocka_unit_test(a_restarted_coordinator_changes_nothing),
        cmocka_unit_test(a_restored_ledger_raises_all_epochs),
        cmocka_unit_test(epochs_are_never_below_what_shards_saw),
        cmocka_unit_test(found_lids_reach_the_ledger_and_newcomers),
        cmocka_unit_test(converged_when_all_digests_agree),
        cmocka_unit_test(status_names_what_is_missing),
        cmocka_unit_test(an_unknown_peer_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
