/* SPDX-License-Identifier: Apache-2.0 */
/* The store of this process: its memory, a reader for each loop and a reader for all workers, and how loops wake each other. */
#include "cached.h"
#include "cached_below_private.h"
#include "kept_memory.h"
#include "loop.h"
#include "trial.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_log.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

APLOG_USE_MODULE(cache);

#define PLACE_MEMORY (128ull << 20)
#define PLACE_LOOK_NS 4000000 /* how often requests look that wait for a fetch of another process */

struct cached_place {
    store_reader *reader;
    brg_loop *loop; /* NULL: the workers' */
    struct loop_note note;
    struct loop_io timer;
    int timer_fd, timer_runs;
    cached_request *followers;
    pthread_mutex_t lock; /* of the workers' */
};

static store *place_store; /* for the processes that are forked from here on */
static uint64_t place_bytes;
static _Atomic(cached_place *) place_of_row[CACHED_ROWS]; /* of this process */
static _Thread_local cached_place *place_mine;
static cached_place *place_workers;
static pthread_once_t place_once = PTHREAD_ONCE_INIT;

/* ---- in the supervisor ---- */

static uint64_t place_memory(const server_rec *main)
{
    const uint64_t asked = cached_server_of(main)->memory;

    return asked ? asked : PLACE_MEMORY;
}

static int place_is_used(const server_rec *main)
{
    for (const server_rec *s = main; s; s = s->next)
        if (cached_server_of(s)->enable->nelts || cached_server_of(s)->litespeed == CACHED_ON)
            return 1;
    return cached_server_of(main)->memory || cached_sections_enable();
}

/* CacheEnable with an unknown provider stores nothing; Apache does not say so. */
static void place_tell_unknown(const server_rec *main)
{
    for (const server_rec *s = main; s; s = s->next) {
        const apr_array_header_t *enable = cached_server_of(s)->enable;

        for (int i = 0; i < enable->nelts; i++) {
            const char *name = APR_ARRAY_IDX(enable, i, cached_scope).provider;

            if (strcmp(name, "memory") != 0 && strcmp(name, "disk") != 0 &&
                strcmp(name, "socache") != 0)
                ap_log_error(APLOG_MARK, APLOG_WARNING | APLOG_STARTUP, 0, s,
                             "CacheEnable %s: nothing is stored, there is no such provider", name);
        }
    }
}

static int place_open(server_rec *main, uint64_t bytes)
{
    store_limits limits;
    void *memory;

    store_limits_default(&limits, bytes);
    memory = kept_memory_map(CACHED_STORE, store_size(&limits));
    if (memory)
        place_store = store_open(memory, &limits);
    if (!place_store) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, main,
                     "no memory that processes share for stored responses (CacheMemory)");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    place_bytes = bytes;
    return OK;
}

int cached_map(apr_pool_t *pconf, server_rec *main)
{
    const uint64_t bytes = place_memory(main);

    (void)pconf;
    BRG_ASSERT(!main->is_virtual);
    if (trial_runs() || !place_is_used(main))
        return OK;
    place_tell_unknown(main);
    if (!place_store && place_open(main, bytes) != OK)
        return HTTP_INTERNAL_SERVER_ERROR;
    store_limits_change(place_store,
                        &(store_limits){.variants = cached_server_of(main)->variants,
                                        .marks = cached_server_of(main)->tags,
                                        .objects_most = cached_server_of(main)->objects,
                                        .flight_bytes = cached_server_of(main)->fetching});
    store_look_for_ended(place_store); /* a command line that was killed, too */
    if (cached_count_map(main, place_bytes) != OK)
        return HTTP_INTERNAL_SERVER_ERROR;
    if (bytes != place_bytes)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, main,
                     "CacheMemory takes effect when the server is restarted, not by a reload");
    cached_disk_open(main);
    return OK;
}

int cached_place_attach(void *memory, size_t bytes)
{
    BRG_ASSERT(!place_store);
    place_store = store_attach(memory, bytes);
    return place_store ? 0 : -1;
}

void cached_place_detach(void)
{
    if (place_workers)
        store_reader_close(&place_workers->reader);
}

void cached_process_ended(pid_t pid)
{
    if (place_store)
        store_process_ended(place_store, pid);
}

/* ---- in server processes ---- */

store *cached_store(void)
{
    return place_store;
}

store_reader *cached_reader(const cached_place *place)
{
    return place->reader;
}

/* In the loop's turn: its waiting requests look at their flights. */
static void place_noted(struct loop_note *note)
{
    cached_place *place = loop_io_of(note, cached_place, note);

    cached_followers_look(place->followers);
}

static void place_timed(struct loop_io *io, uint32_t events)
{
    cached_place *place = loop_io_of(io, cached_place, timer);
    uint64_t times;

    (void)events;
    BRG_ASSERT(place->loop == loop_self() && place->timer_fd >= 0);
    if (read(place->timer_fd, &times, sizeof times) == (ssize_t)sizeof times)
        cached_followers_look(place->followers);
}

static cached_place *place_make(brg_loop *loop)
{
    store_reader *reader = store_reader_open(place_store);
    cached_place *place = reader ? calloc(1, sizeof *place) : NULL;

    BRG_ASSERT(!loop || loop == loop_self());
    if (!place) {
        if (reader)
            store_reader_close(&reader);
        return NULL;
    }
    BRG_ASSERT(store_reader_row(reader) < CACHED_ROWS);
    place->reader = reader;
    place->loop = loop;
    place->note.run = place_noted;
    place->timer.ready = place_timed;
    place->timer_fd = -1;
    pthread_mutex_init(&place->lock, NULL);
    atomic_store(&place_of_row[store_reader_row(reader)], place);
    return place;
}

static void place_make_workers(void)
{
    place_workers = place_make(NULL);
}

cached_place *cached_place_new(void)
{
    return place_store ? place_make(NULL) : NULL;
}

cached_place *cached_place_here(void)
{
    brg_loop *loop = loop_self();

    if (!place_store)
        return NULL;
    if (!loop) {
        pthread_once(&place_once, place_make_workers);
        return place_workers;
    }
    if (!place_mine)
        place_mine = place_make(loop);
    BRG_ASSERT(!place_mine || place_mine->loop == loop);
    return place_mine;
}

void cached_lock(cached_place *place)
{
    if (!place->loop)
        pthread_mutex_lock(&place->lock);
}

void cached_unlock(cached_place *place)
{
    if (!place->loop)
        pthread_mutex_unlock(&place->lock);
}

static void place_wake_rows(uint64_t *rows, size_t words)
{
    for (size_t w = 0; w < words; w++)
        while (rows[w]) {
            const int bit = __builtin_ctzll(rows[w]);
            cached_place *there = atomic_load(&place_of_row[w * 64 + (size_t)bit]);

            rows[w] &= rows[w] - 1;
            if (there && there->loop)
                loop_note_post(there->loop, &there->note);
        }
}

/* The threads of the disk and of the tier may come when the process ends. */
void cached_wake(cached_place *place, uint32_t flight)
{
    uint64_t rows[CACHED_ROWS / 64];
    const size_t words = store_flight_waiters(place->reader, flight, rows, CACHED_ROWS / 64);
    const int outside = brg_thread_index() < 0;

    if (outside && !loops_outside_begin())
        return;
    place_wake_rows(rows, words);
    if (outside)
        loops_outside_end();
}

/* ---- requests that wait on this loop ---- */

/* Fetches of other processes do not wake this loop, and their leader may die: a timer looks. */
static void place_time(cached_place *place, int on)
{
    const struct itimerspec every = {{0, on ? PLACE_LOOK_NS : 0}, {0, on ? PLACE_LOOK_NS : 0}};

    if (place->timer_fd < 0) {
        place->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (place->timer_fd >= 0 &&
            loop_io_add(place->loop, &place->timer, place->timer_fd, EPOLLIN)) {
            close(place->timer_fd);
            place->timer_fd = -1;
        }
    }
    if (place->timer_fd >= 0 && place->timer_runs != on) {
        timerfd_settime(place->timer_fd, 0, &every, NULL);
        place->timer_runs = on;
    }
}

void cached_followers_soon(cached_place *place)
{
    BRG_ASSERT(place->loop == loop_self());
    loop_note_post(place->loop, &place->note);
}

void cached_follower_add(cached_place *place, cached_request *q)
{
    BRG_ASSERT(place->loop == loop_self() && !q->follow.prev);
    q->follow.next = place->followers;
    q->follow.prev = &place->followers;
    if (q->follow.next)
        q->follow.next->follow.prev = &q->follow.next;
    place->followers = q;
    place_time(place, 1);
}

void cached_follower_remove(cached_place *place, cached_request *q)
{
    if (!q->follow.prev)
        return;
    BRG_ASSERT(*q->follow.prev == q &&
               (!q->follow.next || q->follow.next->follow.prev == &q->follow.next));
    *q->follow.prev = q->follow.next;
    if (q->follow.next)
        q->follow.next->follow.prev = q->follow.prev;
    q->follow.prev = NULL;
    q->follow.next = NULL;
    if (!place->followers)
        place_time(place, 0);
}
