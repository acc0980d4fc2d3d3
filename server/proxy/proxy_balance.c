/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of balancers: which member gets the next request. Members that are usable are looked at by sets
 * (lbset=), in each the regular ones first, then those on standby (+H). Spares (+R) stand in for members that are out.
 *
 * Counts are shared by all loops and changed by single additions. Two loops that choose in the same moment may choose
 * the same member, and the counts even that out. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

#define BALANCE_FACTOR_MOST 10000 /* loadfactor=100 */
#define BALANCE_SET_MOST 99
#define BALANCE_MOST 1024 /* members of a set that are looked at */

typedef struct balance_run {
    proxy_asker *asker;
    proxy_target *t;
    apr_time_t now;
    int method;
    proxy_worker *best;
    int64_t value;     /* of the best */
    int32_t total;     /* of the factors of all that were looked at */
    proxy_worker **in; /* random2, hash: all that may be taken */
    int n;
} balance_run;

/* slowstart=: the share of a member that came back grows from a tenth to the whole. */
static int32_t balance_factor(const proxy_worker *w, apr_time_t now)
{
    /* Any process can write both: sums of factors have to stay in their bounds. */
    const int32_t written = atomic_load(&w->state->lbfactor);
    const int32_t factor = written < 0                     ? 0
                           : written > BALANCE_FACTOR_MOST ? BALANCE_FACTOR_MOST
                                                           : written;
    const apr_time_t since =
        (apr_time_t)((uint64_t)now - (uint64_t)atomic_load(&w->state->usable_at));
    int32_t part;

    BRG_ASSERT(w->params.slow_start >= 0);
    if (!w->params.slow_start || since < 0 || since >= w->params.slow_start)
        return factor;
    part = (int32_t)(factor * since / w->params.slow_start);
    return part > factor / 10 ? part : factor / 10 ? factor / 10 : 1;
}

static void balance_by_requests(balance_run *b, proxy_worker *w)
{
    const int32_t factor = balance_factor(w, b->now);
    const int32_t status = atomic_fetch_add(&w->state->lbstatus, factor) + factor;

    BRG_ASSERT(b->total >= 0);
    b->total += factor;
    if (b->best && status <= b->value)
        return;
    b->best = w;
    b->value = status;
}

static void balance_by_traffic(balance_run *b, proxy_worker *w)
{
    const int32_t factor = balance_factor(w, b->now);
    const uint64_t n = factor > 0 ? (uint64_t)factor : 1;
    const int64_t traffic =
        (int64_t)(atomic_load(&w->state->written) / n + atomic_load(&w->state->read) / n);

    if (b->best && traffic >= b->value)
        return;
    b->best = w;
    b->value = traffic;
}

static void balance_by_busyness(balance_run *b, proxy_worker *w)
{
    const int32_t factor = balance_factor(w, b->now);
    const int32_t status = atomic_fetch_add(&w->state->lbstatus, factor) + factor;
    const int64_t busy = atomic_load(&w->state->busy);

    BRG_ASSERT(b->total >= 0);
    b->total += factor;
    if (b->best &&
        (busy > b->value || (busy == b->value && status <= atomic_load(&b->best->state->lbstatus))))
        return;
    b->best = w;
    b->value = busy;
}

static void balance_consider(balance_run *b, proxy_worker *w)
{
    BRG_ASSERT(w->balancer == b->t->balancer);
    switch (b->method) {
    case PROXY_METHOD_BYTRAFFIC:
        balance_by_traffic(b, w);
        return;
    case PROXY_METHOD_BYBUSYNESS:
        balance_by_busyness(b, w);
        return;
    case PROXY_METHOD_RANDOM2:
    case PROXY_METHOD_HASH:
        if (b->n < BALANCE_MOST)
            b->in[b->n++] = w;
        return;
    default:
        balance_by_requests(b, w);
    }
}

/* ---- random2 and hash ---- */

static int64_t balance_load(const balance_run *b, const proxy_worker *w)
{
    const int32_t factor = balance_factor(w, b->now);

    return atomic_load(&w->state->busy) * 10000 / (factor > 0 ? factor : 1);
}

static proxy_worker *balance_random(const balance_run *b)
{
    const uint32_t last = (uint32_t)b->n - 1;
    uint32_t one, two;

    BRG_ASSERT(b->n > 0);
    if (!last)
        return b->in[0];
    one = ap_random_pick(0, last);
    two = ap_random_pick(0, last - 1);
    two += two >= one;
    return balance_load(b, b->in[two]) < balance_load(b, b->in[one]) ? b->in[two] : b->in[one];
}

static const char *balance_uri(proxy_asker *a)
{
    return a->r ? a->r->unparsed_uri
                : apr_pstrmemdup(proxy_asker_pool(a), a->head->uri, a->head->uri_len);
}

static const char *balance_key(const balance_run *b)
{
    const char *name = b->t->balancer->hash_key;

    if (!name || !strcasecmp(name, "uri"))
        return balance_uri(b->asker);
    name = strcasecmp(name, "client") ? proxy_asker_field(b->asker, name) : NULL;
    return name ? name : b->asker->client;
}

static uint64_t balance_score(uint64_t seed, const char *name)
{
    for (; *name; name++)
        seed = (seed ^ (unsigned char)*name) * 0x100000001b3ull;
    seed ^= seed >> 33;
    seed *= 0xff51afd7ed558ccdull;
    seed ^= seed >> 33;
    seed *= 0xc4ceb9fe1a85ec53ull;
    return seed ^ seed >> 33;
}

/* Rendezvous hashing (Thaler, Ravishankar, 1998): a member that goes moves its own keys alone. With
 * bounded load (Mirrokni et al., 2018): a member with more than 5/4 of its share is left out. */
static proxy_worker *balance_hash(const balance_run *b)
{
    const char *key = balance_key(b);
    const uint64_t seed = balance_score(0xcbf29ce484222325ull, key ? key : "");
    int64_t all = 1, factors = 0;
    proxy_worker *best = NULL;
    uint64_t most = 0;

    BRG_ASSERT(b->n > 0 && b->method == PROXY_METHOD_HASH);
    for (int i = 0; i < b->n; i++) {
        all += atomic_load(&b->in[i]->state->busy);
        factors += balance_factor(b->in[i], b->now);
    }
    for (int i = 0; i < b->n; i++) {
        proxy_worker *w = b->in[i];
        const int64_t bound =
            (5 * all * balance_factor(w, b->now) + 4 * factors - 1) / (4 * factors);
        const uint64_t score = balance_score(seed, w->name);

        if (atomic_load(&w->state->busy) >= bound || (best && score <= most))
            continue;
        best = w;
        most = score;
    }
    return best ? best : balance_random(b);
}

/* ---- sets ---- */

int proxy_was_tried(const proxy_target *t, const proxy_worker *w)
{
    BRG_ASSERT(t->tried_n >= 0);
    for (int i = 0; i < t->tried_n; i++)
        if (t->tried[i] == w)
            return 1;
    return 0;
}

/* One set, regular members or those on standby. @return the highest number of a set */
static int balance_set(balance_run *b, int set, int standby)
{
    const apr_array_header_t *members = proxy_members(b->t->balancer);
    proxy_worker *spares[BALANCE_MOST];
    int spares_n = 0, out = 0, last = 0;

    BRG_ASSERT(set >= 0 && (standby == 0 || standby == 1));
    for (int i = 0; i < members->nelts; i++) {
        proxy_worker *w = APR_ARRAY_IDX(members, i, proxy_worker *);
        uint32_t status = atomic_load(&w->state->status);
        const int mine = atomic_load(&w->state->lbset);

        if (mine > last && mine <= BALANCE_SET_MOST)
            last = mine;
        if (mine != set || ((status & PROXY_STATUS_HOT_STANDBY) != 0) != standby ||
            (status & PROXY_STATUS_DRAIN))
            continue;
        if (!proxy_worker_usable(b->asker->r, w, b->now) || proxy_was_tried(b->t, w))
            out += !(status & PROXY_STATUS_HOT_SPARE);
        else if (!(status & PROXY_STATUS_HOT_SPARE))
            balance_consider(b, w);
        else if (spares_n < BALANCE_MOST)
            spares[spares_n++] = w;
    }
    for (int i = 0; i < spares_n && i < out; i++)
        balance_consider(b, spares[i]);
    return last;
}

static proxy_worker *balance_best(balance_run *b)
{
    int last = 0;

    BRG_ASSERT(!b->best && !b->n);
    for (int set = 0; set <= last && !b->best; set++)
        for (int standby = 0; standby < 2 && !b->best; standby++) {
            last = balance_set(b, set, standby);
            if (b->n)
                b->best = b->method == PROXY_METHOD_HASH ? balance_hash(b) : balance_random(b);
        }
    if (b->best && (b->method == PROXY_METHOD_BYREQUESTS || b->method == PROXY_METHOD_BYBUSYNESS))
        atomic_fetch_sub(&b->best->state->lbstatus, b->total);
    return b->best;
}

/* ---- all are out ---- */

/* Where all members are in error, waiting for retry= helps nobody: they are tried again at once. */
static void balance_recover(const proxy_asker *a, const proxy_balancer *b, apr_time_t now)
{
    BRG_ASSERT(now > 0);
    for (int i = 0; i < proxy_members(b)->nelts; i++) {
        proxy_worker *w = APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *);

        if (!(atomic_load(&w->state->status) & PROXY_STATUS_IN_ERROR) ||
            proxy_worker_usable(a->r, w, now))
            return;
    }
    for (int i = 0; b->recovery && i < proxy_members(b)->nelts; i++) {
        proxy_worker *w = APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *);

        atomic_fetch_add(&w->state->retries, 1);
        atomic_fetch_and(&w->state->status, ~PROXY_STATUS_IN_ERROR);
        ap_log_error(__FILE__, __LINE__, proxy_balancer_module.module_index, APLOG_DEBUG, 0,
                     a->server, APLOGNO(01165) "%s: Forcing recovery for worker (%s:%d)", b->name,
                     w->host, w->port);
    }
}

/* A session's request counts as if the method had chosen. */
static void balance_took(const proxy_balancer *b, proxy_worker *took, apr_time_t now)
{
    int32_t total = 0;

    BRG_ASSERT(took->balancer == b);
    for (int i = 0; i < proxy_members(b)->nelts; i++) {
        proxy_worker *w = APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *);

        if (atomic_load(&w->state->status) & PROXY_STATUS_UNUSABLE)
            continue;
        total += balance_factor(w, now);
        atomic_fetch_add(&w->state->lbstatus, balance_factor(w, now));
    }
    atomic_fetch_sub(&took->state->lbstatus, total);
}

static int balance_has_route(const proxy_balancer *b, const char *route)
{
    char own[PROXY_ROUTE_SIZE];

    for (int i = 0; *route && i < proxy_members(b)->nelts; i++)
        if (!strcmp(proxy_route(APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *), own), route))
            return 1;
    return 0;
}

static proxy_worker *balance_other(balance_run *run)
{
    const proxy_balancer *b = run->t->balancer;
    proxy_session *session = &run->asker->session;
    request_rec *r = run->asker->r;
    proxy_worker *w;

    BRG_ASSERT(!run->best && !run->n);
    if (session->route && atomic_load(&b->state->force) && balance_has_route(b, session->route)) {
        run->t->no_failover = 1;
        if (r && !run->t->quiet)
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(01166) "%s: All workers are in error state for route (%s)",
                          b->name, session->route);
        return NULL;
    }
    w = balance_best(run);
    if (!w && r && !run->t->quiet)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01167) "%s: All workers are in error state%s", b->name,
                      proxy_members(b)->nelts ? "" : ": it has no members");
    session->changed |= w && session->sticky;
    return w;
}

proxy_worker *proxy_balance(proxy_asker *a, proxy_target *t, apr_time_t now)
{
    balance_run run = {
        .asker = a, .t = t, .now = now, .method = atomic_load(&t->balancer->state->method)};
    proxy_worker *w;

    BRG_ASSERT(t->balancer && !t->chosen && !a->r == (a->head != NULL));
    if (run.method >= PROXY_METHOD_RANDOM2)
        run.in = apr_palloc(proxy_asker_pool(a), BALANCE_MOST * sizeof *run.in);
    balance_recover(a, t->balancer, now);
    w = proxy_sticky(a, t, now);
    if (w)
        balance_took(t->balancer, w, now);
    else
        w = balance_other(&run);
    if (!w)
        return NULL;
    atomic_fetch_add(&w->state->elected, 1);
    atomic_fetch_add(&t->balancer->state->spent, 1);
    return w;
}
