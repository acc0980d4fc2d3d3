/* SPDX-License-Identifier: Apache-2.0 */
/* Form bodies, whole and in pieces of every size; query arguments. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "apr_buckets.h"
#include "apr_strings.h"
#include "util_filter.h"
#include "util_script.h"
#include "test_pool.h"
#include "test_request.h"

/* An input filter that hands out a text in pieces. */
typedef struct source {
    const char *at;
    size_t piece;
} source;

static apr_status_t source_read(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                apr_read_type_e block, apr_off_t readbytes)
{
    source *from = f->ctx;
    size_t n = strlen(from->at);

    if (n > from->piece)
        n = from->piece;
    if (n)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_transient_create(from->at, n, bb->bucket_alloc));
    else
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    from->at += n;
    return APR_SUCCESS;
}

static int parse(const char *body, size_t piece, apr_size_t num, apr_size_t size, const char **text)
{
    ap_filter_rec_t rec = {.name = "source", .filter_func = {.in_func = source_read}};
    source from = {body, piece};
    request_rec *r = test_request(test_pool);
    ap_filter_t filter = {.frec = &rec, .ctx = &from, .r = r, .c = r->connection};
    apr_array_header_t *pairs;
    int i, rc;

    apr_table_setn(r->headers_in, "Content-Type",
                   "application/x-www-form-urlencoded; charset=utf-8");
    rc = ap_parse_form_data(r, &filter, &pairs, num, size);
    *text = "";
    for (i = 0; i < pairs->nelts; i++) {
        ap_form_pair_t *pair = &APR_ARRAY_IDX(pairs, i, ap_form_pair_t);
        char *value;
        apr_size_t len;

        if (!pair->value)
            value = apr_pstrdup(test_pool, "");
        else {
            apr_brigade_pflatten(pair->value, &value, &len, test_pool);
            value = apr_pstrmemdup(test_pool, value, len);
        }
        *text = apr_pstrcat(test_pool, *text, i ? "|" : "", pair->name, "=", value, NULL);
    }
    return rc;
}

static void test_forms(void **state)
{
    static const struct {
        const char *body;
        int rc;
        const char *text;
    } cases[] = {
        {"", OK, ""},
        {"a=1&b=2", OK, "a=1|b=2"},
        {"a=x+y%41%2b&b", OK, "a=x yA+|b="},
        {"a%3Db=c=d&&e=", OK, "a=b=c=d|e="},
        {"=x", OK, "=x"},
        {"a=%zz", HTTP_BAD_REQUEST, "a="},
        {"a=%4", HTTP_BAD_REQUEST, "a="},
        {"a=%00", HTTP_BAD_REQUEST, "a="},
        {"%00=a", HTTP_BAD_REQUEST, ""},
    };
    size_t i, piece;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (piece = 1; piece <= strlen(cases[i].body) + 1; piece++) {
            const char *text;

            assert_int_equal(parse(cases[i].body, piece, (apr_size_t)-1, (apr_size_t)-1, &text),
                             cases[i].rc);
            assert_string_equal(text, cases[i].text);
        }
    }
}

static void test_limits(void **state)
{
    char *big = apr_palloc(test_pool, 3 * HUGE_STRING_LEN + 3);
    const char *text;

    assert_int_equal(parse("a=1&b=2", 100, 1, 100, &text), HTTP_REQUEST_ENTITY_TOO_LARGE);
    assert_int_equal(parse("a=1&b=2", 100, 2, 7, &text), OK);
    assert_int_equal(parse("a=1&b=2", 100, 2, 6, &text), HTTP_REQUEST_ENTITY_TOO_LARGE);
    memset(big, 'v', 3 * HUGE_STRING_LEN);
    big[1] = '=';
    big[3 * HUGE_STRING_LEN] = '\0';
    assert_int_equal(parse(big, 1000, 1, (apr_size_t)-1, &text), OK);
    assert_string_equal(text, big);
    big[1] = 'n';
    assert_int_equal(parse(big, 1000, 1, (apr_size_t)-1, &text), HTTP_REQUEST_ENTITY_TOO_LARGE);
}

static void test_args(void **state)
{
    request_rec *r = test_request(test_pool);
    apr_table_t *args;

    r->args = (char *)"a=1&&b&%63=x%20y&A=2&=e";
    ap_args_to_table(r, &args);
    assert_string_equal(apr_table_get(args, "a"), "2");
    assert_string_equal(apr_table_get(args, "b"), "1");
    assert_string_equal(apr_table_get(args, "c"), "x y");
    assert_string_equal(apr_table_get(args, ""), "e");
    r->args = NULL;
    ap_args_to_table(r, &args);
    assert_true(apr_is_empty_table(args));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_forms),
        TEST_WITH_POOL(test_limits),
        TEST_WITH_POOL(test_args),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
