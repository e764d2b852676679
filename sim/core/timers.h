/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens later: a heap of timers, by time and, of equal times, in the order of their making.
 *
 * A timer fires once. Its handle stays valid until it fired or was cancelled. */
#ifndef SIM_CORE_TIMERS_H
#define SIM_CORE_TIMERS_H

#include "sim/core/model.h"

struct sim_timer;
typedef void sim_timer_fn(struct sim *s, void *arg);

struct sim_timers *sim_timers_create(void);
void sim_timers_destroy(struct sim_timers *t); /* pending timers do not fire; args are not freed */
struct sim_timer *sim_timer_at(struct sim *s, int64_t at, sim_timer_fn *fn, void *arg);
void sim_timer_cancel(struct sim *s, struct sim_timer *timer); /* NULL allowed */
int64_t sim_timers_next(const struct sim_timers *t);
/* Fires all that are due at s->now, those that they add too; s->now is each one's time meanwhile. */
void sim_timers_run(struct sim *s, int64_t now);

#endif
