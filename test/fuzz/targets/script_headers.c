/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scripts say before their output. The first byte says how the text is cut; neither the cuts
 * nor where it comes from (buckets, a string) change the answer, and no field has an end of a line
 * in it or frames the body.
 * Covers: server/http/script_headers.c
 */
#include "test_request.h"
#include "http_log.h"
#include "http_protocol.h"
#include "util_script.h"
#include "apr_buckets.h"
#include "apr_general.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static request_rec *request(apr_pool_t *p)
{
    request_rec *r = test_request(p);

    r->method_number = M_POST; /* no "not modified", which would look at files */
    r->server->log.level = APLOG_EMERG;
    return r;
}

static apr_bucket_brigade *brigade(request_rec *r, const char *text, size_t len, size_t piece)
{
    apr_bucket_alloc_t *list = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, list);

    for (size_t at = 0; at < len; at += piece)
        APR_BRIGADE_INSERT_TAIL(
            bb, apr_bucket_immortal_create(text + at, len - at < piece ? len - at : piece, list));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(list));
    return bb;
}

/* What an answer has become, as a text. */
typedef struct outcome {
    apr_pool_t *pool;
    const char *text;
} outcome;

static int outcome_field(void *data, const char *name, const char *value)
{
    outcome *out = data;

    check(!strchr(name, '\n') && !strchr(value, '\n') && strcasecmp(name, "Transfer-Encoding"));
    out->text = apr_pstrcat(out->pool, out->text, name, "\n", value, "\n", NULL);
    return 1;
}

static const char *outcome_of(request_rec *r, int rc)
{
    outcome out = {r->pool, apr_psprintf(r->pool, "%d %d %s\n", rc, r->status,
                                         r->status_line ? r->status_line : "-")};

    apr_table_do(outcome_field, &out, r->headers_out, NULL);
    apr_table_do(outcome_field, &out, r->err_headers_out, NULL);
    return apr_pstrcat(r->pool, out.text, r->content_type ? r->content_type : "", NULL);
}

static const char *from_buckets(apr_pool_t *p, const char *text, size_t len, size_t piece)
{
    request_rec *r = request(p);

    return outcome_of(r, ap_scan_script_header_err_brigade(r, brigade(r, text, len, piece), NULL));
}

static const char *from_string(apr_pool_t *p, const char *text)
{
    request_rec *r = request(p);
    const char *rest;
    int which;

    return outcome_of(r, ap_scan_script_header_err_strs(r, NULL, &rest, &which, text, NULL));
}

/* 1: each line has an end, and fits a reader's buffer. In a string the last one may do without. */
static int lines_are_whole(const char *text)
{
    const char *lf;

    for (; *text; text = lf + 1)
        if (!(lf = strchr(text, '\n')) || lf - text >= MAX_STRING_LEN - 2)
            return 0;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *pool;
    const char *text, *whole;

    if (size < 2 || size > 20000)
        return 0;
    if (!pool) {
        apr_initialize();
        apr_pool_create(&pool, NULL);
    }
    text = apr_pstrmemdup(pool, (const char *)data + 1, size - 1);
    whole = from_buckets(pool, text, size - 1, size);
    check(!strcmp(whole, from_buckets(pool, text, size - 1, (size_t)data[0] + 1)));
    if (strlen(text) == size - 1 && lines_are_whole(text))
        check(!strcmp(whole, from_string(pool, text)));
    apr_pool_clear(pool);
    return 0;
}
