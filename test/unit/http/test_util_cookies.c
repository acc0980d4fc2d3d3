/* SPDX-License-Identifier: Apache-2.0 */
/* Cookies, and the FastCGI records of util_fcgi.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "apr_strings.h"
#include "util_cookies.h"
#include "util_fcgi.h"
#include "test_pool.h"

static request_rec *request(void)
{
    request_rec *r = apr_pcalloc(test_pool, sizeof(*r));

    r->pool = test_pool;
    r->uri = (char *)"/";
    r->server = apr_pcalloc(test_pool, sizeof(*r->server));
    r->connection = apr_pcalloc(test_pool, sizeof(*r->connection));
    r->connection->base_server = r->server;
    r->headers_in = apr_table_make(test_pool, 4);
    r->headers_out = apr_table_make(test_pool, 4);
    r->err_headers_out = apr_table_make(test_pool, 4);
    return r;
}

static void test_write(void **state)
{
    request_rec *r = request();

    ap_cookie_write(r, "n", "v", NULL, 60, r->headers_out, r->err_headers_out, NULL);
    assert_string_equal(apr_table_get(r->headers_out, "Set-Cookie"),
                        "n=v;Max-Age=60;HttpOnly;Secure;Version=1");
    assert_string_equal(apr_table_get(r->err_headers_out, "Set-Cookie"),
                        "n=v;Max-Age=60;HttpOnly;Secure;Version=1");
    apr_table_clear(r->headers_out);
    ap_cookie_write(r, "n", "v", "", 0, r->headers_out, NULL);
    assert_string_equal(apr_table_get(r->headers_out, "Set-Cookie"), "n=v");
    ap_cookie_write2(r, "n", "v", "path=/", 0, r->headers_out, NULL);
    assert_string_equal(apr_table_get(r->headers_out, "Set-Cookie2"), "n=v;path=/");
    apr_table_clear(r->headers_out);
    ap_cookie_remove(r, "n", NULL, r->headers_out, NULL);
    assert_string_equal(apr_table_get(r->headers_out, "Set-Cookie"), "n=;Max-Age=0;Version=1");
}

static void test_read(void **state)
{
    request_rec *r = request();
    const char *value = "unset";

    apr_table_addn(r->headers_in, "Cookie", "a=1; nn=no;$Path=/x; n=v ;b=2");
    assert_int_equal(ap_cookie_read(r, "n", &value, 0), APR_SUCCESS);
    assert_string_equal(value, "v");
    assert_int_equal(ap_cookie_read(r, "none", &value, 0), APR_SUCCESS);
    assert_null(value);
    assert_int_equal(ap_cookie_read(r, "nn", &value, 1), APR_SUCCESS);
    assert_string_equal(value, "no");
    assert_string_equal(apr_table_get(r->headers_in, "Cookie"), "a=1; n=v; b=2");
    apr_table_addn(r->headers_in, "Cookie", "n=w");
    assert_int_equal(ap_cookie_read(r, "n", &value, 0), APR_EGENERAL);
}

static void test_check(void **state)
{
    assert_int_equal(ap_cookie_check_string("name"), APR_SUCCESS);
    assert_int_equal(ap_cookie_check_string(""), APR_EGENERAL);
    assert_int_equal(ap_cookie_check_string(NULL), APR_EGENERAL);
    assert_int_equal(ap_cookie_check_string("a=b"), APR_EGENERAL);
    assert_int_equal(ap_cookie_check_string("a;b"), APR_EGENERAL);
    assert_int_equal(ap_cookie_check_string("a&b"), APR_EGENERAL);
}

static void test_fcgi_header(void **state)
{
    unsigned char bytes[AP_FCGI_HEADER_LEN], version, type, padding;
    apr_uint16_t id, len;
    ap_fcgi_header header, back;
    ap_fcgi_begin_request_body body;

    ap_fcgi_fill_in_header(&header, AP_FCGI_STDIN, 0x1234, 0xfedc, 7);
    ap_fcgi_header_to_array(&header, bytes);
    assert_memory_equal(bytes, "\x01\x05\x12\x34\xfe\xdc\x07\x00", 8);
    ap_fcgi_header_from_array(&back, bytes);
    assert_memory_equal(&back, &header, sizeof(header));
    ap_fcgi_header_fields_from_array(&version, &type, &id, &len, &padding, bytes);
    assert_int_equal(id, 0x1234);
    assert_int_equal(len, 0xfedc);
    assert_int_equal(padding, 7);
    ap_fcgi_fill_in_request_body(&body, AP_FCGI_RESPONDER, AP_FCGI_KEEP_CONN);
    ap_fcgi_begin_request_body_to_array(&body, bytes);
    assert_memory_equal(bytes, "\x00\x01\x01\x00\x00\x00\x00\x00", 8);
}

static void test_fcgi_env(void **state)
{
    apr_table_t *env = apr_table_make(test_pool, 4);
    char *big = apr_palloc(test_pool, 201);
    unsigned char buffer[512];
    int from = 0, next = 0;

    memset(big, 'x', 200);
    big[200] = '\0';
    apr_table_addn(env, "A", "b");
    apr_table_addn(env, "B", big);
    assert_int_equal(ap_fcgi_encoded_env_len(env, 100, &next), 4);
    assert_int_equal(next, 1);
    assert_int_equal(ap_fcgi_encoded_env_len(env, 100, &next), 0);
    assert_int_equal(next, 1);
    assert_int_equal(ap_fcgi_encoded_env_len(env, 206, &next), 206);
    assert_int_equal(next, 2);
    assert_int_equal(ap_fcgi_encode_env(NULL, env, buffer, 4, &from), APR_SUCCESS);
    assert_memory_equal(buffer,
                        "\x01\x01"
                        "Ab",
                        4);
    assert_int_equal(from, 1);
    assert_int_equal(ap_fcgi_encode_env(NULL, env, buffer, 100, &from), APR_ENOSPC);
    assert_int_equal(ap_fcgi_encode_env(NULL, env, buffer, 206, &from), APR_SUCCESS);
    assert_memory_equal(buffer,
                        "\x01\x80\x00\x00\xc8"
                        "Bxx",
                        8);
    assert_int_equal(from, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_write),    TEST_WITH_POOL(test_read),
        cmocka_unit_test(test_check),  cmocka_unit_test(test_fcgi_header),
        TEST_WITH_POOL(test_fcgi_env),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
