/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last part of a request: its handler or error document, and the EOR bucket, which ends it when
 * the response is written. On an event loop, a step that would wait is left to a worker.
 */
#include "configuration.h"
#include "connection.h"
#include "conn.h"
#include "handler_private.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "memory_refusal.h"
#include "mod_core.h"
#include "redirect_private.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "request_parts.h"
#include "request_wait_private.h"
#include "request_wait.h"

#include "apr_strings.h"

#include <pthread.h>

APLOG_USE_MODULE(core);

static void (*request_answered)(request_rec *r);

void request_on_answered(void (*fn)(request_rec *r))
{
    request_answered = fn;
}

/* Threads and timed callbacks of modules wait for this lock before they touch a request whose handler still
 * runs. The server's own modules give their requests to no other thread, and most requests on a loop have no handler of
 * another one: they need no lock. */
static void request_lock(request_rec *r)
{
#if APR_HAS_THREADS
    if (!r->invoke_mtx && conf_has_module_files() &&
        ((r->handler && !r->proxyreq) || !conn_on_loop()))
        apr_thread_mutex_create(&r->invoke_mtx, APR_THREAD_MUTEX_DEFAULT, r->pool);
    if (r->invoke_mtx)
        apr_thread_mutex_lock(r->invoke_mtx);
#endif
}

static void request_unlock(request_rec *r)
{
#if APR_HAS_THREADS
    if (r->invoke_mtx)
        apr_thread_mutex_unlock(r->invoke_mtx);
#endif
}

/* ---- requests that a module continues on another thread (SUSPENDED) ---- */

static pthread_mutex_t suspended_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t suspended_ended = PTHREAD_COND_INITIALIZER;

/* The worker waits: nobody else may touch the connection until the module is done with it. The
 * request is gone by then, and may be so before. */
void request_await_module(conn_rec *c)
{
    pthread_mutex_lock(&suspended_lock);
    while (c->cs->state == CONN_STATE_SUSPENDED)
        pthread_cond_wait(&suspended_ended, &suspended_lock);
    pthread_mutex_unlock(&suspended_lock);
}

/* No lock for a request that was never suspended: no other thread has it. The thread of a module that has one
 * waited for the request's own lock (request_lock()) before, and so sees the state. */
static void request_set_state(conn_rec *c, conn_state_e state)
{
    int was_suspended;

    BRG_ASSERT(c->cs != NULL);
    if (!connection_of(c) ||
        (c->cs->state != CONN_STATE_SUSPENDED && state != CONN_STATE_SUSPENDED)) {
        c->cs->state = state;
        return;
    }
    pthread_mutex_lock(&suspended_lock);
    was_suspended = c->cs->state == CONN_STATE_SUSPENDED;
    c->cs->state = state;
    if (was_suspended)
        pthread_cond_broadcast(&suspended_ended);
    pthread_mutex_unlock(&suspended_lock);
}

/* ---- responses that filters lost ---- */

/* The request whose response is sent: the last of internal redirects and error documents. */
static request_rec *request_last(request_rec *r)
{
    while (r->next)
        r = r->next;
    return r;
}

/* 0: the end of the response did not reach HTTP_OUTERROR, because a filter could not read the body or gave
 * up. 1 also if that filter is not on the chain: whoever removed it ends the response itself; and behind a 101
 * there is no end. */
static int request_came_through(const request_rec *r)
{
    if (r->status == HTTP_SWITCHING_PROTOCOLS)
        return 1;
    for (const ap_filter_t *f = r->proto_output_filters; f; f = f->next)
        if (f->frec == ap_http_outerror_filter_handle)
            return f->ctx != NULL;
    return 1;
}

/* 1: the response ended, nothing of it was sent, and the client waits for one. */
static int request_may_answer_again(const request_rec *r)
{
    return r->eos_sent && !r->sent_bodyct && !r->connection->aborted && !request_came_through(r) &&
           request_head_is_unsent(r);
}

/* A handler's result, or 500 if its response was lost. */
static int request_lost_status(const request_rec *r, int status)
{
    if (r->next || (status != OK && status != DONE && status != AP_FILTER_ERROR) ||
        !request_may_answer_again(r))
        return status;
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* If the response of an error document was lost, there is no second error document. */
static void request_answer_lost(request_rec *r)
{
    request_rec *last = request_last(r);

    if (request_may_answer_again(last))
        request_die(HTTP_INTERNAL_SERVER_ERROR, last,
                    ap_is_HTTP_ERROR(last->status) ? last->status : HTTP_INTERNAL_SERVER_ERROR);
}

/* The client waits for the rest of a response, and would read the next one as such: the connection ends. */
static void request_cut_off(request_rec *r)
{
    conn_rec *c = r->connection;

    if (c->aborted || !connection_of(c) || request_came_through(request_last(r)))
        return;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "the response could not be completed: connection closed");
    c->keepalive = AP_CONN_CLOSE;
}

static int request_handle(request_rec *r)
{
    conn_rec *c = r->connection;
    int status;

    request_lock(r);
    status = handler_run(r);
    if (request_waits(c)) {
        request_unlock(r);
        return SUSPENDED;
    }
    if (status == SUSPENDED) {
        if (c->cs)
            request_set_state(c, CONN_STATE_SUSPENDED);
        request_unlock(r);
        /* A module continues it, and ends it by ap_process_request_after_handler(). */
        if (c->cs && connection_of(c) && !conn_on_loop())
            request_await_module(c);
        return status;
    }
    request_unlock(r);
    return request_lost_status(r, memory_request_status(r, status));
}

static int request_check_memory(request_rec *r, int status)
{
    if (__builtin_expect(brg_pool_refused(r->connection->pool), 0))
        memory_refusal_of_connection(r->connection);
    return memory_request_status(r, status);
}

/* @return 1: the redirect's target is left to a worker */
static int request_is_followed(const request_rec *r, int *status)
{
    if (!redirect_is_left(r))
        return 0;
    *status = REQUEST_FOLLOW_PENDING;
    return 1;
}

static request_end request_over(request_rec *r)
{
    if (request_answered)
        request_answered(r);
    ap_process_request_after_handler(r);
    return REQUEST_ENDED;
}

/* As nearly all: the handler itself passed all of the response down, which can be neither lost nor redirected any more. */
static int request_is_whole(const request_rec *r, int status)
{
    return status == OK && r->eos_sent && r->sent_bodyct && !r->next;
}

/* The response was passed down, by whatever request. @param left  [out] with REQUEST_LEFT */
static request_end request_answer_end(request_rec *r, int *left)
{
    int status;

    if (request_waits(r->connection)) /* the handler of an error document */
        return REQUEST_WAITS;
    if (__builtin_expect(brg_pool_refused(r->pool), 0) &&
        (status = memory_refusal_unanswered(r)) != OK)
        request_die(status, r, HTTP_OK);
    if (!request_is_followed(r, left))
        request_answer_lost(r);
    if (request_waits(r->connection))
        return REQUEST_WAITS;
    if (request_is_followed(r, left))
        return REQUEST_LEFT;
    return request_over(r);
}

static request_end request_answer(request_rec *r, int status)
{
    request_die(status, r, HTTP_OK);
    return request_answer_end(r, &status);
}

/* The response, or an error document, of r or of its redirect's target. */
static request_end request_answer_on_loop(request_rec *first, request_rec *r, int *status)
{
    if (r == first && request_is_whole(r, *status)) {
        ap_finalize_request_protocol(r);
        return request_over(r);
    }
    if (r == first)
        request_die(*status, r, HTTP_OK);
    else
        ap_die(*status, r);
    if (request_is_followed(first, status))
        return REQUEST_LEFT;
    return request_answer_end(first, status);
}

request_end request_finish_on_loop(request_rec *r, int *status)
{
    const conn_rec *c = r->connection;

    BRG_ASSERT(conn_on_loop());
    if (*status == SUSPENDED && request_waits(c)) /* a hook of access control */
        return REQUEST_WAITS;
    request_allow_follow(r);
    *status = request_check_memory(r, *status);
    if (*status == OK) {
        request_allow_rerun(r);
        *status = request_handle(r); /* SUSPENDED: a module's thread may have ended r by now */
        if (request_waits(c))
            return REQUEST_WAITS;
        if (*status == SUSPENDED) /* a worker waits for the module to end it */
            return REQUEST_LEFT;
        if (request_takes_rerun(r, status) || request_is_followed(r, status))
            return REQUEST_LEFT;
    }
    return request_answer_on_loop(r, r, status);
}

request_end request_go_on(request_rec *first, request_rec *r, int *status)
{
    BRG_ASSERT(conn_on_loop() && !first->prev);
    if (request_waits(r->connection))
        return REQUEST_WAITS;
    if ((r == first && request_takes_rerun(r, status)) || request_is_followed(first, status))
        return REQUEST_LEFT;
    *status = request_lost_status(r, request_check_memory(r, *status));
    return request_answer_on_loop(first, r, status);
}

void request_follow(request_rec *r)
{
    int status = OK;

    BRG_ASSERT(!conn_on_loop());
    request_lock(r);
    redirect_follow(r);
    request_unlock(r);
    if (!request_waits(r->connection))
        request_answer_end(r, &status);
}

void request_go_on_gone(request_rec *first)
{
    connection_abort(first->connection);
    request_over(first);
}

void request_finish(request_rec *r, int status)
{
    BRG_ASSERT(status != SUSPENDED);
    status = request_check_memory(r, status);
    if (status == OK)
        status = request_handle(r);
    if (status != SUSPENDED && !request_waits(r->connection))
        request_answer(r, status);
}

void request_end_with_error(request_rec *r, int status, int retry_s)
{
    request_rec *last = request_last(r); /* it has the filters, if r was redirected */

    BRG_ASSERT(ap_is_HTTP_ERROR(status) && retry_s >= 0);
    BRG_ASSERT(!r->main && !r->prev);
    if (retry_s)
        apr_table_setn(last->err_headers_out, "Retry-After", apr_itoa(r->pool, retry_s));
    last->status = status;
    r->connection->keepalive = AP_CONN_CLOSE;
    ap_send_error_response(last, 0);
    request_over(r);
}

AP_DECLARE(void) ap_process_request_after_handler(request_rec *r)
{
    conn_rec *c = r->connection;
    apr_bucket_brigade bb = {.p = c->pool, .bucket_alloc = c->bucket_alloc};

    request_cut_off(r);
    APR_RING_INIT(&bb.list, apr_bucket, link);
    APR_BRIGADE_INSERT_TAIL(&bb, ap_bucket_eor_create(c->bucket_alloc, r));
    ap_pass_brigade(c->output_filters, &bb);
    /* If no filter took the bucket, the request ends here. Either way r must not be touched any more. */
    apr_brigade_cleanup(&bb);

    if (!connection_of(c)) {
        /* Connections that the server drives know their read bytes. */
        c->data_in_input_filters =
            ap_check_pipeline(c, &bb, DEFAULT_LIMIT_BLANK_LINES) == APR_SUCCESS;
        apr_brigade_cleanup(&bb);
    }
    if (c->cs)
        request_set_state(c, c->aborted ? CONN_STATE_LINGER : CONN_STATE_WRITE_COMPLETION);
}

AP_DECLARE(void) ap_process_request(request_rec *r)
{
    conn_rec *c = r->connection;
    apr_bucket_brigade bb = {.p = c->pool, .bucket_alloc = c->bucket_alloc};

    ap_process_async_request(r);
    if (c->aborted || c->data_in_input_filters)
        return; /* more responses follow: they take this one along */
    APR_RING_INIT(&bb.list, apr_bucket, link);
    APR_BRIGADE_INSERT_TAIL(&bb, apr_bucket_flush_create(c->bucket_alloc));
    ap_pass_brigade(c->output_filters, &bb);
    apr_brigade_cleanup(&bb);
}
