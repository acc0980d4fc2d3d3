/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP_HEADER filter: completes the response headers, puts the head in front of the first
 * brigade, and takes itself off the chain; a static answer passes it once, as one brigade of head,
 * body and EOS. Of a stream it stays to the end, which it tells.
 *
 * Difficult cases: bodies that may not be sent (HEAD, 204, 304) are dropped here although handlers
 * produce them; an error bucket turns the answer into another one; and a field that could split the
 * response must not leave.
 */
#include "h1_response.h"
#include "bucket_part.h"
#include "connection.h"
#include "http_response.h"
#include "request_context.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http);

/* The filter's states, targets of f->ctx; NULL at first. */
static char header_dying; /* headers were refused once already */
static char header_sent;  /* the head is out; the body behind it is swallowed */
/* Of a stream: the head is out, and the end follows at EOS, unless the body breaks off. */
static char header_stream, header_broken;

/* A module frames the body by itself: the client must be able to tell where it ends (RFC 9112, 6.3). */
static int header_frame_own(request_rec *r, const char *coding)
{
    request_mark_volatile(r, "http_core.c", "a module set Transfer-Encoding");
    if (!ap_is_chunked(r->pool, coding)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "Response with Transfer-Encoding '%s', which does not end with chunked, "
                      "aborting request",
                      coding);
        return 0;
    }
    apr_table_unset(r->headers_out, "Content-Length");
    return 1;
}

/* How HTTP/1 frames the body. @return 0: it cannot */
static int header_frame(request_rec *r)
{
    const char *coding;

    BRG_ASSERT(!r->assbackwards);
    if (AP_STATUS_IS_HEADER_ONLY(r->status))
        return 1;
    if (r->chunked && h1_stream_is(r)) {
        apr_table_unset(r->headers_out, "Content-Length");
    } else if (r->chunked) {
        apr_table_mergen(r->headers_out, "Transfer-Encoding", "chunked");
        apr_table_unset(r->headers_out, "Content-Length");
    } else if ((coding = apr_table_get(r->headers_out, "Transfer-Encoding")) != NULL) {
        return header_frame_own(r, coding);
    }
    return 1;
}

/* Fields of the connection that modules set. The response cache can repeat a Connection that leaves
 * the connection as it is, but not the tokens beside an announcement of other protocols. */
static void header_note_connection(request_rec *r)
{
    const char *own = apr_table_get(r->headers_out, "Connection");

    if (r->connection->master || (own && request_announces(r) && !strcmp(own, "Upgrade")))
        own = NULL;
    if ((own && (request_announces(r) || ap_find_token(r->pool, own, "close") ||
                 strcmp(own, apr_table_getm(r->pool, r->headers_out, "Connection")) != 0)) ||
        apr_table_get(r->headers_out, "Keep-Alive"))
        request_mark_volatile(r, "http_core.c", "a module set Connection or Keep-Alive");
    request_set_connection(r, apr_table_elts(r->headers_out)->nelts, own);
}

static int header_complete(request_rec *r)
{
    int framed;

    BRG_ASSERT(!r->assbackwards && r->connection);
    http_response_merge(r);
    if (AP_STATUS_IS_HEADER_ONLY(r->status)) {
        apr_table_unset(r->headers_out, "Transfer-Encoding");
        apr_table_unset(r->headers_out, "Content-Length");
    }
    if (r->proto_num > HTTP_VERSION(1, 0) && apr_table_get(r->subprocess_env, "downgrade-1.0"))
        r->proto_num = HTTP_VERSION(1, 0);
    header_note_connection(r);
    ap_set_keepalive(r);
    framed = header_frame(r);
    http_response_fields(r);
    return framed;
}

/* ---- refusing ---- */

/* The status of the first error bucket, or 0; *eoc is set if the connection is to end without an answer. That outweighs
 * the error, in whichever order they come: mod_proxy passes both where a client may well send its request once more. */
static int header_wanted_status(apr_bucket_brigade *bb, int *eoc)
{
    int status = 0;

    *eoc = 0;
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb) && !*eoc;
         e = APR_BUCKET_NEXT(e)) {
        if (!APR_BUCKET_IS_METADATA(e))
            continue;
        if (AP_BUCKET_IS_ERROR(e) && !status)
            status = ((ap_bucket_error *)e->data)->status;
        *eoc = AP_BUCKET_IS_EOC(e);
    }
    return status;
}

/* ---- the filter ---- */

static void header_drop_body(apr_bucket_brigade *bb)
{
    apr_bucket *e = APR_BRIGADE_FIRST(bb);

    BRG_ASSERT_DEBUG(bb->p != NULL);
    while (e != APR_BRIGADE_SENTINEL(bb)) {
        apr_bucket *next = APR_BUCKET_NEXT(e);

        if (!APR_BUCKET_IS_METADATA(e) || AP_BUCKET_IS_ERROR(e))
            apr_bucket_delete(e);
        e = next;
    }
}

/* Nothing follows the head of a stream: no body, and no trailers. */
static int header_is_all(const request_rec *r)
{
    const char *length = apr_table_get(r->headers_out, "Content-Length");

    return length && !strcmp(length, "0") && apr_is_empty_table(r->trailers_out);
}

/* The core alone comes behind HTTP_OUTERROR: it writes in order, so the head is gone before the EOR bucket ends the request.
 * A module that drives a connection may end requests in its own way. */
static int header_is_the_cores(const ap_filter_t *f)
{
    const ap_filter_t *next = f->next;

    if (next && next->frec == ap_http_outerror_filter_handle)
        next = next->next;
    return next && next->frec == ap_core_output_filter_handle && connection_of(f->c);
}

/* @param whole  no body follows. @return NULL: no memory */
static apr_bucket *header_bucket(const ap_filter_t *f, int whole, h1_head_lengths *lengths)
{
    request_rec *r = f->r;
    apr_bucket_alloc_t *alloc = f->c->bucket_alloc;
    size_t cap, len;
    char *buf;

    if (h1_stream_is(r))
        return h1_stream_head(r, whole || header_is_all(r), lengths);
    cap = h1_head_size(r, lengths);
    if (!(buf = apr_palloc(r->pool, cap)))
        return NULL;
    len = h1_format_head(r, lengths, buf);
    BRG_ASSERT(len > 0 && len <= cap);
    return header_is_the_cores(f) ? apr_bucket_immortal_create(buf, len, alloc)
                                  : apr_bucket_pool_create(buf, len, r->pool, alloc);
}

/* The error page has the same bad field, since a configuration may add it to each response: send a head without it and
 * no body. */
static apr_status_t header_send_bare(ap_filter_t *f, apr_bucket_brigade *bb, int status)
{
    request_rec *r = f->r;
    h1_head_lengths lengths;
    apr_bucket *head;

    BRG_ASSERT(f->ctx == &header_dying);
    lengths.fields.n = -1;
    r->status = status;
    r->status_line = NULL;
    r->connection->keepalive = AP_CONN_CLOSE;
    r->headers_out = apr_table_make(r->pool, 2);
    apr_table_setn(r->headers_out, "Content-Length", "0");
    apr_table_setn(r->headers_out, "Connection", "close");
    r->sent_bodyct = 1;
    f->ctx = &header_sent;
    header_drop_body(bb);
    if (!(head = header_bucket(f, 1, &lengths)))
        return APR_ENOMEM;
    APR_BRIGADE_INSERT_HEAD(bb, head);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t header_die(ap_filter_t *f, apr_bucket_brigade *bb, int status)
{
    request_rec *r = f->r;

    BRG_ASSERT(f->r && f->r->pool);
    if (f->ctx == &header_dying)
        return header_send_bare(f, bb, status);
    apr_brigade_cleanup(bb);
    f->ctx = &header_dying;
    ap_die(status, r);
    return AP_FILTER_ERROR;
}

/* The head as it is cannot be sent: drop its fields and answer with 500. */
static apr_status_t header_refuse(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_table_clear(f->r->headers_out);
    apr_table_clear(f->r->err_headers_out);
    f->r->connection->keepalive = AP_CONN_CLOSE;
    f->r->chunked = 0;
    return header_die(f, bb, HTTP_INTERNAL_SERVER_ERROR);
}

/* The body of a stream's response passes as it is: its end is told where EOS stands. */
static apr_status_t header_stream_body(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket *end;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (AP_BUCKET_IS_ERROR(e))
            f->ctx = &header_broken;
        if (!APR_BUCKET_IS_EOS(e))
            continue;
        if (f->ctx == &header_stream && (end = h1_stream_end(f->r)) != NULL)
            APR_BUCKET_INSERT_BEFORE(e, end);
        ap_remove_output_filter(f);
        break;
    }
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t header_send(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    h1_head_lengths lengths;
    apr_bucket *head;
    int bare;

    if (!header_complete(r) || !http_response_is_sendable(r, &lengths.fields))
        return header_refuse(f, bb);
    bare = r->header_only || AP_STATUS_IS_HEADER_ONLY(r->status);
    if (!(head = header_bucket(f, bare, &lengths)))
        return APR_ENOMEM;
    r->sent_bodyct = 1;
    if (bare) {
        f->ctx = &header_sent;
        header_drop_body(bb);
    }
    APR_BRIGADE_INSERT_HEAD(bb, head);
    if (bare)
        return ap_pass_brigade(f->next, bb);
    if (bucket_is_part(head)) {
        f->ctx = &header_stream;
        return header_stream_body(f, bb);
    }
    if (r->chunked)
        h1_chunk_insert(r, head);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

AP_DECLARE_NONSTD(apr_status_t) ap_http_header_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    int status, eoc;

    if (f->ctx == &header_stream || f->ctx == &header_broken)
        return header_stream_body(f, bb);
    BRG_ASSERT(!f->ctx || f->ctx == &header_dying || f->ctx == &header_sent);
    if (f->ctx == &header_sent) {
        header_drop_body(bb);
        return ap_pass_brigade(f->next, bb);
    }
    if (f->ctx == &header_dying && request_is_left(r)) {
        apr_brigade_cleanup(bb);
        return AP_FILTER_ERROR;
    }
    status = header_wanted_status(bb, &eoc);
    if (status && !eoc)
        return header_die(f, bb, status);
    if (eoc || r->assbackwards) {
        if (status) /* for the log */
            r->status = status;
        r->sent_bodyct = 1;
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    return header_send(f, bb);
}

AP_DECLARE(void) ap_basic_http_header(request_rec *r, apr_bucket_brigade *bb)
{
    apr_table_t *fields = r->headers_out;
    h1_head_lengths lengths;
    apr_size_t len;
    size_t cap;
    char *buf;

    lengths.fields.n = -1;
    if (r->assbackwards)
        return;
    http_response_fix_status_line(r);
    /* Date and Server of a proxied response are the only fields that count here. */
    r->headers_out = apr_table_make(r->pool, 2);
    if (r->proxyreq != PROXYREQ_NONE) {
        static const char *const kept[] = {"Date", "Server"};

        for (int i = 0; i < 2; i++) {
            const char *value = apr_table_get(fields, kept[i]);

            if (value)
                apr_table_addn(r->headers_out, kept[i], value);
        }
    }
    cap = h1_head_size(r, &lengths);
    buf = apr_palloc(r->pool, cap);
    len = h1_format_head(r, &lengths, buf);
    BRG_ASSERT(len > 2 && len <= cap);
    r->headers_out = fields;
    apr_table_unset(fields, "Date");
    apr_table_unset(fields, "Server");
    apr_brigade_write(bb, NULL, NULL, buf, len - 2);
}
