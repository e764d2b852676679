/* SPDX-License-Identifier: BSD-2-Clause */
/* Making and unmaking of a world: the fabric, the processes and where they sit. */
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "fabric/generate.h"

static const char *const fabrics[] = {
    "pgft:2:3,3:1,2:1,1",       "pgft:2:2,4:1,2:1,2",       "pgft:2:4,3:1,3:1,1",
    "pgft:3:2,2,2:1,2,2:1,1,1", "pgft:3:2,2,3:1,2,1:1,1,1", "pgft:2:6,2:1,1:1,3",
};

static void violation(void *user, const char *text)
{
    world_fail(user, "%s", text);
}

/* Shards on different leaves as long as there are some. */
static void place_shards(struct world *w)
{
    GArray *hosts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < w->fabric->node_count; i++)
        if (w->fabric->nodes[i].type == FABRIC_CA &&
            w->fabric->nodes[i].ports[1].peer_node != FABRIC_NONE)
            g_array_append_val(hosts, i);
    guint start = world_random(w, 0, hosts->len - 1);
    guint stride = MAX(1u, hosts->len / (guint)w->shards);
    for (int i = 1; i <= w->shards; i++)
        w->process[i].node =
            g_array_index(hosts, uint32_t, (start + (guint)(i - 1) * stride) % hosts->len);
    g_array_free(hosts, TRUE);
}

static void process_create(struct world *w, int i)
{
    struct process *p = &w->process[i];
    uint8_t seed[crypto_box_SEEDBYTES] = {(uint8_t)(i + 1)};
    p->index = i;
    snprintf(p->name, sizeof p->name, i == WORLD_COORDINATOR ? "coord" : "shard%d", i);
    crypto_box_seed_keypair(p->public_key, p->secret_key, seed);
    g_queue_init(&p->inbox);
    p->store = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                                     (GDestroyNotify)g_bytes_unref);
    p->epochs = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

static void process_destroy(struct process *p)
{
    if (p->shard != NULL)
        shard_core_destroy(p->shard);
    if (p->coord != NULL)
        coord_core_destroy(p->coord);
    g_queue_clear_full(&p->inbox, world_task_free);
    g_hash_table_destroy(p->store);
    g_hash_table_destroy(p->epochs);
}

static struct fabric *random_fabric(struct world *w)
{
    char error[256];
    const char *spec = fabrics[world_random(w, 0, G_N_ELEMENTS(fabrics) - 1)];
    g_strlcpy(w->fabric_spec, spec, sizeof w->fabric_spec);
    struct fabric *f = fabric_generate(spec, error, sizeof error);
    g_assert(f != NULL);
    return f;
}

void world_create(struct world *w, const struct world_setup *setup)
{
    guint32 seeds[2] = {(guint32)setup->seed, (guint32)(setup->seed >> 32)};
    *w = (struct world){
        .seed = setup->seed, .now_ms = 1000, .verbose = setup->verbose, .net_delay_ms = 2};
    w->rand = g_rand_new_with_seed_array(seeds, 2);
    w->queue = g_sequence_new(world_task_free);
    w->shards = setup->shards > 0 ? setup->shards : (int)world_random(w, 2, WORLD_MAX_SHARDS);
    w->fabric = setup->fabric != NULL ? setup->fabric : random_fabric(w);
    w->listener = FABRIC_NONE;
    w->heard = g_array_new(FALSE, FALSE, sizeof(struct heard));
    w->events = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    w->sim = sim_fabric_create(w->fabric,
                               &(struct sim_fabric_callbacks){w, shard_mad_arrives, violation});
    w->acted = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    w->acted_since = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    for (int i = 0; i <= w->shards; i++)
        process_create(w, i);
    w->coordinators = g_ptr_array_new();
    w->operators = g_ptr_array_new();
    g_ptr_array_add(w->coordinators, w->process[WORLD_COORDINATOR].name);
    g_ptr_array_add(w->operators, (gpointer)WORLD_OPERATOR);
    place_shards(w);
    ledger_create(w);
}

void world_destroy(struct world *w)
{
    for (int i = 0; i <= w->shards; i++)
        process_destroy(&w->process[i]);
    g_sequence_free(w->queue);
    sim_fabric_destroy(w->sim);
    fabric_destroy(w->fabric);
    ledger_destroy(w);
    g_hash_table_destroy(w->acted);
    g_hash_table_destroy(w->acted_since);
    g_hash_table_destroy(w->events);
    g_array_free(w->heard, TRUE);
    if (w->status != NULL)
        heddle__status__free_unpacked(w->status, NULL);
    g_ptr_array_free(w->coordinators, TRUE);
    g_ptr_array_free(w->operators, TRUE);
    g_rand_free(w->rand);
}
