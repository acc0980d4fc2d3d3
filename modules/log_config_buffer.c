/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines on their way to files and pipes.
 *
 * A thread formats its lines one after the other into one buffer, whatever files they are for, and
 * writes them at the end of its turn: all lines for one file with a single writev, so that lines of
 * other threads and processes that append to the same file come before or after, never between.
 * Pipes take PIPE_BUF bytes undivided, hence smaller portions there. The buffer belongs to its
 * thread; the only lock guards the list of threads, for what is left when they or the files end.
 *
 * A log that cannot be written must not stop the server: lines are dropped, the error log says so
 * once and says it again when writing works again.
 */
#include "log_config_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_hash.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>

APLOG_USE_MODULE(log_config);

#define LOG_BUFFER_MIN (4 * 1024)
#define LOG_BUFFER_FULL (64 * 1024)
#define LOG_SEGMENTS_MAX 256
#define LOG_HOLD_US APR_USEC_PER_SEC
#define LOG_PORTION PIPE_BUF

struct log_file {
    const char *name;
    int fd;
    int is_pipe;
    server_rec *server;
    atomic_int failing;       /* the last write failed; lines are being lost */
    atomic_ulong lost_writes; /* since then */
};

/* A run of lines for one file. */
typedef struct log_segment {
    log_file *file; /* NULL: written, or not to be written */
    apr_size_t offset, len;
} log_segment;

typedef struct log_thread {
    log_out out;
    apr_size_t line; /* where the line being formatted begins */
    apr_time_t oldest_us;
    struct log_thread *next;
    int segments_n;
    log_segment segments[LOG_SEGMENTS_MAX];
} log_thread;

static _Thread_local log_thread *log_self;
static pthread_key_t log_key;
static pthread_once_t log_key_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t log_threads_lock = PTHREAD_MUTEX_INITIALIZER;
static log_thread *log_threads;

/* Written while the configuration is read. */
static apr_hash_t *log_files;
static int log_holds;

void log_buffer_hold(int on)
{
    log_holds = on;
}

void log_file_reset(apr_pool_t *pconf)
{
    log_files = apr_hash_make(pconf);
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
    return file;
}

log_file *log_file_open(apr_pool_t *p, server_rec *s, const char *name)
{
    log_file *file = apr_hash_get(log_files, name, APR_HASH_KEY_STRING);
    apr_file_t *handle;

    if (file)
        return file;
    handle = *name == '|' ? log_file_open_pipe(p, name) : log_file_open_path(p, s, name);
    if (!handle)
        return NULL;
    file = apr_pcalloc(p, sizeof(*file));
    file->name = apr_pstrdup(p, name);
    file->is_pipe = *name == '|';
    file->server = s;
    if (apr_os_file_get(&file->fd, handle) != APR_SUCCESS)
        return NULL;
    apr_hash_set(log_files, file->name, APR_HASH_KEY_STRING, file);
    return file;
}

static void log_file_failed(log_file *file, apr_status_t rv)
{
    atomic_fetch_add_explicit(&file->lost_writes, 1, memory_order_relaxed);
    if (!atomic_exchange_explicit(&file->failing, 1, memory_order_relaxed)) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, file->server,
                     "cannot write to transfer log %s; entries are lost until it works again",
                     file->name);
    }
}

static void log_file_works(log_file *file)
{
    if (atomic_load_explicit(&file->failing, memory_order_relaxed) &&
        atomic_exchange_explicit(&file->failing, 0, memory_order_relaxed)) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, file->server,
                     "transfer log %s can be written again; %lu writes were lost", file->name,
                     atomic_exchange_explicit(&file->lost_writes, 0, memory_order_relaxed));
    }
}

/* Write it all, or drop the rest. */
static void log_file_writev(log_file *file, struct iovec *vec, int vec_n)
{
    while (vec_n) {
        ssize_t n = writev(file->fd, vec, vec_n);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            log_file_failed(file, errno);
            return;
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
    log_file_works(file);
}

/* Whole lines in portions that a pipe takes undivided; a line beyond that size goes by itself. */
static void log_file_write_portions(log_file *file, char *data, apr_size_t len)
{
    while (len) {
        apr_size_t portion = len;

        if (portion > LOG_PORTION) {
            char *cut = memrchr(data, '\n', LOG_PORTION);
            if (!cut)
                cut = memchr(data, '\n', len);
            portion = cut ? (apr_size_t)(cut - data) + 1 : len;
        }
        log_file_writev(file, &(struct iovec){.iov_base = data, .iov_len = portion}, 1);
        data += portion;
        len -= portion;
    }
}

/* Write the segments from @a first on that are for the same file. */
static void log_thread_write(log_thread *self, int first)
{
    struct iovec vec[LOG_SEGMENTS_MAX];
    log_file *file = self->segments[first].file;
    int vec_n = 0;

    for (int i = first; i < self->segments_n; i++) {
        log_segment *segment = &self->segments[i];

        if (segment->file != file)
            continue;
        segment->file = NULL;
        if (file->is_pipe) {
            log_file_write_portions(file, self->out.data + segment->offset, segment->len);
        } else {
            vec[vec_n].iov_base = self->out.data + segment->offset;
            vec[vec_n++].iov_len = segment->len;
        }
    }
    if (vec_n)
        log_file_writev(file, vec, vec_n);
}

static void log_thread_flush(log_thread *self)
{
    for (int i = 0; i < self->segments_n; i++)
        if (self->segments[i].file)
            log_thread_write(self, i);
    self->segments_n = 0;
    self->out.used = self->line = 0;
    if (self->out.size > 2 * LOG_BUFFER_FULL) {
        free(self->out.data);
        self->out.data = NULL;
        self->out.size = 0;
    }
}

void log_buffer_flush(void)
{
    if (log_self && log_self->segments_n)
        log_thread_flush(log_self);
}

void log_buffer_turn_end(apr_time_t now)
{
    if (!log_self || !log_self->segments_n)
        return;
    if (!log_holds || !brg_thread_is_loop() || now - log_self->oldest_us >= LOG_HOLD_US)
        log_thread_flush(log_self);
}

static void log_thread_enter(log_thread *self)
{
    pthread_mutex_lock(&log_threads_lock);
    self->next = log_threads;
    log_threads = self;
    pthread_mutex_unlock(&log_threads_lock);
}

/* A thread ends: with BufferedLogs lines may be left. If the files ended before, log_buffer_close
 * has written them. */
static void log_thread_free(void *v)
{
    log_thread *self = v, **link = &log_threads;

    pthread_mutex_lock(&log_threads_lock);
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    log_thread_flush(self);
    pthread_mutex_unlock(&log_threads_lock);
    free(self->out.data);
    free(self);
}

static void log_key_make(void)
{
    if (pthread_key_create(&log_key, log_thread_free) != 0) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                     "log buffers of threads that end will not be freed");
    }
}

apr_status_t log_buffer_close(void *data)
{
    pthread_mutex_lock(&log_threads_lock);
    for (log_thread *t = log_threads; t; t = t->next)
        log_thread_flush(t);
    pthread_mutex_unlock(&log_threads_lock);
    return APR_SUCCESS;
}

log_out *log_line_begin(void)
{
    if (!log_self) {
        pthread_once(&log_key_once, log_key_make);
        log_self = calloc(1, sizeof(*log_self));
        if (!log_self)
            return NULL;
        pthread_setspecific(log_key, log_self);
        log_thread_enter(log_self);
    }
    if (log_self->segments_n == LOG_SEGMENTS_MAX || log_self->out.used >= LOG_BUFFER_FULL)
        log_thread_flush(log_self);
    log_self->line = log_self->out.used;
    return log_out_reserve(&log_self->out, 256) ? &log_self->out : NULL;
}

const char *log_line_text(const log_out *out, apr_size_t *len)
{
    *len = out->used - log_self->line;
    return out->data + log_self->line;
}

void log_line_end(log_file *file, apr_time_t now)
{
    log_thread *self = log_self;
    log_segment *last = self->segments_n ? &self->segments[self->segments_n - 1] : NULL;

    if (!file) {
        self->out.used = self->line;
        return;
    }
    if (!last)
        self->oldest_us = now;
    if (last && last->file == file) {
        last->len = self->out.used - last->offset;
    } else {
        self->segments[self->segments_n++] =
            (log_segment){.file = file, .offset = self->line, .len = self->out.used - self->line};
    }
    /* A thread that is neither loop nor worker has no end of turn. */
    if (brg_thread_index() < 0)
        log_thread_flush(self);
}

int log_out_reserve(log_out *out, apr_size_t n)
{
    apr_size_t size = out->size;
    char *data;

    if (size - out->used >= n)
        return 1;
    size = size ? size : LOG_BUFFER_MIN;
    while (size - out->used < n)
        size *= 2;
    data = realloc(out->data, size);
    if (!data)
        return 0;
    out->data = data;
    out->size = size;
    return 1;
}
