/* SPDX-License-Identifier: Apache-2.0 */
/* Names of origins. getaddrinfo() may wait for seconds, so a thread of its own calls it for the
 * loops; it starts with the first name. Results are published whole; the notes of the loops tell
 * the waiting ones. An answer that grew old is used on while a new one is asked for. */
#include "upstream_private.h"
#include "clock.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_config.h"
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(core);

static pthread_mutex_t resolve_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t resolve_come = PTHREAD_COND_INITIALIZER;
static upstream_origin *resolve_first, **resolve_last = &resolve_first;
static int resolve_runs;

/* Families by turns, beginning with that of the first (RFC 8305, 4): the second that is tried is of the other one. */
static void resolve_mix(upstream_addresses *all)
{
    for (unsigned i = 1; i < all->n; i++) {
        unsigned j = i;
        upstream_address other;

        while (j < all->n && all->at[j].to.any.sa_family == all->at[i - 1].to.any.sa_family)
            j++;
        if (j == all->n)
            return;
        other = all->at[j];
        memmove(&all->at[i + 1], &all->at[i], (j - i) * sizeof other);
        all->at[i] = other;
    }
}

static upstream_addresses *resolve_name(const upstream_settings *conf)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *list = NULL;
    char port[8];
    upstream_addresses *all;

    snprintf(port, sizeof port, "%u", (unsigned)conf->port);
    if (getaddrinfo(conf->host, port, &hints, &list) && getaddrinfo(conf->host, port, NULL, &list))
        return NULL;
    all = calloc(1, sizeof *all);
    for (const struct addrinfo *a = list; all && a && all->n < UPSTREAM_ADDRESSES_MOST;
         a = a->ai_next) {
        if (a->ai_addrlen > sizeof all->at[0].to ||
            (a->ai_socktype && a->ai_socktype != SOCK_STREAM))
            continue;
        memcpy(&all->at[all->n].to, a->ai_addr, a->ai_addrlen);
        all->at[all->n++].len = a->ai_addrlen;
    }
    freeaddrinfo(list);
    if (all && !all->n) {
        free(all);
        all = NULL;
    }
    if (all)
        resolve_mix(all);
    return all;
}

/* Readers copy at once, so the one before the last has none any more when the next but one comes. */
static void resolve_publish(upstream_origin *o, upstream_addresses *all)
{
    if (all) {
        upstream_addresses *last = atomic_exchange(&o->addresses, all);

        free(o->older);
        o->older = last;
    }
    atomic_store(&o->known_at, clock_monotonic());
    atomic_store(&o->resolving, atomic_load(&o->addresses) ? UPSTREAM_KNOWN : UPSTREAM_NAMELESS);
    if (!loops_outside_begin())
        return;
    upstream_origin_tell(o);
    loops_outside_end();
}

static void *resolve_main(void *unused)
{
    (void)unused;
    for (;;) {
        upstream_origin *o;

        pthread_mutex_lock(&resolve_lock);
        while (!resolve_first)
            pthread_cond_wait(&resolve_come, &resolve_lock);
        o = resolve_first;
        resolve_first = o->resolve_next;
        if (!resolve_first)
            resolve_last = &resolve_first;
        pthread_mutex_unlock(&resolve_lock);
        resolve_publish(o, resolve_name(&o->conf));
        upstream_origin_release(o);
    }
    return NULL;
}

/* Signals are the main thread's. @return 0, or an error */
static int resolve_start(void)
{
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;
    int error;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&thread, &attr, resolve_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

static apr_status_t resolve_ask(upstream_origin *o)
{
    int error = 0;

    pthread_mutex_lock(&resolve_lock);
    if (!resolve_runs && (error = resolve_start()) == 0)
        resolve_runs = 1;
    if (!error) {
        upstream_origin_hold(o);
        o->resolve_next = NULL;
        *resolve_last = o;
        resolve_last = &o->resolve_next;
        pthread_cond_signal(&resolve_come);
    }
    pthread_mutex_unlock(&resolve_lock);
    if (error)
        ap_log_error(APLOG_MARK, APLOG_ERR, error, o->conf.server,
                     "cannot start the thread that looks up names of backends");
    return error;
}

static int resolve_is_old(upstream_origin *o)
{
    const apr_interval_time_t ttl =
        o->conf.address_ttl ? o->conf.address_ttl : UPSTREAM_ADDRESS_TTL_US;

    return clock_monotonic() - atomic_load(&o->known_at) >= ttl;
}

/* Have the thread asked, once at a time. */
static apr_status_t resolve_again(upstream_origin *o, int state)
{
    apr_status_t rv;

    if (!atomic_compare_exchange_strong(&o->resolving, &state, UPSTREAM_ASKED))
        return APR_SUCCESS;
    rv = resolve_ask(o);
    if (rv != APR_SUCCESS)
        atomic_store(&o->resolving, state);
    return rv;
}

static apr_status_t resolve_copy(const upstream_addresses *all, const upstream_address **to,
                                 unsigned *n)
{
    upstream_address *copy = malloc(all->n * sizeof *copy);

    BRG_ASSERT(all->n > 0);
    if (!copy)
        return APR_ENOMEM;
    memcpy(copy, all->at, all->n * sizeof *copy);
    *to = copy;
    *n = all->n;
    return APR_SUCCESS;
}

static apr_status_t resolve_known(upstream_origin *o, const upstream_address **to, unsigned *n)
{
    const upstream_addresses *all = atomic_load_explicit(&o->addresses, memory_order_acquire);

    return all ? resolve_copy(all, to, n) : APR_EAGAIN;
}

static apr_status_t resolve_here(upstream_origin *o, const upstream_address **to, unsigned *n)
{
    upstream_addresses *all = resolve_name(&o->conf);
    apr_status_t rv = all ? resolve_copy(all, to, n) : APR_NOTFOUND;

    free(all);
    return rv;
}

apr_status_t upstream_resolve(upstream_origin *o, int may_block, const upstream_address **to,
                              unsigned *n)
{
    int state = atomic_load(&o->resolving);
    apr_status_t rv;

    if (o->is_fixed) {
        *to = &o->fixed;
        *n = 1;
        return APR_SUCCESS;
    }
    if (may_block)
        return state == UPSTREAM_KNOWN && !resolve_is_old(o) ? resolve_known(o, to, n)
                                                             : resolve_here(o, to, n);
    if (state == UPSTREAM_NAMELESS && !resolve_is_old(o))
        return APR_NOTFOUND;
    if (state != UPSTREAM_ASKED && (state != UPSTREAM_KNOWN || resolve_is_old(o)) &&
        (rv = resolve_again(o, state)) != APR_SUCCESS)
        return rv;
    return resolve_known(o, to, n);
}

void upstream_addresses_free(const upstream_origin *o, const upstream_address *addresses)
{
    if (addresses != &o->fixed)
        free((void *)(uintptr_t)addresses);
}

void upstream_addresses_end(upstream_conn *cc)
{
    upstream_addresses_free(cc->origin, cc->addresses);
    cc->addresses = NULL;
    cc->addresses_n = 0;
}

/* The next look-up is due at once; an answer that says the same costs a second at most. */
void upstream_origin_doubt(upstream_origin *o)
{
    const apr_time_t now = clock_monotonic();

    if (!o->is_fixed && now - atomic_load(&o->known_at) >= apr_time_from_sec(1))
        atomic_store(&o->known_at, now - apr_time_from_sec(3600));
}
