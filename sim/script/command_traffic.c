/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands about packets: counters, traps, keys, pings, modelled hosts. */
#include <string.h>

#include "sim/agents/agent.h"
#include "sim/agents/pma.h"
#include "sim/core/ping.h"
#include "sim/core/timers.h"
#include "sim/hosts/host.h"
#include "sim/script/private.h"

#define FIRST_MLID 0xc000u
#define LAST_MLID 0xfffeu
#define MAX_PING_RATE 1000000u
#define NS_PER_MS 1000000u
#define DATA_QP 2u /* any that is neither QP 0 nor QP 1 */

static bool do_counter(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    enum sim_counter counter;
    uint64_t value;
    if (!script_any_port(c, c->argv[1], &node, &port))
        return false;
    if (!sim_counter_by_name(c->argv[2], &counter))
        return script_fail(c, "there is no counter \"%s\": take a name as %s",
                           script_shown(c->argv[2]), sim_counter_name(SIM_CNT_SYMBOL_ERRORS));
    if (!script_number(c, "the value", c->argv[3], 0, UINT64_MAX, &value))
        return false;
    if (c->dry)
        return true;
    sim_count(c->s, node, port, counter, 0); /* so that the array is there */
    sim_port(c->s, node, port)->counters[counter] = value;
    return true;
}

/* -- traps ------------------------------------------------------------------------------------- */

/* The packet that such a trap tells of: from the port itself, with keys that fit nowhere. */
static struct sim_packet offender(struct sim *s, uint32_t node, unsigned port, unsigned number)
{
    uint16_t lid = sim_lid(sim_end_port(s, node, port));
    struct sim_packet p = {.dlid = lid, .slid = lid, .dqp = number == 256 ? 0 : 1};
    p.sqp = p.dqp;
    p.pkey = number == 258 ? 0xffff : 0x7ffe;
    p.qkey = number == 258 ? 1 : SIM_GSI_QKEY;
    p.mad[0] = 1;                           /* BaseVersion */
    p.mad[1] = number == 256 ? 0x01 : 0x03; /* SubnMgt (LID routed), SubnAdm */
    p.mad[2] = number == 256 ? 1 : 2;       /* ClassVersion */
    p.mad[3] = 0x02;                        /* Set */
    put16(p.mad + 16, 0x0015);              /* PortInfo */
    put64(p.mad + 24, 0xbad);               /* the M_Key of an SMP */
    return p;
}

static void raise_trap(struct sim *s, uint32_t node, unsigned port, unsigned number)
{
    struct sim_packet p = offender(s, node, port, number);
    switch (number) {
    case 128:
        sim_trap_link_state(s, node);
        break;
    case 144:
        sim_trap_capability(s, node, port);
        break;
    case 145:
        sim_trap_system_guid(s, node, port);
        break;
    case 256:
        sim_trap_mkey(s, node, port, &p);
        break;
    case 257:
    case 258:
    case 259:
        sim_trap_key(s, node, port, number, &p);
        break;
    default:
        sim_trap_threshold(s, node, port, number);
    }
}

static bool do_trap(struct script_call *c)
{
    static const unsigned known[] = {128, 129, 130, 131, 144, 145, 256, 257, 258, 259};
    uint32_t node;
    unsigned port, i = 0;
    uint64_t number;
    if (!script_any_port(c, c->argv[1], &node, &port) ||
        !script_number(c, "the number", c->argv[2], 128, 259, &number))
        return false;
    while (i < G_N_ELEMENTS(known) && known[i] != number)
        i++;
    if (i == G_N_ELEMENTS(known))
        return script_fail(c, "no agent sends trap %u: take 128 to 131, 144, 145 or 256 to 259",
                           (unsigned)number);
    bool is_switch = c->s->nodes[node].sw != NULL;
    if (number == 128 && !is_switch)
        return script_fail(c, "only switches send trap 128: name one");
    if (((number >= 129 && number <= 131) || number == 259) && port == 0)
        return script_fail(c, "trap %u tells of an external port: name one, as NODE[1]",
                           (unsigned)number);
    if (number == 259 && !is_switch)
        return script_fail(c, "only switches send trap 259: name a port of one");
    if (c->dry)
        return true;
    const struct sim_port *end = sim_end_port(c->s, node, port);
    bool is_heard = c->s->nodes[node].powered && !end->mute && sim_lid(end) != 0 &&
                    get16(end->info + 18) != 0; /* MasterSMLID */
    if (number == 144 || number == 145 || (number >= 256 && number <= 258))
        port = end->number; /* these tell of the end port */
    raise_trap(c->s, node, port, (unsigned)number);
    g_string_append_printf(c->out, "result=%s\n", is_heard ? "raised" : "nowhere");
    return true;
}

/* -- keys -------------------------------------------------------------------------------------- */

static void show_key(struct script_call *c, const struct sim_port *p)
{
    g_string_append_printf(c->out,
                           "key=0x%016" G_GINT64_MODIFIER "x protect=%u lease=%u violations=%u\n",
                           sim_mkey(p), p->info[34] >> 6, get16(p->info + 26), get16(p->info + 44));
}

static bool do_key(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    uint64_t key = 0, protect = 0, lease = 0;
    struct script_option options[] = {
        {.name = "protect", .kind = SCRIPT_NUMBER, .max = 3, .value = &protect},
        {.name = "lease", .kind = SCRIPT_NUMBER, .max = UINT16_MAX, .value = &lease},
    };
    if (!script_any_port(c, c->argv[1], &node, &port))
        return false;
    if (c->argc > 2 && (!script_number(c, "the key", c->argv[2], 0, UINT64_MAX, &key) ||
                        !script_options(c, 3, options, G_N_ELEMENTS(options))))
        return false;
    if (c->dry)
        return true;
    struct sim_port *p = sim_end_port(c->s, node, port);
    if (c->argc == 2) {
        show_key(c, p);
        return true;
    }
    put64(p->info, key);
    if (options[0].given)
        p->info[34] = (uint8_t)(protect << 6 | (p->info[34] & 0x3f));
    if (options[1].given)
        put16(p->info + 26, (uint16_t)lease);
    sim_timer_cancel(c->s, p->lease_timer); /* it ran for the key of before */
    p->lease_timer = NULL;
    p->lease_ends = SIM_NEVER;
    return true;
}

#define CAPABILITY_MASK 20 /* byte of PortInfo */
#define CAP_SM 0x2u        /* a client's, by IsSM */

static bool do_capability(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    uint64_t mask = 0;
    if (!script_any_port(c, c->argv[1], &node, &port) ||
        (c->argc > 2 && !script_number(c, "the mask", c->argv[2], 0, UINT32_MAX, &mask)))
        return false;
    if (c->dry)
        return true;
    struct sim_port *p = sim_end_port(c->s, node, port);
    uint32_t now = get32(p->info + CAPABILITY_MASK);
    if (c->argc == 2) {
        g_string_append_printf(c->out, "capability=0x%08x\n", now);
        return true;
    }
    put32(p->info + CAPABILITY_MASK, ((uint32_t)mask & ~CAP_SM) | (now & CAP_SM));
    if (get32(p->info + CAPABILITY_MASK) != now)
        sim_trap_capability(c->s, node, p->number);
    return true;
}

/* -- packets ----------------------------------------------------------------------------------- */

/* What became of a packet: told at once, unless a delay keeps it. */
static void send_and_tell(struct script_call *c, uint32_t node, unsigned port,
                          const struct sim_packet *p)
{
    struct sim *s = c->s;
    uint64_t before[SIM_DROP_COUNT];
    unsigned under_way = sim_transit_count(s), lost = 0;
    memcpy(before, s->drops, sizeof(before));
    sim_transit_send(s, node, port, SIM_KIND_PING, p); /* number 0: of no stream */
    g_string_append(c->out, "result=");
    for (int i = 0; i < SIM_DROP_COUNT; i++)
        if (s->drops[i] > before[i])
            g_string_append_printf(c->out, "%s%s", lost++ > 0 ? "," : "", sim_drop_name(i));
    if (lost == 0)
        g_string_append(c->out, sim_transit_count(s) > under_way ? "under-way" : "arrived");
    g_string_append_c(c->out, '\n');
}

static bool do_send(struct script_call *c)
{
    uint32_t node;
    unsigned port;
    uint64_t dlid = 0, pkey = 0, qkey = 0, sl = 0;
    struct script_option options[] = {
        {.name = "dlid", .kind = SCRIPT_NUMBER, .min = 1, .max = LAST_MLID, .value = &dlid},
        {.name = "pkey", .kind = SCRIPT_NUMBER, .min = 1, .max = UINT16_MAX, .value = &pkey},
        {.name = "qkey", .kind = SCRIPT_NUMBER, .min = 1, .max = UINT32_MAX, .value = &qkey},
        {.name = "sl", .kind = SCRIPT_NUMBER, .max = 15, .value = &sl},
    };
    if (!script_any_port(c, c->argv[1], &node, &port) ||
        !script_options(c, 2, options, G_N_ELEMENTS(options)))
        return false;
    if (!options[0].given)
        return script_fail(c, "say where to: dlid=N");
    if (c->dry)
        return true;
    struct sim_packet p = {.dlid = (uint16_t)dlid, .dqp = DATA_QP, .sqp = DATA_QP};
    p.sl = (uint8_t)sl;
    p.pkey = (uint16_t)pkey;
    p.qkey = (uint32_t)qkey;
    send_and_tell(c, node, port, &p);
    return true;
}

static bool ping_start(struct script_call *c)
{
    struct sim_ping_spec spec = {.to_node = SIM_NONE};
    uint64_t mlid = 0, rate = 1, count = 0, sl = 0, pkey = 0;
    char error[512];
    struct script_option options[] = {
        {.name = "mlid",
         .kind = SCRIPT_NUMBER,
         .min = FIRST_MLID,
         .max = LAST_MLID,
         .value = &mlid},
        {.name = "rate", .kind = SCRIPT_NUMBER, .min = 1, .max = MAX_PING_RATE, .value = &rate},
        {.name = "count", .kind = SCRIPT_NUMBER, .min = 1, .max = UINT64_MAX, .value = &count},
        {.name = "sl", .kind = SCRIPT_NUMBER, .max = 15, .value = &sl},
        {.name = "pkey", .kind = SCRIPT_NUMBER, .min = 1, .max = UINT16_MAX, .value = &pkey},
    };
    if (c->argc < 4)
        return script_fail(c, "it is ping start FROM TO|mlid=0x.. and options");
    bool group = g_str_has_prefix(c->argv[3], "mlid=");
    if (!script_any_port(c, c->argv[2], &spec.from_node, &spec.from_port) ||
        (!group && !script_any_port(c, c->argv[3], &spec.to_node, &spec.to_port)) ||
        !script_options(c, group ? 3 : 4, options, G_N_ELEMENTS(options)))
        return false;
    if (!group && options[0].given)
        return script_fail(c, "TO and mlid= are both there: leave one out");
    if (c->dry)
        return true;
    spec.mlid = (uint16_t)mlid;
    spec.rate = (uint32_t)rate;
    spec.count = count;
    spec.sl = (uint8_t)sl;
    spec.pkey = (uint16_t)pkey;
    unsigned stream = sim_ping_start(c->s, &spec, error, sizeof(error));
    if (stream == 0)
        return script_fail(c, "%s", error);
    c->s->script->last_stream = MAX(c->s->script->last_stream, stream);
    g_string_append_printf(c->out, "stream=%u\n", stream);
    return true;
}

static void show_ping(GString *out, unsigned stream, const struct sim_ping_result *r)
{
    g_string_append_printf(out,
                           "stream=%u sent=%" G_GUINT64_FORMAT " answered=%" G_GUINT64_FORMAT
                           " lost=%" G_GUINT64_FORMAT " doubled=%" G_GUINT64_FORMAT
                           " first_loss=%" G_GINT64_FORMAT " last_loss=%" G_GINT64_FORMAT
                           " longest_gap=%" G_GINT64_FORMAT,
                           stream, r->sent, r->answered, r->lost, r->doubled, r->first_loss,
                           r->last_loss, r->longest_gap);
    for (int i = 0; i < SIM_DROP_COUNT; i++)
        if (r->by_cause[i] > 0)
            g_string_append_printf(out, " %s=%" G_GUINT64_FORMAT, sim_drop_name(i), r->by_cause[i]);
    g_string_append_c(out, '\n');
}

static bool ping_one(struct script_call *c, const char *what, unsigned stream)
{
    struct sim_ping_result r;
    bool is_there = sim_ping_result(c->s, stream, &r);
    if (!is_there)
        return false;
    if (strcmp(what, "stop") == 0)
        sim_ping_stop(c->s, stream);
    else if (strcmp(what, "losses") == 0)
        sim_ping_losses(c->s, stream, c->out);
    else
        show_ping(c->out, stream, &r);
    return true;
}

static bool do_ping(struct script_call *c)
{
    static const char *const known[] = {"start", "stop", "status", "losses"};
    uint64_t stream = 0;
    size_t i = 0;
    while (i < G_N_ELEMENTS(known) && strcmp(known[i], c->argv[1]) != 0)
        i++;
    if (i == G_N_ELEMENTS(known))
        return script_fail(c, "\"%s\" must be start, stop, status or losses",
                           script_shown(c->argv[1]));
    if (i == 0)
        return ping_start(c);
    if (c->argc > 3)
        return script_fail(c, "too many words: it is ping %s [N]", known[i]);
    if (c->argc == 3 && !script_number(c, "the stream", c->argv[2], 1, UINT32_MAX, &stream))
        return false;
    if (c->dry)
        return true;
    if (stream > 0)
        return ping_one(c, known[i], (unsigned)stream) ||
               script_fail(c, "there is no stream %u: see ping status", (unsigned)stream);
    if (strcmp(known[i], "stop") == 0)
        sim_ping_stop(c->s, 0);
    else if (strcmp(known[i], "losses") == 0)
        sim_ping_losses(c->s, 0, c->out);
    else
        for (unsigned n = 1; n <= c->s->script->last_stream; n++)
            ping_one(c, known[i], n);
    return true;
}

/* -- hosts ------------------------------------------------------------------------------------- */

static bool hosts_start(struct script_call *c)
{
    uint32_t node = SIM_NONE;
    uint64_t groups = 0, services = 0, paths = 1, inform = 0, timeout = 0, retries = 3, spread = 0,
             lease = 0;
    struct script_option options[] = {
        {.name = "groups", .kind = SCRIPT_NUMBER, .max = 1000, .value = &groups},
        {.name = "services", .kind = SCRIPT_NUMBER, .max = 1000, .value = &services},
        {.name = "paths", .kind = SCRIPT_NUMBER, .max = SIM_HOST_MAX_RECORDS, .value = &paths},
        {.name = "inform", .kind = SCRIPT_YES_NO, .value = &inform},
        {.name = "timeout", .kind = SCRIPT_TIME, .value = &timeout},
        {.name = "retries", .kind = SCRIPT_NUMBER, .max = 100, .value = &retries},
        {.name = "spread", .kind = SCRIPT_TIME, .value = &spread},
        {.name = "lease", .kind = SCRIPT_TIME, .value = &lease},
    };
    bool named = c->argc > 2 && strchr(c->argv[2], '=') == NULL;
    if (named && !script_node(c, c->argv[2], &node))
        return false;
    if (!script_options(c, named ? 3 : 2, options, G_N_ELEMENTS(options)))
        return false;
    if (options[4].given && timeout < NS_PER_MS)
        return script_fail(c, "timeout= must be at least 1ms");
    if (c->dry)
        return true;
    struct sim_host_spec spec = {
        .groups = (unsigned)groups,
        .services = (unsigned)services,
        .paths = (unsigned)paths,
        .inform = inform,
        .timeout_ms = (unsigned)MIN(timeout / NS_PER_MS, INT32_MAX),
        .retries = (unsigned)retries,
        .start_spread_ms = (unsigned)MIN(spread / NS_PER_MS, INT32_MAX),
        .service_lease_s = (unsigned)MIN(lease / NS_PER_MS / 1000, INT32_MAX),
    };
    sim_hosts_start(c->s, node, &spec);
    return true;
}

static bool hosts_other(struct script_call *c, const char *what, bool needs_node)
{
    uint32_t node = SIM_NONE;
    if (c->argc > 3 || (needs_node && c->argc < 3))
        return script_fail(c, "it is hosts %s %s", what, needs_node ? "NODE" : "[NODE]");
    if (c->argc == 3 && !script_node(c, c->argv[2], &node))
        return false;
    if (needs_node && c->s->nodes[node].type != FABRIC_CA)
        return script_fail(c, "%s is no host", script_shown(c->argv[2]));
    if (c->dry)
        return true;
    if (strcmp(what, "stop") == 0)
        sim_hosts_stop(c->s, node);
    else if (strcmp(what, "status") == 0)
        sim_hosts_status(c->s, node, c->out);
    else
        sim_host_process(c->s, node, strcmp(what, "revive") == 0);
    return true;
}

static bool do_hosts(struct script_call *c)
{
    static const char *const known[] = {"stop", "status", "kill", "revive"};
    if (strcmp(c->argv[1], "start") == 0)
        return hosts_start(c);
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        if (strcmp(known[i], c->argv[1]) == 0)
            return hosts_other(c, known[i], i >= 2);
    return script_fail(c, "\"%s\" must be start, stop, status, kill or revive",
                       script_shown(c->argv[1]));
}

static const struct script_command commands[] = {
    {"counter", "PORT NAME VALUE", "set a counter of the PMA, by its field's name", 3, 3,
     do_counter},
    {"trap", "PORT NUMBER", "128-131, 144, 145, 256-259, as if it had happened", 2, 2, do_trap},
    {"key", "PORT [0x<key> [protect=N] [lease=N]]", "show or set the M_Key", 1, 4, do_key},
    {"capability", "PORT [0x<mask>]", "show or set the CapabilityMask (trap 144)", 1, 2,
     do_capability},
    {"send", "PORT dlid=N [pkey=0x..] [qkey=0x..] [sl=N]", "one data packet", 2, 5, do_send},
    {"ping",
     "start FROM TO|mlid=0x.. [rate=N] [count=N] [sl=N] [pkey=0x..] | "
     "stop [N] | status [N] | losses [N]",
     "streams of data packets", 1, 7, do_ping},
    {"hosts",
     "start [NODE] [groups=N] [services=N] [paths=N] [inform=yes|no] [timeout=TIME] [retries=N] "
     "[spread=TIME] [lease=TIME] | stop [NODE] | status [NODE] | kill NODE | revive NODE",
     "modelled Linux hosts", 1, 10, do_hosts},
};

const struct script_table script_traffic_table = {commands, G_N_ELEMENTS(commands)};
