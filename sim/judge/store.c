/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks by content. Each level has a pool of its own: equal bytes mean other things there. */
#include "sim/judge/store.h"

#include <glib.h>
#include <string.h>

#define SLAB_BLOCKS 1024u

struct block {
    union { /* first: a block's address is that of its content, the hash table's key */
        uint8_t bytes[JUDGE_BLOCK_BYTES];
        uint32_t ids[JUDGE_FANOUT];
    };
    uint32_t refs;
    uint32_t id; /* of a free block: the next free one */
};

struct pool {
    GPtrArray *slabs;
    GHashTable *by_content;
    uint32_t used; /* ids given out so far: 1..used */
    uint32_t free; /* 0 = none */
    size_t live;
};

struct judge_store {
    struct pool levels[JUDGE_LEVELS]; /* 0 = leaves */
};

static guint hash_block(gconstpointer key)
{
    uint64_t h = 0x9e3779b97f4a7c15u, word;
    for (unsigned i = 0; i < JUDGE_BLOCK_BYTES; i += sizeof(word)) {
        memcpy(&word, (const uint8_t *)key + i, sizeof(word));
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return (guint)h;
}

static gboolean same_block(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, JUDGE_BLOCK_BYTES) == 0;
}

static void pool_init(struct pool *p)
{
    p->slabs = g_ptr_array_new_with_free_func(g_free);
    p->by_content = g_hash_table_new(hash_block, same_block);
}

static void pool_clear(struct pool *p)
{
    g_hash_table_destroy(p->by_content);
    g_ptr_array_free(p->slabs, TRUE);
}

static struct block *get(const struct pool *p, uint32_t id)
{
    struct block *slab = g_ptr_array_index(p->slabs, (id - 1) / SLAB_BLOCKS);
    return &slab[(id - 1) % SLAB_BLOCKS];
}

static struct block *take_free(struct pool *p)
{
    if (p->free != 0) {
        struct block *b = get(p, p->free);
        uint32_t id = p->free;
        p->free = b->id;
        b->id = id;
        return b;
    }
    if (p->used == p->slabs->len * SLAB_BLOCKS)
        g_ptr_array_add(p->slabs, g_new(struct block, SLAB_BLOCKS));
    struct block *b = get(p, ++p->used);
    b->id = p->used;
    return b;
}

/* *known: it was there already. */
static uint32_t intern(struct pool *p, const void *content, bool *known)
{
    struct block *b = g_hash_table_lookup(p->by_content, content);
    *known = b != NULL;
    if (b == NULL) {
        b = take_free(p);
        memcpy(b->bytes, content, JUDGE_BLOCK_BYTES);
        b->refs = 0;
        g_hash_table_add(p->by_content, b);
        p->live++;
    }
    b->refs++;
    return b->id;
}

/* Returns whether that was the last reference; the content stays readable until the next intern. */
static bool release(struct pool *p, uint32_t id)
{
    struct block *b = get(p, id);
    if (--b->refs > 0)
        return false;
    g_hash_table_remove(p->by_content, b);
    b->id = p->free;
    p->free = id;
    p->live--;
    return true;
}

struct judge_store *judge_store_create(void)
{
    struct judge_store *t = g_new0(struct judge_store, 1);
    for (unsigned i = 0; i < JUDGE_LEVELS; i++)
        pool_init(&t->levels[i]);
    return t;
}

void judge_store_destroy(struct judge_store *t)
{
    for (unsigned i = 0; t != NULL && i < JUDGE_LEVELS; i++)
        pool_clear(&t->levels[i]);
    g_free(t);
}

size_t judge_store_blocks(const struct judge_store *t)
{
    size_t live = 0;
    for (unsigned i = 0; i < JUDGE_LEVELS; i++)
        live += t->levels[i].live;
    return live;
}

static unsigned depth_of(unsigned leaves)
{
    unsigned depth = 0;
    for (unsigned width = 1; width < leaves; width *= JUDGE_FANOUT)
        depth++;
    return depth;
}

static unsigned width_of(unsigned depth)
{
    return 1u << (4 * depth);
}

/* -- trees ------------------------------------------------------------------------------------- */

static void release_tree(struct judge_store *t, uint32_t id, unsigned depth)
{
    if (id == 0 || !release(&t->levels[depth], id) || depth == 0)
        return;
    const struct block *b = get(&t->levels[depth], id);
    for (unsigned i = 0; i < JUDGE_FANOUT; i++)
        release_tree(t, b->ids[i], depth - 1);
}

/* Takes over the references to the 16. */
static uint32_t inner(struct judge_store *t, const uint32_t ids[JUDGE_FANOUT], unsigned depth)
{
    static const uint32_t none[JUDGE_FANOUT];
    if (memcmp(ids, none, sizeof(none)) == 0)
        return 0;
    bool known;
    uint32_t id = intern(&t->levels[depth], ids, &known);
    for (unsigned i = 0; known && i < JUDGE_FANOUT; i++)
        release_tree(t, ids[i], depth - 1);
    return id;
}

struct build {
    struct judge_store *t;
    unsigned leaves;
    judge_leaf_fn *leaf;
    void *arg;
};

static uint32_t build(struct build *b, unsigned depth, unsigned first)
{
    if (first >= b->leaves)
        return 0;
    if (depth == 0) {
        uint8_t bytes[JUDGE_BLOCK_BYTES];
        bool known;
        return b->leaf(b->arg, first, bytes) ? intern(&b->t->levels[0], bytes, &known) : 0;
    }
    uint32_t ids[JUDGE_FANOUT];
    for (unsigned i = 0; i < JUDGE_FANOUT; i++)
        ids[i] = build(b, depth - 1, first + i * width_of(depth - 1));
    return inner(b->t, ids, depth);
}

uint32_t judge_store_tree(struct judge_store *t, unsigned leaves, judge_leaf_fn *leaf, void *arg)
{
    g_assert(leaves <= JUDGE_MAX_LEAVES);
    struct build b = {.t = t, .leaves = leaves, .leaf = leaf, .arg = arg};
    return build(&b, depth_of(leaves), 0);
}

void judge_store_release(struct judge_store *t, uint32_t id, unsigned leaves)
{
    release_tree(t, id, depth_of(leaves));
}

struct diff {
    const struct judge_store *t;
    judge_differ_fn *differ;
    void *arg;
};

static void diff(const struct diff *d, uint32_t a, uint32_t b, unsigned depth, unsigned first)
{
    if (a == b)
        return;
    const struct pool *p = &d->t->levels[depth];
    const struct block *x = a != 0 ? get(p, a) : NULL, *y = b != 0 ? get(p, b) : NULL;
    if (depth == 0) {
        d->differ(d->arg, first, x != NULL ? x->bytes : NULL, y != NULL ? y->bytes : NULL);
        return;
    }
    for (unsigned i = 0; i < JUDGE_FANOUT; i++)
        diff(d, x != NULL ? x->ids[i] : 0, y != NULL ? y->ids[i] : 0, depth - 1,
             first + i * width_of(depth - 1));
}

void judge_store_diff(const struct judge_store *t, uint32_t a, uint32_t b, unsigned leaves,
                      judge_differ_fn *differ, void *arg)
{
    struct diff d = {.t = t, .differ = differ, .arg = arg};
    diff(&d, a, b, depth_of(leaves), 0);
}
