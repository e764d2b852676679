/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths through the fabric, hop by hop along the plan, with what they can carry. */
#include "shard/sa/sa_walk.h"

#include <infiniband/mad.h>

#include "shard/sa/sa_private.h"

#define MAX_HOPS 64
#define MTU_256 1
#define MTU_4096 5
#define RATE_2_5_GBPS 2
#define NODEINFO_PORT_GUID 20

/* -- rates, IBA 15.2.5.16 ---------------------------------------------------------------------- */

static const uint16_t rates[] = {
    [2] = 25,    [3] = 100,   [4] = 300,   [5] = 50,    [6] = 200,   [7] = 400,
    [8] = 600,   [9] = 800,   [10] = 1200, [11] = 140,  [12] = 560,  [13] = 1120,
    [14] = 1680, [15] = 250,  [16] = 1000, [17] = 2000, [18] = 3000, [19] = 280,
    [20] = 500,  [21] = 4000, [22] = 6000, [23] = 8000, [24] = 12000};

unsigned sa_rate_value(unsigned code)
{
    return code < G_N_ELEMENTS(rates) ? rates[code] : 0;
}

unsigned sa_rate_below(unsigned code)
{
    unsigned best = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++)
        if (rates[i] < sa_rate_value(code) && rates[i] > sa_rate_value(best))
            best = i;
    return best;
}

enum speed { SDR, DDR, QDR, FDR, EDR, HDR, NDR, SPEEDS };

/* Code of the rate of a link, 0 = the port does not say (down, or a switch's port 0). */
static unsigned link_rate(const uint8_t *portinfo)
{
    /* By width: 1x, 2x, 4x, 8x, 12x. */
    static const uint8_t codes[SPEEDS][5] = {
        [SDR] = {2, 5, 3, 6, 4},      [DDR] = {5, 3, 6, 7, 8},      [QDR] = {3, 6, 7, 9, 10},
        [FDR] = {11, 19, 12, 13, 14}, [EDR] = {15, 20, 16, 17, 18}, [HDR] = {20, 16, 17, 21, 22},
        [NDR] = {16, 17, 21, 23, 24}};
    unsigned width = 0, speed = 0;
    switch (mad_get_field((void *)portinfo, 0, IB_PORT_LINK_WIDTH_ACTIVE_F)) {
    case 1:
        width = 0;
        break;
    case 16:
        width = 1;
        break;
    case 2:
        width = 2;
        break;
    case 4:
        width = 3;
        break;
    case 8:
        width = 4;
        break;
    default:
        return 0;
    }
    switch (mad_get_field((void *)portinfo, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F)) {
    case 1:
        speed = FDR;
        break;
    case 2:
        speed = EDR;
        break;
    case 4:
        speed = HDR;
        break;
    case 8:
        speed = NDR;
        break;
    default: {
        unsigned basic = mad_get_field((void *)portinfo, 0, IB_PORT_LINK_SPEED_ACTIVE_F);
        speed = basic == 4 ? QDR : basic == 2 ? DDR : SDR;
    }
    }
    return codes[speed][width];
}

/* What a port carries; 0 = it does not say. */
static struct sa_capacity port_capacity(const uint8_t *portinfo, enum MAD_FIELDS mtu_field)
{
    unsigned mtu = mad_get_field((void *)portinfo, 0, mtu_field);
    return (struct sa_capacity){.mtu = mtu <= MTU_4096 ? (uint8_t)mtu : 0,
                                .rate = (uint8_t)link_rate(portinfo)};
}

static void limit(struct sa_capacity *c, struct sa_capacity by)
{
    if (by.mtu != 0 && (c->mtu == 0 || by.mtu < c->mtu))
        c->mtu = by.mtu;
    if (by.rate != 0 && (c->rate == 0 || sa_rate_value(by.rate) < sa_rate_value(c->rate)))
        c->rate = by.rate;
}

/* -- ends -------------------------------------------------------------------------------------- */

uint16_t sa_end_lid(const struct sa_end *x)
{
    return x->s != NULL ? view_switch_lid(x->s) : x->e->lid;
}

unsigned sa_end_lmc(const struct sa_end *x)
{
    return x->s != NULL ? mad_get_field((void *)x->s->ports[0].portinfo, 0, IB_PORT_LMC_F)
                        : x->e->lmc;
}

uint64_t sa_end_guid(const struct sa_end *x)
{
    return x->s != NULL ? sa_get64(x->s->nodeinfo + NODEINFO_PORT_GUID) : x->e->port_guid;
}

static void limit_end(struct sa_capacity *c, const struct sa_end *x)
{
    if (x->s != NULL) {
        if (x->s->ports[0].have_info) /* port 0 has no neighbour */
            limit(c, port_capacity(x->s->ports[0].portinfo, IB_PORT_MTU_CAP_F));
    } else {
        limit(c, port_capacity(x->e->portinfo, IB_PORT_NEIGHBOR_MTU_F));
    }
}

/* -- walking ----------------------------------------------------------------------------------- */

struct exit { /* a port of a switch, filled when a path first leaves by it */
    bool known;
    struct sa_capacity capacity;
    uint32_t peer; /* switch number or RT_NONE */
};
struct stop { /* a switch of the graph, filled when a path first comes by */
    const struct view_switch *s;
    struct exit *exits; /* by port, 256 */
};

struct sa_walker {
    const struct view *view;
    const struct rt_plan *plan;
    const struct rt_graph *graph;
    struct stop *stops;
};

struct sa_walker *sa_walker_create(const struct view *v, const struct rt_plan *plan)
{
    struct sa_walker *w = g_new0(struct sa_walker, 1);
    w->view = v;
    w->plan = plan;
    w->graph = rt_plan_graph(plan);
    w->stops = g_new0(struct stop, w->graph->switch_count + 1);
    return w;
}

void sa_walker_destroy(struct sa_walker *w)
{
    for (uint32_t i = 0; i < w->graph->switch_count; i++)
        g_free(w->stops[i].exits);
    g_free(w->stops);
    g_free(w);
}

static const struct stop *stop_at(struct sa_walker *w, uint32_t sw)
{
    struct stop *stop = &w->stops[sw];
    if (stop->exits != NULL)
        return stop;
    const struct rt_switch *rs = &w->graph->switches[sw];
    stop->s = view_switch(w->view, rs->guid);
    stop->exits = g_new0(struct exit, 256);
    for (unsigned i = 0; i < 256; i++)
        stop->exits[i].peer = RT_NONE;
    for (uint32_t i = 0; i < rs->group_count; i++) {
        const struct rt_group *g = &w->graph->groups[rs->first_group + i];
        for (uint32_t l = 0; l < g->link_count; l++)
            stop->exits[w->graph->links[g->first_link + l].port].peer = g->peer;
    }
    return stop;
}

static struct exit *exit_by(const struct stop *stop, unsigned port)
{
    struct exit *x = &stop->exits[port];
    const struct view_port *p = &stop->s->ports[port];
    if (!x->known && port != 0 && p->have_info)
        x->capacity = port_capacity(p->portinfo, IB_PORT_NEIGHBOR_MTU_F);
    x->known = true;
    return x;
}

bool sa_walk(struct sa_walker *w, const struct sa_end *from, const struct sa_end *to, uint16_t dlid,
             struct sa_capacity *c)
{
    *c = (struct sa_capacity){0};
    limit_end(c, from);
    limit_end(c, to);
    bool arrived = from->s == to->s && from->e == to->e;
    uint64_t target = to->s != NULL ? to->s->guid : to->e->switch_guid;
    uint32_t sw = rt_find_switch(w->graph, from->s != NULL ? from->s->guid : from->e->switch_guid);
    for (unsigned hop = 0; !arrived; hop++) {
        if (sw == RT_NONE || hop > MAX_HOPS)
            return false;
        const struct stop *stop = stop_at(w, sw);
        unsigned out = rt_plan_next_hop(w->plan, sw, dlid);
        if (stop->s == NULL || out >= RT_NO_PATH || out > stop->s->nports)
            return false;
        unsigned exit_port = to->s != NULL ? 0 : to->e->switch_port;
        arrived = stop->s->guid == target && out == exit_port;
        if (out == 0 && !arrived)
            return false;
        const struct exit *x = exit_by(stop, out);
        limit(c, x->capacity);
        sw = x->peer;
    }
    if (c->mtu == 0)
        c->mtu = MTU_256;
    if (c->rate == 0)
        c->rate = RATE_2_5_GBPS;
    return true;
}
