/* SPDX-License-Identifier: Apache-2.0 */
#include "file_window.h"
#include "brigade/assert.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int file_window_open(file_window *w, int fd, off_t off, size_t len)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)off & (page - 1);
    void *map;

    BRG_ASSERT(off >= 0 && len > 0);
    w->len = len < FILE_WINDOW_BYTES ? len : FILE_WINDOW_BYTES;
    w->map_len = before + w->len;
    map = mmap(NULL, w->map_len, PROT_READ, MAP_SHARED, fd, off - (off_t)before);
    w->map = map == MAP_FAILED ? NULL : map;
    w->data = w->map ? w->map + before : NULL;
    return w->map ? 0 : -1;
}

void file_window_close(file_window *w)
{
    const int error = errno;

    if (w->map)
        munmap(w->map, w->map_len);
    w->map = NULL;
    errno = error;
}
