/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of switches: pods of a tree, METIS, or a line that is cut. */
#include "routing/partition.h"

#include <glib.h>
#include <metis.h>
#include <string.h>

#include "routing/order.h"

#define METIS_SEED 1       /* the same cut each time */
#define METIS_IMBALANCE 10 /* of 1,000: METIS may exceed the mean by 1 % */
#define FEW_PARTS 8        /* up to here METIS's recursive bisection cuts better (its manual) */
#define SLACK_PERCENT 10   /* what a part may weigh more than the mean, beside one switch */
#define MAX_METIS_WEIGHT (1 << 29) /* METIS adds weights in 32 bits */

static uint64_t weight_of(const uint32_t *weight, uint32_t s)
{
    return weight ? weight[s] : 1;
}

static uint64_t total_of(const struct rt_graph *g, const uint32_t *weight)
{
    uint64_t total = 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        total += weight_of(weight, s);
    return total;
}

/* -- a line --------------------------------------------------------------------------------- */

/* All switches breadth first, each piece from its first one: neighbours come together. */
static uint32_t *breadth_first(const struct rt_graph *g)
{
    uint32_t *order = g_new(uint32_t, g->switch_count + 1), head = 0, tail = 0;
    g_autofree bool *seen = g_new0(bool, g->switch_count + 1);
    for (uint32_t root = 0; root < g->switch_count; root++) {
        if (!seen[root])
            order[tail++] = root;
        seen[root] = true;
        for (; head < tail; head++) {
            const struct rt_switch *sw = &g->switches[order[head]];
            for (uint32_t i = 0; i < sw->group_count; i++) {
                uint32_t next = g->groups[sw->first_group + i].peer;
                if (!seen[next])
                    order[tail++] = next;
                seen[next] = true;
            }
        }
    }
    return order;
}

/* A switch belongs where its middle lies. */
void rt_partition_line(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                       uint32_t *part)
{
    g_autofree uint32_t *order = breadth_first(g);
    uint64_t total = total_of(g, weight), sum = 0;
    for (uint32_t i = 0; i < g->switch_count; i++) {
        uint64_t own = weight_of(weight, order[i]);
        part[order[i]] = total ? MIN((sum + own / 2) * parts / total, parts - 1) : 0;
        sum += own;
    }
}

/* -- what is even enough -------------------------------------------------------------------- */

static bool is_even(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                    const uint32_t *part)
{
    g_autofree uint64_t *sum = g_new0(uint64_t, parts);
    uint64_t heaviest = 0, total = total_of(g, weight), used = 0, weighing = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        used += sum[part[s]] == 0 && weight_of(weight, s) > 0;
        weighing += weight_of(weight, s) > 0;
        sum[part[s]] += weight_of(weight, s);
        heaviest = MAX(heaviest, weight_of(weight, s));
    }
    uint64_t limit = total * (100 + SLACK_PERCENT) / 100 / parts + heaviest;
    for (unsigned i = 0; i < parts; i++)
        if (sum[i] > limit)
            return false;
    return used == MIN(parts, weighing);
}

static uint64_t links_between(const struct rt_graph *g, const uint32_t *part)
{
    uint64_t links = 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        for (uint32_t i = 0; i < g->switches[s].group_count; i++) {
            const struct rt_group *group = &g->groups[g->switches[s].first_group + i];
            links += part[group->peer] != part[s] ? group->link_count : 0;
        }
    return links;
}

/* -- METIS ---------------------------------------------------------------------------------- */

struct metis_graph {
    idx_t *offsets, *to, *links, *weights;
};

static struct metis_graph metis_graph_make(const struct rt_graph *g, const uint32_t *weight)
{
    struct metis_graph m = {g_new(idx_t, g->switch_count + 1), g_new(idx_t, g->group_count + 1),
                            g_new(idx_t, g->group_count + 1), g_new(idx_t, g->switch_count + 1)};
    idx_t count = 0;
    for (uint32_t s = 0; s < g->switch_count; s++) {
        const struct rt_switch *sw = &g->switches[s];
        m.offsets[s] = count;
        m.weights[s] = (idx_t)weight_of(weight, s);
        for (uint32_t i = 0; i < sw->group_count; i++) {
            m.to[count] = (idx_t)g->groups[sw->first_group + i].peer;
            m.links[count++] = (idx_t)g->groups[sw->first_group + i].link_count;
        }
    }
    m.offsets[g->switch_count] = count;
    return m;
}

static void metis_graph_clear(struct metis_graph *m)
{
    g_free(m->offsets);
    g_free(m->to);
    g_free(m->links);
    g_free(m->weights);
}

static bool cut(const struct rt_graph *g, const uint32_t *weight, unsigned parts, bool bisect,
                uint32_t *part)
{
    static GMutex one_at_a_time; /* METIS seeds rand() and draws from it */
    struct metis_graph m = metis_graph_make(g, weight);
    idx_t n = (idx_t)g->switch_count, constraints = 1, count = (idx_t)parts, links = 0;
    g_autofree idx_t *found = g_new0(idx_t, g->switch_count);
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = METIS_SEED;
    options[METIS_OPTION_UFACTOR] = METIS_IMBALANCE;
    options[METIS_OPTION_NUMBERING] = 0;
    g_mutex_lock(&one_at_a_time);
    int rc = (bisect ? METIS_PartGraphRecursive
                     : METIS_PartGraphKway)(&n, &constraints, m.offsets, m.to, m.weights, NULL,
                                            m.links, &count, NULL, NULL, options, &links, found);
    g_mutex_unlock(&one_at_a_time);
    metis_graph_clear(&m);
    for (uint32_t s = 0; rc == METIS_OK && s < g->switch_count; s++)
        part[s] = (uint32_t)found[s];
    return rc == METIS_OK && is_even(g, weight, parts, part);
}

bool rt_partition_metis(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                        uint32_t *part)
{
    uint64_t total = total_of(g, weight);
    if (parts < 2 || parts >= g->switch_count || g->group_count == 0 || total == 0 ||
        total > MAX_METIS_WEIGHT)
        return false;
    bool bisect = parts <= FEW_PARTS;
    g_autofree uint32_t *found = g_new(uint32_t, g->switch_count);
    if (!cut(g, weight, parts, bisect, found) && !cut(g, weight, parts, !bisect, found))
        return false;
    memcpy(part, found, g->switch_count * sizeof *part);
    return true;
}

/* -- pods ----------------------------------------------------------------------------------- */

struct pods {
    uint32_t *of; /* of each switch, RT_NONE = a top */
    uint32_t count;
    uint64_t *weight;
};

/* The connected pieces below the switches of the greatest rank, by their lowest number. False: no
 * tree, as tops are joined to each other or there is one rank only. */
static bool find_pods(const struct rt_graph *g, const uint32_t *weight, struct pods *p)
{
    struct rt_orders o;
    rt_orders_make(g, NULL, false, &o);
    uint32_t top = 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        top = MAX(top, o.rank[s]);
    bool good = top > 0;
    g_autofree uint32_t *queue = g_new(uint32_t, g->switch_count + 1);
    memset(p->of, 0xff, g->switch_count * sizeof *p->of);
    for (uint32_t s = 0; s < g->switch_count && good; s++) {
        uint32_t head = 0, tail = 0;
        if (p->of[s] == RT_NONE && o.rank[s] < top) {
            p->of[s] = p->count++;
            queue[tail++] = s;
        }
        for (; head < tail; head++) {
            const struct rt_switch *sw = &g->switches[queue[head]];
            p->weight[p->of[s]] += weight_of(weight, queue[head]);
            for (uint32_t i = 0; i < sw->group_count; i++) {
                uint32_t next = g->groups[sw->first_group + i].peer;
                if (p->of[next] == RT_NONE && o.rank[next] < top) {
                    p->of[next] = p->of[s];
                    queue[tail++] = next;
                }
            }
        }
        for (uint32_t i = 0; o.rank[s] == top && i < g->switches[s].group_count; i++)
            good = good && o.rank[g->groups[g->switches[s].first_group + i].peer] != top;
    }
    rt_orders_clear(&o);
    return good;
}

static unsigned lightest(const uint64_t *sum, unsigned parts)
{
    unsigned best = 0;
    for (unsigned i = 1; i < parts; i++)
        if (sum[i] < sum[best])
            best = i;
    return best;
}

static int heavier_first(const void *a, const void *b, void *user)
{
    const uint64_t *weight = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (weight[x] != weight[y])
        return weight[x] > weight[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Pods, the heaviest first, and then the tops each go to the part that is the lightest so far. */
static void deal_pods(const struct rt_graph *g, const uint32_t *weight, const struct pods *p,
                      unsigned parts, uint32_t *part)
{
    g_autofree uint64_t *sum = g_new0(uint64_t, parts);
    g_autofree uint32_t *order = g_new(uint32_t, p->count + 1);
    g_autofree uint32_t *home = g_new(uint32_t, p->count + 1);
    for (uint32_t i = 0; i < p->count; i++)
        order[i] = i;
    g_qsort_with_data(order, (gint)p->count, sizeof *order, heavier_first, p->weight);
    for (uint32_t i = 0; i < p->count; i++) {
        home[order[i]] = lightest(sum, parts);
        sum[home[order[i]]] += p->weight[order[i]];
    }
    for (uint32_t s = 0; s < g->switch_count; s++) {
        part[s] = p->of[s] == RT_NONE ? lightest(sum, parts) : home[p->of[s]];
        if (p->of[s] == RT_NONE)
            sum[part[s]] += weight_of(weight, s);
    }
}

enum rt_partition_way rt_partition(const struct rt_graph *g, const uint32_t *weight, unsigned parts,
                                   uint32_t *part)
{
    struct pods p = {g_new(uint32_t, g->switch_count + 1), 0,
                     g_new0(uint64_t, g->switch_count + 1)};
    bool has_pods = find_pods(g, weight, &p), done = false;
    if (has_pods && p.count >= 2) {
        deal_pods(g, weight, &p, parts, part);
        done = is_even(g, weight, parts, part);
    }
    g_free(p.of);
    g_free(p.weight);
    if (done)
        return RT_PARTITION_PODS;
    rt_partition_line(g, weight, parts, part);
    g_autofree uint32_t *other = g_new(uint32_t, g->switch_count + 1);
    if (!rt_partition_metis(g, weight, parts, other) ||
        links_between(g, other) > links_between(g, part))
        return RT_PARTITION_LINE;
    memcpy(part, other, g->switch_count * sizeof *part);
    return RT_PARTITION_METIS;
}
