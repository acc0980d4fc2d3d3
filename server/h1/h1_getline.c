/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines through input filters: for modules that speak line protocols over a request's filters, for
 * header blocks that come from elsewhere than a client, and for requests on connections with
 * filters of other modules.
 */
#include "h1_request.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "h1_fields.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <string.h>

APLOG_USE_MODULE(core);

typedef struct getline_buf {
    char *data;      /* the caller's, or from the pool if it gave none */
    apr_size_t len;  /* bytes, without a NUL */
    apr_size_t cap;  /* size of data */
    apr_size_t most; /* the caller's limit, NUL included */
    int own;         /* may grow */
    int over;        /* more than most came */
} getline_buf;

static void getline_append(request_rec *r, getline_buf *b, const char *data, apr_size_t len)
{
    const apr_size_t room = b->most - 1 - b->len;

    if (len > room) {
        b->over = 1;
        len = room;
    }
    if (b->own && b->len + len + 1 > b->cap) {
        apr_size_t cap = 2 * (b->len + len + 1);
        char *bigger = apr_palloc(r->pool, cap = cap < b->most ? cap : b->most);

        if (b->len) {
            memcpy(bigger, b->data, b->len);
            brg_buffer_grown(b->len);
        }
        b->data = bigger;
        b->cap = cap;
    }
    memcpy(b->data + b->len, data, len);
    brg_buffer_copied(len);
    b->len += len;
}

/* The result of one read of the chain. *last: its last byte, -1 if it was empty. */
static apr_status_t getline_take(request_rec *r, getline_buf *b, apr_bucket_brigade *bb, int *last,
                                 int *eos)
{
    apr_status_t rv = APR_SUCCESS;

    *last = -1;
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);
        const char *data;
        apr_size_t len = 0;

        if (APR_BUCKET_IS_EOS(e))
            *eos = 1;
        else if (!APR_BUCKET_IS_METADATA(e))
            rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS && len) {
            *last = (unsigned char)data[len - 1];
            getline_append(r, b, data, len);
        }
        apr_bucket_delete(e);
    }
    apr_brigade_cleanup(bb);
    return rv;
}

/* One line with its line end, appended to b. */
static apr_status_t getline_one(request_rec *r, getline_buf *b, apr_bucket_brigade *bb, int flags)
{
    int last = -1, eos = 0;

    do {
        apr_status_t rv =
            ap_get_brigade(r->proto_input_filters, bb, AP_MODE_GETLINE, APR_BLOCK_READ, 0);

        if (rv == APR_SUCCESS)
            rv = APR_BRIGADE_EMPTY(bb) ? APR_EGENERAL : getline_take(r, b, bb, &last, &eos);
        if (rv != APR_SUCCESS)
            return rv;
        if (b->over && (last == '\n' || !(flags & AP_GETLINE_NOSPC_EOL)))
            return APR_ENOSPC;
    } while (last != '\n' && !eos);
    return last == '\n' ? APR_SUCCESS : APR_EOF;
}

/* Cut the line end off; @a from is where this line starts in b. */
static apr_status_t getline_trim(getline_buf *b, apr_size_t from, int flags)
{
    apr_size_t len = b->len;

    BRG_ASSERT(from <= b->len);
    if (len > from && b->data[len - 1] == '\n') {
        len--;
        if (len > from && b->data[len - 1] == '\r')
            len--;
        else if (flags & AP_GETLINE_CRLF)
            return APR_EINVAL;
    }
    /* Blanks at the end mean nothing to a reader that folds. */
    while ((flags & AP_GETLINE_FOLD) && len > from &&
           (b->data[len - 1] == ' ' || b->data[len - 1] == '\t'))
        len--;
    b->len = len;
    return memchr(b->data + from, '\0', len - from) ? APR_EINVAL : APR_SUCCESS;
}

/* Does the next line go on with this one? Looks without taking. */
static int getline_continues(request_rec *r, apr_bucket_brigade *bb)
{
    const char *data;
    apr_size_t len;
    int goes_on = 0;

    if (ap_get_brigade(r->proto_input_filters, bb, AP_MODE_SPECULATIVE, APR_BLOCK_READ, 1) ==
            APR_SUCCESS &&
        !APR_BRIGADE_EMPTY(bb) &&
        apr_bucket_read(APR_BRIGADE_FIRST(bb), &data, &len, APR_BLOCK_READ) == APR_SUCCESS && len)
        goes_on = *data == ' ' || *data == '\t';
    apr_brigade_cleanup(bb);
    return goes_on;
}

/* The continuation's leading blanks are one space. */
static void getline_join(getline_buf *b, apr_size_t from)
{
    apr_size_t i = from;

    BRG_ASSERT(from <= b->len);
    while (i < b->len && (b->data[i] == ' ' || b->data[i] == '\t'))
        i++;
    if (i > from) {
        b->data[from] = ' ';
        memmove(b->data + from + 1, b->data + i, b->len - i);
        b->len -= i - from - 1;
    }
}

AP_DECLARE(apr_status_t)
ap_rgetline_core(char **s, apr_size_t n, apr_size_t *read, request_rec *r, int flags,
                 apr_bucket_brigade *bb)
{
    char *given = *s;
    getline_buf b = {.data = given, .cap = given ? n : 0, .most = n, .own = given == NULL};
    apr_size_t from = 0;
    apr_status_t rv;

    *read = 0;
    if (n < 2) {
        if (n && given)
            *given = '\0';
        return APR_ENOSPC;
    }
    apr_brigade_cleanup(bb);
    do {
        rv = getline_one(r, &b, bb, flags);
        if (rv == APR_SUCCESS)
            rv = getline_trim(&b, from, flags);
        if (from)
            getline_join(&b, from);
        from = b.len;
    } while (rv == APR_SUCCESS && (flags & AP_GETLINE_FOLD) && b.len && getline_continues(r, bb));
    if (!b.data)
        b.data = apr_pcalloc(r->pool, 1);
    b.data[b.len] = '\0';
    *s = b.data;
    *read = b.len;
    return rv;
}

AP_DECLARE(int) ap_getline(char *s, int n, request_rec *r, int flags)
{
    apr_bucket_brigade *bb;
    apr_size_t len;
    apr_status_t rv;

    if (n < 1)
        return -1;
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    rv = ap_rgetline_core(&s, (apr_size_t)n, &len, r, flags, bb);
    apr_brigade_destroy(bb);
    return rv == APR_SUCCESS ? (int)len : rv == APR_ENOSPC ? n : -1;
}

/* ---- header blocks ---- */

static void mime_refuse(request_rec *r, int status, const char *note)
{
    r->status = status;
    if (note)
        apr_table_setn(r->notes, "error-notes", note);
}

static void mime_refuse_line(request_rec *r, apr_status_t rv)
{
    if (rv == APR_ENOSPC)
        mime_refuse(r, HTTP_BAD_REQUEST, "Size of a request header field exceeds server limit.");
    else
        mime_refuse(r, APR_STATUS_IS_TIMEUP(rv) ? HTTP_REQUEST_TIME_OUT : HTTP_BAD_REQUEST, NULL);
}

AP_DECLARE(void) ap_get_mime_headers_core(request_rec *r, apr_bucket_brigade *bb)
{
    h1_limits limits;
    unsigned n = 0;

    h1_limits_of(r->server, &limits);
    for (;;) {
        char *line = NULL;
        apr_size_t len;
        http_field field;
        apr_status_t rv = ap_rgetline_core(&line, (apr_size_t)limits.field_size + 3, &len, r,
                                           limits.unsafe ? 0 : AP_GETLINE_CRLF, bb);

        if (rv != APR_SUCCESS) {
            mime_refuse_line(r, rv);
            return;
        }
        if (len == 0)
            break;
        if (limits.fields && ++n > limits.fields) {
            mime_refuse(r, HTTP_BAD_REQUEST,
                        "The number of request header fields exceeds this server's limit.");
            return;
        }
        if (h1_parse_field(&field, line, len, &limits)) {
            mime_refuse(r, HTTP_BAD_REQUEST, NULL);
            return;
        }
        line[field.name_len] = '\0';
        line[(field.value - line) + field.value_len] = '\0';
        apr_table_addn(r->headers_in, field.name, field.value);
    }
    apr_table_compress(r->headers_in, APR_OVERLAP_TABLES_MERGE);
}

AP_DECLARE(void) ap_get_mime_headers(request_rec *r)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);

    ap_get_mime_headers_core(r, bb);
    apr_brigade_destroy(bb);
}
