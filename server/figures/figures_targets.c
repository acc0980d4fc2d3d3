/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slowest requests of the last hour, and the busiest targets (by the Space-Saving algorithm of
 * Metwally, Agrawal and Abbadi, 2005: a target without a place takes that of the least busy one,
 * and its count).
 *
 * Both are small tables in memory that processes share. Nobody waits for them: a process that finds
 * a table taken leaves it, and its entry is lost. A process that died with one gives it back after
 * a second. A process that was taken over may write anything: numbers, lengths of names, and times
 * are held to their bounds.
 */
#include "figures.h"
#include "clock.h"
#include "scores.h"
#include "brigade/assert.h"
#include "apr_time.h"
#include <stdatomic.h>
#include <string.h>

#define TARGETS_LINE 128
#define TARGETS_STALE_US apr_time_from_sec(1)
#define TARGETS_HOUR_US apr_time_from_sec(3600)
/* Of so many requests of a thread that end on the full way one is counted, for all of them; a prime number, so that targets that
 * take turns are all seen. */
#define TARGETS_ASKS 31
/* one part of so many of a count is forgotten with each sample: half of it in ten minutes */
#define TARGETS_AGE 87
#define TARGETS_SLOW_US 1000 /* a request that took no longer is not slow */

typedef struct target_table {
    _Alignas(TARGETS_LINE) _Atomic apr_time_t taken; /* since when; 0: it is free */
    _Atomic uint64_t floor_us; /* slowest: requests that take longer come in */
    _Atomic int n;
    brg_target target[BRG_TARGETS];
} target_table;

typedef struct figures_targets {
    target_table slow, busy;
} figures_targets;

static figures_targets *targets;

size_t figures_targets_bytes(void)
{
    return sizeof(figures_targets);
}

void figures_targets_place(void *at)
{
    BRG_ASSERT((uintptr_t)at % TARGETS_LINE == 0);
    if (at && targets)
        memcpy(at, targets, sizeof *targets);
    targets = at;
}

static int table_take(target_table *t)
{
    apr_time_t now = clock_monotonic(), since = atomic_load(&t->taken);

    return (!since || now - since > TARGETS_STALE_US || since - now > TARGETS_STALE_US) &&
           atomic_compare_exchange_strong(&t->taken, &since, now);
}

/* Read once, and in bounds whatever is there. */
static int table_length(const target_table *t)
{
    const int n = atomic_load_explicit(&t->n, memory_order_relaxed);

    return n < 0 || n > BRG_TARGETS ? 0 : n;
}

static void table_give_back(target_table *t)
{
    atomic_store(&t->taken, 0);
}

/* Of any bytes: they are written as JSON and shown. */
static void target_name(brg_target *to, const char *host, size_t host_len, const char *path,
                        size_t path_len)
{
    size_t most = sizeof to->name - 1, n = host_len < most ? host_len : most;

    memcpy(to->name, host, n);
    if (path_len > most - n)
        path_len = most - n;
    BRG_ASSERT(n + path_len < sizeof to->name);
    memcpy(to->name + n, path, path_len);
    to->name[n + path_len] = '\0';
}

static uint64_t target_hash(const char *name)
{
    uint64_t hash = 14695981039346656037u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash;
}

/* ---- slowest ---- */

static int slow_fastest(const target_table *t)
{
    int at = 0;

    for (int i = 1, n = table_length(t); i < n; i++)
        if (t->target[i].us < t->target[at].us)
            at = i;
    return at;
}

static void slow_set_floor(target_table *t)
{
    atomic_store_explicit(&t->floor_us,
                          table_length(t) < BRG_TARGETS ? TARGETS_SLOW_US
                                                        : t->target[slow_fastest(t)].us,
                          memory_order_relaxed);
}

/* A table that was taken from a slow owner has two owners: its length is written once, and in
 * bounds. */
static void slow_put(target_table *t, const brg_target *one)
{
    int n;

    if (!table_take(t))
        return;
    n = table_length(t);
    if (n < BRG_TARGETS) {
        t->target[n] = *one;
        t->n = n + 1;
    } else if (one->us > t->target[slow_fastest(t)].us) {
        t->target[slow_fastest(t)] = *one;
    }
    slow_set_floor(t);
    table_give_back(t);
}

/* ---- busiest ---- */

static int busy_least(const target_table *t)
{
    int at = 0;

    for (int i = 1, n = table_length(t); i < n; i++)
        if (t->target[i].count < t->target[at].count)
            at = i;
    return at;
}

/* Clients choose names and can make two of one hash. */
static int is_same(const brg_target *a, const brg_target *b)
{
    return a->hash == b->hash && !strncmp(a->name, b->name, sizeof a->name);
}

static void busy_put(target_table *t, const brg_target *one)
{
    int at = 0, n;

    BRG_ASSERT(one->count > 0 && memchr(one->name, '\0', sizeof one->name));
    if (!table_take(t))
        return;
    n = table_length(t);
    while (at < n && !is_same(&t->target[at], one))
        at++;
    if (at == n && n < BRG_TARGETS) {
        t->target[at] = *one;
        t->n = at + 1;
    } else if (at < n) {
        t->target[at].count += one->count;
    } else {
        const uint64_t least = t->target[busy_least(t)].count;

        at = busy_least(t);
        t->target[at] = *one;
        t->target[at].count += least;
    }
    table_give_back(t);
}

void figures_target_busy(const char *host, size_t host_len, const char *path, size_t path_len,
                         uint64_t n)
{
    brg_target one = {.count = n};

    if (!targets)
        return;
    target_name(&one, host, host_len, path, path_len);
    one.hash = target_hash(one.name);
    busy_put(&targets->busy, &one);
}

/* Apart, as is the next one: most requests are neither counted nor slow, and a target has many
 * bytes. */
static __attribute__((noinline)) void target_counted(const char *host, const char *path)
{
    figures_target_busy(host, strlen(host), path, strlen(path), TARGETS_ASKS);
}

static __attribute__((noinline)) void target_slow(const char *host, const char *path,
                                                  const figures_ended *request)
{
    brg_target one = {.at = 0};

    target_name(&one, host, strlen(host), path, strlen(path));
    one.at = apr_time_now();
    one.monotonic = clock_monotonic();
    one.us = request->us;
    one.status = request->status;
    slow_put(&targets->slow, &one);
}

void figures_target_ended(const char *host, const char *path, const figures_ended *request)
{
    static _Thread_local unsigned left = TARGETS_ASKS;

    if (!targets)
        return;
    if (--left == 0) {
        left = TARGETS_ASKS;
        target_counted(host, path);
    }
    if (request->us > TARGETS_SLOW_US &&
        request->us > atomic_load_explicit(&targets->slow.floor_us, memory_order_relaxed))
        target_slow(host, path, request);
}

void figures_targets_age(void)
{
    const apr_time_t since = clock_monotonic() - TARGETS_HOUR_US;
    int kept = 0;

    if (targets && table_take(&targets->slow)) {
        target_table *t = &targets->slow;

        for (int i = 0, n = table_length(t); i < n; i++)
            if (t->target[i].monotonic >= since)
                t->target[kept++] = t->target[i];
        t->n = kept;
        slow_set_floor(t);
        table_give_back(t);
    }
    if (targets && table_take(&targets->busy)) {
        for (int i = 0, n = table_length(&targets->busy); i < n; i++)
            targets->busy.target[i].count -= targets->busy.target[i].count / TARGETS_AGE;
        table_give_back(&targets->busy);
    }
}

static int table_copy(target_table *t, brg_target *out)
{
    int n;

    for (int tries = 0; !table_take(t); tries++)
        if (tries == 100)
            return 0;
    n = table_length(t);
    memcpy(out, t->target, (size_t)n * sizeof *out);
    table_give_back(t);
    for (int i = 0; i < n; i++) {
        out[i].at = score_held(out[i].at);
        out[i].monotonic = score_held(out[i].monotonic);
        out[i].name[sizeof out[i].name - 1] = '\0';
    }
    return n;
}

BRG_DECLARE(int) brg_figures_slowest(brg_target out[BRG_TARGETS])
{
    return targets ? table_copy(&targets->slow, out) : 0;
}

BRG_DECLARE(int) brg_figures_busiest(brg_target out[BRG_TARGETS])
{
    return targets ? table_copy(&targets->busy, out) : 0;
}
