/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of nodes: allocated at the first write, read with the values of a power-up until then. */
#include <string.h>

#include "sim/core/model.h"
#include "sim/core/shared.h"

/* LFT blocks come in groups: an allocation for each would cost a quarter more memory. */
#define LFT_GROUP 32u
#define LAST_UNICAST_LID 0xbfffu
#define FIRST_MULTICAST_LID 0xc000u
#define DEFAULT_PKEY 0xffffu

const uint8_t sim_sl2vl_default[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xe7};
/* VL and weight in turn: the low priority table's blocks, then those of the high priority one. */
const uint8_t sim_vlarb_default[4][64] = {
    {0, 0, 1, 4, 2, 4, 3, 4, 4, 4, 5, 4, 6, 4, 7, 4},
    {0},
    {0, 4, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0},
    {0},
};

uint8_t *sim_lft_block(struct sim *s, uint32_t node, unsigned block)
{
    struct sim_switch *sw = s->nodes[node].sw;
    if (sw->lft[block])
        return sw->lft[block];
    uint8_t *group = g_malloc(LFT_GROUP * SIM_LFT_BLOCK);
    memset(group, SIM_NO_PORT, LFT_GROUP * SIM_LFT_BLOCK);
    unsigned first = block - block % LFT_GROUP;
    for (unsigned i = 0; i < LFT_GROUP; i++)
        sw->lft[first + i] = group + (size_t)i * SIM_LFT_BLOCK;
    return sw->lft[block];
}

uint16_t *sim_mft_block(struct sim *s, uint32_t node, unsigned position, unsigned block)
{
    struct sim_switch *sw = s->nodes[node].sw;
    if (!sw->mft[position])
        sw->mft[position] = g_new0(uint16_t *, SIM_MFT_BLOCKS);
    if (!sw->mft[position][block])
        sw->mft[position][block] = g_new0(uint16_t, SIM_MFT_BLOCK);
    return sw->mft[position][block];
}

static size_t pkeys_size(const struct sim *s, uint32_t node, unsigned port)
{
    return sizeof(uint16_t) * sim_pkey_capacity(s, node, port);
}

static size_t sl2vl_size(const struct sim_node *n)
{
    return (n->sw ? n->nports + 1u : 1u) * sizeof sim_sl2vl_default;
}

uint16_t *sim_pkeys(struct sim *s, uint32_t node, unsigned port)
{
    struct sim_port *p = sim_port(s, node, port);
    if (!p->pkeys) {
        p->pkeys = g_new0(uint16_t, sim_pkey_capacity(s, node, port));
        p->pkeys[0] = DEFAULT_PKEY;
    } else {
        p->pkeys = sim_shared_own(s->shared, p->pkeys, pkeys_size(s, node, port));
    }
    return p->pkeys;
}

uint8_t *sim_sl2vl(struct sim *s, uint32_t node, unsigned port, unsigned in)
{
    struct sim_node *n = &s->nodes[node];
    struct sim_port *p = &n->ports[port];
    size_t size = sl2vl_size(n);
    if (!p->sl2vl) {
        p->sl2vl = g_malloc(size);
        for (size_t i = 0; i < size; i += sizeof sim_sl2vl_default)
            memcpy(p->sl2vl + i, sim_sl2vl_default, sizeof sim_sl2vl_default);
    } else {
        p->sl2vl = sim_shared_own(s->shared, p->sl2vl, size);
    }
    return p->sl2vl + (n->sw ? in : 0) * sizeof sim_sl2vl_default;
}

uint8_t *sim_vlarb(struct sim *s, uint32_t node, unsigned port, unsigned block)
{
    struct sim_port *p = sim_port(s, node, port);
    if (!p->vlarb) {
        p->vlarb = g_malloc(sizeof sim_vlarb_default);
        memcpy(p->vlarb, sim_vlarb_default, sizeof sim_vlarb_default);
    } else {
        p->vlarb = sim_shared_own(s->shared, p->vlarb, sizeof sim_vlarb_default);
    }
    return p->vlarb + (size_t)block * sizeof sim_vlarb_default[0];
}

void sim_tables_share(struct sim *s, uint32_t node, unsigned port)
{
    struct sim_port *p = sim_port(s, node, port);
    if (p->pkeys)
        p->pkeys = sim_shared_keep(s->shared, p->pkeys, pkeys_size(s, node, port));
    if (p->sl2vl)
        p->sl2vl = sim_shared_keep(s->shared, p->sl2vl, sl2vl_size(&s->nodes[node]));
    if (p->vlarb)
        p->vlarb = sim_shared_keep(s->shared, p->vlarb, sizeof sim_vlarb_default);
}

uint64_t *sim_guids(struct sim *s, uint32_t node, unsigned port)
{
    struct sim_port *p = sim_port(s, node, port);
    if (!p->guids) {
        p->guids = g_new0(uint64_t, MAX(p->info[50], 1)); /* GUIDCap */
        p->guids[0] = p->guid;
    }
    return p->guids;
}

static void free_shared(struct sim *s, struct sim_port *p)
{
    sim_shared_free(s->shared, p->pkeys);
    sim_shared_free(s->shared, p->sl2vl);
    sim_shared_free(s->shared, p->vlarb);
    p->pkeys = NULL;
    p->sl2vl = p->vlarb = NULL;
}

static void free_switch_tables(struct sim_switch *sw)
{
    for (unsigned i = 0; i < SIM_LFT_BLOCKS; i += LFT_GROUP)
        g_free(sw->lft[i]);
    memset(sw->lft, 0, sizeof sw->lft);
    for (unsigned p = 0; p < SIM_MFT_POSITIONS; p++) {
        for (unsigned b = 0; sw->mft[p] && b < SIM_MFT_BLOCKS; b++)
            g_free(sw->mft[p][b]);
        g_clear_pointer(&sw->mft[p], g_free);
    }
}

void sim_tables_free(struct sim *s, uint32_t node)
{
    struct sim_node *n = &s->nodes[node];
    for (unsigned i = 0; i <= n->nports; i++) {
        free_shared(s, &n->ports[i]);
        g_clear_pointer(&n->ports[i].guids, g_free);
    }
    if (n->sw)
        free_switch_tables(n->sw);
}

unsigned sim_pkey_capacity(const struct sim *s, uint32_t node, unsigned port)
{
    const struct sim_node *n = &s->nodes[node];
    return n->sw && port > 0 ? get16(n->sw->info + 14) : get16(n->info + 28);
}

uint16_t sim_pkey(const struct sim *s, uint32_t node, unsigned port, unsigned index)
{
    const struct sim_port *p = &s->nodes[node].ports[port];
    if (index >= sim_pkey_capacity(s, node, port))
        return 0;
    if (p->pkeys)
        return p->pkeys[index];
    return index == 0 ? DEFAULT_PKEY : 0;
}

uint8_t sim_lft(const struct sim *s, uint32_t node, unsigned lid)
{
    const struct sim_switch *sw = s->nodes[node].sw;
    if (lid == 0 || lid > LAST_UNICAST_LID || lid > get16(sw->info + 6)) /* LinearFDBTop */
        return SIM_NO_PORT;
    const uint8_t *block = sw->lft[lid / SIM_LFT_BLOCK];
    return block ? block[lid % SIM_LFT_BLOCK] : SIM_NO_PORT;
}

void sim_mft(const struct sim *s, uint32_t node, unsigned mlid, uint64_t out[4])
{
    const struct sim_switch *sw = s->nodes[node].sw;
    memset(out, 0, 4 * sizeof out[0]);
    if (mlid < FIRST_MULTICAST_LID)
        return;
    /* MulticastFDBTop: 0 = as many as there are, 0xBFFF = none (IBA 14.2.5.4) */
    unsigned top = get16(sw->info + 18), index = mlid - FIRST_MULTICAST_LID;
    if ((top && mlid > top) || index >= SIM_MFT_BLOCKS * SIM_MFT_BLOCK)
        return;
    for (unsigned p = 0; p < SIM_MFT_POSITIONS; p++) {
        const uint16_t *block = sw->mft[p] ? sw->mft[p][index / SIM_MFT_BLOCK] : NULL;
        if (block)
            out[p / 4] |= (uint64_t)block[index % SIM_MFT_BLOCK] << (p % 4 * 16);
    }
}

void sim_count(struct sim *s, uint32_t node, unsigned port, enum sim_counter counter, uint64_t n)
{
    struct sim_port *p = sim_port(s, node, port);
    if (!p->counters)
        p->counters = g_new0(uint64_t, SIM_CNT_COUNT);
    uint64_t before = p->counters[counter];
    p->counters[counter] = before + n < before ? UINT64_MAX : before + n; /* they stay at the end */
}
