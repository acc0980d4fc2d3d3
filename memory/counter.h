/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_COUNTER_H
#define BRIGADE_MEMORY_COUNTER_H

/**
 * @file counter.h
 * Counters with one writer and any number of readers, of any process.
 */
#include <stdint.h>

/** Add to a counter. Threads: its writer alone; readers see it whole. */
static inline __attribute__((always_inline)) void counter_add(uint64_t *counter, uint64_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    /* One instruction that nobody reads a half of; for an atomic load and store compilers write three. */
    __asm__("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
#else
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
#endif
}

#endif
