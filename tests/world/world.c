/* SPDX-License-Identifier: BSD-2-Clause */
/* world: runs of the whole cluster in one process, from seeds. See README.md. */
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#define CONVERGE_MS 90000u /* after the last fault: several light sweeps */
#define CONVERGE_STEP_MS 250u

struct options {
    uint64_t seed, runs, seconds;
    bool verbose, calm;
};

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
    world_create(&w, &(struct world_setup){.seed = seed, .verbose = o->verbose});
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
