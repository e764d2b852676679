/* SPDX-License-Identifier: BSD-2-Clause */
/* What the judge's files share: counts and log (judge.c), senders (sender.c), snapshots. */
#ifndef SIM_JUDGE_PRIVATE_H
#define SIM_JUDGE_PRIVATE_H

#include "sim/judge/judge.h"
#include "sim/judge/store.h"

#define JUDGE_LOG_BYTES (1u << 20)
#define JUDGE_FLUSH_NS 200000000LL /* a line waits so long at most */
#define JUDGE_LINE_BYTES 1024u     /* a line is shorter */
#define JUDGE_NAME_BYTES 320u      /* 64 hostile bytes, escaped, and the port */
#define JUDGE_LIDS 0x10000u

enum { /* MAD header and SMP fields, IBA 13.4.3, 14.2.1 */
       MAD_CLASS = 1,
       MAD_METHOD = 3,
       MAD_HOP_COUNT = 7,
       MAD_ATTRIBUTE = 16,
       MAD_MODIFIER = 20,
       SMP_MKEY = 24,
       SMP_DRSLID = 32,
       SMP_DATA = 64,
       SMP_RETURN_PATH = 192,
};
enum { CLASS_SUBN_LID = 0x01, CLASS_SUBN_DIRECTED = 0x81, METHOD_TRAP_REPRESS = 0x07 };
enum { ATTR_PORT_INFO = 0x15, ATTR_LFT = 0x19, ATTR_MFT = 0x1b };

struct judge_sender {
    uint32_t node; /* SIM_NONE = nobody knows */
    unsigned port;
    struct sim_judge_counts counts;
    char description[65];        /* from which the name was made */
    char name[JUDGE_NAME_BYTES]; /* as the log shows it; "" = not made yet */
    size_t name_len;
};

struct judge_lid { /* who was given this LID last */
    uint32_t node;
    uint32_t port;
};

struct sim_judge {
    int log_fd; /* -1 = no log */
    uint8_t *log;
    size_t log_used;
    struct sim_timer *flush; /* NULL = nothing waits */
    struct sim_judge_counts total;
    GHashTable *senders; /* node << 8 | port -> struct judge_sender */
    struct judge_sender unknown, others;
    struct judge_lid *lids; /* JUDGE_LIDS, NULL until the first look */
    uint64_t judged, lids_read_at;
    struct judge_store *store; /* of all snapshots, NULL until the first */
    GHashTable *snapshots;     /* name -> struct judge_snapshot */
};

/* -- sender.c -- */
struct judge_sender *judge_find_sender(struct sim *s, const struct sim_judged *d);
/* The name as the log shows it, made anew where the description changed. */
void judge_name_sender(struct sim *s, struct judge_sender *sender);
/* An accepted Set(PortInfo) gave LIDs to a port. */
void judge_note_lid(struct sim *s, const struct sim_judged *d);

/* -- snapshot.c -- */
struct judge_snapshot;
void judge_snapshots_free(struct sim_judge *j);

#endif
