/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads of links under the patterns of jobs.
 *
 * All ways to one destination make a tree (each switch has one way on), so an all-to-all is walked
 * destination by destination: the switches on the ways, those further off first, hand on how many
 * flows come together in them, and from which switches. */
#include "routing/jobs.h"

#include <glib.h>
#include <string.h>

#include "routing/order.h"
#include "routing/walk.h"

/* -- tiers ----------------------------------------------------------------------------------- */

void rt_tiers_make(const struct rt_graph *g, struct rt_tiers *tiers)
{
    const struct rt_options none = {0};
    struct rt_orders orders;
    rt_orders_make(g, &none, false, &orders);
    bool layered = memchr(orders.leaf, false, g->switch_count) != NULL;
    *tiers = (struct rt_tiers){.tier = g_new0(uint8_t, g->link_count + 1),
                               .direction = g_new0(uint8_t, g->link_count + 1)};
    for (uint32_t i = 0; i < g->switch_count; i++)
        for (uint32_t k = 0; k < g->switches[i].group_count; k++) {
            const struct rt_group *group = &g->groups[g->switches[i].first_group + k];
            uint32_t here = layered ? orders.rank[i] : 0;
            uint32_t there = layered ? orders.rank[group->peer] : 0;
            uint8_t tier = (uint8_t)MIN(MIN(here, there), RT_TIERS - 1);
            memset(tiers->tier + group->first_link, tier, group->link_count);
            memset(tiers->direction + group->first_link,
                   here == there ? RT_LEVEL : (here < there ? RT_UP : RT_DOWN), group->link_count);
            tiers->count = MAX(tiers->count, tier + 1u);
        }
    rt_orders_clear(&orders);
}

void rt_tiers_clear(struct rt_tiers *tiers)
{
    g_free(tiers->tier);
    g_free(tiers->direction);
}

/* -- loads of links -------------------------------------------------------------------------- */

struct loads { /* by link */
    uint32_t *flows;
    uint32_t *senders, *receivers; /* ports that send, and that receive, through it */
    uint64_t pairs, lost;
};

static void loads_init(struct loads *l, uint32_t links)
{
    *l = (struct loads){.flows = g_new0(uint32_t, links + 1),
                        .senders = g_new0(uint32_t, links + 1),
                        .receivers = g_new0(uint32_t, links + 1)};
}

static void loads_reset(struct loads *l, uint32_t links)
{
    memset(l->flows, 0, links * sizeof *l->flows);
    memset(l->senders, 0, links * sizeof *l->senders);
    memset(l->receivers, 0, links * sizeof *l->receivers);
    l->pairs = l->lost = 0;
}

static void loads_clear(struct loads *l)
{
    g_free(l->flows);
    g_free(l->senders);
    g_free(l->receivers);
}

static void add(uint32_t *sum, uint32_t more)
{
    *sum = more > UINT32_MAX - *sum ? UINT32_MAX : *sum + more;
}

static void loads_add(struct loads *to, const struct loads *from, uint32_t links)
{
    for (uint32_t i = 0; i < links; i++) {
        add(&to->flows[i], from->flows[i]);
        add(&to->senders[i], from->senders[i]);
        add(&to->receivers[i], from->receivers[i]);
    }
    to->pairs += from->pairs;
    to->lost += from->lost;
}

static void summarise(const struct loads *l, const struct rt_tiers *tiers, uint32_t links,
                      struct rt_load *out)
{
    uint64_t flows = 0, contention = 0;
    *out = (struct rt_load){.flows = l->pairs, .lost = l->lost};
    for (uint32_t i = 0; i < links; i++) {
        uint32_t least = MIN(l->senders[i], l->receivers[i]);
        uint32_t *tier = &out->tier_max[tiers->tier[i]][tiers->direction[i]];
        if (l->flows[i] == 0)
            continue;
        out->links_used++;
        out->max = MAX(out->max, l->flows[i]);
        out->contention = MAX(out->contention, least);
        *tier = MAX(*tier, l->flows[i]);
        flows += l->flows[i];
        contention += least;
    }
    if (out->links_used > 0) {
        out->mean = (double)flows / out->links_used;
        out->mean_contention = (double)contention / out->links_used;
    }
}

/* -- ways ------------------------------------------------------------------------------------ */

enum { UNKNOWN = 0, ON_THE_WAY, ARRIVES, LOST };

struct walker {
    const struct rt_graph *g;
    struct rt_walk walk;
    uint8_t *state;     /* of a switch, for the destination in hand */
    uint32_t *out;      /* of a switch that is known: the link on */
    uint32_t *known;    /* switches, those nearer to the destination first */
    uint32_t *way;      /* links or switches of one way */
    uint32_t *weight;   /* flows that come together in a switch */
    uint32_t *ports_of; /* of those in hand: how many are at a switch */
    uint32_t *source;   /* the switches that send, in the order of the sets */
    uint32_t known_count, source_count, words;
    uint64_t *below, *through; /* sets of sending switches: by switch, by link */
};

static void walker_init(struct walker *w, const struct rt_graph *g, const struct rt_tables *t)
{
    uint32_t n = g->switch_count + 1;
    *w = (struct walker){.g = g};
    rt_walk_init(&w->walk, g, t);
    w->state = g_new0(uint8_t, n);
    w->out = g_new(uint32_t, n);
    w->known = g_new(uint32_t, n);
    w->way = g_new(uint32_t, n);
    w->weight = g_new0(uint32_t, n);
    w->ports_of = g_new0(uint32_t, n);
    w->source = g_new(uint32_t, n);
}

static void walker_clear(struct walker *w)
{
    rt_walk_clear(&w->walk);
    g_free(w->state);
    g_free(w->out);
    g_free(w->known);
    g_free(w->way);
    g_free(w->weight);
    g_free(w->ports_of);
    g_free(w->source);
}

/* -- rings ----------------------------------------------------------------------------------- */

static void add_flow(struct walker *w, struct loads *l, uint32_t from, uint32_t to)
{
    const struct rt_dest *d = &w->g->dests[to];
    uint32_t s = w->g->dests[from].sw, hops = 0;
    l->pairs++;
    for (; s != d->sw; hops++) {
        uint32_t channel = rt_walk_next(&w->walk, s, d);
        if (channel == RT_NONE || hops == w->g->switch_count) { /* so many hops are a loop */
            l->lost++;
            return;
        }
        w->way[hops] = channel;
        s = w->g->links[channel].peer;
    }
    for (uint32_t i = 0; i < hops; i++) { /* each port sends one flow and receives one */
        add(&l->flows[w->way[i]], 1);
        add(&l->senders[w->way[i]], 1);
        add(&l->receivers[w->way[i]], 1);
    }
}

static uint32_t rail_count(const struct rt_job *job, uint32_t server)
{
    return job->first[server + 1] - job->first[server];
}

/* The ports of rail r, in the order of servers. */
static uint32_t list_rail(const struct rt_job *job, uint32_t r, uint32_t *ports)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->server_count; i++)
        if (r < rail_count(job, i))
            ports[count++] = job->dests[job->first[i] + r];
    return count;
}

static uint32_t most_rails(const struct rt_job *job)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < job->server_count; i++)
        most = MAX(most, rail_count(job, i));
    return most;
}

static void load_ring(struct walker *w, const uint32_t *ports, uint32_t count, struct loads *l)
{
    for (uint32_t i = 0; count > 1 && i < count; i++)
        add_flow(w, l, ports[i], ports[(i + 1) % count]);
}

/* -- all to all ------------------------------------------------------------------------------ */

/* Follows the way from s to a switch of which the end is known already, or to its end. */
static void explore(struct walker *w, uint32_t s, const struct rt_dest *to)
{
    uint32_t length = 0;
    while (w->state[s] == UNKNOWN) {
        uint32_t channel = rt_walk_next(&w->walk, s, to);
        w->state[s] = ON_THE_WAY;
        w->way[length++] = s;
        w->out[s] = channel;
        if (channel == RT_NONE)
            break;
        s = w->g->links[channel].peer;
    }
    uint8_t end = w->state[s] == ARRIVES ? ARRIVES : LOST; /* ON_THE_WAY: a loop, or a dead end */
    while (length > 0) {
        s = w->way[--length];
        w->state[s] = end;
        w->known[w->known_count++] = s;
    }
}

/* From the switches that are furthest off to the destination's. */
static void hand_on(struct walker *w, struct loads *l)
{
    while (w->known_count > 0) {
        uint32_t s = w->known[--w->known_count], words = w->words;
        uint64_t *below = w->below + (size_t)s * words;
        if (w->state[s] == ARRIVES) {
            uint32_t channel = w->out[s], peer = w->g->links[channel].peer;
            uint64_t *beyond = w->below + (size_t)peer * words;
            uint64_t *through = w->through + (size_t)channel * words;
            add(&l->flows[channel], w->weight[s]);
            add(&l->receivers[channel], 1);
            w->weight[peer] += w->weight[s];
            for (uint32_t i = 0; i < words; i++) {
                beyond[i] |= below[i];
                through[i] |= below[i];
            }
        }
        w->state[s] = UNKNOWN;
        w->weight[s] = 0;
        memset(below, 0, words * sizeof *below);
    }
}

static void load_destination(struct walker *w, uint32_t dest, struct loads *l)
{
    const struct rt_dest *to = &w->g->dests[dest];
    w->state[to->sw] = ARRIVES;
    for (uint32_t i = 0; i < w->source_count; i++) {
        uint32_t s = w->source[i];
        explore(w, s, to);
        if (w->state[s] == LOST) {
            l->lost += w->ports_of[s];
        } else if (s != to->sw) {
            w->weight[s] += w->ports_of[s];
            if (w->words > 0)
                w->below[(size_t)s * w->words + i / 64] |= UINT64_C(1) << (i % 64);
        }
    }
    hand_on(w, l);
    w->state[to->sw] = UNKNOWN;
    w->weight[to->sw] = 0;
    memset(w->below + (size_t)to->sw * w->words, 0, w->words * sizeof *w->below);
}

static void count_senders(struct walker *w, struct loads *l)
{
    for (uint32_t link = 0; link < w->g->link_count; link++)
        for (uint32_t i = 0; i < w->words; i++)
            for (uint64_t set = w->through[(size_t)link * w->words + i]; set; set &= set - 1) {
                uint32_t s = w->source[i * 64 + (unsigned)__builtin_ctzll(set)];
                add(&l->senders[link], w->ports_of[s]);
            }
}

/* Without `senders` l->senders stays as it is. */
static void load_all_to_all(struct walker *w, const uint32_t *ports, uint32_t count, bool senders,
                            struct loads *l)
{
    w->source_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = w->g->dests[ports[i]].sw;
        if (w->ports_of[s]++ == 0)
            w->source[w->source_count++] = s;
    }
    w->words = senders ? w->source_count / 64 + 1 : 0;
    w->below = g_new0(uint64_t, (size_t)w->g->switch_count * w->words + 1);
    w->through = g_new0(uint64_t, (size_t)w->g->link_count * w->words + 1);
    for (uint32_t i = 0; i < count; i++)
        load_destination(w, ports[i], l);
    l->pairs += (uint64_t)count * (count - (count > 0));
    count_senders(w, l);
    for (uint32_t i = 0; i < w->source_count; i++)
        w->ports_of[w->source[i]] = 0;
    g_free(w->below);
    g_free(w->through);
}

/* -------------------------------------------------------------------------------------------- */

static void load_pattern(struct walker *w, const struct rt_job *job, enum rt_pattern pattern,
                         struct loads *l)
{
    uint32_t rails = pattern == RT_ALL_TO_ALL ? 0 : most_rails(job), start = job->first[0];
    g_autofree uint32_t *ports = g_new(uint32_t, job->server_count + 1);
    if (pattern == RT_ALL_TO_ALL)
        load_all_to_all(w, job->dests + start, job->first[job->server_count] - start, true, l);
    for (uint32_t r = 0; r < rails; r++) {
        uint32_t count = list_rail(job, r, ports);
        if (pattern == RT_RING)
            load_ring(w, ports, count, l);
        else
            load_all_to_all(w, ports, count, true, l);
    }
}

void rt_measure_jobs(const struct rt_graph *g, const struct rt_tables *t, const struct rt_job *jobs,
                     uint32_t job_count, struct rt_job_loads *results,
                     struct rt_job_loads *together)
{
    struct walker w;
    struct rt_tiers tiers;
    struct loads one, all;
    walker_init(&w, g, t);
    rt_tiers_make(g, &tiers);
    loads_init(&one, g->link_count);
    loads_init(&all, g->link_count);
    for (unsigned p = 0; p < RT_PATTERNS; p++) {
        loads_reset(&all, g->link_count);
        for (uint32_t i = 0; i < job_count; i++) {
            loads_reset(&one, g->link_count);
            load_pattern(&w, &jobs[i], (enum rt_pattern)p, &one);
            summarise(&one, &tiers, g->link_count, &results[i].of[p]);
            loads_add(&all, &one, g->link_count);
        }
        summarise(&all, &tiers, g->link_count, &together->of[p]);
    }
    loads_clear(&one);
    loads_clear(&all);
    rt_tiers_clear(&tiers);
    walker_clear(&w);
}

uint64_t rt_link_loads(const struct rt_graph *g, const struct rt_tables *t, const uint32_t *hosts,
                       uint32_t host_count, uint32_t *load_of_link)
{
    struct walker w;
    struct loads l;
    walker_init(&w, g, t);
    loads_init(&l, g->link_count);
    load_all_to_all(&w, hosts, host_count, false, &l);
    memcpy(load_of_link, l.flows, g->link_count * sizeof *load_of_link);
    uint64_t lost = l.lost;
    loads_clear(&l);
    walker_clear(&w);
    return lost;
}
