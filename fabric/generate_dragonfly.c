/* SPDX-License-Identifier: BSD-2-Clause */
/* Dragonflies (Kim et al. 2008) and dragonfly+ (Shpiner et al. 2017). Both have groups of which
 * each pair is joined by the same number of global cables; inside, a group of a dragonfly is a
 * complete graph of switches, and one of a dragonfly+ a complete bipartite graph of leaves and
 * spines, of which the spines have the global cables. */
#include "fabric/generator.h"

struct dragonfly {
    uint32_t groups, global; /* global cables between two groups */
    uint32_t leaves, spines; /* of a group; spines is 0 in a plain dragonfly */
    uint32_t hosts, links;   /* of each leaf; parallel ones inside a group */
    uint32_t ends;           /* switches of a group that have global cables */
    uint32_t first_end;      /* number of the first of them in group 0 */
    unsigned global_port;    /* the first one of an end */
    unsigned leaf_ports, spine_ports;
};

static bool parse(struct generator_spec *spec, struct dragonfly *d, bool plus)
{
    unsigned at = plus ? 3 : 2;
    return generator_field(spec, 0, "groups", 2, GENERATOR_MAX_LIDS, &d->groups) &&
           generator_field(spec, 1, plus ? "leaves" : "switches", 1, FABRIC_MAX_PORTS,
                           &d->leaves) &&
           (!plus || generator_field(spec, 2, "spines", 1, FABRIC_MAX_PORTS, &d->spines)) &&
           generator_field(spec, at, plus ? "hosts per leaf" : "hosts per switch", 1,
                           FABRIC_MAX_PORTS, &d->hosts) &&
           generator_field(spec, at + 1, "global links", 1, FABRIC_MAX_PORTS, &d->global) &&
           generator_field(spec, at + 2, "links", 1, FABRIC_MAX_PORTS, &d->links);
}

/* Fills what follows from the spec, and checks that such a subnet can exist. */
static bool size(struct generator_spec *spec, struct dragonfly *d)
{
    bool plus = d->spines > 0;
    uint64_t leaves = (uint64_t)d->groups * d->leaves, spines = (uint64_t)d->groups * d->spines;
    d->ends = plus ? d->spines : d->leaves;
    d->first_end = plus ? leaves : 0;
    uint64_t global = ((uint64_t)(d->groups - 1) * d->global + d->ends - 1) / d->ends;
    uint64_t local = (uint64_t)(plus ? d->spines : d->leaves - 1) * d->links;
    uint64_t below = plus ? (uint64_t)d->leaves * d->links : d->hosts + local;
    uint64_t leaf_ports = d->hosts + local + (plus ? 0 : global);
    if (!generator_lids_fit(spec, leaves + spines + leaves * d->hosts) ||
        !generator_ports_fit(spec, plus ? "a leaf" : "a switch", leaf_ports) ||
        (plus && !generator_ports_fit(spec, "a spine", below + global)))
        return false;
    d->leaf_ports = leaf_ports;
    d->spine_ports = below + global;
    d->global_port = below + 1;
    return true;
}

static void add_nodes(struct fabric *f, const struct dragonfly *d)
{
    for (uint32_t i = 0; i < d->groups * d->leaves; i++)
        generator_add_switch(f, 1, i, d->leaf_ports);
    for (uint32_t i = 0; i < d->groups * d->spines; i++)
        generator_add_switch(f, 2, i, d->spine_ports);
    for (uint32_t h = 0; h < d->groups * d->leaves * d->hosts; h++)
        generator_join(f, generator_add_host(f, h, 1), 1, h / d->hosts, h % d->hosts + 1);
}

/* All switches of a group with each other. The peer at distance o (1 .. n - 1, around the group)
 * has the o-th of each round of local ports. */
static void join_complete(struct fabric *f, const struct dragonfly *d, uint32_t group)
{
    uint32_t n = d->leaves, first = group * n;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            for (uint32_t k = 0; k < d->links; k++) {
                unsigned round = d->hosts + k * (n - 1);
                generator_join(f, first + a, round + (b - a), first + b, round + (n - (b - a)));
            }
}

static void join_bipartite(struct fabric *f, const struct dragonfly *d, uint32_t group)
{
    for (uint32_t leaf = 0; leaf < d->leaves; leaf++)
        for (uint32_t s = 0; s < d->spines; s++)
            for (uint32_t k = 0; k < d->links; k++)
                generator_join(f, group * d->leaves + leaf, d->hosts + s + k * d->spines + 1,
                               d->first_end + group * d->spines + s, leaf + k * d->leaves + 1);
}

struct end {
    uint32_t node;
    unsigned port;
};

/* Where the k-th cable to the group at this distance begins (generate.h). */
static struct end global_end(const struct dragonfly *d, uint32_t group, uint32_t distance,
                             uint32_t k)
{
    uint32_t slot = (distance - 1) * d->global + k;
    return (struct end){d->first_end + group * d->ends + slot % d->ends,
                        d->global_port + slot / d->ends};
}

static void join_groups(struct fabric *f, const struct dragonfly *d)
{
    for (uint32_t a = 0; a < d->groups; a++)
        for (uint32_t b = a + 1; b < d->groups; b++)
            for (uint32_t k = 0; k < d->global; k++) {
                struct end from = global_end(d, a, b - a, k);
                struct end to = global_end(d, b, d->groups - (b - a), k);
                generator_join(f, from.node, from.port, to.node, to.port);
            }
}

static struct fabric *make(struct generator_spec *spec, bool plus)
{
    struct dragonfly d = {.links = 1};
    if (!parse(spec, &d, plus) || !size(spec, &d))
        return NULL;
    struct fabric *f = fabric_create();
    add_nodes(f, &d);
    for (uint32_t group = 0; group < d.groups; group++) {
        if (plus)
            join_bipartite(f, &d, group);
        else
            join_complete(f, &d, group);
    }
    join_groups(f, &d);
    return f;
}

static struct fabric *make_plain(struct generator_spec *spec)
{
    return make(spec, false);
}

static struct fabric *make_plus(struct generator_spec *spec)
{
    return make(spec, true);
}

const struct generator generator_dragonfly = {
    .about = {"dragonfly", "dragonfly:GROUPS:SWITCHES:HOSTS_PER_SWITCH:GLOBAL[:LINKS]",
              "dragonfly:9:4:2:1", "72 hosts, 36 switches"},
    .min_fields = 4,
    .max_fields = 5,
    .make = make_plain,
};

const struct generator generator_dragonfly_plus = {
    .about = {"dragonfly+", "dragonfly+:GROUPS:LEAVES:SPINES:HOSTS_PER_LEAF:GLOBAL[:LINKS]",
              "dragonfly+:9:8:8:8:8", "576 hosts, 144 switches"},
    .min_fields = 5,
    .max_fields = 6,
    .make = make_plus,
};
