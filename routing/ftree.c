/* SPDX-License-Identifier: BSD-2-Clause */
/* ftree: the closed form for fat trees, intact or degraded (after D-mod-K, Zahavi 2012, and Dmodc,
 * Gliksberg et al., IEEE Micro 40(1) 2020).
 *
 * An entry of s for destination d on switch x: let G be the candidate groups (updown.h), t the
 * number of d and P(s) the divider of s; with q = t / P(s) it is group G[q mod #G], of that the
 * port q / #G mod #ports. Path k of a destination with an LMC uses q + k, and so other groups at
 * every switch where there is a choice. Destinations without a number (switches, aggregation nodes)
 * use a hash of their port GUID: they do not come in patterns, and so nothing moves when one goes.
 *
 * Where several lower groups lead to x (a top that is cabled to a pod more than once) the form
 * above would send a whole pod's traffic the same way, since P(s) numbers in a row share a q. There
 * the neighbour is taken that x itself would climb over for number t: its *mirror* path. Hosts so
 * come down evenly, as they would go up.
 *
 * Rows: hosts of one leaf with neighbouring numbers and LIDs are a *block*. Blocks of several
 * leaves that follow each other in numbers and LIDs, and that a switch treats alike, are filled as
 * one: by memset where there is one port only, by copying from a pattern where there are all upper
 * ports. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "routing/engine.h"

#define MAX_MIRROR 8u     /* hops; deeper trees only lose evenness */
#define MAX_PATTERN 4096u /* entries of a pattern; longer ones are computed one by one */

struct block { /* destinations of one switch with consecutive numbers and LIDs */
    uint32_t number, count;
    uint16_t lid;
    uint8_t lmc; /* above 0: a block of one */
    bool joins;  /* goes on where the block before it in `order` ends */
    uint32_t sw;
};

struct ftree {
    struct rt_updown_plan base;
    uint32_t *divider;
    struct block *blocks;
    uint32_t *first_block; /* of each switch; switch_count + 1 entries */
    uint32_t longest_block;
    uint32_t *order; /* of blocks: those of hosts without an LMC, then all others */
    uint32_t host_blocks;
    uint8_t mirror_length;
    uint32_t *mirror; /* mirror_length switches a destination, from its own upwards; RT_NONE ends */
};

/* -- preparation ---------------------------------------------------------------------------- */

/* A well mixed number below RT_MAX_NUMBER (the finalizer of MurmurHash3). */
static uint32_t hash_guid(uint64_t guid)
{
    guid ^= guid >> 33;
    guid *= UINT64_C(0xff51afd7ed558ccd);
    guid ^= guid >> 33;
    guid *= UINT64_C(0xc4ceb9fe1a85ec53);
    guid ^= guid >> 33;
    return guid % RT_MAX_NUMBER;
}

static uint32_t number_of(const struct ftree *f, uint32_t dest)
{
    uint32_t number = f->base.plan.numbers[dest];
    return number != RT_NONE ? number : hash_guid(f->base.plan.graph->dests[dest].port_guid);
}

/* q of a destination at s: hashes have no pattern that a divider could follow. */
static uint32_t quotient(const struct ftree *f, uint32_t s, uint32_t dest)
{
    uint32_t number = f->base.plan.numbers[dest];
    return number != RT_NONE ? number / f->divider[s] : number_of(f, dest);
}

/* Climbs from the switch of each destination by the closed form, all upper groups allowed. */
static void find_mirrors(struct ftree *f)
{
    const struct rt_updown *u = &f->base.updown;
    const struct rt_graph *g = u->graph;
    const struct rt_side *upper = &u->orders.tree.upper;
    uint32_t highest = 0;
    for (uint32_t s = 0; s < g->switch_count; s++)
        highest = MAX(highest, u->orders.rank[s]);
    f->mirror_length = MIN(highest, MAX_MIRROR);
    f->mirror = g_new(uint32_t, (size_t)g->dest_count * f->mirror_length + 1);
    for (uint32_t d = 0; d < g->dest_count; d++) {
        uint32_t s = g->dests[d].sw;
        for (unsigned i = 0; i < f->mirror_length; i++) {
            uint32_t count = s != RT_NONE ? upper->first[s + 1] - upper->first[s] : 0;
            s = count ? upper->peer[upper->first[s] + quotient(f, s, d) % count] : RT_NONE;
            f->mirror[(size_t)d * f->mirror_length + i] = s;
        }
    }
}

static bool continues(const struct block *b, uint32_t number, const struct rt_dest *d)
{
    return b->lmc == 0 && d->lmc == 0 && number == b->number + b->count &&
           d->lid == b->lid + b->count;
}

static void find_blocks(struct ftree *f)
{
    const struct rt_graph *g = f->base.plan.graph;
    f->blocks = g_new(struct block, g->dest_count + 1);
    f->first_block = g_new(uint32_t, g->switch_count + 1);
    uint32_t count = 0;
    for (uint32_t x = 0; x < g->switch_count; x++) {
        f->first_block[x] = count;
        for (uint32_t i = 0; i < g->switches[x].dest_count; i++) {
            uint32_t dest = g->switches[x].first_dest + i;
            const struct rt_dest *d = &g->dests[dest];
            uint32_t number = f->base.plan.numbers[dest];
            if (d->lid == 0)
                continue;
            struct block *last = count > f->first_block[x] ? &f->blocks[count - 1] : NULL;
            if (last && number != RT_NONE && continues(last, number, d)) {
                last->count++;
                f->longest_block = MAX(f->longest_block, last->count);
                continue;
            }
            /* Unnumbered: RT_MAX_NUMBER and above means a hash, which no divider applies to. */
            uint32_t t = number != RT_NONE ? number : RT_MAX_NUMBER + number_of(f, dest);
            f->blocks[count++] =
                (struct block){.number = t, .count = 1, .lid = d->lid, .lmc = d->lmc, .sw = x};
            f->longest_block = MAX(f->longest_block, 1u << d->lmc);
        }
    }
    f->first_block[g->switch_count] = count;
}

static bool is_host_block(const struct block *b)
{
    return b->lmc == 0 && b->number < RT_MAX_NUMBER;
}

static void order_blocks(struct ftree *f)
{
    uint32_t count = f->first_block[f->base.plan.graph->switch_count], next = 0;
    f->order = g_new(uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (is_host_block(&f->blocks[i]))
            f->order[next++] = i;
    f->host_blocks = next;
    for (uint32_t i = 0; i < count; i++)
        if (!is_host_block(&f->blocks[i]))
            f->order[next++] = i;
    for (uint32_t i = 1; i < f->host_blocks; i++) {
        const struct block *last = &f->blocks[f->order[i - 1]];
        struct block *b = &f->blocks[f->order[i]];
        b->joins = b->number == last->number + last->count && b->lid == last->lid + last->count;
    }
}

/* -- one entry ------------------------------------------------------------------------------ */

struct choice { /* the candidates of s for one x */
    const struct rt_graph *g;
    uint32_t s;
    const uint8_t *groups;
    unsigned count;
    bool several_down; /* more than one lower group: the mirror decides */
};

static uint8_t port_of(const struct choice *c, uint32_t q)
{
    const struct rt_group *group = rt_group_of(c->g, c->s, c->groups[q % c->count]);
    uint32_t link = q / c->count % group->link_count;
    return c->g->links[group->first_link + link].port;
}

static bool is_on_mirror(const struct ftree *f, uint32_t dest, uint32_t sw)
{
    const uint32_t *mirror = f->mirror + (size_t)dest * f->mirror_length;
    for (unsigned i = 0; i < f->mirror_length; i++)
        if (mirror[i] == sw)
            return true;
    return false;
}

/* Path k uses the k-th group after the one on the mirror path. */
static uint8_t port_down(const struct ftree *f, const struct choice *c, uint32_t dest,
                         unsigned path)
{
    uint32_t number = number_of(f, dest), at = number % c->count;
    for (unsigned i = 0; i < c->count; i++)
        if (is_on_mirror(f, dest, rt_group_of(c->g, c->s, c->groups[i])->peer))
            at = i;
    const struct rt_group *group = rt_group_of(c->g, c->s, c->groups[(at + path) % c->count]);
    uint32_t link = (quotient(f, c->s, dest) + path / c->count) % group->link_count;
    return c->g->links[group->first_link + link].port;
}

static void find_choice(const struct ftree *f, uint32_t s, uint32_t x,
                        uint8_t groups[RT_MAX_GROUPS], struct choice *c)
{
    const struct rt_updown *u = &f->base.updown;
    *c = (struct choice){.g = u->graph, .s = s, .groups = groups};
    c->count = rt_updown_candidates(u, s, x, groups);
    c->several_down = c->count > 1 && rt_updown_rule(u, s, x) == RT_RULE_TREE_DOWN;
}

static unsigned ftree_next_hop(const struct rt_plan *p, uint32_t s, uint32_t dest, unsigned path)
{
    const struct ftree *f = (const struct ftree *)p;
    uint8_t groups[RT_MAX_GROUPS];
    struct choice c;
    find_choice(f, s, p->graph->dests[dest].sw, groups, &c);
    if (c.count == 0)
        return RT_NO_PATH;
    return c.several_down ? port_down(f, &c, dest, path) : port_of(&c, quotient(f, s, dest) + path);
}

/* -- a row ---------------------------------------------------------------------------------- */

struct pattern { /* ports by q, repeated: port[q % period], readable for a block beyond */
    uint8_t *port;
    uint32_t period; /* 0 = none */
};

static uint32_t greatest_common(uint32_t a, uint32_t b)
{
    return b ? greatest_common(b, a % b) : a;
}

static uint32_t pattern_period(const struct choice *c)
{
    uint64_t links = 1;
    for (unsigned i = 0; i < c->count; i++) {
        uint32_t count = rt_group_of(c->g, c->s, c->groups[i])->link_count;
        links = links / greatest_common(links, count) * count;
        if (links * c->count > MAX_PATTERN)
            return 0;
    }
    return links * c->count;
}

static void make_pattern(struct pattern *p, const struct choice *c, uint32_t longest)
{
    p->period = c->count ? pattern_period(c) : 0;
    if (p->period == 0)
        return;
    longest = MAX(longest, p->period); /* fill_all_upper begins anywhere */
    p->port = g_malloc(p->period + longest);
    for (uint32_t q = 0; q < p->period; q++)
        p->port[q] = port_of(c, q);
    for (uint32_t q = p->period; q < p->period + longest; q++)
        p->port[q] = p->port[q - p->period];
}

/* A block of consecutive numbers with divider above 1: runs of equal q. */
static void fill_runs(const struct block *b, uint32_t divider, const struct choice *c,
                      const struct pattern *pattern, uint8_t *row)
{
    uint32_t q = b->number / divider, left = divider - b->number % divider;
    for (uint32_t i = 0; i < b->count; q++, left = divider) {
        uint32_t run = MIN(left, b->count - i);
        memset(row + b->lid + i, pattern ? pattern->port[q % pattern->period] : port_of(c, q), run);
        i += run;
    }
}

/* Divider 1 and groups of one link: the ports of the groups in turn. */
static void fill_turns(const struct block *b, const struct choice *c, uint8_t *row)
{
    uint8_t port[RT_MAX_GROUPS];
    for (unsigned i = 0; i < c->count; i++)
        port[i] = c->g->links[rt_group_of(c->g, c->s, c->groups[i])->first_link].port;
    uint32_t at = b->number % c->count;
    for (uint32_t i = 0; i < b->count; i++) {
        row[b->lid + i] = port[at];
        at = at + 1 < c->count ? at + 1 : 0;
    }
}

static bool has_single_links(const struct choice *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (rt_group_of(c->g, c->s, c->groups[i])->link_count > 1)
            return false;
    return true;
}

static void fill_block(const struct block *b, uint32_t divider, const struct choice *c,
                       const struct pattern *pattern, uint8_t *row)
{
    if (b->count == 1) {
        uint32_t q = b->number < RT_MAX_NUMBER ? b->number / divider : b->number - RT_MAX_NUMBER;
        for (uint32_t k = 0; k < 1u << b->lmc; k++)
            row[b->lid + k] = port_of(c, q + k);
    } else if (pattern && divider == 1) {
        memcpy(row + b->lid, pattern->port + b->number % pattern->period, b->count);
    } else if (divider == 1 && has_single_links(c)) {
        fill_turns(b, c, row);
    } else {
        fill_runs(b, divider, c, pattern, row);
    }
}

static void fill_from(const struct ftree *f, uint32_t x, const struct choice *c, uint8_t *row)
{
    for (uint32_t i = f->first_block[x]; c->count && i < f->first_block[x + 1]; i++)
        fill_block(&f->blocks[i], f->divider[c->s], c, NULL, row);
}

static void fill_several_down(const struct ftree *f, uint32_t x, const struct choice *c,
                              uint8_t *row)
{
    const struct rt_switch *to = &c->g->switches[x];
    for (uint32_t d = to->first_dest; d < to->first_dest + to->dest_count; d++) {
        const struct rt_dest *dest = &c->g->dests[d];
        for (unsigned k = 0; dest->lid && k < 1u << dest->lmc; k++)
            row[dest->lid + k] = port_down(f, c, d, k);
    }
}

/* How a switch treats all destinations of another: always by one port, or so. */
enum { WAY_NONE = RT_NO_PATH, WAY_ALL_UPPER = 256, WAY_OTHER };

static void find_ways(const struct rt_graph *g, const struct rt_row_groups *r, uint32_t s,
                      uint16_t *way)
{
    uint16_t only[RT_MAX_GROUPS + 1] = {WAY_NONE};
    for (uint32_t k = 0; k < g->switches[s].group_count; k++) {
        const struct rt_group *group = rt_group_of(g, s, k);
        only[k] = group->link_count == 1 ? g->links[group->first_link].port : WAY_OTHER;
    }
    for (uint32_t x = 0; x < g->switch_count; x++) {
        uint16_t several = r->full[x] ? WAY_ALL_UPPER : WAY_OTHER;
        way[x] = r->count[x] == 0 ? WAY_NONE : r->count[x] == 1 ? only[r->single[x]] : several;
    }
    way[s] = WAY_NONE;
}

/* After a whole period of the pattern all repeats. */
static void fill_all_upper(const struct block *b, uint32_t divider, const struct choice *all,
                           const struct pattern *pattern, uint8_t *row)
{
    uint32_t count = b->count;
    struct block first = *b;
    if (pattern) {
        uint64_t period = (uint64_t)pattern->period * divider;
        first.count = MIN(count, period);
        if (divider == 1)
            memcpy(row + b->lid, pattern->port + b->number % pattern->period, first.count);
        else
            fill_runs(&first, divider, all, pattern, row);
    } else {
        fill_block(b, divider, all, NULL, row);
    }
    for (uint32_t done = first.count, more; done < count; done += more) {
        more = MIN(done, count - done);
        memcpy(row + b->lid + done, row + b->lid, more);
    }
}

static void fill_hosts(const struct ftree *f, const uint16_t *way, const struct choice *all,
                       const struct pattern *pattern, uint8_t *row)
{
    for (uint32_t i = 0; i < f->host_blocks;) {
        struct block b = f->blocks[f->order[i]];
        for (i++; i < f->host_blocks; i++) {
            const struct block *next = &f->blocks[f->order[i]];
            if (!next->joins || way[next->sw] != way[b.sw])
                break;
            b.count += next->count;
        }
        if (way[b.sw] < WAY_NONE)
            memset(row + b.lid, way[b.sw], b.count);
        else if (way[b.sw] == WAY_ALL_UPPER)
            fill_all_upper(&b, f->divider[all->s], all, pattern, row);
    }
}

/* Switches, aggregation nodes and hosts with an LMC, one by one. */
static void fill_others(const struct ftree *f, const uint16_t *way, const struct choice *all,
                        const struct pattern *pattern, uint8_t *row)
{
    uint32_t count = f->first_block[all->g->switch_count];
    for (uint32_t i = f->host_blocks; i < count; i++) {
        const struct block *b = &f->blocks[f->order[i]];
        if (way[b->sw] < WAY_NONE)
            memset(row + b->lid, way[b->sw], (size_t)1 << b->lmc);
        else if (way[b->sw] == WAY_ALL_UPPER && pattern && b->lmc == 0)
            row[b->lid] = pattern->port[(b->number - RT_MAX_NUMBER) % pattern->period];
        else if (way[b->sw] == WAY_ALL_UPPER)
            fill_block(b, f->divider[all->s], all, pattern, row);
    }
}

static void fill_list(const struct ftree *f, const struct rt_row_groups *r, uint32_t s, uint32_t x,
                      uint8_t *row)
{
    struct choice c = {.g = f->base.plan.graph, .s = s, .count = r->count[x]};
    c.groups = c.count == 1 ? &r->single[x] : r->lists + r->first[x];
    if (c.count > 1 && r->rule[x] == RT_RULE_TREE_DOWN)
        fill_several_down(f, x, &c, row);
    else
        fill_from(f, x, &c, row);
}

static void ftree_row(const struct rt_plan *p, uint32_t s, uint8_t *row)
{
    const struct ftree *f = (const struct ftree *)p;
    const struct rt_graph *g = p->graph;
    struct rt_row_groups r;
    rt_row_groups_init(&r, &f->base.updown);
    rt_row_groups_fill(&r, &f->base.updown, s);
    struct choice all = {.g = g, .s = s, .groups = r.upper, .count = r.upper_count};
    struct pattern pattern = {0};
    make_pattern(&pattern, &all, f->longest_block);
    g_autofree uint16_t *way = g_new(uint16_t, g->switch_count + 1);
    find_ways(g, &r, s, way);
    fill_hosts(f, way, &all, pattern.period ? &pattern : NULL, row);
    fill_others(f, way, &all, pattern.period ? &pattern : NULL, row);
    for (uint32_t x = 0; x < g->switch_count; x++)
        if (way[x] == WAY_OTHER)
            fill_list(f, &r, s, x, row);
    rt_fill_own(g, s, row);
    g_free(pattern.port);
    rt_row_groups_clear(&r);
}

/* -- the engine ----------------------------------------------------------------------------- */

static void ftree_destroy(struct rt_plan *p)
{
    struct ftree *f = (struct ftree *)p;
    rt_updown_clear(&f->base.updown);
    g_free(p->numbers);
    g_free(f->divider);
    g_free(f->blocks);
    g_free(f->first_block);
    g_free(f->order);
    g_free(f->mirror);
    g_free(f);
}

static bool ftree_same_switch(const struct rt_plan *a, const struct rt_plan *b, uint32_t s)
{
    return ((const struct ftree *)a)->divider[s] == ((const struct ftree *)b)->divider[s];
}

static bool ftree_same_dest(const struct rt_plan *a, uint32_t dest_a, const struct rt_plan *b,
                            uint32_t dest_b)
{
    return a->numbers[dest_a] == b->numbers[dest_b] &&
           number_of((const struct ftree *)a, dest_a) == number_of((const struct ftree *)b, dest_b);
}

/* The mirror path. */
static bool ftree_same_way(const struct rt_plan *a, uint32_t dest_a, const struct rt_plan *b,
                           uint32_t dest_b)
{
    const struct ftree *fa = (const struct ftree *)a, *fb = (const struct ftree *)b;
    size_t length = fa->mirror_length;
    return length == fb->mirror_length &&
           memcmp(fa->mirror + dest_a * length, fb->mirror + dest_b * length,
                  length * sizeof *fa->mirror) == 0;
}

static const struct rt_plan_ops ftree_ops = {.destroy = ftree_destroy,
                                             .row = ftree_row,
                                             .next_hop = ftree_next_hop,
                                             .unreachable = rt_updown_unreachable,
                                             .same_switch = ftree_same_switch,
                                             .same_dest = ftree_same_dest,
                                             .same_way = ftree_same_way};

struct preparing {
    struct ftree *f;
    const struct rt_options *options;
};

/* What can be found beside each other, once the distances are known. */
static void prepare_first(void *context, unsigned what)
{
    struct preparing *p = context;
    struct rt_updown *u = &p->f->base.updown;
    if (what == 0)
        p->f->base.plan.numbers = rt_numbers_make(u, p->options);
    else
        p->f->divider = rt_dividers_make(u->graph, &u->orders.tree);
}

/* ..., and what needs numbers and dividers. */
static void prepare_second(void *context, unsigned what)
{
    struct preparing *p = context;
    if (what == 0) {
        find_mirrors(p->f);
    } else {
        find_blocks(p->f);
        order_blocks(p->f);
    }
}

static int ftree_prepare(struct rt_graph *graph, const struct rt_options *options,
                         struct rt_plan **plan, char *error, size_t error_size)
{
    struct ftree *f = g_new0(struct ftree, 1);
    f->base.plan.ops = &ftree_ops;
    f->base.plan.properties = (struct rt_properties){
        .vls = 1, .rows_independent = true, .columns_independent = true, .mix_safe = false};
    int rc = rt_updown_make(graph, options, false, &f->base.updown, error, error_size);
    if (rc) {
        g_free(f);
        return rc;
    }
    f->base.plan.graph = rt_graph_ref(graph);
    struct preparing p = {.f = f, .options = options};
    rt_parallel(options, 2, prepare_first, &p);
    rt_parallel(options, 2, prepare_second, &p);
    *plan = &f->base.plan;
    return 0;
}

const struct rt_engine rt_ftree = {
    .name = "ftree",
    .summary = "closed form for fat trees, intact or degraded; one VL",
    .prepare = ftree_prepare,
};
