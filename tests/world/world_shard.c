/* SPDX-License-Identifier: BSD-2-Clause */
/* A shard's process in the world: its core, its store, its MADs, its routing jobs. */
#include "tests/world/world.h"

#include <string.h>

/* -- store ----------------------------------------------------------------------------------- */

static GBytes *store_key(const char *table, GBytes *key)
{
    gsize len;
    const void *bytes = g_bytes_get_data(key, &len);
    GByteArray *all = g_byte_array_new();
    g_byte_array_append(all, (const guint8 *)table, (guint)strlen(table) + 1);
    g_byte_array_append(all, bytes, (guint)len);
    return g_byte_array_free_to_bytes(all);
}

static void store_apply(struct process *p, const GPtrArray *items)
{
    for (guint i = 0; i < items->len; i++) {
        const struct shard_store_item *item = g_ptr_array_index(items, i);
        GBytes *key = store_key(item->table, item->key);
        if (item->value != NULL)
            g_hash_table_insert(p->store, key, g_bytes_ref(item->value));
        else {
            g_hash_table_remove(p->store, key);
            g_bytes_unref(key);
        }
    }
}

static void items_free(void *p)
{
    GPtrArray *items = p;
    for (guint i = 0; i < items->len; i++) {
        struct shard_store_item *item = g_ptr_array_index(items, i);
        g_bytes_unref(item->key);
        if (item->value != NULL)
            g_bytes_unref(item->value);
        g_free(item);
    }
    g_ptr_array_free(items, TRUE);
}

/* The commit itself does not stop with the process's loop, but dies with it. */
static void run_stored(struct world *w, struct task *t)
{
    struct process *p = &w->process[t->process];
    if (!p->alive || p->life != t->life)
        return;
    if (t->data != NULL) {
        store_apply(p, t->data);
        items_free(t->data);
        t->data = NULL;
    }
    if (!world_deferred(w, t))
        shard_step(w, p,
                   &(struct shard_event){.kind = SHARD_EV_STORED, .ticket = (uint64_t)t->number});
}

static void free_stored(gpointer p)
{
    struct shard_stored *s = p;
    g_bytes_unref(s->key);
    g_bytes_unref(s->value);
    g_free(s);
}

static gint compare_stored(gconstpointer a, gconstpointer b)
{
    const struct shard_stored *x = *(void *const *)a, *y = *(void *const *)b;
    int order = strcmp(x->table, y->table);
    return order != 0 ? order : g_bytes_compare(x->key, y->key);
}

/* What the store hands to a new core; sorted, so that runs repeat. */
static GPtrArray *store_load(struct process *p, uint64_t *incarnation)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(free_stored);
    GHashTableIter i;
    gpointer key, value;
    g_hash_table_iter_init(&i, p->store);
    while (g_hash_table_iter_next(&i, &key, &value)) {
        gsize len;
        const char *table = g_bytes_get_data(key, &len);
        gsize skip = strlen(table) + 1;
        if (strcmp(table, "meta") == 0) {
            uint64_t be = 0;
            memcpy(&be, g_bytes_get_data(value, NULL), MIN(g_bytes_get_size(value), sizeof be));
            *incarnation = GUINT64_FROM_BE(be);
            continue;
        }
        struct shard_stored *s = g_new0(struct shard_stored, 1);
        g_strlcpy(s->table, table, sizeof s->table);
        s->key = g_bytes_new(table + skip, len - skip);
        s->value = g_bytes_ref(value);
        g_ptr_array_add(all, s);
    }
    g_ptr_array_sort(all, compare_stored);
    return all;
}

/* -- routing --------------------------------------------------------------------------------- */

static void job_free(void *p)
{
    route_job_free(p);
}

static void run_routed(struct world *w, struct task *t)
{
    if (world_deferred(w, t))
        return;
    shard_step(w, &w->process[t->process],
               &(struct shard_event){.kind = SHARD_EV_ROUTED, .routed = route_job_run(t->data)});
}

/* -- MADs ------------------------------------------------------------------------------------ */

static void run_mad_in(struct world *w, struct task *t)
{
    if (world_deferred(w, t))
        return;
    shard_step(
        w, &w->process[t->process],
        &(struct shard_event){
            .kind = SHARD_EV_MAD, .mad = t->mad, .mad_len = MAD_BYTES, .address = t->address});
}

void shard_mad_arrives(void *user, uint32_t node, const uint8_t mad[MAD_BYTES],
                       const struct mad_address *from)
{
    struct world *w = user;
    if (node == w->listener) {
        struct heard h = {.from = *from};
        memcpy(h.mad, mad, MAD_BYTES);
        g_array_append_val(w->heard, h);
        return;
    }
    if (world_chance(w, w->mad_loss))
        return;
    for (int i = 1; i <= w->shards; i++) {
        if (w->process[i].node != node || !w->process[i].alive)
            continue;
        struct task *t = world_task(w, world_random(w, 0, 1), run_mad_in);
        t->process = i;
        t->life = w->process[i].life;
        memcpy(t->mad, mad, MAD_BYTES);
        t->address = *from;
    }
}

/* On the wire: it goes on whatever becomes of its sender. */
static void run_mad_out(struct world *w, struct task *t)
{
    sim_fabric_send(w->sim, w->process[t->process].node, t->mad, &t->address);
}

static void send_mad(struct world *w, struct process *p, const struct shard_action *a)
{
    w->mads++;
    if (a->mad_len != MAD_BYTES)
        return; /* SA answers of several packets: nobody asks in this world */
    check_set(w, p, a);
    if (world_chance(w, w->mad_loss))
        return;
    struct task *t = world_task(w, world_random(w, 0, 1), run_mad_out);
    t->process = p->index;
    memcpy(t->mad, a->mad, MAD_BYTES);
    t->address = a->address;
}

/* -- actions --------------------------------------------------------------------------------- */

static int process_by_name(const struct world *w, const char *name)
{
    for (int i = 0; i <= w->shards; i++)
        if (strcmp(w->process[i].name, name) == 0)
            return i;
    return -1;
}

static void take_peers(struct world *w, struct process *p, const Heddle__Assignment *a)
{
    bool before[WORLD_PROCESSES];
    memcpy(before, p->wants, sizeof before);
    memset(p->wants, 0, sizeof p->wants);
    for (size_t i = 0; i < a->n_members; i++) {
        int other = process_by_name(w, a->members[i]->name);
        if (other > 0 && other != p->index && a->members[i]->delta_endpoint[0] != '\0')
            p->wants[other] = true;
    }
    for (int i = 1; i <= w->shards; i++)
        if (p->wants[i] && !before[i])
            net_connect(w, p->index, i);
    net_update(w);
}

static void act(struct world *w, struct process *p, struct shard_action *a)
{
    struct task *t;
    int other;
    switch (a->kind) {
    case SHARD_ACT_SEND_MAD:
        send_mad(w, p, a);
        break;
    case SHARD_ACT_SEND:
        other = process_by_name(w, a->peer);
        if (other >= 0)
            net_send(w, p->index, other, (int)a->channel, &a->message);
        break;
    case SHARD_ACT_PEERS:
        if (a->peers != NULL)
            take_peers(w, p, a->peers);
        break;
    case SHARD_ACT_ROUTE:
        t = world_task(w, world_random(w, 1, 20), run_routed);
        t->process = p->index;
        t->life = p->life;
        t->data = g_steal_pointer(&a->job);
        t->free_data = job_free;
        break;
    case SHARD_ACT_STORE:
        p->last_store_ms = MAX(p->last_store_ms, w->now_ms + world_random(w, 1, 15));
        t = world_task(w, p->last_store_ms - w->now_ms, run_stored);
        t->process = p->index;
        t->life = p->life;
        t->data = g_steal_pointer(&a->items);
        t->free_data = items_free;
        t->number = (int64_t)a->ticket;
        break;
    case SHARD_ACT_LOG:
        world_event(w, p->name, a->level, a->event, a->text);
        break;
    }
}

void shard_step(struct world *w, struct process *p, const struct shard_event *e)
{
    GArray *actions = g_array_new(FALSE, TRUE, sizeof(struct shard_action));
    struct shard_event event = *e;
    event.realtime_ms = w->now_ms;
    w->steps++;
    shard_core_step(p->shard, &event, w->now_ms, actions);
    for (guint i = 0; i < actions->len; i++) {
        struct shard_action *a = &g_array_index(actions, struct shard_action, i);
        if (!w->failed)
            act(w, p, a);
        shard_action_clear(a);
    }
    g_array_free(actions, TRUE);
    check_shard(w, p);
}

/* -- life ------------------------------------------------------------------------------------ */

void shard_start(struct world *w, int process)
{
    struct process *p = &w->process[process];
    struct shard_core_config c = {.boot_id = ++p->boot_id + (uint64_t)process * 1000,
                                  .priority = (uint32_t)(process % 3),
                                  .public_key = p->public_key,
                                  .secret_key = p->secret_key,
                                  .tid_seed = g_rand_int(w->rand)};
    g_strlcpy(c.cluster, WORLD_CLUSTER, sizeof c.cluster);
    g_strlcpy(c.name, p->name, sizeof c.name);
    snprintf(c.delta_endpoint, sizeof c.delta_endpoint, "tcp://%d:1", process);
    snprintf(c.bulk_endpoint, sizeof c.bulk_endpoint, "tcp://%d:2", process);
    memcpy(c.sign_public_key, w->coord_config.sign_public_key, sizeof c.sign_public_key);
    c.coordinators = w->coordinators; /* the core keeps the lists, not copies */
    c.operators = w->operators;
    c.stored = store_load(p, &c.stored_incarnation);
    p->life++;
    p->alive = true;
    p->paused = false;
    p->last_tick_ms = w->now_ms;
    g_hash_table_remove_all(p->epochs);
    p->shard = shard_core_create(&c);
    g_ptr_array_free(c.stored, TRUE);
    sim_fabric_process(w->sim, p->node, SIM_PROCESS_LIVE);
    world_log(w, p->name, "starts, boot %lu", c.boot_id);
    shard_step(w, p, &(struct shard_event){.kind = SHARD_EV_START});
    net_update(w);
}

void shard_crash(struct world *w, int process, bool power_off)
{
    struct process *p = &w->process[process];
    if (!p->alive)
        return;
    world_log(w, p->name, power_off ? "loses power" : "is killed");
    p->alive = false;
    p->life++;
    shard_core_destroy(p->shard);
    p->shard = NULL;
    g_queue_clear_full(&p->inbox, world_task_free);
    memset(p->wants, 0, sizeof p->wants);
    sim_fabric_process(w->sim, p->node,
                       world_chance(w, 0.5) ? SIM_PROCESS_NONE : SIM_PROCESS_SILENT);
    net_process_died(w, process, power_off);
    net_update(w);
}

void process_pause(struct world *w, int process)
{
    struct process *p = &w->process[process];
    if (!p->alive || p->paused)
        return;
    world_log(w, p->name, "is stopped");
    p->paused = true;
    p->paused_at_ms = w->now_ms;
}

void process_resume(struct world *w, int process)
{
    struct process *p = &w->process[process];
    if (!p->alive || !p->paused)
        return;
    world_log(w, p->name, "goes on after %lu ms", w->now_ms - p->paused_at_ms);
    p->paused = false;
    p->last_tick_ms = w->now_ms;
    if (p->shard != NULL)
        shard_step(w, p,
                   &(struct shard_event){.kind = SHARD_EV_STALLED,
                                         .stall_ms = (uint32_t)(w->now_ms - p->paused_at_ms)});
    while (!w->failed && p->alive && !p->paused) {
        struct task *t = g_queue_pop_head(&p->inbox);
        if (t == NULL)
            break;
        t->run(w, t);
        world_task_free(t);
    }
}
