/* SPDX-License-Identifier: Apache-2.0 */
/* State of workers and balancers that processes share, in memory that outlives a reload and an
 * upgrade.
 *
 * Two tables of places of one size. A place belongs to its key, a hash of the virtual host and the
 * names; so a worker that is configured again finds its state. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "kept_memory.h"
#include "trial.h"
#include "apr_strings.h"
#include "apr_uuid.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <errno.h>
#include <string.h>

APLOG_USE_MODULE(proxy);

#define SHARE_WORKERS PROXY_STATES_MOST
#define SHARE_BALANCERS 512

static proxy_worker **share_list; /* in pconf */
static int share_n;
static struct share_tables {
    proxy_state worker[SHARE_WORKERS];
    balancer_state balancer[SHARE_BALANCERS];
} * share;

int proxy_workers(void)
{
    return share_n;
}

proxy_worker *proxy_worker_get(int number)
{
    BRG_ASSERT(number >= 0 && number < share_n);
    return __atomic_load_n(&share_list[number], __ATOMIC_ACQUIRE);
}

int proxy_share_place_of(const proxy_state *state)
{
    return share && state ? (int)(state - share->worker) : -1;
}

/* ---- texts that are written while others read ---- */

void proxy_text_write(_Atomic uint32_t *names, char *to, const char *from, size_t size)
{
    uint32_t n = atomic_load(names);

    BRG_ASSERT(size > 0);
    /* Writers are few: administrators. A writer that finds another at work, or a dead one's mark,
     * goes on. */
    atomic_store(names, n | 1);
    for (size_t i = 0; i < size; i++) {
        __atomic_store_n(to + i, *from, __ATOMIC_RELEASE); /* not before the number is odd */
        if (*from)
            from++;
    }
    __atomic_store_n(to + size - 1, '\0', __ATOMIC_RELAXED);
    atomic_store(names, (n | 1) + 1);
}

const char *proxy_text_read(_Atomic uint32_t *names, const char *from, char *to, size_t size)
{
    BRG_ASSERT(size > 0);
    for (int tries = 0; tries < 100; tries++) {
        const uint32_t n = atomic_load(names);

        for (size_t i = 0; i < size; i++) /* before the number is read again */
            if (!(to[i] = __atomic_load_n(from + i, __ATOMIC_ACQUIRE)))
                break;
        if (!(n & 1) && atomic_load(names) == n)
            break;
    }
    to[size - 1] = '\0';
    return to;
}

const char *proxy_route(const proxy_worker *worker, char to[PROXY_ROUTE_SIZE])
{
    BRG_ASSERT(worker->state && !worker->generic);
    return proxy_text_read(&worker->state->names, worker->state->route, to, PROXY_ROUTE_SIZE);
}

const char *proxy_nonce(apr_pool_t *p, const proxy_balancer *b)
{
    BRG_ASSERT(b->state);
    return apr_pstrndup(p, b->state->nonce, sizeof b->state->nonce - 1);
}

/* ---- keys: FNV-1a, the same in each program ---- */

static uint64_t share_hash(uint64_t h, const char *text)
{
    do {
        h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
    } while (*text++);
    return h;
}

static uint64_t share_hash_number(uint64_t h, int64_t n)
{
    for (int i = 0; i < 8; i++, n >>= 8)
        h = (h ^ (unsigned char)n) * 0x100000001b3ull;
    return h;
}

#define SHARE_HASH_BEGIN 0xcbf29ce484222325ull

static uint64_t share_server_key(const server_rec *s)
{
    uint64_t h = share_hash(SHARE_HASH_BEGIN, s->server_hostname ? s->server_hostname : "");

    h = share_hash_number(h, s->port);
    return share_hash(h, s->is_virtual && s->addrs && s->addrs->virthost ? s->addrs->virthost : "");
}

static uint64_t share_worker_key(const proxy_worker *w)
{
    uint64_t h = share_hash(share_server_key(w->server), w->balancer ? w->balancer->name : "");

    BRG_ASSERT(!w->generic || !w->balancer);
    h = share_hash(share_hash(h, w->name), w->socket ? w->socket : "");
    return h ? h : 1;
}

static uint32_t share_worker_configured(const proxy_worker *w)
{
    const proxy_params *to = &w->params;
    uint64_t h = share_hash(share_hash(SHARE_HASH_BEGIN, to->route), to->redirect);

    h = share_hash_number(share_hash_number(h, to->status), to->loadfactor);
    h = share_hash_number(h, to->lbset);
    return (uint32_t)(h ^ h >> 32);
}

/* ---- places ---- */

#define SHARE_ERRORS (PROXY_STATUS_IN_ERROR | PROXY_STATUS_CHECK_FAILED)

/* The configuration replaces an administrator's settings, except with BalancerPersist. */
static void share_worker_settings(proxy_worker *w, int persist)
{
    proxy_state *s = w->state;
    const uint32_t configured = share_worker_configured(w), was = atomic_load(&s->configured);

    BRG_ASSERT(persist == 0 || persist == 1);
    if (was == configured && persist)
        return;
    /* An error stays, where the configuration says nothing else. */
    atomic_store(&s->status, (was == configured ? atomic_load(&s->status) & SHARE_ERRORS : 0) |
                                 w->params.status | PROXY_STATUS_INITIALIZED);
    atomic_store(&s->lbfactor, w->params.loadfactor);
    atomic_store(&s->lbset, w->params.lbset);
    proxy_text_write(&s->names, s->route, w->params.route, sizeof s->route);
    proxy_text_write(&s->names, s->redirect, w->params.redirect, sizeof s->redirect);
    atomic_store(&s->configured, configured);
}

/* Places of this configuration, in memory of this process: none goes to two workers, whatever is written in the tables. */
static unsigned char share_worker_taken[SHARE_WORKERS], share_balancer_taken[SHARE_BALANCERS];

/* The place of this key, or a free one. If none is free, one that an earlier configuration left:
 * keys are never taken back, and a server process can write all of them. Its reset is seen by
 * processes of that configuration, which end. */
static proxy_state *share_worker_place(uint64_t key)
{
    proxy_state *left = NULL, *s;

    BRG_ASSERT(key != 0);
    for (size_t i = 0; i < SHARE_WORKERS; i++) {
        const size_t at = (key + i) % SHARE_WORKERS;
        uint64_t found = 0;

        s = &share->worker[at];
        if (atomic_compare_exchange_strong(&s->key, &found, key) || found == key) {
            share_worker_taken[at] = 1;
            return s;
        }
        if (!left && !share_worker_taken[at])
            left = s;
    }
    if (!left)
        return NULL;
    share_worker_taken[left - share->worker] = 1;
    memset(left, 0, sizeof *left);
    atomic_store(&left->key, key);
    return left;
}

static balancer_state *share_balancer_place(uint64_t key)
{
    balancer_state *left = NULL, *s;

    BRG_ASSERT(key != 0);
    for (size_t i = 0; i < SHARE_BALANCERS; i++) {
        const size_t at = (key + i) % SHARE_BALANCERS;
        uint64_t found = 0;

        s = &share->balancer[at];
        if (atomic_compare_exchange_strong(&s->key, &found, key) || found == key) {
            share_balancer_taken[at] = 1;
            return s;
        }
        if (!left && !share_balancer_taken[at])
            left = s;
    }
    if (!left)
        return NULL;
    share_balancer_taken[left - share->balancer] = 1;
    memset(left, 0, sizeof *left);
    atomic_store(&left->key, key);
    return left;
}

/* The next number for @a w. @param listed  the worker found by it; NULL: nobody yet */
static void share_number(apr_pool_t *p, proxy_worker *w, proxy_worker *listed)
{
    w->number = share_n;
    share_list = (share_n & (share_n - 1)) || share_n == 0
                     ? share_list
                     : memcpy(apr_palloc(p, 2 * (size_t)share_n * sizeof *share_list), share_list,
                              (size_t)share_n * sizeof *share_list);
    if (!share_list)
        share_list = apr_palloc(p, sizeof *share_list);
    share_list[share_n++] = listed;
}

static int share_worker(apr_pool_t *p, proxy_worker *w, int persist)
{
    BRG_ASSERT(share_n >= 0 && (share_n == 0 || share_list));
    if (w->state)
        return 0; /* a virtual host has it from the main server */
    w->state = share ? share_worker_place(share_worker_key(w)) : apr_pcalloc(p, sizeof *w->state);
    if (!w->state)
        return -1;
    share_number(p, w, w);
    share_worker_settings(w, persist);
    return 0;
}

int proxy_share_spare(apr_pool_t *p, proxy_worker *w, int at)
{
    uint64_t h = share_hash(share_server_key(w->server), w->balancer->name);

    h = share_hash_number(share_hash(h, "growth"), at);
    w->state = share ? share_worker_place(h ? h : 1) : apr_pcalloc(p, sizeof *w->state);
    if (!w->state)
        return -1;
    share_number(p, w, NULL);
    return 0;
}

void proxy_worker_publish(proxy_worker *w)
{
    __atomic_store_n(&share_list[w->number], w, __ATOMIC_RELEASE);
}

static void share_balancer_settings(proxy_balancer *b, int persist)
{
    balancer_state *s = b->state;
    uint64_t h = share_hash(share_hash(SHARE_HASH_BEGIN, b->sticky), b->sticky_path);
    uint32_t configured;

    h = share_hash_number(share_hash_number(h, b->method), b->attempts);
    h = share_hash_number(share_hash_number(h, b->force), b->scolon);
    h = share_hash_number(share_hash_number(h, b->separator), b->timeout);
    configured = (uint32_t)(h ^ h >> 32) | 1;
    if (b->nonce)
        apr_cpystrn(s->nonce, b->nonce, sizeof s->nonce);
    else if (!atomic_load(&s->configured)) {
        apr_uuid_t uuid;

        apr_uuid_get(&uuid);
        apr_uuid_format(s->nonce, &uuid);
    }
    if (persist && atomic_load(&s->configured) == configured)
        return;
    atomic_store(&s->method, b->method);
    atomic_store(&s->attempts, b->set & BALANCER_SET_ATTEMPTS ? b->attempts : PROXY_UNSET);
    atomic_store(&s->force, b->force);
    atomic_store(&s->scolon, b->scolon);
    atomic_store(&s->separator, b->separator);
    atomic_store(&s->timeout, b->timeout);
    proxy_text_write(&s->names, s->sticky, b->sticky, sizeof s->sticky);
    proxy_text_write(&s->names, s->sticky_path, b->sticky_path, sizeof s->sticky_path);
    atomic_store(&s->configured, configured);
}

static int share_balancer(apr_pool_t *p, proxy_balancer *b, int persist)
{
    uint64_t key = share_hash(share_server_key(b->server), b->name);

    BRG_ASSERT(b->fail_statuses && b->members);
    if (b->state)
        return 0;
    b->state = share ? share_balancer_place(key ? key : 1) : apr_pcalloc(p, sizeof *b->state);
    if (!b->state)
        return -1;
    share_balancer_settings(b, persist);
    for (int i = 0; i < b->members->nelts; i++)
        if (share_worker(p, APR_ARRAY_IDX(b->members, i, proxy_worker *), persist))
            return -1;
    return proxy_growth_make(p, b, persist);
}

static int share_server(apr_pool_t *p, server_rec *s)
{
    proxy_server_conf *c = proxy_conf_of(s);
    int failed = share_worker(p, c->forward, 0) || share_worker(p, c->reverse, 0);

    BRG_ASSERT(share_n >= 0);
    for (int i = 0; !failed && i < c->workers->nelts; i++)
        failed = share_worker(p, APR_ARRAY_IDX(c->workers, i, proxy_worker *), 0);
    for (int i = 0; !failed && i < c->balancers->nelts; i++)
        failed =
            share_balancer(p, APR_ARRAY_IDX(c->balancers, i, proxy_balancer *), c->persist == 1);
    return failed;
}

/* A trial of a configuration leaves the memory of server processes alone. */
static int share_map(server_rec *main)
{
    static struct share_tables *mapped;

    BRG_ASSERT(!main->is_virtual);
    share = NULL;
    if (trial_runs())
        return 0;
    if (!mapped)
        mapped = kept_memory_map("proxy-workers-4", sizeof *mapped);
    if (!mapped) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, errno, main,
                     "no memory that processes share for the state of workers");
        return -1;
    }
    share = mapped;
    return 0;
}

int proxy_share(apr_pool_t *pconf, server_rec *main)
{
    BRG_ASSERT(!main->is_virtual);
    share_n = 0;
    share_list = NULL;
    memset(share_worker_taken, 0, sizeof share_worker_taken);
    memset(share_balancer_taken, 0, sizeof share_balancer_taken);
    if (share_map(main))
        return HTTP_INTERNAL_SERVER_ERROR;
    for (server_rec *s = main; s; s = s->next)
        if (share_server(pconf, s)) {
            ap_log_error(
                APLOG_MARK, APLOG_EMERG, 0, main,
                "there are more workers (%d) or balancers (%d) than there is room for their state",
                SHARE_WORKERS, SHARE_BALANCERS);
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    return OK;
}
