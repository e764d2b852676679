/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication's inside, for replication*.c only.
 *
 * Each domain has one chain of positions (epoch, seq). A delta follows (epoch, seq - 1), or, as the
 * first of its epoch, the base that it names. So "what follows (e, s)?" has one answer, and a PULL
 * asks just that; who no longer has it in the log answers with a snapshot.
 *
 *   replication.c          peers, assignment, dispatch, timers
 *   replication_log.c      the bounded log of a domain
 *   replication_send.c     streams to peers: window, resending, snapshots out
 *   replication_receive.c  deltas and snapshots in, acknowledgements, pulls
 *   replication_collect.c  what a new owner asks before it publishes */
#ifndef SHARD_REPLICATION_PRIVATE_H
#define SHARD_REPLICATION_PRIVATE_H

#include "shard/replication.h"

#define REPL_LOG_DELTAS 1024u
#define REPL_LOG_BYTES (16u << 20)
#define REPL_WINDOW 256u /* deltas under way to one peer for one domain */
#define REPL_CHUNK_BYTES (512u << 10)
#define REPL_STAGED_BYTES (256u << 20) /* of a snapshot that is coming in */
#define REPL_COLLECT_MS 20u            /* DESIGN: positions of all reachable peers */
#define REPL_SUFFIX_PULL_MS 150u       /* without progress: the next best peer */
#define REPL_RESEND_MS 500u            /* doubled up to .. */
#define REPL_RESEND_MAX_MS 4000u
#define REPL_SNAPSHOT_MS 2000u /* the same for snapshots, doubled up to .. */
#define REPL_SNAPSHOT_MAX_MS 8000u
#define REPL_HELLO_MS 1000u
#define REPL_PULL_MS 100u        /* the same pull is not sent more often */
#define REPL_TRUST_PULL_MS 5000u /* deltas are taken from whom we asked, this long */
#define REPL_PROMISE_MS 5000u
#define REPL_MAX_DOMAINS 4096u
#define REPL_ACK_DELTAS 64u /* applied without an acknowledgement, at most */

struct position {
    uint64_t epoch, seq;
};

struct log_entry {
    struct position at, after; /* its own position; that of its predecessor */
    GBytes *packed;            /* Delta */
};

struct delta_log {  /* a contiguous part of the chain that ends at the view's position */
    GQueue entries; /* struct log_entry, ascending */
    size_t bytes;
};

struct peer_domain { /* what we know of and send to one peer for one domain */
    uint32_t domain;
    bool known;   /* it told its position in this session */
    bool serving; /* it asked us (we may not be the owner) */
    struct position acked, sent;
    uint32_t in_flight; /* deltas between the two */
    uint32_t window;
    uint64_t resend_at_ms; /* 0 = nothing unacknowledged */
    uint32_t resend_ms;
    bool snapshot; /* one is under way; deltas wait */
    uint32_t snapshot_ms;
};

struct repl_peer {
    char name[64];
    uint64_t boot_id; /* as its messages say, 0 = not heard */
    bool live;        /* by the assignment */
    bool up;
    bool was_up; /* once: one that is not up now has gone, and is not waited for */
    bool hello_sent;
    uint64_t hello_at_ms;
    GHashTable *domains; /* id -> struct peer_domain */
};

struct staging { /* a snapshot coming in */
    char peer[64];
    struct position at;
    uint32_t next_chunk;
    size_t bytes;
    uint64_t last_ms;
    GPtrArray *chunks; /* Heddle__Delta */
};

enum collect_state { COLLECT_NONE, COLLECT_ASKING, COLLECT_PULLING, COLLECT_DONE };

struct stream { /* a domain */
    uint32_t id;
    char assigned_owner[64]; /* by the assignment, with .. */
    uint64_t assigned_epoch;
    char epoch_owner[64]; /* by the grant in the first delta of .. */
    uint64_t epoch_owner_epoch;
    uint64_t promised_epoch; /* a new owner has asked: nothing older is taken any more, .. */
    char promised_to[64];    /* but from it, .. */
    uint64_t promised_at_ms; /* .. for a while, or for good once the assignment says the same */
    struct delta_log log;
    /* as owner */
    bool own;
    uint64_t own_epoch;
    GBytes *grant;
    enum collect_state collect;
    bool notify; /* suffix_done is due, from the next tick */
    uint64_t collect_until_ms;
    GHashTable *answers; /* peer name -> struct position *, NULL value = not yet */
    /* as receiver */
    char pulling_from[64];
    struct position pulled;
    uint64_t pulled_at_ms;
    GHashTable *ack_to; /* set of peer names */
    uint32_t ack_count;
    struct staging *staging;
};

struct replication {
    struct view *view;
    struct replication_callbacks cb;
    char self[64];
    GPtrArray *peers;   /* struct repl_peer, by name */
    GPtrArray *streams; /* struct stream, by id */
    GHashTable *by_id;  /* id -> struct stream */
    uint64_t deadline_ms;
    uint64_t now_ms;
};

static inline int position_compare(struct position a, struct position b)
{
    if (a.epoch != b.epoch)
        return a.epoch < b.epoch ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

/* replication.c */
struct repl_peer *repl_peer(struct replication *r, const char *name); /* or NULL */
struct stream *repl_stream(struct replication *r, uint32_t id);       /* made when missing */
struct position repl_position(const struct replication *r, uint32_t domain);
void repl_arm(struct replication *r, uint64_t at_ms);
void repl_send(struct replication *r, enum shard_channel channel, const char *peer, uint32_t type,
               uint32_t domain, struct position at, ProtobufCMessage *body);
bool repl_is_owner(const struct replication *r, const struct stream *s, const char *peer,
                   uint64_t epoch);
void repl_hello(struct replication *r, struct repl_peer *p);

/* replication_log.c */
void delta_log_add(struct delta_log *log, struct position at, struct position after,
                   const Heddle__Delta *d);
void delta_log_clear(struct delta_log *log);
/* The entry that follows this position, or NULL when the log does not know. */
const GList *delta_log_after(const struct delta_log *log, struct position at);

/* replication_send.c */
struct peer_domain *repl_peer_domain(struct repl_peer *p, uint32_t domain);
void repl_forget_sent(struct repl_peer *p); /* a new session */
void repl_peer_at(struct replication *r, struct repl_peer *p, struct stream *s, struct position at,
                  bool restart);
void repl_pump(struct replication *r, struct repl_peer *p, struct stream *s);
void repl_pump_all(struct replication *r, struct stream *s);
void repl_send_tick(struct replication *r, struct repl_peer *p, struct stream *s);
void repl_on_pull(struct replication *r, struct repl_peer *p, const struct envelope *m);
void repl_on_ack(struct replication *r, struct repl_peer *p, const struct envelope *m);
void repl_on_snapshot_ask(struct replication *r, struct repl_peer *p, const struct envelope *m);

/* replication_receive.c */
void repl_on_delta(struct replication *r, struct repl_peer *p, const struct envelope *m);
void repl_on_snapshot(struct replication *r, struct repl_peer *p, const struct envelope *m);
void repl_pull(struct replication *r, struct stream *s, const char *peer);
void repl_flush_acks(struct replication *r, struct stream *s);
void repl_staging_clear(struct stream *s);

/* replication_collect.c */
void repl_collect_start(struct replication *r, struct stream *s);
void repl_collect_tick(struct replication *r, struct stream *s);
void repl_collect_peer_up(struct replication *r, struct repl_peer *p);
void repl_collect_peer_down(struct replication *r, struct repl_peer *p);
void repl_collect_progress(struct replication *r, struct stream *s);
bool repl_promised_away(const struct replication *r, const struct stream *s, const char *peer,
                        uint64_t epoch);
void repl_on_suffix_ask(struct replication *r, struct repl_peer *p, const struct envelope *m);
void repl_on_suffix(struct replication *r, struct repl_peer *p, const struct envelope *m);

#endif
