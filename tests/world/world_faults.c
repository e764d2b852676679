/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes wrong in a world: each fault ends by itself after a while, all end with faults_end. */
#include "tests/world/world.h"

#include <string.h>

static int random_shard(struct world *w)
{
    return (int)world_random(w, 1, (uint32_t)w->shards);
}

static int shards_alive(const struct world *w)
{
    int alive = 0;
    for (int i = 1; i <= w->shards; i++)
        alive += w->process[i].alive && !w->process[i].paused;
    return alive;
}

/* -- processes ------------------------------------------------------------------------------- */

static void run_restart(struct world *w, struct task *t)
{
    struct process *p = &w->process[t->process];
    if (p->alive)
        return;
    if (t->process == WORLD_COORDINATOR) {
        coord_start(w);
        return;
    }
    sim_fabric_power(w->sim, p->node, true);
    shard_start(w, t->process);
}

static void run_resume(struct world *w, struct task *t)
{
    process_resume(w, t->process);
}

static struct task *later(struct world *w, uint32_t low_ms, uint32_t high_ms, int process,
                          void (*run)(struct world *, struct task *))
{
    struct task *t = world_task(w, world_random(w, low_ms, high_ms), run);
    t->process = process;
    return t;
}

static void fault_crash(struct world *w)
{
    int shard = random_shard(w);
    bool power_off = world_chance(w, 0.3);
    if (!w->process[shard].alive || shards_alive(w) < 2)
        return;
    shard_crash(w, shard, power_off);
    if (power_off)
        sim_fabric_power(w->sim, w->process[shard].node, false);
    later(w, 100, 8000, shard, run_restart);
}

static void fault_pause(struct world *w)
{
    int shard = random_shard(w);
    if (!w->process[shard].alive || shards_alive(w) < 2)
        return;
    process_pause(w, shard);
    later(w, 30, world_chance(w, 0.5) ? 400 : 8000, shard, run_resume);
}

static void fault_coordinator(struct world *w)
{
    if (!w->process[WORLD_COORDINATOR].alive || w->process[WORLD_COORDINATOR].paused)
        return;
    if (world_chance(w, 0.5)) {
        coord_crash(w);
        later(w, 50, 5000, WORLD_COORDINATOR, run_restart);
    } else {
        process_pause(w, WORLD_COORDINATOR);
        later(w, 50, 3000, WORLD_COORDINATOR, run_resume);
    }
}

/* -- networks -------------------------------------------------------------------------------- */

static void run_heal(struct world *w, struct task *t)
{
    net_cut(w, t->process, t->other, false);
    net_cut(w, t->other, t->process, false);
}

static void cut_pair(struct world *w, int a, int b, bool both, uint32_t heal_ms)
{
    world_log(w, "net", "%s -> %s is cut%s", w->process[a].name, w->process[b].name,
              both ? ", and back" : "");
    net_cut(w, a, b, true);
    if (both)
        net_cut(w, b, a, true);
    later(w, heal_ms, heal_ms, a, run_heal)->other = b;
}

static void fault_cut(struct world *w)
{
    int a = (int)world_random(w, 0, (uint32_t)w->shards);
    int b = (int)world_random(w, 0, (uint32_t)w->shards);
    if (a != b)
        cut_pair(w, a, b, world_chance(w, 0.5), world_random(w, 50, 6000));
}

static void fault_isolate(struct world *w)
{
    int a = random_shard(w);
    bool both = world_chance(w, 0.7);
    uint32_t heal_ms = world_random(w, 100, 8000);
    for (int b = 0; b <= w->shards; b++)
        if (b != a)
            cut_pair(w, a, b, both, heal_ms);
}

static void fault_weather(struct world *w)
{
    w->mad_loss = world_chance(w, 0.5) ? 0 : (double)world_random(w, 0, 100) / 2000;
    w->net_delay_ms = world_chance(w, 0.7) ? 2 : world_random(w, 0, 40);
}

/* -- fabric ---------------------------------------------------------------------------------- */

static void run_plug(struct world *w, struct task *t)
{
    sim_fabric_cable(w->sim, (uint32_t)t->process, (unsigned)t->number, true);
}

static void fault_cable(struct world *w)
{
    uint32_t node = world_random(w, 0, w->fabric->node_count - 1);
    const struct fabric_node *n = &w->fabric->nodes[node];
    unsigned port = world_random(w, 1, n->nports);
    world_log(w, "fabric", "cable at %s port %u is pulled", n->desc, port);
    sim_fabric_mute_traps(w->sim, world_chance(w, 0.3));
    sim_fabric_cable(w->sim, node, port, false);
    sim_fabric_mute_traps(w->sim, false);
    later(w, 20, 6000, (int)node, run_plug)->number = port;
}

static void run_power_on(struct world *w, struct task *t)
{
    sim_fabric_power(w->sim, (uint32_t)t->process, true);
}

static void fault_switch(struct world *w)
{
    uint32_t node = world_random(w, 0, w->fabric->node_count - 1);
    if (w->fabric->nodes[node].type != FABRIC_SWITCH)
        return;
    world_log(w, "fabric", "%s loses power", w->fabric->nodes[node].desc);
    sim_fabric_power(w->sim, node, false);
    later(w, 50, 5000, (int)node, run_power_on);
}

/* -- all of it ------------------------------------------------------------------------------- */

static const struct {
    void (*run)(struct world *w);
    uint32_t weight;
} faults[] = {{fault_crash, 4},   {fault_pause, 4},   {fault_coordinator, 2}, {fault_cut, 3},
              {fault_isolate, 2}, {fault_weather, 2}, {fault_cable, 4},       {fault_switch, 1}};

static void run_fault(struct world *w, struct task *t)
{
    uint32_t total = 0, pick;
    if (w->faults_over)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++)
        total += faults[i].weight;
    pick = world_random(w, 0, total - 1);
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        if (pick < faults[i].weight) {
            faults[i].run(w);
            w->faults++;
            break;
        }
        pick -= faults[i].weight;
    }
    world_task(w, world_random(w, 50, 2500), run_fault);
}

void faults_start(struct world *w)
{
    world_task(w, world_random(w, 100, 6000), run_fault);
}

void faults_end(struct world *w)
{
    w->faults_over = true;
    w->mad_loss = 0;
    w->net_delay_ms = 2;
    world_log(w, "world", "all faults end");
    sim_fabric_repair(w->sim);
    memset(w->cut, 0, sizeof w->cut);
    for (int i = 0; i <= w->shards && !w->failed; i++) {
        struct process *p = &w->process[i];
        process_resume(w, i);
        if (!p->alive && i == WORLD_COORDINATOR)
            coord_start(w);
        else if (!p->alive)
            shard_start(w, i);
    }
    net_update(w);
}
