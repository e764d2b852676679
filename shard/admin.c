/* SPDX-License-Identifier: BSD-2-Clause */
/* What operators may ask a shard: the whole view, the route between two ports. */
#include "shard/admin.h"

#include <infiniband/mad.h>
#include <string.h>

#include "base/parse.h"
#include "shard/core_internal.h"
#include "shard/tables.h"

#define CHUNK_BYTES (1u << 20)
#define END_OF_VIEW 0xffffffffu /* the domain number of the message that ends a view */

static void reply_error(struct shard_core *c, enum shard_channel channel, const char *peer,
                        const char *reason)
{
    Heddle__Refused *r = g_new0(Heddle__Refused, 1);
    heddle__refused__init(r);
    r->reason = g_strdup(reason);
    core_send(c, channel, peer, HEDDLE__MESSAGE_TYPE__MSG_ERROR, 0, 0, 0, (ProtobufCMessage *)r);
}

static void send_chunk(struct shard_core *c, enum shard_channel channel, const char *peer,
                       uint32_t domain, uint32_t chunk, bool last, Heddle__Delta *content)
{
    const struct view_domain *v = view_domain(c->view, domain);
    Heddle__Snapshot *s = g_new0(Heddle__Snapshot, 1);
    heddle__snapshot__init(s);
    s->chunk = chunk;
    s->last = last;
    s->content = content;
    core_send(c, channel, peer, HEDDLE__MESSAGE_TYPE__MSG_SNAPSHOT, domain, v ? v->epoch : 0,
              v ? v->seq : 0, (ProtobufCMessage *)s);
}

static void send_view(struct shard_core *c, enum shard_channel channel, const char *peer)
{
    for (size_t i = 0; c->assignment && i < c->assignment->n_domains; i++) {
        uint32_t id = c->assignment->domains[i]->id;
        GPtrArray *chunks = view_snapshot(c->view, id, CHUNK_BYTES);
        for (guint k = 0; k < chunks->len; k++)
            send_chunk(c, channel, peer, id, k, k + 1 == chunks->len, g_ptr_array_index(chunks, k));
        g_ptr_array_set_free_func(chunks, NULL);
        g_ptr_array_unref(chunks);
    }
    Heddle__Delta *empty = g_new0(Heddle__Delta, 1);
    heddle__delta__init(empty);
    send_chunk(c, channel, peer, END_OF_VIEW, 0, true, empty);
}

/* A LID, a port GUID, a node GUID, or a NodeDescription; 0 = there is no such port. */
static uint16_t lid_of(const struct shard_core *c, const char *text)
{
    uint64_t n;
    struct view_switch *s;
    struct view_end_port *e;
    if (parse_uint(text, 1, RT_MAX_LID, &n))
        return view_by_lid(c->view, (uint16_t)n, &s, &e) ? (uint16_t)n : 0;
    bool guid = parse_guid(text, &n);
    s = guid ? view_switch(c->view, n) : NULL;
    if (s)
        return view_switch_lid(s);
    e = guid ? view_end_port_by_guid(c->view, n) : NULL;
    if (e)
        return e->lid;
    const GPtrArray *ends = view_end_ports(c->view);
    for (guint i = 0; i < ends->len; i++) {
        const struct view_end_port *x = g_ptr_array_index(ends, i);
        if (guid ? x->node_guid == n : strcmp(x->description, text) == 0)
            return x->lid;
    }
    const GPtrArray *switches = view_switches(c->view);
    for (guint i = 0; !guid && i < switches->len; i++) {
        const struct view_switch *x = g_ptr_array_index(switches, i);
        if (strcmp(x->description, text) == 0)
            return view_switch_lid(x);
    }
    return 0;
}

static void add_hop(Heddle__Route *r, uint64_t guid, const char *description, unsigned in,
                    unsigned out)
{
    Heddle__RouteHop *h = g_new0(Heddle__RouteHop, 1);
    heddle__route_hop__init(h);
    h->guid = guid;
    h->description.len = strlen(description);
    h->description.data = g_memdup2(description, h->description.len);
    h->in_port = in;
    h->out_port = out;
    r->hops = g_renew(Heddle__RouteHop *, r->hops, r->n_hops + 1);
    r->hops[r->n_hops++] = h;
}

/* Follows the plan from a switch on; returns an error text or NULL. */
static const char *walk(struct shard_core *c, Heddle__Route *r, struct view_switch *s,
                        unsigned in_port, uint16_t dlid)
{
    const struct rt_plan *plan = tables_plan(c);
    const struct rt_graph *g = rt_plan_graph(plan);
    for (uint32_t hop = 0; hop <= g->switch_count; hop++) {
        uint32_t sw = rt_find_switch(g, s->guid);
        unsigned out = sw == RT_NONE ? RT_NO_PATH : rt_plan_next_hop(plan, sw, dlid);
        add_hop(r, s->guid, s->description, in_port, out == RT_NO_PATH ? 0 : out);
        if (out == RT_NO_PATH || out > s->nports)
            return "no path beyond the last hop";
        if (out == 0)
            return NULL;
        const struct view_port *p = &s->ports[out];
        struct view_end_port *e = view_end_port(c->view, p->peer_guid, p->peer_port);
        if (e) {
            add_hop(r, e->node_guid, e->description, e->num, 0);
            return e->present ? NULL : "the destination's port is down";
        }
        in_port = p->peer_port;
        s = view_switch(c->view, p->peer_guid);
        if (!s)
            return "the link beyond the last hop is down";
    }
    return "the path does not end";
}

static void send_route(struct shard_core *c, enum shard_channel channel, const char *peer,
                       const Heddle__RouteAsk *ask)
{
    uint16_t slid = lid_of(c, ask->source), dlid = lid_of(c, ask->destination);
    if (!slid || !dlid) {
        g_autofree char *text = g_strdup_printf(
            "no port with a LID is called '%s'; name a LID, a GUID or a node description",
            slid ? ask->destination : ask->source);
        reply_error(c, channel, peer, text);
        return;
    }
    if (!tables_plan(c)) {
        reply_error(c, channel, peer, "no routes are computed yet; wait for convergence");
        return;
    }
    Heddle__Route *r = g_new0(Heddle__Route, 1);
    heddle__route__init(r);
    r->slid = slid;
    r->dlid = dlid;
    r->sl = rt_plan_sl(tables_plan(c), slid, dlid);
    struct view_switch *s;
    struct view_end_port *e;
    const char *error = "the source's switch is not in the view";
    view_by_lid(c->view, slid, &s, &e);
    unsigned in_port = 0;
    if (e) {
        add_hop(r, e->node_guid, e->description, 0, e->num);
        s = view_switch(c->view, e->switch_guid);
        in_port = e->switch_port;
    }
    if (slid == dlid)
        error = NULL;
    else if (s)
        error = walk(c, r, s, in_port, dlid);
    r->error = g_strdup(error ? error : "");
    core_send(c, channel, peer, HEDDLE__MESSAGE_TYPE__MSG_ROUTE, 0, 0, 0, (ProtobufCMessage *)r);
}

static bool is_operator(const struct shard_core *c, const char *peer)
{
    for (guint i = 0; c->cfg.operators && i < c->cfg.operators->len; i++) {
        if (strcmp(g_ptr_array_index(c->cfg.operators, i), peer) == 0)
            return true;
    }
    return false;
}

bool admin_message(struct shard_core *c, enum shard_channel channel, const char *peer,
                   const struct envelope *m)
{
    if (m->type != HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK &&
        m->type != HEDDLE__MESSAGE_TYPE__MSG_ROUTE_ASK &&
        m->type != HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK)
        return false;
    if (!is_operator(c, peer))
        reply_error(c, channel, peer, "only operators may ask this");
    else if (m->type == HEDDLE__MESSAGE_TYPE__MSG_VIEW_ASK)
        send_view(c, channel, peer);
    else if (m->type == HEDDLE__MESSAGE_TYPE__MSG_ROUTE_ASK)
        send_route(c, channel, peer, (const Heddle__RouteAsk *)m->body);
    else
        reply_error(c, channel, peer, "ask a coordinator for the status");
    return true;
}
