/* SPDX-License-Identifier: Apache-2.0 */
/* Sends an object that another request is fetching still, as it comes. */
#include "cached_private.h"
#include "conn.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"

#define GROWING_OUTPUT (256 * 1024) /* bytes that wait for the client */
#define GROWING_FIRST 4096 /* of the body: all that wait get so much before one of them gets more */

static int growing_cut(cached_request *q)
{
    request_rec *r = q->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    r->connection->keepalive = AP_CONN_CLOSE;
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_eoc_create(alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    (void)ap_pass_brigade(cached_filters_behind(r), bb);
    return OK;
}

/* How much of a body of this length is sent now; the rest comes in the next turn. */
static uint64_t growing_piece(const cached_request *q, uint64_t length)
{
    if (q->follow.sent || length <= GROWING_FIRST || !conn_on_loop())
        return length;
    cached_followers_soon(cached_place_here());
    return GROWING_FIRST;
}

int cached_growing_send(cached_request *q)
{
    request_rec *r = q->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb;
    uint64_t length, piece;
    store_state state;

    BRG_ASSERT(q->follow.grows && q->found.view.reader && q->follow.flight);
    store_flight_wait(cached_reader(cached_place_here()), q->follow.flight);
    if (brg_wait_output(r) > GROWING_OUTPUT)
        return cached_follow_wait(q, 1);
    state = store_view_state(&q->found.view, &length);
    if (length == q->follow.sent && state == STORE_WRITING)
        return cached_follow_wait(q, 0);
    if (length == q->follow.sent && state != STORE_COMPLETE)
        return growing_cut(q);
    bb = apr_brigade_create(r->pool, alloc);
    piece = growing_piece(q, length);
    if (piece < length)
        state = STORE_WRITING;
    if (piece > q->follow.sent)
        APR_BRIGADE_INSERT_TAIL(
            bb, cached_bucket(&q->found.view, q->follow.sent, piece - q->follow.sent, alloc));
    q->follow.sent = piece;
    APR_BRIGADE_INSERT_TAIL(bb, state == STORE_COMPLETE ? apr_bucket_eos_create(alloc)
                                                        : apr_bucket_flush_create(alloc));
    if (ap_pass_brigade(cached_filters_behind(r), bb) != APR_SUCCESS || r->connection->aborted ||
        state == STORE_COMPLETE)
        return OK;
    return cached_follow_wait(q, brg_wait_output(r) > GROWING_OUTPUT);
}

/* Conditions of the client are answered when all is there; ranges, too. */
static int growing_may_stream(const cached_request *q)
{
    const fresh_request *w = &q->request;

    return !w->range && !w->if_none_match && !w->if_modified_since && !w->if_match &&
           !w->if_unmodified_since;
}

/* Some of the body is there, too: until then another one may still be asked in place of a backend that fails. */
static int growing_has_begun(const cached_request *q)
{
    uint64_t length;

    return store_view_state(&q->found.view, &length) == STORE_COMPLETE || length;
}

/* The head is there, in a view that is open. @return 1: it is sent; *status */
int cached_growing_begin(cached_request *q, store_view *view, int *status)
{
    cached_request was = *q;

    q->found.view.reader = NULL;
    if (view->vary || !growing_may_stream(q) || !cached_open(q, view))
        store_release(view);
    else if (q->found.terms.flags & FRESH_T_PARTIAL)
        store_release(&q->found.view);
    else if (!growing_has_begun(q) ||
             !cached_serves(fresh_use_now(&q->found.terms, &q->request, &q->policy, brg_now())))
        store_release(&q->found.view);
    if (!q->found.view.reader) {
        q->found.view = was.found.view;
        q->found.terms = was.found.terms;
        q->found.stored = was.found.stored;
        q->found.soft = was.found.soft;
        return 0;
    }
    store_release(&was.found.view);
    q->follow.grows = 1;
    q->follow.sent = 0;
    cached_head_apply(q, 1);
    cached_head_is_stored(q->r);
    cached_tell(q, CACHED_COLLAPSED, "cache hit", 0);
    *status = cached_growing_send(q);
    return 1;
}
