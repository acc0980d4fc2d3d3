/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of files, and reading of whole ones. */
#include "file_identity.h"
#include "brigade/assert.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t in_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

int file_identity_take(file_identity *out, int fd, const char *path)
{
    struct stat st;

    BRG_ASSERT(fd >= 0 || path != NULL);
    if ((fd >= 0 ? fstat(fd, &st) : stat(path, &st)) || !S_ISREG(st.st_mode))
        return -1;
    out->dev = st.st_dev;
    out->ino = st.st_ino;
    out->size = (uint64_t)st.st_size;
    out->mtime_ns = in_ns(&st.st_mtim);
    out->ctime_ns = in_ns(&st.st_ctim);
    return 0;
}

int file_read_exactly(int fd, char *buf, size_t len)
{
    size_t have = 0;

    BRG_ASSERT(fd >= 0 && buf != NULL);
    while (have < len) {
        ssize_t n = pread(fd, buf + have, len - have, (off_t)have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        have += (size_t)n;
    }
    BRG_ASSERT(have == len);
    return 0;
}
