/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QUERY (RFC 10008): the body of the request counts for the key, so it is read before anything is looked up: in the handler, behind
 * access control, and without waiting for it on a loop. The handler gets the same bytes from a filter that stands where the body was
 * read.
 */
#include "cached_private.h"
#include "conn.h"
#include "sha256.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(cache);

#define QUERY_MOST (64 * 1024) /* bytes of a body that are read ahead */
#define QUERY_PIECE (16 * 1024)

struct cached_query {
    ap_filter_t *filter;
    apr_bucket_brigade *body; /* read, and not taken yet */
    apr_bucket_brigade *came;
    sha256 sum;
    apr_size_t n; /* that were read */
    int over;     /* that was all */
};

/* Fields that give a body its meaning: RFC 9110, 8.3 to 8.7. */
static const char *const query_fields[] = {"Content-Type", "Content-Encoding", "Content-Language",
                                           "Content-Location"};

ap_filter_rec_t *cached_query_filter;

/* ---- giving the body on ---- */

/* @param peek  1: they stay, and are given again */
static apr_status_t query_take(struct cached_query *query, apr_bucket_brigade *to, apr_off_t most,
                               int peek)
{
    apr_bucket *end, *next;
    apr_status_t rv = apr_brigade_partition(query->body, most, &end);

    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
        return rv;
    for (apr_bucket *e = APR_BRIGADE_FIRST(query->body); e != end; e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!peek)
            APR_BUCKET_REMOVE(e);
        else if ((rv = apr_bucket_copy(e, &e)) != APR_SUCCESS)
            return rv;
        APR_BRIGADE_INSERT_TAIL(to, e);
    }
    return APR_SUCCESS;
}

static apr_status_t query_give(struct cached_query *query, apr_bucket_brigade *to,
                               ap_input_mode_t mode, apr_off_t most)
{
    switch (mode) {
    case AP_MODE_SPECULATIVE:
        return query_take(query, to, most, 1);
    case AP_MODE_GETLINE:
        return apr_brigade_split_line(to, query->body, APR_BLOCK_READ, HUGE_STRING_LEN);
    default:
        return query_take(query, to, mode == AP_MODE_EXHAUSTIVE ? APR_INT64_MAX : most, 0);
    }
}

apr_status_t cached_query_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                apr_read_type_e block, apr_off_t most)
{
    struct cached_query *query = f->ctx;
    apr_status_t rv = APR_SUCCESS;

    if (mode == AP_MODE_INIT || mode == AP_MODE_EATCRLF ||
        (APR_BRIGADE_EMPTY(query->body) && !query->over))
        return ap_get_brigade(f->next, bb, mode, block, most);
    if (!APR_BRIGADE_EMPTY(query->body))
        rv = query_give(query, bb, mode, most);
    if (rv == APR_SUCCESS && query->over && APR_BRIGADE_EMPTY(query->body))
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
    return rv;
}

/* ---- reading it ---- */

static apr_status_t query_keep(struct cached_query *query)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(query->came)) {
        apr_bucket *e = APR_BRIGADE_FIRST(query->came);
        const char *data;
        apr_size_t len = 0;

        if (APR_BUCKET_IS_EOS(e))
            query->over = 1;
        else if (!APR_BUCKET_IS_METADATA(e))
            rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS && len) {
            sha256_add(&query->sum, data, len);
            rv = apr_brigade_write(query->body, NULL, NULL, data, len);
            query->n += len;
        }
        apr_bucket_delete(e);
    }
    return rv;
}

/* @return APR_SUCCESS: to its end, or to the limit; APR_EAGAIN: more is to come */
static apr_status_t query_read(struct cached_query *query)
{
    const apr_read_type_e block = conn_on_loop() ? APR_NONBLOCK_READ : APR_BLOCK_READ;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(query->over || query->filter);
    while (rv == APR_SUCCESS && !query->over && query->n <= QUERY_MOST) {
        rv =
            ap_get_brigade(query->filter->next, query->came, AP_MODE_READBYTES, block, QUERY_PIECE);
        if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(query->came))
            rv = APR_EAGAIN;
        if (rv == APR_SUCCESS)
            rv = query_keep(query);
    }
    return rv;
}

static int query_is_long(const request_rec *r)
{
    const char *length = apr_table_get(r->headers_in, "Content-Length");
    apr_off_t n;

    return length && !apr_table_get(r->headers_in, "Transfer-Encoding") &&
           ap_parse_strict_length(&n, length) && n > QUERY_MOST;
}

/* The filter stands next to those of the protocol, so that it sees the client's bytes; and belongs
 * to them, so that internal redirects keep it. */
static void query_stand(struct cached_query *query, request_rec *r)
{
    query->body = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    query->came = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    query->filter = ap_add_input_filter_handle(cached_query_filter, query, r, r->connection);
    if (query->filter->next ==
        r->proto_input_filters) /* no module put one of its own between them */
        r->proto_input_filters = query->filter;
}

static struct cached_query *query_begin(request_rec *r)
{
    struct cached_query *query = apr_pcalloc(r->pool, sizeof *query);

    sha256_begin(&query->sum);
    for (size_t i = 0; i < sizeof query_fields / sizeof *query_fields; i++) {
        const char *value = apr_table_get(r->headers_in, query_fields[i]);

        sha256_add(&query->sum, value ? "+" : "-", 1);
        if (value)
            sha256_add(&query->sum, value, strlen(value) + 1);
    }
    if (ap_request_has_body(r))
        query_stand(query, r);
    else
        query->over = 1;
    return query;
}

/* ---- the key ---- */

static int query_passes(cached_request *q)
{
    q->ask.refused = "the body of the QUERY is longer than 64 KiB";
    q->ask.forward = FRESH_FWD_BYPASS;
    return OK;
}

static int query_end(cached_request *q)
{
    unsigned char digest[SHA256_BYTES];

    if (!q->query->over)
        return query_passes(q);
    sha256_end(&q->query->sum, digest);
    if (cached_request_key(q, digest))
        return OK;
    q->ask.refused = "its key is too long";
    q->ask.forward = FRESH_FWD_BYPASS;
    return OK;
}

static void query_gone(request_rec *r, void *baton)
{
    (void)r;
    (void)baton;
}

/* It was cut, or is malformed; or does not come. */
static int query_failed(const cached_request *q, apr_status_t rv)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, rv, q->r, "cache: cannot read the body of a QUERY");
    return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
}

int cached_query_read(cached_request *q, brg_wait_go_on_fn *go_on)
{
    const brg_wait_for wanted = {.fd = -1, .body = 1};
    apr_status_t rv;

    BRG_ASSERT(q->request.method == FRESH_QUERY && !q->found.known);
    if (!q->query && query_is_long(q->r))
        return query_passes(q);
    if (!q->query)
        q->query = query_begin(q->r);
    rv = query_read(q->query);
    if (rv == APR_SUCCESS)
        return query_end(q);
    if (APR_STATUS_IS_EAGAIN(rv) && brg_wait_possible(q->r) && conn_on_loop())
        return brg_wait(q->r, &wanted, go_on, query_gone, q);
    return query_failed(q, rv);
}
