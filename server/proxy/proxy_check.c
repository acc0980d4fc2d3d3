/* SPDX-License-Identifier: Apache-2.0 */
/* Health checks on a loop: connect, ask, read the status line and the rest, judge. */
#include "proxy_check.h"
#include "proxy_origin.h"
#include "proxy_private.h"
#include "h1_response_head.h"
#include "clock.h"
#include "loop.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_log.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(proxy_hcheck);

#define CHECK_LOOK_US 100000 /* interval of a loop's looks for due checks */
#define CHECK_BODY_MOST (64 * 1024)

typedef struct proxy_checked_worker {
    proxy_worker *worker;
    upstream_origin *origin; /* of checks alone: they never use connections of requests */
    const char *ask;         /* NULL: to connect is enough */
    apr_size_t ask_n;
} proxy_checked_worker;

typedef struct check_run {
    struct check_run *next, **prev; /* running ones */
    const proxy_checked_worker *of;
    brg_loop *loop;
    upstream_conn *cc;
    upstream_ticket ticket;
    struct loop_timer timer;
    apr_size_t sent;
    apr_time_t since;    /* clock_monotonic() */
    proxy_check_end why; /* it failed, or PROXY_CHECK_WELL */
    int code;
} check_run;

static proxy_checked_worker *checks;
static int checks_n;
static apr_time_t checks_looked; /* the first loop's */
static check_run *check_runs;    /* the first loop's, which ends with its process */

static const char *check_method(proxy_check check)
{
    switch (check) {
    case PROXY_CHECK_OPTIONS:
    case PROXY_CHECK_OPTIONS11:
        return "OPTIONS";
    case PROXY_CHECK_HEAD:
    case PROXY_CHECK_HEAD11:
        return "HEAD";
    case PROXY_CHECK_GET:
    case PROXY_CHECK_GET11:
        return "GET";
    default:
        return NULL;
    }
}

static const char *check_request(apr_pool_t *p, const proxy_worker *w)
{
    const proxy_params *params = &w->params;
    const char *method = check_method(params->check), *uri = params->check_uri;

    if (!method)
        return NULL;
    if (!uri || !*uri)
        uri = params->check == PROXY_CHECK_OPTIONS || params->check == PROXY_CHECK_OPTIONS11 ? "*"
                                                                                             : "/";
    if (params->check < PROXY_CHECK_OPTIONS11)
        return apr_pstrcat(p, method, " ", uri, " HTTP/1.0\r\n\r\n", NULL);
    return apr_psprintf(p, "%s %s HTTP/1.1\r\nHost: %s:%u\r\nConnection: close\r\n\r\n", method,
                        uri, w->host, (unsigned)w->port);
}

void proxy_checks_make(apr_pool_t *pconf, server_rec *s)
{
    checks = apr_pcalloc(pconf, sizeof *checks * (apr_size_t)(proxy_workers() + 1));
    checks_n = 0;
    for (int i = 0; i < proxy_workers(); i++) {
        proxy_worker *w = proxy_worker_get(i);
        proxy_checked_worker *c = &checks[checks_n];
        upstream_settings settings;

        if (!w || w->params.check == PROXY_CHECK_NONE || !w->origin)
            continue;
        settings = *upstream_origin_settings(w->origin);
        settings.reuse = 0;
        settings.max = 0;
        c->worker = w;
        c->origin = upstream_origin_make(pconf, &settings);
        c->ask = check_request(pconf, w);
        c->ask_n = c->ask ? strlen(c->ask) : 0;
        checks_n++;
    }
    (void)s;
    if (checks_n) /* else each turn of each loop would ask */
        brg_hook_turn_end(proxy_checks_run, NULL, NULL, APR_HOOK_MIDDLE);
}

/* Into the ring of the last ones: for balancer-manager. */
static void check_note(const check_run *run)
{
    proxy_state *s = run->of->worker->state;
    proxy_check_made *made = &s->check[atomic_fetch_add(&s->checks_n, 1) % PROXY_CHECKS_KEPT];
    const apr_time_t took = clock_monotonic() - run->since;

    BRG_ASSERT(run->why <= PROXY_CHECK_CONDITION);
    atomic_store(&made->took_us, took > 0 && took < UINT32_MAX ? (uint32_t)took : 0);
    atomic_store(&made->end, (uint32_t)run->why << 16 |
                                 (run->code > 0 && run->code < 65536 ? (uint32_t)run->code : 0));
    atomic_store(&made->at, run->loop->wall);
}

/* @return 0 */
static int check_failed(check_run *run, proxy_check_end why, int code)
{
    run->why = why;
    run->code = code;
    return 0;
}

static int check_unconnected(check_run *run, apr_status_t rv)
{
    return check_failed(run, APR_STATUS_IS_TIMEUP(rv) ? PROXY_CHECK_TIME : PROXY_CHECK_CONNECT, rv);
}

static void check_end(check_run *run, int ok)
{
    proxy_worker *w = run->of->worker;

    BRG_ASSERT(ok == (run->why == PROXY_CHECK_WELL));
    check_note(run);
    wheel_cancel(&run->loop->wheel, &run->timer);
    upstream_ticket_leave(&run->ticket);
    if (run->cc)
        upstream_close(run->cc);
    proxy_checked(w, ok, run->loop->wall);
    BRG_ASSERT(*run->prev == run);
    *run->prev = run->next;
    if (run->next)
        run->next->prev = run->prev;
    free(run);
}

/* A backend may keep the connection open behind its answer. @param n  bytes of the body that came */
static int check_is_whole(const check_run *run, const http_head *head, apr_size_t n)
{
    const proxy_check check = run->of->worker->params.check;
    const int is_head = check == PROXY_CHECK_HEAD || check == PROXY_CHECK_HEAD11;
    const h1_body_end end = h1_response_body(head, is_head ? HTTP_METHOD_HEAD : HTTP_METHOD_GET, 0);

    return end == H1_BODY_NONE || (end == H1_BODY_LENGTH && n >= head->content_length);
}

/* @return 1: well; 0: not; -1: more is needed */
static int check_judge(check_run *run, int ended)
{
    static const h1_limits limits = {.line = 8192, .field_size = 8192, .unsafe = 1};
    upstream_conn *cc = run->cc;
    http_head head;
    size_t scanned = 0;

    switch (h1_parse_response(&head, upstream_in(cc), upstream_in_size(cc), &scanned, &limits)) {
    case H1_MORE:
        return ended ? check_failed(run, PROXY_CHECK_CLOSED, 0) : -1;
    case H1_BAD:
        return check_failed(run, PROXY_CHECK_HEAD_BAD, 0);
    default:
        break;
    }
    run->code = head.code;
    if (!run->of->worker->params.check_expr || !*run->of->worker->params.check_expr)
        return head.code >= 200 && head.code < 400
                   ? 1
                   : check_failed(run, PROXY_CHECK_STATUS, head.code);
    if (!ended && upstream_in_size(cc) < CHECK_BODY_MOST &&
        !check_is_whole(run, &head, upstream_in_size(cc) - head.head_len))
        return -1;
    return proxy_check_passes(run->of->worker, &head, upstream_in(cc) + head.head_len,
                              upstream_in_size(cc) - head.head_len)
               ? 1
               : check_failed(run, PROXY_CHECK_CONDITION, head.code);
}

static int check_send(check_run *run)
{
    while (run->sent < run->of->ask_n) {
        const struct iovec iov = {(void *)(uintptr_t)(run->of->ask + run->sent),
                                  run->of->ask_n - run->sent};
        apr_size_t n;
        apr_status_t rv = upstream_send(run->cc, &iov, 1, 0, &n);

        if (rv == APR_EAGAIN)
            return -1;
        if (rv != APR_SUCCESS)
            return check_failed(run, PROXY_CHECK_CLOSED, 0);
        run->sent += n;
    }
    return 1;
}

/* @return as check_judge() */
static int check_go(check_run *run)
{
    apr_status_t rv = upstream_go(run->cc);
    int result;

    if (rv != APR_SUCCESS)
        return rv == APR_EAGAIN ? -1 : check_unconnected(run, rv);
    if (!run->of->ask)
        return 1;
    if ((result = check_send(run)) != 1)
        return result;
    for (;;) {
        rv = upstream_recv(run->cc, 2 * CHECK_BODY_MOST);
        if (rv == APR_EAGAIN)
            return upstream_in_size(run->cc) ? check_judge(run, 0) : -1;
        if (rv != APR_SUCCESS)
            return upstream_in_size(run->cc) ? check_judge(run, 1)
                                             : check_failed(run, PROXY_CHECK_CLOSED, 0);
    }
}

static void check_notified(void *baton)
{
    check_run *run = baton;
    int result;

    if (!run->cc) {
        apr_status_t rv = upstream_open(run->of->origin, run->loop, &run->ticket, &run->cc);

        if (rv == APR_EAGAIN)
            return;
        if (rv != APR_SUCCESS) {
            check_end(run, check_unconnected(run, rv));
            return;
        }
        run->cc->notify = check_notified;
        run->cc->baton = run;
    }
    result = check_go(run);
    if (result >= 0)
        check_end(run, result);
}

static void check_expired(struct loop_timer *timer)
{
    check_run *run = loop_io_of(timer, check_run, timer);

    check_end(run, check_failed(run, PROXY_CHECK_TIME, 0));
}

static void check_begin(const proxy_checked_worker *c, brg_loop *loop)
{
    check_run *run = calloc(1, sizeof *run);
    const apr_interval_time_t timeout = proxy_timeout(c->worker, c->worker->server);

    if (!run)
        return;
    run->of = c;
    run->loop = loop;
    run->since = clock_monotonic();
    run->prev = &check_runs;
    if ((run->next = check_runs))
        check_runs->prev = &run->next;
    check_runs = run;
    run->ticket.notify = check_notified;
    run->ticket.baton = run;
    run->timer.expired = check_expired;
    wheel_set(&loop->wheel, &run->timer, loop->monotonic + timeout);
    check_notified(run);
}

/* Of all processes, the first one makes it. */
static int check_is_mine(proxy_worker *w, apr_time_t now)
{
    int64_t last = atomic_load(&w->state->check_at);

    return now - last >= w->params.check_interval &&
           !(atomic_load(&w->state->status) & (PROXY_STATUS_STOPPED | PROXY_STATUS_FREE)) &&
           atomic_compare_exchange_strong(&w->state->check_at, &last, now);
}

void proxy_checks_run(apr_time_t now)
{
    brg_loop *loop = loop_self();

    if (!checks_n || !loop || loop->index || loop->draining || now - checks_looked < CHECK_LOOK_US)
        return;
    checks_looked = now;
    for (int i = 0; i < checks_n; i++)
        if (check_is_mine(checks[i].worker, now))
            check_begin(&checks[i], loop);
}
