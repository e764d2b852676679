/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting with epoll. */
#include "sim/server/loop.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_A_TURN = 256 };

#define NS_A_SECOND 1000000000
#define NS_A_MS 1000000
#define LONGEST_WAIT_NS (60ll * NS_A_SECOND)

int64_t loop_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_A_SECOND + t.tv_nsec;
}

int loop_open(struct loop *l)
{
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->has_pwait2 = true;
    return l->epoll < 0 ? errno : 0;
}

void loop_close(struct loop *l)
{
    if (l->epoll >= 0)
        close(l->epoll);
    l->epoll = -1;
}

int loop_add(struct loop *l, struct watch *w)
{
    struct epoll_event e = {.events = w->events, .data.ptr = w};

    return epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &e) ? errno : 0;
}

void loop_change(struct loop *l, struct watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};

    if (w->events == events)
        return;
    w->events = events;
    epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &e);
}

void loop_remove(struct loop *l, struct watch *w)
{
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    w->ready = NULL; /* an event of this turn may still name it */
}

static int wait_for_events(struct loop *l, struct epoll_event *events, int64_t wait_ns)
{
    if (l->has_pwait2) {
        struct timespec t = {.tv_sec = wait_ns / NS_A_SECOND, .tv_nsec = wait_ns % NS_A_SECOND};
        int n = epoll_pwait2(l->epoll, events, EVENTS_A_TURN, &t, NULL);
        if (n >= 0 || errno != ENOSYS)
            return n;
        l->has_pwait2 = false;
    }
    return epoll_wait(l->epoll, events, EVENTS_A_TURN, (int)((wait_ns + NS_A_MS - 1) / NS_A_MS));
}

void loop_turn(struct loop *l, int64_t until)
{
    struct epoll_event events[EVENTS_A_TURN];
    int64_t now = loop_now();
    int64_t wait_ns = until <= now                    ? 0
                      : until - now > LONGEST_WAIT_NS ? LONGEST_WAIT_NS
                                                      : until - now;
    int n = wait_for_events(l, events, wait_ns);

    for (int i = 0; i < n; i++) {
        struct watch *w = events[i].data.ptr;
        if (w->ready)
            w->ready(w, events[i].events);
    }
}
