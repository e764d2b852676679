/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that only look: status, show. */
#include <string.h>

#include "sim/agents/agent.h"
#include "sim/core/ping.h"
#include "sim/core/timers.h"
#include "sim/faults/fault.h"
#include "sim/hosts/host.h"
#include "sim/judge/judge.h"
#include "sim/script/private.h"

/* -- status ------------------------------------------------------------------------------------ */

static void status_nodes(const struct sim *s, GString *out)
{
    unsigned of_type[FABRIC_ROUTER + 1] = {0}, off = 0;
    for (uint32_t i = 0; i < s->node_count; i++) {
        of_type[MIN(s->nodes[i].type, FABRIC_ROUTER)]++;
        off += !s->nodes[i].powered;
    }
    g_string_append_printf(out, "nodes=%u\nswitches=%u\ncas=%u\nrouters=%u\nwithout_power=%u\n",
                           s->node_count, of_type[FABRIC_SWITCH], of_type[FABRIC_CA],
                           of_type[FABRIC_ROUTER], off);
}

/* Ports with a cable; each link is counted at its lower end. */
static void status_links(const struct sim *s, GString *out)
{
    unsigned up = 0, down = 0, unplugged = 0, in_state[SIM_ACTIVE + 1] = {0};
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sim_node *n = &s->nodes[i];
        for (unsigned j = 1; j <= n->nports; j++) {
            const struct sim_port *p = &n->ports[j];
            if (p->peer_node == SIM_NONE)
                continue;
            in_state[MIN(sim_port_state(p), SIM_ACTIVE)]++;
            if (p->peer_node < i || (p->peer_node == i && p->peer_port < j))
                continue;
            bool is_up = sim_port_state(p) >= SIM_INIT;
            up += is_up;
            down += !is_up;
            unplugged += p->unplugged;
        }
    }
    g_string_append_printf(
        out,
        "links_up=%u\nlinks_down=%u\nunplugged=%u\nports_down=%u\nports_init=%u\n"
        "ports_armed=%u\nports_active=%u\n",
        up, down, unplugged, in_state[SIM_DOWN], in_state[SIM_INIT], in_state[SIM_ARMED],
        in_state[SIM_ACTIVE]);
}

static bool do_status(struct script_call *c)
{
    struct sim *s = c->s;
    GString *out = c->out;
    uint64_t broken;
    unsigned pending;
    if (c->dry)
        return true;
    int64_t next_timer = sim_timers_next(s->timers);
    next_timer = next_timer == SIM_NEVER ? -1 : next_timer;
    g_string_append_printf(out, "time=%" G_GINT64_FORMAT "\n", s->now);
    status_nodes(s, out);
    status_links(s, out);
    g_string_append_printf(out,
                           "smps=%" G_GUINT64_FORMAT "\ngmps=%" G_GUINT64_FORMAT
                           "\ndoubled=%" G_GUINT64_FORMAT "\n",
                           s->smps, s->gmps, s->doubled);
    for (int i = 0; i < SIM_DROP_COUNT; i++)
        g_string_append_printf(out, "dropped_%s=%" G_GUINT64_FORMAT "\n", sim_drop_name(i),
                               s->drops[i]);
    g_string_append_printf(
        out, "under_way=%u\nnext_timer=%" G_GINT64_FORMAT "\npings=%u\ncommands_pending=%u\n",
        sim_transit_count(s), next_timer, sim_ping_count(s), s->script->pending.length);
    sim_fault_random_counts(s, &broken, &pending);
    g_string_append_printf(
        out, "random_faults=%" G_GUINT64_FORMAT "\nrandom_faults_pending=%u\nhosts: ", broken,
        pending);
    sim_hosts_status(s, SIM_NONE, out);
    g_string_append(out, "judge: ");
    sim_judge_totals(s, out);
    g_string_append(out, "\n");
    g_autoptr(GString) senders = g_string_new(NULL);
    sim_judge_senders(s, senders);
    g_string_append(out, senders->str);
    return true;
}

/* -- show -------------------------------------------------------------------------------------- */

static const char *state_name(unsigned state)
{
    static const char *const names[] = {"-", "DOWN", "INIT", "ARMED", "ACTIVE"};
    return state < G_N_ELEMENTS(names) ? names[state] : "?";
}

static const char *phys_name(unsigned phys)
{
    static const char *const names[] = {"-", "Sleep", "Polling", "Disabled", "Training", "LinkUp"};
    return phys < G_N_ELEMENTS(names) ? names[phys] : "?";
}

/* LinkSpeedActive, LinkSpeedExtActive and LinkSpeedExtActive2 (IBA 14.2.5.6). */
static unsigned active_speed(struct sim *s, const struct sim_port *p)
{
    static const uint8_t plain[] = {0, FABRIC_SDR, FABRIC_DDR, 0, FABRIC_QDR};
    static const uint8_t ext[] = {0, FABRIC_FDR, FABRIC_EDR, 0, FABRIC_HDR, 0, 0, 0, FABRIC_NDR};
    unsigned e = p->info[62] >> 4, b = p->info[35] >> 4;
    if (p->info[56] >> 5 != 0)
        return FABRIC_XDR;
    if (e < G_N_ELEMENTS(ext) && ext[e] != 0)
        return ext[e];
    if (b >= G_N_ELEMENTS(plain))
        return FABRIC_SPEED_UNKNOWN;
    if (plain[b] == FABRIC_QDR && p->peer_node != SIM_NONE && p->fdr10_enabled &&
        sim_port(s, p->peer_node, p->peer_port)->fdr10_enabled)
        return FABRIC_FDR10;
    return plain[b];
}

static void show_management(GString *out, const struct sim_port *p)
{
    g_string_append_printf(out,
                           " lid=%u lmc=%u smlid=%u smsl=%u key=0x%016" G_GINT64_MODIFIER
                           "x protect=%u lease=%u key_violations=%u guid=0x%016" G_GINT64_MODIFIER
                           "x sm=%s",
                           sim_lid(p), p->info[34] & 0x07, get16(p->info + 18), p->info[36] & 0x0f,
                           sim_mkey(p), p->info[34] >> 6, get16(p->info + 26), get16(p->info + 44),
                           p->guid, p->has_sm ? "yes" : "no");
}

static void show_disturbance(GString *out, const struct sim_disturbance *d)
{
    g_string_append_printf(out,
                           " loss=%.4f%% duplicate=%.4f%% reorder=%.4f%% delay=%" G_GINT64_FORMAT
                           "ns jitter=%" G_GINT64_FORMAT "ns",
                           d->loss_ppm / 1e4, d->duplicate_ppm / 1e4, d->reorder_ppm / 1e4,
                           d->delay_ns, d->jitter_ns);
}

static void show_port(struct script_call *c, uint32_t node, unsigned port)
{
    const struct sim_node *n = &c->s->nodes[node];
    const struct sim_port *p = &n->ports[port];
    GString *out = c->out;
    g_string_append_printf(out, "port=%u state=%s phys=%s", port, state_name(sim_port_state(p)),
                           phys_name(sim_phys_state(p)));
    if (port > 0)
        g_string_append_printf(out, " width=%s speed=%s mtu=%u", fabric_width_name(p->info[31]),
                               fabric_speed_name(active_speed(c->s, p)),
                               128u << MIN(p->info[36] >> 4, 5));
    if (n->sw == NULL || port == 0)
        show_management(out, p);
    if (port > 0)
        g_string_append_printf(
            out, " cable=%s peer=%s",
            p->peer_node == SIM_NONE ? "none"
            : p->unplugged           ? "pulled"
                                     : "plugged",
            p->peer_node == SIM_NONE ? "-" : sim_port_name(c->s, p->peer_node, p->peer_port));
    if (p->mute)
        g_string_append(out, " mute=yes");
    if (p->disturbance != NULL)
        show_disturbance(out, p->disturbance);
    g_string_append_c(out, '\n');
}

static void show_node(struct script_call *c, uint32_t node)
{
    static const char *const types[] = {"?", "ca", "switch", "router"};
    const struct sim_node *n = &c->s->nodes[node];
    g_autofree char *name = g_strdup(sim_port_name(c->s, node, 0));
    name[strlen(name) - strlen("[0]")] = '\0';
    g_string_append_printf(
        c->out,
        "node=%s type=%s guid=0x%016" G_GINT64_MODIFIER "x shows_guid=0x%016" G_GINT64_MODIFIER
        "x ports=%u power=%s service=%" G_GINT64_FORMAT "ns buffer=%u\n",
        name, types[n->type < G_N_ELEMENTS(types) ? n->type : 0], n->guid, get64(n->info + 12),
        n->nports, n->powered ? "on" : "off", n->service_ns, n->vl15_size);
    if (n->sw != NULL)
        g_string_append_printf(c->out, "lft_top=%u mft_top=0x%04x port_state_change=%u\n",
                               get16(n->sw->info + 6), get16(n->sw->info + 18),
                               n->sw->info[11] >> 2 & 1);
}

static bool do_show(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    char error[512];
    if (!script_node(c, c->argv[1], &node) ||
        !sim_find_port(c->s, c->argv[1], &node, &port, error, sizeof(error)))
        return false;
    if (c->dry)
        return true;
    const struct sim_node *n = &c->s->nodes[node];
    bool is_port = script_names_port(c->argv[1], port);
    show_node(c, node);
    for (unsigned i = n->sw ? 0 : 1; i <= n->nports; i++)
        if (!is_port || i == port)
            show_port(c, node, i);
    return true;
}

static const struct script_command commands[] = {
    {"status", "", "nodes, links, states, packets, drops, hosts, Sets", 0, 0, do_status},
    {"show", "NODE|PORT", "what it is, its states, LIDs, keys, cables", 1, 1, do_show},
};

const struct script_table script_show_table = {commands, G_N_ELEMENTS(commands)};
