/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads of jobs: by hand on a small tree, and against walking pair by pair on random fabrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <string.h>

#include "routing/jobs.h"
#include "routing/metrics.h"
#include "routing/testing.h"

#define CASES 60u

struct routed {
    struct rt_graph *g;
    uint8_t *bytes;
    const uint8_t **rows;
    struct rt_tables t;
    uint32_t *hosts, host_count;
};

static void routed_init(struct routed *r, struct model *m, const char *engine)
{
    r->g = model_build(m, 0, NULL, NULL);
    struct rt_plan *p = plan_for(engine, r->g);
    r->bytes = plan_tables(p);
    rt_plan_destroy(p);
    r->t.row_size = r->g->max_lid + 1u;
    r->rows = g_new(const uint8_t *, r->g->switch_count + 1);
    for (uint32_t s = 0; s < r->g->switch_count; s++)
        r->rows[s] = r->bytes + s * r->t.row_size;
    r->t.rows = r->rows;
    r->hosts = g_new(uint32_t, r->g->dest_count + 1);
    r->host_count = 0;
    for (uint32_t d = 0; d < r->g->dest_count; d++)
        if (r->g->dests[d].kind == RT_DEST_HOST)
            r->hosts[r->host_count++] = d;
}

static void routed_clear(struct routed *r)
{
    rt_graph_unref(r->g);
    g_free(r->bytes);
    g_free(r->rows);
    g_free(r->hosts);
}

/* -- the same, pair by pair ------------------------------------------------------------------ */

struct pairs {
    const struct routed *r;
    GArray *flows; /* uint32_t[2] */
};

static void list_pairs(const struct rt_job *job, enum rt_pattern pattern, struct pairs *p)
{
    for (uint32_t i = 0; i < job->server_count; i++)
        for (uint32_t a = job->first[i]; a < job->first[i + 1]; a++) {
            uint32_t rail = a - job->first[i], j = i;
            bool ring_done = false;
            for (uint32_t step = 0; step < job->server_count && !ring_done; step++) {
                j = (i + (pattern == RT_RING ? 1 : 0) + step) % job->server_count;
                for (uint32_t b = job->first[j]; b < job->first[j + 1]; b++) {
                    uint32_t flow[2] = {job->dests[a], job->dests[b]};
                    if (a == b || (pattern != RT_ALL_TO_ALL && b - job->first[j] != rail))
                        continue;
                    g_array_append_val(p->flows, flow);
                    ring_done = pattern == RT_RING;
                }
            }
        }
}

/* The links of a flow's way; -1 = it has none. */
static int way_of(const struct routed *r, const uint32_t flow[2], uint32_t *way)
{
    uint32_t s = r->g->dests[flow[0]].sw;
    const struct rt_dest *d = &r->g->dests[flow[1]];
    int hops = 0;
    while (s != d->sw) {
        uint32_t found = RT_NONE;
        for (uint32_t k = 0; k < r->g->switches[s].group_count; k++) {
            const struct rt_group *group = &r->g->groups[r->g->switches[s].first_group + k];
            for (uint32_t l = group->first_link; l < group->first_link + group->link_count; l++)
                if (r->g->links[l].port == r->rows[s][d->lid])
                    found = l;
        }
        if (found == RT_NONE || (uint32_t)hops >= r->g->switch_count)
            return -1;
        way[hops++] = found;
        s = r->g->links[found].peer;
    }
    return hops;
}

static void count_by_pairs(const struct routed *r, const struct rt_job *job,
                           enum rt_pattern pattern, struct rt_load *out)
{
    uint32_t links = r->g->link_count;
    struct pairs p = {r, g_array_new(FALSE, FALSE, 2 * sizeof(uint32_t))};
    g_autofree uint32_t *flows = g_new0(uint32_t, links + 1);
    g_autofree uint32_t *way = g_new0(uint32_t, r->g->switch_count + 1);
    GHashTable *from = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    GHashTable *to = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    g_autofree uint32_t *sources = g_new0(uint32_t, links + 1);
    g_autofree uint32_t *receivers = g_new0(uint32_t, links + 1);
    list_pairs(job, pattern, &p);
    *out = (struct rt_load){.flows = p.flows->len};
    for (guint i = 0; i < p.flows->len; i++) {
        const uint32_t *flow = &((uint32_t *)(void *)p.flows->data)[2 * i];
        int hops = way_of(r, flow, way);
        out->lost += hops < 0;
        for (int h = 0; h < hops; h++) {
            gint64 a = ((gint64)way[h] << 32) + flow[0], b = ((gint64)way[h] << 32) + flow[1];
            flows[way[h]]++;
            sources[way[h]] += g_hash_table_add(from, g_memdup2(&a, sizeof a));
            receivers[way[h]] += g_hash_table_add(to, g_memdup2(&b, sizeof b));
        }
    }
    uint64_t sum = 0;
    for (uint32_t l = 0; l < links; l++) {
        out->links_used += flows[l] > 0;
        out->max = MAX(out->max, flows[l]);
        out->contention = MAX(out->contention, MIN(sources[l], receivers[l]));
        sum += flows[l];
    }
    out->mean = out->links_used ? (double)sum / out->links_used : 0;
    g_hash_table_destroy(from);
    g_hash_table_destroy(to);
    g_array_free(p.flows, TRUE);
}

static void compare(const struct rt_load *got, const struct rt_load *expected)
{
    assert_int_equal(got->flows, expected->flows);
    assert_int_equal(got->lost, expected->lost);
    assert_int_equal(got->links_used, expected->links_used);
    assert_int_equal(got->max, expected->max);
    assert_int_equal(got->contention, expected->contention);
    assert_true(got->mean > expected->mean - 1e-9 && got->mean < expected->mean + 1e-9);
}

/* Servers with one to three rails, of hosts in a random order. */
static void draw_job(const struct routed *r, GRand *rand, GArray *first, GArray *dests)
{
    uint32_t start = 0;
    g_array_set_size(first, 0);
    g_array_set_size(dests, 0);
    for (uint32_t i = r->host_count; i > 1; i--) {
        uint32_t j = (uint32_t)g_rand_int_range(rand, 0, (gint32)i), other = r->hosts[j];
        r->hosts[j] = r->hosts[i - 1];
        r->hosts[i - 1] = other;
    }
    g_array_append_val(first, start);
    while (start < r->host_count && first->len < 20) {
        uint32_t rails = (uint32_t)g_rand_int_range(rand, 1, 4);
        rails = MIN(rails, r->host_count - start);
        g_array_append_vals(dests, r->hosts + start, rails);
        start += rails;
        g_array_append_val(first, start);
    }
}

static void test_random(void **state)
{
    uint32_t seed = test_seed(4711);
    for (uint32_t n = 0; n < CASES; n++) {
        GRand *rand = g_rand_new_with_seed(seed + n);
        struct model *m = model_random(rand);
        struct routed r;
        g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        g_autoptr(GArray) dests = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        model_number(m, n);
        routed_init(&r, m, n % 2 ? "updn" : "minhop");
        for (uint32_t i = 0; i < n % 4 * 5 && r.g->max_lid > 0; i++) { /* dead ends and loops */
            size_t at =
                (size_t)g_rand_int_range(rand, 0, (gint32)(r.t.row_size * r.g->switch_count));
            r.bytes[at] = (uint8_t)g_rand_int_range(rand, 0, 6);
        }
        draw_job(&r, rand, first, dests);
        struct rt_job job = {first->len - 1, (uint32_t *)(void *)first->data,
                             (uint32_t *)(void *)dests->data};
        struct rt_job_loads got, together;
        rt_measure_jobs(r.g, &r.t, &job, 1, &got, &together);
        for (unsigned p = 0; p < RT_PATTERNS; p++) {
            struct rt_load expected;
            count_by_pairs(&r, &job, (enum rt_pattern)p, &expected);
            compare(&got.of[p], &expected);
            compare(&together.of[p], &expected);
        }
        routed_clear(&r);
        model_destroy(m);
        g_rand_free(rand);
    }
}

/* Two leaves with two hosts each under one spine with one cable to each. */
static void test_by_hand(void **state)
{
    static const uint32_t first[] = {0, 2, 4}, one_rail[] = {0, 1, 2, 3, 4};
    struct model *m = model_tree(2, 1, 1, 2);
    struct routed r;
    struct rt_job_loads got[2], all;
    model_number(m, 0);
    routed_init(&r, m, "ftree");
    assert_int_equal(r.host_count, 4);
    uint32_t straight[] = {r.hosts[0], r.hosts[1], r.hosts[2], r.hosts[3]};
    uint32_t crossed[] = {r.hosts[0], r.hosts[2], r.hosts[1], r.hosts[3]};
    /* Servers on their own leaves; then all hosts of one rail, each next one on the other leaf. */
    struct rt_job jobs[] = {{2, first, straight}, {4, one_rail, crossed}};
    rt_measure_jobs(r.g, &r.t, jobs, 2, got, &all);
    assert_int_equal(got[0].of[RT_RING].flows, 4);
    assert_int_equal(got[0].of[RT_RING].max, 2);
    assert_int_equal(got[0].of[RT_RING].links_used, 4);
    assert_int_equal(got[0].of[RT_ALL_TO_ALL_RAILS].flows, 4);
    assert_int_equal(got[0].of[RT_ALL_TO_ALL_RAILS].max, 2);
    assert_int_equal(got[0].of[RT_ALL_TO_ALL].flows, 12);
    assert_int_equal(got[0].of[RT_ALL_TO_ALL].max, 4);
    assert_int_equal(got[0].of[RT_ALL_TO_ALL].contention, 2);
    assert_int_equal(got[1].of[RT_RING].max, 2);
    assert_int_equal(got[1].of[RT_RING].tier_max[0][RT_UP], 2);
    assert_int_equal(got[1].of[RT_RING].tier_max[0][RT_DOWN], 2);
    assert_int_equal(got[1].of[RT_RING].tier_max[0][RT_LEVEL], 0);
    assert_int_equal(all.of[RT_RING].flows, 8);
    assert_int_equal(all.of[RT_RING].max, 4);
    assert_int_equal(all.of[RT_ALL_TO_ALL].max, 8);
    assert_int_equal(all.of[RT_ALL_TO_ALL].contention, 4);
    routed_clear(&r);
    model_destroy(m);
}

/* All hosts in one job: the contention is A2A of metrics.h, and flows are rt_link_loads. */
static void test_agrees(void **state)
{
    struct model *m = model_tree(6, 3, 2, 7);
    struct routed r;
    model_number(m, 3);
    routed_init(&r, m, "ftree");
    g_autofree uint32_t *first = g_new(uint32_t, r.host_count + 1);
    g_autofree uint32_t *load = g_new0(uint32_t, r.g->link_count);
    struct rt_job_loads got, all;
    struct rt_metrics metrics;
    uint64_t sum = 0;
    uint32_t greatest = 0;
    for (uint32_t i = 0; i <= r.host_count; i++)
        first[i] = i;
    struct rt_job job = {r.host_count, first, r.hosts};
    rt_measure_jobs(r.g, &r.t, &job, 1, &got, &all);
    rt_measure(r.g, &r.t, r.hosts, r.host_count, 1, 1, &metrics);
    assert_int_equal(rt_link_loads(r.g, &r.t, r.hosts, r.host_count, load), 0);
    for (uint32_t l = 0; l < r.g->link_count; l++) {
        sum += load[l];
        greatest = MAX(greatest, load[l]);
    }
    assert_int_equal(got.of[RT_ALL_TO_ALL].contention, metrics.a2a);
    assert_int_equal(got.of[RT_ALL_TO_ALL].max, greatest);
    assert_int_equal(sum, 42 * 35 * 2); /* two hops between hosts of different leaves */
    routed_clear(&r);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_agrees),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
