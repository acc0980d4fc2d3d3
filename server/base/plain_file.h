/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_PLAIN_FILE_H
#define BRIGADE_BASE_PLAIN_FILE_H

/**
 * @file plain_file.h
 * Small files in folders that processes with fewer rights can write: a pipe or a device in place of the file would hold the
 * reader up for ever, or do something when it is opened.
 */
#include <stddef.h>
#include <sys/types.h>

/**
 * Read the beginning of a regular file.
 *
 * @param to    gets the bytes and a NUL behind them
 * @param size  of @a to: one byte more than is read
 * @param owner [out] user of the file; NULL: nobody asks
 * @return bytes; -1 with errno (EINVAL: it is no regular file). Threads: any. Blocking: as long as a disk.
 */
ssize_t plain_file_read(const char *path, char *to, size_t size, uid_t *owner);

#endif
