/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that break things and mend them. */
#include "sim/faults/fault.h"

#include <string.h>

#include "base/parse.h"
#include "sim/agents/agent.h"
#include "sim/script/private.h"

#define DEFAULT_REBOOT_NS 100000000LL
#define DEFAULT_FLAP_NS 100000000LL
#define MAX_FLAPS 1000000u
#define MAX_RATE 10000u
#define NANO 1000000000ULL

static bool do_link(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    bool up;
    char error[512];
    if (!script_port(c, c->argv[1], &node, &port) ||
        !script_on_off(c, c->argv[2], "up", "down", &up))
        return false;
    if (c->dry || sim_fault_cable(c->s, node, port, up, error, sizeof(error)))
        return true;
    return script_fail(c, "%s", error);
}

static bool do_move(struct script_call *c)
{
    uint32_t node, to_node;
    unsigned port, to_port;
    char error[1024];
    if (!script_port(c, c->argv[1], &node, &port) ||
        !script_port(c, c->argv[2], &to_node, &to_port))
        return false;
    if (c->dry || sim_fault_move(c->s, node, port, to_node, to_port, error, sizeof(error)))
        return true;
    return script_fail(c, "%s", error);
}

static bool do_power(struct script_call *c)
{
    uint32_t node;
    bool on;
    if (!script_node(c, c->argv[1], &node) || !script_on_off(c, c->argv[2], "on", "off", &on))
        return false;
    if (!c->dry)
        sim_fault_power(c->s, node, on);
    return true;
}

static bool do_reboot(struct script_call *c)
{
    uint32_t node;
    int64_t off_ns = DEFAULT_REBOOT_NS;
    if (!script_node(c, c->argv[1], &node))
        return false;
    if (c->argc > 2 && !script_time(c, "the time without power", c->argv[2], &off_ns))
        return false;
    if (!c->dry)
        sim_fault_reboot(c->s, node, off_ns);
    return true;
}

static bool do_leave(struct script_call *c)
{
    uint64_t count;
    if (!script_number(c, "the count", c->argv[1], 1, c->s->node_count, &count))
        return false;
    if (!c->dry)
        g_string_append_printf(c->out, "left=%u\n", sim_fault_leave(c->s, (unsigned)count));
    return true;
}

static bool do_join(struct script_call *c)
{
    if (!c->dry)
        g_string_append_printf(c->out, "joined=%u\n", sim_fault_join(c->s));
    return true;
}

static bool do_cut(struct script_call *c)
{
    g_autofree uint32_t *nodes = g_new(uint32_t, c->argc);
    unsigned count = (unsigned)c->argc - 1;
    for (unsigned i = 0; i < count; i++)
        if (!script_node(c, c->argv[i + 1], &nodes[i]))
            return false;
    if (!c->dry)
        g_string_append_printf(c->out, "pulled=%u\n", sim_fault_cut(c->s, nodes, count));
    return true;
}

static bool do_heal(struct script_call *c)
{
    if (!c->dry)
        g_string_append_printf(c->out, "plugged=%u\n", sim_fault_heal(c->s));
    return true;
}

static bool do_traps(struct script_call *c)
{
    bool on;
    if (!script_on_off(c, c->argv[1], "on", "off", &on))
        return false;
    if (!c->dry)
        c->s->traps_off = !on;
    return true;
}

static bool do_mute(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    bool mute;
    if (!script_any_port(c, c->argv[1], &node, &port) ||
        !script_on_off(c, c->argv[2], "on", "off", &mute))
        return false;
    if (!c->dry)
        sim_fault_mute(c->s, node, port, mute);
    return true;
}

static bool do_flap(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    uint64_t count;
    int64_t down_ns = DEFAULT_FLAP_NS, up_ns;
    if (!script_port(c, c->argv[1], &node, &port) ||
        !script_number(c, "the count", c->argv[2], 0, MAX_FLAPS, &count))
        return false;
    if (c->argc > 3 && !script_time(c, "the time down", c->argv[3], &down_ns))
        return false;
    up_ns = down_ns;
    if (c->argc > 4 && !script_time(c, "the time up", c->argv[4], &up_ns))
        return false;
    if (down_ns == 0 && up_ns == 0)
        return script_fail(c, "a flap takes time: the time down, the time up or both");
    if (c->dry)
        return true;
    if (count > 0 && sim_port(c->s, node, port)->peer_node == SIM_NONE)
        return script_fail(c, "%s has no cable: name a port that has one",
                           sim_port_name(c->s, node, port));
    sim_fault_flap(c->s, node, port, (unsigned)count, down_ns, up_ns);
    return true;
}

static bool do_guid(struct script_call *c)
{
    uint32_t node;
    uint64_t guid = 0;
    if (!script_node(c, c->argv[1], &node))
        return false;
    if (strcmp(c->argv[2], "own") != 0 && (!parse_guid(c->argv[2], &guid) || guid == 0))
        return script_fail(c, "\"%s\" must be own or a GUID other than 0, as 0x0002c90300000001",
                           script_shown(c->argv[2]));
    if (!c->dry)
        sim_fault_guid(c->s, node, guid);
    return true;
}

/* The old name goes on to name the node, too: scripts are written before it changes. */
static void describe(struct sim *s, uint32_t node, const char *text)
{
    struct sim_node *n = &s->nodes[node];
    memset(n->description, 0, sizeof(n->description));
    g_strlcpy(n->description, text, sizeof(n->description));
    if (!g_hash_table_contains(s->by_description, text))
        g_hash_table_insert(s->by_description, g_strdup(text), GUINT_TO_POINTER(node + 1));
    for (unsigned port = n->sw ? 0 : 1; port <= (n->sw ? 0u : n->nports); port++)
        sim_trap_description(s, node, port);
}

static bool do_describe(struct script_call *c)
{
    uint32_t node;
    if (!script_node(c, c->argv[1], &node))
        return false;
    if (strlen(c->argv[2]) > 64)
        return script_fail(c, "the description is too long: 64 bytes at most");
    if (!c->dry)
        describe(c->s, node, c->argv[2]);
    return true;
}

static bool do_disturb(struct script_call *c)
{
    uint32_t node = SIM_NONE;
    unsigned port = 0;
    uint64_t loss = 0, delay = 0, jitter = 0, twice = 0, reorder = 0;
    struct script_option options[] = {
        {.name = "loss", .kind = SCRIPT_PERCENT, .value = &loss},
        {.name = "delay", .kind = SCRIPT_TIME, .value = &delay},
        {.name = "jitter", .kind = SCRIPT_TIME, .value = &jitter},
        {.name = "duplicate", .kind = SCRIPT_PERCENT, .value = &twice},
        {.name = "reorder", .kind = SCRIPT_PERCENT, .value = &reorder},
    };
    if (strcmp(c->argv[1], "all") != 0 && !script_any_port(c, c->argv[1], &node, &port))
        return false;
    if (!script_options(c, 2, options, G_N_ELEMENTS(options)))
        return false;
    struct sim_disturbance d = {.loss_ppm = (uint32_t)loss,
                                .duplicate_ppm = (uint32_t)twice,
                                .reorder_ppm = (uint32_t)reorder,
                                .delay_ns = (int64_t)delay,
                                .jitter_ns = (int64_t)jitter};
    if (!c->dry)
        sim_fault_disturb(c->s, node, port, &d);
    return true;
}

static bool do_service(struct script_call *c)
{
    uint32_t node = SIM_NONE;
    unsigned type = 0;
    int64_t ns;
    uint64_t buffer = 0;
    struct script_option options[] = {
        {.name = "buffer", .kind = SCRIPT_NUMBER, .max = 1u << 30, .value = &buffer}};
    if (strcmp(c->argv[1], "switches") == 0)
        type = FABRIC_SWITCH;
    else if (strcmp(c->argv[1], "cas") == 0)
        type = FABRIC_CA;
    else if (strcmp(c->argv[1], "all") != 0 && !script_node(c, c->argv[1], &node))
        return false;
    if (!script_time(c, "the service time", c->argv[2], &ns) ||
        !script_options(c, 3, options, G_N_ELEMENTS(options)))
        return false;
    if (!c->dry)
        sim_fault_service(c->s, node, type, ns, (uint32_t)buffer);
    return true;
}

static bool do_random(struct script_call *c)
{
    uint64_t nano = 0;
    const char *end = "";
    bool off = strcmp(c->argv[1], "off") == 0;
    if (!off && (!script_decimal(c->argv[1], &end, &nano) || *end != '\0' || nano == 0 ||
                 nano > MAX_RATE * NANO))
        return script_fail(c, "\"%s\" must be off or the faults a second, above 0 and up to %u",
                           script_shown(c->argv[1]), MAX_RATE);
    if (!c->dry)
        sim_fault_random(c->s, (double)nano / (double)NANO);
    return true;
}

static const struct script_command commands[] = {
    {"link", "PORT down|up", "pull the cable, plug it in again", 2, 2, do_link},
    {"move", "PORT PORT", "the far end of the first port's cable goes to the second port", 2, 2,
     do_move},
    {"power", "NODE off|on", "tables, LIDs and keys are gone", 2, 2, do_power},
    {"reboot", "NODE [TIME]", "off, and on again after TIME (100ms)", 1, 2, do_reboot},
    {"leave", "COUNT", "so many hosts picked by the seed lose power", 1, 1, do_leave},
    {"join", "", "all that left come back", 0, 0, do_join},
    {"cut", "NODE ...", "the named nodes on one side, the rest on the other", 1, -1, do_cut},
    {"heal", "", "the cut is over", 0, 0, do_heal},
    {"traps", "on|off", "off: what would raise a trap is forgotten", 1, 1, do_traps},
    {"mute", "PORT on|off", "the link is up, the agent is silent", 2, 2, do_mute},
    {"flap", "PORT COUNT [DOWN [UP]]", "so often down and up (100ms); 0 ends it", 2, 4, do_flap},
    {"guid", "NODE 0x<guid>|own", "what NodeInfo shows", 2, 2, do_guid},
    {"describe", "NODE \"TEXT\"", "a new NodeDescription (trap 144)", 2, 2, do_describe},
    {"disturb", "PORT|NODE|all [loss=P%] [delay=TIME] [jitter=TIME] [duplicate=P%] [reorder=P%]",
     "what happens to packets that leave there; nothing named: no longer", 1, 6, do_disturb},
    {"service", "NODE|all|switches|cas TIME [buffer=N]",
     "time for each SMP, and how many may wait (0: any number)", 2, 3, do_service},
    {"random", "RATE|off", "random faults a second, each mended after a while", 1, 1, do_random},
};

const struct script_table script_fault_table = {commands, G_N_ELEMENTS(commands)};
