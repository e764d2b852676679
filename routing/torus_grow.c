/* SPDX-License-Identifier: BSD-2-Clause */
/* From the directions of one switch's neighbours to those of all.
 *
 * In a grid the neighbours of u in directions i and j of two dimensions have exactly one common
 * neighbour besides u, the fourth corner of a square, whatever the sizes. Missing switches and
 * links take squares away and add none, so this never errs where the first directions were right.
 * Where squares do not lead on, a switch with one neighbour left goes on straight. */
#include <glib.h>
#include <string.h>

#include "routing/torus_grow.h"
#include "routing/updown.h"

#define UNKNOWN RT_TORUS_DIRECTIONS

void torus_growth_init(struct torus_growth *t, const struct rt_graph *g)
{
    *t = (struct torus_growth){.g = g};
    t->to = g_malloc((g->switch_count + 1) * sizeof *t->to);
    t->direction = g_malloc(g->group_count + 1);
    t->left = g_malloc(g->switch_count + 1);
    t->queue = g_new(uint32_t, g->switch_count + 1);
    t->queued = g_new(bool, g->switch_count + 1);
    torus_growth_reset(t);
}

void torus_growth_clear(struct torus_growth *t)
{
    g_free(t->to);
    g_free(t->direction);
    g_free(t->left);
    g_free(t->queue);
    g_free(t->queued);
}

void torus_growth_reset(struct torus_growth *t)
{
    const struct rt_graph *g = t->g;
    memset(t->pair, 0, sizeof t->pair);
    memset(t->absent, 0, sizeof t->absent);
    memset(t->to, 0xff, g->switch_count * sizeof *t->to);
    memset(t->direction, UNKNOWN, g->group_count);
    for (uint32_t s = 0; s < g->switch_count; s++)
        t->left[s] = (uint8_t)g->switches[s].group_count;
    memset(t->queued, 0, g->switch_count * sizeof *t->queued);
    t->head = t->count = 0;
    t->contradiction = false;
}

static uint32_t find_group(const struct rt_graph *g, uint32_t u, uint32_t v)
{
    for (uint32_t i = 0; i < g->switches[u].group_count; i++)
        if (rt_group_of(g, u, i)->peer == v)
            return g->switches[u].first_group + i;
    return RT_NONE;
}

static void enqueue(struct torus_growth *t, uint32_t u)
{
    if (t->queued[u])
        return;
    t->queued[u] = true;
    t->queue[(t->head + t->count++) % t->g->switch_count] = u;
}

static void contradict(struct torus_growth *t, uint32_t u)
{
    if (!t->contradiction)
        t->contradiction_at = u;
    t->contradiction = true;
}

static void assign_one(struct torus_growth *t, uint32_t u, unsigned direction, uint32_t v)
{
    uint32_t group = find_group(t->g, u, v);
    bool taken = t->pair[direction / 2] && t->to[u][direction ^ 1] != RT_NONE;
    if (group == RT_NONE || taken || t->to[u][direction] != RT_NONE ||
        t->direction[group] != UNKNOWN) {
        contradict(t, u);
        return;
    }
    t->to[u][direction] = v;
    t->direction[group] = (uint8_t)direction;
    t->left[u]--;
    enqueue(t, u);
}

void torus_assign(struct torus_growth *t, uint32_t u, unsigned direction, uint32_t v)
{
    if (t->to[u][direction] == v && t->to[v][direction ^ 1] == u)
        return;
    assign_one(t, u, direction, v);
    assign_one(t, v, direction ^ 1, u);
}

/* Common neighbours of v and w other than u; the last of them in *corner. Groups are in the order
 * of their peers. */
static unsigned find_corner(const struct rt_graph *g, uint32_t u, uint32_t v, uint32_t w,
                            uint32_t *corner)
{
    unsigned found = 0;
    uint32_t i = 0, j = 0;
    while (i < g->switches[v].group_count && j < g->switches[w].group_count) {
        uint32_t a = rt_group_of(g, v, i)->peer, b = rt_group_of(g, w, j)->peer;
        if (a == b && a != u) {
            *corner = a;
            found++;
        }
        i += a <= b;
        j += b <= a;
    }
    return found;
}

static void look_at_squares(struct torus_growth *t, uint32_t u)
{
    for (unsigned i = 0; i < RT_TORUS_DIRECTIONS; i++)
        for (unsigned j = (i / 2 + 1) * 2; j < RT_TORUS_DIRECTIONS; j++) {
            uint32_t v = t->to[u][i], w = t->to[u][j], corner = RT_NONE;
            if (v == RT_NONE || w == RT_NONE || t->contradiction)
                continue;
            unsigned found = find_corner(t->g, u, v, w, &corner);
            if (found > 1)
                contradict(t, u);
            if (found != 1)
                continue;
            torus_assign(t, v, j, corner);
            torus_assign(t, w, i, corner);
        }
}

static bool is_open(const struct torus_growth *t, uint32_t u, unsigned direction)
{
    bool taken = t->pair[direction / 2] && t->to[u][direction ^ 1] != RT_NONE;
    return t->to[u][direction] == RT_NONE && !taken && !t->absent[direction / 2];
}

static uint32_t last_left(const struct torus_growth *t, uint32_t u)
{
    const struct rt_switch *s = &t->g->switches[u];
    for (uint32_t i = s->first_group; i < s->first_group + s->group_count; i++)
        if (t->direction[i] == UNKNOWN)
            return t->g->groups[i].peer;
    return RT_NONE;
}

/* What speaks against x being the neighbour of u in this direction: neighbours of u beside which
 * there is nothing, or something that is not joined to x. */
static unsigned count_objections(const struct torus_growth *t, uint32_t u, unsigned direction,
                                 uint32_t x)
{
    unsigned objections = 0;
    for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++) {
        uint32_t w = t->to[u][k];
        if (k / 2 == direction / 2 || w == RT_NONE)
            continue;
        uint32_t beside = t->to[w][direction];
        if (beside == RT_NONE)
            objections += t->left[w] == 0;
        else
            objections += find_group(t->g, beside, x) == RT_NONE;
    }
    return objections;
}

/* The direction of the last neighbour without one; UNKNOWN: not clear. strict: only where no other
 * direction is open. Else the one with least objections whose opposite is there. */
static unsigned straight_on(const struct torus_growth *t, uint32_t u, uint32_t x, bool strict)
{
    unsigned best = UNKNOWN, least = UINT_MAX, open = 0;
    bool tie = false;
    for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++) {
        if (!is_open(t, u, k))
            continue;
        open++;
        if (t->to[u][k ^ 1] == RT_NONE)
            continue;
        unsigned objections = strict ? 0 : count_objections(t, u, k, x);
        if (objections <= least)
            tie = objections == least;
        if (objections < least) {
            least = objections;
            best = k;
        }
    }
    return (strict && open > 1) || tie ? UNKNOWN : best;
}

static bool go_straight(struct torus_growth *t, bool strict)
{
    bool any = false;
    for (uint32_t u = 0; u < t->g->switch_count && !(any && !strict); u++) {
        if (t->left[u] != 1 || t->left[u] == t->g->switches[u].group_count)
            continue;
        uint32_t x = last_left(t, u);
        unsigned k = straight_on(t, u, x, strict);
        if (k == UNKNOWN)
            continue;
        torus_assign(t, u, k, x);
        any = true;
    }
    return any;
}

bool torus_grow(struct torus_growth *t)
{
    do {
        while (t->count > 0 && !t->contradiction) {
            uint32_t u = t->queue[t->head];
            t->head = (t->head + 1) % t->g->switch_count;
            t->count--;
            t->queued[u] = false;
            look_at_squares(t, u);
        }
    } while (!t->contradiction && (go_straight(t, true) || (t->guess && go_straight(t, false))));
    return !t->contradiction;
}

/* The one free cell next to all neighbours of a switch that have a place, or RT_NONE. */
static uint32_t only_cell(const struct rt_graph *g, const struct rt_torus_grid *grid, uint32_t x)
{
    uint32_t free_cells[RT_TORUS_DIRECTIONS];
    unsigned count = 0;
    bool any = false;
    for (uint32_t i = 0; i < g->switches[x].group_count; i++) {
        uint32_t at = grid->cell[rt_group_of(g, x, i)->peer];
        unsigned kept = 0;
        for (unsigned k = 0; at != RT_NONE && k < RT_TORUS_DIRECTIONS; k++) {
            uint32_t next = rt_torus_next_cell(grid, at, k);
            bool good = next != RT_NONE && grid->sw[next] == RT_NONE;
            if (good && !any)
                free_cells[count++] = next;
            for (unsigned c = kept; good && any && c < count; c++)
                if (free_cells[c] == next) {
                    free_cells[c] = free_cells[kept];
                    free_cells[kept++] = next;
                    break;
                }
        }
        if (at != RT_NONE && any)
            count = kept;
        any |= at != RT_NONE;
    }
    return count == 1 ? free_cells[0] : RT_NONE;
}

uint32_t torus_fill_gaps(const struct rt_graph *g, struct rt_torus_grid *grid)
{
    bool any;
    do {
        any = false;
        for (uint32_t x = 0; x < g->switch_count; x++) {
            uint32_t cell = grid->cell[x] == RT_NONE ? only_cell(g, grid, x) : RT_NONE;
            if (cell == RT_NONE)
                continue;
            grid->cell[x] = cell;
            grid->sw[cell] = x;
            any = true;
        }
    } while (any);
    for (uint32_t x = 0; x < g->switch_count; x++)
        if (grid->cell[x] == RT_NONE)
            return x;
    return RT_NONE;
}
