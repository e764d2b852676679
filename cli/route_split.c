/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of a routing, each made by a process of its own in memory that all of them see. */
#include "cli/route_split.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "routing/split.h"

#define PAGE 4096u
#define POLL_NS 200000 /* between looks at the shards */
#define ERROR_BYTES 512u

struct report { /* of one shard, in shared memory */
    struct split_shard figures;
    double start_s, end_s; /* of CLOCK_MONOTONIC, which all processes share */
    unsigned vls;          /* of its plan */
    uint64_t differing_vls;
    int rc;
    bool has_plan;
    atomic_bool done;
    char error[ERROR_BYTES];
};

struct split_union {
    struct rt_split split;
    struct rt_union u;
    size_t bytes; /* of rows, and of sls */
    struct report *reports;
    size_t report_bytes;
    const uint8_t **rows;
    const struct rt_plan *whole;
    struct rt_plan *finished; /* of columns */
};

struct run {
    struct split_union *x;
    unsigned shards, started, running;
    pid_t parent, *pids; /* 0 = reaped, or not started yet */
    double limit_s;
    char *error;
    size_t error_size;
};

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *share_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* -- in a shard -------------------------------------------------------------------------------- */

/* What SL2VL tables of its switches would say, against the whole plan. */
static uint64_t compare_vls(const struct split_union *x, unsigned part, const struct rt_plan *p)
{
    const struct rt_graph *g = x->split.graph;
    uint64_t differing = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        if (x->split.part_of && x->split.part_of[s] != part)
            continue;
        for (unsigned in = 0; in <= g->switches[s].nports; in++)
            for (unsigned out = 0; out <= g->switches[s].nports; out++)
                for (unsigned sl = 0; sl < 16; sl++)
                    differing +=
                        rt_plan_vl(p, s, in, out, sl) != rt_plan_vl(x->whole, s, in, out, sl);
    }
    return differing;
}

static void make_share(struct split_union *x, unsigned part, struct report *r)
{
    struct rt_plan *p = NULL;
    r->start_s = now(CLOCK_MONOTONIC);
    r->rc = rt_split_prepare(&x->split, part, &p, r->error, sizeof r->error);
    r->figures.prepare_s = now(CLOCK_MONOTONIC) - r->start_s;
    if (r->rc != 0)
        return;
    r->figures.entries = rt_split_write(&x->split, part, p, &x->u);
    r->end_s = now(CLOCK_MONOTONIC);
    r->figures.total_s = r->end_s - r->start_s;
    r->figures.cpu_s = now(CLOCK_PROCESS_CPUTIME_ID);
    if (p == NULL)
        return;
    r->has_plan = true;
    r->vls = rt_plan_properties(p).vls;
    if (rt_plan_changes_lanes(x->whole) || rt_plan_changes_lanes(p))
        r->differing_vls = compare_vls(x, part, p);
}

/* Never returns, and leaves what the parent has registered for its own exit alone. */
static _Noreturn void be_shard(const struct run *run, unsigned part)
{
    struct report *r = &run->x->reports[part];
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != run->parent)
        _exit(1);
    make_share(run->x, part, r);
    atomic_store(&r->done, true);
    _exit(0);
}

/* -- the parent -------------------------------------------------------------------------------- */

static void end_all(struct run *run)
{
    for (unsigned i = 0; i < run->shards; i++)
        if (run->pids[i] > 0)
            kill(run->pids[i], SIGKILL);
    for (unsigned i = 0; i < run->shards; i++)
        while (run->pids[i] > 0 && waitpid(run->pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
    memset(run->pids, 0, run->shards * sizeof *run->pids);
}

static int fail(const struct run *run, int rc, const char *format, ...) G_GNUC_PRINTF(3, 4);
static int fail(const struct run *run, int rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_vsnprintf(run->error, run->error_size, format, args);
    va_end(args);
    return rc;
}

static int start_next(struct run *run)
{
    pid_t pid = fork();
    if (pid == 0)
        be_shard(run, run->started);
    if (pid < 0)
        return fail(run, errno, "shard %u of %u could not be started: %s; use fewer shards",
                    run->started, run->shards, g_strerror(errno));
    run->pids[run->started++] = pid;
    run->running++;
    return 0;
}

/* Of a shard that has ended. */
static int judge(const struct run *run, unsigned i, int status)
{
    const struct report *r = &run->x->reports[i];
    if (WIFSIGNALED(status))
        return fail(run, ECHILD, "shard %u of %u was ended by signal %d (%s)%s", i, run->shards,
                    WTERMSIG(status), g_strsignal(WTERMSIG(status)),
                    WTERMSIG(status) == SIGKILL ? "; was memory short?" : "");
    if (!atomic_load(&r->done))
        return fail(run, ECHILD, "shard %u of %u ended with status %d and no result", i,
                    run->shards, WEXITSTATUS(status));
    if (r->rc != 0)
        return fail(run, r->rc, "shard %u of %u: %s", i, run->shards,
                    *r->error ? r->error : g_strerror(r->rc));
    return 0;
}

/* Reaps those that have ended. */
static int look(struct run *run)
{
    for (unsigned i = 0; i < run->started; i++) {
        int status = 0;
        pid_t pid = run->pids[i] == 0 ? 0 : waitpid(run->pids[i], &status, WNOHANG);
        if (pid == 0 || (pid < 0 && errno == EINTR))
            continue;
        run->pids[i] = 0;
        run->running--;
        if (pid < 0)
            return fail(run, ECHILD, "shard %u of %u was reaped by somebody else", i, run->shards);
        int rc = judge(run, i, status);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Those beyond the cores here wait until one has ended: together on a core they would wear out each
 * other's caches, and tell more processor time than each needs on a core of its own. */
static int run_all(struct run *run)
{
    double end = now(CLOCK_MONOTONIC) + run->limit_s;
    struct timespec nap = {.tv_nsec = POLL_NS};
    unsigned at_once = g_get_num_processors();
    while (run->started < run->shards || run->running > 0) {
        int rc = look(run);
        while (rc == 0 && run->started < run->shards && run->running < at_once)
            rc = start_next(run);
        if (rc != 0)
            return rc;
        if (now(CLOCK_MONOTONIC) > end)
            return fail(run, ETIMEDOUT, "%u of %u shards have not ended after %g s",
                        run->running + run->shards - run->started, run->shards, run->limit_s);
        nanosleep(&nap, NULL);
    }
    return 0;
}

/* Runs all shards; when it returns none is left. */
static int run_shards(struct split_union *x, unsigned shards, double limit_s, char *error,
                      size_t error_size)
{
    struct run run = {.x = x,
                      .shards = shards,
                      .parent = getpid(),
                      .pids = g_new0(pid_t, shards),
                      .limit_s = limit_s,
                      .error = error,
                      .error_size = error_size};
    int rc = run_all(&run);
    end_all(&run);
    g_free(run.pids);
    return rc;
}

/* -- what they share --------------------------------------------------------------------------- */

static void union_destroy(struct split_union *x)
{
    if (x == NULL)
        return;
    rt_plan_destroy(x->finished);
    if (x->u.rows != NULL)
        munmap(x->u.rows, x->bytes);
    if (x->u.sls != NULL)
        munmap(x->u.sls, x->bytes);
    if (x->reports != NULL)
        munmap(x->reports, x->report_bytes);
    g_free(x->rows);
    rt_split_clear(&x->split);
    g_free(x);
}

/* The pages are there before a clock runs, as at a shard that keeps its tables. */
static struct split_union *union_create(const struct rt_engine *e, const struct rt_options *o,
                                        const struct rt_plan *whole, unsigned shards)
{
    struct split_union *x = g_new0(struct split_union, 1);
    const struct rt_graph *g = rt_plan_graph(whole);
    rt_split_init(&x->split, e, o, whole, shards);
    x->split.options.parallel = NULL; /* threads do not come along into a fork */
    x->split.options.pool = NULL;
    x->whole = whole;
    x->u.row_size = g->max_lid + 1u;
    x->bytes = x->u.row_size * g->switch_count + PAGE;
    x->report_bytes = shards * sizeof *x->reports;
    x->u.rows = share_memory(x->bytes);
    x->u.sls = x->split.has_sls ? share_memory(x->bytes) : NULL;
    x->reports = share_memory(x->report_bytes);
    if (x->u.rows == NULL || x->reports == NULL || (x->split.has_sls && x->u.sls == NULL)) {
        union_destroy(x);
        return NULL;
    }
    memset(x->u.rows, RT_NO_PATH, x->bytes);
    if (x->u.sls != NULL)
        memset(x->u.sls, 0, x->bytes);
    x->rows = g_new(const uint8_t *, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++)
        x->rows[s] = x->u.rows + s * x->u.row_size;
    return x;
}

/* -- comparing --------------------------------------------------------------------------------- */

static uint64_t differing_entries(const struct split_union *x)
{
    const struct rt_graph *g = x->split.graph;
    uint64_t differing = 0;
    g_autofree uint8_t *row = g_malloc(x->u.row_size);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        rt_plan_row(x->whole, s, row, x->u.row_size);
        if (memcmp(row, x->rows[s], x->u.row_size) == 0)
            continue;
        for (size_t i = 0; i < x->u.row_size; i++)
            differing += row[i] != x->rows[s][i];
    }
    return differing;
}

static unsigned union_sl(const void *user, uint32_t source, uint32_t dest, unsigned path)
{
    const struct split_union *x = user;
    if (x->finished != NULL)
        return rt_plan_sl_from(x->finished, source, dest, path);
    unsigned lid = x->split.graph->dests[dest].lid + path;
    return x->u.sls != NULL ? x->u.sls[source * x->u.row_size + lid] : 0;
}

/* Each shard has compared its own with these. */
static unsigned union_vl(const void *user, uint32_t sw, unsigned in, unsigned out, unsigned sl)
{
    return rt_plan_vl(((const struct split_union *)user)->whole, sw, in, out, sl);
}

static uint64_t differing_sls(const struct split_union *x)
{
    const struct rt_graph *g = x->split.graph;
    uint64_t differing = 0;
    if (x->u.sls == NULL && x->finished == NULL)
        return 0; /* the engine has no SL but 0 */
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t d = 0; d < g->dest_count; d++)
            for (unsigned k = 0; g->dests[d].lid && k < 1u << g->dests[d].lmc; k++)
                differing += union_sl(x, s, d, k) != rt_plan_sl_from(x->whole, s, d, k);
    return differing;
}

/* -- all of it --------------------------------------------------------------------------------- */

/* One process that makes all, for the time it takes. */
static int run_unsplit(const struct split_union *split, const struct rt_plan *whole, double limit_s,
                       struct split_result *r, char *error, size_t error_size)
{
    struct rt_options o = split->split.options;
    struct split_union *x = union_create(split->split.engine, &o, whole, 1);
    if (x == NULL)
        return ENOMEM;
    int rc = run_shards(x, 1, limit_s, error, error_size);
    double started = now(CLOCK_THREAD_CPUTIME_ID);
    if (rc == 0 && x->split.way == RT_SPLIT_COLUMNS)
        rc = rt_split_finish(&x->split, &x->u, &x->finished, error, error_size);
    r->unsplit_s = x->reports[0].figures.cpu_s + now(CLOCK_THREAD_CPUTIME_ID) - started;
    union_destroy(x);
    return rc;
}

/* What the shards have told. */
static void collect(struct split_result *r, const struct split_union *x, double started)
{
    r->each = g_new0(struct split_shard, r->shards);
    r->vls = rt_plan_properties(x->whole).vls;
    r->identical = true;
    for (unsigned i = 0; i < r->shards; i++) {
        const struct report *report = &x->reports[i];
        r->each[i] = report->figures;
        r->wall_s = MAX(r->wall_s, report->end_s - started);
        r->critical_s = MAX(r->critical_s, report->figures.cpu_s);
        if (report->has_plan && r->exact && report->vls != r->vls) {
            r->identical = false;
            r->vls = report->vls;
        }
        r->identical = r->identical && report->differing_vls == 0;
    }
}

/* Layers of the united columns, or an empty step. */
static int finish(struct split_result *r, struct split_union *x, char *error, size_t error_size)
{
    double started = now(CLOCK_THREAD_CPUTIME_ID);
    if (x->split.way != RT_SPLIT_COLUMNS)
        return 0;
    int rc = rt_split_finish(&x->split, &x->u, &x->finished, error, error_size);
    if (rc != 0)
        return rc;
    r->central_s = now(CLOCK_THREAD_CPUTIME_ID) - started;
    r->critical_s += r->central_s;
    r->vls = rt_plan_properties(x->finished).vls;
    r->identical = r->identical && r->vls == rt_plan_properties(x->whole).vls;
    return 0;
}

static void compare(struct split_result *r, struct split_union *x)
{
    r->differing_entries = differing_entries(x);
    r->differing_sls = differing_sls(x);
    r->identical = r->identical && r->differing_entries == 0 && r->differing_sls == 0;
    r->tables = (struct rt_tables){.rows = x->rows, .row_size = x->u.row_size};
    r->lanes = (struct rt_lanes){.vls = MAX(r->vls, 1), .user = x, .sl = union_sl};
    if (rt_plan_changes_lanes(x->whole))
        r->lanes.vl = union_vl;
}

static int split(struct split_union *x, double limit_s, struct split_result *r, char *error,
                 size_t error_size)
{
    r->of = x;
    r->how = rt_split_way_name(x->split.way);
    r->exact = rt_split_is_exact(x->split.way);
    int rc = run_unsplit(x, x->whole, limit_s, r, error, error_size);
    if (rc != 0)
        return rc;
    double started = now(CLOCK_MONOTONIC);
    rc = run_shards(x, r->shards, limit_s, error, error_size);
    if (rc != 0)
        return rc;
    collect(r, x, started);
    rc = finish(r, x, error, error_size);
    if (rc == 0)
        compare(r, x);
    return rc;
}

int split_run_within(struct rt_graph *g, const struct rt_engine *e, const struct rt_options *o,
                     unsigned shards, const struct rt_plan *whole, double limit_s,
                     struct split_result *r, char *error, size_t error_size)
{
    *r = (struct split_result){.shards = shards};
    g_assert(rt_plan_graph(whole) == g);
    if (error_size > 0)
        *error = '\0';
    if (shards < 1 || shards > SPLIT_MAX_SHARDS) {
        g_snprintf(error, error_size, "the number of shards must be 1 to %u, not %u",
                   SPLIT_MAX_SHARDS, shards);
        *r = (struct split_result){0};
        return EINVAL;
    }
    struct split_union *x = union_create(e, o, whole, shards);
    int rc = x == NULL ? ENOMEM : split(x, limit_s, r, error, error_size);
    if (rc == 0)
        return 0;
    if (error_size > 0 && *error == '\0')
        g_snprintf(error, error_size, "%u shards cannot share tables of %u switches: %s", shards,
                   g->switch_count, g_strerror(rc));
    split_clear(r);
    return rc;
}

int split_run(struct rt_graph *g, const struct rt_engine *e, const struct rt_options *o,
              unsigned shards, const struct rt_plan *whole, struct split_result *r, char *error,
              size_t error_size)
{
    return split_run_within(g, e, o, shards, whole, SPLIT_LIMIT_S, r, error, error_size);
}

void split_clear(struct split_result *r)
{
    union_destroy(r->of);
    g_free(r->each);
    *r = (struct split_result){0};
}
