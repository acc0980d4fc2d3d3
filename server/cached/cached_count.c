/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How requests ended, counted for all processes in memory that outlives them: each row of the store has counters of its own, so
 * that loops share no cache line.
 */
#include "cached_below_private.h"
#include "cached_named_private.h"
#include "connection.h"
#include "disk.h"
#include "figures.h"
#include "kept_memory.h"
#include "loop.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include "http_log.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

APLOG_USE_MODULE(cache);

typedef struct count_row {
    _Atomic uint64_t n[CACHED_COUNTED];
    char rest[64 - CACHED_COUNTED * sizeof(uint64_t) % 64];
} count_row;

static count_row *count_rows; /* [CACHED_ROWS]; pages that nobody writes take no memory */
static uint64_t count_memory; /* CacheMemory that is in force */

#define COUNT_BYTES (CACHED_ROWS * sizeof(count_row))

/* Behind the counters lie reasons: cached_why.c. */
static void count_use(void *memory)
{
    count_rows = memory;
    if (memory)
        cached_why_use((char *)memory + COUNT_BYTES);
}

int cached_count_attach(void *memory, size_t bytes)
{
    if (bytes != COUNT_BYTES + cached_why_size())
        return -1;
    count_use(memory);
    return 0;
}

int cached_count_map(const server_rec *main, uint64_t bytes)
{
    count_memory = bytes;
    if (!count_rows)
        count_use(kept_memory_map(CACHED_COUNTS, COUNT_BYTES + cached_why_size()));
    if (count_rows)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_EMERG, errno, main,
                 "no memory that processes share for what became of requests to the cache");
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* By virtual host, among the figures of the loop of its connection. */
static void count_host(const cached_request *q)
{
    conn_rec *c = q->r->connection->master ? q->r->connection->master : q->r->connection;
    const brg_conn *bc = connection_of(c);
    const int own = bc && loop_self() == bc->loop;
    const int cached = q->outcome == CACHED_FROM_STORE || q->outcome == CACHED_STALE ||
                       q->outcome == CACHED_COLLAPSED;
    brg_host_figures *host;

    if (!bc || q->outcome == CACHED_INVALIDATED)
        return;
    host = figures_requests(own ? &bc->loop->figures->own : &bc->loop->figures->others,
                            figures_host(q->r->server), connection_protocol(c));
    (own ? figures_add : figures_add_shared)(cached ? &host->cached : &host->uncached, 1);
}

void cached_count(const cached_request *q)
{
    const cached_place *place = cached_place_here();
    count_row *row;

    BRG_ASSERT(q->outcome < CACHED_OUTCOMES);
    if (!place || !count_rows || (!q->found.known && q->outcome == CACHED_PASSED))
        return; /* it was never looked up */
    row = &count_rows[store_reader_row(cached_reader(place)) % CACHED_ROWS];
    atomic_fetch_add_explicit(&row->n[q->outcome], 1, memory_order_relaxed);
    count_host(q);
}

void cached_count_tier(const cached_place *place, cached_outcome what, uint64_t n)
{
    BRG_ASSERT(what > CACHED_INVALIDATED && what < CACHED_COUNTED);
    if (count_rows)
        atomic_fetch_add_explicit(
            &count_rows[store_reader_row(cached_reader(place)) % CACHED_ROWS].n[what], n,
            memory_order_relaxed);
}

_Atomic uint64_t *cached_count_hits(const cached_place *place)
{
    return count_rows ? &count_rows[store_reader_row(cached_reader(place)) % CACHED_ROWS]
                             .n[CACHED_FROM_STORE]
                      : NULL;
}

static uint64_t count_of(cached_outcome outcome)
{
    uint64_t n = 0;

    for (int i = 0; i < CACHED_ROWS; i++)
        n += atomic_load_explicit(&count_rows[i].n[outcome], memory_order_relaxed);
    return n;
}

static void count_stored(brg_status_cache *out)
{
    store_figures s;

    store_figures_get(cached_store(), &s);
    out->objects = s.objects;
    out->objects_most = s.objects_most;
    out->bytes = s.bytes;
    out->bytes_most = count_memory;
    out->fetches = s.flights;
    out->held = s.held;
    out->stored = s.stored;
    out->evicted = s.evicted;
    out->refused = s.refused;
    out->purges = s.purges;
}

int brg_status_cache_get(brg_status_cache *out)
{
    disk_figures d;

    if (!cached_store() || !count_rows)
        return 0;
    memset(out, 0, sizeof *out);
    out->hits = count_of(CACHED_FROM_STORE);
    out->stale = count_of(CACHED_STALE);
    out->revalidated = count_of(CACHED_REVALIDATED);
    out->collapsed = count_of(CACHED_COLLAPSED);
    out->misses = count_of(CACHED_STORED);
    out->passed = count_of(CACHED_PASSED);
    out->invalidated = count_of(CACHED_INVALIDATED);
    count_stored(out);
    out->tier_lookups = count_of(CACHED_TIER_LOOKUPS);
    out->tier_hits = count_of(CACHED_TIER_HITS);
    out->tier_stored = count_of(CACHED_TIER_STORED);
    out->tier_failed = count_of(CACHED_TIER_FAILED);
    out->tier_waited_us = count_of(CACHED_TIER_WAITED);
    if (cached_disk_figures(&d)) {
        out->disk_bytes_most = d.bytes;
        out->disk_written = d.written;
        out->disk_damaged = d.damaged;
        out->disk_failed = d.failed;
    }
    return 1;
}
