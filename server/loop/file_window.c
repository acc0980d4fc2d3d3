/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of files for one write at a time. */
#include "file_window.h"
#include "brigade/assert.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

file_limits file_limits_now = {FILE_WINDOW_BYTES, FILE_WINDOW_LEAST, FILE_SENDFILE_LEAST};

void file_limits_reset(void)
{
    file_limits_now = (file_limits){FILE_WINDOW_BYTES, FILE_WINDOW_LEAST, FILE_SENDFILE_LEAST};
}

int file_kept_open(file_kept *k, int fd)
{
    void *map;

    if (k->map || k->failed)
        return k->map ? 0 : -1;
    map = k->len && k->len <= FILE_KEPT_MOST ? mmap(NULL, k->len, PROT_READ, MAP_SHARED, fd, 0)
                                             : MAP_FAILED;
    k->failed = map == MAP_FAILED;
    k->map = k->failed ? NULL : map;
    return k->map ? 0 : -1;
}

void file_kept_close(file_kept *k)
{
    if (k->map)
        munmap(k->map, k->len);
    k->map = NULL;
}

int file_reaches(int fd, off_t end)
{
    struct stat st;

    return !fstat(fd, &st) && st.st_size >= end;
}

int file_window_open(file_window *w, int fd, off_t off, size_t len)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)off & (page - 1);
    void *map;

    BRG_ASSERT(off >= 0 && len > 0);
    w->len = len < file_limits_now.window_bytes ? len : file_limits_now.window_bytes;
    w->map_len = before + w->len;
    map = mmap(NULL, w->map_len, PROT_READ, MAP_SHARED, fd, off - (off_t)before);
    w->map = map == MAP_FAILED ? NULL : map;
    w->data = w->map ? w->map + before : NULL;
    w->mapped = w->map != NULL;
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
