/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and reading files of requests. A loop opens and reads only data that the kernel has in
 * memory, a worker any file.
 *
 * The walk opens files that it would otherwise stat() (open + fstat, never stat + open), and keeps
 * the descriptor for the handler. On a loop both the open and the reads are refused by the kernel
 * where they would wait (openat2 with RESOLVE_CACHED, preadv2 with RWF_NOWAIT), at no cost where
 * they do not; then a worker continues the request.
 */
#include "file_open_private.h"
#include "brigade/assert.h"
#include "brigade/files.h"
#include "conn.h"
#include "core_settings.h"
#include "loop.h"
#include "http_core.h"
#include "request_context.h"
#include "walk_private.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* FIFOs and devices must not make an open wait, nor become a controlling terminal. */
#define FILE_OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* 1 on a loop if a worker can continue the request: then nothing is done here that would wait. */
static int file_may_defer(const request_rec *r)
{
    return conn_on_loop() && request_may_leave_thread(r);
}

/* 1 if the loop waits for the disk itself, after EAGAIN: all workers are busy (with scripts that sleep, say),
 * and the disk is local. Otherwise files would wait for scripts. */
static int file_waits_here(const char *name, int error, int cached)
{
    const brg_loop *loop = loop_self();

    if (!cached || error != EAGAIN || !loop || !worker_pool_is_busy(loop->workers))
        return 0;
    file_mounts_look();
    return !file_mounts_may_hang(name);
}

/* Kernels before 5.6 have no openat2(), those before 5.12 no RESOLVE_CACHED, and sandboxes may forbid
 * it: then the file is opened as ever. */
static int file_openat2(const char *name, int flags, unsigned resolve)
{
    static int unknown; /* the RESOLVE_... bits that this kernel does not know */
    struct open_how how = {.flags = (unsigned)flags};
    int fd;

    BRG_ASSERT(!(resolve & ~(unsigned)(RESOLVE_CACHED | RESOLVE_NO_SYMLINKS)));
    how.resolve = resolve & ~(unsigned)__atomic_load_n(&unknown, __ATOMIC_RELAXED);
    if (!how.resolve)
        return open(name, flags);
    fd = (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how);
    if (fd >= 0 || (errno != EINVAL && errno != ENOSYS && errno != EPERM))
        return fd;
    __atomic_fetch_or(&unknown,
                      errno == EINVAL ? RESOLVE_CACHED : RESOLVE_CACHED | RESOLVE_NO_SYMLINKS,
                      __ATOMIC_RELAXED);
    return file_openat2(name, flags, resolve);
}

/* Another process has a lease on the file (fcntl(2), F_SETLEASE), as file servers have: an open that waits makes it give
 * that up, within the kernel's lease-break-time. Never a FIFO, which would wait for ever. */
static int file_open_leased(const char *name, unsigned resolve)
{
    int found = file_openat2(name, O_PATH | O_CLOEXEC, resolve), fd = -1, error;
    struct stat is;
    char path[64];

    BRG_ASSERT(!(resolve & RESOLVE_CACHED));
    if (found < 0)
        return -1;
    apr_snprintf(path, sizeof path, "/proc/self/fd/%d", found);
    if (fstat(found, &is) == 0 && S_ISREG(is.st_mode))
        fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    else
        errno = EACCES;
    error = errno;
    close(found);
    errno = error;
    return fd;
}

/* As open(). EAGAIN on a loop alone: it would wait. */
static int file_open_fd(const char *name, unsigned resolve)
{
    int fd = file_openat2(name, FILE_OPEN_FLAGS, resolve);

    if (fd >= 0 || errno != EAGAIN || (resolve & RESOLVE_CACHED) ||
        (conn_on_loop() && !loop_self()->prefork))
        return fd;
    return file_open_leased(name, resolve);
}

static apr_status_t file_wrap(apr_file_t **file, request_rec *r, int fd)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_int32_t flags = APR_FOPEN_READ | APR_FOPEN_BINARY | APR_FOPEN_NONBLOCK;

    BRG_ASSERT(fd >= 0);
    if (core->enable_sendfile == ENABLE_SENDFILE_ON)
        flags |= APR_FOPEN_SENDFILE_ENABLED;
    return file_of_descriptor(file, fd, flags, r->pool);
}

/* Whether the kernel had it in memory. @param cached  else it was not asked to tell */
static void file_count(int cached, int failed)
{
    brg_loop *loop = cached ? loop_self() : NULL;

    if (loop)
        figures_add(&loop->figures->own
                         .value[failed && errno == EAGAIN ? BRG_FIGURE_COLD : BRG_FIGURE_WARM],
                    1);
}

apr_status_t file_open_name(apr_file_t **file, request_rec *r, const char *name, int cached)
{
    int fd = file_open_fd(name, cached ? RESOLVE_CACHED : 0);

    file_count(cached, fd < 0);
    if (fd < 0 && file_waits_here(name, errno, cached))
        fd = file_open_fd(name, 0);
    return fd < 0 ? errno : file_wrap(file, r, fd);
}

/* One system call for a path without links, as nearly all are. */
static int file_open_allowed(request_rec *r, const char *links, int cached)
{
    int fd;

    if (!links)
        return file_open_fd(r->filename, cached ? RESOLVE_CACHED : 0);
    fd = file_open_fd(r->filename, RESOLVE_NO_SYMLINKS | (cached ? RESOLVE_CACHED : 0));
    if (fd >= 0 || errno != ELOOP)
        return fd;
    if (cached) {
        errno = EAGAIN;
        return -1;
    }
    return file_open_by_links(r->filename, links);
}

/* The descriptor that the walk opened, if it is of the file that the request ended up with. Where links
 * are not allowed it was opened before they were looked for. */
static apr_file_t *file_of_walk(const request_rec *r, const request_files *files)
{
    if (!files || !files->opened || files->links || files->inode != r->finfo.inode ||
        files->device != r->finfo.device)
        return NULL;
    return files->opened;
}

/* If another file was opened than the walk saw, r->finfo becomes that of the opened one, which is sent. */
static apr_status_t file_confirm(request_rec *r, apr_file_t *file)
{
    apr_finfo_t now;
    apr_status_t rv = apr_file_info_get(&now, APR_FINFO_MIN | APR_FINFO_IDENT, file);

    BRG_ASSERT(file != NULL);
    if (rv != APR_SUCCESS)
        return rv;
    if (now.filetype != APR_REG)
        return APR_EACCES;
    file_mounts_seen(now.device);
    if (now.inode != r->finfo.inode || now.device != r->finfo.device) {
        now.fname = r->finfo.fname;
        now.pool = r->finfo.pool;
        r->finfo = now;
    }
    return APR_SUCCESS;
}

BRG_DECLARE(apr_status_t) brg_file_open(apr_file_t **file, request_rec *r)
{
    const request_files *files = request_files_of(r);
    const int cached = file_may_defer(r);
    apr_status_t rv;
    int fd;

    BRG_ASSERT(r->filename != NULL);
    if ((*file = file_of_walk(r, files)) != NULL)
        return APR_SUCCESS;
    if (cached && file_mounts_may_hang(r->filename))
        return APR_EAGAIN;
    fd = file_open_allowed(r, files ? files->links : NULL, cached);
    file_count(cached, fd < 0);
    if (fd < 0 && file_waits_here(r->filename, errno, cached))
        fd = file_open_allowed(r, files ? files->links : NULL, 0);
    if (fd < 0)
        return errno;
    rv = file_wrap(file, r, fd);
    if (rv == APR_SUCCESS && (rv = file_confirm(r, *file)) != APR_SUCCESS)
        apr_file_close(*file);
    return rv;
}

/* ---- the walk's look at the file ---- */

/* An open would follow the link that the walk asks about, and a sub-request is seldom run. */
static int file_walk_may_open(const request_rec *r, const request_files *files, apr_int32_t wanted)
{
    return files && !files->opened && !r->main && r->method_number == M_GET &&
           !(wanted & APR_FINFO_LINK);
}

#define FILE_BEHIND_MOST 8 /* names behind that of a file */

/* @return 1: it is there, and no folder; 0: it is one, or not there; -1: that is not known without waiting */
static int file_is_no_folder(const char *path)
{
    const int fd = file_openat2(path, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_CACHED);

    if (fd < 0)
        return errno == EAGAIN ? -1 : errno == ENOTDIR;
    close(fd);
    return 0;
}

/* A path that goes on behind a file (PATH_INFO): the kernel does not say so of what it has at hand, but EAGAIN. */
static void file_find_above(request_rec *r, request_files *files)
{
    char *path = apr_pstrdup(r->pool, r->filename), *slash;
    int is = -1;

    for (int i = 0; is < 0 && i < FILE_BEHIND_MOST && (slash = strrchr(path, '/')) != path; i++) {
        *slash = '\0';
        is = file_is_no_folder(path);
    }
    if (is == 1)
        files->file = path;
}

static int file_is_above(const request_rec *r, const request_files *files)
{
    const size_t len = files->file ? strlen(files->file) : 0;

    return len && !strncmp(r->filename, files->file, len) && r->filename[len] == '/';
}

static apr_status_t file_walk_open(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    request_files *files = request_files_of(r);
    apr_file_t *file;
    apr_status_t rv;

    BRG_ASSERT(r->filename != NULL);
    if (!file_walk_may_open(r, files, wanted))
        return AP_DECLINED;
    if (file_is_above(r, files))
        return ENOTDIR;
    rv = file_open_name(&file, r, r->filename, file_may_defer(r));
    if (APR_STATUS_IS_EAGAIN(rv) && file_may_defer(r)) {
        file_find_above(r, files);
        return file_is_above(r, files) ? ENOTDIR : rv;
    }
    if (APR_STATUS_IS_ENOENT(rv) || APR_STATUS_IS_ENOTDIR(rv))
        return rv;
    if (rv != APR_SUCCESS)
        return AP_DECLINED; /* it exists but cannot be read: stat() may still work */
    rv = apr_file_info_get(finfo, wanted, file);
    if (rv != APR_SUCCESS || finfo->filetype != APR_REG) {
        apr_file_close(file);
        return rv == APR_SUCCESS && finfo->filetype == APR_DIR ? rv : AP_DECLINED;
    }
    file_mounts_seen(finfo->device);
    files->opened = file;
    files->inode = finfo->inode;
    files->device = finfo->device;
    finfo->fname = r->filename;
    return APR_SUCCESS;
}

apr_status_t walk_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    apr_status_t rv = file_walk_open(finfo, r, wanted);

    return rv == AP_DECLINED ? apr_stat(finfo, r->filename, wanted, r->pool) : rv;
}

BRG_DECLARE(void) brg_request_let_lookups_fail(request_rec *r)
{
    BRG_ASSERT(!r->main && !r->prev);
    request_allow_lookups_to_fail(r, 1);
}

int walk_would_wait(const request_rec *r, apr_size_t levels)
{
    return conn_on_loop() && (request_may_leave_thread(r) || request_lookup_may_fail(r)) &&
           (levels > WALK_LOOP_LEVELS || file_mounts_may_hang(r->filename));
}

/* ---- reading ---- */

/* Some file systems cannot tell whether they would wait. They are local: the walk checked it
 * (file_mounts_may_hang()). */
static ssize_t file_pread(int fd, char *data, size_t len, off_t offset, int cached)
{
    struct iovec part = {data, len};
    ssize_t n = preadv2(fd, &part, 1, offset, cached ? RWF_NOWAIT : 0);

    if (n < 0 && cached && (errno == EOPNOTSUPP || errno == ENOSYS))
        return pread(fd, data, len, offset);
    return n;
}

BRG_DECLARE(apr_status_t)
brg_file_pread(request_rec *r, apr_file_t *file, char *data, apr_size_t *len, apr_off_t offset)
{
    const int cached = file_may_defer(r);
    apr_size_t have = 0;
    apr_os_file_t fd;

    BRG_ASSERT(offset >= 0);
    apr_os_file_get(&fd, file);
    while (have < *len) {
        ssize_t n = file_pread(fd, data + have, *len - have, offset + (off_t)have, cached);

        file_count(cached, n < 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && file_waits_here(r->filename, errno, cached))
            n = file_pread(fd, data + have, *len - have, offset + (off_t)have, 0);
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        have += (apr_size_t)n;
        BRG_ASSERT(have <= *len);
    }
    *len = have;
    return APR_SUCCESS;
}

/* ---- for a loop alone ---- */

int file_open_at_hand(const char *path)
{
    const int fd =
        file_mounts_may_hang(path) ? -1 : file_openat2(path, FILE_OPEN_FLAGS, RESOLVE_CACHED);

    file_count(1, fd < 0);
    return fd;
}

int file_read_at_hand(int fd, char *data, size_t len)
{
    const ssize_t n = file_pread(fd, data, len, 0, 1);

    file_count(1, n < 0);
    return n == (ssize_t)len ? 0 : -1;
}
