/* SPDX-License-Identifier: BSD-2-Clause */
/* Random histories of a cluster: crashes, restarts, hangs, cut networks, a slow or failing ledger,
 * stalls of the coordinator. The rig checks after each swap; here also that nothing is ownerless
 * while a shard lives, and that all is granted once the faults are over.
 *
 * Usage: coordinator_stress_test [SEED [STEPS]]; without arguments a few fixed seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/records.h"
#include "coordinator/test_rig.h"

#define SEEDS 12u
#define STEPS 300u

static uint64_t only_seed;
static unsigned steps = STEPS;

static unsigned pick(GRand *g, unsigned n)
{
    return (unsigned)g_rand_int_range(g, 0, (gint32)n);
}

static void crash(struct rig *r, GRand *g, unsigned i)
{
    static const Heddle__ProbeVerdict verdicts[] = {HEDDLE__PROBE_VERDICT__VERDICT_DEAD,
                                                    HEDDLE__PROBE_VERDICT__VERDICT_SILENT,
                                                    HEDDLE__PROBE_VERDICT__VERDICT_UNREACHED};
    struct rig_shard *s = rig_shard(r, i);
    s->running = false;
    s->verdict = verdicts[pick(g, G_N_ELEMENTS(verdicts))];
    if (pick(g, 2))
        rig_link_down(r, i);
}

static void heal(struct rig *r, unsigned i)
{
    struct rig_shard *s = rig_shard(r, i);
    s->cut = false;
    s->verdict = HEDDLE__PROBE_VERDICT__VERDICT_ALIVE;
    if (!s->running)
        rig_reboot(r, i);
}

static void topology(struct rig *r, GRand *g)
{
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    const char *lead = rig_domain(r, 0)->owner;
    if (*lead == 0)
        return;
    t.complete = true;
    rig_leaf_spine(&t, 6 + pick(g, 14), 2 + pick(g, 3), 1 + pick(g, 20));
    rig_topology(r, (unsigned)atoi(lead + strlen("shard-")), &t);
    rig_topology_clear(&t);
}

static void fault(struct rig *r, GRand *g)
{
    unsigned i = 1 + pick(g, r->shard_count);
    struct rig_shard *s = rig_shard(r, i);
    switch (pick(g, 14)) {
    case 0:
        crash(r, g, i);
        break;
    case 1:
        s->cut = true;
        break;
    case 2:
        s->cut = true; /* SIGSTOP */
        s->verdict = HEDDLE__PROBE_VERDICT__VERDICT_HUNG;
        break;
    case 3:
        rig_jump(r, (int64_t)pick(g, 1500));
        break;
    case 4:
        rig_restart(r);
        break;
    case 5:
        r->hold_swaps = true;
        break;
    case 6:
        r->swap_error = EIO;
        break;
    case 7:
        rig_link_down(r, i);
        break;
    case 8:
        topology(r, g);
        break;
    case 9:
        r->hold_swaps = false;
        r->swap_error = 0;
        break;
    default:
        heal(r, i);
        break;
    }
}

/* While the ledger works, whoever lives and is heard leaves no domain without a live owner. */
static void check_owners(struct rig *r)
{
    const Heddle__Assignment *a = coord_core_assignment(r->core);
    for (size_t i = 0; i < a->n_domains; i++) {
        assert_non_null(domain_live_owner(a, a->domains[i]));
        assert_true(rig_granted(r, (unsigned)atoi(a->domains[i]->owner + strlen("shard-")),
                                a->domains[i]->id));
    }
}

static void run_seed(uint64_t seed)
{
    GRand *g = g_rand_new_with_seed((guint32)seed);
    struct rig *r = rig_new(2 + pick(g, 6));
    for (unsigned i = 1; i <= r->shard_count; i++) {
        rig_shard(r, i)->standby = pick(g, 5) == 0;
        rig_shard(r, i)->leaf_guid = 0x100 + pick(g, 6);
        rig_shard(r, i)->priority = pick(g, 3);
    }
    r->config.shard_max_nodes = 40 + pick(g, 400);
    r->config.domain_max_nodes = 20 + pick(g, 100);
    rig_start(r);
    for (unsigned i = 0; i < steps; i++) {
        fault(r, g);
        rig_run(r, pick(g, 600));
    }
    r->hold_swaps = false;
    r->swap_error = 0;
    for (unsigned i = 1; i <= r->shard_count; i++)
        heal(r, i);
    rig_run(r, 8000);
    topology(r, g);
    rig_run(r, 8000);
    check_owners(r);
    assert_true(coord_core_assignment(r->core)->n_domains > 1);
    rig_free(r);
    g_rand_free(g);
}

static void random_histories(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t s = only_seed ? only_seed : seed;
        print_message("seed %" G_GUINT64_FORMAT
                      " (again: coordinator_stress_test %" G_GUINT64_FORMAT " %u)\n",
                      s, s, steps);
        run_seed(s);
        if (only_seed)
            return;
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_histories)};
    if (argc > 1)
        only_seed = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        steps = (unsigned)strtoul(argv[2], NULL, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
