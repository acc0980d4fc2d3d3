/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the type application/x-www-form-urlencoded. A small state machine takes the body byte
 * by byte, so that a name, a value or an escape may be cut anywhere; values are collected in
 * brigades.
 */
#include <string.h>
#include "httpd.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "apr_strings.h"
#include "util_char.h"

#define UTIL_FORM_TYPE "application/x-www-form-urlencoded"

typedef struct util_form {
    request_rec *r;
    apr_array_header_t *pairs; /* of ap_form_pair_t */
    apr_bucket_brigade *value; /* of the pair that is being read; NULL within its name */
    apr_size_t num, size;      /* still allowed, APR_SIZE_MAX = any */
    int escape;                /* characters of %xx seen, 0 outside */
    char high;                 /* the first of its digits */
    int started;               /* something of the pair was seen */
    apr_size_t len;            /* of text */
    char text[HUGE_STRING_LEN];
} util_form;

static void util_form_flush(util_form *form)
{
    char *copy;

    if (form->len == 0)
        return;
    copy = apr_pstrmemdup(form->r->pool, form->text, form->len);
    APR_BRIGADE_INSERT_TAIL(form->value, apr_bucket_pool_create(copy, form->len, form->r->pool,
                                                                form->r->connection->bucket_alloc));
    form->len = 0;
}

static int util_form_open_pair(util_form *form)
{
    ap_form_pair_t *pair;

    if (form->num == 0)
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    if (form->num != APR_SIZE_MAX)
        form->num--;
    form->value = apr_brigade_create(form->r->pool, form->r->connection->bucket_alloc);
    pair = apr_array_push(form->pairs);
    pair->name = apr_pstrmemdup(form->r->pool, form->text, form->len);
    pair->value = form->value;
    form->len = 0;
    return OK;
}

static int util_form_close_pair(util_form *form)
{
    int rc = OK;

    if (form->started && !form->value)
        rc = util_form_open_pair(form);
    else if (form->value)
        util_form_flush(form);
    form->value = NULL;
    form->started = 0;
    return rc;
}

static int util_form_put(util_form *form, char c)
{
    /* a NUL would cut the name or value for whoever reads it as a string */
    if (!c)
        return HTTP_BAD_REQUEST;
    if (form->len == sizeof(form->text)) {
        if (!form->value)
            return HTTP_REQUEST_ENTITY_TOO_LARGE;
        util_form_flush(form);
    }
    form->text[form->len++] = c;
    form->started = 1;
    return OK;
}

static int util_form_escape(util_form *form, char c)
{
    if (!util_is(c, UTIL_C_HEX))
        return HTTP_BAD_REQUEST;
    if (form->escape++ == 1) {
        form->high = c;
        return OK;
    }
    form->escape = 0;
    return util_form_put(form, (char)(util_hex_value(form->high) << 4 | util_hex_value(c)));
}

static int util_form_byte(util_form *form, char c)
{
    if (form->size != APR_SIZE_MAX && form->size-- == 0)
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    if (form->escape)
        return util_form_escape(form, c);
    switch (c) {
    case '%':
        form->escape = 1;
        return OK;
    case '&':
        return util_form_close_pair(form);
    case '+':
        return util_form_put(form, ' ');
    case '=':
        if (!form->value) {
            form->started = 1;
            return util_form_open_pair(form);
        }
        return util_form_put(form, c);
    default:
        return util_form_put(form, c);
    }
}

/* Returns OK, DONE at the end of the body, or the status to refuse with. */
static int util_form_feed(util_form *form, apr_bucket_brigade *bb)
{
    apr_bucket *b;
    int rc = OK;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        const char *data;
        apr_size_t len, i;

        if (APR_BUCKET_IS_EOS(b))
            return DONE;
        if (APR_BUCKET_IS_METADATA(b))
            continue;
        if (apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return HTTP_INTERNAL_SERVER_ERROR;
        for (i = 0; i < len && rc == OK; i++)
            rc = util_form_byte(form, data[i]);
        if (rc != OK)
            return rc;
    }
    return OK;
}

static int util_form_is_form(request_rec *r)
{
    const char *type = apr_table_get(r->headers_in, "Content-Type");
    char *plain = ap_field_noparam(r->pool, type);

    return plain && ap_cstr_casecmp(plain, UTIL_FORM_TYPE) == 0;
}

AP_DECLARE(int)
ap_parse_form_data(request_rec *r, struct ap_filter_t *f, apr_array_header_t **ptr, apr_size_t num,
                   apr_size_t size)
{
    apr_bucket_brigade *bb;
    util_form *form;
    int rc = OK;

    *ptr = NULL;
    if (!util_form_is_form(r))
        return ap_discard_request_body(r);
    form = apr_pcalloc(r->pool, sizeof(*form));
    form->r = r;
    form->pairs = apr_array_make(r->pool, 4, sizeof(ap_form_pair_t));
    form->num = num;
    form->size = size;
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    while (rc == OK) {
        apr_status_t rv = ap_get_brigade(f ? f : r->input_filters, bb, AP_MODE_READBYTES,
                                         APR_BLOCK_READ, HUGE_STRING_LEN);

        if (rv != APR_SUCCESS)
            rc = ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        else
            rc = util_form_feed(form, bb);
        apr_brigade_cleanup(bb);
    }
    apr_brigade_destroy(bb);
    if (rc == DONE)
        rc = form->escape ? HTTP_BAD_REQUEST : util_form_close_pair(form);
    *ptr = form->pairs;
    return rc;
}
