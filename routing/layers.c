/* SPDX-License-Identifier: BSD-2-Clause */
/* sssp, dfsssp and lash: trees first, virtual lanes afterwards.
 *
 * sssp: a balanced tree for each LID (trees.h), on one VL; may have credit loops. dfsssp: the same
 * trees; each path, from a switch to a LID, then goes to the first layer whose dependencies stay
 * without cycles with it (Domke, Hoefler and Nagel, "Deadlock-free oblivious routing for arbitrary
 * topologies", IPDPS 2011, with its layers filled one path after the other). lash: one tree for
 * each destination switch, and pairs of switches are put into layers in the same way (Skeie, Lysne
 * and Theiss, "Layered shortest path routing in system area networks", IPDPS 2002).
 *
 * A layer is one SL and one VL. Nothing is drawn by lot: a restart gives the same layers. They
 * depend on the tables alone, so they can also be made of tables whose columns several processes
 * have made, each knowing nothing of the loads of the others (rt_options.part, .parts). Such a
 * share has no layers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "routing/trees.h"

#define MAX_LAYERS 15u /* data VLs, IBA 7.6.4 */

struct layering {
    struct rt_table_plan *plan;
    struct rt_trees trees;
    struct rt_acyclic layers[MAX_LAYERS];
    unsigned used, allowed;
};

/* Whether the path from s along the present tree fits into this layer. */
static bool fits(struct layering *l, unsigned layer, uint32_t s)
{
    const struct rt_graph *g = l->trees.g;
    struct rt_acyclic *a = &l->layers[layer];
    g_array_set_size(a->journal, 0);
    for (uint32_t channel = l->trees.toward[s]; channel != RT_NONE;) {
        uint32_t next = g->groups[channel].peer, beyond = l->trees.toward[next];
        if (beyond != RT_NONE && !rt_acyclic_add(a, channel, rt_slot(g, next, beyond))) {
            rt_acyclic_back(a, 0);
            return false;
        }
        channel = beyond;
    }
    return true;
}

/* The first layer that takes the path; `allowed` when none does. */
static unsigned find_layer(struct layering *l, uint32_t s)
{
    for (unsigned layer = 0; layer < l->allowed; layer++) {
        if (layer == l->used) {
            rt_acyclic_init(&l->layers[layer], l->trees.g, l->trees.reverse);
            l->used++;
        }
        if (fits(l, layer, s))
            return layer;
    }
    return l->allowed;
}

/* Layers for all sources of the present tree. */
static bool put_into_layers(struct layering *l, uint32_t column)
{
    const struct rt_graph *g = l->trees.g;
    uint8_t *sl = l->plan->pair_sl + (size_t)column * g->switch_count;
    for (uint32_t i = 1; i < l->trees.settled; i++) {
        uint32_t s = l->trees.order[i];
        unsigned layer = find_layer(l, s);
        if (layer == l->allowed)
            return false;
        sl[s] = (uint8_t)layer;
    }
    return true;
}

static uint32_t switch_of(const struct rt_table_plan *p, uint32_t column)
{
    return p->plan.graph->dests[p->columns.all[column].dest].sw;
}

/* Layers for all columns; lash has one tree for each switch. */
static bool fill_layers(struct layering *l, bool each_lid)
{
    struct rt_table_plan *p = l->plan;
    uint32_t n = p->plan.graph->switch_count;
    g_autofree uint32_t *port_channels = rt_port_channels(p->plan.graph);
    for (uint32_t c = 0; c < p->columns.count; c++) {
        if (!each_lid && c > 0 && switch_of(p, c - 1) == switch_of(p, c)) {
            memcpy(p->pair_sl + (size_t)c * n, p->pair_sl + (size_t)(c - 1) * n, n);
            continue;
        }
        rt_trees_follow(&l->trees, p, c, port_channels);
        if (!put_into_layers(l, c))
            return false;
    }
    return true;
}

bool rt_layers_make(struct rt_table_plan *p, unsigned allowed, bool each_lid)
{
    struct layering l = {.plan = p, .allowed = CLAMP(allowed, 1, MAX_LAYERS)};
    rt_trees_init(&l.trees, p->plan.graph);
    p->pair_sl = g_malloc0((size_t)p->columns.count * p->plan.graph->switch_count + 1);
    bool good = fill_layers(&l, each_lid);
    p->plan.properties = (struct rt_properties){.vls = MAX(l.used, 1)};
    for (unsigned i = 0; i < l.used; i++)
        rt_acyclic_clear(&l.layers[i]);
    rt_trees_clear(&l.trees);
    return good;
}

/* each_lid: a tree for each LID, else one for each switch, which all its LIDs use. */
static struct rt_table_plan *grow_all(struct rt_graph *graph, const struct rt_options *options,
                                      bool each_lid)
{
    g_autofree bool *mine = rt_share_switches(graph, options);
    struct rt_table_plan *p = rt_table_plan_create_share(graph, mine);
    struct rt_trees trees;
    rt_trees_init(&trees, graph);
    for (uint32_t c = 0; c < p->columns.count; c++) {
        uint32_t x = switch_of(p, c);
        if (mine && !mine[x])
            continue;
        if (each_lid || c == 0 || switch_of(p, c - 1) != x) {
            rt_trees_start(&trees, x);
            rt_trees_grow(&trees, NULL);
        }
        rt_trees_write(&trees, p, c);
        rt_trees_count(&trees);
    }
    rt_trees_clear(&trees);
    p->plan.properties = (struct rt_properties){.vls = 0};
    return p;
}

static int sssp_prepare(struct rt_graph *graph, const struct rt_options *options,
                        struct rt_plan **plan, char *error, size_t error_size)
{
    *plan = &grow_all(graph, options, true)->plan;
    return 0;
}

static int layered_prepare(struct rt_graph *graph, const struct rt_options *options, bool each_lid,
                           struct rt_plan **plan, char *error, size_t error_size)
{
    struct rt_table_plan *p = grow_all(graph, options, each_lid);
    unsigned allowed = CLAMP(options ? options->max_vls : 1, 1, MAX_LAYERS);
    bool share = options && options->parts > 0;
    if (share || rt_layers_make(p, allowed, each_lid)) {
        *plan = &p->plan;
        return 0;
    }
    rt_plan_destroy(&p->plan);
    snprintf(error, error_size,
             "%s needs more than %u virtual lanes for this fabric; allow more, or use nue, which "
             "does with any number",
             each_lid ? "dfsssp" : "lash", allowed);
    return ENOTSUP;
}

static int dfsssp_prepare(struct rt_graph *graph, const struct rt_options *options,
                          struct rt_plan **plan, char *error, size_t error_size)
{
    return layered_prepare(graph, options, true, plan, error, error_size);
}

static int lash_prepare(struct rt_graph *graph, const struct rt_options *options,
                        struct rt_plan **plan, char *error, size_t error_size)
{
    return layered_prepare(graph, options, false, plan, error, error_size);
}

const struct rt_engine rt_sssp = {
    .name = "sssp",
    .summary = "balanced least hops, any connected fabric; may have credit loops",
    .prepare = sssp_prepare,
};

const struct rt_engine rt_dfsssp = {
    .name = "dfsssp",
    .summary = "sssp with its paths spread over VLs, so that none has a credit loop",
    .prepare = dfsssp_prepare,
};

const struct rt_engine rt_lash = {
    .name = "lash",
    .summary = "least hops, pairs of switches spread over VLs without credit loops",
    .prepare = lash_prepare,
};
