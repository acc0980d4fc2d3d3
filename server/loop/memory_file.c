/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a file in memory, for sendfile(). */
#include "memory_file.h"
#include "nameless_file.h"
#include "brigade/assert.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
    int fd;
    uint32_t refs;
    off_t end; /* where the next piece begins; only grows */
};

static _Atomic unsigned pieces_n;

memory_file *memory_file_create(void)
{
    memory_file *f = malloc(sizeof *f);

    if (!f)
        return NULL;
    *f = (memory_file){.fd = nameless_file("brigade-bodies", MFD_CLOEXEC), .refs = 1};
    if (f->fd >= 0)
        return f;
    free(f);
    return NULL;
}

void memory_file_release(memory_file *f)
{
    if (!f)
        return;
    BRG_ASSERT(f->refs > 0);
    if (--f->refs)
        return;
    close(f->fd);
    free(f);
}

static void piece_cut_out(const memory_file *f, off_t off, size_t len)
{
    (void)fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, (off_t)len);
}

static int piece_map(const memory_file *f, size_t len, void **data)
{
    if (fallocate(f->fd, 0, f->end, (off_t)len))
        return -1;
    *data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, f->fd, f->end);
    return *data == MAP_FAILED ? -1 : 0;
}

/* The pages are there before anything touches them: where the kernel has no memory left, this fails and not the
 * write to the mapping, which would end the process. */
int memory_piece_take(memory_file *f, size_t len, memory_piece *out)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (len + page - 1) & ~(page - 1);
    void *data;

    BRG_ASSERT(len > 0 && len <= SIZE_MAX / 2);
    if (atomic_fetch_add_explicit(&pieces_n, 1, memory_order_relaxed) >= MEMORY_PIECES_MOST ||
        piece_map(f, all, &data)) {
        atomic_fetch_sub_explicit(&pieces_n, 1, memory_order_relaxed);
        piece_cut_out(f, f->end, all);
        return -1;
    }
    *out = (memory_piece){.file = f, .data = data, .off = f->end, .len = all};
    f->end += (off_t)all;
    f->refs++;
    return 0;
}

void memory_piece_give(memory_piece *p)
{
    if (!p->file)
        return;
    munmap(p->data, p->len);
    piece_cut_out(p->file, p->off, p->len);
    memory_file_release(p->file);
    atomic_fetch_sub_explicit(&pieces_n, 1, memory_order_relaxed);
    *p = (memory_piece){0};
}

int memory_piece_fd(const memory_piece *p)
{
    return p->file->fd;
}
