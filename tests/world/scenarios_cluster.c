/* SPDX-License-Identifier: BSD-2-Clause */
/* Stories of the cluster itself: restarts, takeovers in the middle of something, strangers. */
#include "tests/world/scenarios.h"

#include <infiniband/mad.h>
#include <string.h>

#define TREE "pgft:3:2,3,3:1,2,1:1,1,1"

/* -- restarts -------------------------------------------------------------------------------- */

static void crash_all(struct world *w)
{
    coord_crash(w);
    for (int i = 1; i <= w->shards; i++)
        shard_crash(w, i, false);
}

static void cluster_restart(struct world *w)
{
    story_bring_up(w);
    story_run(w, 3000);
    struct sim_counters before = story_counters(w);
    crash_all(w);
    story_run(w, 1000);
    story_start(w);
    story_run(w, 5000);
    story_whole(w, UP_MS, "a restart of the whole cluster");
    struct sim_counters after = story_counters(w);
    expect(w, after.lft_changes == before.lft_changes, "%lu LFT blocks were changed",
           after.lft_changes - before.lft_changes);
    expect(w, after.lid_changes == before.lid_changes, "%lu LIDs were changed",
           after.lid_changes - before.lid_changes);
}

/* While nobody was there a host left, another came, and a switch lost its tables. */
static void cluster_restart_on_another_fabric(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    story_run(w, 3000);
    crash_all(w);
    uint32_t old = story_host(w, 2), spare = story_node(w, "spare1");
    uint32_t leaf = story_leaf(w, old, &port);
    sim_fabric_leave_out(w->sim, spare, false);
    sim_fabric_recable(w->sim, w->fabric, spare, 1, leaf, port);
    sim_fabric_power(w->sim, story_node(w, "s2-00002"), false);
    story_run(w, 100);
    sim_fabric_power(w->sim, story_node(w, "s2-00002"), true);
    story_start(w);
    story_run(w, 3000);
    story_whole(w, UP_MS, "a restart on a fabric that changed");
    expect(w, story_counters(w).lid_changes == 0, "LIDs were changed");
}

static void coordinator_restart(struct world *w)
{
    story_bring_up(w);
    story_run(w, 15000);
    struct sim_counters before = story_counters(w);
    coord_crash(w);
    story_run(w, 800);
    coord_start(w);
    story_run(w, 10000);
    story_whole(w, 10000, "a restart of the coordinator");
    expect(w, story_counters(w).sets == before.sets, "it cost %lu Sets",
           story_counters(w).sets - before.sets);
    expect(w, world_events(w, "domain_lost") == 0, "domains were moved");
}

/* -- takeovers ------------------------------------------------------------------------------- */

static bool is_dead_host(const struct world *w, uint32_t node)
{
    for (int i = 1; i <= w->shards; i++)
        if (w->process[i].node == node && !w->process[i].alive)
            return true;
    return false;
}

/* Every port that has one names the LID of its owner; a host without power has nobody to tell. */
static bool sm_lids_right(struct world *w)
{
    for (uint32_t i = 0; i < w->fabric->node_count; i++) {
        unsigned own = 1, port = 0;
        if (is_dead_host(w, i))
            continue;
        bool is_switch = w->fabric->nodes[i].type == FABRIC_SWITCH;
        int owner = story_owner(w, is_switch ? i : story_leaf(w, i, &own));
        unsigned lid = owner != 0 ? sim_fabric_lid(w->sim, w->process[owner].node, 1) : 0;
        port = is_switch ? 0 : 1;
        if (lid == 0 || !w->process[owner].alive || sim_fabric_sm_lid(w->sim, i, port) != lid)
            return false;
    }
    return true;
}

static void takeover(struct world *w)
{
    int dead = 1 + (int)w->variant % w->shards;
    story_bring_up(w);
    story_run(w, 12000); /* a sweep has found everything as it should be */
    struct sim_counters before = story_counters(w);
    uint64_t began = w->now_ms;
    shard_crash(w, dead, w->variant >= 3);
    if (w->variant >= 3)
        sim_fabric_power(w->sim, w->process[dead].node, false);
    expect(w, story_until(w, 1000, sm_lids_right), "ports still name shard%d after 1 s", dead);
    world_log(w, "story", "taken over after %lu ms", w->now_ms - began);
    story_run(w, 20000);
    struct sim_counters after = story_counters(w);
    expect(w, after.lft_sets == before.lft_sets, "%lu Sets of tables in a takeover",
           after.lft_sets - before.lft_sets);
    expect(w, after.lid_changes == before.lid_changes, "LIDs were changed");
    sim_fabric_power(w->sim, w->process[dead].node, true);
    shard_start(w, dead);
    story_whole(w, 15000, "the dead shard is back");
    expect(w, story_counters(w).lft_changes == before.lft_changes, "its return changed tables");
}

/* At any moment of the bring-up one shard is gone for good. */
static void takeover_in_bring_up(struct world *w)
{
    story_start(w);
    story_run(w, 20 + 10 * w->variant);
    shard_crash(w, 1 + (int)w->variant % w->shards, false);
    story_whole(w, UP_MS, "a bring-up with a dead shard");
    expect(w, story_until(w, 1000, sm_lids_right), "ports name a dead shard");
}

static void takeover_of_a_takeover(struct world *w)
{
    story_bring_up(w);
    story_run(w, 2000);
    uint64_t lfts = story_counters(w).lft_changes;
    shard_crash(w, 1, false);
    story_run(w, 20 + 20 * w->variant);
    shard_crash(w, 2, false);
    story_run(w, 3000);
    story_whole(w, 15000, "a takeover of a takeover");
    expect(w, sm_lids_right(w), "ports name a dead shard");
    expect(w, story_counters(w).lft_changes == lfts, "tables were changed");
}

static void last_shard(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    shard_crash(w, 1, false);
    story_run(w, 1000);
    shard_crash(w, 3, false);
    story_whole(w, 15000, "one shard is left");
    story_run(w, 1000);
    expect(w, sm_lids_right(w), "ports name a dead shard");
    uint32_t host = story_host(w, 1), leaf = story_leaf(w, host, &port);
    sim_fabric_cable(w->sim, leaf, port, false);
    story_run(w, 500);
    sim_fabric_cable(w->sim, leaf, port, true);
    story_whole(w, 3000, "a host comes back to the last shard");
    sim_fabric_cable(w->sim, story_node(w, "s1-00004"), 3, false);
    story_whole(w, 12000, "the last shard loses an uplink");
    sim_fabric_cable(w->sim, story_node(w, "s1-00004"), 3, true);
    story_whole(w, 12000, "the uplink is back");
    shard_start(w, 1);
    shard_start(w, 3);
    story_whole(w, 15000, "the others are back");
}

/* It was the last one and dies; its successor had been away. */
static void one_after_another(struct world *w)
{
    story_bring_up(w);
    for (unsigned i = 0; i < 6 && !w->failed; i++) {
        int dead = 1 + (int)i % w->shards;
        shard_crash(w, dead, false);
        story_run(w, 1500);
        shard_start(w, dead);
        story_whole(w, 15000, "each shard dies once more");
    }
    expect(w, story_counters(w).lid_changes == 0, "LIDs were changed");
}

/* -- a shard's own port ---------------------------------------------------------------------- */

static void own_link_down(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    story_run(w, 2000);
    uint32_t node = w->process[2].node, leaf = story_leaf(w, node, &port);
    sim_fabric_cable(w->sim, leaf, port, false);
    story_run(w, 3000);
    for (uint32_t i = 0; i < w->fabric->node_count; i++)
        if (w->fabric->nodes[i].type == FABRIC_SWITCH)
            expect(w, story_owner(w, i) != 2, "%s is still owned by a shard without a port",
                   w->fabric->nodes[i].desc);
    sim_fabric_cable(w->sim, leaf, port, true);
    story_whole(w, 15000, "a shard's own link is back");
    /* Down and up before anybody can decide. */
    node = w->process[3].node;
    leaf = story_leaf(w, node, &port);
    sim_fabric_cable(w->sim, leaf, port, false);
    story_run(w, 30);
    sim_fabric_cable(w->sim, leaf, port, true);
    story_run(w, 1000);
    story_whole(w, 15000, "a shard's own link flaps");
}

static void own_leaf_lost(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    uint32_t leaf = story_leaf(w, w->process[1].node, &port);
    sim_fabric_power(w->sim, leaf, false);
    story_run(w, 5000);
    sim_fabric_power(w->sim, leaf, true);
    story_run(w, 1000);
    story_whole(w, 20000, "a shard's leaf is back");
}

/* -- what others are told -------------------------------------------------------------------- */

static const struct heard *ask_sminfo(struct world *w, uint32_t host, unsigned lid)
{
    uint8_t mad[MAD_BYTES];
    smp_build(mad, MAD_GET, SMP_SM_INFO, 0, NULL, 0, 77);
    g_array_set_size(w->heard, 0);
    sim_fabric_send(w->sim, host, mad, &(struct mad_address){.lid = (uint16_t)lid});
    story_run(w, 20);
    return w->heard->len == 1 ? &g_array_index(w->heard, struct heard, 0) : NULL;
}

static void sminfo_for_hosts(struct world *w)
{
    story_bring_up(w);
    for (unsigned k = 0; k < 15 && !w->failed; k++) {
        uint32_t host = story_host(w, k);
        w->listener = host;
        sim_fabric_process(w->sim, host, SIM_PROCESS_LIVE);
        const struct heard *h = ask_sminfo(w, host, sim_fabric_sm_lid(w->sim, host, 1));
        expect(w, h != NULL, "a host's manager does not answer SMInfo");
        if (h == NULL)
            break;
        uint8_t *info = smp_data((uint8_t *)h->mad);
        expect(w, mad_method(h->mad) == MAD_GET_RESP, "the answer is no answer");
        expect(w, mad_get_field(info, 0, IB_SMINFO_STATE_F) == 3, "the owner says state %u",
               mad_get_field(info, 0, IB_SMINFO_STATE_F));
        expect(w, mad_get_field64(info, 0, IB_SMINFO_KEY_F) == 1, "it has another SM_Key");
        sim_fabric_process(w->sim, host, SIM_PROCESS_NONE);
    }
}

/* -- strangers ------------------------------------------------------------------------------- */

/* Links refuse it already; here it is let through to the core, which does not know it. */
static void not_enrolled(struct world *w)
{
    GArray *enrolled = w->coord_config.enrolled;
    for (guint i = 0; i < enrolled->len; i++)
        if (strcmp(g_array_index(enrolled, struct coord_enrolled, i).name, "shard3") == 0)
            g_array_remove_index(enrolled, i);
    story_bring_up(w);
    story_run(w, 5000);
    const struct process *stranger = &w->process[3];
    expect(w, view_switches(shard_core_view(stranger->shard))->len == 0, "the stranger got a view");
    for (uint32_t i = 0; i < w->fabric->node_count; i++)
        if (w->fabric->nodes[i].type == FABRIC_SWITCH)
            expect(w, story_owner(w, i) == 1 || story_owner(w, i) == 2, "the stranger owns %s",
                   w->fabric->nodes[i].desc);
}

const struct scenario scenarios_cluster[] = {
    {"cluster_restart", TREE, 3, 0, cluster_restart, 0},
    {"cluster_restart_on_another", TREE, 3, 1, cluster_restart_on_another_fabric, 0},
    {"coordinator_restart", TREE, 3, 0, coordinator_restart, 0},
    {"takeover", TREE, 3, 0, takeover, 6},
    {"takeover_in_bring_up", TREE, 3, 0, takeover_in_bring_up, 30},
    {"takeover_of_a_takeover", TREE, 3, 0, takeover_of_a_takeover, 20},
    {"last_shard", TREE, 3, 0, last_shard, 0},
    {"one_after_another", TREE, 3, 0, one_after_another, 0},
    {"own_link_down", TREE, 3, 0, own_link_down, 0},
    {"own_leaf_lost", TREE, 3, 0, own_leaf_lost, 0},
    {"sminfo_for_hosts", TREE, 3, 0, sminfo_for_hosts, 0},
    {"not_enrolled", TREE, 3, 0, not_enrolled, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};
