/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two mappings of one file in memory. The one to write is not inherited over fork (MADV_DONTFORK), and the file is sealed
 * (F_SEAL_FUTURE_WRITE) before the one to read is made: no later mapping or mprotect() can write, not by the descriptor
 * either, which is closed. The order of these steps matters.
 */
#include "brigade/one_writer.h"
#include "brigade/assert.h"
#include "nameless_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define ONE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

struct brg_one_writer {
    void *read, *write; /* the same where the kernel has no such seal */
    apr_size_t bytes;
    pid_t owner;
};

static void one_unmap(void **at, apr_size_t bytes)
{
    if (*at)
        munmap(*at, bytes);
    *at = NULL;
}

/* In a process that was forked the writer's place may be another mapping's by now. */
static apr_status_t one_end(void *data)
{
    brg_one_writer *m = data;

    if (m->owner == getpid() && m->write != m->read)
        one_unmap(&m->write, m->bytes);
    one_unmap(&m->read, m->bytes);
    return APR_SUCCESS;
}

static void *one_map(int fd, apr_size_t bytes, int protection, int more)
{
    void *at = mmap(NULL, bytes, protection, MAP_SHARED | more, fd, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* @return 0: the kernel cannot do that */
static int one_sealed(brg_one_writer *m, int fd)
{
    if (fd < 0 || ftruncate(fd, (off_t)m->bytes) ||
        !(m->write = one_map(fd, m->bytes, PROT_READ | PROT_WRITE, 0)))
        return 0;
    if (!fcntl(fd, F_ADD_SEALS, ONE_SEALS) && (m->read = one_map(fd, m->bytes, PROT_READ, 0)) &&
        !madvise(m->write, m->bytes, MADV_DONTFORK))
        return 1;
    one_unmap(&m->write, m->bytes);
    one_unmap(&m->read, m->bytes);
    return 0;
}

static int one_shared(brg_one_writer *m)
{
    m->read = m->write =
        one_map(-1, m->bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_NORESERVE);
    return m->read != NULL;
}

apr_status_t brg_one_writer_create(brg_one_writer **memory, const char *name, apr_size_t bytes,
                                   apr_pool_t *p)
{
    brg_one_writer *m = apr_pcalloc(p, sizeof *m);
    int fd = nameless_file(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), made;

    BRG_ASSERT(bytes > 0);
    m->bytes = bytes;
    m->owner = getpid();
    made = one_sealed(m, fd);
    if (fd >= 0)
        close(fd);
    if (!made && !one_shared(m))
        return errno;
    (void)madvise(m->read, bytes, MADV_DONTDUMP);
    (void)madvise(m->write, bytes, MADV_DONTDUMP);
    apr_pool_cleanup_register(p, m, one_end, apr_pool_cleanup_null);
    *memory = m;
    return APR_SUCCESS;
}

const void *brg_one_writer_read(const brg_one_writer *m)
{
    return m->read;
}

void *brg_one_writer_write(const brg_one_writer *m)
{
    return m->write;
}

apr_size_t brg_one_writer_bytes(const brg_one_writer *m)
{
    return m->bytes;
}

void brg_one_writer_hand(const brg_one_writer *m, int on)
{
    BRG_ASSERT(m->owner == getpid());
    if (m->write != m->read)
        (void)madvise(m->write, m->bytes, on ? MADV_DOFORK : MADV_DONTFORK);
}

static void one_protect(void *at, apr_size_t from, apr_size_t bytes, int protection)
{
    BRG_ASSERT(from <= bytes);
    if (at)
        (void)mprotect((char *)at + from, bytes - from, protection);
}

void brg_one_writer_show(const brg_one_writer *m, apr_size_t from, int on)
{
    const int is_one = m->write == m->read;

    one_protect(m->read, from, m->bytes, on ? PROT_READ | (is_one ? PROT_WRITE : 0) : PROT_NONE);
    if (!is_one && m->owner == getpid())
        one_protect(m->write, from, m->bytes, on ? PROT_READ | PROT_WRITE : PROT_NONE);
}

int brg_one_writer_is_own(const brg_one_writer *m)
{
    return m->owner == getpid();
}
