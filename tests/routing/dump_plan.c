/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables for the second checker, and what heddle's own says of them.
 *
 *   dump_plan random DIR SEED COUNT   COUNT random fabrics from this seed on, each with all
 * engines, as the engine made the tables and with random entries, service levels and SL2VL tables
 *   dump_plan plan DIR SPEC ENGINE[:VLS]   one plan of a file or generator
 *   dump_plan engines   their names, one a line
 *   dump_plan check FABRIC LFTS VLS [SLS|- [SL2VL]]   given files; prints the report, too
 *
 * Prints one object of JSON a line: what was made, the names of its files in DIR, the counts. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "fabric/read.h"
#include "fabric/write.h"
#include "tests/routing/random_fabric.h"
#include "tests/routing/tables_text.h"

#define REPORTED 100u /* findings of a kind */
#define DFSSSP_VLS 8u

struct variant {
    const char *engine;
    unsigned vls;
};

struct job {
    const char *dir, *spec;
    uint32_t seed;
    const struct fabric *f;
    struct rt_graph *g;
    unsigned made; /* files so far */
};

static void die(const char *what, int rc)
{
    fprintf(stderr, "dump_plan: %s: %s\n", what, g_strerror(rc));
    exit(2);
}

static void must(int rc, const char *what)
{
    if (rc)
        die(what, rc);
}

static void save_fabric(const struct job *j, const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%s", j->dir, name);
    FILE *out = fopen(path, "w");
    if (!out)
        die(path, errno);
    must(fabric_write(j->f, out), path);
    if (fclose(out))
        die(path, errno);
}

/* -- one case ------------------------------------------------------------------------------- */

static void put_head(const struct job *j, const struct variant *v, const char *spoilt)
{
    printf("{\"seed\": %u, \"spec\": \"%s\", \"fabric\": \"%u.net\", \"engine\": \"%s\", "
           "\"vls\": %u, \"spoilt\": \"%s\"",
           j->seed, j->spec, j->seed, v->engine, v->vls, spoilt);
}

static void emit(struct job *j, const struct variant *v, const char *spoilt, struct tables *t)
{
    struct variant used = {v->engine, t->vls};
    g_autofree char *stem = g_strdup_printf("%u-%u", j->seed, j->made++);
    g_autofree char *lfts = g_strdup_printf("%s/%s.lfts", j->dir, stem);
    g_autofree char *sls = g_strdup_printf("%s/%s.sl", j->dir, stem);
    g_autofree char *sl2vl = g_strdup_printf("%s/%s.sl2vl", j->dir, stem);
    must(tables_write_lfts(t, j->f, lfts), lfts);
    if (t->sl)
        must(tables_write_sls(t, sls), sls);
    if (t->vl)
        must(tables_write_sl2vl(t, sl2vl), sl2vl);
    put_head(j, &used, spoilt);
    printf(", \"lfts\": \"%s.lfts\", ", stem);
    if (t->sl)
        printf("\"sl\": \"%s.sl\", ", stem);
    if (t->vl)
        printf("\"sl2vl\": \"%s.sl2vl\", ", stem);
    tables_check(t, stdout, 0);
    printf("}\n");
}

/* -- spoiling ------------------------------------------------------------------------------- */

static void spoil_entries(struct tables *t, GRand *rand)
{
    const struct rt_graph *g = t->graph;
    for (int i = g_rand_int_range(rand, 1, 9); i > 0; i--) {
        uint32_t s = g_rand_int_range(rand, 0, g->switch_count);
        t->bytes[s * t->size + g_rand_int_range(rand, 1, t->size)] =
            g_rand_int_range(rand, 0, 8) ? g_rand_int_range(rand, 0, g->switches[s].nports + 3)
                                         : (int)RT_NO_PATH;
    }
}

/* Any packet in any VL; now and then in one that is not there. */
static void spoil_lanes(struct tables *t, GRand *rand)
{
    size_t n = t->graph->switch_count;
    unsigned vls = g_rand_int_range(rand, 2, 5), above = g_rand_int_range(rand, 0, 6) == 0;
    bool change = g_rand_boolean(rand);
    tables_add_lanes(t, vls, change);
    for (size_t i = 0; i < n * t->size; i++)
        t->sl[i] = g_rand_int_range(rand, 0, vls + above);
    for (size_t i = 0; change && i < n * t->ports * t->ports * TABLES_SLS; i++)
        t->vl[i] = g_rand_int_range(rand, 0, vls + above);
}

/* -- all engines ---------------------------------------------------------------------------- */

/* What an engine's options name is of this fabric: tables for "file" are those of updn. */
static struct rt_plan *prepare(struct rt_graph *g, const struct variant *v, struct tables **given,
                               char *error, size_t size)
{
    struct rt_options options = {.max_vls = v->vls};
    struct rt_plan *p = NULL, *other = NULL;
    struct rt_tables rows;
    if (strcmp(v->engine, "file") == 0 &&
        rt_engine_find("updn")->prepare(g, &options, &other, error, size) == 0) {
        *given = tables_of_plan(other);
        rows = (struct rt_tables){.rows = (*given)->rows, .row_size = (*given)->size};
        options.tables = &rows;
        rt_plan_destroy(other);
    }
    int rc = rt_engine_find(v->engine)->prepare(g, &options, &p, error, size);
    if (rc && !*error)
        snprintf(error, size, "%s", g_strerror(rc));
    return rc ? NULL : p;
}

static void run_variant(struct job *j, const struct variant *v, GRand *rand)
{
    char error[512] = "";
    struct tables *given = NULL;
    struct rt_plan *p = prepare(j->g, v, &given, error, sizeof error);
    if (!p) {
        g_autofree char *escaped = g_strescape(error, NULL);
        put_head(j, v, "");
        printf(", \"refused\": \"%s\"}\n", escaped);
    } else {
        struct tables *t = tables_of_plan(p);
        emit(j, v, "", t);
        spoil_entries(t, rand);
        emit(j, v, "entries", t);
        if (g_rand_int_range(rand, 0, 3) == 0) {
            spoil_lanes(t, rand);
            emit(j, v, "lanes", t);
        }
        tables_destroy(t);
        rt_plan_destroy(p);
    }
    tables_destroy(given);
}

static void run_random(struct job *j)
{
    char spec[128];
    struct fabric *f = random_fabric(j->seed, spec, sizeof spec);
    g_autofree char *name = g_strdup_printf("%u.net", j->seed);
    GRand *rand = g_rand_new_with_seed(j->seed ^ 0x5eed);
    j->f = f;
    j->spec = spec;
    j->made = 0;
    must(rt_graph_from_fabric(f, &j->g, NULL), spec);
    save_fabric(j, name);
    for (const char *const *e = rt_engine_names(); *e; e++) {
        bool nue = strcmp(*e, "nue") == 0;
        for (unsigned vls = 1; vls <= (nue ? 4 : 1); vls++) {
            struct variant v = {*e, nue ? vls : DFSSSP_VLS};
            run_variant(j, &v, rand);
        }
    }
    g_rand_free(rand);
    rt_graph_unref(j->g);
    fabric_destroy(f);
}

/* -- the three uses ------------------------------------------------------------------------- */

static struct fabric *load(const char *spec)
{
    struct fabric_messages *m = fabric_messages_create();
    struct fabric *f = fabric_load(spec, m);
    for (size_t i = 0; !f && i < fabric_messages_count(m, true); i++)
        fprintf(stderr, "%s\n", fabric_messages_text(m, i));
    fabric_messages_destroy(m);
    return f;
}

/* Ports that have no LID get some, as rt_graph_from_fabric gives them, so that the files have them
 * as well. */
static void take_lids(struct fabric *f, const struct rt_graph *g)
{
    for (uint32_t d = 0; d < g->dest_count; d++) {
        const struct rt_dest *dest = &g->dests[d];
        struct fabric_node *n = &f->nodes[fabric_find(f, g->switches[dest->sw].guid)];
        struct fabric_port *port = &n->ports[dest->port];
        if (dest->port > 0)
            port = &f->nodes[port->peer_node].ports[port->peer_port];
        port->lid = dest->lid;
        port->lmc = dest->lmc;
    }
}

static int run_plan(const char *dir, const char *spec, const char *engine)
{
    g_auto(GStrv) words = g_strsplit(engine, ":", 2);
    struct variant v = {words[0], words[1] ? strtoul(words[1], NULL, 10) : 1};
    struct fabric *f = load(spec);
    struct job j = {.dir = dir, .spec = spec, .f = f};
    uint16_t duplicate = 0;
    if (!f || !rt_engine_find(v.engine)) {
        fprintf(stderr, "dump_plan: no fabric or no engine %s\n", v.engine);
        return 2;
    }
    must(rt_graph_from_fabric(f, &j.g, &duplicate), spec);
    take_lids(f, j.g);
    save_fabric(&j, "0.net");
    char error[512] = "";
    struct tables *given = NULL;
    struct rt_plan *p = prepare(j.g, &v, &given, error, sizeof error);
    if (p) {
        struct tables *t = tables_of_plan(p);
        emit(&j, &v, "", t);
        tables_destroy(t);
    } else {
        fprintf(stderr, "dump_plan: %s: %s\n", engine, error);
    }
    tables_destroy(given);
    bool ok = p != NULL;
    rt_plan_destroy(p);
    rt_graph_unref(j.g);
    fabric_destroy(f);
    return ok ? 0 : 1;
}

static int run_check(char **argv, int argc)
{
    struct fabric *f = load(argv[0]);
    struct rt_graph *g;
    if (!f)
        return 2;
    must(rt_graph_from_fabric(f, &g, NULL), argv[0]);
    const char *sls = argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL;
    struct tables *t =
        tables_read(g, argv[1], sls, argc > 4 ? argv[4] : NULL, strtoul(argv[2], NULL, 10));
    if (t) {
        printf("{");
        tables_check(t, stdout, REPORTED);
        printf("}\n");
    }
    bool ok = t != NULL;
    tables_destroy(t);
    rt_graph_unref(g);
    fabric_destroy(f);
    return ok ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "random") == 0) {
        struct job j = {.dir = argv[2]};
        unsigned first = strtoul(argv[3], NULL, 0), count = strtoul(argv[4], NULL, 0);
        for (j.seed = first; j.seed - first < count; j.seed++)
            run_random(&j);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "engines") == 0) {
        for (const char *const *e = rt_engine_names(); *e; e++)
            puts(*e);
        return 0;
    }
    if (argc == 5 && strcmp(argv[1], "plan") == 0)
        return run_plan(argv[2], argv[3], argv[4]);
    if (argc >= 5 && argc <= 7 && strcmp(argv[1], "check") == 0)
        return run_check(argv + 2, argc - 2);
    fprintf(stderr, "usage: dump_plan engines\n"
                    "       dump_plan random DIR SEED COUNT\n"
                    "       dump_plan plan DIR SPEC ENGINE[:VLS]\n"
                    "       dump_plan check FABRIC LFTS VLS [SLS|- [SL2VL]]\n");
    return 2;
}
