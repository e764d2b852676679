/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks and measures tables: those of a plan, and those that were read back from switches. */
#include "bench/route_given.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "cli/lfts.h"
#include "cli/route_work.h"
#include "cli/tables.h"
#include "routing/metrics.h"

#define PERMUTATIONS 1000u
#define ALL_SHIFTS_HOSTS 4096u /* of more hosts, SHIFTS are drawn */
#define SHIFTS 1000u
#define SLS 16u

/* -- what is printed --------------------------------------------------------------------------- */

/* The same graph, the same numbers, but switches have no LIDs: neither sources nor destinations. */
static struct rt_graph *without_switch_lids(const struct rt_graph *g)
{
    struct rt_builder *b = rt_builder_create();
    for (uint32_t s = 0; s < g->switch_count; s++) /* links need both of their ends */
        rt_add_switch(b, g->switches[s].guid, g->switches[s].nports, 0, 0);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_switch *sw = &g->switches[s];
        for (uint32_t i = 0; i < sw->group_count; i++) {
            const struct rt_group *group = &g->groups[sw->first_group + i];
            for (uint32_t l = group->first_link; l < group->first_link + group->link_count; l++)
                if (s < group->peer)
                    rt_add_link(b, sw->guid, g->links[l].port, g->switches[group->peer].guid,
                                g->links[l].peer_port);
        }
        for (uint32_t i = 1; i < sw->dest_count; i++) {
            const struct rt_dest *d = &g->dests[sw->first_dest + i];
            rt_add_dest(b, sw->guid, d->port, d->port_guid, d->lid, d->lmc, d->kind, d->present);
        }
    }
    struct rt_graph *cas = NULL;
    int rc = rt_builder_finish(b, &cas, NULL);
    g_assert(rc == 0 && cas->dest_count == g->dest_count);
    return cas;
}

void route_given_check(const struct rt_graph *g, const struct rt_tables *t,
                       const struct rt_lanes *lanes)
{
    struct rt_check_result r;
    unsigned vls = lanes ? lanes->vls : 1;
    bool good = rt_check(g, t, vls > 1 ? lanes : NULL, &r, NULL, 0);
    uint64_t credit = r.credit_loop_channels;
    printf(" %s pairs %" G_GUINT64_FORMAT " unreachable %" G_GUINT64_FORMAT
           " disconnected %" G_GUINT64_FORMAT " loops %" G_GUINT64_FORMAT " dead %" G_GUINT64_FORMAT
           " hops<=%u VLs %u credit %" G_GUINT64_FORMAT,
           good ? "ok" : "BAD", r.pairs, r.unreachable, r.disconnected, r.loops, r.dead_ports,
           r.max_hops, vls, credit);
    if (vls > 1) {
        rt_check(g, t, NULL, &r, NULL, 0);
        credit = r.credit_loop_channels;
    }
    printf(" credit-on-one-VL %" G_GUINT64_FORMAT, credit);
    struct rt_graph *cas = without_switch_lids(g);
    rt_check(cas, t, vls > 1 ? lanes : NULL, &r, NULL, 0);
    printf(" credit-of-CAs %" G_GUINT64_FORMAT, r.credit_loop_channels);
    rt_graph_unref(cas);
}

void route_given_measure(const struct fabric *f, const struct rt_graph *g,
                         const struct rt_tables *t, const struct rt_options *options, unsigned seed)
{
    struct rt_metrics m;
    GArray *hosts = route_hosts(f, g);
    struct rt_measuring how = {.permutations = PERMUTATIONS, .seed = seed, .options = options};
    how.shifts = hosts->len > ALL_SHIFTS_HOSTS ? SHIFTS : 0;
    rt_measure_with(g, t, (const uint32_t *)(void *)hosts->data, hosts->len, &how, &m);
    printf(" hosts %u lost %" G_GUINT64_FORMAT " A2A %u RP %u SP %u shifts %u mean hops %.3f",
           hosts->len, m.lost, m.a2a, m.rp, m.sp, how.shifts, m.mean_hops);
    g_array_free(hosts, TRUE);
}

/* -- tables that were read back ---------------------------------------------------------------- */

/* LIDs of l where it tells them; ports that it does not know get LIDs that no table has. Returns
 * how many ports l does not know. */
static uint32_t take_lids(struct fabric *f, const struct lfts *l)
{
    uint32_t unknown = 0, spare = 0;
    GHashTableIter each;
    gpointer value;
    g_hash_table_iter_init(&each, l->lids);
    while (g_hash_table_iter_next(&each, NULL, &value))
        spare = MAX(spare, ((struct lfts_port *)value)->lid);
    for (uint32_t n = 0; n < f->node_count; n++) {
        bool is_switch = f->nodes[n].type == FABRIC_SWITCH;
        for (unsigned p = is_switch ? 0 : 1; p <= (is_switch ? 0 : f->nodes[n].nports); p++) {
            struct fabric_port *port = &f->nodes[n].ports[p];
            const struct lfts_port *told = g_hash_table_lookup(l->lids, &port->guid);
            bool needed = is_switch || port->peer_node != FABRIC_NONE;
            port->lmc = 0;
            port->lid = told ? told->lid : 0;
            if (needed && port->lid == 0 && spare + 1 < LFTS_ROW_BYTES) {
                port->lid = (uint16_t)++spare;
                unknown++;
            }
        }
    }
    return unknown;
}

struct sls {
    uint8_t *sl; /* by source switch and destination */
    uint32_t dests;
};

static unsigned sl_of(const void *user, uint32_t source_switch, uint32_t dest, unsigned path)
{
    const struct sls *s = user;
    (void)path;
    return s->sl[(size_t)source_switch * s->dests + dest];
}

/* Returns one more than the highest SL, 0 when the file cannot be read. */
static unsigned read_sls(const char *path, const struct rt_graph *g, struct sls *s)
{
    unsigned vls = 1, slid, dlid, sl;
    char line[64];
    FILE *in = fopen(path, "r");
    if (!in)
        return 0;
    s->dests = g->dest_count;
    s->sl = g_new0(uint8_t, (size_t)g->switch_count * g->dest_count + 1);
    while (fgets(line, sizeof line, in)) {
        if (sscanf(line, "%u %u %u", &slid, &dlid, &sl) != 3 || slid > RT_MAX_LID ||
            dlid > RT_MAX_LID || sl >= SLS)
            continue;
        uint32_t from = rt_find_dest_by_lid(g, (uint16_t)slid);
        uint32_t to = rt_find_dest_by_lid(g, (uint16_t)dlid);
        if (from == RT_NONE || to == RT_NONE)
            continue;
        s->sl[(size_t)g->dests[from].sw * s->dests + to] = (uint8_t)sl;
        vls = MAX(vls, sl + 1);
    }
    fclose(in);
    return vls;
}

static struct lfts *load_lfts(const char *path)
{
    g_autofree char *text = NULL; /* of 40,960 hosts more than what fabric/load.h takes */
    g_autoptr(GError) problem = NULL;
    char *error = NULL;
    struct lfts *l = NULL;
    if (!g_file_get_contents(path, &text, NULL, &problem))
        fprintf(stderr, "%s\n", problem->message);
    else if (!(l = lfts_read_text(path, text, &error)))
        fprintf(stderr, "%s\n", error);
    g_free(error);
    return l;
}

int route_given(struct fabric *f, const char *lfts, const char *sls,
                const struct rt_options *options, unsigned seed)
{
    struct lfts *l = load_lfts(lfts);
    if (!l)
        return 1;
    uint32_t missing, unknown = take_lids(f, l);
    struct rt_graph *g;
    uint16_t duplicate = 0;
    int rc = rt_graph_from_fabric(f, &g, &duplicate);
    if (rc) {
        fprintf(stderr, "%s: LID %u has two owners\n", lfts, duplicate);
        lfts_destroy(l);
        return 1;
    }
    struct sls s = {0};
    struct rt_lanes lanes = {.vls = 1, .user = &s, .sl = sl_of};
    g_autofree const uint8_t **rows = tables_rows(g, l, &missing);
    struct rt_tables t = {.rows = rows, .row_size = LFTS_ROW_BYTES};
    if (sls)
        lanes.vls = read_sls(sls, g, &s);
    if (lanes.vls > 0) {
        printf("%s: switches %u destinations %u without-table %u without-LID %u", lfts,
               g->switch_count, g->dest_count, missing, unknown);
        route_given_check(g, &t, &lanes);
        route_given_measure(f, g, &t, options, seed);
        printf("\n");
    } else {
        fprintf(stderr, "%s: cannot be read\n", sls);
    }
    g_free(s.sl);
    rt_graph_unref(g);
    lfts_destroy(l);
    return lanes.vls > 0 ? 0 : 1;
}
