/* SPDX-License-Identifier: Apache-2.0 */
/* Origins, their pools by loop, and the number of their connections.
 *
 * Pools are made by their own loop and never moved, so a loop finds its own by one load. Another thread reaches a pool
 * by its note alone. */
#include "upstream_private.h"
#include "clock.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static void origin_fix_path(upstream_origin *o, const char *path)
{
    struct sockaddr_un *un = (void *)&o->fixed.to.storage;

    un->sun_family = AF_UNIX;
    apr_cpystrn(un->sun_path, path, sizeof un->sun_path);
    o->fixed.len = (socklen_t)sizeof *un;
    o->is_fixed = 1;
}

static void origin_fix_address(upstream_origin *o, const char *host, apr_port_t port)
{
    struct sockaddr_in *in = (void *)&o->fixed.to.storage;
    struct sockaddr_in6 *in6 = (void *)&o->fixed.to.storage;

    if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        o->fixed.len = sizeof *in;
        o->is_fixed = 1;
    } else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
        o->fixed.len = sizeof *in6;
        o->is_fixed = 1;
    }
}

static void place_note(struct loop_note *note)
{
    upstream_pool *pool = loop_io_of(note, upstream_pool, note);

    if (atomic_exchange(&pool->wanted, 0) && pool->idle && !pool->first)
        upstream_close(pool->idle);
    upstream_pool_tell(pool);
    upstream_origin_release(pool->origin);
}

static void place_begin(upstream_pool *pool, upstream_origin *o, brg_loop *loop)
{
    pool->origin = o;
    pool->loop = loop;
    pool->last = &pool->first;
    pool->note.run = place_note;
}

static void origin_begin(upstream_origin *o, const upstream_settings *settings)
{
    BRG_ASSERT(settings->server && (settings->host || settings->path));
    o->conf = *settings;
    o->gauges = &o->own;
    if (!o->conf.ttl)
        o->conf.ttl = UPSTREAM_TTL_US;
    place_begin(&o->workers, o, NULL);
    pthread_mutex_init(&o->workers.lock, NULL);
    if (settings->path)
        origin_fix_path(o, settings->path);
    else
        origin_fix_address(o, settings->host, settings->port);
}

upstream_origin *upstream_origin_make(apr_pool_t *p, const upstream_settings *settings)
{
    upstream_origin *o = apr_pcalloc(p, sizeof *o + UPSTREAM_LOOPS_MOST * sizeof o->pool[0]);

    o->is_kept = 1;
    origin_begin(o, settings);
    return o;
}

void upstream_origin_gauges(upstream_origin *o, upstream_gauges *gauges)
{
    BRG_ASSERT(o->is_kept && !atomic_load(&o->open));
    o->gauges = gauges;
}

/* ---- origins of one request ---- */

struct origin_once {
    upstream_pool pool;
    char *host, *path, *sni, *tunnel;
    upstream_origin origin;
};

void upstream_origin_hold(upstream_origin *o)
{
    if (!o->is_kept)
        atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
}

void upstream_origin_release(upstream_origin *o)
{
    struct origin_once *once;

    if (o->is_kept || atomic_fetch_sub(&o->refs, 1) != 1)
        return;
    once = loop_io_of(o, struct origin_once, origin);
    pthread_mutex_destroy(&o->workers.lock);
    free(atomic_load(&o->addresses));
    free(o->older);
    free(once->host);
    free(once->path);
    free(once->sni);
    free(once->tunnel);
    free(once);
}

static apr_status_t origin_once_end(void *o)
{
    upstream_origin_release(o);
    return APR_SUCCESS;
}

static char *origin_copy(const char *s)
{
    return s ? strdup(s) : NULL;
}

upstream_origin *upstream_origin_once(apr_pool_t *p, const upstream_settings *settings)
{
    struct origin_once *once = calloc(1, sizeof *once + sizeof once->origin.pool[0]);
    upstream_settings conf = *settings;

    if (!once)
        return NULL;
    conf.host = once->host = origin_copy(settings->host);
    conf.path = once->path = origin_copy(settings->path);
    conf.sni = once->sni = origin_copy(settings->sni);
    conf.tunnel = once->tunnel = origin_copy(settings->tunnel);
    conf.reuse = 0;
    conf.shared = 0;
    conf.max = 0;
    atomic_store(&once->origin.refs, 1);
    if ((!conf.host && !conf.path) || (settings->tunnel && !conf.tunnel)) { /* no memory */
        free(once->host);
        free(once->path);
        free(once->tunnel);
        free(once->sni);
        free(once);
        return NULL;
    }
    origin_begin(&once->origin, &conf);
    apr_pool_cleanup_register(p, &once->origin, origin_once_end, apr_pool_cleanup_null);
    return &once->origin;
}

const upstream_settings *upstream_origin_settings(const upstream_origin *origin)
{
    return &origin->conf;
}

/* Behind the loop's last connection of a client. */
static void place_end(struct loop_guest *guest)
{
    upstream_pool *pool = loop_io_of(guest, upstream_pool, guest);

    while (pool->idle)
        upstream_close(pool->idle);
    upstream_sessions_end(pool);
}

static upstream_pool *place_make(upstream_origin *o, brg_loop *loop)
{
    upstream_pool *pool = o->is_kept ? apr_pcalloc(loop->pool, sizeof *pool)
                                     : &loop_io_of(o, struct origin_once, origin)->pool;

    place_begin(pool, o, loop);
    if (o->is_kept) {
        pool->guest.end = place_end;
        loop_guest_add(loop, &pool->guest);
    }
    return pool;
}

upstream_pool *upstream_pool_of(upstream_origin *o, brg_loop *loop)
{
    const int at = o->is_kept && loop ? loop->index : 0;
    upstream_pool *pool;

    if (!loop)
        return &o->workers;
    BRG_ASSERT(at >= 0 && at < UPSTREAM_LOOPS_MOST);
    pool = atomic_load_explicit(&o->pool[at], memory_order_acquire);
    if (pool)
        return pool;
    pool = place_make(o, loop);
    atomic_store_explicit(&o->pool[at], pool, memory_order_release);
    return pool;
}

void upstream_pool_tell(upstream_pool *pool)
{
    upstream_ticket *t = pool->first, *next;

    atomic_fetch_sub_explicit(&pool->origin->gauges->waiting,
                              (int32_t)atomic_load(&pool->waiting_n), memory_order_relaxed);
    pool->first = NULL;
    pool->last = &pool->first;
    atomic_store(&pool->waiting_n, 0);
    for (; t; t = next) {
        next = t->next;
        t->prev = NULL;
        t->notify(t->baton);
    }
}

void upstream_origin_tell(upstream_origin *o)
{
    for (int i = 0; i < upstream_pools(o); i++) {
        upstream_pool *pool = atomic_load_explicit(&o->pool[i], memory_order_acquire);

        if (pool && atomic_load(&pool->waiting_n)) {
            upstream_origin_hold(
                o); /* once: nothing but the resolver tells of an origin of one request */
            loop_note_post(pool->loop, &pool->note);
        }
    }
}

void upstream_ticket_wait(upstream_pool *pool, upstream_ticket *t)
{
    BRG_ASSERT(!t->prev && t->notify && loop_self() == pool->loop);
    t->pool = pool;
    t->next = NULL;
    t->prev = pool->last;
    *pool->last = t;
    pool->last = &t->next;
    atomic_fetch_add(&pool->waiting_n, 1);
    atomic_fetch_add_explicit(&pool->origin->gauges->waiting, 1, memory_order_relaxed);
}

void upstream_ticket_leave(upstream_ticket *t)
{
    upstream_pool *pool = t->pool;

    if (!t->prev)
        return;
    *t->prev = t->next;
    if (t->next)
        t->next->prev = t->prev;
    else
        pool->last = t->prev;
    t->prev = NULL;
    atomic_fetch_sub(&pool->waiting_n, 1);
    atomic_fetch_sub_explicit(&pool->origin->gauges->waiting, 1, memory_order_relaxed);
}

int upstream_count_open(upstream_origin *o, int must)
{
    unsigned n = atomic_load_explicit(&o->open, memory_order_relaxed);

    do {
        if (!must && o->conf.max && n >= (unsigned)o->conf.max)
            return 0;
    } while (!atomic_compare_exchange_weak(&o->open, &n, n + 1));
    atomic_fetch_add_explicit(&o->gauges->open, 1, memory_order_relaxed);
    return 1;
}

void upstream_count_closed(upstream_origin *o)
{
    atomic_fetch_sub(&o->open, 1);
    atomic_fetch_sub_explicit(&o->gauges->open, 1, memory_order_relaxed);
    if (o->conf.max)
        upstream_origin_tell(o);
}
