/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to torus.c and torus_proof.c: paths and lanes of torus-2qos. */
#ifndef ROUTING_TORUS_PLAN_H
#define ROUTING_TORUS_PLAN_H

#include "routing/engine.h"
#include "routing/torus.h"

#define TORUS_STAY RT_TORUS_DIRECTIONS /* no direction: at the destination, or no way on */
#define TORUS_SLS 8u                   /* a bit a dimension */
#define TORUS_LONG_RING 5u             /* rings from here on need their dateline */

/* How the VL is taken from the SL's bit and from whether the last turn was a forbidden one; each
 * has more VLs than those before it, or as many. */
enum torus_scheme {
    TORUS_ONE,          /* 0 */
    TORUS_BIT,          /* the bit */
    TORUS_TURN,         /* 1 after a forbidden turn */
    TORUS_BIT_OR_TURN,  /* 2 after a forbidden turn, else the bit */
    TORUS_BIT_AND_TURN, /* the bit, and 2 more after a forbidden turn */
    TORUS_SCHEMES,
};

struct torus_plan {
    struct rt_plan plan;
    struct rt_torus_grid grid;
    uint16_t (*at)[RT_TORUS_DIMENSIONS];  /* coordinates of each cell */
    uint16_t (*run)[RT_TORUS_DIRECTIONS]; /* of each cell: steps to the first gap, at most size */
    uint8_t *port_direction;              /* 256 a switch; TORUS_STAY = an end port */
    enum torus_scheme scheme;
};

unsigned torus_scheme_vls(enum torus_scheme scheme);
unsigned torus_lane(enum torus_scheme scheme, unsigned sl, unsigned direction, bool turned);
/* A turn that dimension order forbids. */
static inline bool torus_is_forbidden(unsigned in, unsigned out)
{
    return in < TORUS_STAY && out < TORUS_STAY && in / 2 > out / 2;
}
/* The direction in which a packet leaves a cell for a destination cell. */
unsigned torus_step(const struct torus_plan *p, uint32_t cell, uint32_t dest);
unsigned torus_sl(const struct torus_plan *p, uint32_t source, uint32_t dest); /* cells */

/* Follows all paths. Returns 0 and the first scheme of at most max_vls VLs on which they have no
 * cycle; ENOTSUP with one line in error. */
int torus_prove(const struct torus_plan *p, unsigned max_vls, enum torus_scheme *scheme,
                char *error, size_t error_size);

#endif
