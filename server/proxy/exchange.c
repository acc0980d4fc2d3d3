/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange: states, tries, and the two directions of its connection (proxy_exchange.h). */
#include "exchange_private.h"
#include "clock.h"
#include "connection.h"
#include "loop.h"
#include "brigade/assert.h"
#include <string.h>

#define EXCHANGE_IOV 32

apr_time_t exchange_now(const proxy_exchange *x)
{
    return x->loop ? x->loop->monotonic : clock_monotonic();
}

void exchange_set_up(proxy_exchange *x, const proxy_sink *sink, conn_rec *client, server_rec *s)
{
    x->sink = sink;
    x->client = client;
    x->server = s;
    x->alloc = client->bucket_alloc;
    for (int i = 0; i < 3; i++)
        exchange_brigade(x, &x->own[i]);
    x->out = &x->own[0];
    x->in = &x->own[1];
    x->body.kept = &x->own[2];
}

void exchange_of_request(proxy_exchange *x, request_rec *r)
{
    x->r = r;
    x->pool = r->pool;
    exchange_set_up(x, &proxy_sink_request, r->connection, r->server);
    x->method = r->method;
    x->uri = r->uri;
    x->is_head = r->header_only != 0;
    proxy_settings_for(r, &x->conf);
}

apr_pool_t *exchange_pool(proxy_exchange *x)
{
    if (!x->pool)
        apr_pool_create(&x->pool, x->client->pool);
    return x->pool;
}

void exchange_done(proxy_exchange *x, int status)
{
    x->state = EXCHANGE_DONE;
    x->status = status;
    x->body.wanted = x->wants_room = 0;
}

void exchange_drop(proxy_exchange *x)
{
    if (x->codec && x->codec->mux && (x->cc || x->script)) {
        x->codec->mux->leave(x);
        return;
    }
    if (x->cc)
        upstream_close(x->cc);
    x->cc = NULL;
}

void exchange_give_back(proxy_exchange *x)
{
    upstream_conn *cc = x->cc;

    if (!cc)
        return;
    if (x->codec->mux) {
        x->codec->mux->leave(x);
        return;
    }
    BRG_ASSERT(cc->baton == x); /* nobody else has it */
    x->cc = NULL;
    if (x->keep && x->answer.complete && x->body.ended && !x->out_n && !x->body.held)
        upstream_keep(cc);
    else
        upstream_close(cc);
}

void exchange_release(proxy_exchange *x)
{
    if (x->target->chosen)
        proxy_release(x->r, x->target, x->attempt.sent, x->attempt.got);
}

struct brg_loop *exchange_loop(const proxy_exchange *x)
{
    return x->loop ? x->loop : connection_of(x->r->connection)->loop;
}

void exchange_end(proxy_exchange *x)
{
    exchange_spool_end(x);
    upstream_ticket_leave(&x->ticket);
    exchange_drop(x);
    exchange_release(x);
    x->state = EXCHANGE_DONE;
    BRG_ASSERT(!x->cc && !x->body.spool);
}

/* ---- talking ---- */

static int talk_gather(proxy_exchange *x, struct iovec *iov)
{
    int n = 0;

    for (apr_bucket *e = APR_BRIGADE_FIRST(x->out);
         e != APR_BRIGADE_SENTINEL(x->out) && n < EXCHANGE_IOV; e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS || !len)
            continue;
        iov[n].iov_base = (void *)(uintptr_t)data;
        iov[n++].iov_len = len;
    }
    return n;
}

static void talk_sent(proxy_exchange *x, apr_size_t n)
{
    BRG_ASSERT((apr_off_t)n <= x->out_n);
    x->attempt.sent += (apr_off_t)n;
    x->out_n -= (apr_off_t)n;
    while (!APR_BRIGADE_EMPTY(x->out)) {
        apr_bucket *e = APR_BRIGADE_FIRST(x->out);

        if (e->length > n) {
            if (n) {
                apr_bucket_split(e, n);
                apr_bucket_delete(e);
            }
            return;
        }
        n -= e->length;
        apr_bucket_delete(e);
    }
}

/* A backend that answers and closes before it has read all is heard all the same. A request in
 * memory may be sent once more. */
static void talk_send_failed(proxy_exchange *x, apr_status_t error)
{
    BRG_ASSERT(x->cc && x->state != EXCHANGE_DONE);
    x->attempt.send_error = error;
    apr_brigade_cleanup(x->out);
    x->out_n = 0;
    if (!x->body.over || exchange_spooled(x))
        x->body.lost = 1;
    exchange_spool_forget(x);
    x->body.ended = 0;
    x->body.over = 1;
    x->cc->rd_ready = 1;
}

/* @return 1: something was sent */
int exchange_send(proxy_exchange *x)
{
    struct iovec iov[EXCHANGE_IOV];
    apr_size_t n;
    int any = 0;

    if (x->codec->mux)
        return x->codec->mux->send(x);
    while (x->out_n) {
        apr_status_t rv = upstream_send(x->cc, iov, talk_gather(x, iov), 0, &n);

        if (rv == APR_EAGAIN)
            return any;
        if (rv != APR_SUCCESS) {
            if (x->state == EXCHANGE_TUNNEL)
                exchange_tunnel_broken(x, rv);
            else
                talk_send_failed(x, rv);
            return any;
        }
        talk_sent(x, n);
        any = 1;
    }
    return any;
}

static uint32_t talk_head_most(const proxy_exchange *x)
{
    const apr_size_t size = x->target->worker->params.field_size;

    return size > EXCHANGE_HEAD_MOST / 2 ? (uint32_t)size * 2 : EXCHANGE_HEAD_MOST;
}

static apr_status_t talk_take(proxy_exchange *x)
{
    apr_status_t rv;

    do
        rv = x->codec->take(x);
    while (rv == APR_SUCCESS && !x->answer.complete && x->state == EXCHANGE_TALK &&
           upstream_in_size(x->cc));
    return rv == APR_EAGAIN ? APR_SUCCESS : rv;
}

/* What came and was not sent. */
static void talk_pass_kept(proxy_exchange *x)
{
    if (x->answer.gathers || x->answer.keeps)
        x->sink->pass(x);
    x->answer.gathers = 0;
}

static void talk_broken(proxy_exchange *x, apr_status_t rv)
{
    x->answer.breaks = x->answer.begun;
    talk_pass_kept(x);
    if (x->state == EXCHANGE_TALK)
        exchange_fail(x, PROXY_FAILED_BROKEN, APR_STATUS_IS_EOF(rv) ? 0 : rv, x->answer.bad);
}

/* Of a connection that others use, too. @return as talk_receive() */
static apr_status_t talk_receive_shared(proxy_exchange *x)
{
    const apr_status_t rv = x->codec->mux->receive(x);

    if (rv != APR_SUCCESS && rv != APR_EAGAIN)
        talk_broken(x, rv);
    return rv;
}

static apr_status_t talk_read(proxy_exchange *x)
{
    const uint32_t before = upstream_in_size(x->cc);
    apr_status_t rv = x->codec->receive ? x->codec->receive(x) : APR_ENOTIMPL;

    if (rv != APR_ENOTIMPL)
        return rv;
    if (x->answer.here) {
        x->answer.here = 0;
        x->attempt.got += before;
        return talk_take(x);
    }
    rv = upstream_recv(x->cc, talk_head_most(x));
    if (rv != APR_SUCCESS)
        return rv;
    x->attempt.got += upstream_in_size(x->cc) - before;
    return talk_take(x);
}

/* One read. @return APR_SUCCESS: go on; APR_EAGAIN: nothing is there; else it is over */
static apr_status_t talk_receive(proxy_exchange *x)
{
    apr_status_t rv = talk_read(x);

    if (rv == APR_EAGAIN)
        return rv;
    if ((x->answer.begun || x->sink->ahead) && APR_STATUS_IS_EOF(rv))
        rv = x->codec->end(x);
    else if (rv == APR_ENOSPC)
        x->answer.bad = "the head is too large";
    if (rv == APR_SUCCESS)
        return rv;
    talk_broken(x, rv);
    return rv;
}

/* The beginning of an answer, of which more is here, leaves with that. An answer that says no length gets none by it. */
static int talk_gathers(const proxy_exchange *x)
{
    apr_off_t n = 0;

    if (x->answer.passed || x->h1.end != H1_BODY_LENGTH || x->codec->mux || !exchange_has_more(x) ||
        APR_BRIGADE_EMPTY(x->in))
        return 0;
    (void)apr_brigade_length(x->in, 0, &n);
    return n < EXCHANGE_GATHERED;
}

/* Nothing more is here. A backend that got a part of the request alone would be waited for in vain.
 * @return APR_EAGAIN, or APR_SUCCESS: the client has left, or the exchange failed */
static apr_status_t talk_pause(proxy_exchange *x)
{
    talk_pass_kept(x);
    if (x->attempt.send_error && x->state == EXCHANGE_TALK)
        talk_broken(x, x->attempt.send_error);
    return x->state == EXCHANGE_TALK ? APR_EAGAIN : APR_SUCCESS;
}

/* Less, if the block was given away. */
static void talk_take_lent(proxy_exchange *x)
{
    const uint32_t n = x->answer.lent + x->answer.behind, here = upstream_in_size(x->cc);

    upstream_in_take(x->cc, n < here ? n : here);
}

/* The last piece goes to the client after the connection went to the next request, unless that has it still. */
static void talk_finish(proxy_exchange *x)
{
    BRG_ASSERT(x->answer.begun && x->answer.complete);
    if (x->sink->lends) {
        x->sink->pass(x);
        if (x->state != EXCHANGE_TALK)
            return;
        talk_take_lent(x);
    }
    exchange_give_back(x);
    exchange_release(x);
    exchange_done(x, x->status);
    if (!x->sink->lends)
        x->sink->pass(x);
}

/* The waits for the client count for all of an answer: a client that takes a little now and then is
 * slow, too. */
static void talk_count_behind(proxy_exchange *x)
{
    const apr_time_t now = exchange_now(x);

    BRG_ASSERT(x->loop && x->answer.passed); /* a worker waits by itself */
    if (x->answer.behind_at)
        x->answer.behind_us += now - x->answer.behind_at;
    x->answer.behind_at = now;
    if (x->answer.behind_us >= EXCHANGE_PATIENCE_US)
        x->answer.spools = 1;
}

/* The client has not taken much of the passed output: the backend waits, unless the rest can wait
 * on disk. @return 1: wait for room */
int exchange_is_behind(proxy_exchange *x, brg_conn *bc)
{
    const apr_size_t waits = core_output_memory(bc);

    if (waits <= EXCHANGE_SPOOLED)
        return 0;
    if (core_output_is_pressed(bc))
        x->answer.spools = 1;
    if (!x->answer.spools && waits <= EXCHANGE_BEHIND)
        return 0;
    talk_count_behind(x);
    if (x->answer.spools)
        (void)core_output_park(bc); /* where it cannot, the client is waited for */
    x->wants_room = 1;
    return 1;
}

static int talk_is_behind(proxy_exchange *x)
{
    x->wants_room = 0;
    return x->loop && x->answer.passed && x->sink->is_behind(x);
}

/* 1: more of the body is to be sent */
static int talk_has_body(const proxy_exchange *x)
{
    return !x->body.holds && (!x->body.over || exchange_spool_left(x));
}

int exchange_brings_body(const proxy_exchange *x)
{
    return x->state == EXCHANGE_TALK && talk_has_body(x) && !x->out_n && !x->body.held;
}

/* Until the client has no more, or the backend takes no more. @return 0: the body cannot be read */
static int talk_forward(proxy_exchange *x)
{
    int any;

    do {
        if (exchange_body_pump(x) != APR_SUCCESS) {
            exchange_drop(x);
            exchange_done(x, x->status);
            return 0;
        }
        any = exchange_send(x);
    } while (any && talk_has_body(x));
    return 1;
}

static int talk_yields(proxy_exchange *x, apr_off_t from)
{
    if (!x->loop || x->answer.gathers || x->attempt.got - from < EXCHANGE_TURN ||
        !x->sink->works(x))
        return 0;
    x->yields = 1;
    return 1;
}

static apr_status_t exchange_talk(proxy_exchange *x)
{
    const apr_off_t from = x->attempt.got;
    apr_status_t rv;

    BRG_ASSERT(x->state == EXCHANGE_TALK && x->cc);
    x->body.wanted = 0;
    if ((x->out_n || x->codec->mux || talk_has_body(x)) && !talk_forward(x))
        return APR_EGENERAL;
    for (;;) {
        if (talk_is_behind(x))
            return APR_EAGAIN;
        x->answer.behind_at = 0;
        rv = x->codec->mux ? talk_receive_shared(x) : talk_receive(x);
        if (x->state != EXCHANGE_TALK)
            return APR_SUCCESS;
        if (rv == APR_EAGAIN)
            return talk_pause(x);
        if (x->answer.complete) {
            talk_finish(x);
            return APR_SUCCESS;
        }
        if (x->out_n) /* the codec's reply to received bytes */
            (void)exchange_send(x);
        x->answer.gathers = (uint8_t)talk_gathers(x);
        if (!x->answer.gathers && !APR_BRIGADE_EMPTY(x->in))
            x->sink->pass(x);
        if (x->state != EXCHANGE_TALK)
            return APR_SUCCESS;
        if (x->loop && talk_has_body(x) && !talk_forward(x)) /* a 100 came, or room */
            return APR_EGENERAL;
        if (talk_yields(x, from))
            return APR_EAGAIN;
    }
}

/* ---- all of it ---- */

apr_status_t exchange_go(proxy_exchange *x)
{
    apr_status_t rv;

    for (;;) {
        switch (x->state) {
        case EXCHANGE_CHOOSE:
            return APR_EAGAIN;
        case EXCHANGE_BODY:
            rv = exchange_body_whole(x);
            if (rv == APR_EAGAIN)
                return rv;
            if (rv == APR_SUCCESS)
                x->state = EXCHANGE_CONNECT;
            else
                exchange_done(x, x->status);
            break;
        case EXCHANGE_CONNECT:
            x->body.wanted = 0;
            rv = exchange_connect(x);
            if (rv == APR_EAGAIN)
                return rv;
            if (rv == APR_SUCCESS)
                exchange_begin(x);
            break;
        case EXCHANGE_TALK:
            rv = exchange_talk(x);
            if (rv == APR_EAGAIN)
                return rv;
            break;
        case EXCHANGE_TUNNEL:
            rv = exchange_tunnel_go(x);
            if (rv == APR_EAGAIN)
                return rv;
            break;
        case EXCHANGE_DONE:
            return APR_SUCCESS;
        }
    }
}
