/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Purges of all machines that share the tier. Each process looks once a second at a number in it
 * that changes with the list, and repeats others' purges in its memory. The providers have no
 * operation that appends, so of two that write the list at the same time one may undo the other's
 * entry: a machine that purged looks for its entry for a minute, and writes it again.
 */
#include "cached_below_private.h"
#include "cached_named_private.h"
#include "cached_tier.h"
#include "kept_memory.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_log.h"
#include "http_main.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(cache_socache);

#define PURGES_WATCHED apr_time_from_sec(60) /* so long a purge is looked for */
/* the list is read at least so often, so that it is not evicted */
#define PURGES_READ apr_time_from_sec(20)
#define PURGES_EXPIRY apr_time_from_sec(29 * 86400)
#define PURGES_MOST 4096

typedef struct purges_own {
    struct purges_own *next;
    tier_purge purge;
    char *text;
    int written;
} purges_own;

typedef struct purges_shared { /* by all processes of this machine */
    uint64_t node;
    _Atomic apr_time_t looked; /* when the list was known last */
} purges_shared;

static purges_shared *purges_here, purges_alone;
static pthread_mutex_t purges_talks =
    PTHREAD_MUTEX_INITIALIZER; /* of the thread that asks or writes the tier; it guards all below */
static pthread_mutex_t purges_lock =
    PTHREAD_MUTEX_INITIALIZER; /* around changes of the list, for its readers */
static tier_log purges_log;    /* with this machine's purges that are not written yet */
static uint64_t purges_version;
static apr_time_t purges_looked, purges_read;
static purges_own *purges_kept; /* purges of this process */
static int purges_kept_n;
static _Atomic(purges_own *) purges_added; /* by loops and workers; the latest is first */
static atomic_int purges_added_n, purges_too_many;

void tier_purges_map(void)
{
    if (!purges_here)
        purges_here = kept_memory_map("cached-tier-1", sizeof *purges_here);
    if (purges_here && !purges_here->node)
        ap_random_insecure_bytes(&purges_here->node, sizeof purges_here->node);
}

static purges_shared *purges_mine(void)
{
    if (purges_here)
        return purges_here;
    if (!purges_alone.node)
        ap_random_insecure_bytes(&purges_alone.node, sizeof purges_alone.node);
    return &purges_alone;
}

uint64_t tier_node(void)
{
    return purges_mine()->node;
}

static uint64_t purges_number(void)
{
    uint64_t number = 0;

    while (!number)
        ap_random_insecure_bytes(&number, sizeof number);
    return number;
}

static void purges_id(unsigned char id[TIER_ID], const char *name)
{
    tier_record_id(id, name, (uint32_t)strlen(name), NULL, 0);
    id[0] = 'q';
}

/* ---- purges of this machine ---- */

void tier_purges_add(tier_kind kind, int soft, char *text, uint32_t len)
{
    purges_own *own = calloc(1, sizeof *own);
    const int many = atomic_fetch_add(&purges_added_n, 1) >= PURGES_MOST;

    if (!own || many || !text || len > UINT16_MAX) { /* rather too much than too little */
        free(text);
        text = NULL;
        kind = TIER_ALL;
        soft = 0;
        len = 0;
        if (many || !own) {
            atomic_fetch_sub(&purges_added_n, 1);
            atomic_store(&purges_too_many, 1);
            free(own);
            return;
        }
    }
    own->text = text;
    own->purge = (tier_purge){.when = apr_time_now(),
                              .node = tier_node(),
                              .text = text ? text : "",
                              .len = len,
                              .kind = (uint8_t)kind,
                              .soft = (uint8_t)soft};
    own->next = atomic_load(&purges_added);
    while (!atomic_compare_exchange_weak(&purges_added, &own->next, own))
        ;
}

static void purges_add_unwritten(tier_log *log)
{
    for (purges_own *own = purges_kept; own; own = own->next)
        if (!own->written)
            tier_log_add(log, &own->purge);
}

/* New ones are added to the kept ones, in their order; all of them where they are too many. */
static void purges_collect(void)
{
    purges_own *own = atomic_exchange(&purges_added, NULL), *first = NULL;

    if (atomic_exchange(&purges_too_many, 0)) {
        purges_own *all = calloc(1, sizeof *all);

        if (!all) {
            atomic_store(&purges_too_many, 1);
        } else {
            all->purge = (tier_purge){
                .when = apr_time_now(), .node = tier_node(), .text = "", .kind = TIER_ALL};
            all->next = own;
            own = all;
            atomic_fetch_add(&purges_added_n, 1);
        }
    }
    while (own) {
        purges_own *next = own->next;

        own->next = first;
        first = own;
        own = next;
        purges_kept_n++;
    }
    if (first) {
        purges_own **end = &purges_kept;

        while (*end)
            end = &(*end)->next;
        *end = first;
        pthread_mutex_lock(&purges_lock);
        if (purges_log.bytes)
            purges_add_unwritten(&purges_log);
        pthread_mutex_unlock(&purges_lock);
    }
}

/* Purges that others have seen by now are not looked for any more. */
static void purges_forget(apr_time_t now)
{
    purges_own **at = &purges_kept;

    while (*at) {
        purges_own *own = *at;

        if (!own->written || now - own->purge.when < PURGES_WATCHED) {
            at = &own->next;
            continue;
        }
        *at = own->next;
        free(own->text);
        free(own);
        BRG_ASSERT(purges_kept_n > 0);
        purges_kept_n--;
        atomic_fetch_sub(&purges_added_n, 1);
    }
}

static int purges_any_unwritten(void)
{
    for (const purges_own *own = purges_kept; own; own = own->next)
        if (!own->written)
            return 1;
    return 0;
}

int tier_purges_wait(void)
{
    return atomic_load(&purges_added) != NULL || atomic_load(&purges_too_many) != 0;
}

/* ---- purges of other machines ---- */

static void purges_do(const tier_purge *purge)
{
    BRG_ASSERT(purge->kind < TIER_KINDS && purge->text);
    const cached_named named = {.what = purge->kind == TIER_TAG      ? CACHED_TAG
                                        : purge->kind == TIER_PREFIX ? CACHED_PREFIX
                                                                     : CACHED_TARGET,
                                .text = purge->text,
                                .len = purge->len};

    if (purge->kind != TIER_ALL && !cached_purge_here(&named, purge->soft))
        return;
    store_purge_all(cached_store(), purge->soft);
    cached_disk_purge(0);
}

static void purges_do_all(const char *why)
{
    const tier_purge all = {.kind = TIER_ALL, .text = ""};

    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                 "CacheSocache %s: %s: what is stored here is purged", tier_name(), why);
    purges_do(&all);
}

/* When this machine knew the list last; 0: never. */
static apr_time_t purges_known_until(void)
{
    return purges_looked ? purges_looked : atomic_load(&purges_mine()->looked);
}

/* A process that has just begun: older ones were done by those before it. */
static int purges_is_done(const tier_purge *purge)
{
    return purge->node == tier_node() ||
           (purges_log.bytes ? tier_log_has(&purges_log, purge, 1)
                             : purge->when < purges_known_until() - PURGES_WATCHED);
}

/* A new list replaces the known one. */
static void purges_adopt(tier_log *fresh, apr_time_t now)
{
    const apr_time_t known = purges_known_until();
    size_t at = 0;
    tier_purge one;

    BRG_ASSERT(fresh->bytes && fresh->n && tier_log_life(fresh));
    if (known && tier_log_floor(fresh) && tier_log_floor(fresh) + TIER_SKEW >= known)
        purges_do_all("it was not reached while more was purged than its list has room for");
    else if (known && purges_log.bytes && tier_log_life(&purges_log) != tier_log_life(fresh) &&
             now - known > PURGES_WATCHED)
        purges_do_all("its list of purges was lost while it was not reached");
    while (tier_log_next(fresh, &at, &one))
        if (!purges_is_done(&one))
            purges_do(&one);
    for (purges_own *own = purges_kept; own; own = own->next)
        if (own->written && !tier_log_has(fresh, &own->purge, 0))
            own->written = 0;
    purges_add_unwritten(fresh);
    pthread_mutex_lock(&purges_lock);
    free(purges_log.bytes);
    purges_log = *fresh;
    pthread_mutex_unlock(&purges_lock);
    *fresh = (tier_log){0};
}

/* The next reader of the list sees that it has changed: so do we, since another one may have
 * written at the same time. */
static apr_status_t purges_put_version(apr_pool_t *p)
{
    unsigned char id[TIER_ID];
    uint64_t version = purges_number();

    purges_version = 0;
    purges_id(id, "version");
    return tier_put(id, apr_time_now() + PURGES_EXPIRY, &version, sizeof version, p);
}

static apr_status_t purges_put(apr_pool_t *p)
{
    unsigned char id[TIER_ID];
    apr_status_t rv;

    BRG_ASSERT(purges_log.bytes && purges_log.n <= TIER_LOG_ROOM);
    for (;;) {
        purges_id(id, "log");
        pthread_mutex_lock(&purges_lock);
        tier_log_seal(&purges_log);
        pthread_mutex_unlock(&purges_lock);
        rv = tier_put(id, apr_time_now() + PURGES_EXPIRY, purges_log.bytes, (unsigned)purges_log.n,
                      p);
        if (rv == APR_SUCCESS || tier_is_failure(rv) || purges_log.n < 4096)
            break;
        pthread_mutex_lock(&purges_lock);
        tier_log_halve(&purges_log); /* the provider takes no such object */
        pthread_mutex_unlock(&purges_lock);
    }
    return rv == APR_SUCCESS ? purges_put_version(p) : rv;
}

/* The list is missing or damaged: if it was known just now that knowledge is right, else records of
 * before count for nothing. */
static apr_status_t purges_restore(tier_log *fresh, apr_time_t now, apr_pool_t *p)
{
    if (!purges_log.bytes || now - purges_looked > PURGES_WATCHED) {
        tier_log_begin(fresh, purges_number());
        purges_adopt(fresh, now);
    }
    return purges_put(p);
}

static apr_status_t purges_load(apr_time_t now, apr_pool_t *p)
{
    unsigned char id[TIER_ID];
    tier_log fresh = {.bytes = malloc(TIER_LOG_ROOM)};
    unsigned n = TIER_LOG_ROOM;
    apr_status_t rv;

    BRG_ASSERT(!brg_thread_is_loop());
    if (!fresh.bytes)
        return APR_ENOMEM;
    purges_id(id, "log");
    rv = tier_get(id, fresh.bytes, &n, p);
    if (rv == APR_SUCCESS && !tier_log_read(fresh.bytes, n)) {
        fresh.n = n;
        purges_adopt(&fresh, now);
    } else if (!tier_is_failure(rv)) {
        rv = purges_restore(&fresh, now, p);
    }
    free(fresh.bytes);
    if (rv == APR_SUCCESS)
        purges_read = now;
    return rv;
}

/* The number that changes with the list. */
static apr_status_t purges_ask(uint64_t *version, apr_pool_t *p)
{
    unsigned char id[TIER_ID];
    unsigned n = sizeof *version;
    apr_status_t rv;

    purges_id(id, "version");
    *version = 0;
    rv = tier_get(id, version, &n, p);
    if (rv == APR_SUCCESS && n == sizeof *version)
        return APR_SUCCESS;
    *version = 0;
    return tier_is_failure(rv) ? rv : APR_SUCCESS;
}

static apr_status_t purges_write(apr_time_t now, apr_pool_t *p)
{
    apr_status_t rv = purges_load(now, p); /* with others' entries since */

    if (rv != APR_SUCCESS)
        return rv;
    rv = purges_put(p);
    for (purges_own *own = purges_kept; own && rv == APR_SUCCESS; own = own->next)
        own->written = 1;
    return rv;
}

static apr_status_t purges_look(apr_pool_t *p)
{
    const apr_time_t now = apr_time_now();
    uint64_t version;
    apr_status_t rv = purges_ask(&version, p);

    if (rv == APR_SUCCESS && (!version || version != purges_version || !purges_log.bytes ||
                              now - purges_read > PURGES_READ)) {
        rv = purges_load(now, p);
        if (rv == APR_SUCCESS && version)
            purges_version = version;
        else if (rv == APR_SUCCESS)
            rv = purges_put_version(p);
    }
    purges_collect();
    if (rv == APR_SUCCESS && purges_any_unwritten())
        rv = purges_write(now, p);
    if (rv == APR_SUCCESS) {
        purges_looked = now;
        atomic_store(&purges_mine()->looked, now);
        purges_forget(now);
    }
    return rv;
}

apr_status_t tier_purges_look(apr_pool_t *p)
{
    apr_status_t rv;

    pthread_mutex_lock(&purges_talks);
    rv = purges_look(p);
    pthread_mutex_unlock(&purges_talks);
    return rv;
}

int tier_purges_known(void)
{
    int known;

    pthread_mutex_lock(&purges_lock);
    known = purges_log.bytes != NULL;
    pthread_mutex_unlock(&purges_lock);
    return known;
}

int tier_purges_end(const tier_record *r)
{
    int ends = 2;

    pthread_mutex_lock(&purges_lock);
    if (purges_log.bytes && tier_log_life(&purges_log) == r->life && !tier_purges_wait())
        ends = tier_log_ends(&purges_log, r);
    pthread_mutex_unlock(&purges_lock);
    return ends;
}

uint64_t tier_purges_life(void)
{
    uint64_t life;

    pthread_mutex_lock(&purges_lock);
    life = purges_log.bytes ? tier_log_life(&purges_log) : 0;
    pthread_mutex_unlock(&purges_lock);
    return life;
}
