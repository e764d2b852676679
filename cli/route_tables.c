/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of a fabric: made by an engine or read back, checked and measured. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/picture.h"
#include "cli/route_work.h"
#include "cli/route_write.h"
#include "cli/tables.h"
#include "routing/jobs.h"
#include "routing/vector.h"

#define FINDINGS_OF_A_KIND 5u
#define MANY_HOSTS 4096u /* above: not all shifts, unless asked for */
#define SOME_SHIFTS 1000u
#define US 1e6

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

/* Before the clock runs: a manager that routes has its memory already. */
static void take_memory(struct route_tables *t)
{
    size_t size = t->graph->max_lid + 1u, all = size * t->graph->switch_count;
    t->bytes = rt_large_new(all + 1);
    memset(t->bytes, RT_NO_PATH, all);
    t->rows = g_new(const uint8_t *, t->graph->switch_count + 1);
    for (uint32_t s = 0; s < t->graph->switch_count; s++)
        t->rows[s] = t->bytes + size * s;
    t->tables = (struct rt_tables){.rows = t->rows, .row_size = size};
}

static void fill_rows(struct route_work *w, struct route_tables *t)
{
    struct filling f = {.plan = t->plan, .bytes = t->bytes, .size = t->tables.row_size};
    route_progress_run(w->progress, t->graph->switch_count, fill_row, &f);
}

static void start(struct route_tables *t, struct rt_graph *g, const GArray *hosts)
{
    *t = (struct route_tables){.graph = rt_graph_ref(g), .hosts = hosts, .lanes = {.vls = 1}};
    t->refusals = g_ptr_array_new_with_free_func(g_free);
}

int route_tables_make(struct route_work *w, const char *engines, struct route_tables *t,
                      char **refusal)
{
    char error[2048] = "";
    start(t, w->graph, w->hosts);
    take_memory(t);
    route_progress_stage(w->progress, "routing with %s", engines);
    gint64 started = g_get_monotonic_time();
    int rc = rt_prepare_first(w->graph, engines, &w->options, &t->engine, &t->plan, t->refusals,
                              error, sizeof error);
    g_ptr_array_add(t->refusals, NULL);
    gint64 prepared = g_get_monotonic_time();
    t->prepare_s = (double)(prepared - started) / US;
    if (rc == 0) {
        fill_rows(w, t);
        rt_plan_lanes(t->plan, &t->lanes);
    }
    t->total_s = (double)(g_get_monotonic_time() - started) / US;
    route_progress_end(w->progress);
    if (rc != 0)
        *refusal = g_strdup(*error ? error : g_strerror(rc));
    return rc == 0 ? CLI_OK : CLI_FAILED;
}

void route_tables_take(struct rt_graph *g, const GArray *hosts, const struct lfts *l,
                       struct route_tables *t)
{
    uint32_t missing;
    start(t, g, hosts);
    g_ptr_array_add(t->refusals, NULL);
    t->rows = tables_rows(g, l, &missing);
    t->tables = (struct rt_tables){.rows = t->rows, .row_size = LFTS_ROW_BYTES};
}

/* -- what they are ----------------------------------------------------------------------------- */

void route_tables_check(struct route_work *w, struct route_tables *t)
{
    size_t size = 0;
    free(t->findings);
    t->findings = NULL;
    FILE *findings = open_memstream(&t->findings, &size);
    route_progress_stage(w->progress, "checking %u switches", t->graph->switch_count);
    t->ok = rt_check(t->graph, &t->tables, t->lanes.vls > 1 ? &t->lanes : NULL, &t->check, findings,
                     FINDINGS_OF_A_KIND);
    route_progress_end(w->progress);
    if (findings != NULL)
        fclose(findings);
}

void route_tables_measure(struct route_work *w, struct route_tables *t)
{
    const struct route_options *o = w->o;
    uint32_t some = t->hosts->len > MANY_HOSTS ? SOME_SHIFTS : 0;
    struct rt_measuring how = {.permutations = (uint32_t)o->permutations,
                               .shifts = o->shifts < 0 ? some : (uint32_t)o->shifts,
                               .seed = (uint64_t)o->seed,
                               .options = &w->options};
    uint32_t all = t->hosts->len > 0 ? t->hosts->len - 1 : 0;
    t->shifts = how.shifts > 0 ? MIN(how.shifts, all) : all;
    route_progress_stage(w->progress, "measuring %u hosts", t->hosts->len);
    rt_measure_with(t->graph, &t->tables, (const uint32_t *)(const void *)t->hosts->data,
                    t->hosts->len, &how, &t->metrics);
    route_progress_end(w->progress);
}

struct drawing {
    const struct rt_graph *g;
    const uint32_t *load_of_link;
    const char *title;
};

static int draw(FILE *out, void *drawing)
{
    const struct drawing *d = drawing;
    return picture_write(out, d->g, d->load_of_link, d->title);
}

int route_tables_picture(struct route_work *w, const struct route_tables *t, const char *path)
{
    g_autofree uint32_t *loads = g_new0(uint32_t, t->graph->link_count + 1);
    g_autofree char *title = g_strdup_printf("%s on %s, all to all", t->engine->name, w->o->fabric);
    struct drawing d = {.g = t->graph, .load_of_link = loads, .title = title};
    route_progress_stage(w->progress, "drawing %u links", t->graph->link_count / 2);
    rt_link_loads(t->graph, &t->tables, (const uint32_t *)(const void *)t->hosts->data,
                  t->hosts->len, loads);
    route_progress_end(w->progress);
    return route_write(path, draw, &d);
}

void route_tables_clear(struct route_tables *t)
{
    rt_plan_destroy(t->plan);
    if (t->refusals != NULL)
        g_ptr_array_free(t->refusals, TRUE);
    free(t->bytes);
    g_free(t->rows);
    free(t->findings);
    rt_graph_unref(t->graph);
    *t = (struct route_tables){0};
}

uint64_t route_tables_lost(const struct route_tables *t)
{
    return t->check.unreachable + t->check.loops;
}

uint64_t route_tables_unreachable(const struct route_tables *t)
{
    return route_tables_lost(t) + t->check.disconnected;
}

char *route_tables_finding(const struct route_tables *t, const char *kind)
{
    g_auto(GStrv) lines = g_strsplit(t->findings != NULL ? t->findings : "", "\n", -1);
    for (char **l = lines; *l != NULL; l++)
        if (g_str_has_prefix(*l, kind))
            return g_strdup(*l);
    return NULL;
}
