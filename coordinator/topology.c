/* SPDX-License-Identifier: BSD-2-Clause */
/* The graph of switches as shards report it; the cut into domains; switches that came later. */
#include <string.h>

#include "coordinator/internal.h"
#include "coordinator/partition.h"

#define MAX_PORTS 254u /* IBA 14.2.5.3: NumPorts */

bool coord_topology_ready(const struct coord_core *c, uint64_t since_ms)
{
    uint32_t live = 0;
    for (guint i = 0; i < c->peers->len; i++)
        live += coord_peer_usable(c, g_ptr_array_index(c->peers, i));
    return (live > 0 && live >= c->config.expected_shards) ||
           (since_ms && c->now_ms >= since_ms + c->config.expected_timeout_ms);
}

/* -- which domain has which switch ------------------------------------------------------------- */

static void index_switch(struct coord_core *c, uint64_t guid, uint32_t id)
{
    g_hash_table_insert(c->switch_domain, g_memdup2(&guid, sizeof guid), GUINT_TO_POINTER(id + 1));
}

void coord_topology_index(struct coord_core *c)
{
    g_hash_table_remove_all(c->switch_domain);
    for (size_t i = 0; i < c->work->n_domains; i++)
        for (size_t j = 0; j < c->work->domains[i]->n_switches; j++)
            index_switch(c, c->work->domains[i]->switches[j], c->work->domains[i]->id);
}

static Heddle__Domain *domain_of(const struct coord_core *c, uint64_t guid)
{
    guint id = GPOINTER_TO_UINT(g_hash_table_lookup(c->switch_domain, &guid));
    return id ? assignment_domain(c->work, id - 1) : NULL;
}

static int compare_switches(const void *a, const void *b)
{
    const Heddle__TopologySwitch *const *x = a, *const *y = b;
    return record_compare_u64(&(*x)->guid, &(*y)->guid);
}

/* The graph by GUID; the switches stay the table's. */
static GPtrArray *sorted_graph(const struct coord_core *c)
{
    GPtrArray *list = g_ptr_array_new();
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, c->graph); /* sorted below */
    while (g_hash_table_iter_next(&it, NULL, &value))
        g_ptr_array_add(list, value);
    g_ptr_array_sort(list, compare_switches);
    return list;
}

static void count_nodes(struct coord_core *c, const GPtrArray *graph)
{
    for (size_t i = 0; i < c->work->n_domains; i++)
        coord_domain_run(c, c->work->domains[i]->id)->graph_nodes = 0;
    for (guint i = 0; i < graph->len; i++) {
        const Heddle__TopologySwitch *s = g_ptr_array_index(graph, i);
        guint id = GPOINTER_TO_UINT(g_hash_table_lookup(c->switch_domain, &s->guid));
        if (id)
            coord_domain_run(c, id - 1)->graph_nodes += 1 + s->hosts;
    }
}

/* -- domains of the configuration ----------------------------------------------------------------
 */

static bool rule_takes(const struct coord_domain_rule *r, uint64_t guid)
{
    for (guint i = 0; i < r->switches->len; i++)
        if (g_array_index(r->switches, uint64_t, i) == guid)
            return true;
    for (guint i = 0; i + 1 < r->ranges->len; i += 2)
        if (guid >= g_array_index(r->ranges, uint64_t, i) &&
            guid <= g_array_index(r->ranges, uint64_t, i + 1))
            return true;
    return false;
}

void coord_topology_rules(struct coord_core *c)
{
    for (guint i = 0; !c->config.auto_domains && i < c->config.rules->len; i++) {
        const struct coord_domain_rule *r =
            &g_array_index(c->config.rules, struct coord_domain_rule, i);
        Heddle__Domain *d = assignment_domain_named(c->work, r->name);
        if (d == NULL) {
            d = assignment_add_domain(c->work, assignment_next_domain(c->work), r->name);
            coord_pools_fit(c, d, r->switches->len, true);
            coord_dirty(c);
        }
        for (guint j = 0; j < r->switches->len; j++) {
            uint64_t guid = g_array_index(r->switches, uint64_t, j);
            const Heddle__Domain *has = domain_of(c, guid);
            if (has == NULL && domain_add_switch(d, guid)) {
                index_switch(c, guid, d->id);
                coord_dirty(c);
            } else if (has && has != d) {
                coord_log(c, HL_WARNING, "switch_elsewhere",
                          "guid=0x%016" PRIx64 " domain=%s wanted=%s msg=\"the ledger "
                          "keeps it where it is\"",
                          guid, has->name, d->name);
            }
        }
    }
    if (!c->config.auto_domains && c->work->auto_partition) {
        c->work->auto_partition = false;
        coord_dirty(c);
    }
}

/* -- switches that came later --------------------------------------------------------------------
 */

/* The domain with most links to it, lowest id on ties, among those with room; NULL: none. *linked
 * tells whether any domain is joined to it. */
static Heddle__Domain *nearest_domain(const struct coord_core *c, const Heddle__TopologySwitch *s,
                                      bool *linked)
{
    Heddle__Domain *best = NULL;
    size_t best_links = 0;
    *linked = false;
    for (size_t i = 0; i < c->work->n_domains; i++) {
        Heddle__Domain *d = c->work->domains[i];
        size_t links = 0;
        for (size_t j = 0; j < s->n_neighbours; j++)
            links += domain_of(c, s->neighbours[j]) == d;
        *linked = *linked || links;
        if (links > best_links &&
            coord_domain_nodes(c, d) + 1 + s->hosts <= c->config.domain_max_nodes) {
            best = d;
            best_links = links;
        }
    }
    return best;
}

static Heddle__Domain *domain_by_rules(const struct coord_core *c, uint64_t guid)
{
    for (guint i = 0; i < c->config.rules->len; i++) {
        const struct coord_domain_rule *r =
            &g_array_index(c->config.rules, struct coord_domain_rule, i);
        if (rule_takes(r, guid))
            return assignment_domain_named(c->work, r->name);
    }
    return NULL;
}

static Heddle__Domain *home_of(struct coord_core *c, const Heddle__TopologySwitch *s)
{
    if (!c->config.auto_domains)
        return domain_by_rules(c, s->guid);
    bool linked;
    Heddle__Domain *d = nearest_domain(c, s, &linked);
    if (d || !linked)
        return d;
    uint32_t id = assignment_next_domain(c->work);
    g_autofree char *name = g_strdup_printf("auto-%u", id);
    return assignment_add_domain(c->work, id, name);
}

static void adopt_switch(struct coord_core *c, Heddle__Domain *d, const Heddle__TopologySwitch *s)
{
    domain_add_switch(d, s->guid);
    index_switch(c, s->guid, d->id);
    struct coord_domain_run *r = coord_domain_run(c, d->id);
    r->graph_nodes += 1 + s->hosts;
    coord_pools_fit(
        c, d, MAX((uint32_t)d->n_switches, r->graph_nodes) + (s->hosts << coord_lmc(c)) - s->hosts,
        true);
    coord_dirty(c);
}

static void assign_new(struct coord_core *c, const GPtrArray *graph)
{
    uint32_t left = 0, before = UINT32_MAX;
    uint64_t first = 0;
    g_autoptr(GPtrArray) fresh = g_ptr_array_new();
    for (guint i = 0; i < graph->len; i++) {
        const Heddle__TopologySwitch *s = g_ptr_array_index(graph, i);
        if (g_hash_table_lookup(c->switch_domain, &s->guid) == NULL)
            g_ptr_array_add(fresh, (void *)s);
    }
    /* A switch behind another new one finds a domain once that one has its own. */
    while (left != before) {
        before = left ? left : UINT32_MAX;
        left = 0;
        first = 0;
        for (guint i = 0; i < fresh->len; i++) {
            const Heddle__TopologySwitch *s = g_ptr_array_index(fresh, i);
            if (g_hash_table_lookup(c->switch_domain, &s->guid))
                continue;
            Heddle__Domain *d = home_of(c, s);
            if (d)
                adopt_switch(c, d, s);
            else if (left++ == 0)
                first = s->guid;
        }
        if (left == 0)
            break;
    }
    if (left != c->unassigned && left)
        coord_log(c, HL_WARNING, "switches_unassigned",
                  "count=%u first=0x%016" PRIx64 " msg=\"no domain takes them; nothing "
                  "is written to them\"",
                  left, first);
    c->unassigned = left;
}

/* -- messages ------------------------------------------------------------------------------------
 */

static bool well_formed(const Heddle__TopologySwitch *s)
{
    return s->guid && s->nports <= MAX_PORTS && s->hosts <= MAX_PORTS &&
           s->n_neighbours <= MAX_PORTS && s->n_ports == s->n_neighbours &&
           s->n_peer_ports == s->n_neighbours;
}

static void merge(struct coord_core *c, const struct coord_peer *p, const Heddle__Topology *t)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < t->n_switches; i++) {
        bool known = g_hash_table_contains(c->graph, &t->switches[i]->guid);
        if (!well_formed(t->switches[i]) ||
            (!known && g_hash_table_size(c->graph) >= COORD_MAX_SWITCHES)) {
            bad++;
            continue;
        }
        Heddle__TopologySwitch *copy = record_copy(t->switches[i]);
        g_hash_table_replace(c->graph, &copy->guid, copy);
    }
    if (bad)
        coord_log(c, HL_WARNING, "topology_rejected",
                  "peer=%s switches=%u msg=\"malformed or too many\"", p->name, bad);
}

void coord_topology_message(struct coord_core *c, struct coord_peer *p, const struct envelope *e)
{
    const Heddle__Topology *t = (const Heddle__Topology *)e->body;
    const Heddle__Member *m = assignment_member(c->work, p->name);
    if (m->state != HEDDLE__MEMBER_STATE__MEMBER_LIVE || m->boot_id != e->boot_id)
        return;
    const Heddle__Domain *zero = assignment_domain(c->durable, 0);
    if (t->complete && zero && strcmp(zero->owner, p->name) == 0) {
        if (c->work->auto_partition)
            g_hash_table_remove_all(c->graph);
        c->graph_complete = t->n_switches > 0;
        if (c->first_topology_ms == 0)
            c->first_topology_ms = c->now_ms;
    }
    merge(c, p, t);
    coord_pools_found(c, t->lids, t->n_lids);
    if (c->work->auto_partition)
        return; /* coord_topology_tick cuts */
    g_autoptr(GPtrArray) graph = sorted_graph(c);
    count_nodes(c, graph);
    assign_new(c, graph);
}

/* -- the cut -------------------------------------------------------------------------------------
 */

static uint32_t shards_to_cut_for(const struct coord_core *c)
{
    uint32_t shards = 0, standbys = 0;
    for (guint i = 0; i < c->peers->len; i++) {
        const struct coord_peer *p = g_ptr_array_index(c->peers, i);
        if (!coord_peer_usable(c, p))
            continue;
        if (assignment_member(c->work, p->name)->standby)
            standbys++;
        else
            shards++;
    }
    return shards ? shards : standbys;
}

/* Room to grow by a quarter where the LIDs of the subnet allow it for all domains. */
static void give_pools(struct coord_core *c, const uint32_t *lids, uint32_t parts, uint32_t first)
{
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < parts; i++)
        wanted += (uint64_t)lids[i] + lids[i] / 4 + 64;
    bool growth = wanted <= coord_pools_free(c);
    for (uint32_t i = 0; i < parts; i++)
        if (!coord_pools_fit(c, assignment_domain(c->work, first + i), lids[i], growth))
            coord_log(c, HL_ERROR, "out_of_lids",
                      "domain=%u lids=%u msg=\"the subnet has more ports than LIDs; lower lmc\"",
                      first + i, lids[i]);
}

static void cut(struct coord_core *c)
{
    g_autoptr(GPtrArray) graph = sorted_graph(c);
    g_autofree uint32_t *part = g_new0(uint32_t, graph->len + 1);
    uint32_t wanted = shards_to_cut_for(c) * c->config.domains_per_shard;
    uint32_t parts = partition_cut((Heddle__TopologySwitch *const *)graph->pdata, graph->len,
                                   wanted, c->config.domain_max_nodes, part);
    if (parts == 0)
        return;
    uint32_t first = assignment_next_domain(c->work);
    for (uint32_t i = 0; i < parts; i++) {
        g_autofree char *name = g_strdup_printf("auto-%u", first + i);
        assignment_add_domain(c->work, first + i, name);
    }
    g_autofree uint32_t *lids = g_new0(uint32_t, parts);
    for (guint i = 0; i < graph->len; i++) { /* by GUID, so that each list comes out sorted */
        const Heddle__TopologySwitch *s = g_ptr_array_index(graph, i);
        domain_add_switch(assignment_domain(c->work, first + part[i]), s->guid);
        index_switch(c, s->guid, first + part[i]);
        lids[part[i]] += 1 + (s->hosts << coord_lmc(c));
    }
    give_pools(c, lids, parts, first);
    count_nodes(c, graph);
    c->work->auto_partition = false;
    c->hints_due = true;
    coord_log(c, HL_NOTICE, "domains_cut", "domains=%u switches=%u shards=%u", parts, graph->len,
              shards_to_cut_for(c));
    coord_dirty(c);
}

void coord_topology_tick(struct coord_core *c)
{
    if (c->work->auto_partition && c->graph_complete && shards_to_cut_for(c) > 0 &&
        coord_topology_ready(c, c->first_topology_ms))
        cut(c);
}

uint64_t coord_topology_deadline(const struct coord_core *c)
{
    uint64_t timeout = c->config.expected_timeout_ms, at = UINT64_MAX;
    if (c->first_topology_ms && c->work->auto_partition)
        at = c->first_topology_ms + timeout;
    if (c->first_join_ms && !c->config.auto_domains)
        at = MIN(at, c->first_join_ms + timeout);
    return at > c->last_timers_ms ? at : UINT64_MAX; /* it is past: done */
}
