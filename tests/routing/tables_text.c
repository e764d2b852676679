/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables, service levels and SL2VL tables as text. */
#include "tests/routing/tables_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

/* -- in memory ------------------------------------------------------------------------------ */

struct tables *tables_create(struct rt_graph *g)
{
    struct tables *t = g_new0(struct tables, 1);
    *t =
        (struct tables){.graph = rt_graph_ref(g), .size = g->max_lid + 1u, .vls = 1, .only_vl = -1};
    t->bytes = g_malloc(t->size * g->switch_count + 1);
    memset(t->bytes, RT_NO_PATH, t->size * g->switch_count);
    t->rows = g_new(const uint8_t *, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        t->rows[s] = t->bytes + s * t->size;
        t->ports = MAX(t->ports, g->switches[s].nports + 1u);
    }
    return t;
}

void tables_destroy(struct tables *t)
{
    if (!t)
        return;
    rt_graph_unref(t->graph);
    g_free(t->bytes);
    g_free(t->rows);
    g_free(t->sl);
    g_free(t->vl);
    g_free(t);
}

void tables_add_lanes(struct tables *t, unsigned vls, bool vl)
{
    size_t n = t->graph->switch_count;
    g_free(t->sl);
    g_free(t->vl);
    t->vls = vls;
    t->sl = g_malloc0(n * t->size + 1);
    t->vl = vl ? g_malloc0(n * t->ports * t->ports * TABLES_SLS + 1) : NULL;
}

uint8_t *tables_vl(const struct tables *t, uint32_t sw, unsigned in_port, unsigned out_port)
{
    return t->vl + (((size_t)sw * t->ports + in_port) * t->ports + out_port) * TABLES_SLS;
}

static void fill_lanes(struct tables *t, const struct rt_plan *p)
{
    const struct rt_graph *g = t->graph;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        for (uint32_t d = 0; d < g->dest_count; d++)
            for (unsigned k = 0; g->dests[d].lid && k < 1u << g->dests[d].lmc; k++)
                t->sl[s * t->size + g->dests[d].lid + k] = rt_plan_sl_from(p, s, d, k);
        unsigned nports = t->vl ? g->switches[s].nports : 0;
        for (unsigned in = 0; t->vl && in <= nports; in++)
            for (unsigned out = 0; out <= nports; out++)
                for (unsigned sl = 0; sl < TABLES_SLS; sl++)
                    tables_vl(t, s, in, out)[sl] = rt_plan_vl(p, s, in, out, sl);
    }
}

struct tables *tables_of_plan(const struct rt_plan *p)
{
    struct tables *t = tables_create(rt_plan_graph(p) ? (struct rt_graph *)rt_plan_graph(p) : NULL);
    for (uint32_t s = 0; s < t->graph->switch_count; s++)
        rt_plan_row(p, s, t->bytes + s * t->size, t->size);
    unsigned vls = rt_plan_properties(p).vls;
    if (vls > 1) {
        tables_add_lanes(t, vls, rt_plan_changes_lanes(p));
        fill_lanes(t, p);
    }
    return t;
}

/* -- writing -------------------------------------------------------------------------------- */

static int finish(FILE *out)
{
    int rc = ferror(out) ? EIO : 0;
    return fclose(out) && !rc ? errno : rc;
}

/* What stands behind an entry. */
static void put_owner(const struct rt_graph *g, const struct fabric *f, uint16_t lid, FILE *out)
{
    static const char *const words[] = {
        [FABRIC_CA] = "Channel Adapter", [FABRIC_SWITCH] = "Switch", [FABRIC_ROUTER] = "Router"};
    uint32_t d = rt_find_dest_by_lid(g, lid);
    if (d == RT_NONE) {
        fputs(": (node info not available fabric scan)\n", out);
        return;
    }
    const struct rt_dest *dest = &g->dests[d];
    uint32_t at = fabric_find(f, g->switches[dest->sw].guid);
    const struct fabric_node *n = &f->nodes[at];
    if (dest->port > 0)
        n = &f->nodes[n->ports[dest->port].peer_node];
    if (lid > dest->lid)
        fprintf(out, ": (path #%d out of %d: portguid 0x%016" PRIx64 ")\n", lid - dest->lid + 1,
                1 << dest->lmc, dest->port_guid);
    else
        fprintf(out, ": (%s portguid 0x%016" PRIx64 ": '%s')\n", words[n->type], dest->port_guid,
                n->desc);
}

int tables_write_lfts(const struct tables *t, const struct fabric *f, const char *path)
{
    const struct rt_graph *g = t->graph;
    FILE *out = fopen(path, "w");
    if (!out)
        return errno;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        unsigned count = 0;
        fprintf(out,
                "Unicast lids [0x0-0x%zx] of switch Lid %u guid 0x%016" PRIx64
                " (%s):\n  Lid  Out   Destination\n       Port     Info \n",
                t->size - 1, g->dests[g->switches[s].first_dest].lid, g->switches[s].guid,
                f->nodes[fabric_find(f, g->switches[s].guid)].desc);
        for (size_t lid = 1; lid < t->size; lid++) {
            if (t->rows[s][lid] == RT_NO_PATH)
                continue;
            fprintf(out, "0x%04zx %03u ", lid, t->rows[s][lid]);
            put_owner(g, f, lid, out);
            count++;
        }
        fprintf(out, "%u valid lids dumped \n", count);
    }
    return finish(out);
}

int tables_write_sls(const struct tables *t, const char *path)
{
    const struct rt_graph *g = t->graph;
    FILE *out = fopen(path, "w");
    if (!out)
        return errno;
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (size_t lid = 1; lid < t->size; lid++)
            if (rt_find_dest_by_lid(g, lid) != RT_NONE)
                fprintf(out, "%u %zu %u\n", g->dests[g->switches[s].first_dest].lid, lid,
                        t->sl[s * t->size + lid]);
    return finish(out);
}

int tables_write_sl2vl(const struct tables *t, const char *path)
{
    const struct rt_graph *g = t->graph;
    FILE *out = fopen(path, "w");
    if (!out)
        return errno;
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (unsigned o = 0; o <= g->switches[s].nports; o++) {
            fprintf(out, "# SL2VL table: Lid %u\n#                 SL: |",
                    g->dests[g->switches[s].first_dest].lid);
            for (unsigned sl = 0; sl < TABLES_SLS; sl++)
                fprintf(out, "%2u|", sl);
            putc('\n', out);
            for (unsigned i = 0; i <= g->switches[s].nports; i++) {
                fprintf(out, "ports: in %2u, out %2u: |", i, o);
                for (unsigned sl = 0; sl < TABLES_SLS; sl++)
                    fprintf(out, "%2u|", tables_vl(t, s, i, o)[sl]);
                putc('\n', out);
            }
        }
    return finish(out);
}

/* -- reading -------------------------------------------------------------------------------- */

static uint32_t switch_of_lid(const struct rt_graph *g, unsigned lid)
{
    uint32_t d = lid <= RT_MAX_LID ? rt_find_dest_by_lid(g, lid) : RT_NONE;
    return d == RT_NONE ? RT_NONE : g->dests[d].sw;
}

static void read_lft_line(struct tables *t, uint32_t *now, const char *line)
{
    unsigned lid, port;
    uint64_t guid;
    const char *at = strstr(line, " guid 0x");
    if (g_str_has_prefix(line, "Unicast") && at && sscanf(at, " guid %" SCNx64, &guid) == 1)
        *now = rt_find_switch(t->graph, guid);
    else if (*now != RT_NONE && sscanf(line, "0x%4x %3u ", &lid, &port) == 2 && lid < t->size &&
             port < 256)
        t->bytes[*now * t->size + lid] = port;
}

static void read_sl_line(struct tables *t, uint32_t *now, const char *line)
{
    unsigned slid, dlid, sl;
    if (sscanf(line, "%u %u %u", &slid, &dlid, &sl) == 3 && dlid < t->size && sl < 256 &&
        (*now = switch_of_lid(t->graph, slid)) != RT_NONE)
        t->sl[*now * t->size + dlid] = sl;
}

static void read_sl2vl_line(struct tables *t, uint32_t *now, const char *line)
{
    unsigned in, out, lid;
    int used = 0;
    if (g_str_has_prefix(line, "# SL2VL") && sscanf(line, "# SL2VL table: Lid %u", &lid) == 1)
        *now = switch_of_lid(t->graph, lid);
    else if (*now != RT_NONE && sscanf(line, "ports: in %u, out %u: |%n", &in, &out, &used) == 2 &&
             used && in < t->ports && out < t->ports)
        for (unsigned sl = 0; sl < TABLES_SLS && line[0]; sl++) {
            char *end;
            tables_vl(t, *now, in, out)[sl] = strtoul(line + used, &end, 10);
            used = end - line + (*end == '|');
        }
}

static bool read_lines(struct tables *t, const char *path,
                       void (*take)(struct tables *t, uint32_t *now, const char *line))
{
    uint32_t now = RT_NONE;
    g_autofree char *text = NULL;
    g_autoptr(GError) problem = NULL;
    if (path && !g_file_get_contents(path, &text, NULL, &problem)) {
        fprintf(stderr, "%s\n", problem->message);
        return false;
    }
    for (char *line = text, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        take(t, &now, line);
    }
    return true;
}

struct tables *tables_read(struct rt_graph *g, const char *lfts, const char *sls, const char *sl2vl,
                           unsigned vls)
{
    struct tables *t = tables_create(g);
    if (sls || sl2vl)
        tables_add_lanes(t, vls, sl2vl != NULL);
    if (read_lines(t, lfts, read_lft_line) && read_lines(t, sls, read_sl_line) &&
        read_lines(t, sl2vl, read_sl2vl_line))
        return t;
    tables_destroy(t);
    return NULL;
}

/* -- heddle's checker ----------------------------------------------------------------------- */

static unsigned lane_sl(const void *user, uint32_t source, uint32_t dest, unsigned path)
{
    const struct tables *t = user;
    unsigned sl = t->sl[source * t->size + t->graph->dests[dest].lid + path];
    return t->only_vl < 0 || sl == (unsigned)t->only_vl ? sl : TABLES_SLS; /* such are left out */
}

static unsigned lane_vl(const void *user, uint32_t sw, unsigned in_port, unsigned out_port,
                        unsigned sl)
{
    return tables_vl(user, sw, in_port, out_port)[sl];
}

/* Where the VL never changes, the channels of one VL on cycles are those that are found when
 * only its packets are looked at. */
static void put_each_vl(struct tables *t, const struct rt_tables *rows,
                        const struct rt_lanes *lanes, FILE *out)
{
    const char *comma = "";
    struct rt_check_result r;
    fputs(", \"credit_loop_channels_per_vl\": {", out);
    for (unsigned vl = 0; vl < t->vls; vl++) {
        t->only_vl = vl;
        rt_check(t->graph, rows, t->sl ? lanes : NULL, &r, NULL, 0);
        if (r.credit_loop_channels)
            fprintf(out, "%s\"%u\": %" PRIu64, comma, vl, r.credit_loop_channels);
        comma = r.credit_loop_channels ? ", " : comma;
    }
    t->only_vl = -1;
    putc('}', out);
}

void tables_check(struct tables *t, FILE *out, unsigned report_limit)
{
    struct rt_tables rows = {.rows = t->rows, .row_size = t->size};
    struct rt_lanes lanes = {.vls = t->vls, .user = t, .sl = lane_sl, .vl = t->vl ? lane_vl : NULL};
    struct rt_check_result r;
    char *report = NULL;
    size_t size = 0;
    FILE *findings = open_memstream(&report, &size);
    bool ok = rt_check(t->graph, &rows, t->sl ? &lanes : NULL, &r, findings, report_limit);
    fclose(findings);
    fprintf(out,
            "\"ok\": %s, \"pairs\": %" PRIu64 ", \"unreachable\": %" PRIu64
            ", \"disconnected\": %" PRIu64 ", \"loops\": %" PRIu64 ", \"dead_ports\": %" PRIu64
            ", \"bad_lanes\": %" PRIu64 ", \"credit_loop_channels\": %" PRIu64 ", \"max_hops\": %u",
            ok ? "true" : "false", r.pairs, r.unreachable, r.disconnected, r.loops, r.dead_ports,
            r.bad_lanes, r.credit_loop_channels, r.max_hops);
    if (!t->vl)
        put_each_vl(t, &rows, &lanes, out);
    if (report_limit > 0) {
        g_autofree char *escaped = g_strescape(report, NULL);
        fprintf(out, ", \"report\": \"%s\"", escaped);
    }
    free(report);
}
