/* SPDX-License-Identifier: BSD-2-Clause */
/* Parallel-ports generalised fat trees (Zahavi 2012). */
#include <string.h>

#include "fabric/generator.h"

#define MAX_LEVELS 8

/* Index 0 of m, w, p is unused: level i of the paper is [i]. */
struct pgft {
    unsigned height;
    uint32_t m[MAX_LEVELS + 2], w[MAX_LEVELS + 2], p[MAX_LEVELS + 2];
    uint32_t count[MAX_LEVELS + 1]; /* nodes of each level */
    uint32_t first[MAX_LEVELS + 1]; /* number of its first node in the fabric */
    uint32_t width[MAX_LEVELS + 1]; /* w_1 * .. * w_i: nodes of level i that share a subtree */
};

static bool parse_factors(struct generator_spec *spec, unsigned field, unsigned height,
                          const char *what, uint32_t *factors)
{
    g_auto(GStrv) items = g_strsplit(spec->fields[field], ",", -1);
    if (g_strv_length(items) != height)
        return generator_fail(spec, "%s has %u values where %u levels need %u, as in %s", what,
                              g_strv_length(items), height, height, spec->example);
    for (unsigned i = 1; i <= height; i++) {
        char name[40];
        g_snprintf(name, sizeof name, "%s of level %u", what, i);
        if (!generator_value(spec, items[i - 1], name, 1, FABRIC_MAX_PORTS, &factors[i]))
            return false;
    }
    return true;
}

static bool parse(struct generator_spec *spec, struct pgft *t)
{
    return generator_field(spec, 0, "levels", 1, MAX_LEVELS, &t->height) &&
           parse_factors(spec, 1, t->height, "children (m)", t->m) &&
           parse_factors(spec, 2, t->height, "parents (w)", t->w) &&
           parse_factors(spec, 3, t->height, "links (p)", t->p);
}

/* Nodes of a level; above GENERATOR_MAX_LIDS the number is only a lower bound. */
static uint64_t level_count(const struct pgft *t, unsigned level)
{
    uint64_t n = 1;
    for (unsigned i = 1; i <= t->height && n <= GENERATOR_MAX_LIDS; i++)
        n *= i <= level ? t->w[i] : t->m[i];
    return n;
}

static unsigned ports_of_level(const struct pgft *t, unsigned level)
{
    unsigned down = level ? t->m[level] * t->p[level] : 0;
    unsigned up = level < t->height ? t->w[level + 1] * t->p[level + 1] : 0;
    return down + up;
}

/* Fills count, first and width, and checks that such a subnet can exist. */
static bool size(struct generator_spec *spec, struct pgft *t)
{
    uint64_t lids = 0, nodes = 0;
    t->width[0] = 1;
    for (unsigned level = 0; level <= t->height; level++) {
        char node[40];
        g_snprintf(node, sizeof node, "a node of level %u%s", level, level ? "" : " (a host)");
        uint64_t count = level_count(t, level);
        lids += count * (level ? 1 : ports_of_level(t, 0));
        if (!generator_ports_fit(spec, node, ports_of_level(t, level)) ||
            !generator_lids_fit(spec, lids))
            return false;
        t->count[level] = count;
        if (level)
            t->width[level] = t->width[level - 1] * t->w[level];
    }
    for (unsigned level = 1; level <= t->height; level++) {
        t->first[level] = nodes;
        nodes += t->count[level];
    }
    t->first[0] = nodes;
    return true;
}

static void add_level(struct fabric *f, const struct pgft *t, unsigned level)
{
    for (uint32_t i = 0; i < t->count[level]; i++) {
        unsigned nports = ports_of_level(t, level);
        uint32_t number =
            level ? generator_add_switch(f, level, i, nports) : generator_add_host(f, i, nports);
        g_assert(number == t->first[level] + i);
    }
}

/* Joins all nodes of level - 1 to their parents. An index is b + width * a: b numbers the node
 * among those of its level over the same hosts, a that set of hosts. */
static void connect_level(struct fabric *f, const struct pgft *t, unsigned level)
{
    uint32_t below = t->width[level - 1];
    unsigned first_up = level > 1 ? t->m[level - 1] * t->p[level - 1] : 0;
    for (uint32_t child = 0; child < t->count[level - 1]; child++) {
        uint32_t b = child % below, a = child / below;
        uint32_t digit = a % t->m[level], subtree = a / t->m[level];
        for (uint32_t up = 0; up < t->w[level]; up++) {
            uint32_t parent = b + below * up + t->width[level] * subtree;
            for (uint32_t k = 0; k < t->p[level]; k++)
                generator_join(f, t->first[level - 1] + child, first_up + up + k * t->w[level] + 1,
                               t->first[level] + parent, digit + k * t->m[level] + 1);
        }
    }
}

static struct fabric *make(struct generator_spec *spec)
{
    struct pgft t = {0};
    if (!parse(spec, &t) || !size(spec, &t))
        return NULL;
    struct fabric *f = fabric_create();
    for (unsigned level = 1; level <= t.height; level++)
        add_level(f, &t, level);
    add_level(f, &t, 0);
    for (unsigned level = 1; level <= t.height; level++)
        connect_level(f, &t, level);
    return f;
}

const struct generator generator_pgft = {
    .about = {"pgft", "pgft:LEVELS:CHILDREN,..:PARENTS,..:LINKS,..", "pgft:3:16,16,8:1,16,4:1,1,1",
              "fat tree, 2,048 hosts, 320 switches"},
    .min_fields = 4,
    .max_fields = 4,
    .make = make,
};
