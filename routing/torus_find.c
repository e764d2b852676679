/* SPDX-License-Identifier: BSD-2-Clause */
/* Places the switches of a graph in a grid: hypotheses about the directions of one switch's
 * neighbours, each grown over the fabric and then verified against all links. */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "routing/torus_grow.h"
#include "routing/updown.h"

#define MAX_ORIGINS 16u /* switches to start from, where none is given */
#define SWITCH_COST 6u  /* of a missing switch, in missing links */

struct search {
    struct torus_growth growth;
    const struct rt_torus_shape *shape; /* or NULL */
    const struct rt_torus_seed *seed;   /* of shape */
    uint32_t origin;
    uint32_t neighbours[RT_TORUS_DIRECTIONS]; /* of origin, to be given a direction */
    unsigned neighbour_count;
    unsigned chosen[RT_TORUS_DIRECTIONS]; /* their directions */
    bool closed;                    /* what has one neighbour at the origin is a line of two */
    int (*at)[RT_TORUS_DIMENSIONS]; /* of each switch, INT_MAX = no place */
    uint32_t *queue;
    struct rt_torus_grid best;
    uint64_t best_cost; /* UINT64_MAX = none yet */
    char *error;        /* why the first hypothesis did not hold */
    size_t error_size;
};

void rt_torus_grid_clear(struct rt_torus_grid *grid)
{
    g_free(grid->sw);
    g_free(grid->cell);
    g_free(grid->group);
    *grid = (struct rt_torus_grid){0};
}

uint32_t rt_torus_next_cell(const struct rt_torus_grid *grid, uint32_t cell, unsigned direction)
{
    unsigned d = direction / 2;
    uint32_t size = grid->size[d], stride = rt_torus_stride(grid, d);
    uint32_t at = cell / stride % size;
    bool down = direction % 2, end = down ? at == 0 : at == size - 1;
    if (size == 1 || (end && !grid->wraps[d]))
        return RT_NONE;
    if (end)
        return down ? cell + (size - 1) * stride : cell - (size - 1) * stride;
    return down ? cell - stride : cell + stride;
}

static bool G_GNUC_PRINTF(2, 3) say(struct search *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (s->error_size > 0 && s->error[0] == '\0')
        vsnprintf(s->error, s->error_size, format, args);
    va_end(args);
    return false;
}

static uint64_t guid_of(const struct search *s, uint32_t sw)
{
    return s->growth.g->switches[sw].guid;
}

/* -- coordinates ---------------------------------------------------------------------------- */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Coordinates from those of the origin on, for all that the directions lead to. */
static void place_all(struct search *s)
{
    const struct rt_graph *g = s->growth.g;
    uint32_t head = 0, tail = 0;
    for (uint32_t i = 0; i < g->switch_count; i++)
        s->at[i][0] = INT_MAX;
    memset(s->at[s->origin], 0, sizeof *s->at);
    s->queue[tail++] = s->origin;
    for (; head < tail; head++) {
        uint32_t u = s->queue[head];
        for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++) {
            uint32_t v = s->growth.to[u][k];
            if (v == RT_NONE || s->at[v][0] != INT_MAX)
                continue;
            memcpy(s->at[v], s->at[u], sizeof *s->at);
            s->at[v][k / 2] += k % 2 ? -1 : 1;
            s->queue[tail++] = v;
        }
    }
}

/* Going round a ring comes back with another coordinate: what they differ by are multiples of its
 * size. */
static void find_periods(const struct search *s, uint32_t period[RT_TORUS_DIMENSIONS])
{
    memset(period, 0, RT_TORUS_DIMENSIONS * sizeof *period);
    for (uint32_t u = 0; u < s->growth.g->switch_count; u++)
        for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k += 2) {
            uint32_t v = s->growth.to[u][k];
            bool both = v != RT_NONE && s->at[u][0] != INT_MAX && s->at[v][0] != INT_MAX;
            for (unsigned d = 0; both && d < RT_TORUS_DIMENSIONS; d++) {
                int apart = s->at[u][d] + (k / 2 == d) - s->at[v][d];
                period[d] = common_divisor(period[d], (uint32_t)abs(apart));
            }
        }
}

/* Size of a dimension and whether it wraps; `extent` is that of the coordinates. */
static bool size_dimension(struct search *s, struct rt_torus_grid *grid, unsigned d,
                           uint32_t extent, uint32_t period)
{
    grid->size[d] = period ? period : extent;
    grid->wraps[d] = period != 0;
    if (s->shape) {
        uint32_t size = s->shape->size[d];
        bool wraps = s->shape->wraps[d] && size > 2;
        bool fits = wraps ? period % size == 0 && (period || extent <= size)
                          : period == 0 && extent == size;
        grid->size[d] = size;
        grid->wraps[d] = wraps;
        if (!fits)
            return say(s,
                       "dimension %c as seen from switch 0x%016" PRIx64 " is a %s of %u, "
                       "configured is a %s of %u",
                       'x' + (int)d, guid_of(s, s->origin), period ? "ring" : "line",
                       period ? period : extent, wraps ? "ring" : "line", size);
    }
    if (grid->wraps[d] && grid->size[d] < 3)
        return say(s, "links around switch 0x%016" PRIx64 " are not those of a grid",
                   guid_of(s, s->origin));
    return true;
}

static bool size_all(struct search *s, struct rt_torus_grid *grid, int low[RT_TORUS_DIMENSIONS])
{
    const struct rt_graph *g = s->growth.g;
    uint32_t period[RT_TORUS_DIMENSIONS];
    uint64_t cells = 1;
    find_periods(s, period);
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
        int high = 0;
        low[d] = 0;
        for (uint32_t i = 0; i < g->switch_count; i++) {
            if (s->at[i][0] == INT_MAX)
                continue;
            low[d] = MIN(low[d], s->at[i][d]);
            high = MAX(high, s->at[i][d]);
        }
        if (!size_dimension(s, grid, d, (uint32_t)(high - low[d]) + 1, period[d]))
            return false;
        cells *= grid->size[d];
        if (cells > 2 * (uint64_t)g->switch_count + 8)
            return say(s, "%" PRIu32 " switches would fill less than half of a grid",
                       g->switch_count);
    }
    grid->cells = (uint32_t)cells;
    return true;
}

/* Ring coordinates that are given count from the seed's dateline; lines start at their end. */
static uint32_t normal_coordinate(const struct search *s, const struct rt_torus_grid *grid,
                                  uint32_t sw, unsigned d, int low)
{
    int size = (int)grid->size[d];
    if (!grid->wraps[d])
        return (uint32_t)(s->at[sw][d] - low);
    int shift = s->seed ? s->seed->dateline[d] % size : 0;
    return (uint32_t)(((s->at[sw][d] - shift) % size + size) % size);
}

/* -- verification --------------------------------------------------------------------------- */

static bool fill_cells(struct search *s, struct rt_torus_grid *grid, const int *low)
{
    const struct rt_graph *g = s->growth.g;
    grid->sw = g_malloc((grid->cells + 1) * sizeof *grid->sw);
    grid->cell = g_new(uint32_t, g->switch_count + 1);
    memset(grid->sw, 0xff, grid->cells * sizeof *grid->sw);
    memset(grid->cell, 0xff, g->switch_count * sizeof *grid->cell);
    for (uint32_t i = 0; i < g->switch_count; i++) {
        uint32_t cell = 0;
        if (s->at[i][0] == INT_MAX)
            continue;
        for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++)
            cell += normal_coordinate(s, grid, i, d, low[d]) * rt_torus_stride(grid, d);
        if (grid->sw[cell] != RT_NONE)
            return say(s,
                       "switches 0x%016" PRIx64 " and 0x%016" PRIx64
                       " would have one place in the grid",
                       guid_of(s, grid->sw[cell]), guid_of(s, i));
        grid->sw[cell] = i;
        grid->cell[i] = cell;
    }
    grid->missing_switches = grid->cells - g->switch_count;
    return true;
}

static bool fill_gaps(struct search *s, struct rt_torus_grid *grid)
{
    uint32_t left = torus_fill_gaps(s->growth.g, grid);
    return left == RT_NONE ||
           say(s, "switch 0x%016" PRIx64 " has no place in a grid with 0x%016" PRIx64,
               guid_of(s, left), guid_of(s, s->origin));
}

static bool fill_group(struct rt_torus_grid *grid, uint32_t u, uint32_t group, uint32_t v)
{
    for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++)
        if (rt_torus_next_cell(grid, grid->cell[u], k) == grid->cell[v]) {
            grid->group[u][k] = group;
            return true;
        }
    return false;
}

static bool fill_groups(struct search *s, struct rt_torus_grid *grid)
{
    const struct rt_graph *g = s->growth.g;
    grid->group = g_malloc((g->switch_count + 1) * sizeof *grid->group);
    memset(grid->group, 0xff, g->switch_count * sizeof *grid->group);
    for (uint32_t u = 0; u < g->switch_count; u++) {
        const struct rt_switch *sw = &g->switches[u];
        for (uint32_t i = sw->first_group; i < sw->first_group + sw->group_count; i++)
            if (!fill_group(grid, u, i, g->groups[i].peer))
                return say(s,
                           "the link from switch 0x%016" PRIx64 " to 0x%016" PRIx64
                           " does not fit into a grid",
                           sw->guid, guid_of(s, g->groups[i].peer));
        for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k += 2) {
            uint32_t next = rt_torus_next_cell(grid, grid->cell[u], k);
            if (next != RT_NONE && grid->sw[next] != RT_NONE && grid->group[u][k] == RT_NONE)
                grid->missing_links++;
        }
    }
    return true;
}

/* Lines that are broken into pieces: of several frames for one fabric (rings of four look alike in
 * all dimensions) the one with least of them is the best to route. */
static uint64_t count_pieces(const struct rt_torus_grid *grid)
{
    uint64_t pieces = 0;
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
        uint32_t stride = rt_torus_stride(grid, d), size = grid->size[d];
        for (uint32_t first = 0; first < grid->cells; first++) {
            unsigned gaps = 0;
            for (uint32_t i = 0; first / stride % size == 0 && i < size; i++) {
                uint32_t sw = grid->sw[first + i * stride];
                uint32_t next = rt_torus_next_cell(grid, first + i * stride, 2 * d);
                bool gap = sw != RT_NONE && next != RT_NONE && grid->sw[next] != RT_NONE &&
                           grid->group[sw][2 * d] == RT_NONE;
                gaps += gap + (sw == RT_NONE);
            }
            pieces += gaps > grid->wraps[d] ? gaps - grid->wraps[d] : 0;
        }
    }
    return pieces;
}

static void grow_hypothesis(struct search *s, bool guess)
{
    struct torus_growth *t = &s->growth;
    torus_growth_reset(t);
    t->guess = guess;
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
        bool both[2] = {false, false};
        for (unsigned i = 0; i < s->neighbour_count; i++)
            if (s->chosen[i] / 2 == d)
                both[s->chosen[i] % 2] = true;
        t->absent[d] = s->shape ? s->shape->size[d] == 1 : !both[0] && !both[1];
        t->pair[d] = s->shape ? s->shape->size[d] <= 2 : s->closed && !(both[0] && both[1]);
    }
    for (unsigned i = 0; i < s->neighbour_count; i++)
        torus_assign(t, s->origin, s->chosen[i], s->neighbours[i]);
    if (!torus_grow(t)) {
        say(s, "links around switch 0x%016" PRIx64 " are not those of a grid",
            guid_of(s, t->contradiction_at));
        return;
    }
    struct rt_torus_grid grid = {0};
    int low[RT_TORUS_DIMENSIONS];
    uint64_t cost = UINT64_MAX;
    place_all(s);
    if (size_all(s, &grid, low) && fill_cells(s, &grid, low) && fill_gaps(s, &grid) &&
        fill_groups(s, &grid))
        cost = (uint64_t)SWITCH_COST * grid.missing_switches + grid.missing_links +
               count_pieces(&grid);
    if (cost >= s->best_cost) {
        rt_torus_grid_clear(&grid);
        return;
    }
    rt_torus_grid_clear(&s->best);
    s->best = grid;
    s->best_cost = cost;
}

/* Grows what is chosen, and keeps the grid if it is the best so far. Guesses only where there is
 * no grid without. */
static void try_hypothesis(struct search *s)
{
    uint64_t before = s->best_cost;
    grow_hypothesis(s, false);
    if (s->best_cost == UINT64_MAX && before == UINT64_MAX)
        grow_hypothesis(s, true);
}

/* -- hypotheses ----------------------------------------------------------------------------- */

/* Two neighbours make a dimension, or one does. */
static void pair_neighbours(struct search *s, unsigned taken, unsigned dimensions,
                            bool singles_first)
{
    unsigned first = 0;
    while (first < s->neighbour_count && taken >> first & 1)
        first++;
    if (first == s->neighbour_count)
        try_hypothesis(s);
    if (first == s->neighbour_count || dimensions == RT_TORUS_DIMENSIONS)
        return;
    s->chosen[first] = 2 * dimensions;
    for (unsigned pass = 0; pass < 2; pass++) {
        if ((pass == 0) == singles_first)
            pair_neighbours(s, taken | 1u << first, dimensions + 1, singles_first);
        for (unsigned i = first + 1; (pass == 0) != singles_first && i < s->neighbour_count; i++) {
            if (taken >> i & 1)
                continue;
            s->chosen[i] = 2 * dimensions + 1;
            pair_neighbours(s, taken | 1u << first | 1u << i, dimensions + 1, singles_first);
        }
        if (s->best_cost == 0)
            return;
    }
}

/* Directions that the configuration leaves open, for neighbours from `first` on. */
static void fill_directions(struct search *s, unsigned first, unsigned taken)
{
    if (first == s->neighbour_count) {
        try_hypothesis(s);
        return;
    }
    for (unsigned k = 0; k < RT_TORUS_DIRECTIONS && s->best_cost > 0; k++) {
        uint32_t size = s->shape->size[k / 2];
        bool fits = size > 2 || (size == 2 && !(taken >> (k ^ 1) & 1));
        if (taken >> k & 1 || !fits)
            continue;
        s->chosen[first] = k;
        fill_directions(s, first + 1, taken | 1u << k);
    }
}

static void list_neighbours(struct search *s, uint32_t origin)
{
    const struct rt_graph *g = s->growth.g;
    s->origin = origin;
    s->neighbour_count = g->switches[origin].group_count;
    for (unsigned i = 0; i < s->neighbour_count; i++)
        s->neighbours[i] = rt_group_of(g, origin, i)->peer;
}

static void find_without_shape(struct search *s)
{
    const struct rt_graph *g = s->growth.g;
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->switch_count; i++)
        most = MAX(most, g->switches[i].group_count);
    for (unsigned round = 0; round < 2 && s->best_cost == UINT64_MAX; round++) {
        unsigned tried = 0;
        s->closed = round == 0;
        for (uint32_t i = 0; i < g->switch_count && tried < MAX_ORIGINS; i++) {
            if (g->switches[i].group_count != most || s->best_cost != UINT64_MAX)
                continue;
            tried++;
            list_neighbours(s, i);
            pair_neighbours(s, 0, 0, most <= RT_TORUS_DIMENSIONS);
        }
    }
}

/* Puts the neighbours that the seed names first, with their directions. */
static bool start_at_seed(struct search *s, const struct rt_torus_seed *seed, unsigned *named,
                          unsigned *taken)
{
    const struct rt_graph *g = s->growth.g;
    uint32_t from = rt_find_switch(g, seed->from);
    if (from == RT_NONE)
        return say(s, "switch 0x%016" PRIx64 " of the torus configuration is not there",
                   seed->from);
    list_neighbours(s, from);
    *named = *taken = 0;
    for (unsigned k = 0; k < RT_TORUS_DIRECTIONS; k++) {
        uint32_t peer = seed->neighbours[k] ? rt_find_switch(g, seed->neighbours[k]) : RT_NONE;
        unsigned i = *named;
        if (seed->neighbours[k] == 0)
            continue;
        while (i < s->neighbour_count && s->neighbours[i] != peer)
            i++;
        if (peer == RT_NONE || i == s->neighbour_count)
            return say(s,
                       "switch 0x%016" PRIx64 " is not joined to 0x%016" PRIx64
                       " (%c%c_link of the torus configuration)",
                       seed->from, seed->neighbours[k], 'x' + (int)(k / 2), k % 2 ? 'm' : 'p');
        s->neighbours[i] = s->neighbours[*named];
        s->neighbours[*named] = peer;
        s->chosen[(*named)++] = k;
        *taken |= 1u << k;
    }
    return true;
}

static void find_with_shape(struct search *s)
{
    for (unsigned i = 0; i < s->shape->seed_count && s->best_cost == UINT64_MAX; i++) {
        unsigned named = 0, taken = 0;
        s->seed = &s->shape->seeds[i];
        if (start_at_seed(s, s->seed, &named, &taken))
            fill_directions(s, named, taken);
    }
    s->seed = NULL;
}

/* Without seeds: a shape that is found must have these sizes, in any order of the dimensions. */
static bool sizes_fit(const struct rt_torus_shape *shape, const struct rt_torus_grid *grid)
{
    unsigned used = 0, fitting = 0;
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++)
        for (unsigned e = 0; e < RT_TORUS_DIMENSIONS; e++) {
            bool wraps = shape->wraps[e] && shape->size[e] > 2;
            if (used >> e & 1 || shape->size[e] != grid->size[d] || wraps != grid->wraps[d])
                continue;
            used |= 1u << e;
            fitting++;
            break;
        }
    return fitting == RT_TORUS_DIMENSIONS;
}

/* -- coordinates that do not depend on where the search began --------------------------------- */

struct frame { /* of each new dimension: the old one, whether turned round, what is coordinate 0 */
    unsigned from[RT_TORUS_DIMENSIONS];
    bool turned[RT_TORUS_DIMENSIONS];
    uint32_t zero[RT_TORUS_DIMENSIONS];
};

static uint32_t neighbour_of(const struct rt_torus_grid *grid, uint32_t sw, unsigned k)
{
    uint32_t cell = rt_torus_next_cell(grid, grid->cell[sw], k);
    return cell == RT_NONE ? RT_NONE : grid->sw[cell];
}

static void choose_frame(const struct rt_torus_grid *grid, struct frame *f)
{
    uint32_t next[RT_TORUS_DIMENSIONS];
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
        uint32_t at = rt_torus_coordinate(grid, grid->cell[0], d), size = grid->size[d];
        uint32_t up = neighbour_of(grid, 0, 2 * d), down = neighbour_of(grid, 0, 2 * d + 1);
        bool turned = grid->wraps[d] || 2 * at + 1 == size ? down < up : 2 * at + 1 > size;
        unsigned place = d;
        for (; place > 0 && MIN(up, down) < next[place - 1]; place--) {
            next[place] = next[place - 1];
            f->from[place] = f->from[place - 1];
            f->turned[place] = f->turned[place - 1];
            f->zero[place] = f->zero[place - 1];
        }
        next[place] = MIN(up, down);
        f->from[place] = d;
        f->turned[place] = turned;
        f->zero[place] = grid->wraps[d] ? at : turned ? size - 1 : 0;
    }
}

static void reframe(struct search *s)
{
    struct rt_torus_grid *old = &s->best, new = {.cells = old->cells};
    const struct rt_graph *g = s->growth.g;
    struct frame f;
    choose_frame(old, &f);
    for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
        new.size[d] = old->size[f.from[d]];
        new.wraps[d] = old->wraps[f.from[d]];
    }
    for (uint32_t i = 0; i < g->switch_count; i++)
        for (unsigned d = 0; d < RT_TORUS_DIMENSIONS; d++) {
            uint32_t at = rt_torus_coordinate(old, old->cell[i], f.from[d]), size = new.size[d];
            s->at[i][d] =
                (int)((f.turned[d] ? f.zero[d] + size - at : at + size - f.zero[d]) % size);
        }
    static const int low[RT_TORUS_DIMENSIONS];
    rt_torus_grid_clear(old);
    bool good = fill_cells(s, &new, low) && fill_groups(s, &new);
    g_assert(good); /* the same grid in other coordinates */
    *old = new;
}

static int check_sizes(const struct rt_graph *g, char *error, size_t error_size)
{
    if (g->switch_count == 0 || g->switch_count > RT_MAX_LID) {
        snprintf(error, error_size, "a torus of %" PRIu32 " switches cannot be routed",
                 g->switch_count);
        return ENOTSUP;
    }
    for (uint32_t i = 0; i < g->switch_count; i++) {
        if (g->switches[i].group_count <= RT_TORUS_DIRECTIONS)
            continue;
        snprintf(error, error_size,
                 "switch 0x%016" PRIx64 " is joined to %" PRIu32
                 " others: a torus of three dimensions has 6",
                 g->switches[i].guid, g->switches[i].group_count);
        return ENOTSUP;
    }
    return 0;
}

int rt_torus_find(const struct rt_graph *g, const struct rt_torus_shape *shape,
                  struct rt_torus_grid *grid, char *error, size_t error_size)
{
    char why[256] = "";
    bool seeded = shape && shape->seed_count > 0;
    struct search s = {.shape = seeded ? shape : NULL,
                       .best_cost = UINT64_MAX,
                       .error = why,
                       .error_size = sizeof why};
    int rc = check_sizes(g, error, error_size);
    *grid = (struct rt_torus_grid){0};
    if (rc)
        return rc;
    torus_growth_init(&s.growth, g);
    s.at = g_malloc((g->switch_count + 1) * sizeof *s.at);
    s.queue = g_new(uint32_t, g->switch_count + 1);
    if (seeded)
        find_with_shape(&s);
    else
        find_without_shape(&s);
    if (s.best_cost != UINT64_MAX && !seeded)
        reframe(&s);
    if (s.best_cost == UINT64_MAX) {
        snprintf(error, error_size, "no torus or mesh: %s", why);
    } else if (!seeded && shape && !sizes_fit(shape, &s.best)) {
        snprintf(error, error_size,
                 "found a grid of %" PRIu32 "x%" PRIu32 "x%" PRIu32 " from switch 0x%016" PRIx64
                 ", not as configured: name neighbours with xp_link, yp_link, zp_link",
                 s.best.size[0], s.best.size[1], s.best.size[2], g->switches[0].guid);
        rt_torus_grid_clear(&s.best);
        s.best_cost = UINT64_MAX;
    }
    torus_growth_clear(&s.growth);
    g_free(s.at);
    g_free(s.queue);
    *grid = s.best;
    return s.best_cost == UINT64_MAX ? ENOTSUP : 0;
}
