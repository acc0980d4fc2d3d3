/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_H
#define BRIGADE_CACHED_CACHED_H

/**
 * @file cached.h
 * The built-in mod_cache: answers of backends, and of local handlers that take long, in the store that all loops and
 * processes share. What others need of it: the supervisor tells it of processes that ended.
 */
#include <stdint.h>
#include <sys/types.h>

/** A server process ended: what its loops held in the store is free. Threads: main of the supervisor. */
void cached_process_ended(pid_t pid);

#endif
