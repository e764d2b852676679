/* SPDX-License-Identifier: BSD-2-Clause */
/* world: runs of the whole cluster in one process, from seeds. See README.md. */
#include "tests/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "fabric/generate.h"

#define CONVERGE_MS 90000u /* after the last fault: several light sweeps */
#define CONVERGE_STEP_MS 250u

static const char *const fabrics[] = {
    "pgft:2:3,3:1,2:1,1",       "pgft:2:2,4:1,2:1,2",       "pgft:2:4,3:1,3:1,1",
    "pgft:3:2,2,2:1,2,2:1,1,1", "pgft:3:2,2,3:1,2,1:1,1,1", "pgft:2:6,2:1,1:1,3",
};

struct options {
    uint64_t seed, runs, seconds;
    bool verbose, calm;
};

static void violation(void *user, const char *text)
{
    world_fail(user, "%s", text);
}

/* Shards on different leaves as long as there are some. */
static void place_shards(struct world *w)
{
    GArray *hosts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < w->fabric->node_count; i++)
        if (w->fabric->nodes[i].type == FABRIC_CA)
            g_array_append_val(hosts, i);
    guint start = world_random(w, 0, hosts->len - 1);
    guint stride = MAX(1u, hosts->len / (guint)w->shards);
    for (int i = 1; i <= w->shards; i++)
        w->process[i].node =
            g_array_index(hosts, uint32_t, (start + (guint)(i - 1) * stride) % hosts->len);
    g_array_free(hosts, TRUE);
}

static void process_create(struct world *w, int i)
{
    struct process *p = &w->process[i];
    uint8_t seed[crypto_box_SEEDBYTES] = {(uint8_t)(i + 1)};
    p->index = i;
    snprintf(p->name, sizeof p->name, i == WORLD_COORDINATOR ? "coord" : "shard%d", i);
    crypto_box_seed_keypair(p->public_key, p->secret_key, seed);
    g_queue_init(&p->inbox);
    p->store = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                                     (GDestroyNotify)g_bytes_unref);
    p->epochs = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

static void process_destroy(struct process *p)
{
    if (p->shard != NULL)
        shard_core_destroy(p->shard);
    if (p->coord != NULL)
        coord_core_destroy(p->coord);
    g_queue_clear_full(&p->inbox, world_task_free);
    g_hash_table_destroy(p->store);
    g_hash_table_destroy(p->epochs);
}

static void world_create(struct world *w, uint64_t seed, bool verbose)
{
    char error[256];
    guint32 seeds[2] = {(guint32)seed, (guint32)(seed >> 32)};
    *w = (struct world){.seed = seed, .now_ms = 1000, .verbose = verbose, .net_delay_ms = 2};
    w->rand = g_rand_new_with_seed_array(seeds, 2);
    w->queue = g_sequence_new(world_task_free);
    w->shards = (int)world_random(w, 2, WORLD_MAX_SHARDS);
    g_strlcpy(w->fabric_spec, fabrics[world_random(w, 0, G_N_ELEMENTS(fabrics) - 1)],
              sizeof w->fabric_spec);
    w->fabric = fabric_generate(w->fabric_spec, error, sizeof error);
    g_assert(w->fabric != NULL);
    w->sim = sim_fabric_create(w->fabric,
                               &(struct sim_fabric_callbacks){w, shard_mad_arrives, violation});
    w->acted = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    w->acted_since = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    for (int i = 0; i <= w->shards; i++)
        process_create(w, i);
    w->coordinators = g_ptr_array_new();
    w->operators = g_ptr_array_new();
    g_ptr_array_add(w->coordinators, w->process[WORLD_COORDINATOR].name);
    place_shards(w);
    ledger_create(w);
}

static void world_destroy(struct world *w)
{
    for (int i = 0; i <= w->shards; i++)
        process_destroy(&w->process[i]);
    g_sequence_free(w->queue);
    sim_fabric_destroy(w->sim);
    fabric_destroy(w->fabric);
    ledger_destroy(w);
    g_hash_table_destroy(w->acted);
    g_hash_table_destroy(w->acted_since);
    g_ptr_array_free(w->coordinators, TRUE);
    g_ptr_array_free(w->operators, TRUE);
    g_rand_free(w->rand);
}

static void converge(struct world *w)
{
    uint64_t began = w->now_ms;
    while (!w->failed && w->now_ms < began + CONVERGE_MS) {
        if (world_converged(w, NULL)) {
            world_log(w, "world", "converged %lu ms after the last fault", w->now_ms - began);
            return;
        }
        world_run_until(w, w->now_ms + CONVERGE_STEP_MS);
    }
    if (w->failed)
        return;
    world_fail(w, "not converged %u s after the last fault", CONVERGE_MS / 1000);
    world_converged(w, stdout);
}

static bool run(uint64_t seed, const struct options *o)
{
    struct world w;
    world_create(&w, seed, o->verbose);
    coord_start(&w);
    for (int i = 1; i <= w.shards && !w.failed; i++)
        shard_start(&w, i);
    if (!o->calm) {
        faults_start(&w);
        world_run_until(&w, w.now_ms + world_random(&w, 5000, 40000));
        faults_end(&w);
    }
    converge(&w);
    printf("seed %lu: %s, %d shards, %lu faults, %.1f s, %lu steps, %lu MADs, %lu Sets, %lu "
           "messages, %lu swaps: %s\n",
           seed, w.fabric_spec, w.shards, w.faults, (double)(w.now_ms - 1000) / 1000, w.steps,
           w.mads, w.sets, w.messages, w.swaps, w.failed ? "FAILED" : "ok");
    if (w.failed)
        printf("  at %.3f s: %s\n  replay: world --seed %lu --runs 1 --verbose%s\n",
               (double)w.now_ms / 1000, w.failure, seed, o->calm ? " --calm" : "");
    fflush(stdout);
    bool good = !w.failed;
    world_destroy(&w);
    return good;
}

static bool number(const char *text, uint64_t *value)
{
    return text != NULL && g_ascii_string_to_unsigned(text, 10, 0, UINT64_MAX, value, NULL);
}

static bool parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        uint64_t *value = NULL;
        if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = true;
        else if (strcmp(argv[i], "--calm") == 0)
            o->calm = true;
        else if (strcmp(argv[i], "--seed") == 0)
            value = &o->seed;
        else if (strcmp(argv[i], "--runs") == 0)
            value = &o->runs;
        else if (strcmp(argv[i], "--seconds") == 0)
            value = &o->seconds;
        else
            return false;
        if (value != NULL && !number(argv[++i], value))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.seed = 1, .runs = UINT64_MAX, .seconds = UINT64_MAX};
    uint64_t failures = 0, done = 0;
    if (!parse(argc, argv, &o) || sodium_init() < 0) {
        fprintf(stderr, "usage: world [--seed N] [--runs N] [--seconds S] [--verbose] [--calm]\n");
        return 2;
    }
    if (o.runs == UINT64_MAX && o.seconds == UINT64_MAX)
        o.runs = 10;
    int64_t end = g_get_monotonic_time();
    end = o.seconds > 1000000 ? INT64_MAX : end + (int64_t)o.seconds * 1000000;
    for (; done < o.runs && g_get_monotonic_time() < end; done++)
        failures += !run(o.seed + done, &o);
    printf("%lu runs, %lu failed\n", done, failures);
    return failures == 0 ? 0 : 1;
}
