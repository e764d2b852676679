/* SPDX-License-Identifier: BSD-2-Clause */
/* bench_route: times an engine on fabrics, checks what it made, and measures how even it is.
 *
 *   bench_route [--engine NAME] [--vls N] [--threads N] [--repeat N] [--remove PERCENT[:SEED]]
 *               [--check] [--measure] FABRIC ...
 *   bench_route --lfts FILE [--sls FILE] FABRIC
 *   bench_route --remove PERCENT[:SEED] --save FILE FABRIC
 *
 * FABRIC is a file or a generator (fabric/generate.h). One line a fabric and engine: medians over
 * the repetitions (1), wall clock and processor time of all threads. --lfts checks and measures
 * tables that were read back from switches (route_given.h); --save writes the fabric without the
 * links that --remove takes away. */
#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/pool.h"
#include "bench/route_given.h"
#include "fabric/fabric.h"
#include "fabric/read.h"
#include "fabric/write.h"
#include "routing/check.h"
#include "routing/metrics.h"

struct settings {
    const char *engine; /* NULL = all */
    double remove_percent;
    unsigned seed, vls, threads, repeat;
    bool check, measure;
    const char *lfts, *sls, *save; /* files, NULL = not asked for */
};

struct moment {
    double wall_ms, cpu_ms; /* cpu: of all threads; other programs on the machine do not count */
};

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct moment now(void)
{
    return (struct moment){clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_PROCESS_CPUTIME_ID)};
}

static struct fabric *load(const char *spec)
{
    struct fabric_messages *messages = fabric_messages_create();
    struct fabric *f = fabric_load(spec, messages);
    for (size_t i = 0; !f && i < fabric_messages_total(messages); i++)
        fprintf(stderr, "%s\n", fabric_messages_text(messages, i));
    fabric_messages_destroy(messages);
    return f;
}

/* Takes a share of the links between switches away. */
static void remove_links(struct fabric *f, const struct settings *s)
{
    GRand *rand = g_rand_new_with_seed(s->seed);
    for (uint32_t n = 0; n < f->node_count; n++)
        for (unsigned p = 1; p <= f->nodes[n].nports; p++) {
            uint32_t peer = f->nodes[n].ports[p].peer_node;
            if (peer == FABRIC_NONE || peer <= n || f->nodes[n].type != FABRIC_SWITCH ||
                f->nodes[peer].type != FABRIC_SWITCH)
                continue;
            if (g_rand_double(rand) * 100 < s->remove_percent)
                fabric_disconnect(f, n, p);
        }
    g_rand_free(rand);
}

static void report_check(const struct rt_plan *plan, const struct rt_tables *t)
{
    struct rt_lanes lanes;
    double start = now().wall_ms;
    rt_plan_lanes(plan, &lanes);
    route_given_check(rt_plan_graph(plan), t, &lanes);
    printf(" check %.0f ms", now().wall_ms - start);
}

/* The most memory that the process had so far, in KiB. */
static unsigned long peak_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (unsigned long)use.ru_maxrss;
}

struct filling {
    const struct rt_plan *plan;
    uint8_t *bytes;
    size_t size;
};

static void fill_row(void *context, unsigned sw)
{
    const struct filling *f = context;
    rt_plan_row(f->plan, sw, f->bytes + f->size * sw, f->size);
}

/* The first 64 bits of BLAKE2b over all rows: tells at a glance whether tables are the same. */
static uint64_t digest(const uint8_t *bytes, size_t size)
{
    uint8_t hash[crypto_generichash_BYTES];
    uint64_t value = 0;
    crypto_generichash(hash, sizeof hash, bytes, size, NULL, 0);
    for (unsigned i = 0; i < 8; i++)
        value = value << 8 | hash[i];
    return value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* Of all repetitions: [preparation, rows, both] in wall clock, then in processor time. */
struct times {
    double *ms[6];
    unsigned count;
};

static void add_times(struct times *t, struct moment start, struct moment prepared,
                      struct moment filling, struct moment filled)
{
    double wall[] = {prepared.wall_ms - start.wall_ms, filled.wall_ms - filling.wall_ms};
    double cpu[] = {prepared.cpu_ms - start.cpu_ms, filled.cpu_ms - filling.cpu_ms};
    double all[] = {wall[0], wall[1], wall[0] + wall[1], cpu[0], cpu[1], cpu[0] + cpu[1]};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        t->ms[i][t->count] = all[i];
    t->count++;
}

static void print_times(struct times *t)
{
    static const char *const labels[] = {" prepare", " rows", " both", " CPU", " +", " ="};
    for (unsigned i = 0; i < G_N_ELEMENTS(t->ms); i++)
        printf("%s %.2f", labels[i], median(t->ms[i], t->count));
    printf(" ms");
}

/* Prepares and fills the tables once; NULL when the engine cannot. */
static struct rt_plan *fill(struct rt_graph *g, const char *name, const struct rt_options *options,
                            uint8_t *bytes, struct times *times, char *error, size_t error_size)
{
    struct filling f = {.bytes = bytes, .size = g->max_lid + 1u};
    struct rt_plan *plan;
    struct moment start = now();
    if (rt_engine_find(name)->prepare(g, options, &plan, error, error_size))
        return NULL;
    struct moment prepared = now();
    f.plan = plan;
    memset(bytes, 0, f.size * g->switch_count); /* page faults are not the engine's */
    struct moment filling = now();
    pool_run(options->pool, g->switch_count, fill_row, &f);
    add_times(times, start, prepared, filling, now());
    return plan;
}

static void run(const char *spec, const struct fabric *f, struct rt_graph *g, const char *name,
                const struct settings *s)
{
    struct pool *pool = pool_create(s->threads);
    struct rt_options options = {.max_vls = s->vls, .parallel = pool_run, .pool = pool};
    struct times times = {0};
    struct rt_plan *plan = NULL;
    char error[256] = "";
    size_t size = g->max_lid + 1u;
    uint8_t *bytes = g_malloc(size * g->switch_count + 1);
    const uint8_t **rows = g_new(const uint8_t *, g->switch_count + 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(times.ms); i++)
        times.ms[i] = g_new(double, s->repeat);
    for (unsigned i = 0; i < s->repeat && !*error; i++) {
        rt_plan_destroy(plan);
        plan = fill(g, name, &options, bytes, &times, error, sizeof error);
    }
    for (uint32_t i = 0; i < g->switch_count; i++)
        rows[i] = bytes + size * i;
    struct rt_tables t = {.rows = rows, .row_size = size};
    if (plan) {
        printf("%s %s -%.0f%%: switches %u destinations %u threads %u digest %016" PRIx64, spec,
               name, s->remove_percent, g->switch_count, g->dest_count, pool_threads(pool),
               digest(bytes, size * g->switch_count));
        print_times(&times);
        printf(" peak %lu KiB", peak_kib());
        fflush(stdout); /* checks may take longer than whoever waits for this line */
        if (s->check)
            report_check(plan, &t);
        if (s->measure)
            route_given_measure(f, g, &t, &options, s->seed);
        printf("\n");
    } else {
        printf("%s %s: %s\n", spec, name, error);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(times.ms); i++)
        g_free(times.ms[i]);
    g_free(bytes);
    g_free(rows);
    rt_plan_destroy(plan);
    pool_destroy(pool);
}

static int save(const struct fabric *f, const char *path)
{
    FILE *out = fopen(path, "w");
    int rc = out ? fabric_write(f, out) : errno;
    if (out && fclose(out) && rc == 0)
        rc = errno;
    if (rc)
        fprintf(stderr, "%s: %s\n", path, strerror(rc));
    return rc ? 1 : 0;
}

static int measure_given(struct fabric *f, const struct settings *s)
{
    struct pool *pool = pool_create(s->threads);
    struct rt_options options = {.parallel = pool_run, .pool = pool};
    int status = route_given(f, s->lfts, s->sls, &options, s->seed);
    pool_destroy(pool);
    return status;
}

static int run_fabric(const char *spec, const struct settings *s)
{
    struct fabric *f = load(spec);
    if (!f)
        return 1;
    remove_links(f, s);
    if (s->save || s->lfts) {
        int status = s->save ? save(f, s->save) : measure_given(f, s);
        fabric_destroy(f);
        return status;
    }
    struct rt_graph *g;
    uint16_t duplicate = 0;
    int rc = rt_graph_from_fabric(f, &g, &duplicate);
    if (rc) {
        fprintf(stderr, "%s: %s (LID %u)\n", spec, strerror(rc), duplicate);
        fabric_destroy(f);
        return 1;
    }
    for (const char *const *name = rt_engine_names(); *name; name++)
        if (!s->engine || strcmp(s->engine, *name) == 0)
            run(spec, f, g, *name, s);
    rt_graph_unref(g);
    fabric_destroy(f);
    return 0;
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--engine NAME] [--vls N] [--threads N] [--repeat N] "
            "[--remove PERCENT[:SEED]] [--check] [--measure] FABRIC..\n"
            "       %s --lfts FILE [--sls FILE] FABRIC\n"
            "       %s --remove PERCENT[:SEED] --save FILE FABRIC\n",
            program, program, program);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"engine", required_argument, NULL, 'e'},
                                            {"vls", required_argument, NULL, 'v'},
                                            {"remove", required_argument, NULL, 'r'},
                                            {"check", no_argument, NULL, 'c'},
                                            {"measure", no_argument, NULL, 'm'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"repeat", required_argument, NULL, 'n'},
                                            {"lfts", required_argument, NULL, 'l'},
                                            {"sls", required_argument, NULL, 's'},
                                            {"save", required_argument, NULL, 'w'},
                                            {0}};
    struct settings s = {.seed = 1, .vls = 1, .threads = 1, .repeat = 1};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        char *end;
        if (c == 'e' && rt_engine_find(optarg)) {
            s.engine = optarg;
        } else if (c == 'v') {
            s.vls = strtoul(optarg, NULL, 10);
        } else if (c == 't') {
            s.threads = strtoul(optarg, NULL, 10);
        } else if (c == 'n') {
            s.repeat = MAX(strtoul(optarg, NULL, 10), 1);
        } else if (c == 'r') {
            s.remove_percent = strtod(optarg, &end);
            if (*end == ':')
                s.seed = strtoul(end + 1, NULL, 10);
        } else if (c == 'l') {
            s.lfts = optarg;
        } else if (c == 's') {
            s.sls = optarg;
        } else if (c == 'w') {
            s.save = optarg;
        } else if (c == 'c') {
            s.check = true;
        } else if (c == 'm') {
            s.measure = true;
        } else {
            return usage(argv[0]);
        }
    }
    if (optind == argc || ((s.lfts || s.save) && optind + 1 != argc))
        return usage(argv[0]);
    int rc = 0;
    for (int i = optind; i < argc; i++)
        rc |= run_fabric(argv[i], &s);
    return rc;
}
