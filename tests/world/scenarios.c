/* SPDX-License-Identifier: BSD-2-Clause */
/* scenarios: named stories of the whole cluster under the virtual clock. See README.md. */
#include "tests/world/scenarios.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "fabric/generate.h"

#define STEP_MS 50u
#define SEED 7u
#define SPARE_GUID 0x0248010000f00000u

/* -- time ------------------------------------------------------------------------------------ */

void story_run(struct world *w, uint32_t ms)
{
    world_run_until(w, w->now_ms + ms);
}

bool story_until(struct world *w, uint32_t limit_ms, bool (*done)(struct world *w))
{
    uint64_t end = w->now_ms + limit_ms;
    while (!w->failed && w->now_ms < end) {
        if (done(w))
            return true;
        story_run(w, STEP_MS);
    }
    return !w->failed && done(w);
}

static bool is_whole(struct world *w)
{
    return world_converged(w, NULL);
}

uint64_t story_whole(struct world *w, uint32_t limit_ms, const char *why)
{
    uint64_t began = w->now_ms;
    if (!w->failed && !story_until(w, limit_ms, is_whole) && !w->failed) {
        world_fail(w, "not whole %u ms after: %s", limit_ms, why);
        world_converged(w, stdout);
    }
    world_log(w, "story", "whole after %lu ms: %s", w->now_ms - began, why);
    return w->now_ms - began;
}

void story_start(struct world *w)
{
    coord_start(w);
    for (int i = 1; i <= w->shards && !w->failed; i++)
        shard_start(w, i);
}

uint64_t story_bring_up(struct world *w)
{
    story_start(w);
    return story_whole(w, UP_MS, "bring-up");
}

/* -- who is where ---------------------------------------------------------------------------- */

uint32_t story_node(const struct world *w, const char *name)
{
    uint32_t node = fabric_find_desc(w->fabric, name);
    g_assert(node != FABRIC_NONE);
    return node;
}

static bool has_shard(const struct world *w, uint32_t node)
{
    for (int i = 1; i <= w->shards; i++)
        if (w->process[i].node == node)
            return true;
    return false;
}

uint32_t story_host(const struct world *w, unsigned k)
{
    for (uint32_t i = 0; i < w->fabric->node_count; i++)
        if (w->fabric->nodes[i].type == FABRIC_CA && !has_shard(w, i) && k-- == 0)
            return i;
    g_assert_not_reached();
}

uint32_t story_leaf(const struct world *w, uint32_t host, unsigned *port)
{
    const struct fabric_port *p = &w->fabric->nodes[host].ports[1];
    *port = p->peer_port;
    return p->peer_node;
}

static const Heddle__Domain *domain_of(const struct world *w, uint32_t node)
{
    const Heddle__Assignment *a = w->ledger.assignment;
    for (size_t i = 0; a != NULL && i < a->n_domains; i++)
        for (size_t k = 0; k < a->domains[i]->n_switches; k++)
            if (a->domains[i]->switches[k] == w->fabric->nodes[node].guid)
                return a->domains[i];
    return NULL;
}

int story_owner(const struct world *w, uint32_t node)
{
    const Heddle__Domain *d = domain_of(w, node);
    for (int i = 1; d != NULL && i <= w->shards; i++)
        if (strcmp(w->process[i].name, d->owner) == 0)
            return i;
    return 0;
}

uint32_t story_domain(const struct world *w, uint32_t node)
{
    const Heddle__Domain *d = domain_of(w, node);
    return d != NULL ? d->id : VIEW_NO_DOMAIN;
}

bool story_problem(struct world *w, const char *part)
{
    const Heddle__Status *s = coord_ask_status(w);
    for (size_t i = 0; s != NULL && i < s->n_problems; i++)
        if (strstr(s->problems[i], part) != NULL)
            return true;
    return false;
}

const struct view_end_port *story_seen(const struct world *w, int process, uint32_t host)
{
    const struct fabric_node *n = &w->fabric->nodes[host];
    const struct process *p = &w->process[process];
    return p->shard != NULL ? view_end_port(shard_core_view(p->shard), n->guid, 1) : NULL;
}

uint64_t story_mads(const struct world *w)
{
    return w->mads;
}

struct sim_counters story_counters(const struct world *w)
{
    return sim_fabric_counters(w->sim, FABRIC_NONE);
}

/* -- running --------------------------------------------------------------------------------- */

static struct fabric *make_fabric(const struct scenario *s)
{
    char error[256], name[16];
    struct fabric *f = fabric_generate(s->fabric, error, sizeof error);
    g_assert(f != NULL);
    for (unsigned i = 1; i <= s->spares; i++) {
        snprintf(name, sizeof name, "spare%u", i);
        fabric_add_node(f, SPARE_GUID + i * 0x100u, FABRIC_CA, 1, name);
    }
    return f;
}

static bool run(const struct scenario *s, unsigned variant, uint64_t seed, bool verbose)
{
    struct world w;
    int64_t began = g_get_monotonic_time();
    world_create(
        &w, &(struct world_setup){
                .seed = seed, .verbose = verbose, .fabric = make_fabric(s), .shards = s->shards});
    w.variant = variant;
    for (unsigned i = 1; i <= s->spares; i++) /* without a cable they are no part of it */
        sim_fabric_leave_out(w.sim, w.fabric->node_count - i, true);
    s->run(&w);
    if (w.failed || (variant + 1 >= s->variants && seed == SEED))
        printf("%-28s %s, %d shards, %.1f s, %lu MADs, %lu Sets: %s (%.2f s)\n", s->name, s->fabric,
               s->shards, (double)(w.now_ms - 1000) / 1000, w.mads, w.sets,
               w.failed ? "FAILED" : "ok", (double)(g_get_monotonic_time() - began) / 1e6);
    if (w.failed)
        printf("  variant %u at %.3f s: %s\n  replay: scenarios --verbose --seed %lu %s\n", variant,
               (double)w.now_ms / 1000, w.failure, seed, s->name);
    fflush(stdout);
    bool good = !w.failed;
    world_destroy(&w);
    return good;
}

static bool tell(const struct scenario *s, uint64_t seed, bool verbose)
{
    bool good = true;
    for (unsigned k = 0; good && k < MAX(s->variants, 1u); k++)
        good = run(s, k, seed, verbose);
    return good;
}

struct options {
    bool verbose;
    uint64_t seed, seeds; /* of the world's chance: delays, which host is whose */
    char **names;
    int name_count;
};

static bool parse(int argc, char **argv, struct options *o)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        bool one = strcmp(argv[i], "--seed") == 0;
        if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = true;
        else if (i + 1 < argc && (one || strcmp(argv[i], "--seeds") == 0)) {
            if (!g_ascii_string_to_unsigned(argv[++i], 10, 1, UINT32_MAX,
                                            one ? &o->seed : &o->seeds, NULL))
                return false;
        } else
            return false;
    }
    o->names = argv + i;
    o->name_count = argc - i;
    return true;
}

static bool wanted(const struct scenario *s, const struct options *o)
{
    for (int i = 0; i < o->name_count; i++)
        if (strcmp(o->names[i], s->name) == 0)
            return true;
    return o->name_count == 0;
}

int main(int argc, char **argv)
{
    const struct scenario *const sets[] = {scenarios_odd, scenarios_change, scenarios_cluster};
    struct options o = {.seed = SEED, .seeds = 1};
    int done = 0, failed = 0;
    bool usage = !parse(argc, argv, &o) || sodium_init() < 0;
    for (size_t i = 0; !usage && i < G_N_ELEMENTS(sets); i++) {
        for (const struct scenario *s = sets[i]; s->name != NULL; s++) {
            if (!wanted(s, &o))
                continue;
            done++;
            for (uint64_t k = 0; k < o.seeds; k++)
                failed += !tell(s, o.seed + k, o.verbose);
        }
    }
    if (usage || done == 0) {
        fprintf(stderr, "usage: scenarios [--verbose] [--seed N] [--seeds N] [NAME...]\n");
        return 2;
    }
    printf("%d scenarios, %d failed\n", done, failed);
    return failed == 0 ? 0 : 1;
}
