/* SPDX-License-Identifier: Apache-2.0 */
#include "file_cached.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* Files of tmpfs alone have seals. fstatfs() would ask the file system, which may not answer. */
static int file_is_in_memory(int fd)
{
    return fcntl(fd, F_GET_SEALS) >= 0;
}

ssize_t file_read_cached(int fd, void *buf, size_t len, off_t off)
{
    struct iovec part = {buf, len};
    ssize_t n = preadv2(fd, &part, 1, off, RWF_NOWAIT);

    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return n;
    if (errno == ENOSYS || file_is_in_memory(fd)) /* tmpfs does not know RWF_NOWAIT */
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
