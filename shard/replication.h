/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication: acknowledged streams of deltas between shards, snapshots and suffixes. Pure.
 *
 * For each domain there is one position (epoch, seq). The owner publishes deltas; receivers apply
 * them in order and acknowledge; whoever has a gap pulls; whoever is far behind takes a snapshot on
 * the bulk channel. Every shard keeps the last deltas of each domain (bounded) so that it can serve
 * a new owner that lacks them. The rules stand in docs/protocol.md.
 *
 * Messages go out through callbacks; everything that is applied goes through the callback
 * `applied`, after the view has it. */
#ifndef SHARD_REPLICATION_H
#define SHARD_REPLICATION_H

#include "shard/core.h"
#include "shard/view.h"

struct replication;

struct replication_callbacks {
    void *user;
    /* Sends an envelope to a peer. type, domain, epoch, seq, body are set; body stays the callee's
     * to free. */
    void (*send)(void *user, enum shard_channel channel, const char *peer,
                 const struct envelope *message);
    /* A delta or snapshot chunk is in the view: mask of view_change. own = it is ours. */
    void (*applied)(void *user, uint32_t domain, const Heddle__Delta *d, unsigned changed,
                    bool own);
    /* Verifies the grant in the first delta of an epoch: the named owner, or NULL. */
    bool (*grant_ok)(void *user, const uint8_t *grant, size_t len, uint32_t domain, uint64_t epoch,
                     char owner[64]);
    /* Peers' acknowledgements moved for this domain of ours. */
    void (*acked)(void *user, uint32_t domain);
    /* A new owner's collection of suffixes for `domain` is over. */
    void (*suffix_done)(void *user, uint32_t domain);
    /* A valid first delta of a newer epoch came from another owner: ours of `domain` is over,
     * whether or not the coordinator's word is here. May be NULL. */
    void (*superseded)(void *user, uint32_t domain, uint64_t epoch);
    void (*log)(void *user, int level, const char *event, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
};

struct replication *replication_create(struct view *view,
                                       const struct replication_callbacks *callbacks,
                                       const char *self);
void replication_destroy(struct replication *r);

/* Peers that are live by the assignment (self left out) and owners of domains. */
void replication_set_assignment(struct replication *r, const Heddle__Assignment *a);
void replication_link_up(struct replication *r, const char *peer, uint64_t now_ms);
void replication_link_down(struct replication *r, const char *peer, uint64_t now_ms);
/* DELTA, DELTA_ACK, PULL, PEER_HELLO, SUFFIX_ASK, SUFFIX, SNAPSHOT_ASK, SNAPSHOT. */
void replication_message(struct replication *r, enum shard_channel channel, const char *peer,
                         const struct envelope *m, uint64_t now_ms);
void replication_tick(struct replication *r, uint64_t now_ms);
uint64_t replication_deadline(const struct replication *r);

/* This shard becomes the owner of (domain, epoch) with this SignedGrant: the last known positions
 * of all peers are asked (at most 20 ms), the longest suffix pulled; then suffix_done is called,
 * and only then replication_publish is allowed. */
void replication_own(struct replication *r, uint32_t domain, uint64_t epoch, const uint8_t *grant,
                     size_t grant_len, uint64_t now_ms);
void replication_disown(struct replication *r, uint32_t domain);
/* Applies the delta to the own view, and sends it as the next of the domain. Takes d over. Returns
 * its seq. */
uint64_t replication_publish(struct replication *r, uint32_t domain, Heddle__Delta *d,
                             uint64_t now_ms);
/* Whether two live peers (all, if fewer) have acknowledged (domain, its epoch, seq). */
bool replication_acked(const struct replication *r, uint32_t domain, uint64_t seq);

#endif
