/* SPDX-License-Identifier: BSD-2-Clause */
/* Directed routes from this shard's port: a breadth-first search over what is known of the links.
 */
#include "shard/paths.h"

#include <infiniband/mad.h>
#include <string.h>

#include "shard/core_internal.h"
#include "shard/keys.h"

struct paths {
    GHashTable *scanned; /* guid -> GArray of struct path_link */
    GHashTable *hinted;
    GHashTable *seen;   /* struct port_key -> struct path_link: links from both ends */
    GHashTable *routes; /* guid -> struct dr_path * */
    GArray *order;      /* uint64_t, nearest first */
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

static void view_links(const struct view_switch *s, GArray *links)
{
    for (unsigned n = 1; n <= s->nports; n++) {
        const struct view_port *port = &s->ports[n];
        if (!port->peer_guid || !port->have_info)
            continue;
        if (mad_get_field((void *)port->portinfo, 0, IB_PORT_STATE_F) < 2)
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
        view_links(s, links);
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

static void search(struct shard_core *c)
{
    struct paths *p = c->paths;
    g_hash_table_remove_all(p->routes);
    g_array_set_size(p->order, 0);
    p->valid = true;
    if (!c->own.known || !c->own.leaf_guid)
        return;
    route_add(p, c->own.leaf_guid, NULL, c->own.num);
    GArray *links = g_array_new(FALSE, FALSE, sizeof(struct path_link));
    for (guint i = 0; i < p->order->len; i++) {
        uint64_t guid = g_array_index(p->order, uint64_t, i);
        const struct dr_path *here = g_hash_table_lookup(p->routes, &guid);
        collect_links(c, guid, links);
        for (guint k = 0; k < links->len; k++) {
            const struct path_link *l = &g_array_index(links, struct path_link, k);
            /* A peer that is no switch (a CA in the view) is no place to go on from. */
            if (view_end_port(c->view, l->peer, l->peer_port))
                continue;
            route_add(p, l->peer, here, l->port);
        }
    }
    g_array_unref(links);
}

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
