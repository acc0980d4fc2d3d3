/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends: heads, trailers and bodies of answers, which are judged as those of HTTP/1. Source: RFC 9113, 6.1, 6.2, 8. */
#include "proxy_h2_private.h"
#include "http_scan.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>

/* ---- heads ---- */

static int h2c_status(const hpack_list *list)
{
    int status = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];

        if (f->name_len != 7 || memcmp(f->name, ":status", 7) != 0)
            continue;
        if (status || f->value_len != 3)
            return -1;
        for (int k = 0; k < 3; k++) {
            if (!apr_isdigit(f->value[k]))
                return -1;
            status = status * 10 + f->value[k] - '0';
        }
    }
    return status;
}

/* What could be taken for something else once it is a line of HTTP/1 (RFC 9113, 8.2.1). */
static int h2c_field_is_bad(const hpack_field *f)
{
    const char *name_end = f->name + f->name_len, *end = f->value + f->value_len;

    for (uint32_t i = 0; i < f->name_len; i++)
        if (apr_isupper(f->name[i]))
            return 1;
    return !f->name_len || h1_scan_token(f->name, name_end) != name_end ||
           http_scan_value(f->value, end) != end;
}

/* @return 0: there is another length, or it is none */
static int h2c_length(h2c_stream *st, const hpack_field *f)
{
    int64_t n = 0;

    if (!f->value_len || f->value_len > 18)
        return 0;
    for (uint32_t i = 0; i < f->value_len; i++) {
        if (!apr_isdigit(f->value[i]))
            return 0;
        n = n * 10 + f->value[i] - '0';
    }
    if (st->length >= 0 && st->length != n)
        return 0;
    st->length = n;
    return 1;
}

/* @param st  NULL: of an interim answer */
static const char *h2c_fields(proxy_exchange *x, h2c_stream *st, const hpack_list *list)
{
    request_rec *r = x->r;

    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];
        const int is_length = f->name_len == 14 && !memcmp(f->name, "content-length", 14);

        if (f->name_len == 7 && !memcmp(f->name, ":status", 7))
            continue;
        if (h2c_field_is_bad(f))
            return "a malformed field";
        if (is_length && st && st->length >= 0 && h2c_length(st, f))
            continue; /* once more the same */
        if (is_length && st && !h2c_length(st, f))
            return "a wrong Content-Length";
        exchange_field(x, apr_pstrmemdup(r->pool, f->name, f->name_len),
                       apr_pstrmemdup(r->pool, f->value, f->value_len));
    }
    return NULL;
}

static apr_status_t h2c_answer(proxy_exchange *x, h2c_stream *st, const hpack_list *list)
{
    const int status = h2c_status(list);
    const char *bad;

    if (status < 100 || status == HTTP_SWITCHING_PROTOCOLS)
        return h2c_bad(x, "a head without a status");
    if (status < 200) {
        exchange_interim_begin(x, status);
        bad = h2c_fields(x, NULL, list);
        exchange_interim_end(x);
        return bad || x->bad ? h2c_bad(x, bad ? bad : x->bad) : APR_SUCCESS;
    }
    exchange_status(x, status, NULL, 0);
    if ((bad = h2c_fields(x, st, list)) != NULL)
        return h2c_bad(x, bad);
    exchange_fields_done(x);
    exchange_head_done(x);
    return APR_SUCCESS;
}

static apr_status_t h2c_trailers(proxy_exchange *x, const h2c_stream *st, const hpack_list *list)
{
    request_rec *r = x->r;

    if (!st->block_ends)
        return h2c_bad(x, "trailers that end nothing");
    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];

        if (h2c_field_is_bad(f))
            return h2c_bad(x, "a malformed trailer");
        apr_table_addn(r->trailers_out, apr_pstrmemdup(r->pool, f->name, f->name_len),
                       apr_pstrmemdup(r->pool, f->value, f->value_len));
    }
    return APR_SUCCESS;
}

/* An answer to HEAD, 204 and 304 have none, whatever their Content-Length. */
static int h2c_has_no_body(const proxy_exchange *x)
{
    return x->r->header_only || x->r->status == HTTP_NO_CONTENT ||
           x->r->status == HTTP_NOT_MODIFIED;
}

/* The stream ended: as much came as was told (RFC 9113, 8.1.1). */
static apr_status_t h2c_complete(proxy_exchange *x, const h2c_stream *st)
{
    if (st->length >= 0 && st->came != st->length && !h2c_has_no_body(x))
        return h2c_bad(x, "a body of another length than was told");
    x->complete = 1;
    return APR_SUCCESS;
}

static apr_status_t h2c_block_done(proxy_exchange *x, h2c_stream *st)
{
    hpack_list list = {.text = apr_palloc(x->r->pool, H2C_HEAD_MOST),
                       .room = H2C_HEAD_MOST,
                       .field = apr_palloc(x->r->pool, sizeof(hpack_field) * H2C_FIELDS_MOST),
                       .most = H2C_FIELDS_MOST};
    apr_status_t rv;

    st->block_open = 0;
    if (hpack_decode(&h2c_session_of(x)->table, st->block, st->block_n, &list) != HPACK_OK ||
        list.cut)
        return h2c_bad(x, list.cut ? "the head is too large" : "a malformed field block");
    st->block_n = 0;
    rv = x->answered ? h2c_trailers(x, st, &list) : h2c_answer(x, st, &list);
    if (rv == APR_SUCCESS && st->block_ends && !x->answered)
        return h2c_bad(x, "the stream ended without an answer");
    return rv == APR_SUCCESS && st->block_ends ? h2c_complete(x, st) : rv;
}

apr_status_t h2c_block_part(proxy_exchange *x, h2c_stream *st, const h2_frame *f, const uint8_t *p,
                            apr_size_t n)
{
    if (st->block_n + n > H2C_HEAD_MOST)
        return h2c_bad(x, "the head is too large");
    if (!st->block)
        st->block = apr_palloc(x->r->pool, H2C_HEAD_MOST);
    memcpy(st->block + st->block_n, p, n);
    st->block_n += n;
    st->block_open = 1;
    return f->flags & H2_END_HEADERS ? h2c_block_done(x, st) : APR_SUCCESS;
}

apr_status_t h2c_headers(proxy_exchange *x, h2c_stream *st, const h2_frame *f, const uint8_t *p)
{
    apr_size_t n = f->len, padding = 0;

    if (f->stream != st->id)
        return h2c_bad(x, "HEADERS of a stream that was not asked for");
    if (f->flags & H2_PADDED) {
        if (n < 1)
            return h2c_bad(x, "malformed HEADERS");
        padding = *p++;
        n--;
    }
    if (f->flags & H2_HAS_PRIORITY) {
        if (n < 5)
            return h2c_bad(x, "malformed HEADERS");
        p += 5;
        n -= 5;
    }
    if (padding > n)
        return h2c_bad(x, "malformed HEADERS");
    st->block_ends = (f->flags & H2_END_STREAM) != 0;
    st->block_n = 0;
    return h2c_block_part(x, st, f, p, n - padding);
}

/* ---- bodies ---- */

/* Give the room back once half of it is used. */
static void h2c_credit(proxy_exchange *x, h2c_stream *st, apr_size_t n)
{
    h2c_session *s = h2c_session_of(x);

    s->taken += n;
    st->taken += n;
    if (s->taken >= H2C_WINDOW_ALL / 2) {
        h2c_put_number(x, H2_WINDOW_UPDATE, 0, (uint32_t)s->taken);
        s->taken = 0;
    }
    if (st->taken >= H2C_WINDOW / 2) {
        h2c_put_number(x, H2_WINDOW_UPDATE, st->id, (uint32_t)st->taken);
        st->taken = 0;
    }
}

static apr_status_t h2c_data_done(proxy_exchange *x, h2c_stream *st)
{
    if (st->data_left || st->padding || !st->data_ends)
        return APR_SUCCESS;
    st->data_ends = 0;
    return h2c_complete(x, st);
}

apr_status_t h2c_take_data(proxy_exchange *x, h2c_stream *st)
{
    uint32_t n = client_in_size(x->cc);

    if (st->data_left) {
        n = n < st->data_left ? n : st->data_left;
        APR_BRIGADE_INSERT_TAIL(x->in, client_in_bucket(x->cc, n, x->r->connection->bucket_alloc));
        st->data_left -= n;
    } else {
        n = n < st->padding ? n : st->padding;
        client_in_take(x->cc, n);
        st->padding -= n;
    }
    h2c_credit(x, st, n);
    return h2c_data_done(x, st);
}

apr_status_t h2c_data_begin(proxy_exchange *x, h2c_stream *st, const h2_frame *f)
{
    uint32_t n = f->len, head = H2_FRAME_HEAD;

    if (f->stream != st->id || !x->answered)
        return h2c_bad(x, "DATA that was not asked for");
    st->padding = 0;
    if (f->flags & H2_PADDED) {
        if (client_in_size(x->cc) < H2_FRAME_HEAD + 1)
            return APR_EAGAIN;
        st->padding = (uint8_t)client_in(x->cc)[H2_FRAME_HEAD];
        head++;
        if (!n || st->padding > n - 1)
            return h2c_bad(x, "malformed DATA");
        n -= st->padding + 1;
        h2c_credit(x, st, 1);
    }
    client_in_take(x->cc, head);
    st->came += n;
    if (n && (h2c_has_no_body(x) || (st->length >= 0 && st->came > st->length)))
        return h2c_bad(x, "more of a body than was told");
    if (!n && ++st->control > H2C_CONTROL_MOST)
        return h2c_bad(x, "a flood of frames");
    st->data_left = n;
    st->data_ends = (f->flags & H2_END_STREAM) != 0;
    return h2c_data_done(x, st);
}
