/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a request whose memory system refused memory, mostly because of a limit.
 *
 * Code that allocates from pools does not expect a failure. So the pool continues with an emergency
 * reserve, and the request ends at the next point where it can: with 503, or the status that the memory
 * system has, if no head was sent; else by closing the connection, unless the response was completed.
 * No other request is affected.
 *
 * An error page or a redirection is sent, and a response that has begun continues, unless it is about to
 * use up the reserve.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "memory_refusal.h"
#include "memory_scope.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

/* How much of the reserve a response that has begun may use, and an error page. */
#define REFUSAL_COMPLETES ((apr_size_t)1 << 20)
#define REFUSAL_PAGE ((apr_size_t)1 << 20)

static void refusal_close(conn_rec *c)
{
    c->aborted = 1;
    c->keepalive = AP_CONN_CLOSE;
}

/* The request that is answered: above subrequests, behind internal redirects. */
static request_rec *refusal_answered(request_rec *r)
{
    while (r->main)
        r = r->main;
    while (r->next)
        r = r->next;
    BRG_ASSERT(!r->main && !r->next);
    return r;
}

/* Whether a head was made, for the request or one in its place. */
static int refusal_head_made(request_rec *r)
{
    for (r = refusal_answered(r); r; r = r->prev)
        if (r->sent_bodyct)
            return 1;
    return 0;
}

static int (*refusal_body_is_over)(request_rec *r);

void memory_refusal_asks(int (*body_is_over)(request_rec *r))
{
    BRG_ASSERT(body_is_over);
    refusal_body_is_over = body_is_over;
}

int memory_refusal_stops(request_rec *r, apr_bucket_brigade *bb, apr_status_t *result)
{
    apr_size_t used = memory_pool_reserve_used(r->pool);
    int page = refusal_answered(r)->status >= HTTP_MULTIPLE_CHOICES;
    int begun = refusal_head_made(r);
    int hopeless = used > (begun && !page ? REFUSAL_COMPLETES : ALLOCATOR_RESERVE - REFUSAL_PAGE);

    BRG_ASSERT(result && brg_pool_refused(r->pool));
    if (!hopeless && (begun || page))
        return 0;
    apr_brigade_cleanup(bb);
    if (hopeless)
        refusal_close(r->connection);
    *result = r->connection->aborted ? APR_ECONNABORTED : APR_ENOMEM;
    return 1;
}

int memory_refusal_result(request_rec *r, int status)
{
    int sent = refusal_head_made(r), refused = brg_pool_refusal_status(r->pool);

    BRG_ASSERT(brg_pool_refused(r->pool));
    if (sent && !refusal_answered(r)->eos_sent &&
        memory_pool_reserve_used(r->pool) > REFUSAL_COMPLETES)
        refusal_close(r->connection); /* whoever was to complete it may have given up */
    if (r->connection->aborted || sent) {
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, 0, r, "the request needs more memory than it may have: %s",
            r->connection->aborted ? "the connection is closed" : "its response was complete");
        return status;
    }
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "the request needs more memory than it may have: answered with %d", refused);
    return refused;
}

int memory_refusal_unanswered(request_rec *r)
{
    return !r->connection->aborted && !refusal_head_made(r) ? memory_refusal_result(r, OK) : OK;
}

int memory_refusal_keeps(request_rec *r)
{
    return brg_pool_refused(r->pool) == BRG_POOL_REFUSED &&
           r->status == brg_pool_refusal_status(r->pool) && refusal_body_is_over &&
           refusal_body_is_over(r);
}

void memory_refusal_of_connection(conn_rec *c)
{
    BRG_ASSERT(brg_pool_refused(c->pool));
    ap_log_cerror(
        APLOG_MARK, APLOG_ERR, 0, c,
        "the connection needs more memory than it may have: it is closed after this response");
    c->keepalive = AP_CONN_CLOSE;
}

void memory_refusal_cuts(conn_rec *c)
{
    if (brg_pool_refused(c->pool) != BRG_POOL_RESERVE_LOW)
        return;
    ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, c,
                  "the connection needs far more memory than it may have: it is closed");
    refusal_close(c);
}
