/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tier that machines share, behind a provider whose calls may block: threads of each server
 * process make them. An object is read into memory as if it were fetched, and requests for it
 * follow its flight. A table has the time when each look-up began: requests that wait end overlong
 * ones, so the tier costs a request TIER_WAIT at most. Then nothing is asked of the tier until it
 * answers the thread that looks at purges.
 */
#include "cached_named_private.h"
#include "cached_tier.h"
#include "cached_tier_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_log.h"
#include "http_main.h"
#include "ap_mpm.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

APLOG_USE_MODULE(cache_socache);

#define TIER_THREADS 4
#define TIER_JOBS 4096 /* that wait: beyond them nothing is written */
#define TIER_READS 256 /* look-ups at a time: beyond them the origin is asked */
#define TIER_WAIT apr_time_from_sec(1)
#define TIER_LOOK apr_time_from_sec(1)       /* purges of others hold after that */
#define TIER_TOGETHER apr_time_from_msec(20) /* purges of so long are written at once */
#define TIER_ALONE_MOST apr_time_from_sec(16)

static tier_thread tier_threads[TIER_THREADS];
static atomic_int tier_runs; /* this process has its threads */
static atomic_uint tier_jobs_n;
static _Atomic uint64_t tier_reads[TIER_READS]; /* flight, and milliseconds since when; 0: free */
static atomic_int tier_reads_n;
static atomic_int tier_is_dead; /* nothing is asked of it */
static _Atomic apr_time_t tier_alone_until;
static apr_time_t tier_alone; /* of the thread that looks */
static int tier_is_direct;    /* this program is no server */

/* On the monotonic clock. */
static struct timespec tier_until(apr_interval_time_t span)
{
    const apr_time_t until = brg_monotonic_now() + span;

    return (struct timespec){apr_time_sec(until), 1000 * apr_time_usec(until)};
}

/* ---- does it answer ---- */

void tier_failed(apr_status_t rv)
{
    atomic_store(&tier_alone_until, brg_monotonic_now() + TIER_LOOK);
    if (!atomic_exchange(&tier_is_dead, 1))
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, ap_server_conf,
                     "CacheSocache %s does not answer: it is left alone until it does",
                     tier_name());
}

static void tier_answered(void)
{
    if (atomic_exchange(&tier_is_dead, 0))
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf, "CacheSocache %s answers again",
                     tier_name());
}

int cached_tier_is_open(void)
{
    return atomic_load_explicit(&tier_runs, memory_order_acquire);
}

int cached_tier_answers(void)
{
    return cached_tier_is_open() && !atomic_load(&tier_is_dead);
}

/* ---- look-ups that are under way ---- */

static uint32_t tier_milliseconds(void)
{
    return (uint32_t)apr_time_as_msec(brg_monotonic_now());
}

/* @return 0: there are too many */
static int tier_claim(tier_job *job, uint32_t flight)
{
    BRG_ASSERT(flight);
    job->claim = (uint64_t)flight << 32 | tier_milliseconds();
    for (uint32_t i = 0; i < TIER_READS; i++) {
        uint64_t none = 0;

        job->place = (uint32_t)(job->name.key.a + i) % TIER_READS;
        if (atomic_compare_exchange_strong(&tier_reads[job->place], &none, job->claim)) {
            atomic_fetch_add(&tier_reads_n, 1);
            return 1;
        }
    }
    return 0;
}

/* @return 1: the flight is the caller's; 0: another one ended it */
int tier_unclaim(uint32_t place, uint64_t claim)
{
    BRG_ASSERT(place < TIER_READS && claim >> 32);
    if (!atomic_compare_exchange_strong(&tier_reads[place], &claim, 0))
        return 0;
    atomic_fetch_sub(&tier_reads_n, 1);
    return 1;
}

void tier_end_flight(cached_place *place, uint32_t flight)
{
    BRG_ASSERT(place && flight);
    /* Woken before the flight's entry may have another use, and after that for late followers. */
    cached_wake(place, flight);
    store_flight_end(cached_reader(place), flight, 0);
    cached_wake(place, flight);
}

void cached_tier_watch(void)
{
    const uint32_t now = tier_milliseconds();

    for (uint32_t i = 0; i < TIER_READS && atomic_load(&tier_reads_n) > 0; i++) {
        const uint64_t claim = atomic_load(&tier_reads[i]);

        if (!claim || (int32_t)(now - (uint32_t)claim) < (int32_t)apr_time_as_msec(TIER_WAIT) ||
            !tier_unclaim(i, claim))
            continue;
        tier_failed(APR_TIMEUP);
        cached_count_tier(cached_place_here(), CACHED_TIER_FAILED, 1);
        tier_end_flight(cached_place_here(), (uint32_t)(claim >> 32));
    }
}

/* ---- jobs ---- */

static tier_job *tier_job_new(const cached_tier_name *name, const char *tags, uint32_t tags_len)
{
    tier_job *job = malloc(sizeof *job + (size_t)name->text_len + name->variant_len + tags_len + 1);
    char *to;

    if (!job)
        return NULL;
    *job = (tier_job){.name = *name, .tags_len = tags_len};
    to = job->text;
    job->name.text = memcpy(to, name->text, name->text_len);
    to += name->text_len;
    job->name.variant = to;
    if (name->variant_len)
        memcpy(to, name->variant, name->variant_len);
    to += name->variant_len;
    job->tags = to;
    if (tags_len)
        memcpy(to, tags, tags_len);
    atomic_init(&job->users, 1);
    if (sem_init(&job->over, 0, 0)) {
        free(job);
        return NULL;
    }
    return job;
}

static void tier_job_release(tier_job *job)
{
    const int users = atomic_fetch_sub(&job->users, 1);

    BRG_ASSERT(users > 0);
    if (users > 1)
        return;
    sem_destroy(&job->over);
    free(job);
}

/* Jobs of a key are done in their order, by one thread. */
static void tier_post(tier_job *job)
{
    tier_thread *thread = &tier_threads[job->name.key.b % TIER_THREADS];

    BRG_ASSERT(!job->job.next && cached_tier_is_open());
    atomic_fetch_add(&tier_jobs_n, 1);
    cached_jobs_post(&thread->jobs, &job->job);
}

/* ---- the threads ---- */

static void tier_do(tier_thread *thread, tier_job *job)
{
    if (job->what == TIER_READS_IT)
        tier_do_read(thread, job);
    else
        tier_do_write(thread, job);
    apr_pool_clear(thread->pool);
    BRG_ASSERT(atomic_load(&tier_jobs_n) > 0); /* tier_post() counted it */
    atomic_fetch_sub(&tier_jobs_n, 1);
    sem_post(&job->over);
    tier_job_release(job);
}

static void tier_do_all(tier_thread *thread)
{
    for (cached_job *job = cached_jobs_take(&thread->jobs), *next; job; job = next) {
        next = job->next;
        tier_do(thread, (tier_job *)job);
    }
}

static void *tier_works(void *baton)
{
    tier_thread *thread = baton;

    for (;;) {
        cached_wait(&thread->jobs.called);
        tier_do_all(thread);
    }
    return NULL;
}

/* Purges of others, and whether it answers. Each time that it does not, it is left alone for longer. */
static void tier_look(tier_thread *thread, apr_time_t now)
{
    apr_status_t rv;

    if (atomic_load(&tier_is_dead) && now < atomic_load(&tier_alone_until))
        return;
    rv = tier_purges_look(thread->pool);
    apr_pool_clear(thread->pool);
    if (rv == APR_SUCCESS) {
        tier_alone = 0;
        tier_answered();
        return;
    }
    tier_failed(rv);
    cached_count_tier(thread->place, CACHED_TIER_FAILED, 1);
    tier_alone = tier_alone ? 2 * tier_alone : TIER_LOOK;
    tier_alone = tier_alone > TIER_ALONE_MOST ? TIER_ALONE_MOST : tier_alone;
    atomic_store(&tier_alone_until, brg_monotonic_now() + tier_alone);
}

static void tier_sleep(tier_thread *thread, apr_time_t span)
{
    const struct timespec until = tier_until(span);

    (void)sem_clockwait(&thread->jobs.called, CLOCK_MONOTONIC, &until);
}

/* The first one looks at purges, too; bursts are written together. */
static void *tier_looks(void *baton)
{
    tier_thread *thread = baton;
    apr_time_t looked = brg_monotonic_now() - TIER_LOOK;

    for (;;) {
        const apr_time_t wait = tier_purges_wait() ? TIER_TOGETHER : TIER_LOOK;
        const apr_time_t now = brg_monotonic_now();

        if (now - looked >= wait) {
            tier_look(thread, now);
            looked = brg_monotonic_now();
        }
        tier_do_all(thread);
        tier_sleep(thread, tier_purges_wait() ? TIER_TOGETHER : TIER_LOOK);
    }
    return NULL;
}

/* @return 0; -1: there is no memory, or no row of the store */
static int tier_thread_ready(tier_thread *thread)
{
    BRG_ASSERT(!thread->place && tier_object_most()); /* once a process */
    thread->place = cached_place_new();
    thread->room_bytes = tier_object_most();
    thread->room = mmap(NULL, thread->room_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!thread->place || thread->room == MAP_FAILED || sem_init(&thread->jobs.called, 0, 0) ||
        apr_pool_create(&thread->pool, NULL) != APR_SUCCESS)
        return -1;
    return 0;
}

void tier_process_begins(void)
{
    if (!cached_store() || !tier_is_configured() || cached_tier_is_open())
        return;
    for (int i = 0; i < TIER_THREADS; i++)
        if (tier_thread_ready(&tier_threads[i]) ||
            brg_thread_start(i ? tier_works : tier_looks, &tier_threads[i], 0, NULL)) {
            ap_log_error(APLOG_MARK, APLOG_ERR, errno, ap_server_conf,
                         "CacheSocache %s is not used: no memory, or no thread", tier_name());
            return;
        }
    atomic_store_explicit(&tier_runs, 1, memory_order_release);
}

/* ---- for loops and workers ---- */

static tier_job *tier_fetch(const cached_tier_name *name, int fresh, uint32_t flight, int waits)
{
    tier_job *job = cached_tier_answers() ? tier_job_new(name, NULL, 0) : NULL;

    BRG_ASSERT(name->text_len);
    if (!job)
        return NULL;
    job->what = TIER_READS_IT;
    job->fresh = fresh;
    if (!tier_claim(job, flight)) {
        tier_job_release(job);
        return NULL;
    }
    atomic_store(&job->users, 1 + waits);
    tier_post(job);
    return job;
}

int cached_tier_fetch(const cached_tier_name *name, int fresh, uint32_t flight)
{
    return tier_fetch(name, fresh, flight, 0) != NULL;
}

int cached_tier_fetch_wait(const cached_tier_name *name, int fresh, uint32_t flight)
{
    const struct timespec until = tier_until(TIER_WAIT + apr_time_from_msec(10));
    tier_job *job;
    int waited;

    BRG_ASSERT(!brg_thread_is_loop());
    job = tier_fetch(name, fresh, flight, 1);
    if (!job)
        return 0;
    while ((waited = sem_clockwait(&job->over, CLOCK_MONOTONIC, &until)) && errno == EINTR)
        ;
    if (waited)
        cached_tier_watch();
    tier_job_release(job);
    return 1;
}

/* ---- writing ---- */

static void tier_write(cached_request *q, const cached_tier_name *name, int names)
{
    tier_job *job =
        atomic_load(&tier_jobs_n) < TIER_JOBS
            ? tier_job_new(name, names ? NULL : q->save.tags, names ? 0 : q->save.tags_len)
            : NULL;

    if (!job)
        return;
    job->what = TIER_WRITES_IT;
    job->asked = q->ask.at;
    cached_so_limits(q->first, &job->bytes, &job->most, &job->least);
    tier_post(job);
}

void cached_tier_write(cached_request *q)
{
    cached_tier_name name = {.key = q->key.hash, .text = q->key.text, .text_len = q->key.text_len};

    BRG_ASSERT(q->tier == CACHED_SOCACHE && q->ask.at);
    if (!cached_tier_answers() || (q->found.terms.flags & FRESH_T_PARTIAL))
        return;
    if (q->key.has_variant) {
        tier_write(q, &name, 1);
        name.key = q->key.variant;
        name.variant = q->key.variant_text;
        name.variant_len = q->key.variant_text_len;
    }
    tier_write(q, &name, 0);
}

void cached_tier_purge(const cached_named *named, int soft)
{
    const tier_kind kind = named->what == CACHED_TAG      ? TIER_TAG
                           : named->what == CACHED_PREFIX ? TIER_PREFIX
                                                          : TIER_TARGET;
    char *text;

    if (!tier_is_direct && !cached_tier_is_open())
        return;
    text = malloc(named->len + 1);
    if (text)
        memcpy(text, named->text, named->len);
    tier_purges_add(kind, soft, text, named->len);
    if (!tier_is_direct)
        sem_post(&tier_threads[0].jobs.called);
}

void cached_tier_attach(apr_pool_t *p, server_rec *main)
{
    tier_is_direct = !tier_open_here(p, main);
}

int cached_tier_finish(apr_pool_t *p)
{
    return tier_is_direct && tier_purges_look(p) != APR_SUCCESS ? -1 : 0;
}
