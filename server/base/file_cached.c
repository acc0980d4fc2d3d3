/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that do not wait for a disk (file_cached.h). Kernels without preadv2() are asked by
 * mincore(). */
#include "file_cached.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_PAGES_MOST 64

/* Files of tmpfs alone have seals. fstatfs() would ask the file system, which may not answer. */
static int file_is_in_memory(int fd)
{
    return fcntl(fd, F_GET_SEALS) >= 0;
}

/* The C library says EOPNOTSUPP where the kernel has no such call, as the kernel does for a file system that cannot tell. With
 * no file at all the kernel says that instead, if it has the call. */
static int file_kernel_lacks_call(void)
{
    static atomic_int answer; /* 1 it does, 2 it does not */
    int known = atomic_load_explicit(&answer, memory_order_relaxed), error = errno;
    struct iovec none = {NULL, 0};

    if (!known) {
        known = preadv2(-1, &none, 1, 0, RWF_NOWAIT) < 0 && errno == EBADF ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
        errno = error;
    }
    return known == 1;
}

/* As pread(); EAGAIN if the disk would have to be asked, EOPNOTSUPP if nobody can tell. */
static ssize_t file_read_at_once(int fd, void *buf, size_t len, off_t off)
{
    struct iovec part = {buf, len};
    ssize_t n = preadv2(fd, &part, 1, off, RWF_NOWAIT);

    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return n;
    if (errno == ENOSYS || file_is_in_memory(fd) || file_kernel_lacks_call())
        return pread(fd, buf, len, off); /* tmpfs does not know RWF_NOWAIT */
    errno = EOPNOTSUPP;
    return -1;
}

ssize_t file_read_cached(int fd, void *buf, size_t len, off_t off)
{
    ssize_t n = file_read_at_once(fd, buf, len, off);

    if (n < 0 && errno == EOPNOTSUPP)
        errno = EAGAIN;
    return n;
}

/* The kernel tells only users who may write to the file. */
static int file_is_resident(int fd, off_t off, size_t len)
{
    const off_t page = sysconf(_SC_PAGESIZE), begin = off / page * page;
    const size_t pages = (size_t)((off + (off_t)len - begin + page - 1) / page);
    unsigned char in_memory[FILE_PAGES_MOST];
    void *at;
    int all = 1;

    if (!len || pages > FILE_PAGES_MOST)
        return !len;
    at = mmap(NULL, pages * (size_t)page, PROT_READ, MAP_SHARED, fd, begin);
    if (at == MAP_FAILED)
        return 1; /* to read it is all that is left */
    if (!mincore(at, pages * (size_t)page, in_memory))
        for (size_t i = 0; i < pages; i++)
            all &= in_memory[i];
    munmap(at, pages * (size_t)page);
    return all & 1;
}

ssize_t file_read_own_cached(int fd, void *buf, size_t len, off_t off)
{
    ssize_t n = file_read_at_once(fd, buf, len, off);

    if (n >= 0 || errno != EOPNOTSUPP)
        return n;
    if (file_is_resident(fd, off, len))
        return pread(fd, buf, len, off);
    errno = EAGAIN;
    return -1;
}

static int file_byte_is_cold(int fd, off_t off)
{
    char byte;

    return file_read_cached(fd, &byte, 1, off) < 0 && errno == EAGAIN;
}

int file_is_cold(int fd, off_t off, size_t len)
{
    return len &&
           (file_byte_is_cold(fd, off) || (len > 1 && file_byte_is_cold(fd, off + (off_t)len - 1)));
}
