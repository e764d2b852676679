/* SPDX-License-Identifier: BSD-2-Clause */
/* What the offline commands of routing share: their options, a fabric made ready, tables made by an
 * engine or read back, and what is measured of them. No cluster is asked.
 *
 * Functions that return an exit status have said why on stderr. */
#ifndef CLI_ROUTE_WORK_H
#define CLI_ROUTE_WORK_H

#include <glib.h>

#include "cli/cli.h"
#include "cli/lfts.h"
#include "cli/route_progress.h"
#include "cli/route_record.h"
#include "fabric/fabric.h"
#include "routing/choice.h"
#include "routing/metrics.h"

#define ROUTE_DEFAULT_ENGINE "ftree"
#define ROUTE_DEFAULT_VLS 8
#define ROUTE_MAX_VLS 15 /* data VLs, IBA 7.6.3 */

/* -- options ----------------------------------------------------------------------------------- */

struct route_options {
    char *fabric, *engine, *json;
    char *all_engines; /* instead of the default; NULL = ROUTE_DEFAULT_ENGINE */
    char **roots;
    char *roots_file, *cn_file, *io_file, *tables, *torus;
    gint threads, vls, lmc; /* lmc -1 = as the fabric has it */
    gboolean progress;
    bool quiet; /* stdout is taken: no text there */
    /* quality */
    gint permutations, shifts; /* shifts -1 = all, or some of them on large fabrics */
    gint64 seed;
};

enum route_takes {
    ROUTE_TAKES_ENGINE = 1,  /* --engine and what engines are told */
    ROUTE_TAKES_MEASURE = 2, /* --permutations, --shifts, --seed */
};

void route_options_init(struct route_options *o);
void route_options_clear(struct route_options *o);
/* cli_parse for an offline command, with its own entries (NULL = none) besides. Values are checked
 * as far as that can be without the fabric. An exit status. */
int route_options_parse(struct cli *c, struct route_options *o, unsigned takes, const char *details,
                        const GOptionEntry *own, int *argc, char ***argv);
/* text is "P" or "P:SEED", P in percent. False when it is neither. */
bool route_parse_share(const char *text, double *percent, uint64_t *seed);
/* Whether a list of engines has this one. */
bool route_engine_listed(const char *list, const char *name);

/* -- a fabric ---------------------------------------------------------------------------------- */

struct route_work {
    const struct route_options *o;
    struct route_progress *progress;
    bool damaged;          /* roots that are given may be away */
    struct fabric *fabric; /* NULL once it is not needed any more */
    struct rt_graph *graph;
    GArray *hosts;           /* uint32_t: destinations, in the order of the file */
    GArray *roots, *cn, *io; /* uint64_t, ascending; NULL = not given */
    struct lfts *given;      /* --tables */
    const uint8_t **given_rows;
    struct rt_tables given_tables;
    struct rt_torus_shape *torus; /* --torus */
    struct rt_options options;    /* points into all that */
};

/* Loads --fabric. */
int route_work_load(struct route_work *w, const struct route_options *o);
/* The same with a fabric that is there already, which it owns from then on. */
void route_work_take(struct route_work *w, const struct route_options *o, struct fabric *f);
/* A graph of w->fabric, and the options for engines. */
int route_work_prepare(struct route_work *w);
void route_work_clear(struct route_work *w);
/* uint32_t: the destinations that are hosts, in the order of the file: switches as listed, ports by
 * number. */
GArray *route_hosts(const struct fabric *f, const struct rt_graph *g);
/* A graph of a fabric (LIDs as they are there) and its hosts; name is said in errors. */
int route_graph(const struct fabric *f, const char *name, struct rt_graph **graph, GArray **hosts);
/* Gives the ports of f the LIDs that l tells; name is said in errors. */
int route_take_lids(struct fabric *f, const struct lfts *l, const char *name);

/* -- tables ------------------------------------------------------------------------------------ */

struct route_tables {
    struct rt_graph *graph;         /* a reference */
    const GArray *hosts;            /* of the graph */
    struct rt_plan *plan;           /* NULL: read back */
    const struct rt_engine *engine; /* the one that served; NULL: read back */
    GPtrArray *refusals;            /* lines "ENGINE: why", NULL at the end */
    uint8_t *bytes;                 /* of all rows of a plan */
    const uint8_t **rows;
    struct rt_tables tables;
    struct rt_lanes lanes; /* vls 1 without a plan */
    double prepare_s, total_s;
    struct rt_check_result check;
    bool ok;        /* what rt_check says */
    char *findings; /* lines: the first of each kind */
    struct rt_metrics metrics;
    uint32_t shifts; /* that SP was measured with */
};

/* Prepares and fills all rows. `refusal` (g_free) is the reason when no engine can serve the
 * fabric: then CLI_FAILED, and nothing was said on stderr. */
int route_tables_make(struct route_work *w, const char *engines, struct route_tables *t,
                      char **refusal);
/* Rows of l, which must outlive t. */
void route_tables_take(struct rt_graph *g, const GArray *hosts, const struct lfts *l,
                       struct route_tables *t);
void route_tables_check(struct route_work *w, struct route_tables *t);
void route_tables_measure(struct route_work *w, struct route_tables *t);
void route_tables_clear(struct route_tables *t);
/* Pairs without a path: those that the graph joins, and all. */
uint64_t route_tables_lost(const struct route_tables *t);
uint64_t route_tables_unreachable(const struct route_tables *t);
/* The first of the findings that begins with this ("unreachable"), g_free; NULL = there is none. */
char *route_tables_finding(const struct route_tables *t, const char *kind);

/* The load of links when all hosts send to all, as SVG (picture.h). An exit status. */
int route_tables_picture(struct route_work *w, const struct route_tables *t, const char *path);

/* -- what is said ------------------------------------------------------------------------------ */

void route_say_refusals(struct route_work *w, const struct route_tables *t);
/* What would be wrong tables of a plan: pairs without a path (with `partial` only those that the
 * graph joins), entries at dead ports, and credit loops where the engine promises that there are
 * none. An exit status. */
int route_judge(const struct route_tables *t, bool partial);
void route_record_fabric(struct route_record *r, const struct rt_graph *g, const GArray *hosts);
void route_record_times(struct route_record *r, const struct route_tables *t);
void route_record_check(struct route_record *r, const struct route_tables *t);
void route_record_metrics(struct route_record *r, const struct route_tables *t);
/* Text on stdout unless JSON goes there; JSON to --json. Consumes json. An exit status. */
int route_print(const struct route_options *o, const char *title,
                const struct route_record *const *records, const char *const *headings,
                unsigned count, json_t *json);

#endif
