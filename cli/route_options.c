/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of the offline commands of routing. */
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "cli/route_work.h"
#include "cli/route_write.h"

#define MAX_THREADS 1024
#define MAX_LMC 7
#define MAX_PERMUTATIONS 1000000
#define DEFAULT_PERMUTATIONS 1000
#define DEFAULT_SEED 1

void route_options_init(struct route_options *o)
{
    *o = (struct route_options){.vls = ROUTE_DEFAULT_VLS,
                                .lmc = -1,
                                .permutations = DEFAULT_PERMUTATIONS,
                                .shifts = -1,
                                .seed = DEFAULT_SEED};
}

void route_options_clear(struct route_options *o)
{
    char *all[] = {o->fabric,  o->engine,  o->json,        o->tables, o->roots_file,
                   o->cn_file, o->io_file, o->all_engines, o->torus};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
    g_strfreev(o->roots);
}

bool route_engine_listed(const char *list, const char *name)
{
    g_auto(GStrv) names = g_strsplit(list, ",", -1);
    for (char **n = names; *n != NULL; n++)
        if (strcmp(g_strstrip(*n), name) == 0)
            return true;
    return false;
}

bool route_parse_share(const char *text, double *percent, uint64_t *seed)
{
    char *end;
    if (!g_ascii_isdigit(*text))
        return false;
    *percent = g_ascii_strtod(text, &end);
    *seed = DEFAULT_SEED;
    if (!isfinite(*percent) || *percent > 100)
        return false;
    return *end == '\0' || (*end == ':' && parse_uint(end + 1, 0, UINT64_MAX, seed));
}

/* -- values ------------------------------------------------------------------------------------ */

static int check_range(const struct cli *c, const char *name, gint value, gint least, gint most)
{
    if (value >= least && value <= most)
        return CLI_OK;
    return cli_usage(c, "%s %d: expected a number from %d to %d", name, value, least, most);
}

static int check_engine(const struct cli *c, const struct route_options *o)
{
    char error[512];
    if (rt_choice_check(o->engine, error, sizeof error) != 0)
        return cli_usage(c, "--engine %s: %s", o->engine, error);
    bool file = route_engine_listed(o->engine, "file");
    if (file && o->tables == NULL)
        return cli_usage(c, "the engine file needs the tables to use: --tables FILE");
    if (!file && o->tables != NULL)
        return cli_usage(c, "--tables is for the engine file, which --engine does not name");
    if (o->tables != NULL && o->lmc >= 0)
        return cli_usage(c, "--lmc deals out LIDs, but those of --tables are fixed");
    return CLI_OK;
}

static int check_options(const struct cli *c, struct route_options *o, unsigned takes)
{
    const struct {
        const char *name;
        gint value, least, most;
    } ranges[] = {{"--threads", o->threads, 0, MAX_THREADS},
                  {"--vls", o->vls, 1, ROUTE_MAX_VLS},
                  {"--lmc", o->lmc, -1, MAX_LMC},
                  {"--permutations", o->permutations, 1, MAX_PERMUTATIONS},
                  {"--shifts", o->shifts, -1, G_MAXINT}};
    for (unsigned i = 0; i < G_N_ELEMENTS(ranges); i++)
        if (check_range(c, ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].most))
            return CLI_USAGE;
    if (o->fabric == NULL)
        return cli_usage(c, "--fabric is missing: a file, or a generator such as "
                            "pgft:2:16,8:1,8:1,1");
    if (o->engine == NULL)
        o->engine = g_strdup(o->all_engines != NULL ? o->all_engines : ROUTE_DEFAULT_ENGINE);
    int result = takes & ROUTE_TAKES_ENGINE ? check_engine(c, o) : CLI_OK;
    return result == CLI_OK ? route_write_possible(o->json) : result;
}

/* -- entries ----------------------------------------------------------------------------------- */

static void add_entries(GArray *all, const GOptionEntry *entries)
{
    for (; entries != NULL && entries->long_name != NULL; entries++)
        g_array_append_vals(all, entries, 1);
}

static void add_shared(GArray *all, struct route_options *o)
{
    const GOptionEntry entries[] = {
        {"fabric", 0, 0, G_OPTION_ARG_FILENAME, &o->fabric,
         "what ibnetdiscover printed, or a generator (pgft:..)", "SPEC"},
        {"threads", 0, 0, G_OPTION_ARG_INT, &o->threads, "work on N threads (one a processor)",
         "N"},
        {"json", 0, 0, G_OPTION_ARG_FILENAME, &o->json, "write JSON to FILE, - for stdout", "FILE"},
        {"progress", 0, 0, G_OPTION_ARG_NONE, &o->progress,
         "say on stderr how far it is, also where that is no terminal", NULL},
        {0}};
    add_entries(all, entries);
}

static void add_engine(GArray *all, struct route_options *o)
{
    const GOptionEntry entries[] = {
        {"engine", 0, 0, G_OPTION_ARG_FILENAME, &o->engine,
         "engines by name, the first that can is used: ftree,updn (ftree)", "LIST"},
        {"vls", 0, 0, G_OPTION_ARG_INT, &o->vls, "data VLs that an engine may use (8)", "N"},
        {"lmc", 0, 0, G_OPTION_ARG_INT, &o->lmc,
         "deal out LIDs anew, 2^N for each end port, N from 0 to 7", "N"},
        {"root", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->roots,
         "GUID of a switch that is a root; may be repeated", "GUID"},
        {"roots", 0, 0, G_OPTION_ARG_FILENAME, &o->roots_file,
         "node GUIDs of switches that are roots, one a line", "FILE"},
        {"cn", 0, 0, G_OPTION_ARG_FILENAME, &o->cn_file, "port GUIDs of compute nodes, one a line",
         "FILE"},
        {"io", 0, 0, G_OPTION_ARG_FILENAME, &o->io_file, "port GUIDs of I/O nodes, one a line",
         "FILE"},
        {"torus", 0, 0, G_OPTION_ARG_FILENAME, &o->torus,
         "shape for the engine torus-2qos, as torus-2QoS.conf has it (found)", "FILE"},
        {"tables", 0, 0, G_OPTION_ARG_FILENAME, &o->tables,
         "tables for the engine file, as dump_lfts prints them", "FILE"},
        {0}};
    add_entries(all, entries);
}

static void add_measure(GArray *all, struct route_options *o)
{
    const GOptionEntry entries[] = {
        {"permutations", 0, 0, G_OPTION_ARG_INT, &o->permutations,
         "random permutations for RP (1000)", "N"},
        {"shifts", 0, 0, G_OPTION_ARG_INT, &o->shifts,
         "shifts for SP, drawn from all; 0 = all (all, above 4,096 hosts 1000)", "N"},
        {"seed", 0, 0, G_OPTION_ARG_INT64, &o->seed,
         "what permutations and shifts are drawn from (1)", "N"},
        {0}};
    add_entries(all, entries);
}

int route_options_parse(struct cli *c, struct route_options *o, unsigned takes, const char *details,
                        const GOptionEntry *own, int *argc, char ***argv)
{
    g_autoptr(GArray) entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    add_shared(entries, o);
    if (takes & ROUTE_TAKES_ENGINE)
        add_engine(entries, o);
    if (takes & ROUTE_TAKES_MEASURE)
        add_measure(entries, o);
    add_entries(entries, own);
    if (!cli_parse(c, "", details, (const GOptionEntry *)(const void *)entries->data, 0, 0, argc,
                   argv))
        return CLI_USAGE;
    return check_options(c, o, takes);
}
