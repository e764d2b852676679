/* SPDX-License-Identifier: BSD-2-Clause */
/* What long work is at, on stderr: one line that is written over on a terminal; elsewhere only when
 * asked for, as lines. It stands between engines and their threads, and counts jobs. */
#ifndef CLI_ROUTE_PROGRESS_H
#define CLI_ROUTE_PROGRESS_H

#include <stdbool.h>

#include <glib.h>

struct route_progress;

/* asked: also where stderr is no terminal. threads as pool_create has them. */
struct route_progress *route_progress_create(bool asked, unsigned threads);
void route_progress_destroy(struct route_progress *p); /* NULL allowed */
unsigned route_progress_threads(const struct route_progress *p);

/* A new stage of the work; whoever prints something else says route_progress_end before. */
void route_progress_stage(struct route_progress *p, const char *format, ...) G_GNUC_PRINTF(2, 3);
void route_progress_end(struct route_progress *p);

/* pool_run with counting; `progress` is a struct route_progress: rt_options.parallel and .pool. */
void route_progress_run(void *progress, unsigned count, void (*job)(void *context, unsigned index),
                        void *context);

#endif
