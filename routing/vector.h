/* SPDX-License-Identifier: BSD-2-Clause */
/* Loops over bytes that the compiler turns into vector instructions. Inner loops run over a local
 * array of RT_VECTOR bytes, which then lives in one register of the widest kind; where the compiler
 * does not see that, they are written with its vectors. */
#ifndef ROUTING_VECTOR_H
#define ROUTING_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RT_VECTOR 64u

/* One compilation for each width of vector that the processor may have. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&             \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define RT_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define RT_VECTORISED
#endif
#define RT_INLINE static inline __attribute__((always_inline))

/* Comparisons give 0xFF for true. Only as locals: how they are passed differs by processor. */
typedef uint8_t rt_bytes __attribute__((vector_size(RT_VECTOR)));
typedef uint64_t rt_words __attribute__((vector_size(RT_VECTOR)));

RT_INLINE bool rt_is_any_set(const rt_bytes *mask)
{
    rt_words words = (rt_words)*mask;
    uint64_t any = 0;
    for (unsigned i = 0; i < RT_VECTOR / sizeof any; i++)
        any |= words[i];
    return any != 0;
}

/* Bytes of a row of n columns: whole vectors, an odd number of them, so that rows one below the
 * other do not fall into the same few sets of a cache. */
static inline size_t rt_stride(size_t n)
{
    return ((n + RT_VECTOR - 1) / RT_VECTOR | 1) * RT_VECTOR;
}

/* Large arrays, not initialised, on huge pages where the system has them; free() them. */
void *rt_large_new(size_t size);

#endif
