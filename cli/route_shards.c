/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables that several processes made, beside those of one. */
#include "cli/route_shards.h"

#include <errno.h>
#include <inttypes.h>

#include "cli/route_split.h"

static struct route_record *record_of(const struct split_result *s)
{
    struct route_record *r = route_record_create();
    route_record_count(r, "count", "shards, each a process", s->shards);
    route_record_text(r, "how", "split by", s->how);
    route_record_flag(r, "exact", "the engine promises the same tables", s->exact);
    route_record_flag(r, "identical", "the tables are the same", s->identical);
    route_record_count(r, "differing_entries", "entries that differ", s->differing_entries);
    route_record_count(r, "differing_sls", "service levels that differ", s->differing_sls);
    route_record_seconds(r, "wall_s", "all shards, on the clock", s->wall_s);
    route_record_seconds(r, "critical_s", "slowest shard, on a core of its own", s->critical_s);
    route_record_seconds(r, "central_s", "of that, what one process must do", s->central_s);
    route_record_seconds(r, "unsplit_s", "one process, one thread", s->unsplit_s);
    route_record_count(r, "vls", "virtual lanes of the union", MAX(s->vls, 1));
    return r;
}

static json_t *each_json(const struct split_result *s)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < s->shards; i++) {
        json_t *o = json_object();
        json_object_set_new(o, "entries", json_integer((json_int_t)s->each[i].entries));
        json_object_set_new(o, "prepare_s", json_real(s->each[i].prepare_s));
        json_object_set_new(o, "total_s", json_real(s->each[i].total_s));
        json_object_set_new(o, "cpu_s", json_real(s->each[i].cpu_s));
        json_array_append_new(list, o);
    }
    return list;
}

/* What splitting costs: the same figures of both. */
static void measure_both(struct route_work *w, struct route_tables *whole,
                         const struct split_result *s, struct route_record *r)
{
    struct route_tables split = {.graph = whole->graph, .hosts = whole->hosts, .tables = s->tables};
    route_tables_measure(w, whole);
    route_tables_measure(w, &split);
    route_record_count(r, "a2a", "A2A of the union", split.metrics.a2a);
    route_record_count(r, "a2a_unsplit", "A2A of one process", whole->metrics.a2a);
    route_record_count(r, "rp_median", "RP of the union", split.metrics.rp);
    route_record_count(r, "rp_median_unsplit", "RP of one process", whole->metrics.rp);
    route_record_count(r, "sp_max", "SP of the union", split.metrics.sp);
    route_record_count(r, "sp_max_unsplit", "SP of one process", whole->metrics.sp);
}

int route_shards(struct route_work *w, struct route_tables *t, unsigned shards,
                 struct route_record *r, json_t **json)
{
    struct split_result s = {0};
    char error[1024] = "";
    route_progress_stage(w->progress, "routing in %u processes", shards);
    int rc = split_run(t->graph, t->engine, &w->options, shards, t->plan, &s, error, sizeof error);
    route_progress_end(w->progress);
    if (rc != 0)
        return cli_fail("%u shards: %s", shards, *error ? error : g_strerror(rc));
    struct route_record *own = record_of(&s);
    if (!s.identical)
        measure_both(w, t, &s, own);
    *json = route_record_json(own);
    json_object_set_new(*json, "each", each_json(&s));
    route_record_append(r, own);
    bool broken = s.exact && !s.identical;
    uint64_t entries = s.differing_entries, sls = s.differing_sls;
    split_clear(&s);
    if (!broken)
        return CLI_OK;
    return cli_fail("%u shards made other tables than one process, though %s promises the same: "
                    "%" PRIu64 " entries and %" PRIu64 " service levels differ",
                    shards, t->engine->name, entries, sls);
}
