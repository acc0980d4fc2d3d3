/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates in conditional fields. What is read as a date must survive being written and read again,
 * and a condition on it must hold for the moment that it names.
 * Covers: server/http/http_condition.c
 */
#include "test_request.h"
#include "h1_response.h"
#include "http_protocol.h"
#include "apr_date.h"
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

static void check_date(apr_pool_t *pool, const char *text, apr_time_t when)
{
    const char *written = apr_pstrdup(pool, http_date_now(when));
    request_rec *r = test_request(pool);

    check(strlen(written) == HTTP_DATE_LEN);
    check(apr_date_parse_http(written) == when);
    /* Asked long after, by someone who saw it at just that time: nothing changed. */
    r->request_time = when + apr_time_from_sec(86400);
    apr_table_setn(r->headers_out, "Last-Modified", written);
    apr_table_setn(r->headers_in, "If-Modified-Since", text);
    check(ap_meets_conditions(r) == HTTP_NOT_MODIFIED);
    apr_table_setn(r->headers_in, "If-Unmodified-Since", text);
    check(ap_meets_conditions(r) == HTTP_NOT_MODIFIED);
    apr_table_setn(r->headers_in, "Range", "bytes=0-0");
    apr_table_setn(r->headers_in, "If-Range", text);
    if (text[0] != '"' && strncmp(text, "W/", 2))
        check(ap_condition_if_range(r, r->headers_out) == AP_CONDITION_STRONG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *pool;
    apr_time_t when;
    char *text;

    if (!pool) {
        apr_initialize();
        apr_pool_create(&pool, NULL);
    }
    text = apr_pstrmemdup(pool, (const char *)data, size);
    when = apr_date_parse_http(text);
    /* Four-digit years only: the format has no room for more. */
    if (when > 0 && when < apr_time_from_sec(APR_INT64_C(253402214400)))
        check_date(pool, text, when);
    apr_pool_clear(pool);
    return 0;
}
