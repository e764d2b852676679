/* SPDX-License-Identifier: BSD-2-Clause */
/* Stories of a fabric that changes: links that flap, cables that move, hosts that are replaced,
 * switches that lose their tables, changes that nobody tells of. */
#include "tests/world/scenarios.h"

#define TREE "pgft:3:2,3,3:1,2,1:1,1,1"

static unsigned lid_of(const struct world *w, uint32_t host)
{
    return sim_fabric_lid(w->sim, host, 1);
}

/* What all shards have of a host: in the fabric or away. */
static bool all_see(const struct world *w, uint32_t host, bool present)
{
    for (int i = 1; i <= w->shards; i++) {
        const struct view_end_port *e = story_seen(w, i, host);
        if (w->process[i].alive && (e == NULL ? present : e->present != present))
            return false;
    }
    return true;
}

static bool host_9_away(struct world *w)
{
    return all_see(w, story_host(w, 9), false);
}

static bool host_9_back(struct world *w)
{
    return all_see(w, story_host(w, 9), true);
}

/* -- links ----------------------------------------------------------------------------------- */

static void flapping_port(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    story_run(w, 15000);
    uint32_t host = story_host(w, 3), leaf = story_leaf(w, host, &port);
    uint64_t mads = story_mads(w), routes = story_counters(w).lft_changes;
    for (unsigned i = 0; i < 100 && !w->failed; i++) {
        sim_fabric_cable(w->sim, leaf, port, false);
        story_run(w, 20);
        sim_fabric_cable(w->sim, leaf, port, true);
        story_run(w, 20);
        if (i == 50) { /* others are served in between */
            sim_fabric_power(w->sim, story_host(w, 9), false);
            expect(w, story_until(w, 500, host_9_away), "another loss is not seen within 500 ms");
            sim_fabric_power(w->sim, story_host(w, 9), true);
        }
    }
    expect(w, story_mads(w) - mads < 2500, "%lu MADs for 100 flaps", story_mads(w) - mads);
    story_whole(w, 20000, "100 flaps");
    expect(w, story_counters(w).lft_changes == routes, "a host that comes and goes changed tables");
}

static void flapping_uplink(struct world *w)
{
    story_bring_up(w);
    uint32_t leaf = story_node(w, "s1-00002");
    uint64_t mads = story_mads(w);
    for (unsigned i = 0; i < 100 && !w->failed; i++) {
        sim_fabric_cable(w->sim, leaf, 3, false);
        story_run(w, 20);
        sim_fabric_cable(w->sim, leaf, 3, true);
        story_run(w, 20);
    }
    expect(w, story_mads(w) - mads < 8000, "%lu MADs for 100 flaps", story_mads(w) - mads);
    story_whole(w, 20000, "100 flaps of an uplink");
}

static void lost_trap(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    uint32_t host = story_host(w, 9), leaf = story_leaf(w, host, &port);
    sim_fabric_mute_traps(w->sim, true);
    story_run(w, 11000);
    sim_fabric_cable(w->sim, leaf, port, false);
    expect(w, story_until(w, 12000, host_9_away), "a loss without a trap is not seen in 12 s");
    sim_fabric_cable(w->sim, leaf, port, true);
    expect(w, story_until(w, 12000, host_9_back), "a return without a trap is not seen in 12 s");
    story_whole(w, 3000, "a lost trap");
    /* An uplink, too. */
    sim_fabric_cable(w->sim, story_node(w, "s1-00003"), 3, false);
    story_whole(w, 12000, "an uplink lost without a trap");
    sim_fabric_cable(w->sim, story_node(w, "s1-00003"), 3, true);
    story_whole(w, 12000, "an uplink back without a trap");
}

/* Each spine link, uplink and host once, with its trap. */
static void each_link(struct world *w)
{
    story_bring_up(w);
    for (uint32_t i = 0; i < w->fabric->node_count && !w->failed; i++) {
        if (w->fabric->nodes[i].type != FABRIC_SWITCH)
            continue;
        for (unsigned p = 1; p <= w->fabric->nodes[i].nports && !w->failed; p++) {
            sim_fabric_cable(w->sim, i, p, false);
            story_run(w, 300);
            sim_fabric_cable(w->sim, i, p, true);
            story_run(w, 300);
        }
    }
    story_whole(w, 15000, "each link lost and back");
    expect(w, story_counters(w).lid_changes == 0, "LIDs were changed");
}

/* -- hosts ----------------------------------------------------------------------------------- */

/* A host in another domain than the k-th one. */
static uint32_t host_elsewhere(const struct world *w, unsigned k)
{
    unsigned port;
    uint32_t domain = story_domain(w, story_leaf(w, story_host(w, k), &port));
    for (unsigned i = 0; i < 12; i++) {
        uint32_t other = story_host(w, i);
        uint32_t leaf = story_leaf(w, other, &port);
        if (leaf != NODE_NONE && story_domain(w, leaf) != domain)
            return other;
    }
    g_assert_not_reached();
}

static void host_moves(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    uint32_t host = story_host(w, 0), other = host_elsewhere(w, 0);
    uint32_t leaf = story_leaf(w, other, &port);
    unsigned lid = lid_of(w, host);
    sim_fabric_recable(w->sim, w->fabric, host, 1, leaf, port);
    story_whole(w, 15000, "a host moves to a leaf of another domain");
    expect(w, lid_of(w, host) == lid, "its LID %u became %u", lid, lid_of(w, host));
    /* The same with no trap at all, to the first free port: where the other one was. */
    uint32_t third = host_elsewhere(w, 0);
    expect(w, third != host, "no third host");
    leaf = story_leaf(w, third, &port);
    sim_fabric_mute_traps(w->sim, true);
    sim_fabric_recable(w->sim, w->fabric, host, 1, leaf, port);
    story_whole(w, 40000, "a host moves without a trap");
    expect(w, lid_of(w, host) == lid, "its LID %u became %u", lid, lid_of(w, host));
}

static void host_replaced(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    uint32_t old = story_host(w, 2), spare = story_node(w, "spare1");
    uint32_t leaf = story_leaf(w, old, &port);
    unsigned lid = lid_of(w, old);
    sim_fabric_leave_out(w->sim, spare, false);
    sim_fabric_recable(w->sim, w->fabric, spare, 1, leaf, port);
    story_whole(w, 15000, "a host is replaced");
    expect(w, lid_of(w, spare) != 0 && lid_of(w, spare) != lid, "the new one has LID %u of %u",
           lid_of(w, spare), lid);
    /* And the old one again: it is known. */
    sim_fabric_recable(w->sim, w->fabric, old, 1, leaf, port);
    story_whole(w, 15000, "the old host is back");
    expect(w, lid_of(w, old) == lid, "its LID %u became %u", lid, lid_of(w, old));
}

static void host_reset(struct world *w)
{
    story_bring_up(w);
    uint32_t host = story_host(w, 4);
    unsigned lid = lid_of(w, host);
    uint64_t lfts = story_counters(w).lft_sets;
    sim_fabric_power(w->sim, host, false);
    story_run(w, 2000);
    sim_fabric_power(w->sim, host, true);
    story_whole(w, 5000, "a host is reset");
    expect(w, lid_of(w, host) == lid, "its LID %u became %u", lid, lid_of(w, host));
    expect(w, story_counters(w).lft_sets == lfts, "a reset host costs %lu Sets of tables",
           story_counters(w).lft_sets - lfts);
}

/* -- switches -------------------------------------------------------------------------------- */

static void switch_cycled(struct world *w, const char *name, uint32_t off_ms)
{
    uint32_t node = story_node(w, name);
    unsigned lid = sim_fabric_lid(w->sim, node, 0);
    sim_fabric_power(w->sim, node, false);
    story_run(w, off_ms);
    sim_fabric_power(w->sim, node, true);
    story_whole(w, 20000, name);
    expect(w, sim_fabric_lid(w->sim, node, 0) == lid, "%s had LID %u, now %u", name, lid,
           sim_fabric_lid(w->sim, node, 0));
}

/* Its tables are gone, its ports are in INIT: a spine, a middle switch, a leaf; shorter and longer
 * than anybody takes to notice. */
static void switch_power_cycled(struct world *w)
{
    static const char *const names[] = {"s3-00001", "s2-00002", "s1-00005"};
    story_bring_up(w);
    for (unsigned i = 0; i < G_N_ELEMENTS(names) && !w->failed; i++) {
        switch_cycled(w, names[i], 5);
        switch_cycled(w, names[i], 300);
        switch_cycled(w, names[i], 15000);
    }
}

static void switch_cycled_without_traps(struct world *w)
{
    story_bring_up(w);
    sim_fabric_mute_traps(w->sim, true);
    switch_cycled(w, "s2-00003", 5);
    switch_cycled(w, "s1-00006", 3000);
}

static void switch_lost(struct world *w)
{
    story_bring_up(w);
    uint32_t node = story_node(w, "s2-00001");
    sim_fabric_leave_out(w->sim, node, true);
    sim_fabric_power(w->sim, node, false);
    uint64_t ms = story_whole(w, 15000, "a middle switch is lost");
    expect(w, ms < 12000, "routes round a lost switch take %lu ms", ms);
    story_run(w, 20000);
    uint64_t mads = story_mads(w);
    story_run(w, 30000);
    expect(w, story_mads(w) - mads < 5000, "%lu MADs in 30 s after the loss of a switch",
           story_mads(w) - mads);
    sim_fabric_leave_out(w->sim, node, false);
    sim_fabric_power(w->sim, node, true);
    story_whole(w, 15000, "the middle switch is back");
}

/* Half of all ways are gone at once, those of the traps among them. */
static void top_lost(struct world *w)
{
    story_bring_up(w);
    uint32_t node = story_node(w, "s3-00001");
    sim_fabric_leave_out(w->sim, node, true);
    sim_fabric_power(w->sim, node, false);
    uint64_t ms = story_whole(w, 30000, "a top switch is lost");
    expect(w, ms < 15000, "routes round a lost top switch take %lu ms", ms);
    story_run(w, 10000);
    sim_fabric_leave_out(w->sim, node, false);
    sim_fabric_power(w->sim, node, true);
    story_whole(w, 15000, "the top switch is back");
}

/* -- hands that are not ours ----------------------------------------------------------------- */

static bool entry_repaired(struct world *w)
{
    return sim_fabric_lft(w->sim, story_node(w, "s2-00001"), lid_of(w, story_host(w, 0))) != 200;
}

static void table_altered(struct world *w)
{
    story_bring_up(w);
    story_run(w, 5000);
    uint32_t node = story_node(w, "s2-00001");
    uint64_t changes = story_counters(w).lft_changes;
    sim_fabric_write_lft(w->sim, node, lid_of(w, story_host(w, 0)), 200);
    expect(w, story_until(w, 40000, entry_repaired), "an altered table is not repaired in 40 s");
    story_whole(w, 3000, "an altered table");
    expect(w, story_counters(w).lft_changes == changes + 1, "%lu blocks were set for one entry",
           story_counters(w).lft_changes - changes);
}

static bool lid_repaired(struct world *w)
{
    return sim_fabric_lid(w->sim, story_host(w, 0), 1) != 4000 &&
           sim_fabric_lid(w->sim, story_node(w, "s1-00002"), 0) != 4001;
}

/* Another manager, or its operator, wrote LIDs and went away again. */
static void lids_altered(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    uint32_t host = story_host(w, 0), leaf = story_leaf(w, host, &port);
    sim_fabric_preset_lid(w->sim, host, 1, 4000, false);
    sim_fabric_preset_lid(w->sim, story_node(w, "s1-00002"), 0, 4001, false);
    sim_fabric_cable(w->sim, leaf, port, false);
    sim_fabric_cable(w->sim, leaf, port, true);
    sim_fabric_cable(w->sim, story_node(w, "s1-00002"), 3, false);
    sim_fabric_cable(w->sim, story_node(w, "s1-00002"), 3, true);
    expect(w, story_until(w, 15000, lid_repaired), "altered LIDs are not repaired in 15 s");
    story_whole(w, 15000, "altered LIDs");
}

const struct scenario scenarios_change[] = {
    {"flapping_port", TREE, 3, 0, flapping_port, 0},
    {"flapping_uplink", TREE, 3, 0, flapping_uplink, 0},
    {"lost_trap", TREE, 3, 0, lost_trap, 0},
    {"each_link", "pgft:2:2,4:1,2:1,2", 3, 0, each_link, 0},
    {"host_moves", TREE, 3, 0, host_moves, 0},
    {"host_replaced", TREE, 3, 1, host_replaced, 0},
    {"host_reset", TREE, 3, 0, host_reset, 0},
    {"switch_power_cycled", TREE, 3, 0, switch_power_cycled, 0},
    {"switch_cycled_without_traps", TREE, 3, 0, switch_cycled_without_traps, 0},
    {"switch_lost", TREE, 3, 0, switch_lost, 0},
    {"top_lost", TREE, 3, 0, top_lost, 0},
    {"table_altered", TREE, 3, 0, table_altered, 0},
    {"lids_altered", TREE, 3, 0, lids_altered, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};
