/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of Apache's mod_rewrite make an answer depend on: noted by its directives, asked of a request. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "stock_policy.h"
#include "brigade/response_cache.h"
#include "http_config.h"
#include "test_config.h"
#include "test_request.h"

static module slot = {.name = "mod_slot.c", .module_index = 3};
static apr_pool_t *pool;
static ap_conf_vector_t *section;

static int begin(void **state)
{
    pool = test_process->pconf;
    section = ap_create_per_dir_config(pool);
    stock_rewrite_keep_in(&slot);
    return 0;
}

static void line(const char *name, const char *args, int in_server)
{
    const cmd_parms cmd = {.pool = pool, .path = in_server ? NULL : (char *)(uintptr_t) "/x"};

    stock_rewrite_directive(&cmd, section, name, args);
}

static request_rec *request(void)
{
    request_rec *r = test_request_kept(pool, NULL, NULL);

    r->server = ap_server_conf;
    r->per_dir_config = section;
    return r;
}

/* The answer of one line, in a directory. */
static int says(const char *name, const char *args)
{
    section = ap_create_per_dir_config(pool);
    line(name, args, 0);
    return stock_rewrite(request());
}

/* The fields of a line, joined. */
static const char *fields(const char *name, const char *args)
{
    request_rec *r = request();
    const char *names[8], *all = "";
    int n;

    section = r->per_dir_config = ap_create_per_dir_config(pool);
    line(name, args, 0);
    assert_int_equal(stock_rewrite(r), BRG_CACHE_STATIC);
    n = brg_cache_vary_fields(r, names, 8);
    for (int i = 0; i < n; i++)
        all = apr_pstrcat(pool, all, names[i], " ", NULL);
    return all;
}

static void test_without_rules(void **state)
{
    line("RewriteEngine", "on", 0);
    line("RewriteBase", "%{TIME}", 0);
    assert_int_equal(stock_rewrite(request()), BRG_CACHE_STATIC);
}

static void test_variables(void **state)
{
    static const char *const constant[] = {"HTTP_HOST",
                                           "REQUEST_URI",
                                           "QUERY_STRING",
                                           "REQUEST_FILENAME",
                                           "SCRIPT_FILENAME",
                                           "DOCUMENT_ROOT",
                                           "SERVER_NAME",
                                           "SERVER_PORT",
                                           "SERVER_ADMIN",
                                           "SERVER_SOFTWARE",
                                           "API_VERSION",
                                           "HTTPS",
                                           "REQUEST_SCHEME",
                                           "PATH_INFO",
                                           "IS_SUBREQ",
                                           "CONTEXT_PREFIX",
                                           "HANDLER",
                                           "CONTEXT_DOCUMENT_ROOT",
                                           "ENV:x"};
    static const char *const unknown[] = {
        "TIME", "REMOTE_ADDR", "SSL:SSL_CIPHER", "LA-U:REMOTE_USER", "ENV", "HTTP_X", ""};

    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
        assert_string_equal(
            fields("RewriteCond", apr_pstrcat(pool, "%{", constant[i], "} a", NULL)), "");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(says("RewriteCond", apr_pstrcat(pool, "%{", unknown[i], "} a", NULL)),
                         BRG_CACHE_VOLATILE);
}

static void test_variables_that_are_fields(void **state)
{
    assert_string_equal(fields("RewriteCond", "%{HTTP_USER_AGENT} a"), "User-Agent ");
    assert_string_equal(fields("RewriteCond", "%{HTTP_REFERER} a"), "Referer ");
    assert_string_equal(fields("RewriteCond", "%{HTTP_COOKIE} a"), "Cookie ");
    assert_string_equal(fields("RewriteCond", "%{HTTP_ACCEPT} a"), "Accept ");
    assert_string_equal(fields("RewriteCond", "%{HTTP_FORWARDED} a"), "Forwarded ");
    assert_string_equal(fields("RewriteCond", "%{HTTP:X-Own} a"), "X-Own ");
    assert_string_equal(fields("RewriteCond", "%{HTTP:X-Own}%{HTTP_ACCEPT}%{HTTP:X-Own} a"),
                        "X-Own Accept ");
    assert_string_equal(fields("RewriteCond", "%{THE_REQUEST} a"),
                        fields("RewriteCond", "%{REQUEST_METHOD} a"));
    assert_string_equal(fields("RewriteCond", "%{SERVER_PROTOCOL} a"),
                        apr_pstrcat(pool, REQUEST_VARY_LINE, " ", NULL));
}

static void test_texts(void **state)
{
    assert_string_equal(fields("RewriteRule", "a /%{HTTP:X}/$1/%2/%{HTTPS} [E=a:%{HTTP_COOKIE}]"),
                        "X Cookie ");
    assert_string_equal(fields("RewriteRule", "%{TIME} /b"), ""); /* a pattern has no variables */
    assert_int_equal(says("RewriteRule", "a /%{TIME}"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a /b [E=a:%{TIME}]"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a /${map:x}"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a /%{HTTP:%{HTTP:b}}"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a /%{HTTP:$1}"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a /%{HTTP:b"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a /\\%{TIME}\\${b:c}"), BRG_CACHE_STATIC);
}

static void test_cookies(void **state)
{
    assert_int_equal(says("RewriteRule", "a - [CO=a:b:c]"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a - \"[L, cookie=a:b:c]\""), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteRule", "a - [L,NC,R=301]"), BRG_CACHE_STATIC);
    assert_int_equal(says("RewriteRule", "a - [E=CO=1]"), BRG_CACHE_STATIC);
}

static void test_kinds_of_conditions(void **state)
{
    assert_int_equal(says("RewriteCond", "expr \"true\""), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteCond", "%{REQUEST_URI} -U"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteCond", "%{REQUEST_URI} !-F"), BRG_CACHE_VOLATILE);
    assert_int_equal(says("RewriteCond", "%{REQUEST_URI} -ab"), BRG_CACHE_STATIC); /* a pattern */
    assert_int_equal(says("RewriteCond", "/etc/passwd -f"), BRG_CACHE_VOLATILE);
    for (const char *kind = "fdslhLx"; *kind; kind++) {
        assert_int_equal(says("RewriteCond", apr_psprintf(pool, "%%{REQUEST_FILENAME} -%c", *kind)),
                         BRG_CACHE_STATIC);
        assert_int_equal(says("RewriteCond", apr_psprintf(pool, "%%{SCRIPT_FILENAME} !-%c", *kind)),
                         BRG_CACHE_STATIC);
    }
}

/* Before a name is mapped to a file it is a path of URLs. */
static void test_files_in_the_server(void **state)
{
    line("RewriteCond", "%{REQUEST_FILENAME} -f", 1);
    assert_int_equal(stock_rewrite(request()), BRG_CACHE_VOLATILE);
}

static void test_tested_files(void **state)
{
    request_rec *r = request(), *sub;

    line("RewriteCond", "%{REQUEST_FILENAME} -f", 0);
    assert_int_equal(stock_rewrite(r), BRG_CACHE_STATIC);
    sub = test_request_kept(pool, NULL, r);
    sub->per_dir_config = section;
    sub->server = r->server;
    assert_int_equal(stock_rewrite(sub), BRG_CACHE_VOLATILE);
    r->filename = NULL;
    assert_int_equal(stock_rewrite(r), BRG_CACHE_VOLATILE);
}

/* The file has to be the one that is sent. */
static void test_files_under_the_root(void **state)
{
    request_rec *r = request();
    const char *root = ap_document_root(r);

    line("RewriteCond", "%{DOCUMENT_ROOT}%{REQUEST_URI} -f", 1);
    r->uri = apr_pstrdup(pool, "/a/b");
    r->filename = apr_pstrcat(pool, root, "/a/b", NULL);
    assert_int_equal(stock_rewrite(r), BRG_CACHE_STATIC);
    r->filename = apr_pstrcat(pool, root, "/a/bc", NULL);
    assert_int_equal(stock_rewrite(r), BRG_CACHE_VOLATILE);
    r->filename = apr_pstrdup(pool, "/elsewhere/a/b");
    assert_int_equal(stock_rewrite(r), BRG_CACHE_VOLATILE);
    r->filename = apr_pstrcat(pool, root, "/a/b", NULL);
    r->uri = NULL;
    assert_int_equal(stock_rewrite(r), BRG_CACHE_VOLATILE);
}

static void test_merged(void **state)
{
    ap_conf_vector_t *base, *merged = ap_create_per_dir_config(pool);
    request_rec *r = request();
    const char *names[4];

    line("RewriteCond", "%{HTTP_ACCEPT} a", 0);
    base = section;
    section = ap_create_per_dir_config(pool);
    line("RewriteCond", "%{HTTP_COOKIE} a", 0);
    ap_set_module_config(merged, &slot,
                         stock_rewrite_merge(pool, ap_get_module_config(base, &slot),
                                             ap_get_module_config(section, &slot)));
    r->per_dir_config = merged;
    assert_int_equal(stock_rewrite(r), BRG_CACHE_STATIC);
    assert_int_equal(brg_cache_vary_fields(r, names, 4), 2);
    assert_string_equal(names[0], "Accept");
    assert_string_equal(names[1], "Cookie");

    section = base;
    line("RewriteCond", "%{TIME} a", 0);
    section = ap_create_per_dir_config(pool);
    line("RewriteCond", "%{HTTPS} a", 0);
    ap_set_module_config(merged, &slot,
                         stock_rewrite_merge(pool, ap_get_module_config(base, &slot),
                                             ap_get_module_config(section, &slot)));
    assert_int_equal(stock_rewrite(r), BRG_CACHE_VOLATILE);
    r->per_dir_config = section;
    assert_int_equal(stock_rewrite(r), BRG_CACHE_STATIC);
}

/* What was tested above a section counts in it. */
static void test_merged_tests_of_files(void **state)
{
    static const char *const tested[] = {"%{REQUEST_FILENAME} -f",
                                         "%{DOCUMENT_ROOT}/%{REQUEST_FILENAME} -d"};

    for (int i = 0; i < 2; i++) {
        ap_conf_vector_t *base = section = ap_create_per_dir_config(pool),
                         *merged = ap_create_per_dir_config(pool);
        request_rec *r = request();

        line("RewriteCond", tested[i], 0);
        section = ap_create_per_dir_config(pool);
        line("RewriteRule", "a /b", 0);
        ap_set_module_config(merged, &slot,
                             stock_rewrite_merge(pool, ap_get_module_config(base, &slot),
                                                 ap_get_module_config(section, &slot)));
        r->per_dir_config = merged;
        r->filename = NULL;
        assert_int_equal(stock_rewrite(r), BRG_CACHE_VOLATILE);
        r->per_dir_config = section;
        assert_int_equal(stock_rewrite(r), BRG_CACHE_STATIC);
    }
}

static int group_begin(void **state)
{
    test_config_setup(state);
    if (!test_config_read("DocumentRoot /tmp\n"))
        fail_msg("%s", test_messages);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_without_rules),
        TEST(test_variables),
        TEST(test_variables_that_are_fields),
        TEST(test_texts),
        TEST(test_cookies),
        TEST(test_kinds_of_conditions),
        TEST(test_files_in_the_server),
        TEST(test_tested_files),
        TEST(test_files_under_the_root),
        TEST(test_merged),
        TEST(test_merged_tests_of_files),
    };

    return cmocka_run_group_tests(tests, group_begin, test_config_teardown);
}
