/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle route quality: how evenly tables spread traffic over the links. */
#include <inttypes.h>

#include "cli/jobs_file.h"
#include "cli/route_work.h"
#include "cli/route_write.h"
#include "cli/text.h"

static const char *const patterns[RT_PATTERNS] = {"ring", "rails", "full"};

struct quality {
    struct route_options o;
    char *jobs_path, *picture;
    struct route_work w;
    struct route_tables t;
    struct jobs_file *jobs;     /* NULL = not asked for */
    struct rt_job_loads *loads; /* of each job */
    struct rt_job_loads together;
};

/* -- jobs -------------------------------------------------------------------------------------- */

static json_t *load_json(const struct rt_load *l)
{
    json_t *o = json_object();
    json_object_set_new(o, "flows", json_integer((json_int_t)l->flows));
    json_object_set_new(o, "lost", json_integer((json_int_t)l->lost));
    json_object_set_new(o, "links_used", json_integer(l->links_used));
    json_object_set_new(o, "max", json_integer(l->max));
    json_object_set_new(o, "mean", json_real(l->mean));
    json_object_set_new(o, "contention", json_integer(l->contention));
    json_object_set_new(o, "mean_contention", json_real(l->mean_contention));
    return o;
}

static void add_loads(json_t *o, const struct rt_job_loads *loads)
{
    for (unsigned i = 0; i < RT_PATTERNS; i++)
        json_object_set_new(o, patterns[i], load_json(&loads->of[i]));
}

static void add_jobs(const struct quality *q, json_t *json)
{
    json_t *list = json_array(), *together = json_object();
    for (uint32_t i = 0; i < q->jobs->count; i++) {
        json_t *o = json_object();
        g_autofree char *name = g_utf8_make_valid(q->jobs->names[i], -1);
        json_object_set_new(o, "name", json_string(name));
        json_object_set_new(o, "servers", json_integer(q->jobs->jobs[i].server_count));
        add_loads(o, &q->loads[i]);
        json_array_append_new(list, o);
    }
    add_loads(together, &q->together);
    json_object_set_new(json, "jobs", list);
    json_object_set_new(json, "together", together);
}

static void add_rows(struct table *t, const char *name, const struct rt_job_loads *loads)
{
    for (unsigned i = 0; i < RT_PATTERNS; i++) {
        const struct rt_load *l = &loads->of[i];
        table_add(t, text_shown(name), g_strdup(patterns[i]), g_strdup_printf("%" PRIu64, l->flows),
                  g_strdup_printf("%" PRIu64, l->lost), g_strdup_printf("%u", l->links_used),
                  g_strdup_printf("%u", l->max), g_strdup_printf("%.2f", l->mean),
                  g_strdup_printf("%u", l->contention));
    }
}

static int print_jobs(const struct quality *q)
{
    static const char *const columns[] = {"JOB",  "PATTERN", ">FLOWS",      ">LOST", ">LINKS",
                                          ">MAX", ">MEAN",   ">CONTENTION", NULL};
    if (q->jobs == NULL || q->o.quiet || g_strcmp0(q->o.json, "-") == 0)
        return CLI_OK;
    struct table *t = table_create(columns);
    for (uint32_t i = 0; i < q->jobs->count; i++)
        add_rows(t, q->jobs->names[i], &q->loads[i]);
    add_rows(t, "(together)", &q->together);
    putchar('\n');
    table_end(t, 2, stdout);
    return cli_end(CLI_OK);
}

static int load_jobs(struct quality *q)
{
    g_autofree char *error = NULL;
    if (q->jobs_path == NULL)
        return CLI_OK;
    q->jobs = jobs_load(q->jobs_path, q->w.fabric, q->w.graph, &error);
    return q->jobs != NULL ? CLI_OK : cli_fail("%s", error);
}

static void measure_jobs(struct quality *q)
{
    if (q->jobs == NULL)
        return;
    q->loads = g_new0(struct rt_job_loads, q->jobs->count + 1);
    route_progress_stage(q->w.progress, "measuring %u jobs", q->jobs->count);
    rt_measure_jobs(q->t.graph, &q->t.tables, q->jobs->jobs, q->jobs->count, q->loads,
                    &q->together);
    route_progress_end(q->w.progress);
}

/* -- all --------------------------------------------------------------------------------------- */

static int tell(const struct quality *q)
{
    const struct route_tables *t = &q->t;
    struct route_record *r = route_record_create();
    route_record_text(r, "engine", "engine", t->engine->name);
    route_record_fabric(r, t->graph, t->hosts);
    route_record_metrics(r, t);
    route_record_count(r, "permutations", NULL, (uint64_t)q->o.permutations);
    route_record_count(r, "shifts", NULL, t->shifts);
    route_record_count(r, "seed", NULL, (uint64_t)q->o.seed);
    json_t *json = route_record_json(r);
    if (q->jobs != NULL)
        add_jobs(q, json);
    g_autofree char *title = g_strdup_printf("Measured %s:", q->o.fabric);
    int result = route_print(&q->o, title, (const struct route_record *const *)&r, NULL, 1, json);
    route_record_destroy(r);
    return result == CLI_OK ? print_jobs(q) : result;
}

static int quality(struct quality *q)
{
    g_autofree char *refusal = NULL;
    int result = route_work_load(&q->w, &q->o);
    if (result == CLI_OK)
        result = route_work_prepare(&q->w);
    if (result == CLI_OK)
        result = load_jobs(q);
    if (result != CLI_OK)
        return result;
    g_clear_pointer(&q->w.fabric, fabric_destroy);
    if (route_tables_make(&q->w, q->o.engine, &q->t, &refusal) != CLI_OK)
        return cli_fail("%s cannot be routed: %s", q->o.fabric, refusal);
    route_say_refusals(&q->w, &q->t);
    route_tables_measure(&q->w, &q->t);
    measure_jobs(q);
    if (q->picture != NULL)
        result = route_tables_picture(&q->w, &q->t, q->picture);
    int told = tell(q);
    if (result != CLI_OK || told != CLI_OK)
        return result != CLI_OK ? result : told;
    if (q->t.metrics.lost > 0)
        return cli_fail("%" PRIu64 " pairs of hosts have no path and load nothing in these "
                        "figures; see heddle route check",
                        q->t.metrics.lost);
    return CLI_OK;
}

static int check_own(const struct cli *c, struct quality *q)
{
    q->o.quiet = g_strcmp0(q->picture, "-") == 0;
    if (q->o.quiet && g_strcmp0(q->o.json, "-") == 0)
        return cli_usage(c, "--json and --picture cannot both go to stdout");
    return route_write_possible(q->picture);
}

int route_quality_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Three figures of the loads of links between switches, least is best:\n"
        "  A2A  all to all: the greatest of min(sources, destinations) through a port\n"
        "  RP   the median, over random permutations, of the greatest load of a port\n"
        "  SP   the greatest load of a port over shifts (host i sends to host i + k)\n"
        "Hosts stand in the order of the file: switches as listed, ports by number.\n"
        "With --jobs also what jobs load: a ring over each rail, all to all in each rail, and all\n"
        "to all. A line \"NAME: HOST HOST ..\" of FILE is a job; a host is a name or a GUID.";
    struct quality q = {0};
    route_options_init(&q.o);
    const GOptionEntry own[] = {{"jobs", 0, 0, G_OPTION_ARG_FILENAME, &q.jobs_path,
                                 "also the load of the jobs in FILE", "FILE"},
                                {"picture", 0, 0, G_OPTION_ARG_FILENAME, &q.picture,
                                 "draw the load of links per tier, as SVG", "FILE"},
                                {0}};
    int result = route_options_parse(c, &q.o, ROUTE_TAKES_ENGINE | ROUTE_TAKES_MEASURE, details,
                                     own, &argc, &argv);
    if (result == CLI_OK)
        result = check_own(c, &q);
    if (result == CLI_OK)
        result = quality(&q);
    jobs_free(q.jobs);
    g_free(q.loads);
    g_free(q.jobs_path);
    g_free(q.picture);
    route_tables_clear(&q.t);
    route_work_clear(&q.w);
    route_options_clear(&q.o);
    return result;
}
