/* SPDX-License-Identifier: BSD-2-Clause */
/* Connected irregular fabrics, drawn from a seed: a random tree over the switches, then cables
 * between random pairs of switches (parallel ones happen), then hosts on random switches. */
#include "fabric/generator.h"

/* The mean of cables per switch. With at most half of the ports two switches always have a free
 * one: were all but one of s switches full, (s - 1) * 254 ports would be taken, of s * 127; and of
 * two switches each has as many as the other. */
#define MAX_DEGREE (FABRIC_MAX_PORTS / 2)

struct cable {
    uint32_t a, b;
};

struct draw {
    uint32_t switches, hosts, degree;
    uint64_t state;
    uint32_t *used; /* ports of each switch */
    uint32_t *open; /* switches with a free port */
    uint32_t open_count;
    struct cable *cables;
    uint32_t cable_count;
    uint32_t *host_on; /* switch of each host */
};

/* SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere. */
static uint64_t next_random(struct draw *d)
{
    uint64_t z = d->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* From 0 to limit - 1; limits are small, so that no number is noticeably likelier. */
static uint32_t below(struct draw *d, uint32_t limit)
{
    return (next_random(d) >> 32) * limit >> 32;
}

/* Takes a port of the switch at this place of the open ones. */
static uint32_t take_port(struct draw *d, uint32_t place)
{
    uint32_t sw = d->open[place];
    if (++d->used[sw] == FABRIC_MAX_PORTS)
        d->open[place] = d->open[--d->open_count];
    return sw;
}

/* Each switch behind the first to one of those before it. */
static void draw_tree(struct draw *d)
{
    d->open[d->open_count++] = 0;
    for (uint32_t s = 1; s < d->switches; s++) {
        uint32_t earlier = take_port(d, below(d, d->open_count));
        d->cables[d->cable_count++] = (struct cable){earlier, s};
        d->used[s] = 1;
        d->open[d->open_count++] = s;
    }
}

/* Two different switches each time. MAX_DEGREE leaves at least two with free ports. */
static void draw_cables(struct draw *d, uint32_t count)
{
    while (d->cable_count < count) {
        g_assert(d->open_count >= 2);
        uint32_t x = below(d, d->open_count), y = below(d, d->open_count - 1);
        y += y >= x;
        /* The higher place first: the last open one may come to a place that becomes full. */
        uint32_t a = take_port(d, MAX(x, y));
        d->cables[d->cable_count++] = (struct cable){a, take_port(d, MIN(x, y))};
    }
}

static void draw_hosts(struct draw *d)
{
    for (uint32_t h = 0; h < d->hosts; h++)
        d->host_on[h] = take_port(d, below(d, d->open_count));
}

static struct fabric *build(const struct draw *d)
{
    struct fabric *f = fabric_create();
    g_autofree uint32_t *next = g_new0(uint32_t, d->switches); /* ports taken so far */
    for (uint32_t s = 0; s < d->switches; s++)
        generator_add_switch(f, 1, s, d->used[s]);
    for (uint32_t h = 0; h < d->hosts; h++)
        generator_join(f, generator_add_host(f, h, 1), 1, d->host_on[h], ++next[d->host_on[h]]);
    for (uint32_t i = 0; i < d->cable_count; i++) {
        struct cable c = d->cables[i];
        generator_join(f, c.a, ++next[c.a], c.b, ++next[c.b]);
    }
    return f;
}

static bool parse(struct generator_spec *spec, struct draw *d)
{
    uint32_t seed = 0;
    if (!generator_field(spec, 0, "switches", 2, GENERATOR_MAX_LIDS, &d->switches) ||
        !generator_field(spec, 1, "hosts", 1, GENERATOR_MAX_LIDS, &d->hosts) ||
        !generator_field(spec, 2, "degree", 2, MAX_DEGREE, &d->degree) ||
        !generator_field(spec, 3, "seed", 0, UINT32_MAX, &seed) ||
        !generator_lids_fit(spec, (uint64_t)d->switches + d->hosts))
        return false;
    d->state = seed;
    uint64_t ends = (uint64_t)d->switches * d->degree / 2 * 2 + d->hosts;
    if (ends > (uint64_t)d->switches * FABRIC_MAX_PORTS)
        return generator_fail(spec,
                              "hosts and cables need %" G_GUINT64_FORMAT
                              " ports of switches, which have %d each",
                              ends, FABRIC_MAX_PORTS);
    return true;
}

static struct fabric *make(struct generator_spec *spec)
{
    struct draw d = {0};
    if (!parse(spec, &d))
        return NULL;
    uint32_t count = d.switches * d.degree / 2;
    d.used = g_new0(uint32_t, d.switches);
    d.open = g_new(uint32_t, d.switches);
    d.cables = g_new(struct cable, count);
    d.host_on = g_new(uint32_t, d.hosts);
    draw_tree(&d);
    draw_cables(&d, count);
    draw_hosts(&d);
    struct fabric *f = build(&d);
    g_free(d.used);
    g_free(d.open);
    g_free(d.cables);
    g_free(d.host_on);
    return f;
}

const struct generator generator_random = {
    .about = {"random", "random:SWITCHES:HOSTS:DEGREE:SEED", "random:100:1000:6:1",
              "1,000 hosts, 100 switches, 300 cables between them"},
    .min_fields = 4,
    .max_fields = 4,
    .make = make,
};
