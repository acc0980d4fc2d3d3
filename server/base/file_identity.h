/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_FILE_IDENTITY_H
#define BRIGADE_BASE_FILE_IDENTITY_H

/**
 * @file file_identity.h
 * The identity and state of a regular file, from fstat(). Threads: any. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/** Two files with the same identity have the same content, as far as time stamps can tell. No
 * padding: compared and hashed as bytes. */
typedef struct file_identity {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
} file_identity;

/**
 * @param fd    the open file; -1: look at @a path
 * @return 0; -1 if it cannot be looked at, or is no regular file. May block on slow file systems.
 */
int file_identity_take(file_identity *out, int fd, const char *path);

static inline int file_identity_same(const file_identity *a, const file_identity *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/** Read exactly @a len bytes from the beginning. 0; -1: fewer were there, or an error. May block. */
int file_read_exactly(int fd, char *buf, size_t len);

#endif
