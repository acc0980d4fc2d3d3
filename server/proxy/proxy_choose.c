/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a worker for a request; and the meaning of an answer, or a failure, for the worker.
 */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "proxy_plan.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <string.h>

APLOG_USE_MODULE(proxy);

/* ---- errors end ---- */

/* An error is over after retry=, or at once with +I. @return 1: the worker may have requests */
int proxy_worker_usable(request_rec *r, proxy_worker *w, apr_time_t now)
{
    proxy_state *s = w->state;
    const uint32_t status = atomic_load(&s->status);

    BRG_ASSERT(now > 0 && w->state);
    if (!(status & PROXY_STATUS_UNUSABLE))
        return 1;
    if (!(status & PROXY_STATUS_IN_ERROR) || (status & PROXY_STATUS_STOPPED))
        return 0;
    if (!(status & PROXY_STATUS_IGNORE_ERRORS) &&
        now <= atomic_load(&s->error_at) + w->params.retry)
        return 0;
    if (!(atomic_fetch_and(&s->status, ~PROXY_STATUS_IN_ERROR) & PROXY_STATUS_IN_ERROR))
        return !(atomic_load(&s->status) & PROXY_STATUS_UNUSABLE);
    atomic_fetch_add(&s->retries, 1);
    atomic_store(&s->usable_at, now);
    if (r)
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(00932) "%s: worker for (%s:%d) has been marked for retry",
                      w->balancer ? "BALANCER" : w->scheme_name, w->host, w->port);
    return !(atomic_load(&s->status) & PROXY_STATUS_UNUSABLE);
}

static void worker_has_error(request_rec *r, proxy_worker *w)
{
    BRG_ASSERT(!w->generic);
    atomic_store(&w->state->error_at, apr_time_now());
    atomic_fetch_or(&w->state->status, PROXY_STATUS_IN_ERROR);
    (void)r;
}

static int worker_ignores_errors(const proxy_worker *w)
{
    return w->generic || (atomic_load(&w->state->status) & PROXY_STATUS_IGNORE_ERRORS) != 0;
}

/* ---- choose ---- */

static int choose_alone(request_rec *r, proxy_target *t)
{
    const proxy_worker *w = t->worker;

    BRG_ASSERT(!t->balancer && w);
    if (w->generic || !(atomic_load(&w->state->status) & PROXY_STATUS_UNUSABLE) ||
        proxy_worker_usable(r, t->worker, apr_time_now()))
        return OK;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, r->server,
                 APLOGNO(00940) "%s: disabled connection for (%s:%d)", t->scheme_name,
                 t->worker->host, t->worker->port);
    return HTTP_SERVICE_UNAVAILABLE;
}

/* The balancer's URL becomes that of the member. */
static void choose_address(request_rec *r, proxy_target *t)
{
    const proxy_worker *w = t->worker;
    const char *path = r->filename + 6 + strlen("balancer://");

    BRG_ASSERT(t->balancer == w->balancer && !strncmp(r->filename, "proxy:", 6));
    path += strcspn(path, "/");
    t->scheme = w->scheme;
    t->scheme_name = w->scheme_name;
    t->host = w->host;
    t->port = w->port;
    t->socket = w->socket;
    t->authority = w->authority;
    t->url = apr_pstrcat(r->pool, w->name, path, NULL);
    t->path = *w->prefix ? apr_pstrcat(r->pool, w->prefix, path, NULL) : path;
    t->remotes_n = 0;
    if (!t->socket)
        proxy_find_remotes(r, t);
}

static void choose_environment(request_rec *r, const proxy_target *t)
{
    char route[PROXY_ROUTE_SIZE];
    apr_table_t *env = r->subprocess_env;

    BRG_ASSERT(t->balancer && t->worker->balancer == t->balancer);
    apr_table_setn(env, "BALANCER_NAME", t->balancer->name);
    apr_table_setn(env, "BALANCER_WORKER_NAME", t->worker->name);
    apr_table_set(env, "BALANCER_WORKER_ROUTE", proxy_route(t->worker, route));
}

static void choose_gauge(const proxy_worker *w, int n)
{
    if (w->gauges)
        atomic_fetch_add_explicit(&w->gauges->busy, n, memory_order_relaxed);
}

void proxy_worker_take(proxy_worker *w)
{
    atomic_fetch_add(&w->state->busy, 1);
    choose_gauge(w, 1);
}

/* Variables are those of Apache's where no member was found, too. */
static int choose_member(request_rec *r, proxy_target *t, int attempt)
{
    proxy_asker asker = {.r = r,
                         .pool = r->pool,
                         .server = r->server,
                         .url = r->filename + 6,
                         .client = r->useragent_ip};

    t->worker = attempt ? NULL : proxy_ahead_member(r, t->balancer, &asker.session);
    if (!t->worker)
        t->worker = proxy_balance(&asker, t, apr_time_now());
    if (!t->worker)
        asker.session.route = NULL;
    proxy_session_tell(r, &asker.session);
    if (!t->worker)
        return HTTP_SERVICE_UNAVAILABLE;
    choose_address(r, t);
    choose_environment(r, t);
    return OK;
}

int proxy_choose(request_rec *r, proxy_target *t, int attempt)
{
    int rv;

    BRG_ASSERT(!t->chosen && attempt >= 0);
    rv = t->balancer ? choose_member(r, t, attempt) : choose_alone(r, t);
    if (rv != OK)
        return rv;
    proxy_worker_take(t->worker);
    if (attempt)
        atomic_fetch_add(&t->worker->state->retried, 1);
    t->chosen = 1;
    return OK;
}

/* ---- again ---- */

/* retrybudget=: of all requests, lately, only so many in hundred may be tried again. */
static int budget_allows(const proxy_balancer *b)
{
    balancer_state *s = b->state;
    const uint64_t spent = atomic_load(&s->spent), retries = atomic_load(&s->retries);

    BRG_ASSERT(b->retry_budget >= 0 && b->retry_budget <= 100);
    if (!b->retry_budget)
        return 1;
    if (spent > 10000) { /* the past counts half */
        atomic_store(&s->spent, spent / 2);
        atomic_store(&s->retries, retries / 2);
    }
    /* Some are allowed in any case, else a server with few requests has none. */
    if (retries > 10 && retries * 100 > spent * (uint64_t)b->retry_budget)
        return 0;
    atomic_fetch_add(&s->retries, 1);
    return 1;
}

int proxy_may_retry(const request_rec *r, const proxy_target *t, int attempt)
{
    int most;

    BRG_ASSERT(attempt >= 0);
    (void)r;
    if (!t->balancer || t->no_failover)
        return 0;
    most = atomic_load(&t->balancer->state->attempts);
    if (most == PROXY_UNSET)
        most = proxy_members(t->balancer)->nelts - 1;
    return attempt < most && budget_allows(t->balancer);
}

/* ---- results ---- */

static void failed_count(proxy_state *s, proxy_failure why)
{
    BRG_ASSERT(why >= PROXY_FAILED_RESOLVE && why <= PROXY_FAILED_BUSY);
    switch (why) {
    case PROXY_FAILED_RESOLVE:
    case PROXY_FAILED_CONNECT:
    case PROXY_FAILED_SHAKE:
        atomic_fetch_add(&s->refused, 1);
        break;
    case PROXY_FAILED_TIMEOUT:
        atomic_fetch_add(&s->timeouts, 1);
        break;
    case PROXY_FAILED_BROKEN:
        atomic_fetch_add(&s->broken, 1);
        break;
    case PROXY_FAILED_BUSY:
        break;
    }
}

static void failed_tried(request_rec *r, proxy_target *t)
{
    proxy_worker **tried = apr_palloc(r->pool, ((size_t)t->tried_n + 1) * sizeof *tried);

    BRG_ASSERT(t->tried_n >= 0);
    if (t->tried_n)
        memcpy(tried, t->tried, (size_t)t->tried_n * sizeof *tried);
    tried[t->tried_n++] = t->worker;
    t->tried = tried;
}

/* eject=: so many failures in a row; never more than half of the members at a time. */
static int failed_eject(const proxy_worker *w, int failures)
{
    int out = 0;

    BRG_ASSERT(failures > 0);
    if (!w->params.eject || failures < w->params.eject || !w->balancer)
        return 0;
    for (int i = 0; i < proxy_members(w->balancer)->nelts; i++)
        out += (atomic_load(
                    &APR_ARRAY_IDX(proxy_members(w->balancer), i, proxy_worker *)->state->status) &
                PROXY_STATUS_UNUSABLE) != 0;
    return 2 * (out + 1) <= proxy_members(w->balancer)->nelts;
}

static void failed_timeout(request_rec *r, proxy_target *t)
{
    BRG_ASSERT(t->chosen);
    apr_table_setn(r->notes, "proxy_timedout", "1");
    if (!t->balancer || !t->balancer->fail_on_timeout)
        return;
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, r,
        APLOGNO(
            02460) "%s: Forcing worker (%s) into error state due to timeout and 'failontimeout' "
                   "parameter being set",
        t->balancer->name, t->worker->name);
    worker_has_error(r, t->worker);
}

void proxy_failed(request_rec *r, proxy_target *t, proxy_failure why)
{
    proxy_worker *w = t->worker;
    int failures;

    BRG_ASSERT(t->chosen);
    failed_count(w->state, why);
    failed_tried(r, t);
    if (why == PROXY_FAILED_BUSY)
        return;
    failures = atomic_fetch_add(&w->state->failures, 1) + 1;
    if (worker_ignores_errors(w))
        return;
    if (why == PROXY_FAILED_CONNECT || why == PROXY_FAILED_RESOLVE) {
        ap_log_error(
            APLOG_MARK, APLOG_ERR, 0, r->server,
            APLOGNO(
                00959) "ap_proxy_connect_backend disabling worker for (%s:%d) for %" APR_TIME_T_FMT
                       "s",
            w->host, w->port, apr_time_sec(w->params.retry));
        worker_has_error(r, w);
    } else if (why == PROXY_FAILED_TIMEOUT)
        failed_timeout(r, t);
    if (!(atomic_load(&w->state->status) & PROXY_STATUS_IN_ERROR) && failed_eject(w, failures)) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      "worker %s is ejected after %d failures for %" APR_TIME_T_FMT "s", w->name,
                      failures, apr_time_sec(w->params.retry));
        worker_has_error(r, w);
    }
}

int proxy_status_fails(const proxy_balancer *b, int status)
{
    for (int i = 0; i < b->fail_statuses->nelts; i++)
        if (APR_ARRAY_IDX(b->fail_statuses, i, int) == status)
            return 1;
    return 0;
}

static void answered_status(request_rec *r, proxy_target *t, int status)
{
    BRG_ASSERT(t->balancer && t->worker->balancer == t->balancer);
    if (!proxy_status_fails(t->balancer, status))
        return;
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, r,
        APLOGNO(01174) "%s: Forcing worker (%s) into error state due to status code %d matching "
                       "'failonstatus' balancer parameter",
        t->balancer->name, t->worker->name, status);
    worker_has_error(r, t->worker);
}

void proxy_worker_answered(proxy_worker *w, int status, apr_interval_time_t waited)
{
    proxy_state *s = w->state;

    BRG_ASSERT(w->state != NULL);
    if (status >= 100 && status < 600)
        atomic_fetch_add(&s->answers[status / 100 - 1], 1);
    if (waited >= 0) {
        atomic_fetch_add(&s->waited_us, (uint64_t)waited);
        atomic_fetch_add(&s->waited_n, 1);
    }
    if (atomic_load(&s->failures))
        atomic_store(&s->failures, 0);
    if (atomic_load(&s->error_at)) {
        atomic_store(&s->error_at, 0);
        atomic_store(&s->retries, 0);
    }
}

void proxy_answered(request_rec *r, proxy_target *t, int status, apr_interval_time_t waited)
{
    BRG_ASSERT(t->chosen);
    proxy_worker_answered(t->worker, status, waited);
    if (t->balancer && !worker_ignores_errors(t->worker))
        answered_status(r, t, status);
}

void proxy_release(request_rec *r, proxy_target *t, apr_off_t written, apr_off_t read)
{
    (void)r;
    BRG_ASSERT(t->chosen);
    t->chosen = 0;
    proxy_worker_release(t->worker, written, read);
}

void proxy_worker_release(proxy_worker *w, apr_off_t written, apr_off_t read)
{
    proxy_state *s = w->state;

    choose_gauge(w, -1);
    atomic_fetch_add(&s->written, (uint64_t)written);
    atomic_fetch_add(&s->read, (uint64_t)read);
    if (atomic_fetch_sub(&s->busy, 1) <= 0)
        atomic_store(&s->busy, 0); /* a process that died left it too low, or it was reset */
}

/* ---- health checks ---- */

void proxy_checked(proxy_worker *w, int ok, apr_time_t now)
{
    proxy_state *s = w->state;
    const uint32_t status = atomic_load(&s->status);

    BRG_ASSERT(!w->generic && now > 0);
    atomic_store(&s->check_at, now);
    if (ok) {
        atomic_store(&s->failed, 0);
        if (!(status & PROXY_STATUS_CHECK_FAILED) ||
            atomic_fetch_add(&s->passed, 1) + 1 < w->params.check_passes)
            return;
        atomic_store(&s->passed, 0);
        atomic_store(&s->usable_at, now);
        atomic_fetch_and(&s->status, ~PROXY_STATUS_CHECK_FAILED);
        ap_log_error(__FILE__, __LINE__, proxy_hcheck_module.module_index, APLOG_INFO, 0, w->server,
                     APLOGNO(03302) "%sHealth check ENABLING %s", "", w->name);
    } else {
        atomic_store(&s->passed, 0);
        if ((status & PROXY_STATUS_CHECK_FAILED) ||
            atomic_fetch_add(&s->failed, 1) + 1 < w->params.check_fails)
            return;
        atomic_store(&s->failed, 0);
        atomic_store(&s->error_at, now);
        atomic_fetch_or(&s->status, PROXY_STATUS_CHECK_FAILED);
        ap_log_error(__FILE__, __LINE__, proxy_hcheck_module.module_index, APLOG_INFO, 0, w->server,
                     APLOGNO(03303) "%sHealth check DISABLING %s", "", w->name);
    }
}
