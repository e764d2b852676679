/* SPDX-License-Identifier: BSD-2-Clause */
/* Differences of two snapshots, entry by entry. */
#include <string.h>

#include "sim/judge/snapshot.h"

struct compare {
    struct sim *s;
    GString *out;
    unsigned limit, lines;
    uint32_t node;
    uint64_t lids, keys, smlids, states, pkeys, lft_blocks, lft_entries, mft_blocks, sl2vl, vlarb;
};

static void line(struct compare *c, const char *what, unsigned port, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
static void line(struct compare *c, const char *what, unsigned port, const char *format, ...)
{
    if (c->lines >= c->limit)
        return;
    c->lines++;
    va_list ap;
    va_start(ap, format);
    g_string_append_printf(c->out, "%s %s ", what, sim_port_name(c->s, c->node, port));
    g_string_append_vprintf(c->out, format, ap);
    g_string_append_c(c->out, '\n');
    va_end(ap);
}

static const uint8_t *or_default(const uint8_t *block, enum judge_part part, unsigned index,
                                 uint8_t room[JUDGE_BLOCK_BYTES])
{
    if (block != NULL)
        return block;
    judge_default(part, index, room);
    return room;
}

static const char *state_name(uint8_t state)
{
    static const char *const names[] = {"NONE", "DOWN", "INIT", "ARMED", "ACTIVE"};
    return state < G_N_ELEMENTS(names) ? names[state] : "?";
}

static void differ_port(struct compare *c, unsigned port, const uint8_t *a, const uint8_t *b)
{
    if (get16(a + PORT_LID) != get16(b + PORT_LID)) {
        c->lids++;
        line(c, "lid", port, "was=%u now=%u", get16(a + PORT_LID), get16(b + PORT_LID));
    }
    if (a[PORT_LMC] != b[PORT_LMC]) {
        c->lids++;
        line(c, "lmc", port, "was=%u now=%u", a[PORT_LMC], b[PORT_LMC]);
    }
    if (get64(a + PORT_KEY) != get64(b + PORT_KEY)) {
        c->keys++;
        line(c, "key", port, "was=0x%016" G_GINT64_MODIFIER "x now=0x%016" G_GINT64_MODIFIER "x",
             get64(a + PORT_KEY), get64(b + PORT_KEY));
    }
    if (a[PORT_PROTECT] != b[PORT_PROTECT]) {
        c->keys++;
        line(c, "protect", port, "was=%u now=%u", a[PORT_PROTECT], b[PORT_PROTECT]);
    }
    if (get16(a + PORT_SMLID) != get16(b + PORT_SMLID)) {
        c->smlids++;
        line(c, "smlid", port, "was=%u now=%u", get16(a + PORT_SMLID), get16(b + PORT_SMLID));
    }
    if (a[PORT_STATE] != b[PORT_STATE]) {
        c->states++;
        line(c, "state", port, "was=%s now=%s", state_name(a[PORT_STATE]),
             state_name(b[PORT_STATE]));
    }
}

static void differ_ports(void *arg, unsigned index, const uint8_t *a, const uint8_t *b)
{
    uint8_t x[JUDGE_BLOCK_BYTES], y[JUDGE_BLOCK_BYTES];
    a = or_default(a, JUDGE_PORTS, index, x);
    b = or_default(b, JUDGE_PORTS, index, y);
    for (unsigned i = 0; i < JUDGE_PORTS_A_LEAF; i++)
        differ_port(arg, index * JUDGE_PORTS_A_LEAF + i, a + i * PORT_BYTES, b + i * PORT_BYTES);
}

static void differ_pkeys(void *arg, unsigned index, const uint8_t *a, const uint8_t *b)
{
    struct compare *c = arg;
    uint8_t x[JUDGE_BLOCK_BYTES], y[JUDGE_BLOCK_BYTES];
    a = or_default(a, JUDGE_PKEYS, index, x);
    b = or_default(b, JUDGE_PKEYS, index, y);
    unsigned leaves = judge_pkey_leaves(c->s, c->node);
    for (unsigned i = 0; i < SIM_PKEY_BLOCK; i++) {
        if (get16(a + 2 * i) == get16(b + 2 * i))
            continue;
        c->pkeys++;
        line(c, "pkey", index / leaves, "index=%u was=0x%04x now=0x%04x",
             index % leaves * SIM_PKEY_BLOCK + i, get16(a + 2 * i), get16(b + 2 * i));
    }
}

static void hex(const uint8_t *bytes, unsigned len, char *text)
{
    for (unsigned i = 0; i < len; i++)
        g_snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void differ_sl2vl(void *arg, unsigned index, const uint8_t *a, const uint8_t *b)
{
    struct compare *c = arg;
    uint8_t x[JUDGE_BLOCK_BYTES], y[JUDGE_BLOCK_BYTES];
    char was[2 * JUDGE_SL2VL_BYTES + 1], now[2 * JUDGE_SL2VL_BYTES + 1];
    a = or_default(a, JUDGE_SL2VL, index, x);
    b = or_default(b, JUDGE_SL2VL, index, y);
    unsigned leaves = judge_sl2vl_leaves(c->s, c->node);
    unsigned inputs = JUDGE_BLOCK_BYTES / JUDGE_SL2VL_BYTES;
    for (unsigned i = 0; i < inputs; i++) {
        if (memcmp(a + i * JUDGE_SL2VL_BYTES, b + i * JUDGE_SL2VL_BYTES, JUDGE_SL2VL_BYTES) == 0)
            continue;
        c->sl2vl++;
        hex(a + i * JUDGE_SL2VL_BYTES, JUDGE_SL2VL_BYTES, was);
        hex(b + i * JUDGE_SL2VL_BYTES, JUDGE_SL2VL_BYTES, now);
        line(c, "sl2vl", index / leaves, "input=%u was=%s now=%s", index % leaves * inputs + i, was,
             now);
    }
}

static void differ_vlarb(void *arg, unsigned index, const uint8_t *a, const uint8_t *b)
{
    struct compare *c = arg;
    uint8_t x[JUDGE_BLOCK_BYTES], y[JUDGE_BLOCK_BYTES];
    char was[2 * JUDGE_BLOCK_BYTES + 1], now[2 * JUDGE_BLOCK_BYTES + 1];
    c->vlarb++;
    hex(or_default(a, JUDGE_VLARB, index, x), JUDGE_BLOCK_BYTES, was);
    hex(or_default(b, JUDGE_VLARB, index, y), JUDGE_BLOCK_BYTES, now);
    line(c, "vlarb", index / JUDGE_VLARB_BLOCKS, "block=%u was=%s now=%s",
         index % JUDGE_VLARB_BLOCKS + 1, was, now);
}

static void differ_lft(void *arg, unsigned index, const uint8_t *a, const uint8_t *b)
{
    struct compare *c = arg;
    uint8_t x[JUDGE_BLOCK_BYTES], y[JUDGE_BLOCK_BYTES];
    a = or_default(a, JUDGE_LFT, index, x);
    b = or_default(b, JUDGE_LFT, index, y);
    c->lft_blocks++;
    for (unsigned i = 0; i < SIM_LFT_BLOCK; i++) {
        if (a[i] == b[i])
            continue;
        c->lft_entries++;
        line(c, "lft", 0, "lid=%u was=%u now=%u", index * SIM_LFT_BLOCK + i, a[i], b[i]);
    }
}

static void differ_mft(void *arg, unsigned index, const uint8_t *a, const uint8_t *b)
{
    struct compare *c = arg;
    uint8_t x[JUDGE_BLOCK_BYTES], y[JUDGE_BLOCK_BYTES];
    a = or_default(a, JUDGE_MFT, index, x);
    b = or_default(b, JUDGE_MFT, index, y);
    c->mft_blocks++;
    unsigned first = 0xc000 + index % SIM_MFT_BLOCKS * SIM_MFT_BLOCK;
    for (unsigned i = 0; i < SIM_MFT_BLOCK; i++)
        if (get16(a + 2 * i) != get16(b + 2 * i))
            line(c, "mft", 0, "mlid=0x%04x position=%u was=0x%04x now=0x%04x", first + i,
                 index / SIM_MFT_BLOCKS, get16(a + 2 * i), get16(b + 2 * i));
}

static void compare_snapshots(struct compare *c, const struct judge_snapshot *a,
                              const struct judge_snapshot *b)
{
    static judge_differ_fn *const differ[JUDGE_PARTS] = {
        [JUDGE_PORTS] = differ_ports, [JUDGE_PKEYS] = differ_pkeys, [JUDGE_SL2VL] = differ_sl2vl,
        [JUDGE_VLARB] = differ_vlarb, [JUDGE_LFT] = differ_lft,     [JUDGE_MFT] = differ_mft};
    for (c->node = 0; c->node < c->s->node_count; c->node++)
        for (int part = 0; part < JUDGE_PARTS; part++)
            judge_store_diff(c->s->judge->store, a->parts[c->node][part], b->parts[c->node][part],
                             judge_leaves(c->s, c->node, part), differ[part], c);
}

static struct judge_snapshot *find(struct sim *s, const char *name, struct judge_snapshot **present)
{
    if (strcmp(name, "now") == 0) {
        if (*present == NULL)
            *present = judge_snapshot_take(s);
        return *present;
    }
    return s->judge->snapshots != NULL ? g_hash_table_lookup(s->judge->snapshots, name) : NULL;
}

bool sim_judge_compare(struct sim *s, const char *a, const char *b, unsigned limit, GString *out)
{
    struct judge_snapshot *present = NULL;
    const struct judge_snapshot *x = find(s, a, &present), *y = find(s, b, &present);
    if (x != NULL && y != NULL) {
        struct compare c = {.s = s, .out = out, .limit = limit};
        compare_snapshots(&c, x, y);
        g_string_append_printf(out,
                               "lids=%" G_GUINT64_FORMAT " keys=%" G_GUINT64_FORMAT
                               " smlids=%" G_GUINT64_FORMAT " states=%" G_GUINT64_FORMAT
                               " pkeys=%" G_GUINT64_FORMAT " lft_blocks=%" G_GUINT64_FORMAT
                               " lft_entries=%" G_GUINT64_FORMAT " mft_blocks=%" G_GUINT64_FORMAT
                               " sl2vl=%" G_GUINT64_FORMAT " vlarb=%" G_GUINT64_FORMAT "\n",
                               c.lids, c.keys, c.smlids, c.states, c.pkeys, c.lft_blocks,
                               c.lft_entries, c.mft_blocks, c.sl2vl, c.vlarb);
    }
    if (present != NULL)
        judge_snapshot_free(s, present);
    return x != NULL && y != NULL;
}
