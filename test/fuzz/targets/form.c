/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of forms. The first bytes say how many pairs and bytes are allowed and how the body is
 * cut; what comes out must not depend on the cuts, hold no NUL and be no longer than the body.
 * Covers: server/http/util_form.c
 */
#include "test_request.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "apr_general.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct source {
    const char *at;
    size_t left, piece;
} source;

static void check(int right)
{
    if (!right)
        abort();
}

static apr_status_t source_read(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                apr_read_type_e block, apr_off_t readbytes)
{
    source *from = f->ctx;
    size_t n = from->left < from->piece ? from->left : from->piece;

    if (n)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_transient_create(from->at, n, bb->bucket_alloc));
    else
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    from->at += n;
    from->left -= n;
    return APR_SUCCESS;
}

/* All pairs as a text: name, NUL, value, NUL. */
static char *pairs_text(apr_pool_t *p, const apr_array_header_t *pairs, size_t room, size_t *len)
{
    char *text = apr_palloc(p, room), *to = text;

    for (int i = 0; i < pairs->nelts; i++) {
        const ap_form_pair_t *pair = &APR_ARRAY_IDX(pairs, i, ap_form_pair_t);
        apr_size_t n = strlen(pair->name);

        check((size_t)(to - text) + n + 2 <= room);
        memcpy(to, pair->name, n + 1);
        to += n + 1;
        n = room - (size_t)(to - text) - 1;
        check(apr_brigade_flatten(pair->value, to, &n) == APR_SUCCESS && !memchr(to, '\0', n));
        to += n;
        *to++ = '\0';
    }
    *len = (size_t)(to - text);
    return text;
}

static int parse(apr_pool_t *p, source from, size_t num, size_t most, char **text, size_t *len)
{
    ap_filter_rec_t rec = {.name = "source", .filter_func = {.in_func = source_read}};
    request_rec *r = test_request(p);
    ap_filter_t filter = {.frec = &rec, .ctx = &from, .r = r, .c = r->connection};
    size_t room = 2 * from.left + 16; /* each '&' and '=' of the body becomes at most two NULs */
    apr_array_header_t *pairs;
    int rc;

    apr_table_setn(r->headers_in, "Content-Type", "application/x-www-form-urlencoded");
    rc = ap_parse_form_data(r, &filter, &pairs, num, most);
    check(rc == OK || rc == HTTP_BAD_REQUEST || rc == HTTP_REQUEST_ENTITY_TOO_LARGE);
    check((size_t)pairs->nelts <= num);
    *text = pairs_text(p, pairs, room, len);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *pool;
    source whole, cut;
    size_t num, most, whole_len, cut_len;
    char *whole_text, *cut_text;
    int rc;

    if (size < 3 || size > 20000)
        return 0;
    if (!pool) {
        apr_initialize();
        apr_pool_create(&pool, NULL);
    }
    num = data[0] == 255 ? APR_SIZE_MAX : data[0];
    most = data[1] == 255 ? APR_SIZE_MAX : (size_t)data[1] * 64;
    whole = cut = (source){(const char *)data + 3, size - 3, size};
    cut.piece = (size_t)data[2] + 1;
    rc = parse(pool, whole, num, most, &whole_text, &whole_len);
    check(parse(pool, cut, num, most, &cut_text, &cut_len) == rc);
    check(whole_len == cut_len && !memcmp(whole_text, cut_text, cut_len));
    apr_pool_clear(pool);
    return 0;
}
