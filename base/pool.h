/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool of threads for work that falls into independent jobs: the threads wait until pool_run
 * hands them a run, and the caller works with them. pool_run has the form of
 * rt_options.parallel (routing/plan.h). One run at a time: a second caller waits for the first. A
 * job must not call pool_run of its own pool. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

struct pool;

/* threads: how many work on a run, the caller included; 0 = as many as there are processors. Where
 * the system refuses a thread, the others do its work. */
struct pool *pool_create(unsigned threads);
void pool_destroy(struct pool *p); /* NULL allowed; no run may be under way */
unsigned pool_threads(const struct pool *p);

/* Runs job(context, 0) .. job(context, count - 1), each once, in any order, on several threads;
 * returns when all are done. What the caller wrote before it, all jobs see, and what they wrote the
 * caller sees. pool: a struct pool. */
void pool_run(void *pool, unsigned count, void (*job)(void *context, unsigned index),
              void *context);

#endif
