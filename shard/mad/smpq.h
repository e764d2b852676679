/* SPDX-License-Identifier: BSD-2-Clause */
/* Outstanding SMPs: windows, time-outs and retries. Pure.
 *
 * Requests are queued and let out in order of submission as windows allow: per target (VL15 has no
 * flow control), per local port, and an additive-increase window of the shard that is halved when
 * time-outs cluster. A request that is not answered is sent again up to its retries, then
 * completed with ETIMEDOUT. Answers are matched by the low 32 bits of the transaction id, which
 * this module chooses, by attribute and by modifier. A target that times out repeatedly gets one
 * SMP at a time and does not hold others up (a mute port behind a live link must not stop a
 * sweep).
 *
 * Ownership: requests are copied. Callbacks run inside smpq_receive/smpq_tick/smpq_cancel and may
 * submit. Threads: one. */
#ifndef SHARD_MAD_SMPQ_H
#define SHARD_MAD_SMPQ_H

#include "shard/mad/smp.h"

struct smpq;

struct smp_request {
    uint8_t method; /* MAD_GET or MAD_SET */
    uint16_t attribute;
    uint32_t modifier;
    bool directed;
    struct dr_path path; /* directed */
    uint16_t dlid;       /* not directed */
    uint64_t target;     /* node GUID or another stable number: the window's key */
    uint64_t mkey;
    uint8_t data[SMP_DATA_BYTES]; /* Set */
    uint32_t timeout_ms;          /* 0 = the queue's default */
    int retries;                  /* -1 = the queue's default */
    uint32_t group;               /* Sets of one group can be cancelled together; 0 = none */
    bool urgent;                  /* before others that wait (takeover, probes) */
    /* error: 0 = answered with status 0; ETIMEDOUT; EPROTO = answered with another status (mad is
     * given); ECANCELED. mad is the 256-byte answer or NULL. */
    void (*done)(void *user, uint64_t tag, const struct smp_request *request, int error,
                 const uint8_t *mad);
    void *user;
    uint64_t tag; /* the caller's */
};

struct smpq_config {
    uint32_t max_per_port;   /* 128; at most 256 */
    uint32_t max_per_target; /* 4 */
    uint32_t timeout_ms;     /* 200 */
    uint32_t retries;        /* 3 */
    uint32_t max_queued;     /* waiting requests, bounded; smpq_submit says ENOBUFS beyond */
    /* Sends; timeout_ms is what the kernel is told (it must expect an answer). */
    void (*send)(void *user, const uint8_t mad[MAD_BYTES], const struct mad_address *to,
                 uint32_t timeout_ms);
    void *user;
    uint32_t tid_seed; /* so that a new process does not match its predecessor's answers */
};

struct smpq *smpq_create(const struct smpq_config *config);
void smpq_destroy(struct smpq *q); /* without calling back; NULL allowed */
void smpq_configure(struct smpq *q, const struct smpq_config *config); /* new limits */
int smpq_submit(struct smpq *q, const struct smp_request *r, uint64_t now_ms); /* 0, ENOBUFS */
/* An answer. True when it belonged to a request. */
bool smpq_receive(struct smpq *q, const uint8_t mad[MAD_BYTES], uint64_t now_ms);
/* The transport returned a request as timed out (its TID): a hint, handled as the time-out. */
void smpq_send_failed(struct smpq *q, uint64_t tid, uint64_t now_ms);
/* Time-outs, and lets waiting ones out. All answers that came before read_ms have been handed in: a
 * request is given up only if its time was over by then (a process that stood still finds answers
 * and deadlines together). */
void smpq_tick(struct smpq *q, uint64_t now_ms, uint64_t read_ms);
uint64_t smpq_deadline(const struct smpq *q);    /* UINT64_MAX = none */
/* Cancels all requests (ECANCELED) of this user pointer; NULL = all. */
void smpq_cancel(struct smpq *q, const void *user);
/* Cancels the Sets of this group that still wait (ECANCELED); 0 = of all groups. Those on the wire
 * cannot be called back. */
void smpq_cancel_sets(struct smpq *q, uint32_t group);
uint32_t smpq_outstanding(const struct smpq *q);
uint32_t smpq_waiting(const struct smpq *q);

struct smpq_counters {
    uint64_t sent, resent, answered, timed_out, refused, unmatched;
};
struct smpq_counters smpq_counters(const struct smpq *q);

#endif
