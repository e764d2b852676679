/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulated subnet: life, sending, faults, and the final judgement. */
#include "tests/world/sim_fabric_private.h"

#include <string.h>

#include <infiniband/mad.h>

#include "routing/check.h"

struct sim_fabric *sim_fabric_create(const struct fabric *f,
                                     const struct sim_fabric_callbacks *callbacks)
{
    struct sim_fabric *s = g_new0(struct sim_fabric, 1);
    s->f = f;
    s->cb = *callbacks;
    s->nodes = g_new0(struct sim_node, f->node_count);
    s->lid_of = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    s->guid_of = g_new0(uint64_t, SIM_LIDS);
    s->muted = true;
    for (uint32_t i = 0; i < f->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        n->n = &f->nodes[i];
        n->on = true;
        n->last_leaf = FABRIC_NONE;
        n->ports = g_new0(struct sim_port, n->n->nports + 1u);
        n->lft = sim_is_switch(n) ? g_malloc(SIM_LIDS) : NULL;
        for (unsigned p = 1; p <= n->n->nports; p++)
            n->ports[p].plugged = n->n->ports[p].peer_node != FABRIC_NONE;
        sim_reset_node(s, i);
    }
    for (uint32_t i = 0; i < f->node_count; i++)
        for (unsigned p = 1; p <= f->nodes[i].nports; p++)
            if (sim_link_up(s, i, p))
                sim_link_changed(s, i, p);
    s->muted = false;
    return s;
}

void sim_fabric_destroy(struct sim_fabric *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->f->node_count; i++) {
        g_free(s->nodes[i].ports);
        g_free(s->nodes[i].lft);
    }
    g_hash_table_destroy(s->lid_of);
    g_free(s->guid_of);
    g_free(s->nodes);
    g_free(s);
}

uint64_t sim_fabric_guid(const struct sim_fabric *s, uint32_t node)
{
    return s->f->nodes[node].guid;
}

void sim_fabric_process(struct sim_fabric *s, uint32_t node, enum sim_process process)
{
    s->nodes[node].process = process;
}

void sim_fabric_mute_traps(struct sim_fabric *s, bool mute)
{
    s->muted = mute;
}

/* -- sending --------------------------------------------------------------------------------- */

static bool walk(struct sim_fabric *s, const uint8_t *mad, const struct mad_address *to,
                 struct sim_place *at)
{
    if (mad_class(mad) == SMP_CLASS_DR)
        return sim_walk_directed(s, mad, at);
    return sim_walk_lid(s, to->lid, at);
}

static unsigned ca_lid(const struct sim_fabric *s, uint32_t node)
{
    return sim_lid(&s->nodes[node].ports[sim_ca_port(s, node)]);
}

/* An SM's own answer: along the path of the request, or by LID. The requester's number travels in
 * the Q_Key, which SMPs do not have. */
static void answer_of_process(struct sim_fabric *s, uint32_t node, const uint8_t *mad,
                              const struct mad_address *to)
{
    struct sim_place at = {to->qkey, 0};
    if (mad_class(mad) != SMP_CLASS_DR)
        at.node = node;
    if (at.node >= s->f->node_count || !walk(s, mad, to, &at))
        return;
    if (mad_class(mad) == SMP_CLASS_DR)
        at.node = to->qkey;
    if (s->nodes[at.node].process == SIM_PROCESS_LIVE)
        s->cb.deliver(s->cb.user, at.node, mad, &(struct mad_address){.lid = to->lid});
}

static bool reaches_process(const struct sim_fabric *s, const struct sim_place *at,
                            const uint8_t *mad)
{
    return mad_attribute(mad) == SMP_SM_INFO && !sim_is_switch(&s->nodes[at->node]) &&
           s->nodes[at->node].process != SIM_PROCESS_NONE;
}

void sim_fabric_send(struct sim_fabric *s, uint32_t node, const uint8_t mad[MAD_BYTES],
                     const struct mad_address *to)
{
    struct sim_place at = {node, 0};
    struct mad_address from = {.lid = SIM_PERMISSIVE, .qkey = node};
    uint8_t answer[MAD_BYTES];
    bool directed = mad_class(mad) == SMP_CLASS_DR;
    if (mad_class(mad) != SMP_CLASS_LID && !directed)
        return;
    if (mad_method(mad) == MAD_GET_RESP) {
        answer_of_process(s, node, mad, to);
        return;
    }
    if (!walk(s, mad, to, &at))
        return;
    if (!directed)
        from.lid = (uint16_t)ca_lid(s, node);
    if (reaches_process(s, &at, mad)) {
        if (s->nodes[at.node].process == SIM_PROCESS_LIVE)
            s->cb.deliver(s->cb.user, at.node, mad, &from);
        return;
    }
    memcpy(answer, mad, MAD_BYTES);
    if (!sim_agent(s, &at, answer))
        return;
    /* A directed answer goes back over the same links; a routed one finds its own way. */
    struct sim_place back = {at.node, 0};
    if (!directed && (!sim_walk_lid(s, from.lid, &back) || back.node != node))
        return;
    if (s->nodes[node].process == SIM_PROCESS_LIVE)
        s->cb.deliver(s->cb.user, node, answer, &(struct mad_address){.lid = to->lid});
}

uint64_t sim_fabric_target_switch(struct sim_fabric *s, uint32_t node, const uint8_t mad[MAD_BYTES],
                                  const struct mad_address *to)
{
    struct sim_place at = {node, 0};
    if (!walk(s, mad, to, &at))
        return 0;
    const struct fabric_node *n = s->nodes[at.node].n;
    if (n->type == FABRIC_SWITCH)
        return n->guid;
    unsigned port = sim_own_port(s, &at);
    return n->ports[port].peer_node != FABRIC_NONE ? s->f->nodes[n->ports[port].peer_node].guid : 0;
}

/* -- faults ---------------------------------------------------------------------------------- */

void sim_fabric_cable(struct sim_fabric *s, uint32_t node, unsigned port, bool plugged)
{
    struct sim_port *p = &s->nodes[node].ports[port];
    const struct fabric_port *c = &s->nodes[node].n->ports[port];
    if (c->peer_node == FABRIC_NONE || p->plugged == plugged)
        return;
    p->plugged = plugged;
    s->nodes[c->peer_node].ports[c->peer_port].plugged = plugged;
    sim_link_changed(s, node, port);
}

void sim_fabric_power(struct sim_fabric *s, uint32_t node, bool on)
{
    struct sim_node *n = &s->nodes[node];
    if (n->on == on)
        return;
    n->on = on;
    if (on)
        sim_reset_node(s, node);
    for (unsigned p = 1; p <= n->n->nports; p++)
        if (n->ports[p].plugged)
            sim_link_changed(s, node, p);
}

void sim_fabric_repair(struct sim_fabric *s)
{
    for (uint32_t i = 0; i < s->f->node_count; i++)
        sim_fabric_power(s, i, true);
    for (uint32_t i = 0; i < s->f->node_count; i++)
        for (unsigned p = 1; p <= s->f->nodes[i].nports; p++)
            sim_fabric_cable(s, i, p, true);
}

/* -- judgement ------------------------------------------------------------------------------- */

static void say(FILE *report, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void say(FILE *report, const char *format, ...)
{
    va_list ap;
    if (report == NULL)
        return;
    va_start(ap, format);
    vfprintf(report, format, ap);
    va_end(ap);
}

static bool counts(const struct sim_fabric *s, uint32_t node, unsigned port)
{
    return sim_link_up(s, node, port) && !s->nodes[node].left_out &&
           !s->nodes[s->f->nodes[node].ports[port].peer_node].left_out;
}

static bool ports_active(struct sim_fabric *s, FILE *report)
{
    bool good = true;
    for (uint32_t i = 0; i < s->f->node_count; i++) {
        for (unsigned p = 1; p <= s->f->nodes[i].nports; p++) {
            const struct sim_port *port = &s->nodes[i].ports[p];
            if (!counts(s, i, p) || sim_state(port) == SIM_ACTIVE)
                continue;
            say(report, "  %s port %u is in state %u\n", s->f->nodes[i].desc, p, sim_state(port));
            good = false;
        }
    }
    return good;
}

/* A CA that is away, or left out, keeps the entries of the LID that it was given, as long as nobody
 * else is where it was. */
static void add_absent(const struct sim_fabric *s, struct rt_builder *b, uint32_t node)
{
    unsigned own = sim_ca_port(s, node);
    const struct fabric_port *p = &s->f->nodes[node].ports[own];
    const struct sim_node *n = &s->nodes[node];
    uint64_t guid = n->shown_guid != 0 ? n->shown_guid + own : p->guid;
    unsigned lid = GPOINTER_TO_UINT(g_hash_table_lookup(s->lid_of, &guid));
    /* Of two nodes with one GUID the one that was given the LID. */
    if (n->on && n->left_out && sim_lid(&n->ports[own]) != lid)
        return;
    bool cabled = p->peer_node != FABRIC_NONE;
    uint32_t leaf = cabled ? p->peer_node : s->nodes[node].last_leaf;
    if (!sim_is_switch(&s->nodes[node]) && lid != 0 && leaf != FABRIC_NONE &&
        !(cabled && counts(s, node, own)))
        rt_add_dest(b, s->f->nodes[leaf].guid, cabled ? p->peer_port : s->nodes[node].last_port,
                    p->guid, (uint16_t)lid, 0, RT_DEST_HOST, false);
}

static struct rt_graph *true_graph(struct sim_fabric *s, FILE *report)
{
    struct rt_builder *b = rt_builder_create();
    struct rt_graph *g = NULL;
    uint16_t duplicate = 0;
    for (uint32_t i = 0; i < s->f->node_count; i++)
        if (sim_is_switch(&s->nodes[i]) && !s->nodes[i].left_out)
            rt_add_switch(b, s->f->nodes[i].guid, s->f->nodes[i].nports,
                          (uint16_t)sim_lid(&s->nodes[i].ports[0]), 0);
    for (uint32_t i = 0; i < s->f->node_count; i++) {
        const struct fabric_node *n = &s->f->nodes[i];
        for (unsigned p = 1; p <= n->nports; p++) {
            if (!counts(s, i, p))
                continue;
            const struct fabric_node *peer = &s->f->nodes[n->ports[p].peer_node];
            if (peer->type != FABRIC_SWITCH)
                continue;
            if (n->type != FABRIC_SWITCH)
                rt_add_dest(b, peer->guid, n->ports[p].peer_port, n->ports[p].guid,
                            (uint16_t)sim_lid(&s->nodes[i].ports[p]), 0, RT_DEST_HOST, true);
            else if (n->guid < peer->guid)
                rt_add_link(b, n->guid, p, peer->guid, n->ports[p].peer_port);
        }
    }
    for (uint32_t i = 0; i < s->f->node_count; i++)
        add_absent(s, b, i);
    if (rt_builder_finish(b, &g, &duplicate) != 0) {
        say(report, "  LID %u is on two ports\n", duplicate);
        return NULL;
    }
    return g;
}

static bool all_have_lids(const struct rt_graph *g, FILE *report)
{
    bool good = true;
    for (uint32_t i = 0; i < g->dest_count; i++) {
        if (g->dests[i].lid != 0)
            continue;
        say(report, "  port %016lx has no LID\n", g->dests[i].port_guid);
        good = false;
    }
    return good;
}

static bool tables_good(struct sim_fabric *s, const struct rt_graph *g, FILE *report)
{
    g_autofree const uint8_t **rows = g_new0(const uint8_t *, g->switch_count + 1);
    for (uint32_t i = 0; i < s->f->node_count; i++)
        if (sim_is_switch(&s->nodes[i]) && !s->nodes[i].left_out)
            rows[rt_find_switch(g, s->f->nodes[i].guid)] = s->nodes[i].lft;
    struct rt_tables t = {.rows = rows, .row_size = SIM_LIDS};
    struct rt_check_result result;
    return rt_check(g, &t, NULL, &result, report, 3);
}

bool sim_fabric_whole(struct sim_fabric *s, FILE *report)
{
    bool active = ports_active(s, report);
    struct rt_graph *g = true_graph(s, report);
    if (g == NULL)
        return false;
    bool good = all_have_lids(g, report) && tables_good(s, g, report) && active;
    rt_graph_unref(g);
    return good;
}
