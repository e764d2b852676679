/* SPDX-License-Identifier: BSD-2-Clause */
/* Rail-optimised fabrics, as clusters of eight-GPU hosts are built: rail r of all hosts of a group
 * ends at one leaf, so that collectives that run rail by rail stay one hop apart.
 *
 * Each rail of a host is a CA of its own, as in real hosts (one adapter beside each GPU) and in
 * saved fabrics of them, not a port of one CA: node GUIDs, system image GUIDs and descriptions
 * then are as an SM, a partition file or a job's host list finds them there. */
#include <string.h>

#include "fabric/generator.h"

enum { LEAF = 1, SPINE, CORE };

struct rail {
    uint32_t hosts, rails, per_leaf;
    uint32_t spines, links;     /* those over a leaf, links to each */
    uint32_t cores, core_links; /* those over a spine, 0 = none */
    bool aggregation;
    uint32_t groups;               /* of per_leaf hosts; the last may have fewer */
    uint32_t count[CORE + 1];      /* switches of each level */
    uint32_t first[CORE + 1];      /* number of the first */
    uint32_t down[CORE + 1];       /* nodes below each */
    uint32_t down_links[CORE + 1]; /* links to each of them */
    uint32_t nports[CORE + 1];     /* aggregation node included */
};

static bool parse(struct generator_spec *spec, struct rail *r)
{
    if (strcmp(spec->fields[spec->count - 1], "an") == 0) {
        r->aggregation = true;
        spec->count--;
    }
    if (spec->count < 4 || spec->count > 7)
        return generator_fail(spec, "expected %s, as in %s", generator_rail.about.grammar,
                              spec->example);
    return generator_field(spec, 0, "hosts", 1, GENERATOR_MAX_LIDS, &r->hosts) &&
           generator_field(spec, 1, "rails", 1, FABRIC_MAX_PORTS, &r->rails) &&
           generator_field(spec, 2, "hosts per leaf", 1, FABRIC_MAX_PORTS, &r->per_leaf) &&
           generator_field(spec, 3, "spines", 1, FABRIC_MAX_PORTS, &r->spines) &&
           generator_field(spec, 4, "links", 1, FABRIC_MAX_PORTS, &r->links) &&
           generator_field(spec, 5, "cores", 1, FABRIC_MAX_PORTS, &r->cores) &&
           generator_field(spec, 6, "core links", 1, FABRIC_MAX_PORTS, &r->core_links);
}

/* Fills what follows from the spec, and checks that such a subnet can exist. */
static bool size(struct generator_spec *spec, struct rail *r)
{
    static const char *const names[] = {[LEAF] = "a leaf", [SPINE] = "a spine", [CORE] = "a core"};
    r->groups = (r->hosts + r->per_leaf - 1) / r->per_leaf;
    uint64_t leaves = (uint64_t)r->groups * r->rails;
    uint64_t spines = r->cores ? (uint64_t)r->spines * r->rails : r->spines;
    uint64_t count[] = {0, leaves, spines, (uint64_t)r->cores * r->spines};
    uint64_t down[] = {0, r->per_leaf, r->cores ? r->groups : leaves, r->rails};
    uint64_t down_links[] = {0, 1, r->links, r->core_links};
    uint64_t up[] = {0, (uint64_t)r->spines * r->links, (uint64_t)r->cores * r->core_links, 0};
    uint64_t switches = leaves + spines + count[CORE];
    if (!generator_lids_fit(spec, switches * (1 + r->aggregation) + (uint64_t)r->hosts * r->rails))
        return false;
    uint32_t first = 0;
    for (unsigned level = LEAF; level <= CORE; level++) {
        uint64_t ports = down[level] * down_links[level] + up[level] + r->aggregation;
        if (count[level] && !generator_ports_fit(spec, names[level], ports))
            return false;
        r->count[level] = count[level];
        r->first[level] = first;
        r->down[level] = down[level];
        r->down_links[level] = down_links[level];
        r->nports[level] = ports;
        first += count[level];
    }
    return true;
}

/* Joins child to the index-th of the nodes below parent, where parent is the which-th of those
 * over child. Ports are as in a fat tree (generate.h). */
static void join(struct fabric *f, const struct rail *r, unsigned level, uint32_t child,
                 uint32_t which, uint32_t parents, uint32_t parent, uint32_t index)
{
    unsigned first_up = r->down[level - 1] * r->down_links[level - 1];
    for (uint32_t k = 0; k < r->down_links[level]; k++)
        generator_join(f, r->first[level - 1] + child, first_up + which + k * parents + 1,
                       r->first[level] + parent, index + k * r->down[level] + 1);
}

static void join_leaves(struct fabric *f, const struct rail *r)
{
    for (uint32_t leaf = 0; leaf < r->count[LEAF]; leaf++) {
        uint32_t group = leaf / r->rails, rail = leaf % r->rails;
        for (uint32_t j = 0; j < r->spines; j++) {
            uint32_t spine = r->cores ? rail * r->spines + j : j;
            join(f, r, SPINE, leaf, j, r->spines, spine, r->cores ? group : leaf);
        }
    }
}

static void join_spines(struct fabric *f, const struct rail *r)
{
    for (uint32_t spine = 0; r->cores && spine < r->count[SPINE]; spine++) {
        uint32_t rail = spine / r->spines, plane = spine % r->spines;
        for (uint32_t c = 0; c < r->cores; c++)
            join(f, r, CORE, spine, c, r->cores, plane * r->cores + c, rail);
    }
}

static void add_hosts(struct fabric *f, const struct rail *r)
{
    for (uint32_t ca = 0; ca < r->hosts * r->rails; ca++) {
        uint32_t host = ca / r->rails, rail = ca % r->rails;
        char desc[32];
        g_snprintf(desc, sizeof desc, "h%05u-r%u", host + 1, rail + 1);
        uint32_t leaf = host / r->per_leaf * r->rails + rail;
        generator_join(f, generator_add_ca(f, 0, ca, 1, desc), 1, r->first[LEAF] + leaf,
                       host % r->per_leaf + 1);
    }
}

static struct fabric *make(struct generator_spec *spec)
{
    struct rail r = {.links = 1, .core_links = 1};
    if (!parse(spec, &r) || !size(spec, &r))
        return NULL;
    struct fabric *f = fabric_create();
    for (unsigned level = LEAF; level <= CORE; level++)
        for (uint32_t i = 0; i < r.count[level]; i++)
            generator_add_switch(f, level, i, r.nports[level]);
    add_hosts(f, &r);
    join_leaves(f, &r);
    join_spines(f, &r);
    for (unsigned level = LEAF; r.aggregation && level <= CORE; level++)
        for (uint32_t i = 0; i < r.count[level]; i++)
            generator_join(f, generator_add_ca(f, level, i, 1, "Aggregation Node"), 1,
                           r.first[level] + i, r.nports[level]);
    return f;
}

const struct generator generator_rail = {
    .about = {"rail", "rail:HOSTS:RAILS:HOSTS_PER_LEAF:SPINES[:LINKS[:CORES[:CORE_LINKS]]][:an]",
              "rail:140:8:20:10:2:7:2:an", "1,120 CAs of 140 hosts, 206 switches"},
    .min_fields = 4,
    .max_fields = 8,
    .make = make,
};
