/* SPDX-License-Identifier: Apache-2.0 */
/* What filters make of a body is kept as it goes by: the body, without the head and the frames of HTTP around it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "cache_fill_private.h"
#include "test_pool.h"
#include "test_request.h"
#include "apr_hooks.h"

#define MOST 20

static request_rec *r;
static char sent[100];

static apr_status_t sends(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_size_t len = sizeof sent - 1 - strlen(sent);

    assert_int_equal(apr_brigade_flatten(bb, sent + strlen(sent), &len), APR_SUCCESS);
    return apr_brigade_cleanup(bb);
}

/* As the filters of HTTP, which are there before any other. */
static apr_status_t adds_head(ap_filter_t *f, apr_bucket_brigade *bb)
{
    APR_BRIGADE_INSERT_HEAD(bb, apr_bucket_immortal_create("head ", 5, bb->bucket_alloc));
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static int set_up(void **state)
{
    test_pool_setup(NULL);
    apr_hook_global_pool = test_pool;
    cache_capture_register();
    ap_register_output_filter("sends", sends, NULL, AP_FTYPE_NETWORK);
    ap_register_output_filter("adds_head", adds_head, NULL, AP_FTYPE_PROTOCOL);
    r = test_request(test_pool);
    ap_add_output_filter("sends", NULL, NULL, r->connection);
    r->output_filters = r->proto_output_filters = r->connection->output_filters;
    ap_add_output_filter("adds_head", NULL, r, r->connection);
    memset(sent, 0, sizeof sent);
    return 0;
}

static int tear_down(void **state)
{
    apr_hook_global_pool = NULL;
    test_pool_teardown(NULL);
    return 0;
}

static void send_text(const char *text, int ends)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(test_pool, alloc);

    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create(text, strlen(text), alloc));
    if (ends)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    assert_int_equal(ap_pass_brigade(r->output_filters, bb), APR_SUCCESS);
}

static void a_body_is_kept(void **state)
{
    static const char frames[] = "b\r\nhello world\r\n0\r\n\r\n";

    for (r->chunked = 0; r->chunked < 2; r->chunked++) {
        cache_entry e = {.status = HTTP_OK};
        cache_capture *cap = cache_capture_begin(r, MOST);
        const char *expected = r->chunked ? frames : "hello world";
        size_t len;
        int too_long;
        char *body;

        apr_table_setn(r->headers_out, "Content-Length", "11");
        send_text("hello ", 0);
        assert_null(cache_capture_take(cap, r, &e, &len, &too_long));
        send_text("world", 1);
        assert_non_null(body = cache_capture_take(cap, r, &e, &len, &too_long));
        assert_int_equal(len, strlen(expected));
        assert_memory_equal(body, expected, len);
        assert_false(too_long);
        free(body);
    }
    assert_string_equal(sent, "head hello worldhello world");
}

static void a_long_one_is_not(void **state)
{
    cache_entry e = {.status = HTTP_OK};
    cache_capture *cap = cache_capture_begin(r, MOST);
    size_t len;
    int too_long;

    r->chunked = 1;
    send_text("hello world ", 0);
    send_text("hello world", 1);
    assert_null(cache_capture_take(cap, r, &e, &len, &too_long));
    assert_true(too_long);
    assert_string_equal(sent, "head hello world hello world");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_body_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_one_is_not, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
