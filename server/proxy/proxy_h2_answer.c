/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends: heads, trailers and bodies of answers, which are judged as those of HTTP/1. Source: RFC 9113, 6.1, 6.2, 8. */
#include "proxy_fields.h"
#include "proxy_h2_private.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* ---- heads ---- */

static int h2c_status(const http_field_block *list)
{
    int status = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        const http_field *f = &list->field[i];

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

/* Fields of a connection of HTTP/1 have no meaning here (RFC 9113, 8.2.2). TE and Trailer are dropped. */
static int h2c_field_is_of_connection(const http_field *f)
{
    return f->name_len >= 7 && (f->name_len != 7 || *f->name == 'u') &&
           proxy_answer_rule_of(f->name, f->name_len) == PROXY_ANSWER_STAYS;
}

/* Bytes that could be misread once it is a line of HTTP/1 (RFC 9113, 8.2.1). */
static int h2c_field_is_bad(const http_field *f)
{
    const char *name_end = f->name + f->name_len, *end = f->value + f->value_len;

    for (uint32_t i = 0; i < f->name_len; i++)
        if (apr_isupper(f->name[i]))
            return 1;
    return !f->name_len || h1_scan_token(f->name, name_end) != name_end ||
           http_scan_value(f->value, end) != end || h2c_field_is_of_connection(f);
}

/* @return 0: another length, or not a number */
static int h2c_length(h2c_stream *st, const http_field *f)
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
static const char *h2c_fields(proxy_exchange *x, h2c_stream *st, const http_field_block *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const http_field *f = &list->field[i];
        const int is_length = f->name_len == 14 && !memcmp(f->name, "content-length", 14);

        if (f->name_len == 7 && !memcmp(f->name, ":status", 7))
            continue;
        if (h2c_field_is_bad(f))
            return "a malformed field";
        if (is_length && st && st->length >= 0 && h2c_length(st, f))
            continue; /* once more the same */
        if (is_length && st && !h2c_length(st, f))
            return "a wrong Content-Length";
        exchange_field(x, apr_pstrmemdup(x->pool, f->name, f->name_len),
                       apr_pstrmemdup(x->pool, f->value, f->value_len));
    }
    return NULL;
}

static apr_status_t h2c_answer(proxy_exchange *x, h2c_stream *st, const http_field_block *list)
{
    const int status = h2c_status(list);
    const char *bad;

    if (status < 100 || status == HTTP_SWITCHING_PROTOCOLS)
        return h2c_bad(x, "a head without a status");
    if (status < 200) {
        exchange_interim_begin(x, status);
        bad = h2c_fields(x, NULL, list);
        exchange_interim_end(x);
        return bad || x->answer.bad ? h2c_bad(x, bad ? bad : x->answer.bad) : APR_SUCCESS;
    }
    exchange_status(x, status, NULL, 0);
    if ((bad = h2c_fields(x, st, list)) != NULL)
        return h2c_bad(x, bad);
    exchange_fields_done(x);
    exchange_head_done(x);
    return APR_SUCCESS;
}

static apr_status_t h2c_trailers(proxy_exchange *x, const http_field_block *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const http_field *f = &list->field[i];

        if (h2c_field_is_bad(f))
            return h2c_bad(x, "a malformed trailer");
        x->sink->trailer(x, f);
    }
    return APR_SUCCESS;
}

/* An answer to HEAD, 204 and 304 have none, whatever their Content-Length. */
static int h2c_has_no_body(const proxy_exchange *x)
{
    return x->is_head || x->answer.code == HTTP_NO_CONTENT || x->answer.code == HTTP_NOT_MODIFIED;
}

/* The stream ended: as much came as was told (RFC 9113, 8.1.1). */
static apr_status_t h2c_complete(proxy_exchange *x, const h2c_stream *st)
{
    if (st->length >= 0 && st->came != st->length && !h2c_has_no_body(x))
        return h2c_bad(x, "a body of another length than was told");
    x->answer.complete = 1;
    return APR_SUCCESS;
}

/* ---- bodies ---- */

/* Give the room back once half of it is used. */
static void h2c_credit(h2c_stream *st, apr_size_t n)
{
    st->given += (uint32_t)n;
    if (st->over || st->given < H2C_WINDOW / 2)
        return;
    h2c_put_number(st->s, H2_WINDOW_UPDATE, st->id, st->given);
    st->owed -= st->given;
    st->given = 0;
}

static apr_status_t h2c_data(proxy_exchange *x, h2c_stream *st)
{
    const apr_size_t n = st->stored_n + st->data_n;

    st->came += (int64_t)n;
    if (!x->answer.begun || h2c_has_no_body(x) || (st->length >= 0 && st->came > st->length))
        return h2c_bad(x, "more of a body than was told");
    APR_BRIGADE_CONCAT(x->in, st->data);
    st->stored_n = st->data_n = 0;
    h2c_credit(st, n);
    return APR_SUCCESS;
}

/* ---- all of it ---- */

static apr_status_t h2c_block_taken(proxy_exchange *x, h2c_stream *st)
{
    h2c_block *b = st->blocks;
    const http_field_block list = {.field = b->field, .n = b->n};
    apr_status_t rv;

    BRG_ASSERT(b && st->blocks_n > 0);
    st->blocks = b->next;
    if (!st->blocks)
        st->blocks_last = &st->blocks;
    st->blocks_n--;
    rv = x->answer.begun ? h2c_trailers(x, &list) : h2c_answer(x, st, &list);
    free(b);
    return rv;
}

static apr_status_t h2c_take_ended(proxy_exchange *x, h2c_stream *st)
{
    if (st->bad) {
        x->attempt.untouched = st->untouched;
        return h2c_bad(x, st->bad);
    }
    if (st->over)
        return h2c_complete(x, st);
    if (!st->s)
        return APR_EOF;
    if (st->s->bad)
        return h2c_bad(x, st->s->bad);
    return st->s->broken != APR_SUCCESS ? st->s->broken : APR_EAGAIN;
}

/* Heads, then the body, then trailers, then the end. */
apr_status_t h2c_take(proxy_exchange *x, h2c_stream *st)
{
    const int any = st->blocks || st->data_n || st->stored_n;
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && st->blocks && !x->answer.begun)
        rv = h2c_block_taken(x, st);
    if (rv == APR_SUCCESS && (st->data_n || st->stored_n))
        rv = h2c_data(x, st);
    while (rv == APR_SUCCESS && st->blocks)
        rv = h2c_block_taken(x, st);
    if (rv != APR_SUCCESS)
        return rv;
    rv = h2c_take_ended(x, st);
    return any && rv == APR_EAGAIN ? APR_SUCCESS : rv;
}
