/* SPDX-License-Identifier: BSD-2-Clause */
/* Making and ending a simulated fabric, and what its clients may look at. */
#include <string.h>

#include "sim/agents/agent.h"
#include "sim/core/ping.h"
#include "sim/core/shared.h"
#include "sim/core/timers.h"
#include "sim/core/transit.h"
#include "sim/faults/fault.h"
#include "sim/hosts/host.h"
#include "sim/judge/judge.h"
#include "sim/script/script.h"

#define NAMES 8u /* of sim_port_name, that may be used at once */

static void create_parts(struct sim *s)
{
    s->timers = sim_timers_create();
    s->shared = sim_shared_create();
    s->flights = sim_flights_create();
    s->pings = sim_pings_create();
    s->judge = sim_judge_create();
    s->hosts = sim_hosts_create();
    s->script = sim_script_create();
    s->faults = sim_faults_create();
}

static void power_up(struct sim *s)
{
    for (uint32_t i = 0; i < s->node_count; i++)
        s->nodes[i].powered = true;
    for (uint32_t i = 0; i < s->node_count; i++)
        for (unsigned p = 1; p <= s->nodes[i].nports; p++)
            if (s->nodes[i].ports[p].peer_node != SIM_NONE)
                sim_link_update(s, i, p);
}

struct sim *sim_create(const struct fabric *f, const struct sim_config *config,
                       const struct sim_hooks *hooks, int64_t now)
{
    struct sim *s = g_new0(struct sim, 1);
    guint32 seed[2] = {(guint32)config->seed, (guint32)(config->seed >> 32)};
    s->config = *config;
    s->hooks = *hooks;
    s->now = now;
    s->random = g_rand_new_with_seed_array(seed, G_N_ELEMENTS(seed));
    create_parts(s);
    sim_model_build(s, f);
    power_up(s);
    return s;
}

void sim_destroy(struct sim *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->node_count; i++) {
        sim_samples_forget(s, i);
        for (unsigned p = 0; p <= s->nodes[i].nports; p++) {
            sim_host_free(s->nodes[i].ports[p].host);
            sim_traps_free(&s->nodes[i].ports[p]);
        }
    }
    sim_faults_destroy(s->faults);
    sim_script_destroy(s->script);
    sim_hosts_destroy(s->hosts);
    sim_judge_destroy(s->judge);
    sim_pings_destroy(s->pings);
    sim_flights_destroy(s->flights);
    sim_timers_destroy(s->timers);
    sim_model_free(s);
    sim_shared_destroy(s->shared);
    g_rand_free(s->random);
    g_free(s);
}

void sim_get_port_info(const struct sim *s, uint32_t node, unsigned port, uint8_t info[64])
{
    memcpy(info, s->nodes[node].ports[port].info, 64);
    memset(info, 0, 8); /* the M_Key is the manager's secret */
    info[28] = (uint8_t)port;
}

void sim_get_node_info(const struct sim *s, uint32_t node, unsigned port, uint8_t info[64])
{
    const struct sim_node *n = &s->nodes[node];
    memset(info, 0, 64);
    memcpy(info, n->info, sizeof n->info);
    put64(info + 20, n->ports[n->sw ? 0 : port].guid);
    info[36] = (uint8_t)port;
}

void sim_get_pkeys(const struct sim *s, uint32_t node, unsigned port, uint16_t pkeys[32])
{
    for (unsigned i = 0; i < SIM_PKEY_BLOCK; i++)
        pkeys[i] = sim_pkey(s, node, port, i);
}

bool sim_has_power(const struct sim *s, uint32_t node)
{
    return s->nodes[node].powered;
}

static char *append_escaped(char *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c < ' ' || *c >= 0x7f || *c == '"' || *c == '\\')
            out += g_snprintf(out, 5, "\\x%02x", *c);
        else
            *out++ = (char)*c;
    }
    return out;
}

const char *sim_port_name(const struct sim *s, uint32_t node, unsigned port)
{
    static char ring[NAMES][4 * 64 + 16]; /* each byte escaped, quotes, [255] */
    static unsigned next;
    char *name = ring[next++ % NAMES];
    if (node >= s->node_count)
        return "(no node)";
    name[0] = '"';
    char *end = append_escaped(name + 1, s->nodes[node].description);
    g_snprintf(end, 8, "\"[%u]", port & 255);
    return name;
}

void sim_note(struct sim *s, const char *format, ...)
{
    if (!s->hooks.note)
        return;
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    s->hooks.note(s->hooks.user, line);
}
