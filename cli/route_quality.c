/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle route quality: how evenly tables spread traffic over the links. */
#include <inttypes.h>

#include "cli/route_work.h"

static int tell(const struct route_options *o, const struct route_tables *t)
{
    struct route_record *r = route_record_create();
    route_record_text(r, "engine", "engine", t->engine->name);
    route_record_fabric(r, t->graph, t->hosts);
    route_record_metrics(r, t);
    route_record_count(r, "permutations", NULL, (uint64_t)o->permutations);
    route_record_count(r, "shifts", NULL, t->shifts);
    route_record_count(r, "seed", NULL, (uint64_t)o->seed);
    g_autofree char *title = g_strdup_printf("Measured %s:", o->fabric);
    int result = route_print(o, title, (const struct route_record *const *)&r, NULL, 1,
                             route_record_json(r));
    route_record_destroy(r);
    return result;
}

static int quality(const struct route_options *o, struct route_work *w, struct route_tables *t)
{
    g_autofree char *refusal = NULL;
    int result = route_work_load(w, o);
    if (result == CLI_OK)
        result = route_work_prepare(w);
    if (result != CLI_OK)
        return result;
    g_clear_pointer(&w->fabric, fabric_destroy);
    if (route_tables_make(w, o->engine, t, &refusal) != CLI_OK)
        return cli_fail("%s cannot be routed: %s", o->fabric, refusal);
    route_say_refusals(w, t);
    route_tables_measure(w, t);
    result = tell(o, t);
    if (result == CLI_OK && t->metrics.lost > 0)
        return cli_fail("%" PRIu64 " pairs of hosts have no path and load nothing in these "
                        "figures; see heddle route check",
                        t->metrics.lost);
    return result;
}

int route_quality_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Three figures of the loads of links between switches, least is best:\n"
        "  A2A  all to all: the greatest of min(sources, destinations) through a port\n"
        "  RP   the median, over random permutations, of the greatest load of a port\n"
        "  SP   the greatest load of a port over shifts (host i sends to host i + k)\n"
        "Hosts stand in the order of the file: switches as listed, ports by number.";
    struct route_options o;
    struct route_work w = {0};
    struct route_tables t = {0};
    route_options_init(&o);
    int result = route_options_parse(c, &o, ROUTE_TAKES_ENGINE | ROUTE_TAKES_MEASURE, details, NULL,
                                     &argc, &argv);
    if (result == CLI_OK)
        result = quality(&o, &w, &t);
    route_tables_clear(&t);
    route_work_clear(&w);
    route_options_clear(&o);
    return result;
}
