/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle route: traces from a shard's plan; checks of plans and of tables read back. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "cli/client.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/route_work.h"
#include "cli/route_write.h"
#include "cli/tables.h"
#include "routing/plan.h"

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
    char *fabric, *lfts, *engine, *shard, *tables;
    char **roots;
    gint vls;
};

struct check_input {
    struct rt_graph *graph;
    struct lfts *lfts; /* NULL: a plan is checked */
    char *engine;
    GArray *roots;     /* uint64_t */
    guint asked_roots; /* so many come from --root */
    uint32_t without_lid;
    struct lfts *tables; /* for the engine file */
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

static struct lfts *load_tables(const char *path)
{
    g_autofree char *error = NULL;
    struct lfts *l = lfts_load(path, &error);
    if (l == NULL)
        cli_fail("%s", error);
    return l;
}

static int graph_from_file(const struct check_options *o, struct check_input *in)
{
    struct fabric *f = load_fabric(o->fabric);
    int result = f != NULL ? CLI_OK : CLI_FAILED;
    if (result == CLI_OK && o->tables != NULL) {
        in->tables = load_tables(o->tables);
        result = in->tables != NULL ? route_take_lids(f, in->tables, o->tables) : CLI_FAILED;
    }
    if (result == CLI_OK)
        result = graph_of_fabric(f, in);
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
    int result = read_roots(c, o->roots, in->roots);
    if (result != CLI_OK)
        return result;
    in->asked_roots = in->roots->len;
    in->engine = g_strdup(o->engine);
    if (o->lfts != NULL) {
        in->lfts = load_tables(o->lfts);
        if (in->lfts == NULL)
            return CLI_FAILED;
    }
    if (o->fabric != NULL)
        return graph_from_file(o, in);
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

/* The view of a shard is routed on one data VL, as shards do; a fabric as in route compute. */
static unsigned vls_of(const struct check_options *o)
{
    if (o->vls > 0)
        return (unsigned)o->vls;
    return o->fabric != NULL ? ROUTE_DEFAULT_VLS : 1;
}

static int prepare(const struct check_options *o, struct check_input *in, const char *names,
                   const struct rt_tables *tables, const struct rt_engine **engine,
                   struct rt_plan **plan)
{
    struct rt_options options = {.root_guids = (const uint64_t *)(const void *)in->roots->data,
                                 .root_count = in->roots->len,
                                 .tables = tables,
                                 .max_vls = vls_of(o)};
    g_autoptr(GPtrArray) refusals = g_ptr_array_new_with_free_func(g_free);
    char error[2048] = "";
    int rc =
        rt_prepare_first(in->graph, names, &options, engine, plan, refusals, error, sizeof error);
    if (rc == EINVAL && o->engine == NULL)
        return cli_fail("the cluster routes with \"%s\", which this program does not have", names);
    if (rc != 0)
        return cli_fail("this fabric cannot be routed: %s", *error ? error : g_strerror(rc));
    for (guint i = 0; i < refusals->len; i++)
        fprintf(stderr, "heddle: passed over %s\n", (const char *)refusals->pdata[i]);
    return CLI_OK;
}

static int check_plan(const struct check_options *o, struct check_input *in, struct check_report *r,
                      FILE *findings)
{
    const struct rt_engine *engine = NULL;
    struct rt_plan *plan = NULL;
    uint32_t missing;
    int result = check_roots(in);
    if (result != CLI_OK)
        return result;
    g_autofree const uint8_t **rows =
        in->tables != NULL ? tables_rows(in->graph, in->tables, &missing) : NULL;
    struct rt_tables tables = {.rows = rows, .row_size = LFTS_ROW_BYTES};
    result = prepare(o, in, in->engine != NULL ? in->engine : ROUTE_DEFAULT_ENGINE,
                     rows != NULL ? &tables : NULL, &engine, &plan);
    if (result != CLI_OK)
        return result;
    r->subject = g_strdup_printf("plan of %s", engine->name);
    r->vls = MAX(rt_plan_properties(plan).vls, 1);
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
    r->vls = 1;
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

static int write_json(FILE *out, void *report)
{
    output_json.check(out, report);
    return 0;
}

static int tell(const struct cli *c, struct check_report *r)
{
    int result = c->json_file != NULL ? route_write(c->json_file, write_json, r) : CLI_OK;
    output_of(c)->check(stdout, r);
    int printed = cli_end(r->ok ? CLI_OK : CLI_FAILED);
    return result == CLI_OK ? printed : result;
}

static int check(struct cli *c, const struct check_options *o, struct check_input *in)
{
    struct check_report r = {0};
    size_t size = 0;
    FILE *findings = open_memstream(&r.findings, &size);
    if (findings == NULL)
        return cli_fail("no memory for the findings");
    count(in->graph, &r);
    int result = in->lfts != NULL ? check_tables(o->lfts, in, &r, findings)
                                  : check_plan(o, in, &r, findings);
    fclose(findings);
    if (result == CLI_OK)
        result = tell(c, &r);
    g_free(r.subject);
    free(r.findings);
    return result;
}

static int check_engine(struct cli *c, const struct check_options *o)
{
    char error[512];
    if (o->engine != NULL && rt_choice_check(o->engine, error, sizeof error) != 0)
        return cli_usage(c, "--engine %s: %s", o->engine, error);
    bool file = o->engine != NULL && route_engine_listed(o->engine, "file");
    if (file && (o->tables == NULL || o->fabric == NULL))
        return cli_usage(c, "the engine file needs --tables FILE and --fabric SPEC");
    if (!file && o->tables != NULL)
        return cli_usage(c, "--tables is for the engine file, which --engine does not name");
    if (o->vls < 0 || o->vls > ROUTE_MAX_VLS)
        return cli_usage(c, "--vls %d: expected a number from 1 to %d", o->vls, ROUTE_MAX_VLS);
    return CLI_OK;
}

static int check_options(struct cli *c, const struct check_options *o)
{
    int result = check_engine(c, o);
    if (result != CLI_OK)
        return result;
    if (o->lfts != NULL && (o->engine != NULL || o->roots != NULL))
        return cli_usage(c, "--lfts checks tables as they are: it takes no --engine and no --root");
    if (o->fabric != NULL && o->shard != NULL)
        return cli_usage(c, "give --fabric or --shard, not both");
    return route_write_possible(c->json_file);
}

/* -- words ------------------------------------------------------------------------------------- */

/* "--json" alone prints JSON, as with other commands; with a file it goes there. */
static gboolean take_json(const char *name, const char *value, gpointer data, GError **error)
{
    struct cli *c = data;
    c->json = value == NULL || strcmp(value, "-") == 0;
    g_free(c->json_file);
    c->json_file = c->json ? NULL : g_strdup(value);
    return TRUE;
}

/* GOption takes a value that begins with "-" for an option; "--json -" is stdout. */
static void join_json(int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], "--json") != 0 || strcmp(argv[i + 1], "-") != 0)
            continue;
        memmove(&argv[i + 1], &argv[i + 2], (size_t)(*argc - i - 1) * sizeof *argv);
        --*argc;
    }
}

static bool parse_check(struct cli *c, const char *details, const GOptionEntry *entries, int *argc,
                        char ***argv)
{
    gboolean first = c->json; /* before the command's words */
    c->json = FALSE;
    c->takes &= ~(unsigned)CLI_TAKES_JSON; /* it has its own */
    join_json(argc, *argv);
    bool good = cli_parse(c, "", details, entries, 0, 0, argc, argv);
    c->json |= first;
    return good;
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
         "engines by name, the first that can is used (ftree, or what the cluster uses)", "LIST"},
        {"vls", 0, 0, G_OPTION_ARG_INT, &o.vls,
         "data VLs that an engine may use (8; 1 on the view of a shard)", "N"},
        {"root", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o.roots,
         "GUID of a switch that is a root; may be repeated", "GUID"},
        {"tables", 0, 0, G_OPTION_ARG_FILENAME, &o.tables, "tables for the engine file", "FILE"},
        {"lfts", 0, 0, G_OPTION_ARG_FILENAME, &o.lfts, "check the tables in FILE", "FILE"},
        {"json", 0, G_OPTION_FLAG_OPTIONAL_ARG, G_OPTION_ARG_CALLBACK, (gpointer)take_json,
         "print JSON, or write it to FILE", "[FILE]"},
        {"shard", 0, 0, G_OPTION_ARG_FILENAME, &o.shard,
         "ask this shard (else the first live one that answers)", "NAME"},
        {0}};
    if (!parse_check(c, details, entries, &argc, &argv))
        return CLI_USAGE;
    struct check_input in = {.roots = g_array_new(FALSE, FALSE, sizeof(uint64_t))};
    int result = check_options(c, &o);
    if (result == CLI_OK)
        result = gather(c, &o, &in);
    if (result == CLI_OK)
        result = check(c, &o, &in);
    rt_graph_unref(in.graph);
    lfts_destroy(in.lfts);
    lfts_destroy(in.tables);
    g_array_free(in.roots, TRUE);
    g_free(in.engine);
    g_free(o.fabric);
    g_free(o.lfts);
    g_free(o.engine);
    g_free(o.shard);
    g_free(o.tables);
    g_clear_pointer(&c->json_file, g_free);
    g_strfreev(o.roots);
    return result;
}
