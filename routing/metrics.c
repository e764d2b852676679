/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads of links under all-to-all, random permutations and shifts. */
#include "routing/metrics.h"

#include <glib.h>
#include <string.h>

struct measure {
    const struct rt_graph *g;
    const struct rt_tables *t;
    const uint32_t *hosts;
    uint32_t host_count;
    uint32_t *channel_at; /* by (switch, port): 256 a switch */
    uint32_t *load;       /* of each channel */
};

static void index_channels(struct measure *m)
{
    for (uint32_t s = 0; s < m->g->switch_count; s++)
        for (uint32_t i = 0; i < m->g->switches[s].group_count; i++) {
            const struct rt_group *group = &m->g->groups[m->g->switches[s].first_group + i];
            for (uint32_t l = group->first_link; l < group->first_link + group->link_count; l++)
                m->channel_at[s * 256u + m->g->links[l].port] = l;
        }
}

static uint32_t next_channel(const struct measure *m, uint32_t sw, const struct rt_dest *to)
{
    return m->channel_at[sw * 256u + m->t->rows[sw][to->lid]];
}

/* Adds one unit of load on the way; returns the greatest load that it met. */
static uint32_t load_path(struct measure *m, uint32_t from, uint32_t to)
{
    const struct rt_dest *d = &m->g->dests[to];
    uint32_t greatest = 0;
    for (uint32_t s = m->g->dests[from].sw; s != d->sw;) {
        uint32_t channel = next_channel(m, s, d);
        m->load[channel]++;
        greatest = MAX(greatest, m->load[channel]);
        s = m->g->links[channel].peer;
    }
    return greatest;
}

static void clear_load(struct measure *m)
{
    memset(m->load, 0, m->g->link_count * sizeof *m->load);
}

static uint32_t measure_shifts(struct measure *m)
{
    uint32_t greatest = 0;
    for (uint32_t shift = 1; shift < m->host_count; shift++) {
        clear_load(m);
        for (uint32_t i = 0; i < m->host_count; i++) {
            uint32_t load = load_path(m, m->hosts[i], m->hosts[(i + shift) % m->host_count]);
            greatest = MAX(greatest, load);
        }
    }
    return greatest;
}

/* splitmix64 (Steele et al. 2014): the same permutations on every machine. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static gint compare_loads(gconstpointer a, gconstpointer b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t measure_permutations(struct measure *m, uint32_t count, uint64_t seed)
{
    g_autofree uint32_t *to = g_memdup2(m->hosts, m->host_count * sizeof *to);
    g_autofree uint32_t *worst = g_new0(uint32_t, count + 1);
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t i = m->host_count; i > 1; i--) {
            uint32_t j = draw(&seed) % i, other = to[j];
            to[j] = to[i - 1];
            to[i - 1] = other;
        }
        clear_load(m);
        for (uint32_t i = 0; i < m->host_count; i++) {
            uint32_t load = load_path(m, m->hosts[i], to[i]);
            worst[n] = MAX(worst[n], load);
        }
    }
    qsort(worst, count, sizeof *worst, compare_loads);
    return count ? worst[count / 2] : 0;
}

/* Hosts of one switch share their ways, so sources are counted by switch: a bit set a channel. */
struct all_to_all {
    uint32_t *hosts_of;            /* each switch */
    uint32_t *destinations, *last; /* of each channel */
    uint64_t *sources;
    uint32_t words;
};

static void add_destination(struct measure *m, struct all_to_all *a, uint32_t host, double *hops)
{
    const struct rt_dest *d = &m->g->dests[host];
    for (uint32_t source = 0; source < m->g->switch_count; source++) {
        if (a->hosts_of[source] == 0)
            continue;
        for (uint32_t s = source; s != d->sw; *hops += a->hosts_of[source]) {
            uint32_t channel = next_channel(m, s, d);
            a->destinations[channel] += a->last[channel] != host;
            a->last[channel] = host;
            a->sources[(size_t)channel * a->words + source / 64] |= UINT64_C(1) << (source % 64);
            s = m->g->links[channel].peer;
        }
    }
}

static void measure_all_to_all(struct measure *m, struct rt_metrics *out)
{
    uint32_t n = m->g->switch_count, links = m->g->link_count;
    double hops = 0;
    struct all_to_all a = {.words = n / 64 + 1};
    a.hosts_of = g_new0(uint32_t, n + 1);
    a.destinations = g_new0(uint32_t, links + 1);
    a.last = g_new(uint32_t, links + 1);
    memset(a.last, 0xFF, links * sizeof *a.last);
    a.sources = g_new0(uint64_t, (size_t)links * a.words + 1);
    for (uint32_t i = 0; i < m->host_count; i++)
        a.hosts_of[m->g->dests[m->hosts[i]].sw]++;
    for (uint32_t i = 0; i < m->host_count; i++)
        add_destination(m, &a, m->hosts[i], &hops);
    for (uint32_t l = 0; l < links; l++) {
        uint32_t sources = 0;
        for (uint32_t s = 0; s < n; s++)
            if (a.sources[(size_t)l * a.words + s / 64] >> (s % 64) & 1)
                sources += a.hosts_of[s];
        out->a2a = MAX(out->a2a, MIN(sources, a.destinations[l]));
    }
    if (m->host_count > 1)
        out->mean_hops = hops / ((double)m->host_count * (m->host_count - 1));
    g_free(a.hosts_of);
    g_free(a.destinations);
    g_free(a.last);
    g_free(a.sources);
}

void rt_measure(const struct rt_graph *g, const struct rt_tables *t, const uint32_t *hosts,
                uint32_t host_count, uint32_t permutations, uint64_t seed,
                struct rt_metrics *metrics)
{
    memset(metrics, 0, sizeof *metrics);
    struct measure m = {.g = g, .t = t, .hosts = hosts, .host_count = host_count};
    m.channel_at = g_new0(uint32_t, g->switch_count * 256u + 1);
    m.load = g_new0(uint32_t, g->link_count + 1);
    index_channels(&m);
    measure_all_to_all(&m, metrics);
    metrics->rp = measure_permutations(&m, permutations, seed);
    metrics->sp = measure_shifts(&m);
    g_free(m.channel_at);
    g_free(m.load);
}
