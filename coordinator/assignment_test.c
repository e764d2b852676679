/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the cut, of owners, receivers, limits and the lead, and of switches that come later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/records.h"
#include "coordinator/test_rig.h"

static void explore(struct rig *r, unsigned from, unsigned leaves, unsigned spines, uint32_t hosts)
{
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    t.complete = true;
    rig_leaf_spine(&t, leaves, spines, hosts);
    rig_topology(r, from, &t);
    rig_topology_clear(&t);
}

static struct rig *running(unsigned shards)
{
    struct rig *r = rig_new(shards);
    rig_start(r);
    rig_join_all(r);
    explore(r, 1, 16, 4, 10);
    rig_run(r, 300);
    return r;
}

static uint32_t load(struct rig *r, unsigned i) /* of the fabric of running() */
{
    const Heddle__Assignment *a = coord_core_assignment(r->core);
    uint32_t nodes = 0;
    for (size_t j = 0; j < a->n_domains; j++)
        for (size_t k = 0; k < a->domains[j]->n_switches; k++)
            if (strcmp(a->domains[j]->owner, rig_shard(r, i)->name) == 0)
                nodes += a->domains[j]->switches[k] < 0x200 ? 11 : 1;
    return nodes;
}

static void domains_are_dealt_out_evenly(void **state)
{
    for (unsigned n = 1; n <= 8; n++) {
        struct rig *r = running(n);
        const Heddle__Assignment *a = coord_core_assignment(r->core);
        uint32_t low = UINT32_MAX, high = 0;
        size_t switches = 0;
        for (size_t i = 1; i < a->n_domains; i++) {
            assert_true(a->domains[i]->n_switches > 0);
            assert_true(domain_pool_lids(a->domains[i]) >= a->domains[i]->n_switches);
            switches += a->domains[i]->n_switches;
        }
        assert_int_equal(switches, 20);
        for (unsigned i = 1; i <= n; i++) {
            low = MIN(low, load(r, i));
            high = MAX(high, load(r, i));
            for (size_t j = 1; j < a->n_domains; j++)
                if (strcmp(a->domains[j]->owner, rig_shard(r, i)->name) == 0)
                    assert_true(rig_granted(r, i, a->domains[j]->id));
        }
        assert_true(high - low <= 14); /* a leaf with its hosts and some spines */
        assert_false(a->auto_partition);
        assert_int_equal(rig_shard(r, 1)->told->n_hints, 20);
        rig_free(r);
    }
}

static void a_shard_does_not_own_its_own_leaf(void **state)
{
    for (unsigned n = 2; n <= 5; n++) {
        struct rig *r = rig_new(n);
        for (unsigned i = 1; i <= n; i++)
            rig_shard(r, i)->leaf_guid = 0x100 + (i - 1) * 3;
        rig_start(r);
        rig_join_all(r);
        explore(r, 1, 16, 4, 10);
        rig_run(r, 300);
        for (unsigned i = 1; i <= n; i++)
            for (size_t j = 1; j < coord_core_assignment(r->core)->n_domains; j++) {
                const Heddle__Domain *d = coord_core_assignment(r->core)->domains[j];
                assert_false(strcmp(d->owner, rig_shard(r, i)->name) == 0 &&
                             domain_has_switch(d, rig_shard(r, i)->leaf_guid));
            }
        rig_free(r);
    }
}

static void the_cut_waits_for_the_expected(void **state)
{
    struct rig *r = rig_new(3);
    rig_start(r);
    rig_hello(r, 1);
    rig_hello(r, 2);
    explore(r, 1, 16, 4, 10);
    rig_run(r, 4900);
    assert_true(coord_core_assignment(r->core)->auto_partition);
    rig_run(r, 200); /* the time-out: the third is not waited for any longer */
    assert_false(coord_core_assignment(r->core)->auto_partition);
    assert_true(rig_owned(r, 1) > 0 && rig_owned(r, 2) > 0);
    rig_hello(r, 3); /* a late shard gets nothing until somebody dies */
    rig_run(r, 1000);
    assert_int_equal(rig_owned(r, 3), 0);
    rig_shard(r, 1)->running = false;
    rig_shard(r, 1)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_run(r, 300);
    assert_true(rig_owned(r, 3) > 0);
    rig_free(r);
}

static void the_lead_moves_in_the_same_swap(void **state)
{
    struct rig *r = running(4);
    rig_shard(r, 3)->priority = 9; /* takes effect with its next HELLO */
    rig_hello(r, 3);
    assert_string_equal(rig_domain(r, 0)->owner, "shard-1"); /* nobody takes it from a live one */
    unsigned swaps = r->swaps;
    uint64_t epoch = rig_domain(r, 0)->epoch;
    rig_shard(r, 1)->running = false;
    rig_shard(r, 1)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_run(r, 300);
    assert_int_equal(r->swaps, swaps + 1);
    assert_string_equal(rig_domain(r, 0)->owner, "shard-3");
    assert_int_equal(rig_domain(r, 0)->epoch, epoch + 1);
    assert_true(rig_granted(r, 3, 0));
    assert_int_equal(rig_owned(r, 1), 0);
    rig_free(r);
}

static void survivors_share_a_takeover(void **state)
{
    struct rig *r = running(4);
    rig_shard(r, 2)->running = false;
    rig_shard(r, 2)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    rig_run(r, 300);
    for (unsigned i = 1; i <= 4; i++)
        assert_true(i == 2 || rig_owned(r, i) >= 5);
    rig_free(r);
}

static void standbys_receive_first(void **state)
{
    struct rig *r = rig_new(4);
    rig_shard(r, 4)->standby = true;
    rig_shard(r, 4)->priority = 15;
    rig_start(r);
    rig_join_all(r);
    explore(r, 1, 16, 4, 10);
    rig_run(r, 300);
    assert_int_equal(rig_owned(r, 4), 0);
    rig_shard(r, 1)->running = false;
    rig_shard(r, 1)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
    uint32_t mine = rig_owned(r, 1);
    rig_run(r, 300);
    assert_int_equal(rig_owned(r, 4), mine);
    assert_string_equal(rig_domain(r, 0)->owner, "shard-2"); /* a standby leads last */
    rig_free(r);
}

static void a_standby_that_is_full_does_not_receive(void **state)
{
    struct rig *r = rig_new(4);
    r->config.shard_max_nodes = 70;
    rig_shard(r, 4)->standby = true;
    rig_start(r);
    rig_join_all(r);
    explore(r, 1, 16, 4, 10);
    rig_run(r, 300);
    for (unsigned i = 1; i <= 2; i++) {
        rig_shard(r, i)->running = false;
        rig_shard(r, i)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
        rig_run(r, 400);
    }
    assert_int_equal(rig_owned(r, 1) + rig_owned(r, 2), 0); /* never ownerless */
    assert_true(load(r, 4) > 0 && load(r, 3) > 70);
    assert_true(rig_has_problem(r, "shard_max_nodes"));
    rig_free(r);
}

static void all_but_one_may_die(void **state)
{
    struct rig *r = running(5);
    for (unsigned i = 1; i <= 4; i++) {
        rig_shard(r, i)->running = false;
        rig_shard(r, i)->verdict = HEDDLE__PROBE_VERDICT__VERDICT_DEAD;
        rig_run(r, 300);
    }
    const Heddle__Assignment *a = coord_core_assignment(r->core);
    for (size_t i = 0; i < a->n_domains; i++) {
        assert_string_equal(a->domains[i]->owner, "shard-5");
        assert_true(rig_granted(r, 5, a->domains[i]->id));
    }
    rig_reboot(r, 2);
    rig_run(r, 1000);
    assert_int_equal(rig_owned(r, 2), 0);
    rig_free(r);
}

/* -- switches that come later -------------------------------------------------------------------
 */

static const Heddle__Domain *domain_with(struct rig *r, uint64_t guid)
{
    const Heddle__Assignment *a = coord_core_assignment(r->core);
    for (size_t i = 0; i < a->n_domains; i++)
        if (domain_has_switch(a->domains[i], guid))
            return a->domains[i];
    return NULL;
}

static void a_new_switch_joins_its_neighbours(void **state)
{
    struct rig *r = running(3);
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    uint64_t behind[] = {0x300, 0}, links[] = {0x105, 0x105, 0x200, 0};
    rig_topology_add(&t, rig_switch(0x301, 3, behind)); /* behind another new one */
    rig_topology_add(&t, rig_switch(0x300, 3, links));
    rig_topology_add(&t, rig_switch(0x400, 3, NULL)); /* joined to nothing that we know */
    rig_topology(r, 2, &t);
    rig_topology_clear(&t);
    assert_ptr_equal(domain_with(r, 0x300), domain_with(r, 0x105));
    assert_ptr_equal(domain_with(r, 0x301), domain_with(r, 0x300));
    assert_null(domain_with(r, 0x400));
    assert_true(rig_has_problem(r, "1 switches belong to no domain"));
    rig_free(r);
}

static void a_full_domain_takes_no_more(void **state)
{
    struct rig *r = rig_new(2);
    r->config.domain_max_nodes = 40;
    rig_start(r);
    rig_join_all(r);
    explore(r, 1, 16, 4, 10);
    rig_run(r, 300);
    size_t domains = coord_core_assignment(r->core)->n_domains;
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    uint64_t links[] = {0x105, 0x200, 0};
    rig_topology_add(&t, rig_switch(0x300, 39, links));
    rig_topology(r, 2, &t);
    rig_topology_clear(&t);
    assert_int_equal(coord_core_assignment(r->core)->n_domains, domains + 1);
    assert_int_equal(domain_with(r, 0x300)->n_switches, 1);
    assert_true(*domain_with(r, 0x300)->owner);
    rig_free(r);
}

static void pools_grow_with_reports(void **state)
{
    struct rig *r = running(2);
    uint32_t before = domain_pool_lids(rig_domain(r, 1));
    rig_shard(r, 1)->switches = rig_shard(r, 2)->switches = 5;
    rig_shard(r, 1)->end_ports = rig_shard(r, 2)->end_ports = before + 100;
    rig_run(r, 200);
    uint32_t after = domain_pool_lids(rig_domain(r, 1));
    assert_true(after >= before + 105);
    assert_int_equal(after % 64, 0);
    unsigned swaps = r->swaps;
    rig_run(r, 1000);
    assert_int_equal(r->swaps, swaps); /* once */
    rig_free(r);
}

/* -- rules ------------------------------------------------------------------------------------- */

static void add_rule(struct rig *r, const char *name, uint64_t guid, uint64_t first, uint64_t last)
{
    struct coord_domain_rule rule = {.switches = g_array_new(FALSE, TRUE, sizeof(uint64_t)),
                                     .ranges = g_array_new(FALSE, TRUE, sizeof(uint64_t))};
    g_strlcpy(rule.name, name, sizeof rule.name);
    if (guid)
        g_array_append_val(rule.switches, guid);
    g_array_append_val(rule.ranges, first);
    g_array_append_val(rule.ranges, last);
    g_array_append_val(r->config.rules, rule);
}

static void rules_make_domains(void **state)
{
    struct rig *r = rig_new(2);
    r->config.auto_domains = false;
    add_rule(r, "west", 0x200, 0x100, 0x107);
    add_rule(r, "east", 0, 0x108, 0x10f);
    rig_start(r);
    assert_int_equal(coord_core_assignment(r->core)->n_domains, 3);
    assert_false(coord_core_assignment(r->core)->auto_partition);
    rig_hello(r, 1);
    rig_run(r, 200);
    assert_int_equal(rig_owned(r, 1), 0); /* the other one is waited for */
    rig_hello(r, 2);
    assert_int_equal(rig_owned(r, 1), 1);
    assert_int_equal(rig_owned(r, 2), 1);
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    rig_leaf_spine(&t, 16, 2, 3);
    rig_topology(r, 2, &t); /* no `complete`: an addition */
    rig_topology_clear(&t);
    assert_string_equal(domain_with(r, 0x103)->name, "west");
    assert_string_equal(domain_with(r, 0x200)->name, "west");
    assert_string_equal(domain_with(r, 0x10f)->name, "east");
    assert_null(domain_with(r, 0x201)); /* no rule takes it */
    assert_true(rig_has_problem(r, "belong to no domain"));
    uint64_t epoch = rig_domain(r, 1)->epoch;
    rig_restart(r);
    rig_run(r, 500);
    assert_int_equal(coord_core_assignment(r->core)->n_domains, 3);
    assert_int_equal(rig_domain(r, 1)->epoch, epoch);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_are_dealt_out_evenly),
        cmocka_unit_test(a_shard_does_not_own_its_own_leaf),
        cmocka_unit_test(the_cut_waits_for_the_expected),
        cmocka_unit_test(the_lead_moves_in_the_same_swap),
        cmocka_unit_test(survivors_share_a_takeover),
        cmocka_unit_test(standbys_receive_first),
        cmocka_unit_test(a_standby_that_is_full_does_not_receive),
        cmocka_unit_test(all_but_one_may_die),
        cmocka_unit_test(a_new_switch_joins_its_neighbours),
        cmocka_unit_test(a_full_domain_takes_no_more),
        cmocka_unit_test(pools_grow_with_reports),
        cmocka_unit_test(rules_make_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
