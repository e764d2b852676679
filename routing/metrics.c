/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads of links under all-to-all, random permutations and shifts. */
#include "routing/metrics.h"

#include <glib.h>
#include <string.h>

#include "routing/engine.h"
#include "routing/walk.h"

#define BATCH 64u          /* permutations that are drawn before they are walked */
#define HOSTS_OF_A_JOB 64u /* all to all */

struct measure {
    const struct rt_graph *g;
    const struct rt_options *options;
    const uint32_t *hosts;
    uint32_t host_count;
    struct rt_walk walk;
};

/* -- patterns: each host sends to one --------------------------------------------------------- */

struct patterns {
    const struct measure *m;
    const uint32_t *to; /* permutations: of each pattern, the destinations of all hosts */
    uint32_t *shift;    /* shifts: of each pattern */
    uint32_t *worst;    /* of each pattern */
    bool lossless;      /* all pairs have a path */
};

/* Adds one unit of load on the way; returns the greatest load that it met. */
static uint32_t load_path(const struct patterns *p, uint32_t *load, uint32_t from, uint32_t to)
{
    const struct measure *m = p->m;
    const struct rt_dest *d = &m->g->dests[to];
    uint32_t greatest = 0, s = m->g->dests[from].sw;
    if (!p->lossless && !rt_walk_arrives(&m->walk, s, d))
        return 0;
    while (s != d->sw) {
        uint32_t channel = rt_walk_next(&m->walk, s, d);
        load[channel]++;
        greatest = MAX(greatest, load[channel]);
        s = m->g->links[channel].peer;
    }
    return greatest;
}

static void load_permutation(void *context, unsigned n)
{
    const struct patterns *p = context;
    const uint32_t *to = p->to + (size_t)n * p->m->host_count;
    g_autofree uint32_t *load = g_new0(uint32_t, p->m->g->link_count + 1);
    for (uint32_t i = 0; i < p->m->host_count; i++) {
        uint32_t met = load_path(p, load, p->m->hosts[i], to[i]);
        p->worst[n] = MAX(p->worst[n], met);
    }
}

static void load_shift(void *context, unsigned n)
{
    const struct patterns *p = context;
    const struct measure *m = p->m;
    g_autofree uint32_t *load = g_new0(uint32_t, m->g->link_count + 1);
    for (uint32_t i = 0; i < m->host_count; i++) {
        uint32_t to = m->hosts[(i + (uint64_t)p->shift[n]) % m->host_count];
        uint32_t met = load_path(p, load, m->hosts[i], to);
        p->worst[n] = MAX(p->worst[n], met);
    }
}

/* splitmix64 (Steele et al. 2014): the same permutations on every machine. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void shuffle(uint32_t *values, uint32_t count, uint64_t *state)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = draw(state) % i, other = values[j];
        values[j] = values[i - 1];
        values[i - 1] = other;
    }
}

/* The first `count` shifts of a shuffled list of all. */
static uint32_t measure_shifts(const struct measure *m, const struct rt_measuring *how,
                               bool lossless)
{
    uint32_t all = m->host_count > 0 ? m->host_count - 1 : 0, greatest = 0;
    uint32_t count = how->shifts > 0 ? MIN(how->shifts, all) : all;
    uint64_t state = how->seed;
    struct patterns p = {.m = m, .lossless = lossless};
    p.shift = g_new(uint32_t, all + 1);
    p.worst = g_new0(uint32_t, all + 1);
    for (uint32_t i = 0; i < all; i++)
        p.shift[i] = i + 1;
    if (count < all)
        shuffle(p.shift, all, &state);
    rt_parallel(m->options, count, load_shift, &p);
    for (uint32_t i = 0; i < count; i++)
        greatest = MAX(greatest, p.worst[i]);
    g_free(p.shift);
    g_free(p.worst);
    return greatest;
}

static gint compare_loads(gconstpointer a, gconstpointer b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t measure_permutations(const struct measure *m, const struct rt_measuring *how,
                                     bool lossless)
{
    uint32_t hosts = m->host_count, count = how->permutations;
    size_t bytes = hosts * sizeof *m->hosts;
    uint64_t state = how->seed;
    g_autofree uint32_t *to = g_malloc(bytes + 1);
    g_autofree uint32_t *batch = g_malloc(BATCH * bytes + 1);
    g_autofree uint32_t *worst = g_new0(uint32_t, count + 1);
    if (bytes > 0)
        memcpy(to, m->hosts, bytes);
    for (uint32_t n = 0; n < count && hosts > 0;) {
        struct patterns p = {.m = m, .to = batch, .worst = worst + n, .lossless = lossless};
        uint32_t drawn = MIN(BATCH, count - n);
        for (uint32_t i = 0; i < drawn; i++) {
            shuffle(to, hosts, &state);
            memcpy(batch + (size_t)i * hosts, to, bytes);
        }
        rt_parallel(m->options, drawn, load_permutation, &p);
        n += drawn;
    }
    qsort(worst, count, sizeof *worst, compare_loads);
    return count ? worst[count / 2] : 0;
}

/* -- all to all ------------------------------------------------------------------------------- */

/* Hosts of one switch share their ways, so sources are counted by switch: a bit set a channel, of
 * the switches that have hosts. Jobs take some destinations each, and only ever add. */
struct all_to_all {
    const struct measure *m;
    uint32_t *source, *hosts_of; /* switches with hosts, and their hosts */
    uint32_t source_count, words;
    uint32_t *destinations; /* of each channel */
    uint64_t *sources;
    uint64_t hops, lost; /* of pairs of hosts */
};

struct all_to_all_job {
    struct all_to_all *a;
    uint32_t *destinations, *last; /* of each channel */
    uint64_t hops, lost;
};

static void mark_source(const struct all_to_all *a, uint32_t channel, uint32_t source)
{
    uint64_t *word = &a->sources[(size_t)channel * a->words + source / 64];
    uint64_t bit = UINT64_C(1) << (source % 64);
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) /* an OR that changes nothing is dear */
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

static void add_destination(struct all_to_all_job *j, uint32_t host)
{
    const struct all_to_all *a = j->a;
    const struct measure *m = a->m;
    const struct rt_dest *d = &m->g->dests[host];
    for (uint32_t i = 0; i < a->source_count; i++) {
        uint32_t s = a->source[i];
        if (!rt_walk_arrives(&m->walk, s, d)) {
            j->lost += a->hosts_of[i];
            continue;
        }
        for (; s != d->sw; j->hops += a->hosts_of[i]) {
            uint32_t channel = rt_walk_next(&m->walk, s, d);
            j->destinations[channel] += j->last[channel] != host;
            j->last[channel] = host;
            mark_source(a, channel, i);
            s = m->g->links[channel].peer;
        }
    }
}

static void add_destinations(void *context, unsigned job)
{
    struct all_to_all *a = context;
    uint32_t links = a->m->g->link_count, first = job * HOSTS_OF_A_JOB;
    struct all_to_all_job j = {.a = a};
    j.destinations = g_new0(uint32_t, links + 1);
    j.last = g_new(uint32_t, links + 1);
    memset(j.last, 0xFF, links * sizeof *j.last);
    for (uint32_t i = first; i < MIN(first + HOSTS_OF_A_JOB, a->m->host_count); i++)
        add_destination(&j, a->m->hosts[i]);
    for (uint32_t l = 0; l < links; l++)
        if (j.destinations[l] > 0)
            __atomic_fetch_add(&a->destinations[l], j.destinations[l], __ATOMIC_RELAXED);
    __atomic_fetch_add(&a->hops, j.hops, __ATOMIC_RELAXED);
    __atomic_fetch_add(&a->lost, j.lost, __ATOMIC_RELAXED);
    g_free(j.destinations);
    g_free(j.last);
}

static void find_sources(struct all_to_all *a)
{
    const struct measure *m = a->m;
    g_autofree uint32_t *hosts_of = g_new0(uint32_t, m->g->switch_count + 1);
    a->source = g_new(uint32_t, m->g->switch_count + 1);
    a->hosts_of = g_new(uint32_t, m->g->switch_count + 1);
    for (uint32_t i = 0; i < m->host_count; i++)
        hosts_of[m->g->dests[m->hosts[i]].sw]++;
    for (uint32_t s = 0; s < m->g->switch_count; s++) {
        if (hosts_of[s] == 0)
            continue;
        a->hosts_of[a->source_count] = hosts_of[s];
        a->source[a->source_count++] = s;
    }
    a->words = a->source_count / 64 + 1;
}

static uint32_t count_sources(const struct all_to_all *a, uint32_t channel)
{
    uint32_t sources = 0;
    for (uint32_t i = 0; i < a->source_count; i++)
        if (a->sources[(size_t)channel * a->words + i / 64] >> (i % 64) & 1)
            sources += a->hosts_of[i];
    return sources;
}

static void measure_all_to_all(const struct measure *m, struct rt_metrics *out)
{
    uint32_t links = m->g->link_count, jobs = (m->host_count + HOSTS_OF_A_JOB - 1) / HOSTS_OF_A_JOB;
    struct all_to_all a = {.m = m};
    find_sources(&a);
    a.destinations = g_new0(uint32_t, links + 1);
    a.sources = g_new0(uint64_t, (size_t)links * a.words + 1);
    rt_parallel(m->options, jobs, add_destinations, &a);
    for (uint32_t l = 0; l < links; l++) {
        uint32_t sources = count_sources(&a, l);
        out->a2a = MAX(out->a2a, MIN(sources, a.destinations[l]));
    }
    uint64_t pairs = (uint64_t)m->host_count * (m->host_count - (m->host_count > 0));
    out->lost = a.lost;
    if (pairs > a.lost)
        out->mean_hops = (double)a.hops / (double)(pairs - a.lost);
    g_free(a.source);
    g_free(a.hosts_of);
    g_free(a.destinations);
    g_free(a.sources);
}

/* --------------------------------------------------------------------------------------------- */

void rt_measure_with(const struct rt_graph *g, const struct rt_tables *t, const uint32_t *hosts,
                     uint32_t host_count, const struct rt_measuring *how,
                     struct rt_metrics *metrics)
{
    static const struct rt_options alone;
    memset(metrics, 0, sizeof *metrics);
    struct measure m = {.g = g, .hosts = hosts, .host_count = host_count};
    m.options = how->options ? how->options : &alone;
    rt_walk_init(&m.walk, g, t);
    measure_all_to_all(&m, metrics);
    metrics->rp = measure_permutations(&m, how, metrics->lost == 0);
    metrics->sp = measure_shifts(&m, how, metrics->lost == 0);
    rt_walk_clear(&m.walk);
}

void rt_measure(const struct rt_graph *g, const struct rt_tables *t, const uint32_t *hosts,
                uint32_t host_count, uint32_t permutations, uint64_t seed,
                struct rt_metrics *metrics)
{
    const struct rt_measuring how = {.permutations = permutations, .seed = seed};
    rt_measure_with(g, t, hosts, host_count, &how, metrics);
}
