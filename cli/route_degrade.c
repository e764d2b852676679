/* SPDX-License-Identifier: BSD-2-Clause */
/* heddle route degrade: the same fabric with links or switches gone, before and after. */
#include <inttypes.h>
#include <string.h>

#include "cli/load.h"
#include "cli/route_damage.h"
#include "cli/route_work.h"
#include "cli/route_write.h"

struct degrade {
    struct route_options o;
    struct route_damage damage;
    char *links, *switches, *write;
    char **without;
};

/* Of one state of the fabric. */
struct state {
    struct route_work w;
    struct route_tables t;
    char *refusal; /* NULL = it was routed */
};

static void clear_state(struct state *s)
{
    route_tables_clear(&s->t);
    route_work_clear(&s->w);
    g_free(s->refusal);
}

/* Consumes the fabric of s->w. */
static int work(struct state *s, const char *engines)
{
    int result = route_work_prepare(&s->w);
    if (result != CLI_OK)
        return result;
    g_clear_pointer(&s->w.fabric, fabric_destroy);
    if (route_tables_make(&s->w, engines, &s->t, &s->refusal) != CLI_OK)
        return CLI_OK;
    route_say_refusals(&s->w, &s->t);
    route_tables_check(&s->w, &s->t);
    route_tables_measure(&s->w, &s->t);
    return CLI_OK;
}

static struct route_record *record_of(const struct state *s)
{
    struct route_record *r = route_record_create();
    route_record_text(r, "engine", "engine", s->refusal == NULL ? s->t.engine->name : NULL);
    route_record_text(r, "refused", s->refusal != NULL ? "refused" : NULL, s->refusal);
    route_record_fabric(r, s->w.graph, s->w.hosts);
    if (s->refusal != NULL)
        return r;
    route_record_times(r, &s->t);
    route_record_check(r, &s->t);
    route_record_metrics(r, &s->t);
    return r;
}

static json_t *removed_json(const struct route_damage *d)
{
    json_t *o = json_object();
    json_object_set_new(o, "links", json_integer(d->links_gone));
    json_object_set_new(o, "switches", json_integer(d->switches_gone));
    json_object_set_new(o, "end_ports", json_integer(d->ends_gone));
    return o;
}

static int tell(const struct degrade *d, const struct state *before, const struct state *after)
{
    static const char *const headings[] = {"before", "after"};
    struct route_record *records[] = {record_of(before), record_of(after)};
    json_t *json = json_object();
    json_object_set_new(json, "removed", removed_json(&d->damage));
    json_object_set_new(json, "before", route_record_json(records[0]));
    json_object_set_new(json, "after", route_record_json(records[1]));
    g_autofree char *title = g_strdup_printf(
        "Took %u links, %u switches and %u end ports from %s:", d->damage.links_gone,
        d->damage.switches_gone, d->damage.ends_gone, d->o.fabric);
    int result =
        route_print(&d->o, title, (const struct route_record *const *)records, headings, 2, json);
    route_record_destroy(records[0]);
    route_record_destroy(records[1]);
    return result;
}

/* Pairs that no cable joins any more are what was asked for. */
static int judge(const struct degrade *d, const struct state *after)
{
    const struct route_tables *t = &after->t;
    if (after->refusal != NULL)
        return cli_fail("what is left of %s cannot be routed: %s", d->o.fabric, after->refusal);
    return route_judge(t, true);
}

static int degrade(struct degrade *d, struct state *before, struct state *after)
{
    int result = route_work_load(&before->w, &d->o);
    if (result != CLI_OK)
        return result;
    struct fabric *left = route_damage_do(before->w.fabric, &d->damage, d->o.fabric);
    if (left == NULL)
        return CLI_FAILED;
    route_work_take(&after->w, &d->o, left);
    after->w.damaged = true;
    result = d->write != NULL ? save_fabric(left, d->write) : CLI_OK;
    if (result == CLI_OK)
        result = work(before, d->o.engine);
    if (result == CLI_OK)
        result = work(after, d->o.engine);
    if (result != CLI_OK)
        return result;
    if (before->refusal != NULL && after->refusal != NULL)
        return cli_fail("%s cannot be routed: %s", d->o.fabric, before->refusal);
    int told = tell(d, before, after);
    result = judge(d, after);
    return result == CLI_OK ? told : result;
}

static int read_damage(const struct cli *c, struct degrade *d)
{
    if (d->links == NULL && d->switches == NULL && d->without == NULL)
        return cli_usage(c, "give --links P, --switches P or --without GUID: what is to be taken");
    if (d->links != NULL &&
        !route_parse_share(d->links, &d->damage.links_percent, &d->damage.links_seed))
        return cli_usage(c, "--links %s: expected P or P:SEED, P in percent", d->links);
    if (d->switches != NULL &&
        !route_parse_share(d->switches, &d->damage.switches_percent, &d->damage.switches_seed))
        return cli_usage(c, "--switches %s: expected P or P:SEED, P in percent", d->switches);
    d->damage.named = g_array_new(FALSE, FALSE, sizeof(struct route_named));
    for (char **t = d->without; t != NULL && *t != NULL; t++) {
        struct route_named n;
        if (!route_parse_named(*t, &n))
            return cli_usage(c, "--without %s: expected GUID or GUID/PORT", *t);
        g_array_append_val(d->damage.named, n);
    }
    if (g_strcmp0(d->o.json, "-") == 0 && g_strcmp0(d->write, "-") == 0)
        return cli_usage(c, "--json and --write cannot both go to stdout");
    d->o.quiet = g_strcmp0(d->write, "-") == 0;
    return route_write_possible(d->write);
}

static void clear(struct degrade *d)
{
    route_options_clear(&d->o);
    if (d->damage.named != NULL)
        g_array_free(d->damage.named, TRUE);
    g_free(d->links);
    g_free(d->switches);
    g_free(d->write);
    g_strfreev(d->without);
}

int route_degrade_run(struct cli *c, int argc, char **argv)
{
    static const char details[] =
        "Routes the fabric as it is and without what is taken away, checks and measures both, and\n"
        "shows them side by side. Links and switches are drawn from SEED (1), P percent of all,\n"
        "rounded up. The status is 1 when a pair that cables still join is left without a path.";
    struct degrade d = {0};
    struct state before = {0}, after = {0};
    route_options_init(&d.o);
    const GOptionEntry own[] = {{"links", 0, 0, G_OPTION_ARG_FILENAME, &d.links,
                                 "take P percent of the links between switches", "P[:SEED]"},
                                {"switches", 0, 0, G_OPTION_ARG_FILENAME, &d.switches,
                                 "take P percent of the switches", "P[:SEED]"},
                                {"without", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &d.without,
                                 "take a node, or the cable at a port of it; may be repeated",
                                 "GUID[/PORT]"},
                                {"write", 0, 0, G_OPTION_ARG_FILENAME, &d.write,
                                 "write what is left, as ibnetdiscover does", "FILE"},
                                {0}};
    int result = route_options_parse(c, &d.o, ROUTE_TAKES_ENGINE | ROUTE_TAKES_MEASURE, details,
                                     own, &argc, &argv);
    if (result == CLI_OK)
        result = read_damage(c, &d);
    if (result == CLI_OK)
        result = degrade(&d, &before, &after);
    clear_state(&before);
    clear_state(&after);
    clear(&d);
    return result;
}
