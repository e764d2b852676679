/* SPDX-License-Identifier: BSD-2-Clause */
/* Stories of nodes that are odd: two with one GUID, mute ones, managers that are not ours, LIDs
 * that were there, traps that make no sense or come too often. */
#include "tests/world/scenarios.h"

#include <stdio.h>

#define SM_MASTER 3u
#define SM_STANDBY 2u

/* -- nothing ------------------------------------------------------------------------------- */

/* A healthy fabric is left alone: the measure for the stories below. */
static void quiet(struct world *w)
{
    story_bring_up(w);
    story_run(w,
              15000); /* the first light sweep clears what the bring-up left in PortStateChange */
    uint64_t mads = story_mads(w), sets = story_counters(w).sets;
    story_run(w, 60000);
    expect(w, story_mads(w) - mads < 6500, "%lu MADs in 60 s", story_mads(w) - mads);
    expect(w, story_counters(w).sets == sets, "%lu Sets in 60 s", story_counters(w).sets - sets);
}

/* -- two nodes with one GUID ----------------------------------------------------------------- */

static void duplicate_guid(struct world *w)
{
    uint32_t first = story_host(w, 0), second = story_host(w, 5);
    char text[64];
    sim_fabric_show_guid(w->sim, second, w->fabric->nodes[first].guid);
    /* Either of them may be seen first. */
    sim_fabric_leave_out(w->sim, first, true);
    sim_fabric_leave_out(w->sim, second, true);
    story_bring_up(w);
    story_run(w, 2000);
    expect(w, world_events(w, "duplicate_guid") > 0, "nobody says that a GUID is there twice");
    snprintf(text, sizeof text, "duplicate GUID 0x%016lx", w->fabric->nodes[first].guid);
    expect(w, story_problem(w, text), "the status does not have: %s", text);
    unsigned said = world_events(w, "duplicate_guid");
    uint64_t mads = story_mads(w);
    story_run(w, 60000);
    expect(w, story_mads(w) - mads < 7000, "%lu MADs in 60 s: it reads and reads",
           story_mads(w) - mads);
    expect(w, world_events(w, "duplicate_guid") - said < 10, "it is said again and again");
    bool a = sim_fabric_port_state(w->sim, first, 1) == 4;
    bool b = sim_fabric_port_state(w->sim, second, 1) == 4;
    expect(w, a != b, "exactly one of the two is to be used, not %d", a + b);
    uint32_t bad = a ? second : first;
    expect(w, sim_fabric_counters(w->sim, bad).sets == 0, "the second one got a Set");
    /* The second one gets its GUID repaired: it comes up, and the report goes. */
    sim_fabric_power(w->sim, bad, false);
    story_run(w, 3000);
    sim_fabric_show_guid(w->sim, bad, 0);
    if (bad == first) /* the other one is known by this GUID: it takes its own */
        sim_fabric_power(w->sim, second, false);
    story_run(w, 3000);
    if (bad == first)
        sim_fabric_show_guid(w->sim, second, 0);
    sim_fabric_power(w->sim, first, true);
    sim_fabric_power(w->sim, second, true);
    sim_fabric_leave_out(w->sim, first, false);
    sim_fabric_leave_out(w->sim, second, false);
    story_whole(w, UP_MS, "the GUID is repaired");
    story_run(w, 15000);
    expect(w, !story_problem(w, "duplicate GUID"), "the status still has the duplicate GUID");
}

/* -- mute nodes ------------------------------------------------------------------------------ */

static void mute(struct world *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sim_fabric_mute(w->sim, story_host(w, i), true);
        sim_fabric_leave_out(w->sim, story_host(w, i), true);
    }
}

static void mute_ca(struct world *w)
{
    mute(w, 1);
    uint64_t ms = story_bring_up(w);
    expect(w, ms < 10000, "one mute host makes the bring-up last %lu ms", ms);
    story_run(w, 500);
    expect(w, story_problem(w, "1 of "), "the status does not say that a port has no peer");
    uint64_t asked = sim_fabric_counters(w->sim, story_host(w, 0)).mads;
    story_run(w, 60000);
    asked = sim_fabric_counters(w->sim, story_host(w, 0)).mads - asked;
    expect(w, asked <= 100, "the mute host is asked %lu times in 60 s", asked);
    sim_fabric_mute(w->sim, story_host(w, 0), false);
    sim_fabric_leave_out(w->sim, story_host(w, 0), false);
    story_whole(w, 15000, "the mute host answers");
    story_run(w, 1000);
    expect(w, !story_problem(w, "no peer"), "the status still says that a port has no peer");
}

static void hundred_mute_cas(struct world *w)
{
    mute(w, 100);
    uint64_t ms = story_bring_up(w);
    expect(w, ms < 8000, "a hundred mute hosts make the bring-up last %lu ms", ms);
    /* A cable elsewhere is seen at once all the same. */
    uint32_t host = story_host(w, 101);
    sim_fabric_power(w->sim, host, false);
    story_run(w, 1000);
    sim_fabric_power(w->sim, host, true);
    ms = story_whole(w, 5000, "a host among mute ones returns");
    for (unsigned i = 0; i < 100; i++) {
        sim_fabric_mute(w->sim, story_host(w, i), false);
        sim_fabric_leave_out(w->sim, story_host(w, i), false);
    }
    story_whole(w, 30000, "all mute hosts answer");
}

/* -- a manager that is not ours -------------------------------------------------------------- */

static void foreign_master_at_start(struct world *w)
{
    uint32_t host = story_host(w, 3);
    sim_fabric_foreign_sm(w->sim, host, SM_MASTER);
    story_start(w);
    story_run(w, 30000);
    expect(w, story_counters(w).sets == 0, "%lu Sets beside a foreign MASTER",
           story_counters(w).sets);
    expect(w, world_events(w, "foreign_sm") > 0, "no shard says that there is a foreign MASTER");
    expect(w, story_problem(w, "foreign master SM"), "the status does not say it");
    sim_fabric_foreign_sm(w->sim, host, 0);
    story_whole(w, UP_MS, "the foreign MASTER is gone");
    story_run(w, 1000);
    expect(w, !story_problem(w, "foreign"), "the status still has the foreign MASTER");
}

static void foreign_standby(struct world *w)
{
    sim_fabric_foreign_sm(w->sim, story_host(w, 2), SM_STANDBY);
    story_bring_up(w);
    expect(w, world_events(w, "foreign_sm") == 0, "a STANDBY is taken for a MASTER");
}

static void foreign_master_appears(struct world *w)
{
    unsigned port;
    story_bring_up(w);
    uint32_t host = story_host(w, 3), leaf = story_leaf(w, host, &port);
    sim_fabric_foreign_sm(w->sim, host, SM_MASTER);
    sim_fabric_trap(w->sim, w->process[story_owner(w, leaf)].node, 144,
                    sim_fabric_lid(w->sim, host, 1));
    story_run(w, 1000);
    expect(w, world_events(w, "foreign_sm") >= (unsigned)w->shards,
           "%u of %d shards know of the foreign MASTER", world_events(w, "foreign_sm"), w->shards);
    uint64_t sets = story_counters(w).sets;
    uint32_t other = story_host(w, 9);
    sim_fabric_power(w->sim, other, false);
    story_run(w, 1000);
    sim_fabric_power(w->sim, other, true);
    story_run(w, 30000);
    expect(w, story_counters(w).sets == sets, "%lu Sets beside a foreign MASTER",
           story_counters(w).sets - sets);
    sim_fabric_foreign_sm(w->sim, host, 0);
    story_whole(w, UP_MS, "the foreign MASTER is gone");
}

/* -- LIDs that were there -------------------------------------------------------------------- */

static void lids_adopted(struct world *w)
{
    unsigned lid = 700;
    for (uint32_t i = 0; i < w->fabric->node_count; i++, lid += 3)
        sim_fabric_preset_lid(w->sim, i, w->fabric->nodes[i].type == FABRIC_SWITCH ? 0 : 1, lid,
                              true);
    story_bring_up(w);
    /* The shards' own ports get theirs from the coordinators, which know what was found. */
    expect(w, story_counters(w).lid_changes == 0, "%lu LIDs were changed",
           story_counters(w).lid_changes);
}

static void lid_twice(struct world *w)
{
    uint32_t a = story_host(w, 1), b = story_host(w, 7);
    uint32_t low = w->fabric->nodes[a].ports[1].guid < w->fabric->nodes[b].ports[1].guid ? a : b;
    sim_fabric_preset_lid(w->sim, a, 1, 900, a == low);
    sim_fabric_preset_lid(w->sim, b, 1, 900, b == low);
    story_bring_up(w);
    expect(w, sim_fabric_lid(w->sim, low, 1) == 900, "the lower GUID lost its LID");
    expect(w, sim_fabric_lid(w->sim, low == a ? b : a, 1) != 900, "two ports have one LID");
    expect(w, story_counters(w).lid_changes == 1, "%lu LIDs were changed",
           story_counters(w).lid_changes);
}

/* -- traps ----------------------------------------------------------------------------------- */

static bool host_is_gone(struct world *w)
{
    unsigned port;
    uint32_t host = story_host(w, 9), leaf = story_leaf(w, host, &port);
    const struct view_end_port *e = story_seen(w, story_owner(w, leaf), host);
    return e != NULL && !e->present;
}

static void flood(struct world *w, unsigned number)
{
    unsigned port;
    story_bring_up(w);
    story_run(w, 3000);
    uint32_t noisy = story_host(w, 3), leaf = story_leaf(w, noisy, &port);
    unsigned lid =
        number == 128 ? sim_fabric_lid(w->sim, leaf, 0) : sim_fabric_lid(w->sim, noisy, 1);
    uint64_t mads = story_mads(w);
    for (unsigned i = 0; i < 250; i++)
        sim_fabric_trap(w->sim, w->process[story_owner(w, leaf)].node, number, lid);
    /* What happens elsewhere is not kept waiting. */
    sim_fabric_power(w->sim, story_host(w, 9), false);
    expect(w, story_until(w, 500, host_is_gone), "a lost host is not seen within 500 ms");
    for (unsigned i = 0; i < 20; i++) {
        story_run(w, 200);
        for (unsigned k = 0; k < 250; k++)
            sim_fabric_trap(w->sim, w->process[story_owner(w, leaf)].node, number, lid);
    }
    story_run(w, 3000);
    mads = story_mads(w) - mads - 21 * 250; /* each is repressed */
    expect(w, mads < 1500, "%lu MADs besides the answers to 5,250 traps", mads);
    sim_fabric_power(w->sim, story_host(w, 9), true);
    story_whole(w, 15000, "the flood is over");
}

static void flood_of_traps_129(struct world *w)
{
    flood(w, 129);
}

static void flood_of_traps_128(struct world *w)
{
    flood(w, 128);
}

/* Traps of nobody, and during the first sweep. */
static void odd_traps(struct world *w)
{
    static const unsigned numbers[] = {64,  65,  66,  67,  128, 129, 130,
                                       131, 144, 145, 256, 257, 0,   0xffff};
    static const unsigned lids[] = {0, 1, 2, 300, 40000, 0xbfff, 0xc000, 0xffff};
    story_start(w);
    for (unsigned i = 0; i < 200 && !w->failed; i++) {
        story_run(w, i < 100 ? 5 : 50);
        sim_fabric_trap(w->sim, w->process[1 + i % (unsigned)w->shards].node,
                        numbers[i % G_N_ELEMENTS(numbers)], lids[i % G_N_ELEMENTS(lids)]);
    }
    story_whole(w, UP_MS, "bring-up with odd traps");
    for (unsigned i = 0; i < 200 && !w->failed; i++) {
        story_run(w, 20);
        sim_fabric_trap(w->sim, w->process[1 + i % (unsigned)w->shards].node,
                        numbers[i % G_N_ELEMENTS(numbers)], lids[i % G_N_ELEMENTS(lids)]);
    }
    story_whole(w, 5000, "odd traps");
}

const struct scenario scenarios_odd[] = {
    {"quiet", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, quiet, 0},
    {"duplicate_guid", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, duplicate_guid, 0},
    {"mute_ca", "pgft:2:4,4:1,2:1,1", 2, 0, mute_ca, 0},
    {"hundred_mute_cas", "pgft:2:24,6:1,2:1,2", 3, 0, hundred_mute_cas, 0},
    {"foreign_master_at_start", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, foreign_master_at_start, 0},
    {"foreign_master_appears", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, foreign_master_appears, 0},
    {"foreign_standby", "pgft:2:4,4:1,2:1,1", 2, 0, foreign_standby, 0},
    {"lids_adopted", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, lids_adopted, 0},
    {"lid_twice", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, lid_twice, 0},
    {"flood_of_traps_129", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, flood_of_traps_129, 0},
    {"flood_of_traps_128", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, flood_of_traps_128, 0},
    {"odd_traps", "pgft:3:2,3,3:1,2,1:1,1,1", 3, 0, odd_traps, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};
