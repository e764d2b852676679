/* SPDX-License-Identifier: BSD-2-Clause */
/* file: tables that somebody else made, for instance those of a dump, as a plan.
 *
 * Nothing is believed of them. They are refused with the first finding when an entry leads to a
 * port where nobody is, when packets would go round, or when a pair that the cables join has no
 * path. Entries of LIDs that nobody owns are left out. Whether one VL is enough is the checker's
 * verdict on just these tables: other tables of the same fabric may differ. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "routing/check.h"
#include "routing/engine.h"
#include "routing/order.h"

struct file_plan {
    struct rt_plan plan;
    struct rt_tables tables; /* the rows are the caller's, see struct rt_options */
    uint32_t *piece;         /* of each switch: the connected piece that it is in */
};

static unsigned entry(const struct rt_tables *t, uint32_t s, uint32_t lid)
{
    return lid < t->row_size ? t->rows[s][lid] : RT_NO_PATH;
}

/* -- the plan ------------------------------------------------------------------------------- */

static void file_destroy(struct rt_plan *plan)
{
    struct file_plan *p = (struct file_plan *)plan;
    g_free(p->piece);
    g_free(p);
}

static void file_row(const struct rt_plan *plan, uint32_t s, uint8_t *row)
{
    const struct rt_graph *g = plan->graph;
    const struct rt_tables *t = &((const struct file_plan *)plan)->tables;
    for (uint32_t i = 0; i < g->by_lid_count; i++) {
        const struct rt_dest *d = &g->dests[g->by_lid[i]];
        for (uint32_t k = 0; k < 1u << d->lmc; k++)
            row[d->lid + k] = entry(t, s, d->lid + k);
    }
    rt_fill_own(g, s, row);
}

static unsigned file_next_hop(const struct rt_plan *plan, uint32_t s, uint32_t dest, unsigned path)
{
    const struct rt_tables *t = &((const struct file_plan *)plan)->tables;
    return entry(t, s, plan->graph->dests[dest].lid + path);
}

static bool file_joins(const void *plan, uint32_t a, uint32_t b)
{
    const struct file_plan *p = plan;
    return p->piece[a] == p->piece[b];
}

/* Tables that miss a pair which the graph joins were refused: what is left is not joined. */
static size_t file_unreachable(const struct rt_plan *plan, uint32_t (*pairs)[2], size_t capacity)
{
    return rt_list_apart(plan->graph, file_joins, plan, pairs, capacity);
}

static const struct rt_plan_ops file_ops = {.destroy = file_destroy,
                                            .row = file_row,
                                            .next_hop = file_next_hop,
                                            .unreachable = file_unreachable};

/* -- what is refused ------------------------------------------------------------------------ */

static int look_for_rows(const struct rt_graph *g, const struct rt_tables *t, char *error,
                         size_t error_size)
{
    uint32_t missing = 0, first = RT_NONE;
    if (!t || !t->rows) {
        snprintf(error, error_size,
                 "no tables are given: this engine needs the forwarding tables of a dump");
        return ENOTSUP;
    }
    for (uint32_t s = g->switch_count; s-- > 0;) {
        if (t->rows[s])
            continue;
        missing++;
        first = s;
    }
    if (missing == 0)
        return 0;
    snprintf(error, error_size,
             "the tables have none of switch 0x%016" PRIx64
             " (none of %u of %u switches): dump the whole fabric again",
             g->switches[first].guid, missing, g->switch_count);
    return ENOTSUP;
}

/* The first line of the checker's report that begins with one of these words. */
static char *find_line(const char *report, const char *word)
{
    g_auto(GStrv) lines = g_strsplit(report, "\n", -1);
    for (char **line = lines; *line; line++)
        if (g_str_has_prefix(*line, word))
            return g_strdup(*line);
    return g_strdup(word);
}

static int judge(const struct rt_graph *g, const struct rt_tables *t, struct rt_check_result *r,
                 char *error, size_t error_size)
{
    char *report = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&report, &size);
    if (!out)
        return ENOMEM;
    rt_check(g, t, NULL, r, out, 1);
    if (fclose(out)) {
        free(report);
        return ENOMEM;
    }
    const struct {
        const char *word;
        uint64_t count;
    } kinds[] = {{"dead port", r->dead_ports}, {"loop", r->loops}, {"unreachable", r->unreachable}};
    int rc = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds) && rc == 0; i++) {
        if (kinds[i].count == 0)
            continue;
        g_autofree char *line = find_line(report, kinds[i].word);
        snprintf(error, error_size, "the tables do not fit this fabric: %s (%" PRIu64 " such)",
                 line, kinds[i].count);
        rc = ENOTSUP;
    }
    free(report);
    return rc;
}

/* -- loops that no pair sees ---------------------------------------------------------------- */

struct walker {
    const struct rt_graph *g;
    const struct rt_tables *t;
    uint32_t (*peer)[256]; /* of each switch, by port; RT_NONE = no switch */
    uint32_t *mark;        /* of each switch: the walk that came by, from 1 */
};

static void find_peers(struct walker *w)
{
    const struct rt_graph *g = w->g;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_switch *sw = &g->switches[s];
        for (unsigned p = 0; p < 256; p++)
            w->peer[s][p] = RT_NONE;
        for (uint32_t i = sw->first_group; i < sw->first_group + sw->group_count; i++)
            for (uint32_t l = 0; l < g->groups[i].link_count; l++) {
                const struct rt_link *link = &g->links[g->groups[i].first_link + l];
                w->peer[s][link->port] = link->peer;
            }
    }
}

/* A switch on a loop of entries for this LID, or RT_NONE. */
static uint32_t find_loop(struct walker *w, const struct rt_dest *d, uint32_t lid)
{
    memset(w->mark, 0, w->g->switch_count * sizeof *w->mark);
    for (uint32_t s = 0; s < w->g->switch_count; s++) {
        uint32_t at = s;
        while (at != RT_NONE && at != d->sw && w->mark[at] == 0) {
            w->mark[at] = s + 1;
            at = w->peer[at][entry(w->t, at, lid)];
        }
        if (at != RT_NONE && at != d->sw && w->mark[at] == s + 1)
            return at;
    }
    return RT_NONE;
}

/* The checker walks between ends that are there and joined. Packets for others may be sent as well,
 * and must not go round. */
static int look_for_loops(const struct rt_graph *g, const struct rt_tables *t, bool joined,
                          char *error, size_t error_size)
{
    struct walker w = {.g = g, .t = t, .mark = g_new(uint32_t, g->switch_count + 1)};
    int rc = 0;
    w.peer = g_malloc_n(g->switch_count + 1, sizeof *w.peer);
    find_peers(&w);
    for (uint32_t i = 0; i < g->by_lid_count && rc == 0; i++) {
        const struct rt_dest *d = &g->dests[g->by_lid[i]];
        for (uint32_t k = 0; !(d->present && joined) && k < 1u << d->lmc && rc == 0; k++) {
            uint32_t s = find_loop(&w, d, d->lid + k);
            if (s == RT_NONE)
                continue;
            snprintf(error, error_size,
                     "the tables do not fit this fabric: loop: from switch 0x%016" PRIx64
                     " to LID %u of port 0x%016" PRIx64 " on switch 0x%016" PRIx64
                     ", which is not to be reached",
                     g->switches[s].guid, d->lid + k, d->port_guid, g->switches[d->sw].guid);
            rc = ENOTSUP;
        }
    }
    g_free(w.peer);
    g_free(w.mark);
    return rc;
}

/* ------------------------------------------------------------------------------------------- */

static int file_prepare(struct rt_graph *graph, const struct rt_options *options,
                        struct rt_plan **plan, char *error, size_t error_size)
{
    const struct rt_tables *t = options ? options->tables : NULL;
    struct rt_check_result r;
    int rc = look_for_rows(graph, t, error, error_size);
    if (rc == 0)
        rc = judge(graph, t, &r, error, error_size);
    if (rc == 0)
        rc = look_for_loops(graph, t, r.disconnected == 0, error, error_size);
    if (rc)
        return rc;
    struct rt_orders orders;
    rt_orders_make(graph, NULL, false, &orders);
    struct file_plan *p = g_new0(struct file_plan, 1);
    p->plan.ops = &file_ops;
    p->plan.graph = rt_graph_ref(graph);
    p->plan.properties =
        (struct rt_properties){.vls = r.credit_loop_channels ? 0 : 1, .rows_independent = true};
    p->tables = *t;
    p->piece = g_memdup2(orders.piece, (graph->switch_count + 1) * sizeof *orders.piece);
    rt_orders_clear(&orders);
    *plan = &p->plan;
    return 0;
}

const struct rt_engine rt_file = {
    .name = "file",
    .summary = "tables of a dump, checked",
    .prepare = file_prepare,
};
