/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots: what managers wrote, as trees of blocks that are kept once. */
#include "sim/judge/snapshot.h"

#include <string.h>

struct source {
    struct sim *s;
    uint32_t node;
};

static unsigned blocks(unsigned entries, unsigned a_block)
{
    return (entries + a_block - 1) / a_block;
}

unsigned judge_pkey_leaves(const struct sim *s, uint32_t node)
{
    const struct sim_node *n = &s->nodes[node];
    unsigned most = sim_pkey_capacity(s, node, n->sw ? 0 : 1);
    if (n->sw)
        most = MAX(most, sim_pkey_capacity(s, node, 1));
    return MIN(MAX(blocks(most, SIM_PKEY_BLOCK), 1), JUDGE_MAX_LEAVES / 256);
}

unsigned judge_sl2vl_leaves(const struct sim *s, uint32_t node)
{
    const struct sim_node *n = &s->nodes[node];
    return n->sw ? blocks(n->nports + 1u, JUDGE_BLOCK_BYTES / JUDGE_SL2VL_BYTES) : 1;
}

unsigned judge_leaves(const struct sim *s, uint32_t node, enum judge_part part)
{
    const struct sim_node *n = &s->nodes[node];
    unsigned ports = n->nports + 1u;
    switch (part) {
    case JUDGE_PORTS:
        return blocks(ports, JUDGE_PORTS_A_LEAF);
    case JUDGE_PKEYS:
        return ports * judge_pkey_leaves(s, node);
    case JUDGE_SL2VL:
        return ports * judge_sl2vl_leaves(s, node);
    case JUDGE_VLARB:
        return ports * JUDGE_VLARB_BLOCKS;
    case JUDGE_LFT:
        return n->sw ? SIM_LFT_BLOCKS : 0;
    case JUDGE_MFT:
        return n->sw ? SIM_MFT_POSITIONS * SIM_MFT_BLOCKS : 0;
    default:
        return 0;
    }
}

void judge_default(enum judge_part part, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    memset(bytes, part == JUDGE_LFT ? SIM_NO_PORT : 0, JUDGE_BLOCK_BYTES);
    if (part == JUDGE_VLARB)
        memcpy(bytes, sim_vlarb_default[index % JUDGE_VLARB_BLOCKS], JUDGE_BLOCK_BYTES);
    for (unsigned i = 0; part == JUDGE_SL2VL && i < JUDGE_BLOCK_BYTES; i += JUDGE_SL2VL_BYTES)
        memcpy(bytes + i, sim_sl2vl_default, JUDGE_SL2VL_BYTES);
}

static bool is_zero(const uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    static const uint8_t zero[JUDGE_BLOCK_BYTES];
    return memcmp(bytes, zero, sizeof(zero)) == 0;
}

static bool ports_leaf(void *arg, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    const struct source *src = arg;
    const struct sim_node *n = &src->s->nodes[src->node];
    memset(bytes, 0, JUDGE_BLOCK_BYTES);
    for (unsigned i = 0; i < JUDGE_PORTS_A_LEAF; i++) {
        unsigned number = index * JUDGE_PORTS_A_LEAF + i;
        if (number > n->nports || (number == 0 && !n->sw))
            continue;
        const struct sim_port *p = &n->ports[number];
        uint8_t *at = bytes + i * PORT_BYTES;
        at[PORT_STATE] = (uint8_t)sim_port_state(p);
        if (n->sw && number > 0)
            continue; /* the rest is the management port's, whatever these bytes hold */
        put64(at + PORT_KEY, sim_mkey(p));
        put16(at + PORT_LID, sim_lid(p));
        put16(at + PORT_SMLID, get16(p->info + 18));
        at[PORT_LMC] = p->info[34] & 0x07; /* M_KeyProtectBits 2, reserved 3, LMC 3 */
        at[PORT_PROTECT] = p->info[34] >> 6;
    }
    return !is_zero(bytes);
}

static bool pkeys_leaf(void *arg, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    const struct source *src = arg;
    const struct sim_node *n = &src->s->nodes[src->node];
    unsigned leaves = judge_pkey_leaves(src->s, src->node);
    unsigned port = index / leaves, first = index % leaves * SIM_PKEY_BLOCK;
    if (port == 0 && !n->sw)
        return false;
    unsigned capacity = sim_pkey_capacity(src->s, src->node, port);
    memset(bytes, 0, JUDGE_BLOCK_BYTES);
    for (unsigned i = 0; i < SIM_PKEY_BLOCK && first + i < capacity; i++)
        put16(bytes + 2 * i, sim_pkey(src->s, src->node, port, first + i));
    return !is_zero(bytes);
}

static bool sl2vl_leaf(void *arg, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    const struct source *src = arg;
    const struct sim_node *n = &src->s->nodes[src->node];
    unsigned leaves = judge_sl2vl_leaves(src->s, src->node);
    const uint8_t *table = n->ports[index / leaves].sl2vl;
    if (table == NULL)
        return false;
    size_t size = n->sw ? (n->nports + 1u) * JUDGE_SL2VL_BYTES : JUDGE_SL2VL_BYTES;
    size_t at = (size_t)(index % leaves) * JUDGE_BLOCK_BYTES;
    judge_default(JUDGE_SL2VL, index, bytes);
    if (memcmp(bytes, table + at, MIN(size - at, JUDGE_BLOCK_BYTES)) == 0)
        return false;
    memcpy(bytes, table + at, MIN(size - at, JUDGE_BLOCK_BYTES));
    return true;
}

static bool vlarb_leaf(void *arg, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    const struct source *src = arg;
    const struct sim_node *n = &src->s->nodes[src->node];
    const uint8_t *table = n->ports[index / JUDGE_VLARB_BLOCKS].vlarb;
    if (table == NULL)
        return false;
    table += index % JUDGE_VLARB_BLOCKS * JUDGE_BLOCK_BYTES;
    memcpy(bytes, table, JUDGE_BLOCK_BYTES);
    return memcmp(table, sim_vlarb_default[index % JUDGE_VLARB_BLOCKS], JUDGE_BLOCK_BYTES) != 0;
}

static bool lft_leaf(void *arg, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    const struct source *src = arg;
    const uint8_t *block = src->s->nodes[src->node].sw->lft[index];
    if (block == NULL)
        return false;
    memcpy(bytes, block, JUDGE_BLOCK_BYTES);
    for (unsigned i = 0; i < SIM_LFT_BLOCK; i++)
        if (block[i] != SIM_NO_PORT)
            return true;
    return false;
}

static bool mft_leaf(void *arg, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES])
{
    const struct source *src = arg;
    uint16_t *const *position = src->s->nodes[src->node].sw->mft[index / SIM_MFT_BLOCKS];
    const uint16_t *block = position != NULL ? position[index % SIM_MFT_BLOCKS] : NULL;
    if (block == NULL)
        return false;
    for (unsigned i = 0; i < SIM_MFT_BLOCK; i++)
        put16(bytes + 2 * i, block[i]);
    return !is_zero(bytes);
}

/* Whether no leaf of this part can be there: saves looking at thousands. */
static bool is_unset(const struct sim_node *n, enum judge_part part)
{
    if (part == JUDGE_MFT) {
        for (unsigned i = 0; n->sw && i < SIM_MFT_POSITIONS; i++)
            if (n->sw->mft[i] != NULL)
                return false;
        return true;
    }
    if (part != JUDGE_SL2VL && part != JUDGE_VLARB)
        return false;
    for (unsigned i = 0; i <= n->nports; i++)
        if ((part == JUDGE_SL2VL ? n->ports[i].sl2vl : n->ports[i].vlarb) != NULL)
            return false;
    return true;
}

struct judge_snapshot *judge_snapshot_take(struct sim *s)
{
    static judge_leaf_fn *const leaf[JUDGE_PARTS] = {
        [JUDGE_PORTS] = ports_leaf, [JUDGE_PKEYS] = pkeys_leaf, [JUDGE_SL2VL] = sl2vl_leaf,
        [JUDGE_VLARB] = vlarb_leaf, [JUDGE_LFT] = lft_leaf,     [JUDGE_MFT] = mft_leaf};
    if (s->judge->store == NULL)
        s->judge->store = judge_store_create();
    struct judge_snapshot *shot = g_new0(struct judge_snapshot, 1);
    shot->parts = g_malloc0_n(s->node_count, sizeof(*shot->parts));
    for (uint32_t node = 0; node < s->node_count; node++) {
        struct source src = {.s = s, .node = node};
        for (int part = 0; part < JUDGE_PARTS; part++)
            if (!is_unset(&s->nodes[node], part))
                shot->parts[node][part] = judge_store_tree(
                    s->judge->store, judge_leaves(s, node, part), leaf[part], &src);
    }
    return shot;
}

void judge_snapshot_free(struct sim *s, struct judge_snapshot *shot)
{
    for (uint32_t node = 0; node < s->node_count; node++)
        for (int part = 0; part < JUDGE_PARTS; part++)
            judge_store_release(s->judge->store, shot->parts[node][part],
                                judge_leaves(s, node, part));
    g_free(shot->parts);
    g_free(shot);
}

void sim_judge_snapshot(struct sim *s, const char *name)
{
    struct sim_judge *j = s->judge;
    if (j->snapshots == NULL)
        j->snapshots = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct judge_snapshot *shot = judge_snapshot_take(s);
    sim_judge_forget(s, name); /* after it: what did not change need not be made anew */
    g_hash_table_insert(j->snapshots, g_strdup(name), shot);
}

bool sim_judge_forget(struct sim *s, const char *name)
{
    struct sim_judge *j = s->judge;
    struct judge_snapshot *shot =
        j->snapshots != NULL ? g_hash_table_lookup(j->snapshots, name) : NULL;
    if (shot == NULL)
        return false;
    g_hash_table_remove(j->snapshots, name);
    judge_snapshot_free(s, shot);
    return true;
}

/* With the judge: the blocks go with their store. */
void judge_snapshots_free(struct sim_judge *j)
{
    GHashTableIter it;
    gpointer value;
    if (j->snapshots != NULL) {
        g_hash_table_iter_init(&it, j->snapshots);
        while (g_hash_table_iter_next(&it, NULL, &value)) {
            g_free(((struct judge_snapshot *)value)->parts);
            g_free(value);
        }
        g_hash_table_destroy(j->snapshots);
    }
    judge_store_destroy(j->store); /* there without a snapshot, too: `compare x now` */
}
