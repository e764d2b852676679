/* SPDX-License-Identifier: BSD-2-Clause */
/* The monotonic clock, in nanoseconds. */
#ifndef SIM_UMAD_CLOCK_H
#define SIM_UMAD_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_A_MS 1000000ll
#define CLOCK_NEVER INT64_MAX

static inline int64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Milliseconds until then, rounded up, for poll(); 0 where it has passed. */
static inline int clock_ms_until(int64_t deadline)
{
    int64_t left = deadline - clock_ns();

    if (left <= 0)
        return 0;
    left = (left + CLOCK_NS_A_MS - 1) / CLOCK_NS_A_MS;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

#endif
