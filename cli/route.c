/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle route: traces from a shard's plan; checks of plans and of tables read back. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "cli/client.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/tables.h"
#include "routing/plan.h"

#define DEFAULT_ENGINE "ftree"
#define FINDINGS_OF_A_KIND 5u

/* -- trace ------------------------------------------------------------------------------------- */

static int print_route(struct cli *c, const Heddle__Route *r, const char *from, const char *to)
{
    if (c->json || *r->error == '\0')
        output_of(c)->route(stdout, r);
    if (*r->error == '\0')
        return cli_end(CLI_OK);
    fflush(stdout);
    return cli_fail("from %s to %s: %s", from, to, r->error);
}

int route_trace_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "SRC and DST are LIDs, GUIDs of ports or nodes (0x..), or names of nodes. The path is "
        "that\n"
        "of the shard's plan, which its switches hold once the cluster has converged.";
    g_autofree char *shard = NULL;
    const GOptionEntry entries[] = {{"shard", 0, 0, G_OPTION_ARG_FILENAME, &shard,
                                     "ask this shard (else the first live one that answers)",
                                     "NAME"},
                                    {0}};
    if (!cli_parse(c, "SRC DST", details, entries, 2, 2, &argc, &argv))
        return CLI_USAGE;
    if (!g_utf8_validate(argv[1], -1, NULL) || !g_utf8_validate(argv[2], -1, NULL))
        return cli_usage(c, "SRC and DST must be UTF-8");
    struct client *cl = client_open(c);
    if (cl == NULL)
        return CLI_FAILED;
    Heddle__Status *s = client_status(cl, c->timeout_s);
    Heddle__Route *r = s != NULL ? client_route(cl, s, shard, argv[1], argv[2]) : NULL;
    int result = r != NULL ? print_route(c, r, argv[1], argv[2]) : cli_fail("%s", client_error(cl));
    if (r != NULL)
        heddle__route__free_unpacked(r, NULL);
    if (s != NULL)
        heddle__status__free_unpacked(s, NULL);
    client_destroy(cl);
    return result;
}

/* -- check: what to check -----------------------------------------------------------------------
 */

struct check_options {
    char *fabric, *lfts, *engine, *shard;
    char **roots;
};

struct check_input {
    struct rt_graph *graph;
    struct lfts *lfts; /* NULL: a plan is checked */
    char *engine;
    GArray *roots;     /* uint64_t */
    guint asked_roots; /* so many come from --root */
    uint32_t without_lid;
};

static int fail_graph(int rc, uint16_t duplicate_lid)
{
    if (rc == EEXIST)
        return cli_fail("LID %u belongs to two ports", duplicate_lid);
    return cli_fail(rc == ERANGE ? "the fabric needs more LIDs than there are (49,151)"
                                 : "the fabric cannot be made a graph: %s",
                    g_strerror(rc));
}

static int graph_of_fabric(const struct fabric *f, struct check_input *in)
{
    uint16_t duplicate = 0;
    int rc = in->lfts != NULL ? tables_graph(f, in->lfts, &in->graph, &in->without_lid, &duplicate)
                              : rt_graph_from_fabric(f, &in->graph, &duplicate);
    return rc == 0 ? CLI_OK : fail_graph(rc, duplicate);
}

static int graph_from_file(const char *spec, struct check_input *in)
{
    struct fabric *f = load_fabric(spec);
    int result = f != NULL ? graph_of_fabric(f, in) : CLI_FAILED;
    fabric_destroy(f);
    return result;
}

static int graph_from_scan(struct check_input *in)
{
    struct fabric *f = tables_fabric(in->lfts);
    int result = graph_of_fabric(f, in);
    fabric_destroy(f);
    return result;
}

static void take_options(const Heddle__Status *s, struct check_input *in)
{
    const Heddle__SubnetOptions *o = s->config != NULL ? s->config->subnet : NULL;
    if (o == NULL)
        return;
    if (in->engine == NULL && *o->routing_engine != '\0')
        in->engine = g_strdup(o->routing_engine);
    if (in->roots->len == 0)
        g_array_append_vals(in->roots, o->root_guids, (guint)o->n_root_guids);
}

static int graph_from_shard(struct cli *c, const char *shard, struct check_input *in)
{
    struct client *cl = client_open(c);
    if (cl == NULL)
        return CLI_FAILED;
    int result = CLI_OK;
    uint16_t duplicate = 0;
    Heddle__Status *s = client_status(cl, c->timeout_s);
    struct view *v = s != NULL ? client_view(cl, s, shard) : NULL;
    int rc = v != NULL ? view_graph(v, &in->graph, &duplicate) : 0;
    if (v == NULL)
        result = cli_fail("%s", client_error(cl));
    else if (rc != 0)
        result = fail_graph(rc, duplicate);
    else
        take_options(s, in);
    view_destroy(v);
    if (s != NULL)
        heddle__status__free_unpacked(s, NULL);
    client_destroy(cl);
    return result;
}

static int read_roots(struct cli *c, char **texts, GArray *roots)
{
    for (char **t = texts; t != NULL && *t != NULL; t++) {
        uint64_t guid;
        if (!parse_guid(*t, &guid))
            return cli_usage(c, "--root %s: expected a GUID such as 0x0002c90300000001", *t);
        g_array_append_val(roots, guid);
    }
    return CLI_OK;
}

static int gather(struct cli *c, const struct check_options *o, struct check_input *in)
{
    char *error = NULL;
    int result = read_roots(c, o->roots, in->roots);
    if (result != CLI_OK)
        return result;
    in->asked_roots = in->roots->len;
    in->engine = g_strdup(o->engine);
    if (o->lfts != NULL) {
        in->lfts = lfts_load(o->lfts, &error);
        if (in->lfts == NULL) {
            result = cli_fail("%s", error);
            g_free(error);
            return result;
        }
    }
    if (o->fabric != NULL)
        return graph_from_file(o->fabric, in);
    return in->lfts != NULL && in->lfts->has_links ? graph_from_scan(in)
                                                   : graph_from_shard(c, o->shard, in);
}

/* -- check ------------------------------------------------------------------------------------- */

/* Engines pass over roots that are not there (a switch may be away); who asks by hand mistyped. */
static int check_roots(const struct check_input *in)
{
    for (guint i = 0; i < in->asked_roots; i++) {
        uint64_t guid = g_array_index(in->roots, uint64_t, i);
        if (rt_find_switch(in->graph, guid) == RT_NONE)
            return cli_fail("--root 0x%016" PRIx64 ": the fabric has no such switch", guid);
    }
    return CLI_OK;
}

static int check_plan(struct check_input *in, struct check_report *r, FILE *findings)
{
    const char *name = in->engine != NULL ? in->engine : DEFAULT_ENGINE;
    const struct rt_engine *engine = rt_engine_find(name);
    struct rt_options options = {.root_guids = (const uint64_t *)(const void *)in->roots->data,
                                 .root_count = in->roots->len,
                                 .max_vls = 1};
    struct rt_plan *plan = NULL;
    char error[512] = "";
    if (engine == NULL)
        return cli_fail("the cluster routes with \"%s\", which this program does not have", name);
    int result = check_roots(in);
    if (result != CLI_OK)
        return result;
    int rc = engine->prepare(in->graph, &options, &plan, error, sizeof(error));
    if (rc != 0)
        return cli_fail("%s cannot route this fabric: %s", name, *error ? error : g_strerror(rc));
    r->subject = g_strdup_printf("plan of %s", name);
    r->ok = rt_check_plan(plan, &r->result, findings, FINDINGS_OF_A_KIND);
    rt_plan_destroy(plan);
    return CLI_OK;
}

static int check_tables(const char *path, struct check_input *in, struct check_report *r,
                        FILE *findings)
{
    g_autofree const uint8_t **rows = tables_rows(in->graph, in->lfts, &r->without_table);
    struct rt_tables tables = {.rows = rows, .row_size = LFTS_ROW_BYTES};
    r->subject = g_strdup_printf("tables of %s", path);
    r->without_lid = in->without_lid;
    r->ok = rt_check(in->graph, &tables, NULL, &r->result, findings, FINDINGS_OF_A_KIND) &&
            r->without_table == 0 && r->without_lid == 0;
    return CLI_OK;
}

static void count(const struct rt_graph *g, struct check_report *r)
{
    r->switches = g->switch_count;
    r->links = g->link_count / 2; /* kept once a direction */
    for (uint32_t i = 0; i < g->dest_count; i++)
        r->destinations += g->dests[i].lid != 0;
}

static int check(struct cli *c, const struct check_options *o, struct check_input *in)
{
    struct check_report r = {0};
    size_t size = 0;
    FILE *findings = open_memstream(&r.findings, &size);
    if (findings == NULL)
        return cli_fail("no memory for the findings");
    count(in->graph, &r);
    int result =
        in->lfts != NULL ? check_tables(o->lfts, in, &r, findings) : check_plan(in, &r, findings);
    fclose(findings);
    if (result == CLI_OK) {
        output_of(c)->check(stdout, &r);
        result = cli_end(r.ok ? CLI_OK : CLI_FAILED);
    }
    g_free(r.subject);
    free(r.findings);
    return result;
}

static int check_options(struct cli *c, const struct check_options *o)
{
    g_autofree char *names = g_strjoinv(", ", (char **)rt_engine_names());
    if (o->engine != NULL && rt_engine_find(o->engine) == NULL)
        return cli_usage(c, "--engine %s: no such routing engine (there are %s)", o->engine, names);
    if (o->lfts != NULL && (o->engine != NULL || o->roots != NULL))
        return cli_usage(c, "--lfts checks tables as they are: it takes no --engine and no --root");
    if (o->fabric != NULL && o->shard != NULL)
        return cli_usage(c, "give --fabric or --shard, not both");
    return CLI_OK;
}

int route_check_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Walks every pair: no path, loops, entries at dead ports, credit loops. The status is 1\n"
        "when something is found.\n"
        "Without --lfts the plan of an engine is checked, on the fabric of --fabric or on the "
        "view\n"
        "of a shard. With --lfts the tables of a file are: from heddle-portscan --lft (which has\n"
        "the fabric in it), dump_lfts, dump_fts or ibroute.";
    struct check_options o = {0};
    const GOptionEntry entries[] = {
        {"fabric", 0, 0, G_OPTION_ARG_FILENAME, &o.fabric, "a file or a generator (pgft:..)",
         "SPEC"},
        {"engine", 0, 0, G_OPTION_ARG_FILENAME, &o.engine,
         "ftree, updn, nue .. (ftree, or what the cluster uses)", "NAME"},
        {"root", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o.roots,
         "GUID of a switch that is a root; may be repeated", "GUID"},
        {"lfts", 0, 0, G_OPTION_ARG_FILENAME, &o.lfts, "check the tables in FILE", "FILE"},
        {"shard", 0, 0, G_OPTION_ARG_FILENAME, &o.shard,
         "ask this shard (else the first live one that answers)", "NAME"},
        {0}};
    if (!cli_parse(c, "", details, entries, 0, 0, &argc, &argv))
        return CLI_USAGE;
    struct check_input in = {.roots = g_array_new(FALSE, FALSE, sizeof(uint64_t))};
    int result = check_options(c, &o);
    if (result == CLI_OK)
        result = gather(c, &o, &in);
    if (result == CLI_OK)
        result = check(c, &o, &in);
    rt_graph_unref(in.graph);
    lfts_destroy(in.lfts);
    g_array_free(in.roots, TRUE);
    g_free(in.engine);
    g_free(o.fabric);
    g_free(o.lfts);
    g_free(o.engine);
    g_free(o.shard);
    g_strfreev(o.roots);
    return result;
}
