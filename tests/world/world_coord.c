/* SPDX-License-Identifier: BSD-2-Clause */
/* The coordinator's process in the world, and the ledger that outlives it. */
#include "tests/world/world.h"

#include <errno.h>
#include <string.h>

#include <sodium.h>

struct swap { /* a write under way */
    uint64_t ticket, expected;
    Heddle__Assignment *assignment;
    Heddle__LidBackup *lids;
};

static void swap_free(void *p)
{
    struct swap *s = p;
    if (s->assignment != NULL)
        heddle__assignment__free_unpacked(s->assignment, NULL);
    if (s->lids != NULL)
        heddle__lid_backup__free_unpacked(s->lids, NULL);
    g_free(s);
}

/* -- configuration --------------------------------------------------------------------------- */

static Heddle__ClusterConfig *cluster_config(void)
{
    Heddle__ClusterConfig *k = g_new0(Heddle__ClusterConfig, 1);
    heddle__cluster_config__init(k);
    k->heartbeat_ms = 40;
    k->heartbeat_misses = 3;
    k->isolation_grace_ms = 2000;
    k->lid_report_timeout_ms = 10000;
    Heddle__SubnetOptions *o = k->subnet = g_new0(Heddle__SubnetOptions, 1);
    heddle__subnet_options__init(o);
    o->subnet_prefix = 0xfe80000000000000u;
    o->packet_life_time = 0x12;
    o->vl_stall_count = o->leaf_vl_stall_count = 7;
    o->head_of_queue_lifetime = 0x12;
    o->leaf_head_of_queue_lifetime = 0x10;
    o->max_op_vls = 5;
    o->force_link_speed = 15;
    o->force_link_speed_ext = 31;
    o->force_link_width = 255;
    o->subnet_timeout = 18;
    o->local_phy_errors_threshold = o->overrun_errors_threshold = 8;
    o->sm_key = 1;
    o->sweep_interval_s = 10;
    o->transaction_timeout_ms = 200;
    o->transaction_retries = 3;
    o->max_smps_per_port = 128;
    o->max_smps_per_target = 4;
    o->routing_engine = g_strdup("ftree");
    return k;
}

void ledger_create(struct world *w)
{
    struct coord_config *c = &w->coord_config;
    uint8_t seed[crypto_sign_SEEDBYTES] = {1};
    crypto_sign_seed_keypair(c->sign_public_key, c->sign_secret_key, seed);
    memset(c->cluster_secret, 7, sizeof c->cluster_secret);
    g_strlcpy(c->cluster, WORLD_CLUSTER, sizeof c->cluster);
    g_strlcpy(c->name, w->process[WORLD_COORDINATOR].name, sizeof c->name);
    c->incarnation = 1 + w->seed;
    c->auto_domains = true;
    c->rules = g_array_new(FALSE, TRUE, sizeof(struct coord_domain_rule));
    c->enrolled = g_array_new(FALSE, TRUE, sizeof(struct coord_enrolled));
    for (int i = 1; i <= w->shards; i++) {
        struct coord_enrolled e = {.is_operator = false};
        g_strlcpy(e.name, w->process[i].name, sizeof e.name);
        memcpy(e.public_key, w->process[i].public_key, sizeof e.public_key);
        g_array_append_val(c->enrolled, e);
    }
    struct coord_enrolled operator= {.name = WORLD_OPERATOR, .is_operator = true};
    g_array_append_val(c->enrolled, operator);
    c->domain_max_nodes = 5000;
    c->shard_max_nodes = 12000;
    c->domains_per_shard = world_random(w, 1, 4);
    c->expected_shards = (uint32_t)w->shards;
    c->expected_timeout_ms = 5000;
    c->cluster_config = cluster_config();
    w->ledger.owners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

void ledger_destroy(struct world *w)
{
    g_array_free(w->coord_config.rules, TRUE);
    g_array_free(w->coord_config.enrolled, TRUE);
    heddle__cluster_config__free_unpacked(w->coord_config.cluster_config, NULL);
    if (w->ledger.assignment != NULL)
        heddle__assignment__free_unpacked(w->ledger.assignment, NULL);
    if (w->ledger.lids != NULL)
        heddle__lid_backup__free_unpacked(w->ledger.lids, NULL);
    g_hash_table_destroy(w->ledger.owners);
}

/* -- the ledger ------------------------------------------------------------------------------ */

static int ledger_write(struct world *w, struct swap *s)
{
    if (s->expected != w->ledger.revision)
        return EAGAIN;
    check_ledger(w, s->assignment);
    if (w->ledger.assignment != NULL)
        heddle__assignment__free_unpacked(w->ledger.assignment, NULL);
    w->ledger.assignment = g_steal_pointer(&s->assignment);
    if (s->lids != NULL) {
        if (w->ledger.lids != NULL)
            heddle__lid_backup__free_unpacked(w->ledger.lids, NULL);
        w->ledger.lids = g_steal_pointer(&s->lids);
    }
    w->ledger.revision++;
    w->swaps++;
    return 0;
}

static void run_swap(struct world *w, struct task *t)
{
    struct process *p = &w->process[WORLD_COORDINATOR];
    struct swap *s = t->data;
    /* A write that a crash interrupts is done or not done; nobody hears of it. */
    if (s != NULL && (p->life == t->life || world_chance(w, 0.5))) {
        t->session = s->ticket;
        t->number = ledger_write(w, s);
        swap_free(g_steal_pointer(&t->data));
    }
    if (world_deferred(w, t) || p->life != t->life)
        return;
    coord_step(w, &(struct coord_event){.kind = COORD_EV_SWAPPED,
                                        .ticket = t->session,
                                        .revision = w->ledger.revision,
                                        .error = (int)t->number});
}

/* -- the process ----------------------------------------------------------------------------- */

static void act(struct world *w, struct coord_action *a)
{
    struct process *p = &w->process[WORLD_COORDINATOR];
    if (a->kind == COORD_ACT_LOG) {
        world_event(w, p->name, a->level, a->event, a->text);
    } else if (a->kind == COORD_ACT_SEND) {
        for (int i = 1; i <= w->shards; i++)
            if (strcmp(w->process[i].name, a->peer) == 0)
                net_send(w, WORLD_COORDINATOR, i, SHARD_CONTROL, &a->message);
        if (strcmp(a->peer, WORLD_OPERATOR) == 0 &&
            a->message.type == HEDDLE__MESSAGE_TYPE__MSG_STATUS) {
            if (w->status != NULL)
                heddle__status__free_unpacked(w->status, NULL);
            w->status = (Heddle__Status *)g_steal_pointer(&a->message.body);
        }
    } else {
        struct swap *s = g_new0(struct swap, 1);
        s->ticket = a->ticket;
        s->expected = a->expected;
        s->assignment = g_steal_pointer(&a->assignment);
        s->lids = g_steal_pointer(&a->lids);
        struct task *t = world_task(w, world_random(w, 1, 12), run_swap);
        t->process = WORLD_COORDINATOR;
        t->life = p->life;
        t->data = s;
        t->free_data = swap_free;
    }
}

void coord_step(struct world *w, const struct coord_event *e)
{
    struct process *p = &w->process[WORLD_COORDINATOR];
    GArray *actions = g_array_new(FALSE, TRUE, sizeof(struct coord_action));
    struct coord_event event = *e;
    event.realtime_ms = w->now_ms;
    w->steps++;
    coord_core_step(p->coord, &event, w->now_ms, actions);
    for (guint i = 0; i < actions->len; i++) {
        struct coord_action *a = &g_array_index(actions, struct coord_action, i);
        if (!w->failed)
            act(w, a);
        coord_action_clear(a);
    }
    g_array_free(actions, TRUE);
}

const Heddle__Status *coord_ask_status(struct world *w)
{
    struct envelope m = {.type = HEDDLE__MESSAGE_TYPE__MSG_STATUS_ASK};
    g_strlcpy(m.cluster, WORLD_CLUSTER, sizeof m.cluster);
    g_strlcpy(m.sender, WORLD_OPERATOR, sizeof m.sender);
    coord_step(
        w, &(struct coord_event){.kind = COORD_EV_MESSAGE, .peer = WORLD_OPERATOR, .message = &m});
    return w->status;
}

void coord_start(struct world *w)
{
    struct process *p = &w->process[WORLD_COORDINATOR];
    w->coord_config.boot_id = ++p->boot_id;
    p->life++;
    p->alive = true;
    p->paused = false;
    p->last_tick_ms = w->now_ms;
    p->coord = coord_core_create(&w->coord_config);
    world_log(w, p->name, "starts at revision %lu", w->ledger.revision);
    coord_step(w, &(struct coord_event){.kind = COORD_EV_START,
                                        .assignment = w->ledger.assignment,
                                        .lids = w->ledger.lids,
                                        .revision = w->ledger.revision});
    net_update(w);
}

void coord_crash(struct world *w)
{
    struct process *p = &w->process[WORLD_COORDINATOR];
    if (!p->alive)
        return;
    world_log(w, p->name, "is killed");
    p->alive = false;
    p->life++;
    coord_core_destroy(p->coord);
    p->coord = NULL;
    g_queue_clear_full(&p->inbox, world_task_free);
    net_process_died(w, WORLD_COORDINATOR, false);
    net_update(w);
}
