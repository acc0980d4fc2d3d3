/* SPDX-License-Identifier: Apache-2.0 */
/* Script headers from all sources, the CGI environment's names, providers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "ap_provider.h"
#include "util_script.h"
#include "apr_strings.h"

static apr_pool_t *pool;
static apr_bucket_alloc_t *buckets;
static request_rec *r;

static int setup(void **state)
{
    conn_rec *c;
    server_rec *s;

    apr_pool_create(&pool, NULL);
    buckets = apr_bucket_alloc_create(pool);
    c = apr_pcalloc(pool, sizeof *c);
    s = apr_pcalloc(pool, sizeof *s);
    s->log.level = APLOG_EMERG;
    c->pool = pool;
    c->bucket_alloc = buckets;
    c->base_server = s;
    r = apr_pcalloc(pool, sizeof *r);
    r->pool = pool;
    r->connection = c;
    r->server = s;
    r->filename = apr_pstrdup(pool, "/cgi/script");
    r->method_number = M_POST;
    r->status = HTTP_OK;
    r->headers_in = apr_table_make(pool, 2);
    r->headers_out = apr_table_make(pool, 2);
    r->err_headers_out = apr_table_make(pool, 2);
    r->subprocess_env = apr_table_make(pool, 2);
    r->notes = apr_table_make(pool, 2);
    return 0;
}

static int teardown(void **state)
{
    apr_pool_destroy(pool);
    return 0;
}

/* The text as buckets of at most step bytes. */
static apr_bucket_brigade *cut(const char *text, size_t step)
{
    apr_bucket_brigade *bb = apr_brigade_create(pool, buckets);

    for (size_t at = 0, len = strlen(text); at < len; at += step) {
        size_t n = len - at < step ? len - at : step;

        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_pool_create(text + at, n, pool, buckets));
    }
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(buckets));
    return bb;
}

static const struct script_case {
    const char *text;
    int result, status;
    const char *field, *value; /* one that must come out of it; value NULL: must not */
} script_cases[] = {
    {"A: b\r\n\r\n", OK, 200, "A", "b"},
    {"A: b\n\n", OK, 200, "A", "b"},
    {"A:   b\n\nrest", OK, 200, "A", "b"},
    {"\n", OK, 200, "A", NULL},
    {"Status: 404 Gone fishing\nA: b\n\n", OK, 404, "A", "b"},
    {"Status: x\n\n", OK, 500, NULL, NULL},
    {"Status: 99 low\n\n", OK, 500, NULL, NULL},
    {"Status: 999 Own\n\n", OK, 999, NULL, NULL},
    {"Status: 100 Continue\n\n", HTTP_INTERNAL_SERVER_ERROR, 200, NULL, NULL},
    {"no colon\n\n", HTTP_INTERNAL_SERVER_ERROR, 200, NULL, NULL},
    {"A: b\n", HTTP_INTERNAL_SERVER_ERROR, 200, NULL, NULL},
    {"", HTTP_INTERNAL_SERVER_ERROR, 200, NULL, NULL},
    {"Content-Length: 5\n\n", OK, 200, "Content-Length", NULL},
    {"Transfer-Encoding: chunked\n\n", OK, 200, "Transfer-Encoding", NULL},
    {"Location: /x\n\n", OK, 200, "Location", "/x"},
    {"ETag: \"y\"\n\n", OK, 200, "ETag", "\"y\""},
    {"V: 1\nV: 2\n\n", OK, 200, "V", "1, 2"},
};

static const char *field_out(const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

static void check(const struct script_case *t, int result, const char *how)
{
    if (result != t->result || r->status != t->status) {
        fail_msg("%s, %s: %d, status %d", t->text, how, result, r->status);
    }
    if (t->field && t->value) {
        assert_non_null(field_out(t->field));
        assert_string_equal(field_out(t->field), t->value);
    } else if (t->field) {
        assert_null(field_out(t->field));
    }
}

static void headers_from_every_source(void **state)
{
    for (size_t i = 0; i < sizeof script_cases / sizeof *script_cases; i++) {
        const struct script_case *t = &script_cases[i];
        size_t len = strlen(t->text);

        for (size_t step = 1; step <= len + 1; step++) {
            teardown(NULL);
            setup(NULL);
            check(t, ap_scan_script_header_err_brigade(r, cut(t->text, step), NULL), "brigade");
        }
        for (size_t at = 0; at <= len; at++) {
            const char *end;
            int n;

            teardown(NULL);
            setup(NULL);
            check(t,
                  ap_scan_script_header_err_strs(r, NULL, &end, &n, apr_pstrndup(pool, t->text, at),
                                                 t->text + at, NULL),
                  "strings");
        }
    }
}

static void what_follows_the_headers_stays(void **state)
{
    apr_bucket_brigade *bb = cut("A: b\r\n\r\nbody", 7);
    char body[16];
    apr_size_t len = sizeof body;
    const char *end;
    int n;

    assert_int_equal(ap_scan_script_header_err_brigade(r, bb, NULL), OK);
    apr_brigade_flatten(bb, body, &len);
    assert_int_equal(len, 4);
    assert_memory_equal(body, "body", 4);
    assert_int_equal(
        ap_scan_script_header_err_strs(r, NULL, &end, &n, "A: b\n", "\nbody", "more", NULL), OK);
    assert_string_equal(end, "body");
    assert_int_equal(n, 1);
}

static void cookies_stay_apart(void **state)
{
    int cookies = 0;
    const apr_array_header_t *fields;

    apr_table_add(r->err_headers_out, "Set-Cookie", "zero");
    ap_scan_script_header_err_brigade(r, cut("Set-Cookie: a\nSet-Cookie: b\n\n", 99), NULL);
    fields = apr_table_elts(r->err_headers_out);
    for (int i = 0; i < fields->nelts; i++) {
        cookies += !strcmp(APR_ARRAY_IDX(fields, i, apr_table_entry_t).key, "Set-Cookie");
    }
    assert_int_equal(cookies, 3);
}

static void long_lines_do_not_overrun(void **state)
{
    char *text = apr_palloc(pool, 20000);

    memset(text, 'x', 19999);
    text[19999] = '\0';
    assert_int_equal(ap_scan_script_header_err_brigade(r, cut(text, 3000), NULL),
                     HTTP_INTERNAL_SERVER_ERROR);
}

static const struct info_case {
    const char *uri, *info;
    int at;
} info_cases[] = {
    {"/cgi/script/a/b", "/a/b", 11},    {"/cgi/script", "", 11},
    {"/cgi/script//a///b", "/a/b", 11}, {"/a", "/a", 0},
    {"/cgi/script/", "/", 11},          {"/other", "/a/b", 6},
};

static void path_info_is_found(void **state)
{
    for (size_t i = 0; i < sizeof info_cases / sizeof *info_cases; i++) {
        int at = ap_find_path_info(info_cases[i].uri, info_cases[i].info);

        if (at != info_cases[i].at) {
            fail_msg("%s %s: %d", info_cases[i].uri, info_cases[i].info, at);
        }
    }
}

static void environment_names_are_safe(void **state)
{
    apr_table_t *t = apr_table_make(pool, 4);
    char **env;

    apr_table_set(t, "TZ", "UTC");
    apr_table_set(t, "1-a.b", "v=w");
    env = ap_create_environment(pool, t);
    assert_string_equal(env[0], "TZ=UTC");
    assert_string_equal(env[1], "__a_b=v=w");
    assert_null(env[2]);
}

static void providers_by_group_name_version(void **state)
{
    static int a, b, c;

    ap_register_provider(pool, "authn", "file", "0", &a);
    ap_register_provider(pool, "authn", "file", "1", &b);
    ap_register_provider(pool, "authn", "dbm", "0", &c);
    assert_ptr_equal(ap_lookup_provider("authn", "file", "0"), &a);
    assert_ptr_equal(ap_lookup_provider("authn", "file", "1"), &b);
    assert_null(ap_lookup_provider("authn", "none", "0"));
    assert_null(ap_lookup_provider("authz", "file", "0"));
    assert_int_equal(ap_list_provider_names(pool, "authn", "0")->nelts, 2);
    assert_int_equal(ap_list_provider_names(pool, "none", "0")->nelts, 0);
    assert_int_equal(ap_list_provider_groups(pool)->nelts, 2);
    apr_pool_clear(pool);
    assert_null(ap_lookup_provider("authn", "file", "0"));
}

#define SCRIPT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(headers_from_every_source),
        SCRIPT_TEST(what_follows_the_headers_stays),
        SCRIPT_TEST(cookies_stay_apart),
        SCRIPT_TEST(long_lines_do_not_overrun),
        SCRIPT_TEST(path_info_is_found),
        SCRIPT_TEST(environment_names_are_safe),
        SCRIPT_TEST(providers_by_group_name_version),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
