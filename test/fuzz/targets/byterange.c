/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range fields against a body of as many bytes as the first byte says, in two buckets. Whatever
 * comes out must be slices of the body, and no more bytes than the body has.
 * Covers: server/http/http_byterange.c server/http/http_part.c
 */
#include "test_request.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_general.h"
#include "mod_core.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char body[256], passed[1 << 20];
static size_t passed_len;

static void check(int right)
{
    if (!right)
        abort();
}

static apr_status_t capture(ap_filter_t *f, apr_bucket_brigade *bb)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(e))
            continue;
        check(apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS);
        check(passed_len + len < sizeof passed);
        memcpy(passed + passed_len, data, len);
        passed_len += len;
    }
    apr_brigade_cleanup(bb);
    passed[passed_len] = '\0';
    return APR_SUCCESS;
}

static request_rec *make_request(apr_pool_t *p, const char *range)
{
    static core_dir_config conf = {.max_ranges = AP_MAXRANGES_DEFAULT,
                                   .max_overlaps = AP_MAXRANGES_DEFAULT,
                                   .max_reversals = AP_MAXRANGES_DEFAULT};
    static void *vector[64];
    request_rec *r = test_request(p);

    vector[0] = &conf; /* the core's place */
    r->per_dir_config = (struct ap_conf_vector_t *)vector;
    apr_table_setn(r->headers_in, "Range", range);
    return r;
}

static void send_body(request_rec *r, size_t len, size_t cut)
{
    static ap_filter_rec_t capture_rec = {.name = "capture", .filter_func.out_func = capture};
    static ap_filter_rec_t range_rec = {.name = "byterange",
                                        .filter_func.out_func = ap_byterange_filter};
    ap_filter_t end = {.frec = &capture_rec, .r = r, .c = r->connection};
    ap_filter_t f = {.frec = &range_rec, .r = r, .c = r->connection, .next = &end};
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    r->output_filters = r->proto_output_filters = &f;
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create(body, cut, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_heap_create(body + cut, len - cut, NULL, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(&f, bb);
}

static const char *check_slice(const char *numbers, const char *data, size_t len)
{
    unsigned from, to, of;

    check(sscanf(numbers, "bytes %u-%u/%u", &from, &to, &of) == 3);
    check(from <= to && to < len && of == len && !memcmp(data, body + from, to - from + 1));
    return data + (to - from + 1);
}

static void check_answer(request_rec *r, size_t len)
{
    const char *range = apr_table_get(r->headers_out, "Content-Range"), *p = passed;

    if (r->status == HTTP_OK) {
        check(apr_table_get(r->err_headers_out, "Content-Range") ||
              (passed_len == len && !memcmp(passed, body, len)));
        return;
    }
    check(r->status == HTTP_PARTIAL_CONTENT);
    if (range) {
        check(check_slice(range, passed, len) == passed + passed_len);
        return;
    }
    while (strcmp(p, "\r\n--BOUND--\r\n")) {
        const char *data = strstr(p, "\r\n\r\n"), *numbers = strstr(p, "bytes ");

        check(data && numbers && numbers < data);
        p = check_slice(numbers, data + 4, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *pool;
    request_rec *r;
    char *range;
    size_t len;

    if (size < 2 || size > 10000)
        return 0;
    if (!pool) {
        apr_initialize();
        apr_pool_create(&pool, NULL);
        ap_multipart_boundary = "BOUND";
        for (int i = 0; i < 256; i++)
            body[i] = (char)('a' + i % 26);
    }
    len = data[0];
    range =
        apr_pstrcat(pool, "bytes=", apr_pstrmemdup(pool, (const char *)data + 2, size - 2), NULL);
    passed_len = 0;
    r = make_request(pool, range);
    send_body(r, len, len ? data[1] % len : 0);
    check_answer(r, len);
    apr_pool_clear(pool);
    return 0;
}
