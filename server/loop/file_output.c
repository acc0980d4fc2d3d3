/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of files for output: from a window, or read into the thread's buffer. */
#include "file_output.h"
#include "file_cached.h"
#include "thread_self.h"
#include "transport.h"
#include "brigade/assert.h"
#include <errno.h>
#include <unistd.h>

ssize_t file_output_read(int fd, void *buf, size_t len, off_t off, file_wait wait)
{
    ssize_t n;

    BRG_ASSERT(len > 0); /* 0 bytes are the end of the file */
    do
        n = wait == FILE_WAITS    ? pread(fd, buf, len, off)
            : wait == FILE_CACHED ? file_read_cached(fd, buf, len, off)
                                  : file_read_own_cached(fd, buf, len, off);
    while (n < 0 && errno == EINTR);
    return n;
}

static int file_is_warm(int fd, off_t off, size_t len, file_wait wait)
{
    return wait == FILE_WAITS || !file_is_cold(fd, off, len);
}

/* So much may be sent from a window; 0: nothing. */
static size_t file_warm_part(int fd, off_t off, size_t len, file_wait wait)
{
    if (file_is_warm(fd, off, len, wait))
        return len;
    return len > FILE_OUTPUT_MOST && file_is_warm(fd, off, FILE_OUTPUT_MOST, wait)
               ? FILE_OUTPUT_MOST
               : 0;
}

static int file_open_read(file_window *w, int fd, off_t off, size_t len, file_wait wait)
{
    char *buffer = thread_buffer();
    ssize_t n;

    if (!buffer) {
        errno = ENOMEM;
        return -1;
    }
    n = file_output_read(fd, buffer, len < THREAD_BUFFER_BYTES ? len : THREAD_BUFFER_BYTES, off,
                         wait);
    w->data = buffer;
    w->mapped = 0;
    w->len = n > 0 ? (size_t)n : 0;
    return n < 0 ? -1 : 0;
}

/* @return 1: open; 0: it cannot be mapped; -1 with errno EAGAIN: the disk would have to be asked */
static int file_open_mapped(file_window *w, file_kept *kept, int fd, off_t off, size_t len,
                            file_wait wait)
{
    const size_t most = file_limits_now.window_bytes;
    const size_t warm = file_warm_part(fd, off, len < most ? len : most, wait);

    if (!warm) {
        errno = EAGAIN;
        return -1;
    }
    if (!kept || file_kept_open(kept, fd))
        return !file_window_open(w, fd, off, warm);
    BRG_ASSERT((size_t)off + warm <= kept->len);
    w->data = kept->map + off;
    w->len = warm;
    w->mapped = 1;
    return 1;
}

int file_output_open_kept(file_window *w, file_kept *kept, int fd, off_t off, size_t len,
                          file_way way, file_wait wait)
{
    int rc = 0;

    w->map = NULL;
    w->mapped = 0;
    if (way == FILE_BY_WINDOW)
        rc = file_open_mapped(w, kept, fd, off, len, wait);
    return rc ? (rc > 0 ? 0 : -1) : file_open_read(w, fd, off, len, wait);
}

int file_output_open(file_window *w, int fd, off_t off, size_t len, file_way way, file_wait wait)
{
    return file_output_open_kept(w, NULL, fd, off, len, way, wait);
}

/* Some file systems and transports cannot: these come before the first byte. */
static int file_needs_reads(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EOVERFLOW;
}

ssize_t file_output_sendfile(brg_conn *bc, int sock, int fd, off_t off, size_t len, file_wait wait)
{
    const size_t most = len < FILE_OUTPUT_MOST ? len : FILE_OUTPUT_MOST;
    ssize_t n;

    BRG_ASSERT(bc || wait == FILE_WAITS); /* nobody would hear that the disk has to be asked */
    if (!file_is_warm(fd, off, most, wait)) {
        bc->cold = 1;
        errno = EAGAIN;
        return -1;
    }
    do
        n = bc ? transport_sendfile(bc, fd, &off, most) : sendfile(sock, fd, &off, most);
    while (n < 0 && errno == EINTR);
    if (n < 0 && file_needs_reads(errno))
        errno = EINVAL;
    return n;
}

void file_output_warm(int fd, off_t off, off_t len)
{
    const off_t end = off + (len < FILE_OUTPUT_MOST ? len : FILE_OUTPUT_MOST);
    char *buffer = thread_buffer();
    ssize_t n;

    for (; buffer && off < end; off += n)
        if ((n = file_output_read(fd, buffer, THREAD_BUFFER_BYTES, off, FILE_WAITS)) <= 0)
            return; /* the loop sees it when it sends */
}
