/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading fabrics: joins the two ends of each cable.
 *
 * Both ends should name each other. Where only one does, the cable is completed, with a warning;
 * where they contradict each other that is an error which names both lines. */
#include "fabric/reader.h"

static struct reader_cable *cable_at(struct reader *r, unsigned number)
{
    return &g_array_index(r->cables, struct reader_cable, number);
}

/* The line of a port, or NULL. */
static struct reader_cable *line_of(struct reader *r, uint32_t node, unsigned port)
{
    gpointer key = GSIZE_TO_POINTER((gsize)node << 8 | port);
    unsigned number = GPOINTER_TO_UINT(g_hash_table_lookup(r->listed, key));
    return number ? cable_at(r, number - 1) : NULL;
}

static const char *node_name(const struct reader *r, uint32_t node)
{
    return r->fabric->nodes[node].desc;
}

static bool find_peer(struct reader *r, struct reader_cable *c)
{
    const struct reader_alias *a = g_hash_table_lookup(r->aliases, c->peer_id);
    uint64_t guid;
    if (a) {
        c->peer_node = a->node;
        c->peer_port = a->port;
    } else {
        unsigned number = GPOINTER_TO_UINT(g_hash_table_lookup(r->ids, c->peer_id));
        if (number)
            c->peer_node = number - 1;
        else if (reader_guid_in_id(c->peer_id, &guid))
            c->peer_node = fabric_find(r->fabric, guid);
    }
    return c->peer_node != FABRIC_NONE;
}

static void resolve(struct reader *r, struct reader_cable *c)
{
    r->at = c->at;
    if (!find_peer(r, c)) {
        char shown[256];
        fabric_report_error(&r->report, &c->at,
                            "expected a node of this file, found %s, which is not in it (is the "
                            "file cut off?)",
                            lex_shown(shown, sizeof shown, c->peer_id));
    } else if (c->peer_port > r->fabric->nodes[c->peer_node].nports) {
        const struct fabric_place *header =
            &g_array_index(r->places, struct fabric_place, c->peer_node);
        fabric_report_error(
            &r->report, &c->at, "expected a port from [1] to [%u] of the node in %s:%u, found [%u]",
            r->fabric->nodes[c->peer_node].nports, header->file, header->line, c->peer_port);
        c->peer_node = FABRIC_NONE;
    }
}

static void report_contradiction(struct reader *r, const struct reader_cable *c,
                                 const struct reader_cable *other)
{
    if (other->peer_node == FABRIC_NONE)
        return; /* has its own error */
    char shown[256];
    fabric_report_error(&r->report, &c->at,
                        "expected both ends of the cable at port %u to agree, found that %s:%u "
                        "joins port %u there to port %u of %s",
                        c->port, other->at.file, other->at.line, other->port, other->peer_port,
                        lex_shown(shown, sizeof shown, node_name(r, other->peer_node)));
}

/* The other end has no line: its port takes what is known from here, unless another line claims
 * it too. */
static void complete(struct reader *r, const struct reader_cable *c)
{
    struct fabric_port *far = &r->fabric->nodes[c->peer_node].ports[c->peer_port];
    if (far->peer_node != FABRIC_NONE) {
        const struct reader_cable *first = line_of(r, far->peer_node, far->peer_port);
        fabric_report_error(&r->report, &c->at,
                            "expected a free port at the other end, found that %s:%u joins port %u "
                            "there as well",
                            first->at.file, first->at.line, c->peer_port);
        return;
    }
    fabric_connect(r->fabric, c->node, c->port, c->peer_node, c->peer_port);
    far->width = c->width;
    far->speed = c->speed;
    if (r->fabric->nodes[c->peer_node].type != FABRIC_SWITCH) {
        far->lid = c->peer_lid;
        far->guid = c->peer_guid ? c->peer_guid : far->guid;
    }
    char shown[256];
    fabric_report_warning(&r->report, &c->at,
                          "port %u of %s does not name this cable: completed from this line",
                          c->peer_port, lex_shown(shown, sizeof shown, node_name(r, c->peer_node)));
}

static void describe_port(struct reader *r, const struct reader_cable *c)
{
    struct fabric_node *n = &r->fabric->nodes[c->node];
    struct fabric_port *p = &n->ports[c->port];
    p->width = c->width;
    p->speed = c->speed;
    if (n->type == FABRIC_SWITCH)
        return;
    p->lid = c->lid;
    p->lmc = c->lmc;
    if (c->guid)
        p->guid = c->guid;
}

static void join(struct reader *r, const struct reader_cable *c)
{
    describe_port(r, c);
    if (c->peer_node == FABRIC_NONE)
        return;
    if (c->peer_node == c->node && c->peer_port == c->port) {
        fabric_report_warning(&r->report, &c->at, "port %u is cabled to itself: left without cable",
                              c->port);
        return;
    }
    const struct reader_cable *other = line_of(r, c->peer_node, c->peer_port);
    if (!other)
        complete(r, c);
    else if (other->peer_node != c->node || other->peer_port != c->port)
        report_contradiction(r, c, other);
    else if (r->fabric->nodes[c->node].ports[c->port].peer_node == FABRIC_NONE)
        fabric_connect(r->fabric, c->node, c->port, c->peer_node, c->peer_port);
}

void reader_join_cables(struct reader *r)
{
    for (unsigned i = 0; i < r->cables->len && !fabric_report_full(&r->report); i++)
        resolve(r, cable_at(r, i));
    for (unsigned i = 0; i < r->cables->len && !fabric_report_full(&r->report); i++)
        join(r, cable_at(r, i));
}
