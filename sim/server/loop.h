/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for descriptors and for a time.
 *
 * A watch is embedded, as its first member, in what owns the descriptor. It must stay in memory
 * until the turn ends in which it was removed. */
#ifndef SIM_SERVER_LOOP_H
#define SIM_SERVER_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

struct watch {
    int fd;
    uint32_t events; /* EPOLLIN, EPOLLOUT */
    void (*ready)(struct watch *w, uint32_t events);
    void *user;
};

struct loop {
    int epoll;
    bool has_pwait2; /* the kernel waits with more than milliseconds' precision */
};

int loop_open(struct loop *l); /* 0 or an errno */
void loop_close(struct loop *l);
/* 0 or an errno; w->fd, events, ready and user are set. */
int loop_add(struct loop *l, struct watch *w);
void loop_change(struct loop *l, struct watch *w, uint32_t events); /* nothing where equal */
void loop_remove(struct loop *l, struct watch *w); /* does not close the descriptor */
/* Waits until something is ready, but at most until `until` (of loop_now), then calls each. */
void loop_turn(struct loop *l, int64_t until);
int64_t loop_now(void); /* CLOCK_MONOTONIC in ns */

#endif
