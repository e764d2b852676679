/* SPDX-License-Identifier: BSD-2-Clause */
/* bench_change: what one fault costs an engine, from the new graph to the list of changed blocks.
 *
 *   bench_change [--engine NAME] [--threads N] [--count N] [--seed N] FABRIC
 *
 * COUNT faults (20) of each kind are picked by the seed: a link of a leaf, a link higher up, a
 * switch above the leaves that loses all its links, a host that vanishes. Numbers are kept from
 * the plan before, as a shard keeps them. One line a kind: the median and the greatest of the wall
 * clock and the processor time of prepare() and rt_changed_blocks together, and how many blocks. */
#include <getopt.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pool.h"
#include "fabric/fabric.h"
#include "fabric/read.h"
#include "routing/change.h"
#include "routing/order.h"

enum kind { LEAF_LINK, UPPER_LINK, UPPER_SWITCH, HOST, KINDS };
static const char *const kind_names[KINDS] = {"leaf link", "upper link", "upper switch", "host"};

struct fault {
    uint32_t sw;    /* RT_NONE = none */
    uint8_t port;   /* of a link or host; 0 = all links of the switch */
    bool is_absent; /* the port's host is away: nothing else changes */
};

struct bench {
    struct rt_graph *graph;
    struct rt_plan *before;
    const struct rt_engine *engine;
    struct rt_options options;
    struct rt_orders orders;
    GRand *rand;
    unsigned count;
};

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool is_hit(const struct fault *f, uint32_t sw, uint8_t port)
{
    return !f->is_absent && f->sw == sw && (f->port == port || f->port == 0);
}

static void add_links(struct rt_builder *b, const struct rt_graph *g, const struct fault *f)
{
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
            const struct rt_group *group = &g->groups[g->switches[s].first_group + k];
            for (uint32_t i = 0; i < group->link_count; i++) {
                const struct rt_link *l = &g->links[group->first_link + i];
                if (s < l->peer && !is_hit(f, s, l->port) && !is_hit(f, l->peer, l->peer_port))
                    rt_add_link(b, g->switches[s].guid, l->port, g->switches[l->peer].guid,
                                l->peer_port);
            }
        }
}

/* The graph after a fault, with the numbers of the plan before it. */
static struct rt_graph *after_fault(const struct bench *b, const struct fault *f)
{
    const struct rt_graph *g = b->graph;
    const uint32_t *numbers = rt_plan_numbers(b->before);
    struct rt_builder *builder = rt_builder_create();
    struct rt_graph *after = NULL;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_dest *own = &g->dests[g->switches[s].first_dest];
        rt_add_switch(builder, g->switches[s].guid, g->switches[s].nports, own->lid, own->lmc);
    }
    for (uint32_t d = 0; d < g->dest_count; d++) {
        const struct rt_dest *e = &g->dests[d];
        bool absent = f->is_absent && f->sw == e->sw && f->port == e->port;
        if (e->port)
            rt_add_dest(builder, g->switches[e->sw].guid, e->port, e->port_guid, e->lid, e->lmc,
                        e->kind, e->present && !absent);
        if (numbers && numbers[d] != RT_NONE)
            rt_add_number(builder, g->switches[e->sw].guid, e->port, numbers[d]);
    }
    add_links(builder, g, f);
    if (rt_builder_finish(builder, &after, NULL))
        g_error("a graph could not be built again");
    return after;
}

static uint32_t pick_switch(const struct bench *b, bool leaf)
{
    for (;;) {
        uint32_t s = g_rand_int_range(b->rand, 0, (gint32)b->graph->switch_count);
        if (b->orders.leaf[s] == leaf)
            return s;
    }
}

static struct fault pick(const struct bench *b, enum kind kind)
{
    const struct rt_graph *g = b->graph;
    struct fault f = {.sw = pick_switch(b, kind == LEAF_LINK || kind == HOST)};
    const struct rt_switch *s = &g->switches[f.sw];
    if (kind == HOST) {
        f.is_absent = true;
        f.port = g->dests[s->first_dest + s->dest_count - 1].port;
    } else if (kind != UPPER_SWITCH && s->group_count > 0) {
        uint32_t k = s->first_group + g_rand_int_range(b->rand, 0, (gint32)s->group_count);
        if (kind == UPPER_LINK) /* the one of its neighbours that is highest in the order */
            for (uint32_t i = s->first_group; i < s->first_group + s->group_count; i++)
                if (b->orders.rank[g->groups[i].peer] > b->orders.rank[g->groups[k].peer])
                    k = i;
        f.port = g->links[g->groups[k].first_link].port;
    }
    return f;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run_kind(struct bench *b, enum kind kind)
{
    g_autofree double *wall = g_new(double, b->count), *cpu = g_new(double, b->count);
    g_autofree double *blocks = g_new(double, b->count);
    char error[256] = "";
    for (unsigned i = 0; i < b->count; i++) {
        struct fault f = pick(b, kind);
        struct rt_graph *g = after_fault(b, &f);
        struct rt_plan *after;
        double wall_start = clock_ms(CLOCK_MONOTONIC);
        double cpu_start = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        if (b->engine->prepare(g, &b->options, &after, error, sizeof error)) {
            fprintf(stderr, "bench_change: %s: %s\n", kind_names[kind], error);
            return 1;
        }
        GArray *changed = rt_changed_blocks(b->before, after, &b->options);
        wall[i] = clock_ms(CLOCK_MONOTONIC) - wall_start;
        cpu[i] = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
        blocks[i] = changed->len;
        g_array_free(changed, TRUE);
        rt_plan_destroy(after);
        rt_graph_unref(g);
    }
    double *all[] = {wall, cpu, blocks};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        qsort(all[i], b->count, sizeof *all[i], by_value);
    unsigned middle = b->count / 2, last = b->count - 1;
    printf("%s %s: wall %.1f ms, at most %.1f; CPU %.1f ms, at most %.1f; blocks %.0f, at most "
           "%.0f\n",
           b->engine->name, kind_names[kind], wall[middle], wall[last], cpu[middle], cpu[last],
           blocks[middle], blocks[last]);
    fflush(stdout);
    return 0;
}

static struct rt_graph *load(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    struct rt_graph *g = NULL;
    for (size_t i = 0; !f && i < fabric_messages_total(messages); i++)
        fprintf(stderr, "%s\n", fabric_messages_text(messages, i));
    fabric_messages_destroy(messages);
    if (f && rt_graph_from_fabric(f, &g, NULL))
        fprintf(stderr, "bench_change: %s cannot be made a graph\n", spec);
    fabric_destroy(f);
    return g;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_change [--engine NAME] [--threads N] [--count N] [--seed N] "
                    "FABRIC\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"engine", required_argument, NULL, 'e'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"count", required_argument, NULL, 'n'},
                                            {"seed", required_argument, NULL, 's'},
                                            {0}};
    struct bench b = {.engine = rt_engine_find("ftree"), .count = 20};
    unsigned threads = 0, seed = 1;
    char error[256] = "";
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'e' && rt_engine_find(optarg))
            b.engine = rt_engine_find(optarg);
        else if (c == 't')
            threads = strtoul(optarg, NULL, 10);
        else if (c == 'n')
            b.count = MAX(strtoul(optarg, NULL, 10), 1);
        else if (c == 's')
            seed = strtoul(optarg, NULL, 10);
        else
            return usage();
    }
    if (optind + 1 != argc)
        return usage();
    b.graph = load(argv[optind]);
    if (!b.graph)
        return 1;
    struct pool *pool = pool_create(threads);
    b.options = (struct rt_options){.parallel = pool_run, .pool = pool};
    b.rand = g_rand_new_with_seed(seed);
    rt_orders_make(b.graph, &b.options, false, &b.orders);
    int rc = b.engine->prepare(b.graph, &b.options, &b.before, error, sizeof error);
    if (rc)
        fprintf(stderr, "bench_change: %s\n", error);
    for (enum kind kind = 0; rc == 0 && kind < KINDS; kind++)
        rc = run_kind(&b, kind);
    rt_plan_destroy(b.before);
    rt_orders_clear(&b.orders);
    g_rand_free(b.rand);
    pool_destroy(pool);
    rt_graph_unref(b.graph);
    return rc != 0;
}
