/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of 64 bytes, each content kept once and counted, and trees over them.
 *
 * A leaf is 64 bytes of a table. An inner block is 16 numbers of blocks one level below. 0 stands
 * for a leaf of the table's default, or for an inner block all of 0. Equal trees have equal
 * numbers, so that what two snapshots share costs nothing, neither memory nor the time to compare
 * it.
 *
 * A tree over one leaf is that leaf; each inner level makes it 16 times as wide. */
#ifndef SIM_JUDGE_STORE_H
#define SIM_JUDGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JUDGE_BLOCK_BYTES 64u
#define JUDGE_FANOUT 16u
#define JUDGE_LEVELS 5u
#define JUDGE_MAX_LEAVES 65536u /* 16 to the power of the inner levels */

struct judge_store;

struct judge_store *judge_store_create(void);
void judge_store_destroy(struct judge_store *t); /* NULL allowed */
/* How many blocks, leaves and inner ones, are kept now. */
size_t judge_store_blocks(const struct judge_store *t);

/* A leaf's bytes; false = the default. */
typedef bool judge_leaf_fn(void *arg, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES]);
/* The tree over this many leaves (at most JUDGE_MAX_LEAVES); the caller owns one reference. */
uint32_t judge_store_tree(struct judge_store *t, unsigned leaves, judge_leaf_fn *leaf, void *arg);
/* Gives one reference to a tree over so many leaves back. */
void judge_store_release(struct judge_store *t, uint32_t id, unsigned leaves);
/* Calls differ for each leaf that is not the same, in order; NULL stands for the default. */
typedef void judge_differ_fn(void *arg, unsigned index, const uint8_t *a, const uint8_t *b);
void judge_store_diff(const struct judge_store *t, uint32_t a, uint32_t b, unsigned leaves,
                      judge_differ_fn *differ, void *arg);

#endif
