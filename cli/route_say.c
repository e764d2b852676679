/* SPDX-License-Identifier: BSD-2-Clause */
/* What the offline commands of routing say of tables. */
#include <inttypes.h>

#include "cli/route_work.h"
#include "cli/route_write.h"

void route_say_refusals(struct route_work *w, const struct route_tables *t)
{
    route_progress_end(w->progress);
    for (guint i = 0; t->plan != NULL && i + 1 < t->refusals->len; i++)
        fprintf(stderr, "heddle: passed over %s\n", (const char *)t->refusals->pdata[i]);
}

void route_record_fabric(struct route_record *r, const struct rt_graph *g, const GArray *hosts)
{
    route_record_count(r, "hosts", "hosts", hosts->len);
    route_record_count(r, "switches", "switches", g->switch_count);
    route_record_count(r, "links", "links between switches", g->link_count / 2);
}

void route_record_times(struct route_record *r, const struct route_tables *t)
{
    if (t->plan == NULL)
        return;
    route_record_seconds(r, "prepare_s", "preparation", t->prepare_s);
    route_record_seconds(r, "total_s", "preparation and rows", t->total_s);
}

void route_record_check(struct route_record *r, const struct route_tables *t)
{
    const struct rt_check_result *k = &t->check;
    route_record_count(r, "unreachable_pairs", "pairs without a path", route_tables_unreachable(t));
    route_record_count(r, "disconnected_pairs", "of them not joined by any cable", k->disconnected);
    route_record_count(r, "loops", "of them looping", k->loops);
    route_record_count(r, "dead_ports", "entries at dead ports", k->dead_ports);
    route_record_count(r, "credit_loop_channels", "channels on a credit loop",
                       k->credit_loop_channels);
    route_record_count(r, "bad_lanes", "paths in a VL that is not there", k->bad_lanes);
    route_record_count(r, "max_hops", "hops on the longest path", k->max_hops);
    route_record_count(r, "vls", "virtual lanes", t->lanes.vls);
}

void route_record_metrics(struct route_record *r, const struct route_tables *t)
{
    const struct rt_metrics *m = &t->metrics;
    route_record_count(r, "a2a", "A2A: all to all", m->a2a);
    route_record_count(r, "rp_median", "RP: random permutations, median", m->rp);
    route_record_count(r, "sp_max", "SP: shifts, greatest", m->sp);
    route_record_real(r, "mean_hops", "hops of a path, mean", m->mean_hops);
    route_record_count(r, "lost_host_pairs", "pairs of hosts without a path", m->lost);
}

static int fail_pairs(const struct route_tables *t)
{
    const char *kind = t->check.unreachable > 0 ? "unreachable"
                       : t->check.loops > 0     ? "loop"
                                                : "disconnected";
    g_autofree char *place = route_tables_finding(t, kind);
    return cli_fail(
        "%s leaves %" PRIu64 " pairs without a path, the first is %s%s", t->engine->name,
        route_tables_unreachable(t), place != NULL ? place : kind,
        route_tables_lost(t) == 0 ? "; no cable joins them (--partial routes what is joined)" : "");
}

int route_judge(const struct route_tables *t, bool partial)
{
    if ((partial ? route_tables_lost(t) : route_tables_unreachable(t)) > 0)
        return fail_pairs(t);
    bool promised = rt_plan_properties(t->plan).vls > 0;
    const char *kind = t->check.dead_ports > 0                         ? "dead port"
                       : t->check.bad_lanes > 0                        ? "bad lane"
                       : promised && t->check.credit_loop_channels > 0 ? "credit loop"
                                                                       : NULL;
    if (kind == NULL)
        return CLI_OK;
    g_autofree char *place = route_tables_finding(t, kind);
    return cli_fail("%s made wrong tables, the first finding is %s", t->engine->name,
                    place != NULL ? place : kind);
}

int route_print(const struct route_options *o, const char *title,
                const struct route_record *const *records, const char *const *headings,
                unsigned count, json_t *json)
{
    int result = CLI_OK;
    if (o->json != NULL)
        result = route_write_json(o->json, json);
    json_decref(json);
    if (o->quiet || g_strcmp0(o->json, "-") == 0)
        return result;
    printf("%s\n", title);
    route_record_print(records, headings, count, stdout);
    int printed = cli_end(CLI_OK);
    return result == CLI_OK ? printed : result;
}
