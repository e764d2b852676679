/* SPDX-License-Identifier: BSD-2-Clause */
/* Digests of tables: a hash a switch, which threads share, and one over all. */
#include "routing/digest.h"

#include <glib.h>
#include <sodium.h>
#include <string.h>

#include "routing/engine.h"

struct digesting {
    const struct rt_graph *g;
    const struct rt_tables *t;
    const struct rt_lanes *lanes;
    const uint32_t *dests; /* with a LID, by port GUID */
    uint32_t dest_count;
    size_t entries;                     /* of a switch */
    uint8_t (*digest)[RT_DIGEST_BYTES]; /* of each switch */
};

static gint by_port_guid(gconstpointer a, gconstpointer b, gpointer graph)
{
    const struct rt_graph *g = graph;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint64_t x = g->dests[i].port_guid, y = g->dests[k].port_guid;
    return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

static void find_dests(struct digesting *d, GArray *dests)
{
    for (uint32_t i = 0; i < d->g->dest_count; i++) {
        if (d->g->dests[i].lid == 0)
            continue;
        g_array_append_val(dests, i);
        d->entries += (size_t)1 << d->g->dests[i].lmc;
    }
    g_array_sort_with_data(dests, by_port_guid, (gpointer)d->g);
    d->dests = (const uint32_t *)(const void *)dests->data;
    d->dest_count = dests->len;
}

static uint8_t entry(const struct rt_tables *t, uint32_t sw, uint32_t lid)
{
    return t->rows[sw] && lid < t->row_size ? t->rows[sw][lid] : RT_NO_PATH;
}

static void digest_switch(void *context, unsigned sw)
{
    const struct digesting *d = context;
    g_autofree uint8_t *pairs = g_malloc(2 * d->entries + 1);
    size_t at = 0;
    for (uint32_t i = 0; i < d->dest_count; i++) {
        const struct rt_dest *dest = &d->g->dests[d->dests[i]];
        for (uint32_t path = 0; path < 1u << dest->lmc; path++) {
            pairs[at++] = d->lanes ? d->lanes->sl(d->lanes->user, sw, d->dests[i], path) : 0;
            pairs[at++] = entry(d->t, sw, dest->lid + path);
        }
    }
    crypto_generichash(d->digest[sw], RT_DIGEST_BYTES, pairs, at, NULL, 0);
}

static void add_guid(crypto_generichash_state *all, uint64_t guid)
{
    uint64_t bytes = GUINT64_TO_BE(guid);
    crypto_generichash_update(all, (const uint8_t *)&bytes, sizeof bytes);
}

static void digest_all(const struct digesting *d, uint8_t digest[RT_DIGEST_BYTES])
{
    crypto_generichash_state all;
    crypto_generichash_init(&all, NULL, 0, RT_DIGEST_BYTES);
    for (uint32_t i = 0; i < d->dest_count; i++) {
        add_guid(&all, d->g->dests[d->dests[i]].port_guid);
        crypto_generichash_update(&all, &d->g->dests[d->dests[i]].lmc, 1);
    }
    for (uint32_t s = 0; s < d->g->switch_count; s++) {
        add_guid(&all, d->g->switches[s].guid);
        crypto_generichash_update(&all, d->digest[s], RT_DIGEST_BYTES);
    }
    crypto_generichash_final(&all, digest, RT_DIGEST_BYTES);
}

void rt_tables_digest(const struct rt_graph *g, const struct rt_tables *t,
                      const struct rt_lanes *lanes, const struct rt_options *options,
                      uint8_t digest[RT_DIGEST_BYTES])
{
    static const struct rt_options alone;
    struct digesting d = {.g = g, .t = t, .lanes = lanes};
    g_autoptr(GArray) dests = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    find_dests(&d, dests);
    d.digest = g_malloc0_n(g->switch_count + 1u, sizeof *d.digest);
    rt_parallel(options ? options : &alone, g->switch_count, digest_switch, &d);
    digest_all(&d, digest);
    g_free(d.digest);
}

void rt_digest_text(const uint8_t digest[RT_DIGEST_BYTES], char text[RT_DIGEST_TEXT_BYTES])
{
    sodium_bin2hex(text, RT_DIGEST_TEXT_BYTES, digest, RT_DIGEST_BYTES);
}
