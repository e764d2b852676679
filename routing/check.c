/* SPDX-License-Identifier: BSD-2-Clause */
/* The checker: walks every destination's tree over all switches, collects the dependencies between
 * channels on the way, and looks for cycles among them.
 *
 * A channel is one direction of one link, numbered as in graph->links. What a channel is waited for
 * by a packet that holds another depends on the switch between them only, so the dependencies of a
 * channel are a set of ports of the switch that it leads to: 256 bits. */
#include "routing/check.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "routing/check_cycles.h"
#include "routing/order.h"

enum fate { FATE_UNKNOWN, FATE_ON_WALK, FATE_REACHED, FATE_LOST, FATE_LOOP };

#define SLS 16u

struct port_use {
    uint32_t channel; /* link that leaves here, RT_NONE = none */
    bool live;
};

struct checker {
    const struct rt_graph *g;
    const struct rt_tables *t;
    const struct rt_lanes *lanes; /* NULL = one */
    struct rt_check_result *r;
    FILE *report;
    unsigned limit;
    struct port_use (*ports)[256]; /* of each switch */
    bool *source;
    uint32_t *piece, *rank;
    struct rt_dependencies deps;
    /* of the destination that is walked: */
    uint32_t *channel; /* taken by each switch, RT_NONE = none */
    uint8_t *fate;
    uint16_t *hops;
    bool *turns; /* the way from here has a turn from down to up */
    bool *used;  /* on the way from a source */
    /* Instead of used, where there are lanes: the VLs of the channel taken here that packets of
     * each SL were seen in. */
    uint16_t (*seen)[SLS];
    uint32_t *stack;
};

/* Whether finding number `seen` of its kind is still to be described. */
static bool says(const struct checker *c, uint64_t seen)
{
    return c->report && seen <= c->limit;
}

static uint8_t entry(const struct checker *c, uint32_t sw, uint16_t lid)
{
    const uint8_t *row = c->t->rows[sw];
    return row && lid < c->t->row_size ? row[lid] : RT_NO_PATH;
}

/* -- ports ---------------------------------------------------------------------------------- */

static void find_ports(struct checker *c)
{
    const struct rt_graph *g = c->g;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        for (unsigned p = 0; p < 256; p++)
            c->ports[s][p] = (struct port_use){.channel = RT_NONE};
        for (uint32_t i = 0; i < g->switches[s].group_count; i++) {
            const struct rt_group *group = &g->groups[g->switches[s].first_group + i];
            for (uint32_t l = group->first_link; l < group->first_link + group->link_count; l++)
                c->ports[s][g->links[l].port] = (struct port_use){.channel = l, .live = true};
        }
        for (uint32_t i = 0; i < g->switches[s].dest_count; i++) {
            const struct rt_dest *d = &g->dests[g->switches[s].first_dest + i];
            c->ports[s][d->port].live |= d->present;
            c->source[s] |= d->present && d->lid;
        }
    }
}

/* Every entry of every row is looked at, also those of LIDs that nobody owns. The port of an absent
 * destination is dead, but its own switch keeps the entry that leads there. */
static void check_ports(struct checker *c)
{
    for (uint32_t s = 0; s < c->g->switch_count; s++) {
        for (size_t lid = 1; lid < c->t->row_size && lid <= RT_MAX_LID; lid++) {
            uint8_t port = entry(c, s, lid);
            if (port == RT_NO_PATH || c->ports[s][port].live)
                continue;
            uint32_t d = rt_find_dest_by_lid(c->g, lid);
            if (d != RT_NONE && c->g->dests[d].sw == s && c->g->dests[d].port == port)
                continue;
            if (says(c, ++c->r->dead_ports))
                fprintf(c->report,
                        "dead port: switch 0x%016" PRIx64 " LID %zu leads to port %u, where "
                        "nobody is\n",
                        c->g->switches[s].guid, lid, port);
        }
    }
}

/* -- one destination ------------------------------------------------------------------------ */

static void start_walk(struct checker *c, const struct rt_dest *d, uint16_t lid)
{
    for (uint32_t s = 0; s < c->g->switch_count; s++) {
        uint8_t port = entry(c, s, lid);
        c->channel[s] = RT_NONE;
        c->hops[s] = 0;
        c->turns[s] = c->used[s] = false;
        if (c->lanes)
            memset(c->seen[s], 0, sizeof c->seen[s]);
        c->fate[s] = FATE_LOST;
        if (s == d->sw) {
            if (port == d->port)
                c->fate[s] = FATE_REACHED;
        }
        if (c->fate[s] == FATE_LOST && port != RT_NO_PATH && c->ports[s][port].channel != RT_NONE) {
            c->channel[s] = c->ports[s][port].channel;
            c->fate[s] = FATE_UNKNOWN;
        }
    }
}

/* Up: towards the higher rank, among equals towards the lower GUID. */
static bool goes_up(const struct checker *c, uint32_t from, uint32_t to)
{
    return c->rank[to] != c->rank[from] ? c->rank[to] > c->rank[from] : to < from;
}

static bool turns_up(const struct checker *c, uint32_t s, uint32_t next)
{
    if (c->channel[next] == RT_NONE)
        return false;
    uint32_t beyond = c->g->links[c->channel[next]].peer;
    return !goes_up(c, s, next) && goes_up(c, next, beyond);
}

static void walk_from(struct checker *c, uint32_t s)
{
    uint32_t depth = 0;
    while (c->fate[s] == FATE_UNKNOWN) {
        c->fate[s] = FATE_ON_WALK;
        c->stack[depth++] = s;
        s = c->g->links[c->channel[s]].peer;
    }
    uint8_t fate = c->fate[s] == FATE_ON_WALK ? FATE_LOOP : c->fate[s];
    while (depth > 0) {
        uint32_t at = c->stack[--depth], next = c->g->links[c->channel[at]].peer;
        c->fate[at] = fate;
        c->hops[at] = fate == FATE_REACHED ? c->hops[next] + 1 : 0;
        c->turns[at] = c->turns[next] || turns_up(c, at, next);
    }
}

/* A packet that is lost or loops holds its channels as well, so its dependencies count. */
static void collect_dependencies(struct checker *c, uint32_t s)
{
    while (!c->used[s]) {
        c->used[s] = true;
        if (c->channel[s] == RT_NONE)
            return;
        const struct rt_link *link = &c->g->links[c->channel[s]];
        if (c->channel[link->peer] != RT_NONE)
            rt_dependencies_add(&c->deps, c->channel[s], c->g->links[c->channel[link->peer]].port,
                                0);
        s = link->peer;
    }
}

static void bad_lane(struct checker *c, uint32_t s, uint32_t dest, unsigned sl, unsigned vl)
{
    if (says(c, ++c->r->bad_lanes))
        fprintf(c->report,
                "bad lane: switch 0x%016" PRIx64 " to port 0x%016" PRIx64
                " uses SL %u and VL %u, of %u VLs\n",
                c->g->switches[s].guid, c->g->dests[dest].port_guid, sl, vl, c->lanes->vls);
}

static unsigned lane_of(const struct checker *c, uint32_t s, unsigned in_port, unsigned sl)
{
    const struct rt_lanes *lanes = c->lanes;
    return lanes->vl ? lanes->vl(lanes->user, s, in_port, c->g->links[c->channel[s]].port, sl) : sl;
}

/* Packets of two SLs, or of one SL in two VLs, may share a switch and part after it, so the walk
 * ends only where this SL was in this VL before. */
static void walk_lanes(struct checker *c, uint32_t s, unsigned in_port, uint32_t dest, unsigned sl)
{
    uint32_t held = RT_NONE;
    while (c->channel[s] != RT_NONE) {
        const struct rt_link *link = &c->g->links[c->channel[s]];
        unsigned vl = lane_of(c, s, in_port, sl);
        if (vl >= c->lanes->vls) {
            bad_lane(c, s, dest, sl, vl);
            return;
        }
        if (held != RT_NONE)
            rt_dependencies_add(&c->deps, held, link->port, vl);
        if (c->seen[s][sl] & 1u << vl)
            return;
        c->seen[s][sl] |= 1u << vl;
        held = c->channel[s] * c->lanes->vls + vl;
        in_port = link->peer_port;
        s = link->peer;
    }
}

/* Packets from each end port of the switch: SL2VL tables may tell them apart. */
static void collect_lanes(struct checker *c, uint32_t s, uint32_t dest, unsigned path)
{
    const struct rt_switch *sw = &c->g->switches[s];
    unsigned sl = c->lanes->sl(c->lanes->user, s, dest, path);
    if (sl >= SLS) {
        bad_lane(c, s, dest, sl, sl);
        return;
    }
    for (uint32_t d = sw->first_dest; d < sw->first_dest + sw->dest_count; d++) {
        const struct rt_dest *from = &c->g->dests[d];
        if (!from->present || !from->lid)
            continue;
        walk_lanes(c, s, from->port, dest, sl);
        if (!c->lanes->vl) /* the VL is the SL, wherever packets come from */
            return;
    }
}

static void describe(const struct checker *c, const char *what, uint32_t s, const struct rt_dest *d,
                     uint16_t lid)
{
    fprintf(c->report,
            "%s: from switch 0x%016" PRIx64 " to LID %u of port 0x%016" PRIx64
            " on switch 0x%016" PRIx64 "\n",
            what, c->g->switches[s].guid, lid, d->port_guid, c->g->switches[d->sw].guid);
}

static void judge(struct checker *c, uint32_t s, const struct rt_dest *d, uint16_t lid)
{
    c->r->pairs++;
    if (c->fate[s] == FATE_REACHED) {
        c->r->max_hops = MAX(c->r->max_hops, c->hops[s]);
        c->r->down_up_turns += c->turns[s];
    } else if (c->piece[s] != c->piece[d->sw]) {
        if (says(c, ++c->r->disconnected))
            describe(c, "disconnected", s, d, lid);
    } else if (c->fate[s] == FATE_LOOP) {
        if (says(c, ++c->r->loops))
            describe(c, "loop", s, d, lid);
    } else if (says(c, ++c->r->unreachable)) {
        describe(c, "unreachable", s, d, lid);
    }
}

static void check_lid(struct checker *c, const struct rt_dest *d, uint16_t lid)
{
    start_walk(c, d, lid);
    for (uint32_t s = 0; s < c->g->switch_count; s++) {
        if (!c->source[s])
            continue;
        walk_from(c, s);
        if (c->lanes)
            collect_lanes(c, s, d - c->g->dests, lid - d->lid);
        else
            collect_dependencies(c, s);
        judge(c, s, d, lid);
    }
}

/* In the order of LIDs, so that neighbours in a row are read while they are in the cache. */
static void check_lids(struct checker *c)
{
    for (uint32_t i = 0; i < c->g->by_lid_count; i++) {
        const struct rt_dest *d = &c->g->dests[c->g->by_lid[i]];
        for (uint32_t k = 0; d->present && k < 1u << d->lmc; k++)
            check_lid(c, d, d->lid + k);
    }
}

/* -- all ------------------------------------------------------------------------------------ */

static void find_order(struct checker *c)
{
    struct rt_orders orders;
    rt_orders_make(c->g, NULL, false, &orders);
    c->piece = g_memdup2(orders.piece, (c->g->switch_count + 1) * sizeof *orders.piece);
    c->rank = g_memdup2(orders.rank, (c->g->switch_count + 1) * sizeof *orders.rank);
    rt_orders_clear(&orders);
}

bool rt_check(const struct rt_graph *g, const struct rt_tables *t, const struct rt_lanes *lanes,
              struct rt_check_result *result, FILE *report, unsigned report_limit)
{
    size_t n = g->switch_count + 1;
    memset(result, 0, sizeof *result);
    struct checker c = {
        .g = g, .t = t, .lanes = lanes, .r = result, .report = report, .limit = report_limit};
    c.ports = g_malloc_n(n, sizeof *c.ports);
    c.source = g_new0(bool, n);
    c.channel = g_new(uint32_t, n);
    c.fate = g_new(uint8_t, n);
    c.hops = g_new(uint16_t, n);
    c.turns = g_new(bool, n);
    c.used = g_new(bool, n);
    c.stack = g_new(uint32_t, n);
    if (lanes)
        c.seen = g_malloc_n(n, sizeof *c.seen);
    rt_dependencies_init(&c.deps, g, lanes ? lanes->vls : 1, lanes && lanes->vl);
    find_order(&c);
    find_ports(&c);
    check_ports(&c);
    check_lids(&c);
    result->credit_loop_channels = rt_dependencies_cycles(&c.deps, report, report_limit);
    rt_dependencies_clear(&c.deps);
    void *all[] = {c.ports, c.source, c.channel, c.fate, c.hops, c.turns,
                   c.used,  c.stack,  c.piece,   c.rank, c.seen};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
    return result->unreachable == 0 && result->loops == 0 && result->dead_ports == 0 &&
           result->bad_lanes == 0 && result->credit_loop_channels == 0;
}

static unsigned plan_sl(const void *plan, uint32_t source_switch, uint32_t dest, unsigned path)
{
    return rt_plan_sl_from(plan, source_switch, dest, path);
}

static unsigned plan_vl(const void *plan, uint32_t sw, unsigned in_port, unsigned out_port,
                        unsigned sl)
{
    return rt_plan_vl(plan, sw, in_port, out_port, sl);
}

void rt_plan_lanes(const struct rt_plan *p, struct rt_lanes *lanes)
{
    unsigned vls = rt_plan_properties(p).vls;
    *lanes = (struct rt_lanes){.vls = MAX(vls, 1), .user = p, .sl = plan_sl};
    if (rt_plan_changes_lanes(p))
        lanes->vl = plan_vl;
}

bool rt_check_plan(const struct rt_plan *p, struct rt_check_result *result, FILE *report,
                   unsigned report_limit)
{
    const struct rt_graph *g = rt_plan_graph(p);
    size_t size = g->max_lid + 1u;
    g_autofree uint8_t *bytes = g_malloc(size * g->switch_count + 1);
    g_autofree const uint8_t **rows = g_new(const uint8_t *, g->switch_count + 1);
    for (uint32_t s = 0; s < g->switch_count; s++) {
        rt_plan_row(p, s, bytes + s * size, size);
        rows[s] = bytes + s * size;
    }
    struct rt_tables tables = {.rows = rows, .row_size = size};
    struct rt_lanes lanes;
    rt_plan_lanes(p, &lanes);
    return rt_check(g, &tables, lanes.vls > 1 ? &lanes : NULL, result, report, report_limit);
}
