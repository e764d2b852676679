/* SPDX-License-Identifier: BSD-2-Clause */
/* Generators of fabrics: parallel-ports generalised fat trees. */
#include "fabric/generate.h"

#include <glib.h>
#include <string.h>

#include "base/parse.h"

#define MAX_LEVELS 8
#define MAX_FACTOR FABRIC_MAX_PORTS
#define MAX_LIDS 49151 /* unicast LIDs: 0x0001 to 0xBFFF */
#define EXAMPLE "pgft:3:16,16,8:1,16,4:1,1,1"

/* Index 0 of m, w, p is unused: level i of the paper is [i]. */
struct pgft {
    unsigned height;
    uint32_t m[MAX_LEVELS + 2], w[MAX_LEVELS + 2], p[MAX_LEVELS + 2];
    uint32_t count[MAX_LEVELS + 1]; /* nodes of each level */
    uint32_t first[MAX_LEVELS + 1]; /* number of its first node in the fabric */
    uint32_t width[MAX_LEVELS + 1]; /* w_1 * .. * w_i: nodes of level i that share a subtree */
};

bool fabric_is_generator(const char *spec)
{
    return g_str_has_prefix(spec, "pgft:");
}

static bool parse_factors(const char *text, unsigned height, const char *what, uint32_t *factors,
                          char *error, size_t error_size)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    if (g_strv_length(items) != height) {
        g_snprintf(error, error_size, "%s has %u values where %u levels need %u, as in %s", what,
                   g_strv_length(items), height, height, EXAMPLE);
        return false;
    }
    for (unsigned i = 0; i < height; i++) {
        uint64_t v;
        if (!parse_uint(items[i], 1, MAX_FACTOR, &v)) {
            g_snprintf(error, error_size, "%s of level %u is \"%.20s\": expected 1 to %d, as in %s",
                       what, i + 1, items[i], MAX_FACTOR, EXAMPLE);
            return false;
        }
        factors[i + 1] = v;
    }
    return true;
}

static bool parse_pgft(const char *spec, struct pgft *t, char *error, size_t error_size)
{
    g_auto(GStrv) parts = g_strsplit(spec, ":", -1);
    uint64_t height;
    if (g_strv_length(parts) != 5) {
        g_snprintf(error, error_size,
                   "expected pgft:LEVELS:CHILDREN,..:PARENTS,..:LINKS,.., as in %s", EXAMPLE);
        return false;
    }
    if (!parse_uint(parts[1], 1, MAX_LEVELS, &height)) {
        g_snprintf(error, error_size, "levels is \"%.20s\": expected 1 to %d, as in %s", parts[1],
                   MAX_LEVELS, EXAMPLE);
        return false;
    }
    t->height = height;
    return parse_factors(parts[2], t->height, "children (m)", t->m, error, error_size) &&
           parse_factors(parts[3], t->height, "parents (w)", t->w, error, error_size) &&
           parse_factors(parts[4], t->height, "links (p)", t->p, error, error_size);
}

/* Nodes of a level, or 0 when they are more than there can be LIDs. */
static uint32_t level_count(const struct pgft *t, unsigned level)
{
    uint64_t n = 1;
    for (unsigned i = 1; i <= t->height; i++) {
        n *= i <= level ? t->w[i] : t->m[i];
        if (n > MAX_LIDS)
            return 0;
    }
    return n;
}

static unsigned ports_of_level(const struct pgft *t, unsigned level)
{
    unsigned down = level ? t->m[level] * t->p[level] : 0;
    unsigned up = level < t->height ? t->w[level + 1] * t->p[level + 1] : 0;
    return down + up;
}

/* Fills count, first and width, and checks that such a subnet can exist. */
static bool size_pgft(struct pgft *t, char *error, size_t error_size)
{
    uint64_t lids = 0, nodes = 0;
    t->width[0] = 1;
    for (unsigned level = 0; level <= t->height; level++) {
        if (ports_of_level(t, level) > FABRIC_MAX_PORTS) {
            g_snprintf(error, error_size,
                       "a node of level %u%s would need %u ports, the limit is %d", level,
                       level ? "" : " (a host)", ports_of_level(t, level), FABRIC_MAX_PORTS);
            return false;
        }
        t->count[level] = level_count(t, level);
        lids += (uint64_t)t->count[level] * (level ? 1 : ports_of_level(t, 0));
        if (t->count[level] == 0 || lids > MAX_LIDS) {
            g_snprintf(error, error_size,
                       "the tree needs more than the %d LIDs of a subnet (each switch and each "
                       "host port needs one)",
                       MAX_LIDS);
            return false;
        }
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

static uint64_t guid_of(enum fabric_node_type type, unsigned level, uint32_t index)
{
    return 0x0248ull << 48 | (uint64_t)type << 40 | (uint64_t)level << 32 |
           ((uint64_t)index + 1) << 8;
}

static void add_level(struct fabric *f, const struct pgft *t, unsigned level)
{
    enum fabric_node_type type = level ? FABRIC_SWITCH : FABRIC_CA;
    for (uint32_t i = 0; i < t->count[level]; i++) {
        char desc[32];
        if (level)
            g_snprintf(desc, sizeof desc, "s%u-%05u", level, i + 1);
        else
            g_snprintf(desc, sizeof desc, "h%05u", i + 1);
        uint64_t guid = guid_of(type, level, i);
        uint32_t number = fabric_add_node(f, guid, type, ports_of_level(t, level), desc);
        g_assert(number == t->first[level] + i);
        f->nodes[number].sys_guid = guid;
    }
}

static void join(struct fabric *f, uint32_t child, unsigned up, uint32_t parent, unsigned down)
{
    int rc = fabric_connect(f, child, up, parent, down);
    g_assert(rc == 0);
    struct fabric_port *ends[] = {&f->nodes[child].ports[up], &f->nodes[parent].ports[down]};
    for (unsigned i = 0; i < 2; i++) {
        ends[i]->width = 2; /* 4x */
        ends[i]->speed = FABRIC_HDR;
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
                join(f, t->first[level - 1] + child, first_up + up + k * t->w[level] + 1,
                     t->first[level] + parent, digit + k * t->m[level] + 1);
        }
    }
}

struct fabric *fabric_generate(const char *spec, char *error, size_t error_size)
{
    struct pgft t = {0};
    char why[256] = "expected the name of a generator, as in " EXAMPLE;
    if (!fabric_is_generator(spec) || !parse_pgft(spec, &t, why, sizeof why) ||
        !size_pgft(&t, why, sizeof why)) {
        g_snprintf(error, error_size, "%.100s: %s", spec, why);
        return NULL;
    }
    struct fabric *f = fabric_create();
    for (unsigned level = 1; level <= t.height; level++)
        add_level(f, &t, level);
    add_level(f, &t, 0);
    for (unsigned level = 1; level <= t.height; level++)
        connect_level(f, &t, level);
    return f;
}
