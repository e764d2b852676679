/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of cli/ share: a small fabric as a view, a status of its cluster, and processes
 * that answer as a coordinator or a shard would.
 *
 * The fabric: switches A and B (ports 1-4), joined at A1-B1; hosts h1 at A2, h2 at B2, which are
 * fine; nothing at the other ports. A is of domain 1 (shard-1), B of domain 2 (shard-2). */
#ifndef CLI_FIXTURE_H
#define CLI_FIXTURE_H

#include <stdbool.h>

#include "proto/link.h"
#include "shard/view.h"

#define FIXTURE_CLUSTER "test"
#define FIXTURE_A UINT64_C(0x00000000000000a0)
#define FIXTURE_B UINT64_C(0x00000000000000b0)
#define FIXTURE_H1 UINT64_C(0x0000000000000100)
#define FIXTURE_H2 UINT64_C(0x0000000000000200)

/* A view, converged; its records may be changed in place before they are looked at. */
struct view *fixture_view(void);
void fixture_port(uint8_t portinfo[64], unsigned state, unsigned physical);
/* A status that belongs to it, decoded from its bytes. heddle__status__free_unpacked. */
Heddle__Status *fixture_status(void);
/* Replace a text, a number list or bytes of a message that was unpacked. */
void fixture_set_text(char **field, const char *text);
void fixture_add_problem(Heddle__Status *s, const char *text);
void fixture_add_duplicate(Heddle__Status *s, unsigned shard, uint64_t guid);

enum fake_mood {
    FAKE_ANSWERS,
    FAKE_REFUSES, /* MSG_ERROR */
    FAKE_SILENT,
    FAKE_GARBAGE,
    FAKE_OTHER_CLUSTER,
    FAKE_DISORDER, /* chunks of the view in the wrong order */
};

/* Answers in a thread of its own until fake_stop. */
struct fake;
/* Keys are made in dir. status is copied with each answer: it is read under fake_lock. */
struct fake *fake_start(const char *dir, const char *name, const Heddle__Status *status,
                        const struct view *view, enum fake_mood mood);
const char *fake_endpoint(const struct fake *f, enum link_channel channel);
const uint8_t *fake_public_key(const struct fake *f);
void fake_allow(struct fake *f, const char *name); /* before fake_run; its key is in dir */
void fake_run(struct fake *f);
void fake_set_converged(struct fake *f, bool converged); /* at any time */
unsigned fake_questions(struct fake *f);
void fake_stop(struct fake *f);

#endif
