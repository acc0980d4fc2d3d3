/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log writers. One round collects the lines of all channels, sorts them in the order of hand-over, and
 * writes them log by log. After a round with lines the writer pauses, so that it writes the lines of many
 * turns at once and needs not be woken for each: a round takes 50 microseconds of the processor, however few
 * lines it has. It pauses no longer where many lines wait. After a round without lines it sleeps until it is
 * woken.
 */
#include "log_config_writer.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/status.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include "log_config_channel.h"

APLOG_USE_MODULE(log_config);

#define LOG_WRITER_TAG 0x4c4f4757
#define LOG_WRITER_STACK (256 * 1024) /* the error log formats its lines there */
#define LOG_WRITER_PAUSE_NS 100000000 /* also the most that a line is late */
#define LOG_WRITER_MANY 49152         /* bytes of a channel that end a pause */
#define LOG_WRITER_VEC 64
#define LOG_STOP_CHECK_NS 2000000
#define LOG_STOP_GRACEFUL_NS 2000000000 /* without anything written */
#define LOG_STOP_AT_ONCE_NS 400000000   /* in all: the supervisor kills soon after */

enum { LOG_WRITER_WORKS, LOG_WRITER_PAUSES, LOG_WRITER_SLEEPS };

struct log_writer {
    uint32_t tag;
    int number;
    int alone; /* it has one log */
    dev_t device;
    log_file *first; /* one of its files, to name it by */
    log_writer *next;
    pthread_t thread;
    _Atomic(log_channel *) channels;
    sem_t wake;
    atomic_int asleep; /* LOG_WRITER_SLEEPS ... */
    atomic_int stop, ended;
    atomic_ulong written; /* parcels: progress */
};

static log_writer *log_writers;
static atomic_int log_writers_in_haste;
static int log_writers_graceful = 1;
static log_overflow log_writers_when_full;

void log_writers_overflow(log_overflow what)
{
    log_writers_when_full = what;
}

log_overflow log_writers_overflow_get(void)
{
    return log_writers_when_full;
}

void log_writers_hurry(int graceful)
{
    log_writers_graceful = graceful;
    atomic_store_explicit(&log_writers_in_haste, 1, memory_order_relaxed);
}

static apr_int64_t log_clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (apr_int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

apr_int64_t log_stamp_ns(void)
{
    return log_clock_ns();
}

static void log_sleep_ns(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

int log_writer_number(const log_writer *writer)
{
    BRG_ASSERT_TAG(writer, LOG_WRITER_TAG);
    return writer->number;
}

void log_writer_add_channel(log_writer *writer, log_channel *channel)
{
    log_channel *first = atomic_load_explicit(&writer->channels, memory_order_relaxed);

    do {
        channel->next = first;
    } while (!atomic_compare_exchange_weak_explicit(&writer->channels, &first, channel,
                                                    memory_order_release, memory_order_relaxed));
}

/* Hand over, then look whether the writer sleeps; set "asleep", then look once more for parcels:
 * all in one order (sequential consistency), so one of the two threads sees the other's step. */
void log_writer_wake(log_writer *writer, apr_size_t pending)
{
    const int asleep = atomic_load(&writer->asleep);

    if ((asleep == LOG_WRITER_SLEEPS ||
         (asleep == LOG_WRITER_PAUSES && pending >= LOG_WRITER_MANY)) &&
        atomic_exchange(&writer->asleep, LOG_WRITER_WORKS))
        sem_post(&writer->wake);
}

/* ---- a round ---- */

static log_parcel *log_merge(log_parcel *a, log_parcel *b)
{
    log_parcel *first = NULL, **end = &first;

    while (a && b) {
        log_parcel **from = b->stamp_ns < a->stamp_ns ? &b : &a;

        *end = *from;
        end = &(*from)->next;
        *from = *end;
    }
    *end = a ? a : b;
    return first;
}

/*
 * All that was handed over before now, in order. Parcels that came while this looks at one channel
 * after the other are left: of two lines of which one was the cause of the other, the second could
 * be found without the first.
 */
static log_parcel *log_writer_collect(log_writer *w, int everything, int *left)
{
    apr_int64_t before_ns = everything ? APR_INT64_MAX : log_clock_ns();
    log_channel *channel = atomic_load_explicit(&w->channels, memory_order_acquire);
    log_channel *last = NULL, *next;
    log_parcel *all = NULL;

    *left = 0;
    for (; channel; channel = next) {
        next = channel->next;
        all = log_merge(all, log_channel_take(channel, before_ns));
        *left |= channel->kept != NULL;
        /* The first one stays in the list, which other threads change there. */
        if (last && log_channel_is_over(channel)) {
            last->next = next;
            log_channel_free(channel);
        } else {
            last = channel;
        }
    }
    return all;
}

static void log_writer_release(log_writer *w, log_parcel *from, const log_parcel *to)
{
    for (log_parcel *next; from != to; from = next) {
        next = from->next;
        log_channel_done(from);
        atomic_fetch_add_explicit(&w->written, 1, memory_order_relaxed);
    }
}

static int log_writer_keeps_up(const log_writer *w)
{
    log_channel *channel = atomic_load_explicit(&w->channels, memory_order_acquire);

    while (channel && log_channel_pending(channel) <= channel->limit / 2)
        channel = channel->next;
    return channel == NULL;
}

static void log_writer_write(log_writer *w, log_file *file)
{
    struct iovec vec[LOG_WRITER_VEC];
    log_parcel *p = file->batch;
    int good = 1;

    BRG_ASSERT(p != NULL && file->writer == w);
    *file->batch_end = NULL;
    file->batch = NULL;
    while (p) {
        log_parcel *from = p;
        unsigned lines = 0;
        int n = 0;

        for (; p && n < LOG_WRITER_VEC; p = p->next, n++) {
            vec[n] = (struct iovec){.iov_base = p->data, .iov_len = p->used};
            lines += p->lines;
        }
        good = log_file_write(file, vec, n, lines);
        log_writer_release(w, from, p);
    }
    if (good && log_writer_keeps_up(w))
        log_file_works(file);
}

/* @return 0 if there was nothing to do */
static int log_writer_round(log_writer *w, int everything)
{
    log_file *files = NULL, **files_end = &files, *file;
    int left;
    log_parcel *all = log_writer_collect(w, everything, &left), *p;

    for (p = all; p; p = p->next) {
        file = p->file;
        BRG_ASSERT_TAG(file, LOG_FILE_TAG);
        BRG_ASSERT(file->writer == w);
        if (!file->batch) {
            file->batch_end = &file->batch;
            file->batch_next = NULL;
            *files_end = file;
            files_end = &file->batch_next;
        }
        *file->batch_end = p;
        /* The link of this parcel is read before the next one overwrites it. */
        file->batch_end = &p->next;
    }
    while ((file = files) != NULL) {
        files = file->batch_next;
        log_writer_write(w, file);
    }
    return all != NULL || left;
}

/* ---- life ---- */

/* @param least  bytes in a channel */
static int log_writer_has_work(const log_writer *w, apr_size_t least)
{
    log_channel *channel = atomic_load_explicit(&w->channels, memory_order_acquire);

    while (channel && ((!channel->kept && !atomic_load(&channel->handed)) ||
                       log_channel_pending(channel) < least))
        channel = channel->next;
    return channel != NULL;
}

static void log_writer_sleep(log_writer *w)
{
    atomic_store(&w->asleep, LOG_WRITER_SLEEPS);
    if (!log_writer_has_work(w, 0) && !atomic_load(&w->stop))
        while (sem_wait(&w->wake) != 0)
            continue;
    atomic_store_explicit(&w->asleep, LOG_WRITER_WORKS, memory_order_relaxed);
}

/* A signal ends it, as everything else may. */
static void log_writer_pause(log_writer *w)
{
    const apr_int64_t until_ns = log_clock_ns() + LOG_WRITER_PAUSE_NS;

    atomic_store(&w->asleep, LOG_WRITER_PAUSES);
    if (!log_writer_has_work(w, LOG_WRITER_MANY) && !atomic_load(&w->stop) &&
        !atomic_load_explicit(&log_writers_in_haste, memory_order_relaxed))
        (void)sem_clockwait(
            &w->wake, CLOCK_MONOTONIC,
            &(struct timespec){.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000});
    atomic_store_explicit(&w->asleep, LOG_WRITER_WORKS, memory_order_relaxed);
}

static void *log_writer_run(void *data)
{
    log_writer *w = data;

    BRG_ASSERT_TAG(w, LOG_WRITER_TAG);
    for (;;) {
        int stop = atomic_load_explicit(&w->stop, memory_order_acquire);

        if (log_writer_round(w, stop)) {
            if (!stop)
                log_writer_pause(w);
        } else if (stop) {
            break;
        } else {
            log_writer_sleep(w);
        }
    }
    atomic_store_explicit(&w->ended, 1, memory_order_release);
    return NULL;
}

static log_writer *log_writer_make(log_file *file, dev_t device)
{
    log_writer *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->tag = LOG_WRITER_TAG;
    w->device = device;
    w->first = file;
    w->number = log_writers ? log_writers->number + 1 : 0;
    sem_init(&w->wake, 0, 0);
    if (brg_thread_start(log_writer_run, w, LOG_WRITER_STACK, &w->thread) != 0) {
        free(w);
        return NULL;
    }
    w->next = log_writers;
    log_writers = w;
    return w;
}

static log_writer *log_writer_for(log_file *file)
{
    struct stat st;
    log_writer *w = log_writers;
    int alone;

    if (fstat(file->fd, &st) != 0)
        return NULL;
    alone = file->is_pipe || !S_ISREG(st.st_mode);
    while (w && (alone || w->alone || w->device != st.st_dev))
        w = w->next;
    if (!w && (w = log_writer_make(file, st.st_dev)) != NULL)
        w->alone = alone;
    return w;
}

void log_writers_start(log_file *files)
{
    BRG_ASSERT(log_writers == NULL);
    for (log_file *file = files; file; file = file->next) {
        file->writer = log_writer_for(file);
        if (!file->writer)
            ap_log_error(
                APLOG_MARK, APLOG_WARNING, 0, file->server,
                "no thread to write transfer log %s: event loops write it, and wait for it",
                file->name);
    }
}

static int log_writers_may_wait(apr_int64_t since_ns, apr_int64_t progress_ns)
{
    if (!log_writers_graceful)
        return log_clock_ns() - since_ns < LOG_STOP_AT_ONCE_NS;
    return log_writers_when_full == LOG_OVERFLOW_WAIT ||
           log_clock_ns() - progress_ns < LOG_STOP_GRACEFUL_NS;
}

/* @return 1 if it has ended, 0 if there is no more time for it */
static int log_writer_await(log_writer *w, apr_int64_t since_ns)
{
    unsigned long before = atomic_load(&w->written), now;
    apr_int64_t progress_ns = log_clock_ns();

    while (!atomic_load_explicit(&w->ended, memory_order_acquire)) {
        if (!log_writers_may_wait(since_ns, progress_ns))
            return 0;
        log_sleep_ns(LOG_STOP_CHECK_NS);
        now = atomic_load(&w->written);
        if (now != before)
            progress_ns = log_clock_ns();
        before = now;
    }
    return pthread_join(w->thread, NULL) == 0;
}

static void log_writer_give_up(log_writer *w)
{
    apr_uint64_t lines = 0;

    for (log_channel *c = atomic_load(&w->channels); c; c = c->next)
        lines += log_channel_lines(c);
    brg_status_log_lines_lost(lines);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, w->first->server,
                 "transfer log %s takes no lines: ending without it; %" APR_UINT64_T_FMT
                 " lines were lost",
                 w->first->name, lines + (apr_uint64_t)atomic_load(&w->first->lost));
}

static void log_writer_free(log_writer *w)
{
    BRG_ASSERT(atomic_load(&w->ended));
    for (log_channel *c = atomic_load(&w->channels), *next; c; c = next) {
        next = c->next;
        log_channel_free(c);
    }
    sem_destroy(&w->wake);
    w->tag = 0;
    free(w);
}

void log_writers_stop(log_file *files)
{
    apr_int64_t since_ns = log_clock_ns();
    log_writer *w;

    BRG_ASSERT(!brg_thread_is_loop());
    for (w = log_writers; w; w = w->next) {
        atomic_store(&w->stop, 1);
        log_writer_wake(w, LOG_WRITER_MANY);
    }
    while ((w = log_writers) != NULL) {
        log_writers = w->next;
        if (!log_writer_await(w, since_ns)) {
            log_writer_give_up(w);
            continue;
        }
        for (log_file *file = files; file; file = file->next) {
            if (file->writer == w) {
                file->writer = NULL;
                log_file_works(file);
            }
        }
        log_writer_free(w);
    }
}
