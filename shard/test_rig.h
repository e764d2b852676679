/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of the core's parts: one core in a cluster of two shards, on a fabric of two leaves
 * and a spine that is put into its view; nothing is sent anywhere, what it would send is kept.
 *
 *   leaf 0x100 (LID 2): port 1 host 0xa00000 (our own), port 2 host 0xb00000, port 3 to the spine's
 * port 1 leaf 0x200 (LID 3): port 1 host 0xc00000 (shard2's), port 2 host 0xd00000, port 3 to the
 * spine's port 2 spine 0x300 (LID 4): ports 1 and 2
 *
 * A host's only port has the node GUID + 1; hosts have the LIDs 10, 11, 12, 13. Domain 1 is leaf
 * 0x100 and the spine, domain 2 leaf 0x200; pools 64 to 127 and 128 to 191. */
#ifndef SHARD_TEST_RIG_H
#define SHARD_TEST_RIG_H

#include "shard/core_internal.h"

#define RIG_LEAF 0x100ull
#define RIG_LEAF2 0x200ull
#define RIG_SPINE 0x300ull
#define RIG_HOST_A 0xa00000ull
#define RIG_HOST_B 0xb00000ull
#define RIG_HOST_C 0xc00000ull
#define RIG_HOST_D 0xd00000ull
#define RIG_COORDINATOR "coord1"
#define RIG_OPERATOR "admin"
#define RIG_CLUSTER "rig"

struct rig {
    struct shard_core *core;
    uint64_t now_ms;
    GArray *actions; /* struct shard_action, since the last rig_clear */
    GPtrArray *coordinators, *operators;
    uint8_t public_key[32], secret_key[32];
};

/* A core that has joined nothing and sees nothing; stored (struct shard_stored) may be NULL. */
struct rig *rig_create_empty(GPtrArray *stored);
struct rig *rig_create(void); /* joined, with the fabric in the view */
void rig_destroy(struct rig *r);
void rig_own(struct rig *r, uint32_t domain);               /* it is ours from now on */
Heddle__Domain *rig_domain(struct rig *r, uint32_t domain); /* of the assignment */
struct owned_domain *rig_owned(struct rig *r, uint32_t domain);

void rig_step(struct rig *r, const struct shard_event *e);
void rig_run(struct rig *r, uint32_t ms); /* ticks, a millisecond each */
void rig_clear(struct rig *r);
/* The k-th action of this kind (of MADs: with this attribute; 0 = any) since rig_clear, or NULL. */
struct shard_action *rig_action(struct rig *r, enum shard_action_kind kind, unsigned attribute,
                                unsigned k);
unsigned rig_events(struct rig *r, const char *event); /* log lines of this event */
/* Answers a request of the core; data (64 bytes) may be NULL. */
void rig_answer(struct rig *r, const struct shard_action *a, unsigned status, const uint8_t *data);

/* PortInfo of a port whose link is up and ACTIVE. */
void rig_portinfo(uint8_t portinfo[64], unsigned lid);
/* Puts records into the view, as a delta of the switch's domain. */
void rig_put_switch(struct rig *r, const struct view_switch *s);
void rig_put_end_port(struct rig *r, const struct view_end_port *e);
/* The LID of a port's PortInfo (num 0 = of the switch) is this one now. */
void rig_found_lid(struct rig *r, uint64_t node_guid, unsigned num, unsigned lid);

#endif
