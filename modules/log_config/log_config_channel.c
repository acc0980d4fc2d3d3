/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: parcels go one way as a list that is pushed to by one thread and taken as a whole by
 * the other. They lie one behind the other in blocks. A thread goes on in its block from the
 * beginning if the writer is done with all parcels in it; else it takes the block that the writer
 * gave back last. So a turn's lines are copied but not allocated.
 */
#include "log_config_channel.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define LOG_CHANNEL_TAG 0x4c4f4743
/* bytes: four hundred milliseconds at 100,000 lines a second */
#define LOG_LOOP_PENDING (4 * 1024 * 1024)
#define LOG_THREAD_PENDING (128 * 1024) /* of a worker, of which there are many */
#define LOG_LOOP_BLOCK (16 * 1024)
#define LOG_THREAD_BLOCK (2 * 1024)
#define LOG_SPARE_MAX (64 * 1024)
#define LOG_BLOCK_FILLING (1u << 31)
#define LOG_WAIT_NS 100000000

struct log_block {
    /* While a thread fills it: LOG_BLOCK_FILLING less the finished parcels; then the unfinished
     * ones. */
    atomic_uint held;
    unsigned parcels;
    apr_size_t size, used;
    _Alignas(max_align_t) char data[];
};

/* ---- the thread that logs ---- */

static log_channel *log_channel_make(log_writer *writer)
{
    log_channel *c;

    if (posix_memalign((void **)&c, LOG_CACHE_LINE, sizeof(*c)) != 0)
        return NULL;
    memset(c, 0, sizeof(*c));
    c->tag = LOG_CHANNEL_TAG;
    c->writer = writer;
    c->limit = brg_thread_is_loop() ? LOG_LOOP_PENDING : LOG_THREAD_PENDING;
    sem_init(&c->room, 0, 0);
    log_writer_add_channel(writer, c);
    return c;
}

static log_channel *log_channel_to(log_channels *channels, log_writer *writer)
{
    int number = log_writer_number(writer);

    if (number >= channels->n) {
        log_channel **of = realloc(channels->of, (size_t)(number + 1) * sizeof(*of));

        if (!of)
            return NULL;
        memset(of + channels->n, 0, (size_t)(number + 1 - channels->n) * sizeof(*of));
        channels->of = of;
        channels->n = number + 1;
    }
    if (!channels->of[number])
        channels->of[number] = log_channel_make(writer);
    return channels->of[number];
}

/* A channel that is empty takes a parcel of any size. */
static int log_channel_has_room(const log_channel *c, apr_size_t len)
{
    apr_size_t pending = log_channel_pending(c);

    return !pending || pending + len <= c->limit;
}

static void log_channel_wait(log_channel *c, apr_size_t len)
{
    while (!log_channel_has_room(c, len)) {
        struct timespec until;

        atomic_store(&c->waiting, 1);
        if (log_channel_has_room(c, len))
            break;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOG_WAIT_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        sem_clockwait(&c->room, CLOCK_MONOTONIC, &until);
    }
    atomic_store(&c->waiting, 0);
}

static void log_block_open(log_block *block)
{
    atomic_store_explicit(&block->held, LOG_BLOCK_FILLING, memory_order_relaxed);
    block->parcels = 0;
    block->used = 0;
}

static log_block *log_block_make(log_channel *c, apr_size_t need)
{
    log_block *block = atomic_exchange_explicit(&c->spare, NULL, memory_order_acquire);
    apr_size_t size = brg_thread_is_loop() ? LOG_LOOP_BLOCK : LOG_THREAD_BLOCK;

    if (!block || block->size < need) {
        free(block);
        while (size < need)
            size *= 2;
        if (!(block = malloc(sizeof(*block) + size)))
            return NULL;
        block->size = size;
    }
    log_block_open(block);
    return block;
}

/* Take @a n from its count: after the last parcel it may be filled again. */
static void log_block_let_go(log_channel *c, log_block *block, unsigned n)
{
    if (atomic_fetch_sub_explicit(&block->held, n, memory_order_acq_rel) != n)
        return;
    if (block->size <= LOG_SPARE_MAX)
        block = atomic_exchange_explicit(&c->spare, block, memory_order_acq_rel);
    free(block);
}

/* The block that has room for @a need bytes. */
static log_block *log_block_with(log_channel *c, apr_size_t need)
{
    log_block *block = c->block;

    if (block && block->size - block->used >= need)
        return block;
    if (block && block->size >= need &&
        atomic_load_explicit(&block->held, memory_order_acquire) ==
            LOG_BLOCK_FILLING - block->parcels) {
        log_block_open(block);
        return block;
    }
    if (block)
        log_block_let_go(c, block, LOG_BLOCK_FILLING - block->parcels);
    return c->block = log_block_make(c, need);
}

static log_parcel *log_parcel_make(log_channel *c, apr_size_t len)
{
    const apr_size_t align = _Alignof(max_align_t);
    const apr_size_t need = (sizeof(log_parcel) + len + align - 1) & ~(align - 1);
    log_block *block = log_block_with(c, need);
    log_parcel *parcel;

    if (!block)
        return NULL;
    BRG_ASSERT(block->size - block->used >= need);
    parcel = (log_parcel *)(void *)(block->data + block->used);
    block->used += need;
    block->parcels++;
    parcel->block = block;
    parcel->size = len;
    return parcel;
}

log_parcel *log_parcel_get(log_channels *channels, log_file *file, apr_size_t len, unsigned lines)
{
    log_channel *c = log_channel_to(channels, file->writer);
    log_parcel *parcel = NULL;

    if (c && log_writers_overflow_get() == LOG_OVERFLOW_WAIT)
        log_channel_wait(c, len);
    if (c && log_channel_has_room(c, len))
        parcel = log_parcel_make(c, len);
    if (!parcel) {
        log_file_lose(file, lines, 0);
        return NULL;
    }
    BRG_ASSERT(parcel->size >= len);
    parcel->file = file;
    parcel->channel = c;
    parcel->used = 0;
    parcel->lines = lines;
    return parcel;
}

void log_parcel_hand_over(log_parcel *parcel)
{
    log_channel *c = parcel->channel;
    apr_int64_t now_ns = log_stamp_ns();
    log_parcel *first;

    BRG_ASSERT_TAG(c, LOG_CHANNEL_TAG);
    BRG_ASSERT(parcel->used <= parcel->size);
    c->stamp_ns = parcel->stamp_ns = now_ns > c->stamp_ns ? now_ns : c->stamp_ns + 1;
    atomic_store_explicit(&c->put, c->put + parcel->used, memory_order_relaxed);
    atomic_store_explicit(&c->put_lines, c->put_lines + parcel->lines, memory_order_relaxed);
    first = atomic_load_explicit(&c->handed, memory_order_relaxed);
    do {
        parcel->next = first;
    } while (!atomic_compare_exchange_weak(&c->handed, &first, parcel));
    log_writer_wake(c->writer, log_channel_pending(c));
}

void log_channels_end(log_channels *channels)
{
    for (int i = 0; i < channels->n; i++)
        if (channels->of[i])
            atomic_store_explicit(&channels->of[i]->ended, 1, memory_order_release);
    free(channels->of);
    channels->of = NULL;
    channels->n = 0;
}

/* ---- the writer ---- */

log_parcel *log_channel_take(log_channel *c, apr_int64_t before_ns)
{
    log_parcel *newest = NULL, *oldest = NULL, **end = &c->kept, *first;

    BRG_ASSERT_TAG(c, LOG_CHANNEL_TAG);
    if (atomic_load_explicit(&c->handed, memory_order_relaxed))
        newest = atomic_exchange_explicit(&c->handed, NULL, memory_order_acquire);
    while (newest) {
        log_parcel *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (*end)
        end = &(*end)->next;
    *end = oldest;
    for (end = &c->kept; *end && (*end)->stamp_ns < before_ns;)
        end = &(*end)->next;
    if (end == &c->kept)
        return NULL;
    first = c->kept;
    c->kept = *end;
    *end = NULL;
    return first;
}

int log_channel_is_over(const log_channel *c)
{
    return atomic_load_explicit(&c->ended, memory_order_acquire) && !log_channel_pending(c);
}

unsigned long log_channel_lines(const log_channel *c)
{
    return atomic_load_explicit(&c->put_lines, memory_order_relaxed) -
           atomic_load_explicit(&c->done_lines, memory_order_relaxed);
}

void log_channel_done(log_parcel *parcel)
{
    log_channel *c = parcel->channel;

    BRG_ASSERT_TAG(c, LOG_CHANNEL_TAG);
    BRG_ASSERT(log_channel_pending(c) >= parcel->used);
    atomic_store_explicit(&c->done_lines, c->done_lines + parcel->lines, memory_order_relaxed);
    atomic_store_explicit(&c->done, c->done + parcel->used, memory_order_release);
    log_block_let_go(c, parcel->block, 1);
    if (atomic_load(&c->waiting) && atomic_exchange(&c->waiting, 0))
        sem_post(&c->room);
}

void log_channel_free(log_channel *c)
{
    BRG_ASSERT_TAG(c, LOG_CHANNEL_TAG);
    free(atomic_load(&c->spare));
    free(c->block);
    sem_destroy(&c->room);
    c->tag = 0;
    free(c);
}
