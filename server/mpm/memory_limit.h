/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MPM_MEMORY_LIMIT_H
#define BRIGADE_MPM_MEMORY_LIMIT_H

/** @file memory_limit.h
 * How much memory this process may use: the machine's, or less where a control group says so (cgroup version 2: memory.max
 * and memory.high; version 1: memory.limit_in_bytes), as containers and services with MemoryMax= have it. */
#include <stdint.h>

/**
 * @param root  the folder that /proc and /sys are looked for in; "" but for tests
 * @return bytes; 0: not known
 * Threads: any. Blocking: no, these files are the kernel's own.
 */
uint64_t memory_limit(const char *root);

#endif
