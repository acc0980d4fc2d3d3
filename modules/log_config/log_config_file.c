/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files and pipes that access logs go to.
 *
 * A log that cannot be written must not stop the server: lines are dropped and counted, the error
 * log says so once and says it again when writing works again.
 */
#include "log_config_writer.h"
#include "http_log.h"
#include "apr_hash.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/log_files.h"
#include "brigade/status.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/uio.h>

APLOG_USE_MODULE(log_config);

#define LOG_PORTION PIPE_BUF

/* Written while the configuration is read. */
static apr_hash_t *log_files;
static log_file *log_files_all;

void log_file_reset(apr_pool_t *pconf)
{
    log_files = apr_hash_make(pconf);
    log_files_all = NULL;
}

log_file *log_files_list(void)
{
    return log_files_all;
}

static apr_file_t *log_file_open_pipe(apr_pool_t *p, const char *name)
{
    apr_cmdtype_e type = APR_PROGRAM_ENV;
    piped_log *pipe;

    name++;
    if (*name == '|') {
        name++;
    } else if (*name == '$') {
        type = APR_SHELLCMD_ENV;
        name++;
    }
    pipe = ap_open_piped_log_ex(p, name, type);
    return pipe ? ap_piped_log_write_fd(pipe) : NULL;
}

static apr_file_t *log_file_open_path(apr_pool_t *p, server_rec *s, const char *name)
{
    const char *path = ap_server_root_relative(p, name);
    apr_file_t *file;
    apr_os_file_t fd;
    apr_status_t rv;

    if (!path) {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_EBADPATH, s,
                     APLOGNO(00648) "invalid transfer log path %s.", name);
        return NULL;
    }
    rv = apr_file_open(&file, path,
                       APR_FOPEN_WRITE | APR_FOPEN_APPEND | APR_FOPEN_CREATE | APR_FOPEN_LARGEFILE,
                       APR_FPROT_OS_DEFAULT, p);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     APLOGNO(00649) "could not open transfer log file %s.", path);
        return NULL;
    }
    if (apr_os_file_get(&fd, file) == APR_SUCCESS)
        brg_log_file_watch(p, path, fd);
    return file;
}

/* Not in a pool: a writer that is given up may still look at it. */
static log_file *log_file_make(const char *name, server_rec *s, int fd)
{
    log_file *file = ap_calloc(1, sizeof(*file));

    file->tag = LOG_FILE_TAG;
    file->name = strdup(name);
    file->is_pipe = *name == '|';
    file->server = s;
    file->fd = fd;
    file->next = log_files_all;
    log_files_all = file;
    return file;
}

static apr_status_t log_file_free(void *data)
{
    log_file *file = data;

    BRG_ASSERT_TAG(file, LOG_FILE_TAG);
    if (file->writer)
        return APR_SUCCESS;
    file->tag = 0;
    free((char *)(uintptr_t)file->name);
    free(file);
    return APR_SUCCESS;
}

/* @return 0, or 1 after logging why not */
static int log_file_open_socket(apr_pool_t *p, server_rec *s, const char *name,
                                brg_log_service **target, int *fd)
{
    const char *why = brg_log_service_parse(p, name, target);
    apr_status_t rv = why ? APR_EINVAL : brg_log_service_open(p, fd);

    if (rv == APR_SUCCESS)
        return 0;
    ap_log_error(APLOG_MARK, APLOG_ERR, why ? 0 : rv, s, "transfer log %s: %s", name,
                 why ? why : "no socket");
    return 1;
}

log_file *log_file_open(apr_pool_t *p, server_rec *s, const char *name)
{
    log_file *file = apr_hash_get(log_files, name, APR_HASH_KEY_STRING);
    brg_log_service *target = NULL;
    apr_file_t *handle;
    apr_os_file_t fd;

    if (file)
        return file;
    if (brg_log_service_is_named(name)) {
        if (log_file_open_socket(p, s, name, &target, &fd))
            return NULL;
    } else {
        handle = *name == '|' ? log_file_open_pipe(p, name) : log_file_open_path(p, s, name);
        if (!handle || apr_os_file_get(&fd, handle) != APR_SUCCESS)
            return NULL;
    }
    file = log_file_make(name, s, fd);
    file->service = target;
    apr_pool_cleanup_register(p, file, log_file_free, apr_pool_cleanup_null);
    apr_hash_set(log_files, file->name, APR_HASH_KEY_STRING, file);
    return file;
}

void log_file_lose(log_file *file, apr_uint64_t lines, apr_status_t rv)
{
    BRG_ASSERT_TAG(file, LOG_FILE_TAG);
    atomic_fetch_add_explicit(&file->lost, lines, memory_order_relaxed);
    brg_status_log_lines_lost(lines);
    if (atomic_exchange_explicit(&file->failing, 1, memory_order_relaxed))
        return;
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, file->server,
                     "cannot write to transfer log %s; entries are lost until it works again",
                     file->name);
    } else {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, file->server,
                     "transfer log %s takes lines too slowly and its buffer is full: entries are "
                     "lost until there is room again",
                     file->name);
    }
}

void log_file_works(log_file *file)
{
    if (atomic_load_explicit(&file->failing, memory_order_relaxed) &&
        atomic_exchange_explicit(&file->failing, 0, memory_order_relaxed)) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, file->server,
                     "transfer log %s can be written again; %" APR_UINT64_T_FMT " lines were lost",
                     file->name,
                     (apr_uint64_t)atomic_exchange_explicit(&file->lost, 0, memory_order_relaxed));
    }
}

/* @return 0 or an errno: part of it may have been written then */
static apr_status_t log_file_writev(const log_file *file, struct iovec *vec, int vec_n)
{
    while (vec_n) {
        ssize_t n = writev(file->fd, vec, vec_n);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        while (vec_n && (size_t)n >= vec->iov_len) {
            n -= (ssize_t)vec->iov_len;
            vec++;
            vec_n--;
        }
        if (vec_n) {
            vec->iov_base = (char *)vec->iov_base + n;
            vec->iov_len -= (size_t)n;
        }
    }
    return APR_SUCCESS;
}

/* How much of @a data to write at once: whole lines; a line beyond the size goes by itself. */
static apr_size_t log_portion(const char *data, apr_size_t len)
{
    const char *cut;

    if (len <= LOG_PORTION)
        return len;
    cut = memrchr(data, '\n', LOG_PORTION);
    if (!cut)
        cut = memchr(data, '\n', len);
    return cut ? (apr_size_t)(cut - data) + 1 : len;
}

/* Writers of several processes share a pipe, which takes PIPE_BUF bytes undivided. */
static apr_status_t log_file_write_portions(const log_file *file, char *data, apr_size_t len)
{
    apr_status_t rv = APR_SUCCESS;

    while (len && rv == APR_SUCCESS) {
        struct iovec vec = {.iov_base = data, .iov_len = log_portion(data, len)};

        data += vec.iov_len;
        len -= vec.iov_len;
        rv = log_file_writev(file, &vec, 1);
    }
    return rv;
}

int log_file_write(log_file *file, struct iovec *vec, int vec_n, unsigned lines)
{
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT_TAG(file, LOG_FILE_TAG);
    if (file->service)
        rv = log_socket_write(file, vec, vec_n, &lines);
    else if (!file->is_pipe)
        rv = log_file_writev(file, vec, vec_n);
    for (int i = 0; file->is_pipe && i < vec_n && rv == APR_SUCCESS; i++)
        rv = log_file_write_portions(file, vec[i].iov_base, vec[i].iov_len);
    if (rv != APR_SUCCESS)
        log_file_lose(file, lines, rv);
    return rv == APR_SUCCESS;
}

/* A missing directory is worth its own message, with the line that names it. */
static int log_check_directory(apr_pool_t *p, server_rec *s, const log_config *log)
{
    const char *path, *dir;
    apr_finfo_t info;
    apr_status_t rv;

    if (!log->file || *log->file == '|' || brg_log_service_is_named(log->file) || !log->directive ||
        !(path = ap_server_root_relative(p, log->file)))
        return OK;
    dir = ap_make_dirstr_parent(p, path);
    rv = apr_stat(&info, dir, APR_FINFO_TYPE, p);
    if (rv == APR_SUCCESS && info.filetype != APR_DIR)
        rv = APR_ENOTDIR;
    if (rv == APR_SUCCESS)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_EMERG, rv, s,
                 APLOGNO(02297) "Cannot access directory '%s' for log file '%s' defined at %s:%d",
                 dir, log->file, log->directive->filename, log->directive->line_num);
    return !OK;
}

int log_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int rv = OK;

    for (; s; s = s->next) {
        const log_server *server = ap_get_module_config(s->module_config, &log_config_module);

        for (int i = 0; i < server->logs->nelts; i++) {
            const log_config *log = &APR_ARRAY_IDX(server->logs, i, log_config);
            /* A GlobalLog was looked at with the main server. */
            if ((!log->is_global || !s->is_virtual) && log_check_directory(ptemp, s, log) != OK)
                rv = !OK;
        }
    }
    return rv;
}
