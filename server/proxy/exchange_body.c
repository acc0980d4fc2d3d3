/* SPDX-License-Identifier: Apache-2.0 */
/* The request's body on its way to a backend. Pieces are sent as they come; no more is read while much waits for the backend.
 * The beginning is kept, so that a request whose backend went away can be sent to another. */
#include "exchange_private.h"
#include "connection.h"
#include "loop.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include <string.h>

APLOG_USE_MODULE(proxy_http);

#define EXCHANGE_BODY_AHEAD (16 * 1024)
#define EXCHANGE_SMALL 512 /* bytes of a piece that is copied, not kept by reference */
/* in memory, of a body that a script must be told the length of */
#define EXCHANGE_WHOLE (16 * 1024 * 1024)

void exchange_out(proxy_exchange *x, apr_bucket *e)
{
    if (e->length != (apr_size_t)-1)
        x->out_n += (apr_off_t)e->length;
    APR_BRIGADE_INSERT_TAIL(x->out, e);
}

/* A worker reads with waiting where the backend has nothing for it. */
static apr_read_type_e body_how(const proxy_exchange *x)
{
    return x->loop || x->out_n ? APR_NONBLOCK_READ : APR_BLOCK_READ;
}

/* Read each bucket, and set it aside: so lengths are known, and all bytes live until they are sent. */
static apr_status_t body_own(proxy_exchange *x, apr_bucket_brigade *bb)
{
    apr_bucket *e = APR_BRIGADE_FIRST(bb), *next;
    apr_status_t rv = APR_SUCCESS;

    for (; e != APR_BRIGADE_SENTINEL(bb) && rv == APR_SUCCESS; e = next) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_EOS(e))
            x->body.over = 1;
        if (APR_BUCKET_IS_METADATA(e)) {
            next = APR_BUCKET_NEXT(e);
            apr_bucket_delete(e);
            continue;
        }
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        next = APR_BUCKET_NEXT(e);
        if (rv == APR_SUCCESS)
            rv = apr_bucket_setaside(e, x->r->pool);
        if (rv == APR_ENOTIMPL)
            rv = APR_SUCCESS;
        x->body.read += (apr_off_t)e->length;
    }
    return rv;
}

apr_status_t exchange_body_read(proxy_exchange *x, apr_bucket_brigade *bb)
{
    request_rec *r = x->r;
    const apr_read_type_e how = body_how(x);

    BRG_ASSERT(!x->body.over && x->body.exists);
    apr_status_t rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, how, EXCHANGE_PIECE);

    if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(bb))
        rv = APR_EAGAIN;
    if (rv == APR_SUCCESS)
        rv = body_own(x, bb);
    if (rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv))
        return rv == APR_SUCCESS ? rv : APR_EAGAIN;
    x->status = ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, rv, r,
                  APLOGNO(01095) "prefetch request body failed to %s (%s) from %s (%s)",
                  x->target->url, x->target->host, r->useragent_ip,
                  r->connection->remote_host ? r->connection->remote_host : "");
    return rv;
}

/* A small piece is copied behind the one before it, if that was small, too: else a body of single bytes would take hundreds of bytes of
 * memory for each. @return 0: it is not small */
static int body_add_small(proxy_exchange *x, apr_bucket *e)
{
    const char *data;
    apr_size_t len;

    if (APR_BRIGADE_EMPTY(x->body.kept) || e->length > EXCHANGE_SMALL ||
        apr_bucket_read(e, &data, &len, APR_BLOCK_READ) || len > EXCHANGE_SMALL)
        return 0;
    if (x->body.room < len) {
        char *block = apr_bucket_alloc(APR_BUCKET_BUFF_SIZE, x->body.kept->bucket_alloc);

        APR_BRIGADE_INSERT_TAIL(x->body.kept,
                                apr_bucket_heap_create(block, APR_BUCKET_BUFF_SIZE, apr_bucket_free,
                                                       x->body.kept->bucket_alloc));
        APR_BRIGADE_LAST(x->body.kept)->length = 0;
        x->body.room = APR_BUCKET_BUFF_SIZE;
    }
    e = APR_BRIGADE_LAST(x->body.kept);
    memcpy(((apr_bucket_heap *)e->data)->base + e->start + e->length, data, len);
    e->length += len;
    x->body.room -= (uint32_t)len;
    return 1;
}

/* All of @a bb goes to x->body.kept; it is empty afterwards. */
static void body_add(proxy_exchange *x, apr_bucket_brigade *bb)
{
    while (!APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);

        if (body_add_small(x, e)) {
            apr_bucket_delete(e);
            continue;
        }
        APR_BUCKET_REMOVE(e);
        APR_BRIGADE_INSERT_TAIL(x->body.kept, e);
        x->body.room = 0;
    }
}

/* Keep a copy of the pieces, large ones by reference, for as long as they are few. */
static void body_keep(proxy_exchange *x, apr_bucket_brigade *bb)
{
    apr_bucket *e;

    if (x->body.lost)
        return;
    if (x->body.read > EXCHANGE_REPLAY) {
        apr_brigade_cleanup(x->body.kept);
        x->body.room = 0;
        x->body.lost = 1;
        return;
    }
    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = APR_BUCKET_NEXT(e)) {
        apr_bucket *copy;

        if (body_add_small(x, e))
            continue;
        x->body.room = 0;
        if (apr_bucket_copy(e, &copy) == APR_SUCCESS)
            APR_BRIGADE_INSERT_TAIL(x->body.kept, copy);
        else
            x->body.lost = 1;
    }
}

/* Kept bytes go first. */
void exchange_body_memory(proxy_exchange *x)
{
    apr_bucket_brigade bb;
    apr_bucket *e;

    exchange_brigade(x, &bb);
    for (e = APR_BRIGADE_FIRST(x->body.kept); e != APR_BRIGADE_SENTINEL(x->body.kept);
         e = APR_BUCKET_NEXT(e)) {
        apr_bucket *copy;

        if (apr_bucket_copy(e, &copy) == APR_SUCCESS)
            APR_BRIGADE_INSERT_TAIL(&bb, copy);
    }
    x->codec->body(x, &bb, x->body.over);
    x->body.ended = x->body.over;
    apr_brigade_cleanup(&bb);
}

void exchange_body_begin(proxy_exchange *x)
{
    x->body.ended = 0;
    exchange_spool_rewind(x);
    if (!exchange_spool_left(x) && (x->body.read || x->body.over))
        exchange_body_memory(x);
}

static apr_status_t body_from_disk(proxy_exchange *x)
{
    if (x->out_n + x->body.held < EXCHANGE_AHEAD && !x->body.spool_error)
        exchange_spool_get(x);
    if (!x->body.spool_error)
        return APR_SUCCESS;
    x->status = HTTP_INTERNAL_SERVER_ERROR;
    return APR_EGENERAL;
}

apr_status_t exchange_body_pump(proxy_exchange *x)
{
    apr_bucket_brigade own, *bb = exchange_brigade(x, &own);
    apr_status_t rv = APR_SUCCESS;

    x->body.wanted = 0;
    if (exchange_spool_left(x) && !x->answer.complete)
        return body_from_disk(x);
    if (x->body.over || x->body.holds || x->answer.complete)
        return APR_SUCCESS;
    while (rv == APR_SUCCESS && !x->body.over && x->out_n + x->body.held < EXCHANGE_AHEAD) {
        rv = exchange_body_read(x, bb);
        if (rv == APR_SUCCESS) {
            body_keep(x, bb);
            x->codec->body(x, bb, x->body.over);
            x->body.ended = x->body.over;
        }
        apr_brigade_cleanup(bb);
    }
    x->body.wanted = !x->body.over && x->out_n + x->body.held < EXCHANGE_AHEAD;
    return APR_STATUS_IS_EAGAIN(rv) ? APR_SUCCESS : rv;
}

apr_status_t exchange_body_ahead(proxy_exchange *x)
{
    apr_bucket_brigade own, *bb = exchange_brigade(x, &own);
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !x->body.over && x->body.read < EXCHANGE_BODY_AHEAD) {
        rv = exchange_body_read(x, bb);
        if (rv == APR_SUCCESS)
            body_add(x, bb);
        apr_brigade_cleanup(bb);
    }
    return rv;
}

/* A script needs the length of the body first. @return the status for a body of unknown length that is too large to be kept */
static apr_status_t body_is_endless(proxy_exchange *x)
{
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, x->r,
        "proxy: %s: a body without a length has more than %d bytes, which are kept in memory",
        x->target->url, EXCHANGE_WHOLE);
    x->status = HTTP_LENGTH_REQUIRED;
    return APR_EGENERAL;
}

/* Make room for more of it. @return 1: there is; 0: not before the disk took some; -1: no more is kept */
static int body_make_room(proxy_exchange *x, apr_off_t most)
{
    const apr_off_t memory = x->body.read - exchange_spooled(x);

    BRG_ASSERT(memory >= 0); /* the file has a part of the bytes */
    if (memory < EXCHANGE_BODY_AHEAD)
        return 1;
    if (exchange_spool_is_busy(x))
        return memory < EXCHANGE_REPLAY;
    return exchange_spool_put(x) || memory < most ? 1 : -1;
}

apr_status_t exchange_body_whole(proxy_exchange *x)
{
    const int is_told = apr_table_get(x->r->headers_in, "Content-Length") != NULL;
    const apr_off_t most = is_told ? EXCHANGE_REPLAY : EXCHANGE_WHOLE;
    apr_bucket_brigade own, *bb = exchange_brigade(x, &own);
    apr_status_t rv = APR_SUCCESS;
    int room = 1;

    while (rv == APR_SUCCESS && !x->body.over && (room = body_make_room(x, most)) > 0) {
        rv = exchange_body_read(x, bb);
        if (rv == APR_SUCCESS)
            body_add(x, bb);
        apr_brigade_cleanup(bb);
    }
    x->body.wanted = APR_STATUS_IS_EAGAIN(rv);
    if (rv == APR_SUCCESS && room >= 0 && exchange_spool_is_busy(x))
        return APR_EAGAIN;
    if (rv == APR_SUCCESS && !is_told && !x->body.over)
        return body_is_endless(x);
    return rv;
}

/* RFC 9110, 9.2.2 */
static int method_is_idempotent(const request_rec *r)
{
    switch (r->method_number) {
    case M_GET:
    case M_PUT:
    case M_DELETE:
    case M_OPTIONS:
    case M_TRACE:
    case M_PROPFIND:
        return 1;
    default:
        return 0;
    }
}

int exchange_may_repeat(const proxy_exchange *x)
{
    return !x->answer.begun && !x->body.lost && (!x->attempt.sent || method_is_idempotent(x->r));
}
