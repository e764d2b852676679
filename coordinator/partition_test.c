/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the cut into domains: trees of two and three levels, irregular and real fabrics. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "coordinator/partition.h"
#include "coordinator/records.h"
#include "coordinator/test_rig.h"
#include "fabric/generate.h"
#include "fabric/read.h"

#define MAX_NODES 5000u

static int compare_switches(const void *a, const void *b)
{
    const Heddle__TopologySwitch *const *x = a, *const *y = b;
    return record_compare_u64(&(*x)->guid, &(*y)->guid);
}

/* What shards would report of a fabric, by GUID. */
static void topology_of(const struct fabric *f, Heddle__Topology *t)
{
    for (uint32_t i = 0; i < f->node_count; i++) {
        const struct fabric_node *n = &f->nodes[i];
        uint64_t neighbours[FABRIC_MAX_PORTS + 1] = {0};
        size_t count = 0;
        uint32_t hosts = 0;
        if (n->type != FABRIC_SWITCH)
            continue;
        for (unsigned p = 1; p <= n->nports; p++) {
            if (n->ports[p].peer_node == FABRIC_NONE)
                continue;
            const struct fabric_node *peer = &f->nodes[n->ports[p].peer_node];
            if (peer->type == FABRIC_SWITCH)
                neighbours[count++] = peer->guid;
            else
                hosts++;
        }
        rig_topology_add(t, rig_switch(n->guid, hosts, neighbours));
    }
    qsort(t->switches, t->n_switches, sizeof t->switches[0], compare_switches);
}

struct outcome {
    uint32_t parts, largest, smallest; /* nodes */
    uint32_t part[4096];
};

/* Cuts, and checks what holds for every cut. */
static struct outcome cut(const Heddle__Topology *t, uint32_t domains, uint32_t max_nodes)
{
    struct outcome o = {.smallest = UINT32_MAX};
    static uint32_t again[4096];
    assert_true(t->n_switches <= G_N_ELEMENTS(o.part));
    o.parts = partition_cut(t->switches, t->n_switches, domains, max_nodes, o.part);
    assert_int_equal(partition_cut(t->switches, t->n_switches, domains, max_nodes, again), o.parts);
    assert_memory_equal(o.part, again, t->n_switches * sizeof again[0]);
    assert_true(o.parts <= t->n_switches);
    assert_true(o.parts > 0 || t->n_switches == 0);
    g_autofree uint32_t *nodes = g_new0(uint32_t, o.parts + 1);
    g_autofree uint32_t *switches = g_new0(uint32_t, o.parts + 1);
    for (size_t i = 0; i < t->n_switches; i++) {
        assert_true(o.part[i] < o.parts);
        nodes[o.part[i]] += 1 + t->switches[i]->hosts;
        switches[o.part[i]]++;
    }
    for (uint32_t i = 0; i < o.parts; i++) {
        assert_true(switches[i] > 0);
        assert_true(nodes[i] <= max_nodes || switches[i] == 1);
        o.largest = MAX(o.largest, nodes[i]);
        o.smallest = MIN(o.smallest, nodes[i]);
    }
    return o;
}

static void generated(const char *spec, Heddle__Topology *t)
{
    char error[256];
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    assert_non_null(f);
    heddle__topology__init(t);
    topology_of(f, t);
    fabric_destroy(f);
}

static uint32_t part_of(const Heddle__Topology *t, const struct outcome *o, uint64_t guid)
{
    for (size_t i = 0; i < t->n_switches; i++)
        if (t->switches[i]->guid == guid)
            return o->part[i];
    fail();
    return 0;
}

/* Number of parts that the switches of levels 1 and 2 which are joined to each other fall into: 1
 * for each pod that is whole. */
static bool pods_are_whole(const Heddle__Topology *t, const struct outcome *o)
{
    for (size_t i = 0; i < t->n_switches; i++) {
        if (t->switches[i]->hosts == 0)
            continue;
        for (size_t j = 0; j < t->switches[i]->n_neighbours; j++)
            if (part_of(t, o, t->switches[i]->neighbours[j]) != o->part[i])
                return false;
    }
    return true;
}

static void three_levels_are_cut_along_their_pods(void **state)
{
    Heddle__Topology t;
    generated("pgft:3:16,16,8:1,16,4:1,1,1", &t); /* 8 pods */
    for (uint32_t shards = 1; shards <= 3; shards++) {
        struct outcome o = cut(&t, 4 * shards, MAX_NODES);
        assert_true(pods_are_whole(&t, &o));
        assert_int_equal(o.parts, shards == 1 ? 4 : 8);
        assert_true(o.largest - o.smallest <= 1); /* spines too are dealt evenly */
    }
    struct outcome o = cut(&t, 16, MAX_NODES); /* each pod in two */
    assert_int_equal(o.parts, 16);
    assert_true(o.largest - o.smallest <= 20);
    rig_topology_clear(&t);
}

static void the_limit_cuts_pods(void **state)
{
    Heddle__Topology t;
    generated("pgft:3:16,16,8:1,16,4:1,1,1", &t);
    for (uint32_t max = 17; max <= 400; max += 61)
        cut(&t, 4, max);
    rig_topology_clear(&t);
}

static void two_levels_are_cut_into_groups_of_leaves(void **state)
{
    Heddle__Topology t;
    generated("pgft:2:12,24:1,12:1,1", &t); /* 24 leaves, 12 spines */
    for (uint32_t domains = 1; domains <= 24; domains++) {
        struct outcome o = cut(&t, domains, MAX_NODES);
        assert_int_equal(o.parts, domains);
        assert_true(o.largest - o.smallest <= 14);
    }
    assert_int_equal(cut(&t, 30, MAX_NODES).parts, 30); /* spines of their own */
    assert_int_equal(cut(&t, 1000, MAX_NODES).parts, 36);
    rig_topology_clear(&t);
}

static void four_levels(void **state)
{
    Heddle__Topology t;
    generated("pgft:4:4,4,4,4:1,4,4,2:1,1,1,1", &t);
    for (uint32_t domains = 1; domains <= 40; domains += 3) {
        struct outcome o = cut(&t, domains, MAX_NODES);
        assert_true(o.parts * 3 >= domains * 2 && o.parts * 2 <= domains * 3);
    }
    rig_topology_clear(&t);
}

static void tiny_fabrics_have_no_empty_domain(void **state)
{
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    assert_int_equal(cut(&t, 4, MAX_NODES).parts, 0);
    rig_topology_add(&t, rig_switch(1, 2, NULL));
    assert_int_equal(cut(&t, 12, MAX_NODES).parts, 1);
    uint64_t to_one[] = {1, 1, 0}; /* listed by one end only */
    rig_topology_add(&t, rig_switch(2, 2, to_one));
    assert_int_equal(cut(&t, 12, MAX_NODES).parts, 2);
    assert_int_equal(cut(&t, 1, MAX_NODES).parts, 1);
    assert_int_equal(cut(&t, 1, 3).parts, 2);
    rig_topology_add(&t, rig_switch(3, 0, to_one));
    for (uint32_t n = 1; n <= 4; n++)
        assert_int_equal(cut(&t, n, MAX_NODES).parts, MIN(n, 3));
    rig_topology_clear(&t);
}

/* Aggregation nodes and management hosts on spines, and a leaf with one host. */
static void hosts_on_spines_change_nothing(void **state)
{
    Heddle__Topology t;
    generated("pgft:3:16,16,8:1,16,4:1,1,1", &t);
    struct outcome plain = cut(&t, 8, MAX_NODES);
    for (size_t i = 0; i < t.n_switches; i++)
        t.switches[i]->hosts += t.switches[i]->hosts == 0 || i % 2;
    t.switches[0]->hosts = 1;
    struct outcome o = cut(&t, 8, MAX_NODES);
    assert_int_equal(o.parts, plain.parts);
    for (size_t i = 0; i < t.n_switches; i++) /* pods stay together: same parts for leaves */
        if (t.switches[i]->hosts > 2)
            assert_int_equal(o.part[i], plain.part[i]);
    rig_topology_clear(&t);
}

static void irregular_fabrics(void **state)
{
    Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
    uint32_t random = 12345;              /* the same each time */
    for (uint64_t i = 1; i <= 100; i++) { /* a torus of 10 x 10 with chords, hosts everywhere */
        random = random * 1664525u + 1013904223u;
        uint64_t links[] = {i % 100 + 1, (i + 9) % 100 + 1, random % 100 + 1, 77777, i, 0};
        rig_topology_add(&t, rig_switch(i, random >> 28, links));
    }
    for (uint32_t domains = 1; domains <= 110; domains += 6) {
        struct outcome o = cut(&t, domains, MAX_NODES);
        assert_int_equal(o.parts, MIN(domains, 100));
    }
    for (uint32_t max = 1; max < 60; max += 7)
        cut(&t, 3, max);
    for (size_t i = 0; i < t.n_switches; i++)
        t.switches[i]->hosts = 0; /* nobody at home */
    assert_int_equal(cut(&t, 12, MAX_NODES).parts, 12);
    rig_topology_clear(&t);
    for (uint64_t i = 1; i <= 20; i++) /* pieces that nothing joins */
        rig_topology_add(&t, rig_switch(i, 5, NULL));
    assert_int_equal(cut(&t, 6, MAX_NODES).parts, 6);
    rig_topology_clear(&t);
}

static void real_fabrics(void **state)
{
    const char *set = g_getenv("HEDDLE_FABRICS"), *source = g_getenv("HEDDLE_SOURCE");
    g_autofree char *dir =
        set ? g_strdup(set) : g_strdup_printf("%s/../shared/fabrics", source ? source : "..");
    DIR *d = opendir(dir);
    if (d == NULL) {
        print_message("skipped: no real fabrics in %s (set HEDDLE_FABRICS)\n", dir);
        skip();
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (!g_str_has_suffix(e->d_name, ".net"))
            continue;
        g_autofree char *path = g_build_filename(dir, e->d_name, NULL);
        struct fabric_messages *messages = fabric_messages_create();
        struct fabric *f = fabric_load(path, messages);
        fabric_messages_destroy(messages);
        assert_non_null(f);
        Heddle__Topology t = HEDDLE__TOPOLOGY__INIT;
        topology_of(f, &t);
        for (uint32_t shards = 1; shards <= 8; shards++) {
            struct outcome o = cut(&t, 4 * shards, MAX_NODES);
            print_message("%s: %zu switches, %u shards: %u domains of %u to %u nodes\n", e->d_name,
                          t.n_switches, shards, o.parts, o.smallest, o.largest);
            assert_true(o.parts >= MIN(shards, t.n_switches));
        }
        rig_topology_clear(&t);
        fabric_destroy(f);
    }
    closedir(d);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The largest fabric that heddle is for, through the core: the message, the cut, the grants. */
static void forty_thousand_hosts(void **state)
{
    Heddle__Topology t;
    generated("pgft:3:32,32,40:1,32,32:1,1,1", &t);
    assert_int_equal(t.n_switches, 3584);
    double before = seconds();
    struct outcome o = cut(&t, 32, MAX_NODES);
    print_message("40,960 hosts: %u domains of %u to %u nodes; two cuts took %.3f s\n", o.parts,
                  o.smallest, o.largest, seconds() - before);
    assert_true(o.parts >= 32);

    struct rig *r = rig_new(8);
    rig_start(r);
    rig_join_all(r);
    t.complete = true;
    before = seconds();
    rig_topology(r, 1, &t);
    print_message("from TOPOLOGY to grants for 8 shards: %.3f s\n", seconds() - before);
    rig_run(r, 200);
    uint32_t lids = 0;
    const Heddle__Assignment *a = coord_core_assignment(r->core);
    for (size_t i = 1; i < a->n_domains; i++) {
        assert_true(rig_granted(r, (unsigned)atoi(a->domains[i]->owner + 6), a->domains[i]->id));
        lids += domain_pool_lids(a->domains[i]);
    }
    assert_true(lids >= 44544);
    assert_false(rig_has_problem(r, "LIDs"));
    assert_int_equal(rig_shard(r, 8)->told->n_hints, 3584);
    rig_free(r);
    rig_topology_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_levels_are_cut_along_their_pods),
        cmocka_unit_test(the_limit_cuts_pods),
        cmocka_unit_test(two_levels_are_cut_into_groups_of_leaves),
        cmocka_unit_test(four_levels),
        cmocka_unit_test(tiny_fabrics_have_no_empty_domain),
        cmocka_unit_test(hosts_on_spines_change_nothing),
        cmocka_unit_test(irregular_fabrics),
        cmocka_unit_test(real_fabrics),
        cmocka_unit_test(forty_thousand_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
