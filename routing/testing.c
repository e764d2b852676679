/* SPDX-License-Identifier: BSD-2-Clause */
/* Fabrics for tests. */
#include "routing/testing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SWITCH_PORTS 64u

struct model *model_create(void)
{
    struct model *m = g_new0(struct model, 1);
    m->switches = g_array_new(FALSE, FALSE, sizeof(struct model_switch));
    m->links = g_array_new(FALSE, FALSE, sizeof(struct model_link));
    m->dests = g_array_new(FALSE, FALSE, sizeof(struct model_dest));
    return m;
}

void model_destroy(struct model *m)
{
    g_array_free(m->switches, TRUE);
    g_array_free(m->links, TRUE);
    g_array_free(m->dests, TRUE);
    g_free(m);
}

struct model_switch *model_switch(const struct model *m, uint32_t i)
{
    return &g_array_index(m->switches, struct model_switch, i);
}

struct model_dest *model_dest(const struct model *m, uint32_t i)
{
    return &g_array_index(m->dests, struct model_dest, i);
}

uint32_t model_add_switch(struct model *m, uint64_t guid)
{
    struct model_switch s = {.guid = guid, .nports = SWITCH_PORTS, .next_port = 1};
    g_array_append_val(m->switches, s);
    return m->switches->len - 1;
}

static unsigned take_port(struct model *m, uint32_t sw)
{
    struct model_switch *s = model_switch(m, sw);
    g_assert_cmpuint(s->next_port, <=, s->nports);
    return s->next_port++;
}

void model_cable(struct model *m, uint32_t a, uint32_t b, unsigned links)
{
    for (unsigned i = 0; i < links; i++) {
        struct model_link l = {.a = a, .b = b};
        l.port_a = take_port(m, a);
        l.port_b = take_port(m, b);
        g_array_append_val(m->links, l);
    }
}

uint32_t model_add_dest(struct model *m, uint32_t sw, enum rt_dest_kind kind, unsigned lmc)
{
    struct model_dest d = {.sw = sw,
                           .port = take_port(m, sw),
                           .guid = 0xC000000 + m->dests->len,
                           .lmc = lmc,
                           .kind = kind,
                           .present = true};
    g_array_append_val(m->dests, d);
    return m->dests->len - 1;
}

static uint32_t *shuffled(uint32_t n, uint32_t seed)
{
    uint32_t *order = g_new(uint32_t, n + 1);
    GRand *rand = g_rand_new_with_seed(seed);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; seed && i > 1; i--) {
        uint32_t j = g_rand_int_range(rand, 0, i), other = order[j];
        order[j] = order[i - 1];
        order[i - 1] = other;
    }
    g_rand_free(rand);
    return order;
}

void model_number(struct model *m, uint32_t seed)
{
    uint32_t switches = m->switches->len;
    g_autofree uint32_t *order = shuffled(switches + m->dests->len, seed);
    uint16_t next = 1 + seed % 7;
    for (uint32_t i = 0; i < switches + m->dests->len; i++) {
        uint32_t n = order[i];
        unsigned lmc = n < switches ? model_switch(m, n)->lmc : model_dest(m, n - switches)->lmc;
        if (n < switches)
            model_switch(m, n)->lid = next;
        else
            model_dest(m, n - switches)->lid = next;
        next += 1u << lmc;
    }
}

void model_damage(struct model *m, double probability, GRand *rand)
{
    for (guint i = m->links->len; i-- > 0;)
        if (g_rand_double(rand) < probability)
            g_array_remove_index(m->links, i);
}

static void add_numbers(const struct model *m, struct rt_builder *b,
                        const struct rt_graph *numbered, const uint32_t *numbers)
{
    for (uint32_t d = 0; numbers && d < numbered->dest_count; d++)
        if (numbers[d] != RT_NONE)
            g_assert_cmpint(rt_add_number(b, numbered->switches[numbered->dests[d].sw].guid,
                                          numbered->dests[d].port, numbers[d]),
                            ==, 0);
}

struct rt_graph *model_build(const struct model *m, uint32_t seed, const struct rt_graph *numbered,
                             const uint32_t *numbers)
{
    struct rt_builder *b = rt_builder_create();
    g_autofree uint32_t *switches = shuffled(m->switches->len, seed);
    g_autofree uint32_t *links = shuffled(m->links->len, seed);
    g_autofree uint32_t *dests = shuffled(m->dests->len, seed);
    for (guint i = 0; i < m->switches->len; i++) {
        const struct model_switch *s = model_switch(m, switches[i]);
        g_assert_cmpint(rt_add_switch(b, s->guid, s->nports, s->lid, s->lmc), ==, 0);
    }
    for (guint i = 0; i < m->links->len; i++) {
        const struct model_link *l = &g_array_index(m->links, struct model_link, links[i]);
        uint64_t a = model_switch(m, l->a)->guid, z = model_switch(m, l->b)->guid;
        bool turned = seed && links[i] % 2;
        int rc = turned ? rt_add_link(b, z, l->port_b, a, l->port_a)
                        : rt_add_link(b, a, l->port_a, z, l->port_b);
        g_assert_cmpint(rc, ==, 0);
    }
    for (guint i = 0; i < m->dests->len; i++) {
        const struct model_dest *d = model_dest(m, dests[i]);
        g_assert_cmpint(rt_add_dest(b, model_switch(m, d->sw)->guid, d->port, d->guid, d->lid,
                                    d->lmc, d->kind, d->present),
                        ==, 0);
    }
    add_numbers(m, b, numbered, numbers);
    struct rt_graph *g;
    g_assert_cmpint(rt_builder_finish(b, &g, NULL), ==, 0);
    return g;
}

/* -- shapes --------------------------------------------------------------------------------- */

struct model *model_tree(unsigned leaves, unsigned spines, unsigned links, unsigned hosts)
{
    struct model *m = model_create();
    for (unsigned i = 0; i < leaves + spines; i++)
        model_add_switch(m, 0x100 + i);
    for (unsigned l = 0; l < leaves; l++)
        for (unsigned s = 0; s < spines; s++)
            model_cable(m, l, leaves + s, links);
    for (unsigned l = 0; l < leaves; l++)
        for (unsigned h = 0; h < hosts; h++)
            model_add_dest(m, l, RT_DEST_HOST, 0);
    model_number(m, 0);
    return m;
}

static unsigned pick(GRand *rand, unsigned low, unsigned high)
{
    return g_rand_int_range(rand, low, high + 1);
}

static void add_random_switches(struct model *m, unsigned count, GRand *rand)
{
    for (unsigned i = 0; i < count; i++) /* GUIDs in an order that says nothing about the place */
        model_add_switch(m, (uint64_t)g_rand_int(rand) << 12 | m->switches->len | 0x1000);
}

static void make_random_tree(struct model *m, GRand *rand)
{
    unsigned pods = pick(rand, 1, 4), tops = pick(rand, 0, 4);
    add_random_switches(m, tops, rand);
    for (unsigned p = 0; p < pods; p++) {
        unsigned leaves = pick(rand, 1, 4), spines = pick(rand, 1, 3), links = pick(rand, 1, 2);
        uint32_t first = m->switches->len;
        add_random_switches(m, leaves + spines, rand);
        for (unsigned l = 0; l < leaves; l++) {
            for (unsigned s = 0; s < spines; s++)
                model_cable(m, first + l, first + leaves + s, links);
            for (unsigned h = pick(rand, 0, 4); h > 0; h--)
                model_add_dest(m, first + l, RT_DEST_HOST, pick(rand, 0, 3) == 0 ? 1 : 0);
        }
        for (unsigned s = 0; s < spines; s++)
            for (unsigned t = 0; t < tops; t++)
                if (pick(rand, 0, 2))
                    model_cable(m, first + leaves + s, t, 1);
    }
}

static void make_random_graph(struct model *m, GRand *rand)
{
    unsigned n = pick(rand, 1, 12);
    add_random_switches(m, n, rand);
    for (unsigned i = 1; i < n; i++)
        if (pick(rand, 0, 9)) /* else perhaps a piece of its own */
            model_cable(m, i, pick(rand, 0, i - 1), pick(rand, 1, 2));
    for (unsigned i = pick(rand, 0, 2 * n); n > 1 && i > 0; i--) {
        unsigned a = pick(rand, 0, n - 1), b = pick(rand, 0, n - 1);
        if (a != b)
            model_cable(m, a, b, 1);
    }
    for (unsigned i = 0; i < n; i++)
        for (unsigned h = pick(rand, 0, 2); h > 0; h--)
            model_add_dest(m, i, RT_DEST_HOST, 0);
}

struct model *model_random(GRand *rand)
{
    struct model *m = model_create();
    if (pick(rand, 0, 2))
        make_random_tree(m, rand);
    else
        make_random_graph(m, rand);
    for (uint32_t s = 0; s < m->switches->len; s++)
        if (pick(rand, 0, 3) == 0)
            model_add_dest(m, s, pick(rand, 0, 2) ? RT_DEST_AGGREGATION : RT_DEST_HOST, 0);
    for (uint32_t d = 0; d < m->dests->len; d++)
        model_dest(m, d)->present = pick(rand, 0, 9) != 0;
    if (pick(rand, 0, 1))
        model_damage(m, 0.15, rand);
    model_number(m, g_rand_int(rand));
    return m;
}

/* -- plans ---------------------------------------------------------------------------------- */

const char *const updown_engines[] = {"ftree", "updn", NULL};

struct rt_plan *plan_for(const char *engine, struct rt_graph *g)
{
    return plan_for_vls(engine, g, 1);
}

struct rt_plan *plan_for_vls(const char *engine, struct rt_graph *g, unsigned vls)
{
    struct rt_options options = {.max_vls = vls};
    struct rt_plan *p = NULL;
    char error[256] = "";
    if (rt_engine_find(engine)->prepare(g, &options, &p, error, sizeof error))
        g_error("%s: %s", engine, error);
    return p;
}

uint8_t *plan_tables(const struct rt_plan *p)
{
    const struct rt_graph *g = rt_plan_graph(p);
    size_t size = g->max_lid + 1u;
    uint8_t *bytes = g_malloc(size * g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        rt_plan_row(p, s, bytes + s * size, size);
    return bytes;
}

uint32_t test_seed(uint32_t fallback)
{
    const char *given = getenv("HEDDLE_SEED");
    uint32_t seed = given ? strtoul(given, NULL, 0) : fallback;
    printf("seed %u; repeat with HEDDLE_SEED=%u %s\n", seed, seed, program_invocation_short_name);
    return seed;
}
