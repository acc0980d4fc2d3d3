/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines before they are handed over to writers.
 *
 * A thread formats its lines one after the other into one buffer, for all files. At the end of its turn
 * the lines of each file are handed over to that file's writer (log_config_writer.h), without waiting; if
 * there is no writer, they are written here. The buffer belongs to its thread; the only lock guards the
 * list of threads, for lines that are left when threads or files end.
 */
#include "log_config_writer.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <pthread.h>
#include <stdlib.h>

APLOG_USE_MODULE(log_config);

#define LOG_BUFFER_MIN (4 * 1024)
#define LOG_BUFFER_FULL (64 * 1024)
#define LOG_SEGMENTS_MAX 256
#define LOG_HOLD_US APR_USEC_PER_SEC
#define LOG_THREAD_TAG 0x4c4f4754

/* A run of lines for one file. */
typedef struct log_segment {
    log_file *file; /* NULL: handed over */
    apr_size_t offset, len;
    unsigned lines;
} log_segment;

typedef struct log_thread {
    uint32_t tag;
    log_out out;
    apr_size_t line; /* where the line being formatted begins */
    apr_time_t oldest_us;
    struct log_thread *next;
    log_channels channels;
    int segments_n;
    log_segment segments[LOG_SEGMENTS_MAX];
} log_thread;

static _Thread_local log_thread *log_self;
static pthread_key_t log_key;
static pthread_once_t log_key_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t log_threads_lock = PTHREAD_MUTEX_INITIALIZER;
static log_thread *log_threads;

static int log_holds; /* BufferedLogs; written while the configuration is read */

void log_buffer_hold(int on)
{
    log_holds = on;
}

/* The segments that are for the same file as @a first: their size and number of lines. */
static apr_size_t log_thread_size(const log_thread *self, int first, unsigned *lines)
{
    apr_size_t len = 0;

    BRG_ASSERT(first < self->segments_n && self->segments[first].file);
    *lines = 0;
    for (int i = first; i < self->segments_n; i++) {
        if (self->segments[i].file == self->segments[first].file) {
            len += self->segments[i].len;
            *lines += self->segments[i].lines;
        }
    }
    return len;
}

/* Collect these segments, which are done with then. @return how many there are */
static int log_thread_gather(log_thread *self, int first, struct iovec *vec)
{
    log_file *file = self->segments[first].file;
    int n = 0;

    BRG_ASSERT(file != NULL);
    for (int i = first; i < self->segments_n; i++) {
        log_segment *segment = &self->segments[i];

        if (segment->file != file)
            continue;
        segment->file = NULL;
        vec[n].iov_base = self->out.data + segment->offset;
        vec[n++].iov_len = segment->len;
    }
    return n;
}

static void log_parcel_fill(log_parcel *parcel, const struct iovec *vec, int n)
{
    for (int i = 0; i < n; i++) {
        BRG_ASSERT(parcel->size - parcel->used >= vec[i].iov_len);
        memcpy(parcel->data + parcel->used, vec[i].iov_base, vec[i].iov_len);
        parcel->used += vec[i].iov_len;
    }
}

/* Let go of the segments from @a first on that are for the same file. */
static void log_thread_write(log_thread *self, int first)
{
    struct iovec vec[LOG_SEGMENTS_MAX];
    log_file *file = self->segments[first].file;
    unsigned lines;
    apr_size_t len = log_thread_size(self, first, &lines);
    int n = log_thread_gather(self, first, vec);
    log_parcel *parcel;

    if (!file->writer) {
        if (log_file_write(file, vec, n, lines))
            log_file_works(file);
    } else if ((parcel = log_parcel_get(&self->channels, file, len, lines)) != NULL) {
        log_parcel_fill(parcel, vec, n);
        log_parcel_hand_over(parcel);
    }
}

static void log_thread_flush(log_thread *self)
{
    BRG_ASSERT_TAG(self, LOG_THREAD_TAG);
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
    log_channels_end(&self->channels);
    pthread_mutex_unlock(&log_threads_lock);
    free(self->out.data);
    self->tag = 0;
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
    for (log_thread *t = log_threads; t; t = t->next) {
        log_thread_flush(t);
        log_channels_end(&t->channels);
    }
    log_writers_stop(log_files_list());
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
        log_self->tag = LOG_THREAD_TAG;
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
    BRG_ASSERT(log_self && out == &log_self->out && out->used >= log_self->line);
    *len = out->used - log_self->line;
    return out->data + log_self->line;
}

void log_line_end(log_file *file, apr_time_t now)
{
    log_thread *self = log_self;
    log_segment *last = self->segments_n ? &self->segments[self->segments_n - 1] : NULL;

    BRG_ASSERT_TAG(self, LOG_THREAD_TAG);
    BRG_ASSERT(self->out.used >= self->line && self->segments_n < LOG_SEGMENTS_MAX);
    if (!file) {
        self->out.used = self->line;
        return;
    }
    if (!last)
        self->oldest_us = now;
    if (last && last->file == file) {
        last->len = self->out.used - last->offset;
        last->lines++;
    } else {
        self->segments[self->segments_n++] = (log_segment){
            .file = file, .offset = self->line, .len = self->out.used - self->line, .lines = 1};
    }
    /* A thread that is neither loop nor worker has no end of turn. */
    if (brg_thread_index() < 0)
        log_thread_flush(self);
}

int log_out_grow(log_out *out, apr_size_t n)
{
    apr_size_t size = out->size;
    char *data;

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
