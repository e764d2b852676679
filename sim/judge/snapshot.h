/* SPDX-License-Identifier: BSD-2-Clause */
/* What a snapshot keeps of each node, and in which order. Private to judge/. */
#ifndef SIM_JUDGE_SNAPSHOT_H
#define SIM_JUDGE_SNAPSHOT_H

#include "sim/judge/private.h"

enum judge_part {              /* a tree each */
                  JUDGE_PORTS, /* 4 ports a leaf, a struct judge_port each, as bytes */
                  JUDGE_PKEYS, /* 32 a leaf; judge_pkey_leaves leaves for each port */
                  JUDGE_SL2VL, /* 8 input ports a leaf; judge_sl2vl_leaves leaves for each output
                                  port */
                  JUDGE_VLARB, /* 4 leaves for each port */
                  JUDGE_LFT,   /* SIM_LFT_BLOCKS leaves; the default is 255 */
                  JUDGE_MFT,   /* SIM_MFT_BLOCKS leaves for each position */
                  JUDGE_PARTS
};

/* Offsets within a port's 16 bytes. */
enum {
    PORT_KEY = 0,
    PORT_LID = 8,
    PORT_SMLID = 10,
    PORT_STATE = 12,
    PORT_LMC = 13,
    PORT_PROTECT = 14,
    PORT_BYTES = 16,
};
#define JUDGE_PORTS_A_LEAF (JUDGE_BLOCK_BYTES / PORT_BYTES)
#define JUDGE_SL2VL_BYTES 8u
#define JUDGE_VLARB_BLOCKS 4u

struct judge_snapshot {
    uint32_t (*parts)[JUDGE_PARTS]; /* of each node */
};

struct judge_snapshot *judge_snapshot_take(struct sim *s);
void judge_snapshot_free(struct sim *s, struct judge_snapshot *shot);
/* What a leaf that is not there stands for: the values of a power-up. */
void judge_default(enum judge_part part, unsigned index, uint8_t bytes[JUDGE_BLOCK_BYTES]);
unsigned judge_leaves(const struct sim *s, uint32_t node, enum judge_part part);
unsigned judge_pkey_leaves(const struct sim *s, uint32_t node);  /* of one port */
unsigned judge_sl2vl_leaves(const struct sim *s, uint32_t node); /* of one output port */

#endif
