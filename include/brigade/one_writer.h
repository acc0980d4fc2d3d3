/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ONE_WRITER_H
#define BRIGADE_ONE_WRITER_H

/**
 * @file brigade/one_writer.h
 * Memory that one process writes, and that the processes which it starts read.
 *
 * A server process may be taken over through a mistake in a module. So data that the supervisor, or
 * a process of a module outside of the sandbox, believes must not lie in memory that server
 * processes can write. Here they have a view of it that cannot be made writable, and no descriptor.
 *
 * Threads: main, of the process that makes it, but for reading. Blocking: no.
 */
#include "brigade/declare.h"
#include "apr_errno.h"
#include "apr_pools.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. */
typedef struct brg_one_writer brg_one_writer;

/**
 * Make memory of zeros, as long as @a p. Pages that are not used cost nothing. Core dumps leave it out.
 *
 * Where the kernel has no sealed files in memory (before Linux 5.1), the view that is read can be written, too.
 *
 * @param name  for /proc/PID/maps
 * @return or the system's error
 */
BRG_DECLARE(apr_status_t)
brg_one_writer_create(brg_one_writer **memory, const char *name, apr_size_t bytes, apr_pool_t *p);

/** The view of it that all processes have. Threads: any. */
BRG_DECLARE(const void *) brg_one_writer_read(const brg_one_writer *memory);

/** The view of the writer: the process that made it, or one to which it was handed. Others have nothing there. */
BRG_DECLARE(void *) brg_one_writer_write(const brg_one_writer *memory);

/** Its length, as it was asked for: never read out of the memory itself. */
BRG_DECLARE(apr_size_t) brg_one_writer_bytes(const brg_one_writer *memory);

/** Processes that are forked from now on can write it, too (@a on = 1), or cannot (0, as in the beginning). */
BRG_DECLARE(void) brg_one_writer_hand(const brg_one_writer *memory, int on);

/**
 * The calling process, and its later children, cannot read or write the memory from @a from on (@a
 * on = 0), or can again (1): for secrets that most of a process's life has no use for.
 * @param from  bytes, a multiple of a page
 * Threads: one at a time; nobody uses the memory meanwhile.
 */
BRG_DECLARE(void) brg_one_writer_show(const brg_one_writer *memory, apr_size_t from, int on);

/** 1 in the process that made it: after a fork the other process needs memory of its own. */
BRG_DECLARE(int) brg_one_writer_is_own(const brg_one_writer *memory);

#ifdef __cplusplus
}
#endif
#endif
