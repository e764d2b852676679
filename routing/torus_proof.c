/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows every path of torus-2qos, and looks whether the channels that wait for each other have a
 * cycle. Paths to one destination merge, so what is carried along is the set of SLs (8 bits) that
 * come to a cell from each direction. */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "routing/torus_plan.h"

#define VLS 4u
#define INS (RT_TORUS_DIRECTIONS + 1) /* directions in which packets come, TORUS_STAY = start */

/* SLs by the direction in which packets come, and by whether they came by a forbidden turn. */
typedef uint8_t sl_sets[INS][2];

struct proof {
    const struct torus_plan *p;
    uint8_t *step;   /* of each cell, to the present destination */
    uint8_t *fan_in; /* cells that step to this one, and have not been looked at */
    uint32_t *queue;
    sl_sets *coming;                       /* to each cell on the way to the present destination */
    sl_sets (*waits)[RT_TORUS_DIRECTIONS]; /* of each cell: SLs by the direction they leave in */
};

static bool is_there(const struct torus_plan *p, uint32_t cell)
{
    return p->grid.sw[cell] != RT_NONE;
}

static uint64_t guid_at(const struct torus_plan *p, uint32_t cell)
{
    return p->plan.graph->switches[p->grid.sw[cell]].guid;
}

static int refuse_pair(const struct proof *f, uint32_t cell, uint32_t dest, char *error,
                       size_t error_size)
{
    const struct rt_torus_grid *grid = &f->p->grid;
    snprintf(error, error_size,
             "no path in dimension order from switch 0x%016" PRIx64 " to 0x%016" PRIx64
             " round the %" PRIu32 " switches and %" PRIu32 " links that are missing",
             guid_at(f->p, cell), guid_at(f->p, dest), grid->missing_switches, grid->missing_links);
    return ENOTSUP;
}

static int find_steps(struct proof *f, uint32_t dest, char *error, size_t error_size)
{
    const struct torus_plan *p = f->p;
    memset(f->fan_in, 0, p->grid.cells);
    for (uint32_t c = 0; c < p->grid.cells; c++) {
        if (!is_there(p, c) || c == dest)
            continue;
        f->step[c] = (uint8_t)torus_step(p, c, dest);
        if (f->step[c] == TORUS_STAY)
            return refuse_pair(f, c, dest, error, error_size);
        f->fan_in[rt_torus_next_cell(&p->grid, c, f->step[c])]++;
    }
    return 0;
}

static void carry_on(struct proof *f, uint32_t c, uint32_t next, uint32_t dest)
{
    const struct torus_plan *p = f->p;
    unsigned out = f->step[c];
    f->coming[c][TORUS_STAY][0] |= (uint8_t)(1u << torus_sl(p, c, dest));
    for (unsigned in = 0; in < INS; in++)
        for (unsigned turned = 0; turned < 2; turned++) {
            uint8_t sls = f->coming[c][in][turned];
            f->waits[c][out][in][turned] |= sls;
            f->coming[next][out][torus_is_forbidden(in, out)] |= sls;
        }
}

/* From the leaves of the tree of paths to its root. What is on a loop is never reached. */
static int follow_all(struct proof *f, uint32_t dest, char *error, size_t error_size)
{
    const struct torus_plan *p = f->p;
    uint32_t head = 0, tail = 0;
    int rc = find_steps(f, dest, error, error_size);
    if (rc)
        return rc;
    memset(f->coming, 0, p->grid.cells * sizeof *f->coming);
    for (uint32_t c = 0; c < p->grid.cells; c++)
        if (is_there(p, c) && f->fan_in[c] == 0)
            f->queue[tail++] = c;
    for (; head < tail; head++) {
        uint32_t c = f->queue[head];
        if (c == dest)
            continue;
        uint32_t next = rt_torus_next_cell(&p->grid, c, f->step[c]);
        carry_on(f, c, next, dest);
        if (--f->fan_in[next] == 0)
            f->queue[tail++] = next;
    }
    for (uint32_t c = 0; c < p->grid.cells; c++)
        if (is_there(p, c) && f->fan_in[c] > 0)
            return refuse_pair(f, c, dest, error, error_size);
    return 0;
}

/* -- cycles --------------------------------------------------------------------------------- */

/* A channel is (cell where it ends, direction, VL); its successors are bits, direction * VLS + VL,
 * of the cell where it ends. */
static uint32_t channel(uint32_t cell, unsigned direction, unsigned vl)
{
    return (cell * RT_TORUS_DIRECTIONS + direction) * VLS + vl;
}

static void add_waits(const struct proof *f, enum torus_scheme scheme, uint32_t c, unsigned in,
                      unsigned out, uint32_t *next)
{
    bool turns = torus_is_forbidden(in, out);
    for (unsigned turned = 0; turned < 2; turned++)
        for (unsigned sl = 0; sl < TORUS_SLS; sl++)
            if (f->waits[c][out][in][turned] >> sl & 1)
                next[channel(c, in, torus_lane(scheme, sl, in, turned))] |=
                    1u << (out * VLS + torus_lane(scheme, sl, out, turns));
}

static uint32_t *list_waits(const struct proof *f, enum torus_scheme scheme)
{
    uint32_t cells = f->p->grid.cells;
    uint32_t *next = g_new0(uint32_t, channel(cells, 0, 0) + 1);
    for (uint32_t c = 0; c < cells; c++)
        for (unsigned in = 0; in < RT_TORUS_DIRECTIONS; in++)
            for (unsigned out = 0; out < RT_TORUS_DIRECTIONS; out++)
                add_waits(f, scheme, c, in, out, next);
    return next;
}

static uint32_t successor(const struct proof *f, uint32_t from, unsigned bit)
{
    uint32_t cell = from / (RT_TORUS_DIRECTIONS * VLS);
    unsigned out = bit / VLS;
    return channel(rt_torus_next_cell(&f->p->grid, cell, out), out, bit % VLS);
}

/* Takes away channels that nothing waits for (Kahn); a cell on a cycle, or RT_NONE. */
static uint32_t find_cycle(const struct proof *f, enum torus_scheme scheme)
{
    uint32_t count = channel(f->p->grid.cells, 0, 0), head = 0, tail = 0;
    g_autofree uint32_t *next = list_waits(f, scheme);
    g_autofree uint32_t *queue = g_new(uint32_t, count + 1);
    g_autofree uint8_t *waiting = g_new0(uint8_t, count + 1);
    for (uint32_t c = 0; c < count; c++)
        for (unsigned bit = 0; bit < RT_TORUS_DIRECTIONS * VLS; bit++)
            if (next[c] >> bit & 1)
                waiting[successor(f, c, bit)]++;
    for (uint32_t c = 0; c < count; c++)
        if (waiting[c] == 0)
            queue[tail++] = c;
    for (; head < tail; head++)
        for (unsigned bit = 0; bit < RT_TORUS_DIRECTIONS * VLS; bit++)
            if (next[queue[head]] >> bit & 1) {
                uint32_t after = successor(f, queue[head], bit);
                if (--waiting[after] == 0)
                    queue[tail++] = after;
            }
    for (uint32_t c = 0; c < count; c++)
        if (waiting[c] > 0)
            return c / (RT_TORUS_DIRECTIONS * VLS);
    return RT_NONE;
}

static int choose(const struct proof *f, unsigned max_vls, enum torus_scheme *scheme, char *error,
                  size_t error_size)
{
    uint32_t at = RT_NONE;
    unsigned needed = 0;
    for (unsigned i = 0; i < TORUS_SCHEMES && needed == 0; i++) {
        uint32_t cycle = find_cycle(f, i);
        if (cycle == RT_NONE)
            needed = torus_scheme_vls(i);
        else
            at = cycle;
        *scheme = i;
    }
    if (needed > 0 && needed <= max_vls)
        return 0;
    if (needed > 0)
        snprintf(error, error_size,
                 "credit loops at switch 0x%016" PRIx64 " and others with less than %u VLs, "
                 "%u may be used",
                 guid_at(f->p, at), needed, max_vls);
    else
        snprintf(error, error_size,
                 "credit loops at switch 0x%016" PRIx64 " and others round the %" PRIu32
                 " switches and %" PRIu32 " links that are missing",
                 guid_at(f->p, at), f->p->grid.missing_switches, f->p->grid.missing_links);
    return ENOTSUP;
}

int torus_prove(const struct torus_plan *p, unsigned max_vls, enum torus_scheme *scheme,
                char *error, size_t error_size)
{
    uint32_t cells = p->grid.cells;
    struct proof f = {.p = p,
                      .step = g_new0(uint8_t, cells + 1),
                      .fan_in = g_new0(uint8_t, cells + 1),
                      .queue = g_new(uint32_t, cells + 1),
                      .coming = g_malloc((cells + 1) * sizeof *f.coming),
                      .waits = g_malloc0((cells + 1) * sizeof *f.waits)};
    int rc = 0;
    for (uint32_t c = 0; rc == 0 && c < cells; c++)
        if (is_there(p, c))
            rc = follow_all(&f, c, error, error_size);
    if (rc == 0)
        rc = choose(&f, max_vls, scheme, error, error_size);
    g_free(f.step);
    g_free(f.fan_in);
    g_free(f.queue);
    g_free(f.coming);
    g_free(f.waits);
    return rc;
}
