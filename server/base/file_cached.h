/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_FILE_CACHED_H
#define BRIGADE_BASE_FILE_CACHED_H

/**
 * @file file_cached.h
 * Files as far as the page cache of the kernel holds them: for event loops, which must not wait for a
 * disk. Source: preadv2(2), RWF_NOWAIT; mincore(2).
 *
 * Threads: any. Blocking: no, except on kernels without that call (before Linux 4.14, emulators):
 * there every read may block.
 */
#include <sys/types.h>

/** As pread(2); EAGAIN if the disk would have to be asked. */
ssize_t file_read_cached(int fd, void *buf, size_t len, off_t off);

/** The same for a file that this process made and may write to: there the kernel can be asked also where its file system
 * does not know RWF_NOWAIT. @param len  at most 64 pages less one */
ssize_t file_read_own_cached(int fd, void *buf, size_t len, off_t off);

/** 1 if the first or the last of @a len bytes from @a off is not in memory: sendfile() would wait. */
int file_is_cold(int fd, off_t off, size_t len);

#endif
