/* SPDX-License-Identifier: BSD-2-Clause */
/* The view: a whole domain as chunks of a snapshot, and what a snapshot takes away. */
#include "shard/view_private.h"

#include <string.h>

static Heddle__LeafNumbers *pack_leaf(const struct leaf_entry *leaf)
{
    Heddle__LeafNumbers *r = g_new0(Heddle__LeafNumbers, 1);
    heddle__leaf_numbers__init(r);
    r->leaf_guid = leaf->guid;
    r->ports = g_new0(uint32_t, 256);
    r->numbers = g_new0(uint32_t, 256);
    for (unsigned port = 0; port < 256; port++) {
        if (leaf->number[port] == RT_NONE)
            continue;
        r->ports[r->n_ports++] = port;
        r->numbers[r->n_numbers++] = leaf->number[port];
    }
    return r;
}

static void delta_add_numbers(Heddle__Delta *d, Heddle__LeafNumbers *r)
{
    d->numbers = g_renew(Heddle__LeafNumbers *, d->numbers, d->n_numbers + 1);
    d->numbers[d->n_numbers++] = r;
}

struct chunker {
    GPtrArray *chunks;
    Heddle__Delta *open;
    size_t bytes, max_bytes;
};

#define RECORD_OVERHEAD_BYTES 8u /* tag and length of an element of a repeated field */

/* The chunk that has room for one more record of this size. */
static Heddle__Delta *chunk_for(struct chunker *c, const void *record)
{
    size_t size = protobuf_c_message_get_packed_size(record) + RECORD_OVERHEAD_BYTES;
    if (c->open == NULL || (c->bytes > 0 && c->bytes + size > c->max_bytes)) {
        c->open = g_new0(Heddle__Delta, 1);
        heddle__delta__init(c->open);
        g_ptr_array_add(c->chunks, c->open);
        c->bytes = 0;
    }
    c->bytes += size;
    return c->open;
}

static gint compare_leaves(gconstpointer a, gconstpointer b)
{
    const struct leaf_entry *x = *(void *const *)a, *y = *(void *const *)b;
    return x->guid < y->guid ? -1 : x->guid > y->guid;
}

static GPtrArray *sorted_leaves(const struct view *v)
{
    GPtrArray *leaves = g_ptr_array_new();
    GHashTableIter i;
    gpointer p;
    g_hash_table_iter_init(&i, v->leaves);
    while (g_hash_table_iter_next(&i, NULL, &p))
        g_ptr_array_add(leaves, p);
    g_ptr_array_sort(leaves, compare_leaves);
    return leaves;
}

static void chunk_numbers(const struct view *v, struct chunker *c)
{
    GPtrArray *leaves = sorted_leaves(v);
    for (guint n = 0; n < leaves->len; n++) {
        Heddle__LeafNumbers *r = pack_leaf(g_ptr_array_index(leaves, n));
        if (r->n_ports > 0)
            delta_add_numbers(chunk_for(c, r), r);
        else
            heddle__leaf_numbers__free_unpacked(r, NULL);
    }
    g_ptr_array_free(leaves, TRUE);
}

static void free_delta(gpointer d)
{
    heddle__delta__free_unpacked(d, NULL);
}

GPtrArray *view_snapshot(const struct view *v, uint32_t domain, size_t max_bytes)
{
    struct chunker c = {.chunks = g_ptr_array_new_with_free_func(free_delta),
                        .max_bytes = max_bytes};
    const GPtrArray *all = view_switches(v);
    for (guint i = 0; i < all->len; i++) {
        struct switch_entry *s = g_ptr_array_index(all, i);
        if (view_switch_home(v, s) != domain)
            continue;
        Heddle__SwitchRecord *r = view_pack_switch(&s->s);
        view_delta_add_switch(chunk_for(&c, r), r);
    }
    all = view_end_ports(v);
    for (guint i = 0; i < all->len; i++) {
        struct end_port_entry *e = g_ptr_array_index(all, i);
        if (view_end_port_home(v, e) != domain)
            continue;
        Heddle__EndPortRecord *r = view_pack_end_port(&e->e);
        view_delta_add_end_port(chunk_for(&c, r), r);
    }
    if (domain == 0)
        chunk_numbers(v, &c);
    struct view_domain none = {.id = domain}, *d = view_domain(v, domain);
    Heddle__DomainState *state = view_pack_state(d != NULL ? d : &none);
    chunk_for(&c, state)->state = state;
    return c.chunks;
}

/* -- what a snapshot takes away -- */

static guint pair_hash(gconstpointer p)
{
    const struct view_key *k = p;
    return (guint)((k->guid * UINT64_C(0x9E3779B97F4A7C15)) >> 32) ^ k->num;
}

static gboolean pair_equal(gconstpointer a, gconstpointer b)
{
    const struct view_key *x = a, *y = b;
    return x->guid == y->guid && x->num == y->num;
}

static void pair_add(GHashTable *set, uint64_t guid, uint32_t num)
{
    struct view_key *k = g_new0(struct view_key, 1);
    k->guid = guid;
    k->num = num;
    g_hash_table_add(set, k);
}

static bool pair_has(GHashTable *set, uint64_t guid, uint32_t num)
{
    struct view_key k = {.guid = guid, .num = num};
    return g_hash_table_contains(set, &k);
}

struct content { /* keys of all records of a snapshot */
    GHashTable *switches, *end_ports, *numbers;
};

static void content_read(struct content *c, const GPtrArray *chunks)
{
    c->switches = g_hash_table_new_full(pair_hash, pair_equal, g_free, NULL);
    c->end_ports = g_hash_table_new_full(pair_hash, pair_equal, g_free, NULL);
    c->numbers = g_hash_table_new_full(pair_hash, pair_equal, g_free, NULL);
    for (guint i = 0; i < chunks->len; i++) {
        const Heddle__Delta *d = g_ptr_array_index(chunks, i);
        for (size_t j = 0; j < d->n_switches; j++)
            pair_add(c->switches, d->switches[j]->guid, 0);
        for (size_t j = 0; j < d->n_end_ports; j++)
            pair_add(c->end_ports, d->end_ports[j]->node_guid, d->end_ports[j]->num);
        for (size_t j = 0; j < d->n_numbers; j++)
            for (size_t k = 0; k < d->numbers[j]->n_ports; k++)
                pair_add(c->numbers, d->numbers[j]->leaf_guid, d->numbers[j]->ports[k]);
    }
}

static void content_clear(struct content *c)
{
    g_hash_table_destroy(c->switches);
    g_hash_table_destroy(c->end_ports);
    g_hash_table_destroy(c->numbers);
}

static void remove_switches(const struct view *v, uint32_t domain, const struct content *c,
                            Heddle__Delta *d)
{
    const GPtrArray *all = view_switches(v);
    for (guint i = 0; i < all->len; i++) {
        const struct switch_entry *s = g_ptr_array_index(all, i);
        if (view_switch_home(v, s) != domain || pair_has(c->switches, s->s.guid, 0))
            continue;
        d->removed_switches = g_renew(uint64_t, d->removed_switches, d->n_removed_switches + 1);
        d->removed_switches[d->n_removed_switches++] = s->s.guid;
    }
}

static void remove_end_ports(const struct view *v, uint32_t domain, const struct content *c,
                             Heddle__Delta *d)
{
    const GPtrArray *all = view_end_ports(v);
    for (guint i = 0; i < all->len; i++) {
        const struct end_port_entry *e = g_ptr_array_index(all, i);
        if (view_end_port_home(v, e) != domain || pair_has(c->end_ports, e->e.node_guid, e->e.num))
            continue;
        Heddle__EndPortRecord *r = g_new0(Heddle__EndPortRecord, 1);
        heddle__end_port_record__init(r);
        r->node_guid = e->e.node_guid;
        r->num = e->e.num;
        d->removed_end_ports =
            g_renew(Heddle__EndPortRecord *, d->removed_end_ports, d->n_removed_end_ports + 1);
        d->removed_end_ports[d->n_removed_end_ports++] = r;
    }
}

/* RT_NONE as a number takes it away. */
static void remove_numbers(const struct view *v, const struct content *c, Heddle__Delta *d)
{
    GPtrArray *leaves = sorted_leaves(v);
    for (guint i = 0; i < leaves->len; i++) {
        const struct leaf_entry *leaf = g_ptr_array_index(leaves, i);
        Heddle__LeafNumbers *r = pack_leaf(leaf);
        size_t kept = 0;
        for (size_t j = 0; j < r->n_ports; j++) {
            if (pair_has(c->numbers, leaf->guid, r->ports[j]))
                continue;
            r->ports[kept] = r->ports[j];
            r->numbers[kept++] = RT_NONE;
        }
        r->n_ports = r->n_numbers = kept;
        if (kept > 0)
            delta_add_numbers(d, r);
        else
            heddle__leaf_numbers__free_unpacked(r, NULL);
    }
    g_ptr_array_free(leaves, TRUE);
}

void view_snapshot_removals(const struct view *v, uint32_t domain, const GPtrArray *chunks,
                            Heddle__Delta *d)
{
    struct content c;
    content_read(&c, chunks);
    remove_switches(v, domain, &c, d);
    remove_end_ports(v, domain, &c, d);
    if (domain == 0)
        remove_numbers(v, &c, d);
    content_clear(&c);
}
