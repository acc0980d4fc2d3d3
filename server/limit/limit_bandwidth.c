/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes a second. A key is charged as bytes are sent, by all its requests together; a request that
 * is ahead of the time by more than the burst waits. The filter waits on its thread, so such a
 * request runs on a worker; answers from memory that the burst allows do not come here.
 */
#include "limit_private.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"

#define PIECE_LEAST 4096  /* bytes that are sent at a time, */
#define PIECE_PART 8      /* or this part of a second's */
#define WAIT_MOST 1000000 /* microseconds before the clock is read again */

static ap_filter_rec_t *bandwidth_filter;

typedef struct bandwidth {
    const limit *l;
    uint64_t key;
    apr_off_t piece;
    apr_bucket_brigade *held;
} bandwidth;

void limit_bandwidth_add(request_rec *r, const limit *l, uint64_t key)
{
    bandwidth *b = apr_pcalloc(r->pool, sizeof *b);
    const double rate = (double)(1 << 20) * 1e9 / (double)l->each;

    BRG_ASSERT(l->measure == LIMIT_BANDWIDTH);
    b->l = l;
    b->key = key;
    b->piece = (apr_off_t)(rate / PIECE_PART);
    if (b->piece < PIECE_LEAST)
        b->piece = PIECE_LEAST;
    ap_add_output_filter_handle(bandwidth_filter, b, r, r->connection);
}

/* A file that the burst allows needs no waiting, so it may be sent by a loop, and from memory the next time. */
static int bandwidth_allows(const request_rec *r, const bandwidth *b)
{
    const uint64_t ahead = limit_rate_ahead(&limit_shared, b->key, limit_now());

    return b->l->is_dry ||
           (r->finfo.filetype == APR_REG && r->finfo.size <= (apr_off_t)b->l->most &&
            ahead + limit_cost(b->l, r->finfo.size) <= b->l->burst);
}

static void bandwidth_insert(request_rec *r)
{
    for (ap_filter_t *f = r->output_filters; limit_all && f; f = f->next)
        if (f->frec == bandwidth_filter && !bandwidth_allows(r, f->ctx))
            brg_request_needs_worker(r);
}

/* Until the key may send again. */
static void bandwidth_wait(const bandwidth *b, const conn_rec *c)
{
    uint64_t ahead;

    while (!c->aborted && !brg_thread_is_loop() &&
           (ahead = limit_rate_ahead(&limit_shared, b->key, limit_now())) > b->l->burst) {
        const uint64_t us = (ahead - b->l->burst) / 1000 + 1;

        apr_sleep((apr_interval_time_t)(us < WAIT_MOST ? us : WAIT_MOST));
    }
}

/* Move at most a piece from held to @a out. */
static apr_status_t bandwidth_cut(bandwidth *b, apr_bucket_brigade *out, apr_off_t *len)
{
    apr_bucket *end;
    apr_status_t rv = apr_brigade_partition(b->held, b->piece, &end);

    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
        return rv;
    while (!APR_BRIGADE_EMPTY(b->held) && APR_BRIGADE_FIRST(b->held) != end) {
        apr_bucket *first = APR_BRIGADE_FIRST(b->held);

        APR_BUCKET_REMOVE(first);
        APR_BRIGADE_INSERT_TAIL(out, first);
    }
    return apr_brigade_length(out, 1, len);
}

static apr_status_t bandwidth_piece(ap_filter_t *f, bandwidth *b, apr_bucket_brigade *out)
{
    apr_off_t len = 0;
    uint64_t ahead;
    apr_status_t rv;

    BRG_ASSERT(b->piece >= PIECE_LEAST && !APR_BRIGADE_EMPTY(b->held) && APR_BRIGADE_EMPTY(out));
    rv = bandwidth_cut(b, out, &len);
    if (rv != APR_SUCCESS)
        return rv;
    if (len > 0) {
        ahead = limit_rate_charge(&limit_shared, b->key, limit_cost(b->l, len), limit_now());
        if (ahead > b->l->burst && b->l->is_dry)
            atomic_fetch_add_explicit(&limit_row_at(b->l)->dry, 1, memory_order_relaxed);
        if (ahead > b->l->burst && !b->l->is_dry) {
            atomic_fetch_add_explicit(&limit_row_at(b->l)->delayed, 1, memory_order_relaxed);
            bandwidth_wait(b, f->c);
        }
        if (!APR_BRIGADE_EMPTY(b->held) && !b->l->is_dry)
            APR_BRIGADE_INSERT_TAIL(out, apr_bucket_flush_create(f->c->bucket_alloc));
    }
    rv = ap_pass_brigade(f->next, out);
    apr_brigade_cleanup(out);
    return rv;
}

static apr_status_t bandwidth_out(ap_filter_t *f, apr_bucket_brigade *bb)
{
    bandwidth *b = f->ctx;
    apr_bucket_brigade *out;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(b && b->l && limit_shared.header);
    if (!b->held)
        b->held = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    out = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    APR_BRIGADE_CONCAT(b->held, bb);
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(b->held))
        rv = bandwidth_piece(f, b, out);
    apr_brigade_cleanup(b->held);
    return rv;
}

void limit_bandwidth_register(void)
{
    bandwidth_filter = ap_register_output_filter("REQUEST_LIMIT", bandwidth_out, NULL,
                                                 (ap_filter_type)(AP_FTYPE_CONNECTION - 1));
    brg_filter_leaves_body(bandwidth_filter);
    ap_hook_insert_filter(bandwidth_insert, NULL, NULL, APR_HOOK_LAST);
}
