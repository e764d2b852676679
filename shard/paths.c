/* SPDX-License-Identifier: BSD-2-Clause */
/* Directed routes from this shard's port: a breadth-first search over what is known of the links.
 */
#include "shard/paths.h"

#include <string.h>

#include "shard/core_internal.h"
#include "shard/keys.h"
#include "shard/portinfo.h"

#define SUSPECT_MS 30000u /* a light sweep or two: then the link is known to be down, or good */

struct paths {
    GHashTable *scanned; /* guid -> GArray of struct path_link */
    GHashTable *hinted;
    GHashTable *seen;     /* struct port_key -> struct path_link: links from both ends */
    GHashTable *suspects; /* struct port_key, both ends of a link -> until when, uint64_t */
    GHashTable *routes;   /* guid -> struct dr_path * */
    GArray *order;        /* uint64_t, nearest first */
    bool valid;
};

static void links_free(gpointer p)
{
    g_array_unref(p);
}

struct paths *paths_create(void)
{
    struct paths *p = g_new0(struct paths, 1);
    p->scanned = guid_table_new(links_free);
    p->hinted = guid_table_new(links_free);
    p->suspects = g_hash_table_new_full(port_key_hash, port_key_equal, g_free, g_free);
    p->routes = guid_table_new(g_free);
    p->seen = g_hash_table_new_full(port_key_hash, port_key_equal, g_free, g_free);
    p->order = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    return p;
}

void paths_destroy(struct paths *p)
{
    if (!p)
        return;
    g_hash_table_unref(p->scanned);
    g_hash_table_unref(p->hinted);
    g_hash_table_unref(p->routes);
    g_hash_table_unref(p->seen);
    g_hash_table_unref(p->suspects);
    g_array_unref(p->order);
    g_free(p);
}

void paths_changed(struct shard_core *c)
{
    c->paths->valid = false;
}

void paths_learn_scan(struct shard_core *c, uint64_t guid, GArray *links)
{
    g_hash_table_replace(c->paths->scanned, guid_key(guid), links);
    paths_changed(c);
}

static void saw_end(struct paths *p, uint64_t guid, unsigned port, uint64_t peer,
                    unsigned peer_port)
{
    struct port_key end = {guid, (uint8_t)port};
    struct path_link link = {peer, (uint8_t)port, (uint8_t)peer_port};
    g_hash_table_replace(p->seen, g_memdup2(&end, sizeof end), g_memdup2(&link, sizeof link));
}

void paths_saw_link(struct shard_core *c, uint64_t guid, unsigned port, uint64_t peer,
                    unsigned peer_port)
{
    saw_end(c->paths, guid, port, peer, peer_port);
    saw_end(c->paths, peer, peer_port, guid, port);
}

bool paths_seen_link(const struct shard_core *c, uint64_t guid, unsigned port,
                     struct path_link *link)
{
    struct port_key end = {guid, (uint8_t)port};
    const struct path_link *found = g_hash_table_lookup(c->paths->seen, &end);
    if (found)
        *link = *found;
    return found != NULL;
}

void paths_forget_seen(struct shard_core *c)
{
    g_hash_table_remove_all(c->paths->seen);
}

void paths_learn_hint(struct shard_core *c, uint64_t guid, GArray *links)
{
    for (guint i = 0; i < links->len; i++) {
        const struct path_link *l = &g_array_index(links, struct path_link, i);
        paths_saw_link(c, guid, l->port, l->peer, l->peer_port);
    }
    g_hash_table_replace(c->paths->hinted, guid_key(guid), links);
    paths_changed(c);
}

void paths_forget(struct shard_core *c, uint64_t guid)
{
    g_hash_table_remove(c->paths->scanned, &guid);
    g_hash_table_remove(c->paths->hinted, &guid);
    paths_changed(c);
}

bool paths_knows_links(const struct shard_core *c, uint64_t guid)
{
    return view_switch(c->view, guid) || g_hash_table_contains(c->paths->scanned, &guid) ||
           g_hash_table_contains(c->paths->hinted, &guid);
}

/* Whether the other end, where it is known, does not deny the link. */
static bool other_end_agrees(const struct shard_core *c, const struct view_switch *s, unsigned num)
{
    const struct view_switch *peer = view_switch(c->view, s->ports[num].peer_guid);
    unsigned peer_port = s->ports[num].peer_port;
    if (!peer || !peer->reachable || peer_port > peer->nports || !peer->ports[peer_port].have_info)
        return true;
    return portinfo_link_up(peer->ports[peer_port].portinfo);
}

static void view_links(const struct shard_core *c, const struct view_switch *s, GArray *links)
{
    for (unsigned n = 1; n <= s->nports; n++) {
        const struct view_port *port = &s->ports[n];
        if (!port->peer_guid || !port->have_info)
            continue;
        if (portinfo_state(port->portinfo) < PORT_STATE_INIT || !other_end_agrees(c, s, n))
            continue;
        struct path_link l = {port->peer_guid, (uint8_t)n, port->peer_port};
        g_array_append_val(links, l);
    }
}

/* The links of a switch by the best source, in port order, appended to links. */
static void collect_links(struct shard_core *c, uint64_t guid, GArray *links)
{
    g_array_set_size(links, 0);
    const struct view_switch *s = view_switch(c->view, guid);
    if (s && s->reachable) {
        view_links(c, s, links);
        return;
    }
    GArray *known = g_hash_table_lookup(c->paths->scanned, &guid);
    if (!known)
        known = g_hash_table_lookup(c->paths->hinted, &guid);
    if (known && known->len)
        g_array_append_vals(links, known->data, known->len);
}

static bool route_add(struct paths *p, uint64_t guid, const struct dr_path *from, unsigned port)
{
    if (g_hash_table_contains(p->routes, &guid))
        return false;
    struct dr_path *path = g_new0(struct dr_path, 1);
    if (from)
        *path = *from;
    if (!dr_path_extend(path, port)) {
        g_free(path);
        return false;
    }
    g_hash_table_insert(p->routes, guid_key(guid), path);
    g_array_append_val(p->order, guid);
    return true;
}

static bool is_suspect(const struct shard_core *c, uint64_t guid, unsigned port)
{
    struct port_key end = {guid, (uint8_t)port};
    const uint64_t *until = g_hash_table_lookup(c->paths->suspects, &end);
    return until && c->now_ms < *until;
}

/* Goes on from all switches that a route leads to. */
static void spread(struct shard_core *c, bool over_suspects)
{
    struct paths *p = c->paths;
    GArray *links = g_array_new(FALSE, FALSE, sizeof(struct path_link));
    for (guint i = 0; i < p->order->len; i++) {
        uint64_t guid = g_array_index(p->order, uint64_t, i);
        const struct dr_path *here = g_hash_table_lookup(p->routes, &guid);
        collect_links(c, guid, links);
        for (guint k = 0; k < links->len; k++) {
            const struct path_link *l = &g_array_index(links, struct path_link, k);
            /* A peer that is no switch (a CA in the view) is no place to go on from. */
            if (view_end_port(c->view, l->peer, l->peer_port) ||
                (!over_suspects && is_suspect(c, guid, l->port)))
                continue;
            route_add(p, l->peer, here, l->port);
        }
    }
    g_array_unref(links);
}

static void search(struct shard_core *c)
{
    struct paths *p = c->paths;
    g_hash_table_remove_all(p->routes);
    g_array_set_size(p->order, 0);
    p->valid = true;
    if (!c->own.known || !c->own.leaf_guid)
        return;
    route_add(p, c->own.leaf_guid, NULL, c->own.num);
    spread(c, false);
    if (g_hash_table_size(p->suspects))
        spread(c, true);
}

/* -- routes that failed --------------------------------------------------------------------------
 */

/* The links that a route passes, as (switch, port) of both ends. */
static GArray *links_of_way(struct shard_core *c, const struct dr_path *path)
{
    GArray *ends = g_array_new(FALSE, TRUE, sizeof(struct port_key));
    GArray *links = g_array_new(FALSE, FALSE, sizeof(struct path_link));
    uint64_t guid = c->own.leaf_guid;
    for (unsigned hop = 2; hop <= path->hops; hop++) {
        const struct path_link *out = NULL;
        collect_links(c, guid, links);
        for (guint k = 0; k < links->len && !out; k++) {
            const struct path_link *l = &g_array_index(links, struct path_link, k);
            out = l->port == path->port[hop] ? l : NULL;
        }
        if (!out)
            break;
        struct port_key near = {guid, out->port}, far = {out->peer, out->peer_port};
        g_array_append_val(ends, near);
        g_array_append_val(ends, far);
        guid = out->peer;
    }
    g_array_unref(links);
    return ends;
}

void paths_way_failed(struct shard_core *c, const struct dr_path *path, GArray *passed)
{
    GArray *ends = links_of_way(c, path);
    uint64_t until = c->now_ms + SUSPECT_MS;
    for (guint i = 0; i < ends->len; i++) {
        const struct port_key *end = &g_array_index(ends, struct port_key, i);
        if (i % 2 == 0)
            g_array_append_val(passed, end->guid);
        g_hash_table_replace(c->paths->suspects, g_memdup2(end, sizeof *end),
                             g_memdup2(&until, sizeof until));
    }
    g_array_unref(ends);
    paths_changed(c);
}

void paths_way_worked(struct shard_core *c, const struct dr_path *path)
{
    if (!g_hash_table_size(c->paths->suspects))
        return;
    GArray *ends = links_of_way(c, path);
    for (guint i = 0; i < ends->len; i++)
        g_hash_table_remove(c->paths->suspects, &g_array_index(ends, struct port_key, i));
    g_array_unref(ends);
}

/* -- asking ---------------------------------------------------------------------------------------
 */

bool paths_to_switch(struct shard_core *c, uint64_t guid, struct dr_path *path)
{
    if (!c->paths->valid)
        search(c);
    const struct dr_path *found = g_hash_table_lookup(c->paths->routes, &guid);
    if (found)
        *path = *found;
    return found != NULL;
}

const GArray *paths_reached(struct shard_core *c)
{
    if (!c->paths->valid)
        search(c);
    return c->paths->order;
}
