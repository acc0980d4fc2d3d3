/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by a plan (proxy_plan.h): sent over an idle connection; and those that have to go the
 * full way. */
#include "proxy_plan.h"
#include "exchange_private.h"
#include "proxy_fields.h"
#include "proxy_growth.h"
#include "connection.h"
#include "h1_ahead.h"
#include "http_fields.h"
#include "loop.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static proxy_ahead *ahead_of(struct conn_ahead *base)
{
    return (proxy_ahead *)(void *)base;
}

/* ---- objects ---- */

#define AHEAD_SPARE 64 /* that a thread keeps */

static _Thread_local struct {
    struct loop_guest guest;
    brg_loop *loop;
    proxy_ahead *first; /* linked by bc */
    int n;
} ahead_spare;

/* The C library takes wider steps than the code of a compiler for a known size. */
static void *(*const volatile ahead_zero)(void *, int, size_t) = memset;

static void ahead_loop_ends(struct loop_guest *guest)
{
    (void)guest;
    while (ahead_spare.first) {
        proxy_ahead *a = ahead_spare.first;

        ahead_spare.first = (proxy_ahead *)(void *)a->bc;
        free(a);
    }
    ahead_spare.n = 0;
    ahead_spare.loop = NULL;
}

static proxy_ahead *ahead_get(void)
{
    proxy_ahead *a = ahead_spare.first;

    if (!a)
        return calloc(1, sizeof *a);
    ahead_spare.first = (proxy_ahead *)(void *)a->bc;
    ahead_spare.n--;
    return ahead_zero(a, 0, offsetof(proxy_ahead, last));
}

static void ahead_put(proxy_ahead *a)
{
    brg_loop *loop = loop_self();

    if (loop && ahead_spare.loop != loop) {
        ahead_spare.loop = loop;
        ahead_spare.guest.end = ahead_loop_ends;
        loop_guest_add(loop, &ahead_spare.guest);
    }
    if (!loop || ahead_spare.n >= AHEAD_SPARE) {
        free(a);
        return;
    }
    a->bc = (brg_conn *)(void *)ahead_spare.first;
    ahead_spare.first = a;
    ahead_spare.n++;
}

static void ahead_drop(struct conn_ahead *base)
{
    proxy_ahead *a = ahead_of(base);

    if (a->x.answer.begun && !a->logged && a->x.status != EXCHANGE_NEEDS_REQUEST)
        proxy_direct_told(a);
    if (a->x.state != EXCHANGE_DONE || a->x.cc || a->target.chosen)
        exchange_end(&a->x);
    apr_brigade_cleanup(a->x.in);
    apr_brigade_cleanup(a->x.out);
    if (a->x.pool)
        apr_pool_destroy(a->x.pool);
    if (a->part || a->log || a->kept || a->asked || a->coded)
        proxy_direct_end(a);
    cache_release(a->base.entry);
    ahead_put(a);
}

static h1_ahead_step ahead_go_on(brg_conn *bc);

static void ahead_told_later(void *baton)
{
    (void)baton;
}

static void ahead_full(struct conn_ahead *base)
{
    if (ahead_of(base)->x.cc)
        ahead_of(base)->x.cc->notify = ahead_told_later;
}

static const conn_ahead_kind ahead_kind = {
    .go_on = ahead_go_on, .full = ahead_full, .drop = ahead_drop};

/* ---- to the backend ---- */

static void ahead_told(void *baton)
{
    proxy_ahead *a = baton;

    if (a->bc->state == CONN_WAIT) /* a worker may have it, to read output from disk */
        loop_ready(a->bc->loop, a->bc);
}

/* @return 0: there is no memory */
static int ahead_keep(proxy_ahead *a, const char *text, size_t len)
{
    if (!(a->asked = malloc(len)))
        return 0;
    memcpy(a->asked, text, len);
    a->asked_len = (uint32_t)len;
    return 1;
}

/* All of it, over a connection that is idle. @return 0: nothing of it counts; the exchange connects */
static int ahead_send(proxy_exchange *x, char *text, size_t len)
{
    const struct iovec iov = {text, len};
    upstream_conn *cc = upstream_take(x->origin, x->loop);
    apr_size_t sent;

    BRG_ASSERT(len && len <= AHEAD_HEAD_MOST);
    if (!cc)
        return 0;
    if (upstream_send(cc, &iov, 1, 0, &sent) != APR_SUCCESS || sent != len) {
        upstream_close(cc); /* the backend has a part of a head at most */
        return 0;
    }
    x->cc = cc;
    cc->notify = exchange_told;
    cc->baton = x;
    x->body.ended = x->attempt.reused = 1;
    x->attempt.sent = (apr_off_t)len;
    x->attempt.connect_at = x->attempt.chosen_at;
    x->state = EXCHANGE_TALK;
    return 1;
}

/* The path that is sent, and the query. */
static const char *ahead_url(const proxy_plan *plan, const http_head *head, char *url, size_t room)
{
    const size_t len = ahead_write_path(plan, head, url, room - 1);

    url[len] = '\0';
    return len ? url : NULL;
}

/* Otherwise one would be chosen here, and another one by the request that is made then. */
static int ahead_members_are_plain(const proxy_plan *plan)
{
    const apr_array_header_t *members = proxy_members(plan->balancer);

    for (int i = 0; i < members->nelts; i++) {
        const proxy_worker *w = APR_ARRAY_IDX(members, i, proxy_worker *);

        if (!proxy_plans_for(w) || upstream_origin_settings(w->origin)->reuse != plan->reuses)
            return 0;
    }
    return 1;
}

static proxy_worker *ahead_balance(proxy_ahead *a, const http_head *head)
{
    char url[AHEAD_HEAD_MOST];
    proxy_asker asker = {.head = head,
                         .of_pool = a->x.client->pool,
                         .server = a->x.server,
                         .url = ahead_url(a->plan, head, url, sizeof url),
                         .client = ahead_client_ip(a->bc)};
    proxy_worker *w = asker.url ? proxy_balance(&asker, &a->target, a->bc->loop->wall) : NULL;

    a->x.pool = asker.pool;
    a->session = asker.session;
    return w;
}

/* The backend that is asked. @return NULL: the request has to be made */
static proxy_worker *ahead_choose(proxy_ahead *a, const http_head *head)
{
    proxy_worker *w = a->plan->worker;

    if (a->plan->balancer)
        return ahead_members_are_plain(a->plan) && ahead_will_fit(a->plan, head)
                   ? ahead_balance(a, head)
                   : NULL;
    return atomic_load(&w->state->status) & PROXY_STATUS_UNUSABLE ? NULL : w;
}

static void ahead_set_up(proxy_ahead *a)
{
    brg_conn *bc = a->bc;
    proxy_exchange *x = &a->x;

    exchange_set_up(x, bc->master ? &proxy_sink_stream : &proxy_sink_h1, h1_ahead_client(bc)->c,
                    a->plan->server);
    a->target.balancer = a->plan->balancer;
    x->target = &a->target;
    x->loop = bc->loop;
    x->ticket.notify = ahead_told;
    x->ticket.baton = a;
    x->body.over = 1;
    x->attempt.chosen_at = bc->loop->monotonic;
    x->state = EXCHANGE_CONNECT;
}

static void ahead_set_script(proxy_ahead *a)
{
    const proxy_plan_script *s = a->plan->script;

    a->target = s->target;
    a->target.url = a->url ? a->url : (const char *)s + s->text_at + s->url_at;
    a->x.origin = s->origin;
    a->x.codec = proxy_codec_of(s->target.scheme);
}

static void ahead_set_target(proxy_ahead *a, proxy_worker *w)
{
    a->target.worker = w;
    a->target.scheme = w->scheme;
    a->target.scheme_name = w->scheme_name;
    a->target.host = w->host;
    a->target.port = w->port;
    a->target.socket = w->socket;
    a->target.url = w->name;
    a->x.origin = w->origin;
    a->x.codec = proxy_codec_of(w->scheme);
}

static int ahead_begin_script(proxy_ahead *a, const http_head *head)
{
    proxy_worker *w = ahead_choose(a, head);

    if (!w || !ahead_write_script(a, head))
        return 0;
    ahead_set_script(a);
    proxy_worker_take(w);
    a->target.chosen = 1;
    return 1;
}

/* A member that was chosen is asked, and the full way goes on with it (proxy_ahead_member()). @return 0: nothing was done */
static int ahead_begin(proxy_ahead *a, const http_head *head)
{
    char text[AHEAD_HEAD_MOST];
    proxy_worker *w;
    size_t len;

    ahead_set_up(a);
    if (a->plan->script)
        return ahead_begin_script(a, head);
    if (!(w = ahead_choose(a, head)) || !(len = ahead_write(a->plan, w, a->bc, head, text)))
        return 0;
    ahead_set_target(a, w);
    if (!ahead_send(&a->x, text, len) && !ahead_keep(a, text, len))
        return 0;
    proxy_worker_take(w);
    a->target.chosen = 1;
    return 1;
}

/* A connection that is made. What is here already, a failure too, is looked at by go_on(). */
static void ahead_connect(proxy_ahead *a)
{
    proxy_exchange *x = &a->x;

    if (exchange_connect(x) == APR_SUCCESS && exchange_begin(x) == APR_SUCCESS)
        (void)exchange_send(x);
    a->base.again = x->state == EXCHANGE_DONE || (x->cc && x->cc->rd_ready);
}

int proxy_ahead_begin(const cache_plan *base, cache_entry *entry, brg_conn *bc,
                      const http_head *head)
{
    const proxy_plan *plan = (const proxy_plan *)(const void *)base;
    proxy_ahead *a;

    BRG_ASSERT(!bc->ahead && h1_ahead_client(bc)->c && loop_self() == bc->loop);
    if (!ahead_is_plain(head) || (plan->minor >= 0 && (uint8_t)plan->minor != head->minor) ||
        !(a = ahead_get()))
        return 0;
    a->base.kind = &ahead_kind;
    a->base.entry = entry;
    a->plan = plan;
    a->bc = bc;
    a->began = a->told.began = bc->loop->wall;
    if (!ahead_begin(a, head)) {
        if (a->x.pool)
            apr_pool_destroy(a->x.pool);
        free(a->asked);
        ahead_put(a);
        return 0;
    }
    cache_hold(entry);
    bc->ahead = &a->base;
    if (a->x.state == EXCHANGE_CONNECT)
        ahead_connect(a);
    a->base.due = bc->loop->monotonic + exchange_patience(&a->x);
    return 1;
}

/* ---- answers ---- */

static h1_ahead_step ahead_is_over(proxy_ahead *a)
{
    if (a->x.status == EXCHANGE_NEEDS_REQUEST)
        return H1_AHEAD_FULL;
    BRG_ASSERT(a->x.answer.passed);
    if (a->closes)
        a->bc->close_after = a->base.close || !a->base.minor ? CONN_SHUT : CONN_DRAIN;
    proxy_direct_told(a);
    return H1_AHEAD_ANSWERED;
}

static h1_ahead_step ahead_go_on(brg_conn *bc)
{
    proxy_ahead *a = ahead_of(bc->ahead);

    BRG_ASSERT(a->bc == bc);
    if (a->base.expired) {
        a->base.expired = 0;
        exchange_expired(&a->x);
    }
    if (exchange_go(&a->x) == APR_SUCCESS)
        return ahead_is_over(a);
    a->base.due = bc->loop->monotonic + exchange_patience(&a->x);
    a->base.answers = a->x.answer.begun;
    a->told.head = NULL; /* parsed once more when it is asked for */
    if (a->x.yields)
        loop_ready(bc->loop, bc);
    a->x.yields = 0;
    if (proxy_direct_keep(a))
        return H1_AHEAD_WAITS;
    bc->failed = a->logged = 1;
    return H1_AHEAD_ANSWERED;
}

/* ---- the full way goes on ---- */

/* Behind the plan's target: what is each request's own. */
static int ahead_sent_rest(const proxy_plan *plan, const char *rest, const request_rec *r)
{
    const char *own = r->unparsed_uri + plan->below;

    if (plan->below && strlen(r->unparsed_uri) <= plan->below)
        return 0;
    if (plan->below && plan->script) /* the query is a variable */
        return strlen(rest) == strcspn(own, "?") && !strncmp(rest, own, strlen(rest));
    if (plan->below)
        return !strcmp(rest, own);
    return !*rest || (plan->any_query && *rest == '?');
}

/* The path that was sent, less its query where that is the request's own. */
static int ahead_sent_path(const proxy_ahead *a, const char *path, const request_rec *r)
{
    const proxy_plan *plan = a->plan;
    const size_t method_len = strlen("GET "), len = plan->target_len - method_len;
    const char *prefix = plan->balancer ? a->target.worker->prefix : "";
    const size_t skip = strlen(prefix);

    return !strncmp(path, prefix, skip) && !strncmp(path + skip, plan->text + method_len, len) &&
           ahead_sent_rest(plan, path + skip + len, r);
}

/* The same place: that of a handler on a worker was made for its request. */
static int ahead_same_origin(const upstream_origin *a, const upstream_origin *b)
{
    const upstream_settings *of = upstream_origin_settings(a), *to = upstream_origin_settings(b);

    return a == b ||
           (!of->reuse && !to->reuse && of->path && to->path && !strcmp(of->path, to->path));
}

/* An error page is another request, and what a rule of the phases leads to, unless it led the plan's there, too. */
static int ahead_is_same_way(const proxy_ahead *a, const request_rec *r)
{
    const int led = a->plan->script && a->plan->script->led;

    return !r->main && (r->prev != NULL) == led && (!led || r->prev->status == HTTP_OK);
}

static int ahead_fits(const proxy_ahead *a, const proxy_exchange *x)
{
    return (x->state == EXCHANGE_CONNECT || x->state == EXCHANGE_BODY) && x->loop == a->bc->loop &&
           !x->body.exists && ahead_is_same_way(a, x->r) && x->codec == a->x.codec &&
           ahead_same_origin(x->origin, a->x.origin) && x->target->worker == a->target.worker &&
           ahead_sent_path(a, x->target->path, x->r);
}

proxy_worker *proxy_ahead_member(const request_rec *r, const proxy_balancer *b,
                                 proxy_session *session)
{
    const brg_conn *bc = connection_of(r->connection);
    const proxy_ahead *a = bc && bc->ahead ? ahead_of(bc->ahead) : NULL;

    if (!a || a->plan->balancer != b || r->prev || r->main)
        return NULL;
    *session = a->session;
    return a->target.worker;
}

/* A failure is told as if it had happened here. */
static void ahead_fail(const proxy_exchange *from, proxy_exchange *x)
{
    x->answer.bad = from->answer.bad ? apr_pstrdup(x->pool, from->answer.bad) : NULL;
    exchange_fail(x, from->failed.why, from->failed.error,
                  from->failed.text ? apr_pstrdup(x->pool, from->failed.text) : NULL);
}

static void ahead_hand_over(proxy_ahead *a, proxy_exchange *x)
{
    upstream_conn *cc = a->x.cc;

    BRG_ASSERT(!x->cc && x->target->chosen);
    x->cc = cc;
    x->attempt.reused = a->x.attempt.reused;
    x->attempt.chosen_at = a->x.attempt.chosen_at;
    x->attempt.connect_at = a->x.attempt.connect_at;
    x->r->request_time = a->began;
    if (a->x.attempt.sent || a->x.attempt.got) {
        x->answer.here = upstream_in_size(cc) > 0;
        x->attempt.got = x->answer.here ? 0 : a->x.attempt.got;
        x->attempt.sent = a->x.attempt.sent;
        x->body.over = x->body.ended = 1;
        proxy_tell_peer(&x->told, cc->peer, upstream_origin_settings(x->origin)->port);
        x->state = EXCHANGE_TALK;
        if (x->codec->resume)
            x->codec->resume(x);
    }
    if (cc) {
        cc->notify = exchange_told;
        cc->baton = x;
    }
    a->x.cc = NULL;
    a->x.attempt.sent = a->x.attempt.got = 0;
    if (a->x.failed.known)
        ahead_fail(&a->x, x);
}

void proxy_ahead_take(proxy_exchange *x)
{
    brg_conn *bc = connection_of(x->r->connection);
    struct conn_ahead *base = bc && bc->ahead ? h1_ahead_take(bc) : NULL;
    proxy_ahead *a;

    if (!base)
        return;
    a = ahead_of(base);
    if (ahead_fits(a, x))
        ahead_hand_over(a, x);
    ahead_drop(base);
}
