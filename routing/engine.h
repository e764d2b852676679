/* SPDX-License-Identifier: BSD-2-Clause */
/* What a plan is inside: the functions of its engine, and what every engine has. An engine embeds
 * `struct rt_plan` as the first member of its own; those that go by up*-down* orders (ftree, updn)
 * embed `struct rt_updown_plan`. */
#ifndef ROUTING_ENGINE_H
#define ROUTING_ENGINE_H

#include "routing/plan.h"
#include "routing/updown.h"

struct rt_plan_ops {
    void (*destroy)(struct rt_plan *p); /* all but the reference to the graph, and frees p */
    /* row is filled with RT_NO_PATH and holds entries up to the graph's max_lid. */
    void (*row)(const struct rt_plan *p, uint32_t sw, uint8_t *row);
    /* dest is owned by another switch; path is the offset of the LID from its base LID. */
    unsigned (*next_hop)(const struct rt_plan *p, uint32_t sw, uint32_t dest, unsigned path);
    /* plan.h, rt_plan_sl_from. NULL: 0. */
    unsigned (*sl)(const struct rt_plan *p, uint32_t source, uint32_t dest, unsigned path);
    /* plan.h, rt_plan_vl. NULL: the SL. */
    unsigned (*vl)(const struct rt_plan *p, uint32_t sw, unsigned in_port, unsigned out_port,
                   unsigned sl);
    /* plan.h, rt_plan_unreachable. NULL: there are none. */
    size_t (*unreachable)(const struct rt_plan *p, uint32_t (*pairs)[2], size_t capacity);
    /* For change.h; all or none, and only for plans that embed struct rt_updown_plan. Whether what
     * the engine knows, beyond updown.h and the graph, is the same in two plans with the same
     * switches: of a switch, and of a destination (its number in each). same_way: what matters
     * only where several groups lead down in the tree order. */
    bool (*same_switch)(const struct rt_plan *a, const struct rt_plan *b, uint32_t s);
    bool (*same_dest)(const struct rt_plan *a, uint32_t dest_a, const struct rt_plan *b,
                      uint32_t dest_b);
    bool (*same_way)(const struct rt_plan *a, uint32_t dest_a, const struct rt_plan *b,
                     uint32_t dest_b);
};

struct rt_plan {
    const struct rt_plan_ops *ops;
    struct rt_graph *graph; /* a reference that rt_plan_destroy gives back */
    struct rt_properties properties;
    uint32_t *numbers; /* NULL = engine without numbers; the engine frees it */
};

struct rt_updown_plan {
    struct rt_plan plan;
    struct rt_updown updown;
};

extern const struct rt_engine rt_ftree, rt_updn, rt_dnup, rt_minhop, rt_dor, rt_sssp, rt_dfsssp,
    rt_lash, rt_nue, rt_torus_2qos, rt_file;

/* options->parallel, or its absence. */
void rt_parallel(const struct rt_options *options, unsigned count,
                 void (*job)(void *context, unsigned index), void *context);

/* rt_plan_ops.unreachable of a struct rt_updown_plan. */
size_t rt_updown_unreachable(const struct rt_plan *p, uint32_t (*pairs)[2], size_t capacity);

/* Topological numbers (numbers.c): dest_count entries; hosts and routers have one, others
 * RT_NONE. Those known in the graph are unchanged. Of options (NULL allowed) the lists of compute
 * and I/O nodes count. */
uint32_t *rt_numbers_make(const struct rt_updown *u, const struct rt_options *options);

/* Whether an end port with a LID is present at this switch, port 0 included. */
bool rt_is_source(const struct rt_graph *g, uint32_t sw);

/* The same for plans that join all that the graph joins: pairs for which joins(context, a, b) of
 * their switches is false. */
size_t rt_list_apart(const struct rt_graph *g,
                     bool (*joins)(const void *context, uint32_t a, uint32_t b),
                     const void *context, uint32_t (*pairs)[2], size_t capacity);

/* Rows that are made at the first next_hop of a switch and kept; an array with one for each. */
uint8_t **rt_row_cache_new(const struct rt_graph *g);
void rt_row_cache_free(const struct rt_plan *p, uint8_t **rows);
const uint8_t *rt_cached_row(const struct rt_plan *p, uint8_t **rows, uint32_t sw);

/* Entries of a switch for its own destinations. */
void rt_fill_own(const struct rt_graph *g, uint32_t sw, uint8_t *row);

#endif
