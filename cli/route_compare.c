/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle route compare: what several engines, and tables read back, make of one fabric. */
#include <string.h>

#include "cli/route_work.h"

struct compare {
    struct route_options o;
    char **lfts;
    struct route_work w;
    GPtrArray *names, *records; /* of each column: char *, struct route_record * */
    unsigned served;            /* columns with tables */
};

/* -- columns ----------------------------------------------------------------------------------- */

static void add_column(struct compare *k, const char *name, struct route_record *r)
{
    g_ptr_array_add(k->names, g_strdup(name));
    g_ptr_array_add(k->records, r);
}

static void add_refused(struct compare *k, const char *engine, const char *why)
{
    struct route_record *r = route_record_create();
    route_record_text(r, "engine", NULL, engine);
    route_record_text(r, "lfts", NULL, NULL);
    route_record_text(r, "refused", NULL, why);
    add_column(k, engine, r);
    fprintf(stderr, "heddle: %s\n", why);
}

/* Checks, measures and says it all; name is of the engine or of the file. */
static void add_tables(struct compare *k, const char *name, struct route_tables *t)
{
    struct route_record *r = route_record_create();
    route_tables_check(&k->w, t);
    route_tables_measure(&k->w, t);
    route_record_text(r, "engine", NULL, t->engine != NULL ? name : NULL);
    route_record_text(r, "lfts", NULL, t->engine == NULL ? name : NULL);
    route_record_text(r, "refused", NULL, NULL);
    route_record_times(r, t);
    route_record_check(r, t);
    route_record_metrics(r, t);
    add_column(k, name, r);
    k->served++;
}

static void run_engine(struct compare *k, const char *name)
{
    struct route_tables t = {0};
    g_autofree char *refusal = NULL;
    if (route_tables_make(&k->w, name, &t, &refusal) == CLI_OK)
        add_tables(k, name, &t);
    else
        add_refused(k, name, refusal);
    route_tables_clear(&t);
}

static void run_engines(struct compare *k)
{
    g_auto(GStrv) names = g_strsplit(k->o.engine, ",", -1);
    for (char **n = names; *n != NULL; n++)
        run_engine(k, g_strstrip(*n));
}

/* The tables' own LIDs: a graph for each file. */
static int run_file(struct compare *k, const char *path)
{
    g_autofree char *error = NULL;
    struct route_tables t = {0};
    struct rt_graph *g = NULL;
    GArray *hosts = NULL;
    struct lfts *l = lfts_load(path, &error);
    int result = l != NULL ? route_take_lids(k->w.fabric, l, path) : cli_fail("%s", error);
    if (result == CLI_OK)
        result = route_graph(k->w.fabric, k->o.fabric, &g, &hosts);
    if (result == CLI_OK) {
        route_tables_take(g, hosts, l, &t);
        g_autofree char *base = g_path_get_basename(path);
        add_tables(k, base, &t);
    }
    route_tables_clear(&t);
    rt_graph_unref(g);
    if (hosts != NULL)
        g_array_free(hosts, TRUE);
    lfts_destroy(l);
    return result;
}

/* -- all --------------------------------------------------------------------------------------- */

static json_t *results_json(const struct compare *k)
{
    json_t *o = json_object(), *list = json_array();
    struct route_record *fabric = route_record_create();
    route_record_fabric(fabric, k->w.graph, k->w.hosts);
    for (guint i = 0; i < k->records->len; i++)
        json_array_append_new(list, route_record_json(k->records->pdata[i]));
    json_object_set_new(o, "fabric", json_string(k->o.fabric));
    json_t *counts = route_record_json(fabric);
    json_object_update(o, counts);
    json_object_set_new(o, "results", list);
    json_decref(counts);
    route_record_destroy(fabric);
    return o;
}

static int tell(const struct compare *k)
{
    g_autofree char *title =
        g_strdup_printf("%s: %u hosts, %u switches, %u links between switches", k->o.fabric,
                        k->w.hosts->len, k->w.graph->switch_count, k->w.graph->link_count / 2);
    return route_print(&k->o, title, (const struct route_record *const *)k->records->pdata,
                       (const char *const *)k->names->pdata, k->records->len, results_json(k));
}

static int compare(struct compare *k)
{
    int result = route_work_load(&k->w, &k->o);
    if (result == CLI_OK)
        result = route_work_prepare(&k->w);
    if (result != CLI_OK)
        return result;
    run_engines(k);
    for (char **path = k->lfts; result == CLI_OK && path != NULL && *path != NULL; path++)
        result = run_file(k, *path);
    if (result != CLI_OK)
        return result;
    result = tell(k);
    if (result == CLI_OK && k->served == 0)
        return cli_fail("no engine can route %s", k->o.fabric);
    return result;
}

/* All that need nothing but a fabric. */
static char *all_engines(void)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const char *const *n = rt_engine_names(); *n != NULL; n++)
        if (strcmp(*n, "file") != 0)
            g_ptr_array_add(names, (gpointer)*n);
    g_ptr_array_add(names, NULL);
    return g_strjoinv(",", (char **)names->pdata);
}

int route_compare_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Routes with each engine of --engine (all of them), checks and measures each, and shows\n"
        "them side by side; an engine that cannot serve the fabric is told on stderr. With --lfts\n"
        "tables that were read back get a column, too. The status is 1 when none has tables.";
    struct compare k = {0};
    route_options_init(&k.o);
    k.o.all_engines = all_engines();
    k.names = g_ptr_array_new_with_free_func(g_free);
    k.records = g_ptr_array_new_with_free_func((GDestroyNotify)route_record_destroy);
    const GOptionEntry own[] = {{"lfts", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &k.lfts,
                                 "also the tables in FILE; may be repeated", "FILE"},
                                {0}};
    int result = route_options_parse(c, &k.o, ROUTE_TAKES_ENGINE | ROUTE_TAKES_MEASURE, details,
                                     own, &argc, &argv);
    if (result == CLI_OK)
        result = compare(&k);
    g_ptr_array_free(k.names, TRUE);
    g_ptr_array_free(k.records, TRUE);
    g_strfreev(k.lfts);
    route_work_clear(&k.w);
    route_options_clear(&k.o);
    return result;
}
