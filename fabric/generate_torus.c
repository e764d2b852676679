/* SPDX-License-Identifier: BSD-2-Clause */
/* Tori and meshes; hypercubes are meshes of 2 x 2 x .. */
#include "fabric/generator.h"

#define MAX_DIMENSIONS 15 /* 2^15 switches; 2^16 would be too many */

struct grid {
    unsigned dimensions;
    uint32_t size[MAX_DIMENSIONS];
    uint32_t hosts, links; /* of each switch; of each pair of neighbours */
    uint32_t switches;
};

static bool parse_sizes(struct generator_spec *spec, struct grid *g)
{
    g_auto(GStrv) items = g_strsplit(spec->fields[0], "x", -1);
    g->dimensions = g_strv_length(items);
    if (g->dimensions < 1 || g->dimensions > MAX_DIMENSIONS)
        return generator_fail(spec, "sizes has %u values: expected 1 to %d, as in %s",
                              g->dimensions, MAX_DIMENSIONS, spec->example);
    uint64_t switches = 1;
    for (unsigned d = 0; d < g->dimensions; d++) {
        char name[40];
        g_snprintf(name, sizeof name, "size of dimension %u", d + 1);
        if (!generator_value(spec, items[d], name, 2, GENERATOR_MAX_LIDS, &g->size[d]))
            return false;
        switches *= g->size[d];
        if (!generator_lids_fit(spec, switches))
            return false;
    }
    g->switches = switches;
    return true;
}

static unsigned ports_of(const struct grid *g)
{
    return 2 * g->dimensions * g->links + g->hosts;
}

/* Dimension d has the ports 1 + 2d (towards higher coordinates) and 2 + 2d (lower), so that the
 * lowest port of those on shortest paths is dimension order routing. */
static void join_dimension(struct fabric *f, const struct grid *g, unsigned d, uint32_t stride,
                           bool wraps)
{
    unsigned up = 1 + 2 * d, down = 2 + 2 * d;
    for (uint32_t s = 0; s < g->switches; s++) {
        uint32_t at = s / stride % g->size[d];
        bool last = at == g->size[d] - 1;
        if (last && !wraps)
            continue;
        uint32_t next = last ? s - at * stride : s + stride;
        for (uint32_t k = 0; k < g->links; k++) {
            unsigned behind = k * 2 * g->dimensions;
            generator_join(f, s, up + behind, next, down + behind);
        }
    }
}

static struct fabric *make(struct generator_spec *spec, bool wraps)
{
    struct grid g = {.links = 1};
    if (!parse_sizes(spec, &g) ||
        !generator_field(spec, 1, "hosts per switch", 1, FABRIC_MAX_PORTS, &g.hosts) ||
        !generator_field(spec, 2, "links", 1, FABRIC_MAX_PORTS, &g.links) ||
        !generator_ports_fit(spec, "a switch", ports_of(&g)) ||
        !generator_lids_fit(spec, g.switches + (uint64_t)g.switches * g.hosts))
        return NULL;
    struct fabric *f = fabric_create();
    for (uint32_t s = 0; s < g.switches; s++)
        generator_add_switch(f, 1, s, ports_of(&g));
    for (uint32_t h = 0; h < g.switches * g.hosts; h++)
        generator_join(f, generator_add_host(f, h, 1), 1, h / g.hosts,
                       2 * g.dimensions * g.links + h % g.hosts + 1);
    uint32_t stride = 1;
    for (unsigned d = 0; d < g.dimensions; d++) {
        join_dimension(f, &g, d, stride, wraps);
        stride *= g.size[d];
    }
    return f;
}

static struct fabric *make_torus(struct generator_spec *spec)
{
    return make(spec, true);
}

static struct fabric *make_mesh(struct generator_spec *spec)
{
    return make(spec, false);
}

const struct generator generator_torus = {
    .about = {"torus", "torus:SIZExSIZEx..:HOSTS_PER_SWITCH[:LINKS]", "torus:5x5x8:4",
              "800 hosts, 200 switches"},
    .min_fields = 2,
    .max_fields = 3,
    .make = make_torus,
};

const struct generator generator_mesh = {
    .about = {"mesh", "mesh:SIZExSIZEx..:HOSTS_PER_SWITCH[:LINKS]", "mesh:2x2x2x2:1",
              "a hypercube, 16 hosts, 16 switches"},
    .min_fields = 2,
    .max_fields = 3,
    .make = make_mesh,
};
