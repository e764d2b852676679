/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a port is not ACTIVE: from what both ends and the assignment show, the most telling reason
 * that applies. A cable has one row, at its switch; at the end port only if the switch's end is
 * ACTIVE. A switch as a whole that nobody sets up has one row, not one a port. */
#include "cli/nodes.h"

enum { STATE_DOWN = 1, STATE_INIT, STATE_ARMED, STATE_ACTIVE };
enum {
    PHYSICAL_DISABLED = 3,
    PHYSICAL_TRAINING,
    PHYSICAL_LINK_UP,
    PHYSICAL_RECOVERY,
    PHYSICAL_TEST
};

struct finder {
    const struct view *v;
    const Heddle__Status *s;
    GHashTable *duplicates; /* &guid */
    GArray *out;
};

const char *nodes_reason_name(enum port_reason reason)
{
    static const char *const names[] = {
        [PORT_UNREACHABLE] = "unreachable",
        [PORT_NO_DOMAIN] = "no_domain",
        [PORT_NO_OWNER] = "no_owner",
        [PORT_DUPLICATE] = "duplicate_guid",
        [PORT_NOT_READ] = "not_read",
        [PORT_LINK_DOWN] = "link_down",
        [PORT_PEER_DOWN] = "peer_down",
        [PORT_DISABLED] = "disabled",
        [PORT_TRAINING] = "training",
        [PORT_NO_PEER] = "no_peer",
        [PORT_PEER_NO_OWNER] = "peer_no_owner",
        [PORT_NO_LID] = "no_lid",
        [PORT_BRINGING_UP] = "bringing_up",
        [PORT_WAITS] = "waits_for_peer",
        [PORT_NOT_SET] = "not_set",
    };
    return names[reason];
}

static void clear_problem(gpointer p)
{
    g_free(((struct port_problem *)p)->text);
}

/* Fills reason and text of p and keeps it. */
static void report(struct finder *f, struct port_problem *p, enum port_reason reason,
                   const char *format, ...) G_GNUC_PRINTF(4, 5);
static void report(struct finder *f, struct port_problem *p, enum port_reason reason,
                   const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    p->reason = reason;
    p->text = g_strdup_vprintf(format, ap);
    va_end(ap);
    g_array_append_val(f->out, *p);
}

static const Heddle__Domain *domain_of(const struct finder *f, uint32_t id)
{
    return id != VIEW_NO_DOMAIN ? report_domain(f->s, id) : NULL;
}

static bool is_duplicate(const struct finder *f, uint64_t guid)
{
    return g_hash_table_contains(f->duplicates, &guid);
}

/* -- the other end ----------------------------------------------------------------------------- */

/* Whether the other end, a switch, stands in the way; *state gets that of its port. */
static bool blocked_by_switch(struct finder *f, struct port_problem *p,
                              const struct view_switch *peer, unsigned *state)
{
    const Heddle__Domain *d = domain_of(f, peer->domain);
    p->peer_description = peer->description;
    if (p->peer_port > peer->nports || !peer->ports[p->peer_port].have_info) {
        report(f, p, PORT_NOT_READ, "the other end has not been read yet");
        return true;
    }
    const uint8_t *info = peer->ports[p->peer_port].portinfo;
    *state = nodes_portinfo_state(info);
    if (!peer->reachable)
        report(f, p, PORT_UNREACHABLE, "the switch at the other end is not reached by its owner");
    else if (nodes_portinfo_physical(info) != PHYSICAL_LINK_UP)
        report(f, p, PORT_PEER_DOWN, "link physically down at the other end (%s)",
               nodes_physical_name(nodes_portinfo_physical(info)));
    else if (d == NULL)
        report(f, p, PORT_PEER_NO_OWNER, "the switch at the other end belongs to no domain");
    else if (!report_owned(f->s, d))
        report(f, p, PORT_PEER_NO_OWNER, "domain %u of the other end has no live owner", d->id);
    else
        return false;
    return true;
}

static bool blocked_by_end_port(struct finder *f, struct port_problem *p,
                                const struct view_end_port *peer, unsigned *state)
{
    *state = nodes_portinfo_state(peer->portinfo);
    p->peer_description = peer->description;
    if (!peer->present)
        report(f, p, PORT_NO_PEER, "link up, but the node that was behind it does not answer");
    else if (peer->lid == 0)
        report(f, p, PORT_NO_LID, "the end port has no LID yet");
    else if (nodes_portinfo_physical(peer->portinfo) != PHYSICAL_LINK_UP)
        report(f, p, PORT_PEER_DOWN, "link physically down at the other end (%s)",
               nodes_physical_name(nodes_portinfo_physical(peer->portinfo)));
    else
        return false;
    return true;
}

static bool blocked_by_peer(struct finder *f, struct port_problem *p, unsigned *state)
{
    if (p->peer_guid == 0) {
        report(f, p, PORT_NO_PEER, "link up, but nobody answers behind it");
        return true;
    }
    if (is_duplicate(f, p->peer_guid)) {
        report(f, p, PORT_DUPLICATE, "the node behind it is quarantined: its GUID exists twice");
        return true;
    }
    const struct view_switch *sw = view_switch(f->v, p->peer_guid);
    const struct view_end_port *end = view_end_port(f->v, p->peer_guid, p->peer_port);
    if (sw != NULL)
        return blocked_by_switch(f, p, sw, state);
    if (end != NULL)
        return blocked_by_end_port(f, p, end, state);
    report(f, p, PORT_NOT_READ, "the node behind it has not been read yet");
    return true;
}

/* -- this end ---------------------------------------------------------------------------------- */

/* Link up here; the state of this end and of the other one decide. */
static void explain_state(struct finder *f, struct port_problem *p)
{
    unsigned peer_state = 0;
    if (blocked_by_peer(f, p, &peer_state))
        return;
    const struct view_domain *d = view_domain(f->v, p->domain);
    if (d != NULL && d->phase != HEDDLE__DOMAIN_PHASE__PHASE_RUNNING)
        report(f, p, PORT_BRINGING_UP, "domain %u is being brought up (%s)", d->id,
               report_phase_name(d->phase));
    else if (p->state == STATE_ARMED && peer_state < STATE_ARMED)
        report(f, p, PORT_WAITS, "waiting for the other end, %s, to be Armed",
               nodes_state_name(peer_state));
    else
        report(f, p, PORT_NOT_SET,
               "nothing stands in its way: Set(PortInfo) was refused or is on its way; see the log "
               "of %s",
               *p->owner ? p->owner : "its owner");
}

/* No physical link: only worth a word if something was or should be there. */
static void explain_no_link(struct finder *f, struct port_problem *p)
{
    const struct view_end_port *was = view_end_port_at(f->v, p->node_guid, p->port);
    const struct view_switch *peer = p->peer_guid ? view_switch(f->v, p->peer_guid) : NULL;
    if (was != NULL && p->peer_guid == 0) {
        p->peer_guid = was->node_guid;
        p->peer_port = was->num;
    }
    if (was != NULL)
        p->peer_description = was->description;
    else if (peer != NULL)
        p->peer_description = peer->description;
    if (p->physical == PHYSICAL_DISABLED)
        report(f, p, PORT_DISABLED, "the port is disabled");
    else if (p->physical == PHYSICAL_TRAINING || p->physical == PHYSICAL_RECOVERY ||
             p->physical == PHYSICAL_TEST)
        report(f, p, PORT_TRAINING, "the link is not stable (%s)",
               nodes_physical_name(p->physical));
    else if (p->peer_guid != 0)
        report(f, p, PORT_LINK_DOWN, "link physically down (%s); the node was here before",
               nodes_physical_name(p->physical));
}

static void check_switch_port(struct finder *f, const struct view_switch *sw, unsigned num,
                              struct port_problem p)
{
    const struct view_port *port = &sw->ports[num];
    p.port = num;
    p.peer_guid = port->peer_guid;
    p.peer_port = port->peer_port;
    if (!port->have_info) {
        report(f, &p, PORT_NOT_READ, "its PortInfo has not been read yet");
        return;
    }
    p.state = nodes_portinfo_state(port->portinfo);
    p.physical = nodes_portinfo_physical(port->portinfo);
    if (p.physical != PHYSICAL_LINK_UP)
        explain_no_link(f, &p);
    else if (p.state != STATE_ACTIVE)
        explain_state(f, &p);
}

static void check_switch(struct finder *f, const struct view_switch *sw)
{
    const Heddle__Domain *d = domain_of(f, sw->domain);
    struct port_problem p = {.node_guid = sw->guid,
                             .description = sw->description,
                             .peer_description = "",
                             .owner = d != NULL ? d->owner : "",
                             .domain = sw->domain};
    if (!sw->reachable)
        report(f, &p, PORT_UNREACHABLE, "the switch is not reached by its owner");
    else if (d == NULL)
        report(f, &p, PORT_NO_DOMAIN, "the switch belongs to no domain: nobody sets it up");
    else if (!report_owned(f->s, d))
        report(f, &p, PORT_NO_OWNER, "domain %u has no live owner", d->id);
    else
        for (unsigned i = 1; i <= sw->nports; i++)
            check_switch_port(f, sw, i, p);
}

/* Its switch's end of the cable has been looked at before. */
static void check_end_port(struct finder *f, const struct view_end_port *e)
{
    const struct view_switch *sw = view_switch(f->v, e->switch_guid);
    const struct view_port *far =
        sw != NULL && e->switch_port <= sw->nports ? &sw->ports[e->switch_port] : NULL;
    unsigned state = nodes_portinfo_state(e->portinfo);
    if (!e->present || state == STATE_ACTIVE || far == NULL || !far->have_info ||
        nodes_portinfo_state(far->portinfo) != STATE_ACTIVE)
        return;
    const Heddle__Domain *d = domain_of(f, sw->domain);
    struct port_problem p = {.node_guid = e->node_guid,
                             .description = e->description,
                             .port = e->num,
                             .peer_guid = sw->guid,
                             .peer_port = e->switch_port,
                             .peer_description = sw->description,
                             .owner = d != NULL ? d->owner : "",
                             .domain = sw->domain,
                             .state = state,
                             .physical = nodes_portinfo_physical(e->portinfo)};
    if (e->lid == 0)
        report(f, &p, PORT_NO_LID, "the end port has no LID yet");
    else
        report(
            f, &p, PORT_NOT_SET,
            "its switch's end is Active: Set(PortInfo) was refused or is on its way; see the log "
            "of %s",
            *p.owner ? p.owner : "its owner");
}

static void collect_duplicates(struct finder *f)
{
    for (size_t i = 0; i < f->s->n_shards; i++) {
        const Heddle__ShardStatus *shard = f->s->shards[i];
        for (size_t j = 0; shard->last != NULL && j < shard->last->n_duplicate_guids; j++)
            g_hash_table_add(f->duplicates, &shard->last->duplicate_guids[j]);
    }
}

static gint by_guid(gconstpointer a, gconstpointer b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void report_duplicates(struct finder *f)
{
    g_autoptr(GArray) guids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    GHashTableIter each;
    gpointer key;
    g_hash_table_iter_init(&each, f->duplicates);
    while (g_hash_table_iter_next(&each, &key, NULL))
        g_array_append_vals(guids, key, 1);
    g_array_sort(guids, by_guid);
    for (guint i = 0; i < guids->len; i++) {
        struct port_problem p = {.node_guid = g_array_index(guids, uint64_t, i),
                                 .description = "",
                                 .peer_description = "",
                                 .owner = "",
                                 .domain = VIEW_NO_DOMAIN};
        report(f, &p, PORT_DUPLICATE,
               "two nodes have this GUID: the second one is quarantined; give it one of its own");
    }
}

GArray *nodes_problems(const struct view *v, const Heddle__Status *s)
{
    struct finder f = {.v = v,
                       .s = s,
                       .duplicates = g_hash_table_new(g_int64_hash, g_int64_equal),
                       .out = g_array_new(FALSE, TRUE, sizeof(struct port_problem))};
    g_array_set_clear_func(f.out, clear_problem);
    const GPtrArray *switches = view_switches(v);
    const GPtrArray *ends = view_end_ports(v);
    collect_duplicates(&f);
    report_duplicates(&f);
    for (guint i = 0; i < switches->len; i++)
        check_switch(&f, g_ptr_array_index(switches, i));
    for (guint i = 0; i < ends->len; i++)
        check_end_port(&f, g_ptr_array_index(ends, i));
    g_hash_table_destroy(f.duplicates);
    return f.out;
}
