/* SPDX-License-Identifier: Apache-2.0 */
/* Members that balancer-manager adds to a balancer: growth= says how many.
 *
 * Each has a place among the shared states from the beginning. Whoever adds one writes its URL there and moves the balancer's number
 * on; each process makes a worker of it when it looks at the members for the next time. Lists of members are never changed: a longer
 * one takes the place of the list that others may still go through. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "proxy_origin.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "apr_strings.h"
#include <pthread.h>
#include <string.h>

APLOG_USE_MODULE(proxy_balancer);

/* proxy_state.spare */
enum { SPARE_FREE, SPARE_WRITTEN, SPARE_READY };

struct proxy_growth {
    _Atomic(const apr_array_header_t *) members; /* all of them; NULL: those of the configuration */
    _Atomic uint32_t seen;                       /* balancer_state.grown */
    int n;
    proxy_worker *spare[]; /* n, in order; with a name: a member */
};

static pthread_mutex_t growth_lock = PTHREAD_MUTEX_INITIALIZER;
static apr_pool_t *growth_pool; /* as long as the process; by the holder of the lock */

int proxy_growth_make(apr_pool_t *p, proxy_balancer *b, int persist)
{
    const int n = b->set & BALANCER_SET_GROWTH ? b->growth : 0;

    BRG_ASSERT(!b->grown && n >= 0);
    if (!n)
        return 0;
    b->grown = apr_pcalloc(p, sizeof *b->grown + (size_t)n * sizeof b->grown->spare[0]);
    b->grown->n = n;
    for (int i = 0; i < n; i++) {
        proxy_worker *w = apr_pcalloc(p, sizeof *w);

        w->server = b->server;
        w->balancer = b;
        b->grown->spare[i] = w;
        if (proxy_share_spare(p, w, i))
            return -1;
        if (!persist || atomic_load(&w->state->spare) != SPARE_READY)
            atomic_store(&w->state->spare, SPARE_FREE);
    }
    return 0;
}

int proxy_growth_room(const proxy_balancer *b)
{
    return b->grown ? b->grown->n - (proxy_members(b)->nelts - b->members->nelts) : 0;
}

/* ---- of this process ---- */

/* Define a member by its URL in shared memory, which may be anything. @return 0: it is no URL */
static int growth_define(proxy_worker *w)
{
    const char *url = apr_pstrndup(growth_pool, w->state->url, sizeof w->state->url - 1);

    if (proxy_worker_fill(growth_pool, w, w->balancer, url, 0))
        return 0;
    w->origin = proxy_origin_of_member(growth_pool, w);
    proxy_gauges_take(w);
    return 1;
}

static void growth_publish(proxy_balancer *b, proxy_worker *w)
{
    const apr_array_header_t *old = atomic_load(&b->grown->members);
    apr_array_header_t *all;

    BRG_ASSERT(w->name && w->state);
    all = apr_array_copy(growth_pool, old ? old : b->members);
    APR_ARRAY_PUSH(all, proxy_worker *) = w;
    atomic_store(&b->grown->members, all);
    proxy_worker_publish(w);
}

static void growth_take(proxy_balancer *b)
{
    uint32_t grown;

    pthread_mutex_lock(&growth_lock);
    if (!growth_pool)
        apr_pool_create(&growth_pool, NULL);
    grown = atomic_load(&b->state->grown);
    for (int i = 0; i < b->grown->n; i++) {
        proxy_worker *w = b->grown->spare[i];

        if (!w->name && atomic_load(&w->state->spare) == SPARE_READY && growth_define(w))
            growth_publish(b, w);
    }
    atomic_store(&b->grown->seen, grown);
    pthread_mutex_unlock(&growth_lock);
}

const apr_array_header_t *proxy_members(const proxy_balancer *b)
{
    const apr_array_header_t *all;

    if (!b->grown)
        return b->members;
    if (atomic_load(&b->state->grown) != atomic_load(&b->grown->seen))
        growth_take((proxy_balancer *)(uintptr_t)b);
    all = atomic_load(&b->grown->members);
    return all ? all : b->members;
}

/* ---- adding ---- */

/* The place is the caller's: nobody looks at it until it is ready. */
static void growth_write(proxy_balancer *b, proxy_state *s, const char *url)
{
    BRG_ASSERT(atomic_load(&s->spare) == SPARE_WRITTEN && strlen(url) < sizeof s->url);
    apr_cpystrn(s->url, url, sizeof s->url);
    proxy_text_write(&s->names, s->route, "", sizeof s->route);
    proxy_text_write(&s->names, s->redirect, "", sizeof s->redirect);
    atomic_store(&s->lbset, 0);
    atomic_store(&s->lbstatus, 0);
    atomic_store(&s->lbfactor, 100);
    atomic_store(&s->status, PROXY_STATUS_INITIALIZED | PROXY_STATUS_DISABLED);
    atomic_store(&s->spare, SPARE_READY);
    atomic_fetch_add(&b->state->grown, 1);
}

static int growth_fails(request_rec *r, const proxy_balancer *b, const char *url, int number)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "AH%05d: %s: failed to add worker %s", number,
                  b->name, url);
    return HTTP_BAD_REQUEST;
}

int proxy_member_add(request_rec *r, proxy_balancer *b, const char *url)
{
    proxy_worker trial = {.server = b->server};
    const char *socket, *name = proxy_split_socket(r->pool, url, &socket);

    if (strlen(url) >= sizeof trial.state->url || !name ||
        proxy_worker_fill(r->pool, &trial, b, apr_pstrdup(r->pool, url), 0))
        return growth_fails(r, b, url, 10163);
    if (proxy_worker_shared(proxy_members(b), name, socket, r->pool))
        return growth_fails(r, b, url, 10164);
    for (int i = 0; b->grown && i < b->grown->n; i++) {
        uint32_t was = SPARE_FREE;

        if (!atomic_compare_exchange_strong(&b->grown->spare[i]->state->spare, &was, SPARE_WRITTEN))
            continue;
        growth_write(b, b->grown->spare[i]->state, url);
        ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, "balancer-manager added worker %s to %s", url,
                      b->name);
        return OK;
    }
    return growth_fails(r, b, url, 10164);
}
