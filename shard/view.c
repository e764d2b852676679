/* SPDX-License-Identifier: BSD-2-Clause */
/* The view: containers, lookups, walks in a fixed order, and the assignment of switches. */
#include "shard/view_private.h"

#include <string.h>

/* -- keys and lists -- */

static guint key_hash(gconstpointer p)
{
    const struct view_key *k = p;
    uint64_t mixed = (k->guid ^ ((uint64_t)k->num << 56)) * UINT64_C(0x9E3779B97F4A7C15);
    return (guint)(mixed >> 32);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    const struct view_key *x = a, *y = b;
    return x->guid == y->guid && x->num == y->num;
}

static guint guid_hash(gconstpointer p)
{
    return (guint)((*(const uint64_t *)p * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static struct view_key *key_new(uint64_t guid, uint32_t num)
{
    struct view_key *k = g_new0(struct view_key, 1);
    k->guid = guid;
    k->num = num;
    return k;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static gint compare_end_ports(gconstpointer a, gconstpointer b)
{
    const struct view_end_port *x = a, *y = b;
    int order = compare_u64(x->node_guid, y->node_guid);
    return order != 0 ? order : (int)x->num - (int)y->num;
}

static gint compare_end_port_pointers(gconstpointer a, gconstpointer b)
{
    return compare_end_ports(*(void *const *)a, *(void *const *)b);
}

static gint compare_switch_pointers(gconstpointer a, gconstpointer b)
{
    const struct view_switch *x = *(void *const *)a, *y = *(void *const *)b;
    return compare_u64(x->guid, y->guid);
}

static void list_add(GHashTable *index, uint64_t guid, uint32_t num, struct end_port_entry *e)
{
    struct view_key key = {.guid = guid, .num = num};
    GSList *list = g_hash_table_lookup(index, &key);
    list = g_slist_insert_sorted(list, e, compare_end_ports);
    g_hash_table_insert(index, key_new(guid, num), list);
}

static void list_remove(GHashTable *index, uint64_t guid, uint32_t num, struct end_port_entry *e)
{
    struct view_key key = {.guid = guid, .num = num};
    GSList *list = g_slist_remove(g_hash_table_lookup(index, &key), e);
    if (list == NULL)
        g_hash_table_remove(index, &key);
    else
        g_hash_table_insert(index, key_new(guid, num), list);
}

static void free_lists(GHashTable *index)
{
    GHashTableIter i;
    gpointer list;
    g_hash_table_iter_init(&i, index);
    while (g_hash_table_iter_next(&i, NULL, &list))
        g_slist_free(list);
    g_hash_table_destroy(index);
}

static void free_switch(gpointer p)
{
    struct switch_entry *s = p;
    g_free(s->s.ports);
    g_free(s);
}

/* -- life -- */

struct view *view_create(void)
{
    struct view *v = g_new0(struct view, 1);
    v->switches = g_hash_table_new_full(guid_hash, g_int64_equal, NULL, free_switch);
    v->end_ports = g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
    v->by_port_guid = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
    v->by_cable = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
    v->domains = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    v->assigned = g_hash_table_new_full(guid_hash, g_int64_equal, g_free, NULL);
    v->leaves = g_hash_table_new_full(guid_hash, g_int64_equal, NULL, g_free);
    v->lids = g_new0(struct lid_slot, RT_MAX_LID + 1);
    v->sorted_switches = g_ptr_array_new();
    v->sorted_end_ports = g_ptr_array_new();
    return v;
}

void view_destroy(struct view *v)
{
    if (v == NULL)
        return;
    free_lists(v->by_port_guid);
    free_lists(v->by_cable);
    g_hash_table_destroy(v->switches);
    g_hash_table_destroy(v->end_ports);
    g_hash_table_destroy(v->domains);
    g_hash_table_destroy(v->assigned);
    g_hash_table_destroy(v->leaves);
    g_ptr_array_free(v->sorted_switches, TRUE);
    g_ptr_array_free(v->sorted_end_ports, TRUE);
    g_free(v->lids);
    g_free(v);
}

/* -- LIDs -- */

static uint64_t slot_guid(const struct lid_slot *slot)
{
    return slot->sw != NULL ? slot->sw->guid : slot->ep->port_guid;
}

static void claim(struct view *v, unsigned lid, unsigned lmc, struct view_switch *sw,
                  struct view_end_port *ep)
{
    uint64_t guid = sw != NULL ? sw->guid : ep->port_guid;
    for (unsigned i = lid; lid != 0 && i < lid + (1u << lmc) && i <= RT_MAX_LID; i++) {
        struct lid_slot *slot = &v->lids[i];
        bool empty = slot->sw == NULL && slot->ep == NULL;
        slot->claims++;
        if (!empty && slot_guid(slot) <= guid)
            continue;
        slot->sw = sw;
        slot->ep = ep;
    }
}

static void release(struct view *v, unsigned lid, unsigned lmc, const void *record)
{
    for (unsigned i = lid; lid != 0 && i < lid + (1u << lmc) && i <= RT_MAX_LID; i++) {
        struct lid_slot *slot = &v->lids[i];
        if (slot->claims > 0)
            slot->claims--;
        if ((const void *)slot->sw != record && (const void *)slot->ep != record)
            continue;
        slot->sw = NULL;
        slot->ep = NULL;
        if (slot->claims > 0)
            v->lids_stale = true;
    }
}

void view_claim_switch_lid(struct view *v, struct switch_entry *s)
{
    release(v, s->claimed_lid, s->claimed_lmc, s);
    s->claimed_lid = view_switch_lid(&s->s);
    s->claimed_lmc = s->claimed_lid != 0 ? (uint8_t)view_portinfo_lmc(s->s.ports[0].portinfo) : 0;
    claim(v, s->claimed_lid, s->claimed_lmc, &s->s, NULL);
}

void view_claim_end_port_lid(struct view *v, struct end_port_entry *e)
{
    release(v, e->claimed_lid, e->claimed_lmc, e);
    e->claimed_lid = e->e.lid;
    e->claimed_lmc = e->e.lmc;
    claim(v, e->claimed_lid, e->claimed_lmc, NULL, &e->e);
}

/* Only after a LID that two records claimed was let go by the one that had it. */
static void rebuild_lids(struct view *v)
{
    GHashTableIter i;
    gpointer p;
    memset(v->lids, 0, (RT_MAX_LID + 1) * sizeof *v->lids);
    g_hash_table_iter_init(&i, v->switches);
    while (g_hash_table_iter_next(&i, NULL, &p)) {
        struct switch_entry *s = p;
        claim(v, s->claimed_lid, s->claimed_lmc, &s->s, NULL);
    }
    g_hash_table_iter_init(&i, v->end_ports);
    while (g_hash_table_iter_next(&i, NULL, &p)) {
        struct end_port_entry *e = p;
        claim(v, e->claimed_lid, e->claimed_lmc, NULL, &e->e);
    }
    v->lids_stale = false;
}

uint16_t view_switch_lid(const struct view_switch *s)
{
    if (!s->ports[0].have_info)
        return 0;
    unsigned lid = view_portinfo_lid(s->ports[0].portinfo);
    return lid <= RT_MAX_LID ? (uint16_t)lid : 0;
}

bool view_by_lid(const struct view *v, uint16_t lid, struct view_switch **sw,
                 struct view_end_port **ep)
{
    if (v->lids_stale)
        rebuild_lids((struct view *)v);
    *sw = NULL;
    *ep = NULL;
    if (lid == 0 || lid > RT_MAX_LID)
        return false;
    *sw = v->lids[lid].sw;
    *ep = v->lids[lid].ep;
    return *sw != NULL || *ep != NULL;
}

/* -- entries -- */

struct switch_entry *view_put_switch(struct view *v, uint64_t guid, unsigned nports)
{
    struct switch_entry *s = g_hash_table_lookup(v->switches, &guid);
    if (s == NULL) {
        s = g_new0(struct switch_entry, 1);
        s->s.guid = guid;
        s->s.domain = view_domain_of_switch(v, guid);
        s->s.ports = g_new0(struct view_port, nports + 1);
        s->s.nports = (uint8_t)nports;
        g_hash_table_insert(v->switches, &s->s.guid, s);
        v->switches_stale = true;
    } else if (s->s.nports != nports) {
        s->s.ports = g_renew(struct view_port, s->s.ports, nports + 1);
        if (nports > s->s.nports)
            memset(&s->s.ports[s->s.nports + 1], 0, (nports - s->s.nports) * sizeof *s->s.ports);
        s->s.nports = (uint8_t)nports;
    }
    return s;
}

bool view_remove_switch(struct view *v, uint64_t guid)
{
    struct switch_entry *s = g_hash_table_lookup(v->switches, &guid);
    if (s == NULL)
        return false;
    release(v, s->claimed_lid, s->claimed_lmc, s);
    g_hash_table_remove(v->switches, &guid);
    v->switches_stale = true;
    return true;
}

void view_unindex_end_port(struct view *v, struct end_port_entry *e)
{
    list_remove(v->by_port_guid, e->indexed_port_guid, 0, e);
    list_remove(v->by_cable, e->indexed_switch, e->indexed_switch_port, e);
}

void view_index_end_port(struct view *v, struct end_port_entry *e)
{
    e->indexed_port_guid = e->e.port_guid;
    e->indexed_switch = e->e.switch_guid;
    e->indexed_switch_port = e->e.switch_port;
    list_add(v->by_port_guid, e->indexed_port_guid, 0, e);
    list_add(v->by_cable, e->indexed_switch, e->indexed_switch_port, e);
}

struct end_port_entry *view_put_end_port(struct view *v, uint64_t node_guid, unsigned num)
{
    struct view_key key = {.guid = node_guid, .num = num};
    struct end_port_entry *e = g_hash_table_lookup(v->end_ports, &key);
    if (e != NULL)
        return e;
    e = g_new0(struct end_port_entry, 1);
    e->e.node_guid = node_guid;
    e->e.num = (uint8_t)num;
    g_hash_table_insert(v->end_ports, key_new(node_guid, num), e);
    view_index_end_port(v, e);
    v->end_ports_stale = true;
    return e;
}

bool view_remove_end_port(struct view *v, uint64_t node_guid, unsigned num)
{
    struct view_key key = {.guid = node_guid, .num = num};
    struct end_port_entry *e = g_hash_table_lookup(v->end_ports, &key);
    if (e == NULL)
        return false;
    release(v, e->claimed_lid, e->claimed_lmc, e);
    view_unindex_end_port(v, e);
    g_hash_table_remove(v->end_ports, &key);
    v->end_ports_stale = true;
    return true;
}

struct view_domain *view_need_domain(struct view *v, uint32_t id)
{
    struct view_domain *d = g_hash_table_lookup(v->domains, GUINT_TO_POINTER(id));
    if (d == NULL) {
        d = g_new0(struct view_domain, 1);
        d->id = id;
        g_hash_table_insert(v->domains, GUINT_TO_POINTER(id), d);
    }
    return d;
}

uint32_t view_switch_home(const struct view *v, const struct switch_entry *s)
{
    return s->s.domain != VIEW_NO_DOMAIN ? s->s.domain : s->source;
}

uint32_t view_end_port_home(const struct view *v, const struct end_port_entry *e)
{
    uint32_t domain = view_domain_of_switch(v, e->e.switch_guid);
    return domain != VIEW_NO_DOMAIN ? domain : e->source;
}

/* -- reading -- */

struct view_switch *view_switch(const struct view *v, uint64_t guid)
{
    return g_hash_table_lookup(v->switches, &guid);
}

struct view_end_port *view_end_port(const struct view *v, uint64_t node_guid, unsigned num)
{
    struct view_key key = {.guid = node_guid, .num = num};
    return g_hash_table_lookup(v->end_ports, &key);
}

/* Of several claimants the present one, then the first by key. */
static struct view_end_port *best_of(GHashTable *index, uint64_t guid, uint32_t num)
{
    struct view_key key = {.guid = guid, .num = num};
    const GSList *list = g_hash_table_lookup(index, &key);
    for (const GSList *i = list; i != NULL; i = i->next)
        if (((struct view_end_port *)i->data)->present)
            return i->data;
    return list != NULL ? list->data : NULL;
}

struct view_end_port *view_end_port_by_guid(const struct view *v, uint64_t port_guid)
{
    return best_of(v->by_port_guid, port_guid, 0);
}

struct view_end_port *view_end_port_at(const struct view *v, uint64_t switch_guid, unsigned port)
{
    return best_of(v->by_cable, switch_guid, port);
}

struct view_domain *view_domain(const struct view *v, uint32_t id)
{
    return g_hash_table_lookup(v->domains, GUINT_TO_POINTER(id));
}

uint32_t view_domain_count(const struct view *v)
{
    return g_hash_table_size(v->domains);
}

static gint compare_ids(gconstpointer a, gconstpointer b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

GArray *view_domain_ids(const struct view *v)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    GHashTableIter i;
    gpointer p;
    g_hash_table_iter_init(&i, v->domains);
    while (g_hash_table_iter_next(&i, NULL, &p))
        g_array_append_val(ids, ((struct view_domain *)p)->id);
    g_array_sort(ids, compare_ids);
    return ids;
}

static void sort_values(GHashTable *table, GPtrArray *array, GCompareFunc compare)
{
    GHashTableIter i;
    gpointer p;
    g_ptr_array_set_size(array, 0);
    g_hash_table_iter_init(&i, table);
    while (g_hash_table_iter_next(&i, NULL, &p))
        g_ptr_array_add(array, p);
    g_ptr_array_sort(array, compare);
}

const GPtrArray *view_switches(const struct view *v)
{
    struct view *cache = (struct view *)v;
    if (v->switches_stale) {
        sort_values(v->switches, v->sorted_switches, compare_switch_pointers);
        cache->switches_stale = false;
    }
    return v->sorted_switches;
}

const GPtrArray *view_end_ports(const struct view *v)
{
    struct view *cache = (struct view *)v;
    if (v->end_ports_stale) {
        sort_values(v->end_ports, v->sorted_end_ports, compare_end_port_pointers);
        cache->end_ports_stale = false;
    }
    return v->sorted_end_ports;
}

GPtrArray *view_domain_switches(const struct view *v, uint32_t domain)
{
    const GPtrArray *all = view_switches(v);
    GPtrArray *some = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        struct view_switch *s = g_ptr_array_index(all, i);
        if (s->domain == domain)
            g_ptr_array_add(some, s);
    }
    return some;
}

GPtrArray *view_domain_end_ports(const struct view *v, uint32_t domain)
{
    const GPtrArray *all = view_end_ports(v);
    GPtrArray *some = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        struct view_end_port *e = g_ptr_array_index(all, i);
        if (view_domain_of_switch(v, e->switch_guid) == domain)
            g_ptr_array_add(some, e);
    }
    return some;
}

/* -- assignment -- */

uint32_t view_domain_of_switch(const struct view *v, uint64_t guid)
{
    gpointer domain;
    if (!g_hash_table_lookup_extended(v->assigned, &guid, NULL, &domain))
        return VIEW_NO_DOMAIN;
    return GPOINTER_TO_UINT(domain);
}

void view_assign(struct view *v, const Heddle__Assignment *a)
{
    g_hash_table_remove_all(v->assigned);
    for (size_t i = 0; i < a->n_domains; i++) {
        const Heddle__Domain *d = a->domains[i];
        view_need_domain(v, d->id);
        for (size_t j = 0; j < d->n_switches; j++)
            g_hash_table_insert(v->assigned, g_memdup2(&d->switches[j], sizeof(uint64_t)),
                                GUINT_TO_POINTER(d->id));
    }
    GHashTableIter i;
    gpointer p;
    g_hash_table_iter_init(&i, v->switches);
    while (g_hash_table_iter_next(&i, NULL, &p)) {
        struct view_switch *s = p;
        s->domain = view_domain_of_switch(v, s->guid);
    }
}

void view_set_position(struct view *v, uint32_t domain, uint64_t epoch, uint64_t seq)
{
    struct view_domain *d = view_need_domain(v, domain);
    d->epoch = epoch;
    d->seq = seq;
}
