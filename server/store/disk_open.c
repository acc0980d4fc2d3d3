/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the disk tier: made, opened, searched for records. */
#include "disk_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of this name and length. *fresh: it was not there, or had another length. */
static int disk_file(const disk *d, const char *name, uint64_t bytes, int *fresh)
{
    char path[4096];
    struct stat st;
    int fd, error;

    *fresh = 0;
    if (snprintf(path, sizeof path, "%s/brigade-cache.%s", d->limits.root, name) >=
        (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = open(path, O_RDWR | (d->attached ? 0 : O_CREAT) | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    if (d->attached && (uint64_t)st.st_size == bytes)
        return fd;
    if (d->attached) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    if ((uint64_t)st.st_size != bytes) {
        *fresh = 1;
        if (ftruncate(fd, 0)) {
            close(fd);
            return -1;
        }
    }
    /* Also for one of the right length: a write to a hole could fail, and to a mapped one would end the process. */
    error = posix_fallocate(fd, 0, (off_t)bytes);
    if (error) {
        if (ftruncate(fd, 0) < 0)
            error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static void disk_boot(char *boot, size_t len)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, boot, len - 1);

    if (fd >= 0)
        close(fd);
    memset(boot + (n < 0 ? 0 : n), 0, len - (size_t)(n < 0 ? 0 : n));
}

/* 0: it is as it was left; 1: it is new */
static int disk_index_check(disk *d, uint64_t layout)
{
    disk_shared *h = d->shared;
    char boot[sizeof h->boot];
    int fresh = 0;

    disk_boot(boot, sizeof boot);
    if (h->magic != DISK_MAGIC || h->layout != layout) {
        uint64_t secret[2];

        memcpy(secret, h->secret, sizeof secret);
        memset(h, 0, d->map_bytes);
        memcpy(h->secret, secret, sizeof secret);
        h->layout = layout;
        fresh = 1;
    }
    /* Without an answer of the kernel each start counts as one of the machine. */
    if (fresh || !*boot || memcmp(boot, h->boot, sizeof boot)) {
        memcpy(h->boot, boot, sizeof boot);
        atomic_fetch_add(&h->boots, 1);
    }
    return fresh;
}

/* The secret has a file of its own: without it no key would find a record. *lost: there was none. */
static apr_status_t disk_key(disk *d, int *lost)
{
    uint64_t secret[2];
    const int fd = disk_file(d, "key", sizeof secret, lost);
    apr_status_t rv = APR_SUCCESS;

    if (fd < 0)
        return errno;
    if (pread(fd, secret, sizeof secret, 0) != (ssize_t)sizeof secret ||
        (!secret[0] && !secret[1])) {
        *lost = 1;
        if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret ||
            pwrite(fd, secret, sizeof secret, 0) != (ssize_t)sizeof secret || fsync(fd))
            rv = errno ? errno : APR_EGENERAL;
    }
    close(fd);
    if (!rv && memcmp(d->shared->secret, secret, sizeof secret)) {
        memset(d->shared, 0, d->map_bytes); /* its entries are of other keys */
        memcpy(d->shared->secret, secret, sizeof secret);
    }
    return rv;
}

/* Without a list of purges nobody knows which records are purged: all that are there count as such. */
static apr_status_t disk_map_purges(disk *d)
{
    int is_new;
    const int fd = disk_file(d, "purges", sizeof(disk_purges), &is_new);
    void *at;

    if (fd < 0)
        return errno;
    at = mmap(NULL, sizeof(disk_purges), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return errno;
    d->purges = at;
    if (d->attached)
        return d->purges->magic == DISK_MAGIC ? APR_SUCCESS : APR_EGENERAL;
    (void)mlock(at, sizeof(disk_purges));
    if (d->purges->magic != DISK_MAGIC) {
        memset(d->purges, 0, sizeof *d->purges);
        d->purges->all = apr_time_now();
        d->purges->magic = DISK_MAGIC;
    }
    return APR_SUCCESS;
}

static apr_status_t disk_map(disk *d)
{
    const uint32_t objects =
        d->limits.objects ? d->limits.objects : (uint32_t)(d->limits.bytes / 8192) + 64;
    uint32_t buckets = 64;
    int is_new;
    char *base;

    while ((uint64_t)buckets * DISK_BUCKET < objects && buckets < 1u << 26)
        buckets *= 2;
    d->buckets = buckets;
    d->map_bytes = 4096 + (size_t)buckets * DISK_BUCKET * sizeof(disk_entry);
    d->map_bytes = (d->map_bytes + 4095) & ~(size_t)4095;
    d->index = disk_file(d, "index", d->map_bytes, &is_new);
    if (d->index < 0)
        return errno;
    base = mmap(NULL, d->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, d->index, 0);
    if (base == MAP_FAILED)
        return errno;
    if (!d->attached)
        (void)mlock(base, d->map_bytes); /* where it is allowed: loops read it */
    d->shared = (void *)base;
    d->entry = (void *)(base + 4096);
    return APR_SUCCESS;
}

static void disk_free(disk *d)
{
    if (d->shared)
        munmap(d->shared, d->map_bytes);
    if (d->purges)
        munmap(d->purges, sizeof *d->purges);
    for (uint32_t i = 0; i < d->limits.files; i++) {
        if (d->fd[i] >= 0)
            close(d->fd[i]);
        pthread_mutex_destroy(&d->lock[i]);
    }
    if (d->index >= 0)
        close(d->index);
    free((char *)(uintptr_t)d->limits.root);
    free(d);
}

static disk *disk_new(const disk_limits *limits)
{
    disk *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    BRG_ASSERT(limits->root);
    d->limits = *limits;
    if (!d->limits.files || d->limits.files > DISK_FILES)
        d->limits.files = d->limits.files ? DISK_FILES : 1;
    d->room = limits->bytes / d->limits.files / DISK_UNIT * DISK_UNIT;
    if (d->room < STORE_SEGMENT)
        d->room = STORE_SEGMENT;
    if (!d->limits.object_bytes || d->limits.object_bytes > d->room / 4)
        d->limits.object_bytes = d->room / 4;
    d->index = -1;
    for (int i = 0; i < DISK_FILES; i++)
        d->fd[i] = -1;
    for (uint32_t i = 0; i < d->limits.files; i++)
        pthread_mutex_init(&d->lock[i], NULL);
    d->limits.root = strdup(limits->root);
    return d;
}

static apr_status_t disk_records(disk *d)
{
    char name[16];

    for (uint32_t i = 0; i < d->limits.files; i++) {
        int is_new;

        snprintf(name, sizeof name, "%u", i);
        d->fd[i] = disk_file(d, name, d->room, &is_new);
        if (d->fd[i] < 0)
            return errno;
    }
    return APR_SUCCESS;
}

static uint64_t disk_layout(const disk *d)
{
    return d->map_bytes ^ d->room << 20 ^ d->limits.files;
}

apr_status_t disk_attach(disk **to, const disk_limits *limits)
{
    disk *d = disk_new(limits);
    apr_status_t rv;

    *to = NULL;
    if (!d)
        return APR_ENOMEM;
    d->attached = 1;
    rv = disk_records(d);
    if (!rv)
        rv = disk_map(d);
    if (!rv)
        rv = disk_map_purges(d);
    if (!rv && (d->shared->magic != DISK_MAGIC || d->shared->layout != disk_layout(d)))
        rv = APR_EGENERAL;
    if (rv)
        disk_free(d);
    else
        *to = d;
    return rv;
}

apr_status_t disk_open(disk **to, const disk_limits *limits, int *scanned)
{
    disk *d = disk_new(limits);
    int fresh, lost;
    apr_status_t rv;

    *to = NULL;
    *scanned = 0;
    if (!d)
        return APR_ENOMEM;
    rv = disk_records(d);
    if (!rv)
        rv = disk_map(d);
    if (!rv)
        rv = disk_map_purges(d);
    if (!rv)
        rv = disk_key(d, &lost);
    if (rv) {
        disk_free(d);
        return rv;
    }
    fresh = disk_index_check(d, disk_layout(d));
    if (fresh) {
        if (!lost)
            disk_scan(d);
        STORE_STEP("index scanned");
        d->shared->magic = DISK_MAGIC;
        *scanned = 1;
    }
    *to = d;
    return APR_SUCCESS;
}

apr_status_t disk_close(disk **d)
{
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(*d && (*d)->shared);
    for (uint32_t i = 0; i < (*d)->limits.files; i++)
        if (fdatasync((*d)->fd[i]))
            rv = errno;
    if (msync((*d)->shared, (*d)->map_bytes, MS_SYNC) ||
        msync((*d)->purges, sizeof *(*d)->purges, MS_SYNC))
        rv = errno;
    disk_free(*d);
    *d = NULL;
    return rv;
}

void disk_secret(const disk *d, uint64_t secret[2])
{
    memcpy(secret, d->shared->secret, sizeof d->shared->secret);
}

/* ---- search */

/* The next record of a file from *off on, which is behind it then; unit by unit where no record is.
 * @return 0: the file ends */
static int disk_scan_next(const disk *d, uint32_t file, uint64_t *off, disk_record *r)
{
    for (; *off + sizeof *r <= d->room; *off += DISK_UNIT) {
        if (pread(d->fd[file], r, sizeof *r, (off_t)*off) != (ssize_t)sizeof *r)
            return 0;
        if (disk_record_is(d, r, r->at) && disk_offset(d, r->at) == *off) {
            *off += r->bytes;
            return 1;
        }
    }
    return 0;
}

/* Writing goes on at the latest place: records behind it are of the round before. */
static void disk_scan_file(disk *d, uint32_t file)
{
    uint64_t end = 0, off = 0;
    disk_record r;

    while (disk_scan_next(d, file, &off, &r))
        if (r.at + r.bytes > end)
            end = r.at + r.bytes;
    atomic_store(&d->shared->reserved[file], end);
    off = 0;
    while (disk_scan_next(d, file, &off, &r))
        if (end - r.at <= d->room)
            disk_index_put(d, &r.key, file, r.at, r.bytes, 0);
}

void disk_scan(disk *d)
{
    for (uint32_t i = 0; i < d->limits.files; i++)
        disk_scan_file(d, i);
}
