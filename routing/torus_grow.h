/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to torus_find.c and torus_grow.c: spreading directions from one switch to all. */
#ifndef ROUTING_TORUS_GROW_H
#define ROUTING_TORUS_GROW_H

#include "routing/torus.h"

struct torus_growth {
    const struct rt_graph *g;
    bool pair[RT_TORUS_DIMENSIONS];      /* a line of two: at most one neighbour a switch */
    bool absent[RT_TORUS_DIMENSIONS];    /* no neighbours at all */
    uint32_t (*to)[RT_TORUS_DIRECTIONS]; /* of each switch: its neighbours, RT_NONE */
    uint8_t *direction;                  /* of each group; RT_TORUS_DIRECTIONS = unknown */
    uint8_t *left;                       /* of each switch: groups without a direction */
    uint32_t *queue;                     /* switches whose squares are to be looked at */
    bool *queued;
    uint32_t head, count;
    bool guess; /* go straight on where other directions are open, too */
    bool contradiction;
    uint32_t contradiction_at; /* a switch */
};

void torus_growth_init(struct torus_growth *t, const struct rt_graph *g);
void torus_growth_clear(struct torus_growth *t);
/* Forgets all directions. */
void torus_growth_reset(struct torus_growth *t);
/* v is the neighbour of u in this direction. */
void torus_assign(struct torus_growth *t, uint32_t u, unsigned direction, uint32_t v);
/* Derives all that it can; false at a contradiction. */
bool torus_grow(struct torus_growth *t);

/* Near damage directions may be open where places are not: gives switches without a cell the one
 * that is free next to all of their neighbours, where there is one. A switch that is left, or
 * RT_NONE. */
uint32_t torus_fill_gaps(const struct rt_graph *g, struct rt_torus_grid *grid);

#endif
