/* SPDX-License-Identifier: BSD-2-Clause */
/* The builder of routing graphs: collects switches, links and destinations in any order, and lays
 * them out in the one order that all shards share. */
#include "routing/graph.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define MAX_LMC 7u /* IBA 14.2.5.6: three bits */

struct build_switch {
    uint64_t guid;
    uint16_t lid;
    uint8_t nports, lmc;
    uint64_t used[4]; /* one bit a port: it has a cable */
};

struct build_link { /* kept once a direction */
    uint64_t guid, peer_guid;
    uint8_t port, peer_port;
};

struct build_dest {
    uint64_t switch_guid;
    struct rt_dest dest;
};

struct build_number {
    uint64_t switch_guid;
    struct rt_kept_number kept;
};

struct rt_builder {
    GHashTable *index; /* GUID -> index into switches + 1 */
    GArray *switches, *links, *dests, *numbers;
};

struct rt_builder *rt_builder_create(void)
{
    struct rt_builder *b = g_new0(struct rt_builder, 1);
    b->index = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    b->switches = g_array_new(FALSE, FALSE, sizeof(struct build_switch));
    b->links = g_array_new(FALSE, FALSE, sizeof(struct build_link));
    b->dests = g_array_new(FALSE, FALSE, sizeof(struct build_dest));
    b->numbers = g_array_new(FALSE, FALSE, sizeof(struct build_number));
    return b;
}

void rt_builder_destroy(struct rt_builder *b)
{
    if (!b)
        return;
    g_hash_table_destroy(b->index);
    g_array_free(b->switches, TRUE);
    g_array_free(b->links, TRUE);
    g_array_free(b->dests, TRUE);
    g_array_free(b->numbers, TRUE);
    g_free(b);
}

static struct build_switch *find_switch(struct rt_builder *b, uint64_t guid)
{
    guint i = GPOINTER_TO_UINT(g_hash_table_lookup(b->index, &guid));
    return i ? &g_array_index(b->switches, struct build_switch, i - 1) : NULL;
}

/* The switch, when it is known and has such an external port. */
static struct build_switch *find_port(struct rt_builder *b, uint64_t guid, unsigned port)
{
    struct build_switch *s = find_switch(b, guid);
    return s && port >= 1 && port <= s->nports ? s : NULL;
}

static bool port_used(const struct build_switch *s, unsigned port)
{
    return s->used[port / 64] >> (port % 64) & 1;
}

static void use_port(struct build_switch *s, unsigned port)
{
    s->used[port / 64] |= UINT64_C(1) << (port % 64);
}

static bool lids_fit(unsigned lid, unsigned lmc)
{
    return lmc <= MAX_LMC && (lid == 0 || lid + (1u << lmc) - 1 <= RT_MAX_LID);
}

int rt_add_switch(struct rt_builder *b, uint64_t guid, unsigned nports, uint16_t lid, unsigned lmc)
{
    if (guid == 0 || nports == 0 || nports > 254)
        return EINVAL;
    if (!lids_fit(lid, lmc))
        return ERANGE;
    if (find_switch(b, guid))
        return EEXIST;
    struct build_switch s = {.guid = guid, .nports = nports, .lid = lid, .lmc = lmc};
    g_array_append_val(b->switches, s);
    uint64_t *key = g_new(uint64_t, 1);
    *key = guid;
    g_hash_table_insert(b->index, key, GUINT_TO_POINTER(b->switches->len));
    return 0;
}

int rt_add_link(struct rt_builder *b, uint64_t guid_a, unsigned port_a, uint64_t guid_b,
                unsigned port_b)
{
    struct build_switch *sa = find_port(b, guid_a, port_a), *sb = find_port(b, guid_b, port_b);
    if (!sa || !sb)
        return EINVAL;
    if (port_used(sa, port_a) || port_used(sb, port_b))
        return EEXIST;
    use_port(sa, port_a);
    use_port(sb, port_b);
    if (sa == sb)
        return 0;
    struct build_link there = {guid_a, guid_b, port_a, port_b};
    struct build_link back = {guid_b, guid_a, port_b, port_a};
    g_array_append_val(b->links, there);
    g_array_append_val(b->links, back);
    return 0;
}

int rt_add_dest(struct rt_builder *b, uint64_t switch_guid, unsigned switch_port,
                uint64_t port_guid, uint16_t lid, unsigned lmc, enum rt_dest_kind kind,
                bool present)
{
    struct build_switch *s = find_port(b, switch_guid, switch_port);
    if (!s || port_guid == 0 || kind < RT_DEST_HOST || kind > RT_DEST_ROUTER)
        return EINVAL;
    if (!lids_fit(lid, lmc))
        return ERANGE;
    if (port_used(s, switch_port))
        return EEXIST;
    use_port(s, switch_port);
    struct build_dest d = {.switch_guid = switch_guid,
                           .dest = {.port_guid = port_guid,
                                    .number = RT_NONE,
                                    .lid = lid,
                                    .port = switch_port,
                                    .lmc = lmc,
                                    .kind = kind,
                                    .present = present}};
    g_array_append_val(b->dests, d);
    return 0;
}

int rt_add_number(struct rt_builder *b, uint64_t leaf_guid, unsigned port, uint32_t number)
{
    if (!find_port(b, leaf_guid, port))
        return EINVAL;
    if (number >= RT_MAX_NUMBER)
        return ERANGE;
    struct build_number n = {.switch_guid = leaf_guid, .kept = {.number = number, .port = port}};
    g_array_append_val(b->numbers, n);
    return 0;
}

/* -- laying out ----------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static gint by_guid(gconstpointer a, gconstpointer b)
{
    return compare_u64(((const struct build_switch *)a)->guid,
                       ((const struct build_switch *)b)->guid);
}

static gint by_ends(gconstpointer a, gconstpointer b)
{
    const struct build_link *x = a, *y = b;
    int c = compare_u64(x->guid, y->guid);
    if (c == 0)
        c = compare_u64(x->peer_guid, y->peer_guid);
    return c ? c : x->port - y->port;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    const struct build_dest *x = a, *y = b;
    int c = compare_u64(x->switch_guid, y->switch_guid);
    return c ? c : x->dest.port - y->dest.port;
}

/* Numbers of one port given twice: the greatest wins, whatever the order of insertion. */
static gint by_leaf_port(gconstpointer a, gconstpointer b)
{
    const struct build_number *x = a, *y = b;
    int c = compare_u64(x->switch_guid, y->switch_guid);
    if (c == 0)
        c = x->kept.port - y->kept.port;
    return c ? c : compare_u64(x->kept.number, y->kept.number);
}

static void lay_switches(struct rt_builder *b, struct rt_graph *g)
{
    g->switch_count = b->switches->len;
    g->switches = g_new0(struct rt_switch, g->switch_count + 1);
    for (uint32_t i = 0; i < g->switch_count; i++) {
        const struct build_switch *s = &g_array_index(b->switches, struct build_switch, i);
        g->switches[i].guid = s->guid;
        g->switches[i].nports = s->nports;
    }
}

static void lay_links(struct rt_builder *b, struct rt_graph *g)
{
    g->link_count = b->links->len;
    g->links = g_new0(struct rt_link, g->link_count + 1);
    g->groups = g_new0(struct rt_group, g->link_count + 1);
    uint32_t sw = RT_NONE, peer = RT_NONE;
    for (uint32_t i = 0; i < g->link_count; i++) {
        const struct build_link *l = &g_array_index(b->links, struct build_link, i);
        bool other = i == 0 || l->guid != l[-1].guid;
        if (other)
            sw = rt_find_switch(g, l->guid);
        if (other || l->peer_guid != l[-1].peer_guid) {
            peer = rt_find_switch(g, l->peer_guid);
            g->groups[g->group_count++] = (struct rt_group){.peer = peer, .first_link = i};
            g->switches[sw].group_count++;
        }
        g->groups[g->group_count - 1].link_count++;
        g->links[i] = (struct rt_link){.peer = peer, .port = l->port, .peer_port = l->peer_port};
    }
    uint32_t first = 0;
    for (sw = 0; sw < g->switch_count; sw++) {
        g->switches[sw].first_group = first;
        first += g->switches[sw].group_count;
    }
}

static void lay_dests(struct rt_builder *b, struct rt_graph *g)
{
    g->dests = g_new0(struct rt_dest, b->dests->len + g->switch_count + 1);
    for (uint32_t sw = 0, i = 0; sw < g->switch_count; sw++) {
        const struct build_switch *s = &g_array_index(b->switches, struct build_switch, sw);
        g->switches[sw].first_dest = g->dest_count;
        g->dests[g->dest_count++] = (struct rt_dest){.port_guid = s->guid,
                                                     .sw = sw,
                                                     .number = RT_NONE,
                                                     .lid = s->lid,
                                                     .lmc = s->lmc,
                                                     .kind = RT_DEST_SWITCH,
                                                     .present = true};
        for (; i < b->dests->len; i++) {
            const struct build_dest *d = &g_array_index(b->dests, struct build_dest, i);
            if (d->switch_guid != s->guid)
                break;
            g->dests[g->dest_count] = d->dest;
            g->dests[g->dest_count++].sw = sw;
        }
        g->switches[sw].dest_count = g->dest_count - g->switches[sw].first_dest;
    }
}

static struct rt_dest *dest_at(struct rt_graph *g, uint32_t sw, unsigned port)
{
    const struct rt_switch *s = &g->switches[sw];
    for (uint32_t i = 0; i < s->dest_count; i++)
        if (g->dests[s->first_dest + i].port == port)
            return &g->dests[s->first_dest + i];
    return NULL;
}

static void lay_numbers(struct rt_builder *b, struct rt_graph *g)
{
    g->kept = g_new0(struct rt_kept_number, b->numbers->len + 1);
    for (guint i = 0; i < b->numbers->len; i++) {
        const struct build_number *n = &g_array_index(b->numbers, struct build_number, i);
        if (i + 1 < b->numbers->len && n->switch_guid == n[1].switch_guid &&
            n->kept.port == n[1].kept.port)
            continue;
        uint32_t sw = rt_find_switch(g, n->switch_guid);
        struct rt_dest *d = dest_at(g, sw, n->kept.port);
        if (d) {
            d->number = n->kept.number;
        } else {
            g->kept[g->kept_count] = n->kept;
            g->kept[g->kept_count++].sw = sw;
        }
    }
}

static gint compare_lids(gconstpointer a, gconstpointer b, gpointer graph)
{
    const struct rt_graph *g = graph;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int c = (int)g->dests[i].lid - (int)g->dests[j].lid;
    return c ? c : (i > j) - (i < j);
}

static gint compare_port_guids(gconstpointer a, gconstpointer b, gpointer graph)
{
    const struct rt_graph *g = graph;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int c = compare_u64(g->dests[i].port_guid, g->dests[j].port_guid);
    return c ? c : (i > j) - (i < j);
}

/* Returns the LID that two destinations claim, or 0. */
static uint16_t index_dests(struct rt_graph *g)
{
    g->by_lid = g_new(uint32_t, g->dest_count + 1);
    g->by_guid = g_new(uint32_t, g->dest_count + 1);
    for (uint32_t i = 0; i < g->dest_count; i++) {
        g->by_guid[i] = i;
        if (g->dests[i].lid)
            g->by_lid[g->by_lid_count++] = i;
    }
    g_qsort_with_data(g->by_guid, g->dest_count, sizeof(uint32_t), compare_port_guids, g);
    g_qsort_with_data(g->by_lid, g->by_lid_count, sizeof(uint32_t), compare_lids, g);
    for (uint32_t i = 0; i < g->by_lid_count; i++) {
        const struct rt_dest *d = &g->dests[g->by_lid[i]];
        if (d->lid <= g->max_lid)
            return d->lid;
        g->max_lid = d->lid + (1u << d->lmc) - 1;
    }
    return 0;
}

int rt_builder_finish(struct rt_builder *b, struct rt_graph **graph, uint16_t *duplicate_lid)
{
    g_array_sort(b->switches, by_guid);
    g_array_sort(b->links, by_ends);
    g_array_sort(b->dests, by_place);
    g_array_sort(b->numbers, by_leaf_port);
    struct rt_graph *g = g_new0(struct rt_graph, 1);
    g->refs = 1;
    lay_switches(b, g);
    lay_links(b, g);
    lay_dests(b, g);
    lay_numbers(b, g);
    rt_builder_destroy(b);
    uint16_t duplicate = index_dests(g);
    if (duplicate) {
        if (duplicate_lid)
            *duplicate_lid = duplicate;
        rt_graph_unref(g);
        return EEXIST;
    }
    *graph = g;
    return 0;
}

struct rt_graph *rt_graph_ref(struct rt_graph *g)
{
    g_atomic_int_inc(&g->refs);
    return g;
}

void rt_graph_unref(struct rt_graph *g)
{
    if (!g || !g_atomic_int_dec_and_test(&g->refs))
        return;
    g_free(g->switches);
    g_free(g->groups);
    g_free(g->links);
    g_free(g->dests);
    g_free(g->kept);
    g_free(g->by_lid);
    g_free(g->by_guid);
    g_free(g);
}
