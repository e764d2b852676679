/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle route compute: tables of a fabric by an engine, without a cluster. */
#include <inttypes.h>
#include <sys/resource.h>

#include "cli/route_shards.h"
#include "cli/route_split.h"
#include "cli/route_work.h"
#include "cli/route_write.h"
#include "routing/digest.h"

struct compute {
    struct route_options o;
    gboolean partial; /* pairs that no cable joins are no error */
    char *lfts_out, *picture;
    gint shards; /* 0 = not asked for */
    struct route_work w;
    struct route_tables t;
};

static uint64_t peak_rss_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)u.ru_maxrss * 1024; /* KiB, getrusage(2) */
}

static struct route_record *make_record(struct compute *k)
{
    struct route_tables *t = &k->t;
    struct route_record *r = route_record_create();
    uint8_t digest[RT_DIGEST_BYTES];
    char text[RT_DIGEST_TEXT_BYTES];
    rt_tables_digest(t->graph, &t->tables, t->lanes.vls > 1 ? &t->lanes : NULL, &k->w.options,
                     digest);
    rt_digest_text(digest, text);
    route_record_text(r, "engine", "engine", t->engine->name);
    route_record_lines(r, "refusals", t->refusals->len > 1 ? "engines passed over" : NULL,
                       (const char *const *)t->refusals->pdata);
    route_record_fabric(r, t->graph, t->hosts);
    route_record_count(r, "threads", "threads", route_progress_threads(k->w.progress));
    route_record_times(r, t);
    route_record_check(r, t);
    route_record_count(r, "max_vls", NULL, (uint64_t)k->o.vls);
    route_record_bytes(r, "peak_rss_bytes", "memory, at most", peak_rss_bytes());
    route_record_text(r, "tables_digest", "digest of the tables", text);
    return r;
}

static int write_tables(FILE *out, void *compute)
{
    const struct compute *k = compute;
    return lfts_write(k->t.plan, k->w.fabric, out);
}

static int write_all(struct compute *k)
{
    int result = CLI_OK;
    route_progress_stage(k->w.progress, "writing");
    if (k->lfts_out != NULL)
        result = route_write(k->lfts_out, write_tables, k);
    route_progress_end(k->w.progress);
    if (result == CLI_OK && k->picture != NULL)
        result = route_tables_picture(&k->w, &k->t, k->picture);
    return result;
}

/* Figures are told also of tables that are wrong, but those are not written. */
static int finish(struct compute *k)
{
    struct route_record *r = make_record(k);
    json_t *json = route_record_json(r), *shards = NULL;
    int result = route_judge(&k->t, k->partial);
    if (result == CLI_OK && k->shards > 0)
        result = route_shards(&k->w, &k->t, (unsigned)k->shards, r, &shards);
    if (shards != NULL)
        json_object_set_new(json, "shards", shards);
    if (result == CLI_OK)
        result = write_all(k);
    g_autofree char *title = g_strdup_printf("Routed %s:", k->o.fabric);
    int told = route_print(&k->o, title, (const struct route_record *const *)&r, NULL, 1, json);
    route_record_destroy(r);
    return result == CLI_OK ? told : result;
}

static int compute(struct compute *k)
{
    g_autofree char *refusal = NULL;
    int result = route_work_load(&k->w, &k->o);
    if (result == CLI_OK)
        result = route_work_prepare(&k->w);
    if (result != CLI_OK)
        return result;
    if (k->lfts_out == NULL) /* it has the names */
        g_clear_pointer(&k->w.fabric, fabric_destroy);
    if (route_tables_make(&k->w, k->o.engine, &k->t, &refusal) != CLI_OK)
        return cli_fail("%s cannot be routed: %s", k->o.fabric, refusal);
    route_say_refusals(&k->w, &k->t);
    route_tables_check(&k->w, &k->t);
    return finish(k);
}

static int check_own(const struct cli *c, struct compute *k)
{
    const char *files[] = {k->o.json, k->lfts_out, k->picture};
    unsigned to_stdout = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++)
        to_stdout += g_strcmp0(files[i], "-") == 0;
    if (to_stdout > 1)
        return cli_usage(c, "--json, --lfts-out and --picture cannot both go to stdout");
    if (k->shards < 0 || k->shards > (gint)SPLIT_MAX_SHARDS)
        return cli_usage(c, "--shards %d: expected a number from 1 to %u", k->shards,
                         SPLIT_MAX_SHARDS);
    k->o.quiet = to_stdout > 0;
    int result = route_write_possible(k->lfts_out);
    return result == CLI_OK ? route_write_possible(k->picture) : result;
}

int route_compute_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Computes the tables of all switches, walks every pair in them, and says how long it took\n"
        "and a digest of the tables that does not depend on LIDs. The status is 1, and no table "
        "is\n"
        "written, when no engine of the list can serve the fabric or a pair is left without a\n"
        "path.";
    struct compute k = {0};
    route_options_init(&k.o);
    const GOptionEntry own[] = {
        {"partial", 0, 0, G_OPTION_ARG_NONE, &k.partial, "pairs that no cable joins are no error",
         NULL},
        {"shards", 0, 0, G_OPTION_ARG_INT, &k.shards, "also in N processes, and compare", "N"},
        {"lfts-out", 0, 0, G_OPTION_ARG_FILENAME, &k.lfts_out, "write the tables as dump_lfts does",
         "FILE"},
        {"picture", 0, 0, G_OPTION_ARG_FILENAME, &k.picture,
         "draw the load of links per tier, as SVG", "FILE"},
        {0}};
    int result = route_options_parse(c, &k.o, ROUTE_TAKES_ENGINE, details, own, &argc, &argv);
    if (result == CLI_OK)
        result = check_own(c, &k);
    if (result == CLI_OK)
        result = compute(&k);
    route_tables_clear(&k.t);
    route_work_clear(&k.w);
    route_options_clear(&k.o);
    g_free(k.lfts_out);
    g_free(k.picture);
    return result;
}
