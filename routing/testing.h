/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of this folder: fabrics as plain lists that can be shuffled, damaged and built. */
#ifndef ROUTING_TESTING_H
#define ROUTING_TESTING_H

#include <glib.h>

#include "routing/graph.h"
#include "routing/plan.h"

struct model_switch {
    uint64_t guid;
    unsigned nports;
    uint16_t lid;
    unsigned lmc;
    unsigned next_port; /* first free one */
};

struct model_link {
    uint32_t a, b; /* indices of switches */
    unsigned port_a, port_b;
};

struct model_dest {
    uint32_t sw;
    unsigned port;
    uint64_t guid;
    uint16_t lid;
    unsigned lmc;
    enum rt_dest_kind kind;
    bool present;
};

struct model {
    GArray *switches, *links, *dests; /* of the structs above */
};

struct model *model_create(void);
void model_destroy(struct model *m);
struct model_switch *model_switch(const struct model *m, uint32_t i);
struct model_dest *model_dest(const struct model *m, uint32_t i);
/* All on the next free ports; LIDs are 0 until model_number. */
uint32_t model_add_switch(struct model *m, uint64_t guid);
void model_cable(struct model *m, uint32_t a, uint32_t b, unsigned links);
uint32_t model_add_dest(struct model *m, uint32_t sw, enum rt_dest_kind kind, unsigned lmc);
/* Gives every destination a LID, in an order drawn from seed (0 = as listed). */
void model_number(struct model *m, uint32_t seed);
/* Removes each link with this probability. */
void model_damage(struct model *m, double probability, GRand *rand);
/* Builds in an order drawn from seed (0 = as listed). numbers: NULL, or what rt_plan_numbers of
 * `numbered` says. */
struct rt_graph *model_build(const struct model *m, uint32_t seed, const struct rt_graph *numbered,
                             const uint32_t *numbers);

/* A two or three level tree, or an irregular graph, of random shape; spines have hosts and
 * aggregation nodes, links are parallel, hosts have LMCs, some are absent. */
struct model *model_random(GRand *rand);
/* leaves x spines with `links` cables each and `hosts` hosts a leaf. */
struct model *model_tree(unsigned leaves, unsigned spines, unsigned links, unsigned hosts);

/* Engines that go by the orders of updown.h, on one VL; NULL at the end. */
extern const char *const updown_engines[];

/* On one VL; with plan_for_vls on as many as that at most. */
struct rt_plan *plan_for(const char *engine, struct rt_graph *g);
struct rt_plan *plan_for_vls(const char *engine, struct rt_graph *g, unsigned vls);
/* switch_count rows of max_lid + 1 bytes. */
uint8_t *plan_tables(const struct rt_plan *p);

/* The seed of a randomised test: HEDDLE_SEED, else `fallback`; printed with how to repeat it. */
uint32_t test_seed(uint32_t fallback);

#endif
