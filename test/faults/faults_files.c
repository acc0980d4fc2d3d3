/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that take a name, and those about a descriptor that move nothing. */
#define _GNU_SOURCE
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

struct stat;
struct stat64;
struct statx;
struct statfs;
struct dirent;
struct dirent64;
typedef struct __dirstream DIR;

/* ---- open ---- */

#define FAULT_MODE(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)

#define FAULT_OPEN(name)                                                              \
    FAULT_NEXT(int, name, (const char *path, int flags, ...))                         \
    int name(const char *path, int flags, ...);                                       \
    int name(const char *path, int flags, ...)                                        \
    {                                                                                 \
        va_list list;                                                                 \
        mode_t mode = 0;                                                              \
        va_start(list, flags);                                                        \
        if (FAULT_MODE(flags))                                                        \
            mode = va_arg(list, mode_t);                                              \
        va_end(list);                                                                 \
        fault_find_##name();                                                          \
        return fault_now(FAULT_open, -1, path) ? -1 : next_##name(path, flags, mode); \
    }

#define FAULT_OPENAT(name)                                                                 \
    FAULT_NEXT(int, name, (int dir, const char *path, int flags, ...))                     \
    int name(int dir, const char *path, int flags, ...);                                   \
    int name(int dir, const char *path, int flags, ...)                                    \
    {                                                                                      \
        va_list list;                                                                      \
        mode_t mode = 0;                                                                   \
        va_start(list, flags);                                                             \
        if (FAULT_MODE(flags))                                                             \
            mode = va_arg(list, mode_t);                                                   \
        va_end(list);                                                                      \
        fault_find_##name();                                                               \
        return fault_now(FAULT_open, -1, path) ? -1 : next_##name(dir, path, flags, mode); \
    }

FAULT_OPEN(open)
FAULT_OPEN(open64)
FAULT_OPENAT(openat)
FAULT_OPENAT(openat64)

FAULT_FUNCTION(fopen, FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode), -1,
               path)
FAULT_FUNCTION(fopen, FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode), -1,
               path)
FAULT_FUNCTION(fopen, FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode), -1, NULL)
FAULT_FUNCTION(opendir, DIR *, NULL, opendir, (const char *path), (path), -1, path)
FAULT_FUNCTION(opendir, DIR *, NULL, fdopendir, (int fd), (fd), -1, NULL)
FAULT_FUNCTION(readdir, struct dirent *, NULL, readdir, (DIR * dir), (dir), -1, NULL)
FAULT_FUNCTION(readdir, struct dirent64 *, NULL, readdir64, (DIR * dir), (dir), -1, NULL)

/* ---- what is there ---- */

FAULT_FUNCTION(fstat, int, -1, fstat, (int fd, struct stat *st), (fd, st), fd, NULL)
FAULT_FUNCTION(fstat, int, -1, fstat64, (int fd, struct stat64 *st), (fd, st), fd, NULL)
FAULT_FUNCTION(stat, int, -1, stat, (const char *path, struct stat *st), (path, st), -1, path)
FAULT_FUNCTION(stat, int, -1, stat64, (const char *path, struct stat64 *st), (path, st), -1, path)
FAULT_FUNCTION(stat, int, -1, lstat, (const char *path, struct stat *st), (path, st), -1, path)
FAULT_FUNCTION(stat, int, -1, lstat64, (const char *path, struct stat64 *st), (path, st), -1, path)
FAULT_FUNCTION(stat, int, -1, fstatat, (int dir, const char *path, struct stat *st, int flags),
               (dir, path, st, flags), -1, path)
FAULT_FUNCTION(stat, int, -1, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
               (dir, path, st, flags), -1, path)
FAULT_FUNCTION(stat, int, -1, statx,
               (int dir, const char *path, int flags, unsigned mask, struct statx *st),
               (dir, path, flags, mask, st), -1, path)
FAULT_FUNCTION(access, int, -1, access, (const char *path, int mode), (path, mode), -1, path)
FAULT_FUNCTION(readlink, ssize_t, -1, readlink, (const char *path, char *to, size_t len),
               (path, to, len), -1, path)
FAULT_FUNCTION(readlink, ssize_t, -1, readlinkat, (int dir, const char *path, char *to, size_t len),
               (dir, path, to, len), -1, path)
FAULT_FUNCTION(statfs, int, -1, statfs, (const char *path, struct statfs *st), (path, st), -1, path)
FAULT_FUNCTION(statfs, int, -1, statfs64, (const char *path, struct statfs *st), (path, st), -1,
               path)
FAULT_FUNCTION(statfs, int, -1, fstatfs, (int fd, struct statfs *st), (fd, st), fd, NULL)

/* ---- changes ---- */

FAULT_FUNCTION(rename, int, -1, rename, (const char *from, const char *to), (from, to), -1, from)
FAULT_FUNCTION(unlink, int, -1, unlink, (const char *path), (path), -1, path)
FAULT_FUNCTION(chdir, int, -1, chdir, (const char *path), (path), -1, path)
FAULT_FUNCTION(chown, int, -1, chown, (const char *path, uid_t u, gid_t g), (path, u, g), -1, path)
FAULT_FUNCTION(lseek, off_t, -1, lseek, (int fd, off_t at, int from), (fd, at, from), fd, NULL)
FAULT_FUNCTION(lseek, off_t, -1, lseek64, (int fd, off_t at, int from), (fd, at, from), fd, NULL)
FAULT_FUNCTION(ftruncate, int, -1, ftruncate, (int fd, off_t len), (fd, len), fd, NULL)
FAULT_FUNCTION(ftruncate, int, -1, ftruncate64, (int fd, off_t len), (fd, len), fd, NULL)

/* ---- descriptors ---- */

/* A descriptor is gone after close(), whatever that says. */
FAULT_NEXT(int, close, (int fd))
int close(int fd);
int close(int fd)
{
    int failed = fault_now(FAULT_close, fd, NULL), error = errno;

    fault_find_close();
    if (next_close(fd) < 0)
        return -1;
    if (failed)
        errno = error;
    return failed ? -1 : 0;
}

FAULT_FUNCTION(dup, int, -1, dup, (int fd), (fd), fd, NULL)
FAULT_FUNCTION(dup, int, -1, dup2, (int fd, int to), (fd, to), fd, NULL)
FAULT_FUNCTION(dup, int, -1, dup3, (int fd, int to, int flags), (fd, to, flags), fd, NULL)

/* Flags of a descriptor that is open can always be had. */
#define FAULT_FCNTL(name)                                                                 \
    FAULT_NEXT(int, name, (int fd, int command, ...))                                     \
    int name(int fd, int command, ...);                                                   \
    int name(int fd, int command, ...)                                                    \
    {                                                                                     \
        va_list list;                                                                     \
        void *arg;                                                                        \
        va_start(list, command);                                                          \
        arg = va_arg(list, void *);                                                       \
        va_end(list);                                                                     \
        fault_find_##name();                                                              \
        if (command != F_SETFD && command != F_GETFD && fault_now(FAULT_fcntl, fd, NULL)) \
            return -1;                                                                    \
        return next_##name(fd, command, arg);                                             \
    }

FAULT_FCNTL(fcntl)
FAULT_FCNTL(fcntl64)
