/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end-of-request bucket: metadata that follows the last byte of a response down to the socket.
 * When it is destroyed, everything before it is sent (or given up), so the request is logged and
 * its pool goes.
 *
 * Bucket and pool may die in either order, and each must be told of the other's end:
 *
 *   bucket destroyed first   it destroys the pool; the pre-cleanup below runs while the request is whole
 *   pool destroyed first     the same pre-cleanup runs, and empties the bucket
 *
 * Either way log_transaction runs once. It is a pre-cleanup because log hooks use subpools.
 */
#include "connection.h"
#include "brigade/assert.h"
#include "httpd.h"
#include "http_protocol.h"
#include "http_request.h"
#include "scoreboard.h"
#include "loop.h"
#include "filter_check.h"
#include "request_context.h"
#include <stdatomic.h>

/* A module-driven connection has no other place that sees each of its requests end. */
static void eor_count(const request_rec *r)
{
    conn_rec *c = r->connection->master ? r->connection->master : r->connection;
    brg_conn *bc = connection_of(c);

    if (bc && bc->module_driven)
        atomic_fetch_add_explicit(&bc->ended, 1, memory_order_relaxed);
}

static const request_rec *eor_last(const request_rec *r)
{
    BRG_ASSERT(r != NULL);
    while (r->next)
        r = r->next;
    return r;
}

static apr_time_t eor_now(const request_rec *r, const brg_conn *bc)
{
    brg_loop *own = loop_self();

    if (own)
        return loop_request_ends(own, r);
    return bc ? worker_request_ends(bc->loop) : apr_time_now();
}

/* The figures of the whole server: virtual host, status, duration. */
static void eor_figures(request_rec *r)
{
    conn_rec *c = r->connection->master ? r->connection->master : r->connection;
    brg_conn *bc = connection_of(c);
    apr_interval_time_t us = eor_now(r, bc) - r->request_time;
    const request_rec *last = eor_last(r);
    figures_ended ended = {.host = figures_host(r->server),
                           .status = last->status,
                           .us = us > 0 ? (uint64_t)us : 0,
                           .bytes = last->bytes_sent > 0 ? (uint64_t)last->bytes_sent : 0};

    if (!bc)
        return;
    ended.protocol = connection_protocol(c);
    figures_request(bc->loop->figures, loop_self() == bc->loop, &ended);
    figures_target_ended(r->hostname ? r->hostname : "", r->uri ? r->uri : "", &ended);
}

static apr_status_t eor_request_ends(void *data)
{
    apr_bucket *b = data;
    request_rec *r = b->data;

    if (r) {
        BRG_ASSERT(b->type == &ap_bucket_type_eor);
        b->data = NULL;
        ap_run_log_transaction(r);
        eor_count(r);
        eor_figures(r);
        if (ap_extended_status && r->connection->sbh)
            ap_increment_counts(r->connection->sbh, r);
        request_conf_end(r);
    }
    return APR_SUCCESS;
}

static apr_status_t eor_bucket_read(apr_bucket *b, const char **str, apr_size_t *len,
                                    apr_read_type_e block)
{
    *str = NULL;
    *len = 0;
    return APR_SUCCESS;
}

static void eor_bucket_destroy(void *data)
{
    request_rec *r = data;

    if (r) {
        apr_bucket_alloc_t *list = r->connection->bucket_alloc;

        apr_pool_destroy(r->pool);
        filter_check_request_end(list, r);
    }
}

AP_DECLARE(apr_bucket *) ap_bucket_eor_make(apr_bucket *b, request_rec *r)
{
    b->length = 0;
    b->start = 0;
    b->data = r;
    b->type = &ap_bucket_type_eor;
    if (r)
        apr_pool_pre_cleanup_register(r->pool, b, eor_request_ends);
    return b;
}

AP_DECLARE(apr_bucket *) ap_bucket_eor_create(apr_bucket_alloc_t *list, request_rec *r)
{
    apr_bucket *b = apr_bucket_alloc(sizeof *b, list);

    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = list;
    return ap_bucket_eor_make(b, r);
}

AP_DECLARE_DATA const apr_bucket_type_t ap_bucket_type_eor = {
    "EOR",
    5,
    APR_BUCKET_METADATA,
    eor_bucket_destroy,
    eor_bucket_read,
    apr_bucket_setaside_noop,
    apr_bucket_split_notimpl,
    apr_bucket_copy_notimpl,
};
