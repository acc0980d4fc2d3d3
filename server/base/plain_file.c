/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a regular file; anything else under its name is refused without a wait. */
#include "plain_file.h"
#include "brigade/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t plain_read(int fd, char *to, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(fd, to + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (!n)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t plain_file_read(const char *path, char *to, size_t size, uid_t *owner)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), error;
    struct stat st;
    ssize_t n;

    BRG_ASSERT(size > 1);
    if (fd < 0)
        return -1;
    errno = EINVAL;
    n = fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : plain_read(fd, to, size - 1);
    error = errno;
    close(fd);
    errno = error;
    if (n < 0)
        return -1;
    to[n] = '\0';
    if (owner)
        *owner = st.st_uid;
    return n;
}
