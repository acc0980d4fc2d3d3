/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BYTERANGE filter: a table of Range fields against a body of 62 bytes, given as one bucket,
 * cut at every byte, and as a file, which must stay one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "test_http.h"
#include "mod_core.h"

static const char body[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static brg_conn conn;
static int client;

/* What passed the last filter before the network: data, and whether any of it was not a file's. */
static char passed[65536];
static size_t passed_len;
static int passed_memory;

static apr_status_t capture(ap_filter_t *f, apr_bucket_brigade *bb)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(e))
            continue;
        passed_memory |= !APR_BUCKET_IS_FILE(e);
        assert_int_equal(apr_bucket_read(e, &data, &len, APR_BLOCK_READ), APR_SUCCESS);
        memcpy(passed + passed_len, data, len);
        passed_len += len;
    }
    apr_brigade_cleanup(bb);
    passed[passed_len] = '\0';
    return APR_SUCCESS;
}

/* The parts as "from-to:data;", whole as "whole". */
static const struct range_case {
    const char *range, *want;
} cases[] = {
    {"bytes=0-4", "0-4:01234;"},
    {"bytes=5-", "5-61:56789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ;"},
    {"bytes=-5", "57-61:VWXYZ;"},
    {"BYTES=61-61", "61-61:Z;"},
    {"bytes=0-0,-1", "0-0:0;61-61:Z;"},
    {"bytes=0-4,10-14", "0-4:01234;10-14:abcde;"},
    {"bytes=10-14,0-4", "10-14:abcde;0-4:01234;"},
    {"bytes=0-4,3-10", "0-10:0123456789a;"},
    {"bytes=0-1,2-3", "0-3:0123;"},
    {"bytes=3-10,0-4", "0-10:0123456789a;"},
    {"bytes=0-1,3-4,6-7,9-10", "0-1:01;3-4:34;6-7:67;9-10:9a;"},
    {"bytes=0-4,100-", "0-4:01234;"},
    {"bytes=100-,0-4", "0-4:01234;"},
    {"bytes=0-99999", "0-61:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ;"},
    {"bytes=-999", "0-61:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ;"},
    {"bytes=0-61,5-5", "0-61:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ;"},
    {"bytes=0-4,", "0-4:01234;"},
    {"bytes=0-4 ,\t6-7", "0-4:01234;6-7:67;"},
    {"bytes=100-", "416"},
    {"bytes=62-", "416"},
    {"bytes=100-200,300-", "416"},
    {"bytes=9223372036854775790-", "416"},
    {"bytes=10-61,0-5,10-61", "whole"}, /* dearer than the whole */
    {"bytes=5-3", "whole"},
    {"bytes=0-4,5-3", "whole"},
    {"bytes=-0", "whole"},
    {"bytes=-", "whole"},
    {"bytes=--1", "whole"},
    {"bytes=", "whole"},
    {"bytes=,", "whole"},
    {"bytes=a-b", "whole"},
    {"bytes=0-4,x", "whole"},
    {"bytes=0 - 4", "whole"},
    {"bytes=+0-4", "whole"},
    {"bytes=0x0-4", "whole"},
    {"bytes=0-4;x", "whole"},
    {"bytes 0-4", "whole"},
    {"lines=0-4", "whole"},
    {"bytes=99999999999999999999-", "whole"},
    {"bytes=0-99999999999999999999", "whole"},
    {"bytes=0-0,2-2,4-4,6-6,8-8,10-10", "whole"}, /* MaxRanges 5 */
    {"bytes=0-5,3-8,7-9,8-10", "whole"},          /* MaxRangeOverlaps 2 */
    {"bytes=10-20,9-9,8-8", "whole"},             /* MaxRangeReversals 1 */
};

static request_rec *ask(const char *method, const char *range)
{
    char head[512];
    request_rec *r;

    snprintf(head, sizeof head, "%s / HTTP/1.1\r\nHost: x\r\nRange: %s\r\n\r\n", method, range);
    r = test_http_request(&conn, head);
    r->content_type = "text/plain";
    passed_len = 0;
    passed_memory = 0;
    passed[0] = '\0';
    /* Only the byterange filter is under test: what it passes goes straight to the capture. */
    r->output_filters = NULL;
    r->proto_output_filters = NULL;
    return r;
}

static ap_filter_t *filter_of(request_rec *r)
{
    static ap_filter_rec_t capture_rec, range_rec;
    ap_filter_t *end = apr_pcalloc(r->pool, sizeof *end), *f = apr_pcalloc(r->pool, sizeof *f);

    capture_rec = (ap_filter_rec_t){
        .name = "capture", .filter_func.out_func = capture, .ftype = AP_FTYPE_NETWORK};
    range_rec = (ap_filter_rec_t){.name = "byterange",
                                  .filter_func.out_func = ap_byterange_filter,
                                  .ftype = AP_FTYPE_PROTOCOL};
    *end = (ap_filter_t){.frec = &capture_rec, .r = r, .c = r->connection};
    *f = (ap_filter_t){.frec = &range_rec, .r = r, .c = r->connection, .next = end};
    r->output_filters = r->proto_output_filters = f;
    return f;
}

static apr_bucket_brigade *whole_body(request_rec *r, size_t cut)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create(body, cut, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(alloc));
    APR_BRIGADE_INSERT_TAIL(bb,
                            apr_bucket_heap_create(body + cut, sizeof body - 1 - cut, NULL, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    return bb;
}

/* Take a response apart into the notation of the table, checking its framing on the way. */
static void parts_of(request_rec *r, char *out, size_t cap)
{
    const char *one = apr_table_get(r->headers_out, "Content-Range"), *p = passed;
    unsigned from, to;
    int n;

    *out = '\0';
    if (r->status == HTTP_OK) {
        assert_string_equal(passed, body);
        strcpy(out, "whole");
        return;
    }
    assert_int_equal(r->status, HTTP_PARTIAL_CONTENT);
    if (one) {
        assert_int_equal(sscanf(one, "bytes %u-%u/62", &from, &to), 2);
        assert_true(snprintf(out, cap, "%u-%u:%s;", from, to, passed) < (int)cap);
        return;
    }
    assert_string_equal(r->content_type, "multipart/byteranges; boundary=BOUND");
    while (strcmp(p, "\r\n--BOUND--\r\n")) {
        assert_int_equal(
            sscanf(p, "\r\n--BOUND\r\nContent-type: text/plain\r\nContent-range: bytes %u-%u/62%n",
                   &from, &to, &n),
            2);
        p += n;
        assert_memory_equal(p, "\r\n\r\n", 4);
        n = snprintf(out, cap, "%u-%u:%.*s;", from, to, (int)(to - from + 1), p + 4);
        assert_true(n < (int)cap);
        out += n;
        cap -= (size_t)n;
        p += 4 + (to - from + 1);
        assert_true(p < passed + passed_len);
    }
}

static void check(const struct range_case *c, size_t cut)
{
    request_rec *r = ask("GET", c->range);
    char got[512];

    /* The 416 is made by the rest of the chain out of the error bucket, which the capture drops. */
    assert_int_equal(ap_pass_brigade(filter_of(r), whole_body(r, cut)), APR_SUCCESS);
    if (!strcmp(c->want, "416")) {
        assert_string_equal(apr_table_get(r->err_headers_out, "Content-Range"), "bytes */62");
        assert_int_equal(passed_len, 0);
    } else {
        parts_of(r, got, sizeof got);
        if (strcmp(got, c->want))
            print_error("%s cut at %zu: %s\n", c->range, cut, got);
        assert_string_equal(got, c->want);
    }
    apr_pool_destroy(r->pool);
}

static void test_table(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t cut = 0; cut < sizeof body; cut++)
            check(&cases[i], cut);
    }
}

static void test_methods(void **state)
{
    static const char *const methods[] = {"HEAD", "POST", "PUT"};

    for (int i = 0; i < 3; i++) {
        request_rec *r = ask(methods[i], "bytes=0-1");

        assert_int_equal(ap_pass_brigade(filter_of(r), whole_body(r, 3)), APR_SUCCESS);
        assert_int_equal(r->status, HTTP_OK);
        apr_pool_destroy(r->pool);
    }
}

/* Without its end a body has no length, and ranges do not apply. */
static void test_not_whole(void **state)
{
    request_rec *r = ask("GET", "bytes=0-1");
    apr_bucket_brigade *bb = whole_body(r, 3);

    apr_bucket_delete(APR_BRIGADE_LAST(bb));
    assert_int_equal(ap_pass_brigade(filter_of(r), bb), APR_SUCCESS);
    assert_int_equal(r->status, HTTP_OK);
    assert_string_equal(passed, body);
    apr_pool_destroy(r->pool);
}

static void test_handler_did_it(void **state)
{
    request_rec *r = ask("GET", "bytes=0-1");

    apr_table_setn(r->headers_out, "Content-Range", "bytes 0-61/62");
    assert_int_equal(ap_pass_brigade(filter_of(r), whole_body(r, 3)), APR_SUCCESS);
    assert_string_equal(passed, body);
    assert_int_equal(r->status, HTTP_OK);
    apr_pool_destroy(r->pool);
}

static void test_file_stays_file(void **state)
{
    request_rec *r = ask("GET", "bytes=5000000000-5000000004");
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    char name[] = "/tmp/brigade-range-XXXXXX";
    apr_off_t at = APR_INT64_C(5000000000);
    apr_file_t *fd;

    assert_int_equal(
        apr_file_mktemp(&fd, name, APR_FOPEN_READ | APR_FOPEN_WRITE | APR_FOPEN_CREATE, r->pool),
        0);
    remove(name);
    assert_int_equal(apr_file_seek(fd, APR_SET, &at), APR_SUCCESS);
    assert_int_equal(apr_file_puts("abcdefgh", fd), APR_SUCCESS);
    apr_brigade_insert_file(bb, fd, 0, APR_INT64_C(5000000008), r->pool);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(r->connection->bucket_alloc));
    assert_int_equal(ap_pass_brigade(filter_of(r), bb), APR_SUCCESS);
    assert_string_equal(passed, "abcde");
    assert_int_equal(passed_memory, 0);
    assert_string_equal(apr_table_get(r->headers_out, "Content-Range"),
                        "bytes 5000000000-5000000004/5000000008");
    apr_pool_destroy(r->pool);
}

static int set_up(void **state)
{
    test_server_up("MaxRanges 5\nMaxRangeOverlaps 2\nMaxRangeReversals 1\n");
    ap_multipart_boundary = "BOUND";
    test_connect(&conn, &client);
    return 0;
}

static int tear_down(void **state)
{
    test_disconnect(&conn, client);
    return test_server_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),           cmocka_unit_test(test_methods),
        cmocka_unit_test(test_not_whole),       cmocka_unit_test(test_handler_did_it),
        cmocka_unit_test(test_file_stays_file),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
