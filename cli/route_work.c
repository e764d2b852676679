/* SPDX-License-Identifier: BSD-2-Clause */
/* A fabric made ready for engines: LIDs, graph, hosts, roots, given tables. */
#include "cli/route_work.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "cli/guids.h"
#include "cli/load.h"
#include "cli/tables.h"
#include "routing/torus.h"

/* -- graph and hosts --------------------------------------------------------------------------- */

static int fail_graph(const char *name, int rc, uint16_t duplicate_lid)
{
    if (rc == EEXIST)
        return cli_fail("%s: LID %u belongs to two ports", name, duplicate_lid);
    if (rc == ERANGE)
        return cli_fail("%s needs more LIDs than there are (49,151), or has one beyond them", name);
    return cli_fail("%s cannot be made a graph: %s", name, g_strerror(rc));
}

GArray *route_hosts(const struct fabric *f, const struct rt_graph *g)
{
    GArray *hosts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t n = 0; n < f->node_count; n++) {
        uint32_t sw =
            f->nodes[n].type == FABRIC_SWITCH ? rt_find_switch(g, f->nodes[n].guid) : RT_NONE;
        for (uint32_t i = 0; sw != RT_NONE && i < g->switches[sw].dest_count; i++) {
            uint32_t d = g->switches[sw].first_dest + i;
            if (g->dests[d].kind == RT_DEST_HOST)
                g_array_append_val(hosts, d);
        }
    }
    return hosts;
}

int route_graph(const struct fabric *f, const char *name, struct rt_graph **graph, GArray **hosts)
{
    uint16_t duplicate = 0;
    struct rt_graph *g = NULL;
    int rc = rt_graph_from_fabric(f, &g, &duplicate);
    if (rc != 0)
        return fail_graph(name, rc, duplicate);
    *graph = g;
    *hosts = route_hosts(f, g);
    if (g->switch_count == 0)
        return cli_fail("%s has no switch: there is nothing to route", name);
    if ((*hosts)->len == 0)
        return cli_fail("%s has no host on a switch: there is nothing to route", name);
    return CLI_OK;
}

/* -- LIDs -------------------------------------------------------------------------------------- */

static bool on_switch(const struct fabric *f, const struct fabric_port *p)
{
    return p->peer_node != FABRIC_NONE && f->nodes[p->peer_node].type == FABRIC_SWITCH;
}

/* Calls each(port) for every port that owns LIDs: port 0 of switches, end ports on switches. */
static void each_owner(struct fabric *f, bool switches,
                       void (*each)(struct fabric_port *port, void *context), void *context)
{
    for (uint32_t n = 0; n < f->node_count; n++) {
        struct fabric_node *node = &f->nodes[n];
        bool is_switch = node->type == FABRIC_SWITCH;
        if (is_switch && switches)
            each(&node->ports[0], context);
        for (unsigned p = 1; !is_switch && !switches && p <= node->nports; p++)
            if (on_switch(f, &node->ports[p]))
                each(&node->ports[p], context);
    }
}

struct dealing {
    uint32_t next;
    unsigned lmc;
};

/* A range begins at a multiple of its size, IBA 4.1.3. */
static void deal(struct fabric_port *port, void *context)
{
    struct dealing *d = context;
    uint32_t size = 1u << d->lmc;
    d->next = (d->next + size - 1) / size * size;
    port->lid = d->next <= RT_MAX_LID ? (uint16_t)d->next : 0;
    port->lmc = (uint8_t)d->lmc;
    d->next += size;
}

/* LIDs for all: switches have one each, end ports 2^lmc. */
static int deal_lids(struct fabric *f, const char *name, unsigned lmc)
{
    struct dealing d = {.next = 1};
    each_owner(f, true, deal, &d);
    d.lmc = lmc;
    each_owner(f, false, deal, &d);
    if (d.next - 1 <= RT_MAX_LID)
        return CLI_OK;
    return cli_fail("--lmc %u: %s would need %u LIDs, and there are 49,151", lmc, name, d.next - 1);
}

struct taking {
    const struct lfts *l;
    uint64_t first; /* port without a LID there */
    uint32_t missing;
};

static void take(struct fabric_port *port, void *context)
{
    struct taking *t = context;
    const struct lfts_port *p = g_hash_table_lookup(t->l->lids, &port->guid);
    port->lid = p != NULL ? p->lid : 0;
    port->lmc = p != NULL ? (uint8_t)lfts_lmc(p) : 0;
    if (port->lid == 0 && t->missing++ == 0)
        t->first = port->guid;
}

int route_take_lids(struct fabric *f, const struct lfts *l, const char *name)
{
    struct taking t = {.l = l};
    each_owner(f, true, take, &t);
    each_owner(f, false, take, &t);
    if (t.missing == 0)
        return CLI_OK;
    return cli_fail("%s does not tell the LID of port 0x%016" PRIx64 " (of %u ports in all): it is "
                    "of another fabric, or not whole",
                    name, t.first, t.missing);
}

/* -- options of engines ------------------------------------------------------------------------ */

static int read_file(struct route_work *w, const char *path, bool switches, GArray **guids)
{
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    if (path == NULL)
        return CLI_OK;
    *guids = guids_load(path, NULL, errors);
    for (guint i = 0; i < errors->len; i++)
        cli_fail("%s", (const char *)errors->pdata[i]);
    if (*guids == NULL)
        return CLI_FAILED;
    g_autofree char *absent = guids_check(w->graph, *guids, switches, path);
    if (absent != NULL && !w->damaged)
        fprintf(stderr, "heddle: %s\n", absent);
    return CLI_OK;
}

/* A file may name switches that are away; who asks by hand mistyped. */
static int read_root(const struct route_work *w, const char *text)
{
    uint64_t guid;
    if (!parse_guid(text, &guid)) {
        cli_fail("--root %s: expected a GUID such as 0x0002c90300000001", text);
        return CLI_USAGE;
    }
    if (!w->damaged && rt_find_switch(w->graph, guid) == RT_NONE)
        return cli_fail("--root 0x%016" PRIx64 ": the fabric has no such switch", guid);
    g_array_append_val(w->roots, guid);
    return CLI_OK;
}

static gint by_value(gconstpointer a, gconstpointer b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int read_roots(struct route_work *w)
{
    int result = read_file(w, w->o->roots_file, true, &w->roots);
    if (w->roots == NULL)
        w->roots = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (char **t = w->o->roots; result == CLI_OK && t != NULL && *t != NULL; t++)
        result = read_root(w, *t);
    g_array_sort(w->roots, by_value);
    for (guint i = w->roots->len; i > 1; i--)
        if (g_array_index(w->roots, uint64_t, i - 1) == g_array_index(w->roots, uint64_t, i - 2))
            g_array_remove_index(w->roots, i - 1);
    return result;
}

static int read_guids(struct route_work *w)
{
    int result = read_roots(w);
    if (result == CLI_OK)
        result = read_file(w, w->o->cn_file, false, &w->cn);
    if (result == CLI_OK)
        result = read_file(w, w->o->io_file, false, &w->io);
    return result;
}

static int load_given(struct route_work *w)
{
    char *error = NULL;
    w->given = lfts_load(w->o->tables, &error);
    int result = w->given != NULL ? route_take_lids(w->fabric, w->given, w->o->tables)
                                  : cli_fail("%s", error);
    g_free(error);
    return result;
}

static int read_torus(struct route_work *w)
{
    const char *path = w->o->torus;
    g_autofree char *text = NULL;
    g_autoptr(GError) unread = NULL;
    char error[512];
    if (path == NULL)
        return CLI_OK;
    if (!file_is_regular(path, error, sizeof error))
        return cli_fail("cannot read %s: %s", path, error);
    if (!g_file_get_contents(path, &text, NULL, &unread))
        return cli_fail("cannot read %s: %s", path, unread->message);
    if (rt_torus_parse(text, &w->torus, error, sizeof error) != 0)
        return cli_fail("%s: %s", path, error);
    return CLI_OK;
}

static const uint64_t *values_of(const GArray *guids)
{
    return guids != NULL ? (const uint64_t *)(const void *)guids->data : NULL;
}

static void set_options(struct route_work *w)
{
    w->options = (struct rt_options){.max_vls = (unsigned)w->o->vls,
                                     .root_guids = values_of(w->roots),
                                     .root_count = w->roots->len,
                                     .cn_guids = values_of(w->cn),
                                     .cn_count = w->cn != NULL ? w->cn->len : 0,
                                     .io_guids = values_of(w->io),
                                     .io_count = w->io != NULL ? w->io->len : 0,
                                     .torus = w->torus,
                                     .parallel = route_progress_run,
                                     .pool = w->progress};
    if (w->given == NULL)
        return;
    uint32_t missing;
    w->given_rows = tables_rows(w->graph, w->given, &missing);
    w->given_tables = (struct rt_tables){.rows = w->given_rows, .row_size = LFTS_ROW_BYTES};
    w->options.tables = &w->given_tables;
}

void route_work_take(struct route_work *w, const struct route_options *o, struct fabric *f)
{
    *w = (struct route_work){.o = o, .fabric = f};
    w->progress = route_progress_create(o->progress, (unsigned)o->threads);
}

int route_work_load(struct route_work *w, const struct route_options *o)
{
    route_work_take(w, o, NULL);
    route_progress_stage(w->progress, "loading %s", o->fabric);
    w->fabric = load_fabric(o->fabric);
    route_progress_end(w->progress);
    return w->fabric != NULL ? CLI_OK : CLI_FAILED;
}

int route_work_prepare(struct route_work *w)
{
    int result = CLI_OK;
    if (w->o->tables != NULL)
        result = load_given(w);
    else if (w->o->lmc >= 0)
        result = deal_lids(w->fabric, w->o->fabric, (unsigned)w->o->lmc);
    if (result == CLI_OK)
        result = route_graph(w->fabric, w->o->fabric, &w->graph, &w->hosts);
    if (result == CLI_OK)
        result = read_guids(w);
    if (result == CLI_OK)
        result = read_torus(w);
    if (result == CLI_OK)
        set_options(w);
    return result;
}

static void free_array(GArray *a)
{
    if (a != NULL)
        g_array_free(a, TRUE);
}

void route_work_clear(struct route_work *w)
{
    rt_graph_unref(w->graph);
    free_array(w->hosts);
    free_array(w->roots);
    free_array(w->cn);
    free_array(w->io);
    rt_torus_shape_free(w->torus);
    g_free(w->given_rows);
    lfts_destroy(w->given);
    fabric_destroy(w->fabric);
    route_progress_destroy(w->progress);
}
