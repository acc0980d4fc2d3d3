/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "test_pool.h"

typedef struct escape_case {
    const char *in, *segment, *path, *form, *html, *log, *shell;
} escape_case;

static const escape_case escape_cases[] = {
    {"", "", "", "", "", "", ""},
    {"plain-._~", "plain-._~", "plain-._~", "plain-._%7e", "plain-._~", "plain-._~", "plain-._\\~"},
    {"a b+c", "a%20b+c", "a%20b+c", "a+b%2bc", "a b+c", "a b+c", "a b+c"},
    {"/a;b?c#d%", "%2fa%3bb%3fc%23d%25", "/a;b%3fc%23d%25", "%2fa%3bb%3fc%23d%25", "/a;b?c#d%",
     "/a;b?c#d%", "/a\\;b\\?c#d%"},
    {"<&>\"'", "%3c&%3e%22'", "%3c&%3e%22'", "%3c%26%3e%22%27", "&lt;&amp;&gt;&quot;'", "<&>\\\"'",
     "\\<\\&\\>\\\"\\'"},
    {"\n\r\t\b\v\f\x01\x7f\xc3\xbf", "%0a%0d%09%08%0b%0c%01%7f%c3%bf",
     "%0a%0d%09%08%0b%0c%01%7f%c3%bf", "%0a%0d%09%08%0b%0c%01%7f%c3%bf",
     "\n\r\t\b\v\f\x01\x7f\xc3\xbf", "\\n\\r\\t\\b\\v\\x0c\\x01\\x7f\\xc3\\xbf",
     "\\\n\r\t\b\v\f\x01\x7f\xc3\xbf"},
    {"$(x)`\\|", "$(x)%60%5c%7c", "$(x)%60%5c%7c", "%24%28x%29%60%5c%7c", "$(x)`\\|", "$(x)`\\\\|",
     "\\$\\(x\\)\\`\\\\\\|"},
};

static void test_escape(void **state)
{
    char buffer[128];
    size_t i;

    for (i = 0; i < sizeof(escape_cases) / sizeof(escape_cases[0]); i++) {
        const escape_case *c = &escape_cases[i];

        assert_string_equal(ap_escape_path_segment(test_pool, c->in), c->segment);
        assert_string_equal(ap_escape_path_segment_buffer(buffer, c->in), c->segment);
        assert_string_equal(ap_os_escape_path(test_pool, c->in, 1), c->path);
        assert_string_equal(ap_escape_uri(test_pool, c->in), c->path);
        assert_string_equal(ap_escape_urlencoded(test_pool, c->in), c->form);
        assert_string_equal(ap_escape_urlencoded_buffer(buffer, c->in), c->form);
        assert_string_equal(ap_escape_html(test_pool, c->in), c->html);
        assert_string_equal(ap_escape_logitem(test_pool, c->in), c->log);
        assert_string_equal(ap_escape_shell_cmd(test_pool, c->in), c->shell);
    }
}

/* Every byte comes back from %xx. */
static void test_round_trip(void **state)
{
    char all[256], *text;
    int i;

    for (i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = '\0';
    text = ap_escape_path_segment(test_pool, all);
    assert_int_equal(ap_unescape_all(text), OK);
    assert_string_equal(text, all);
    text = ap_escape_urlencoded(test_pool, all);
    assert_int_equal(ap_unescape_urlencoded(text), OK);
    assert_string_equal(text, all);
}

/* A relative path whose first segment has a colon would read as a URL with a scheme. */
static void test_os_path_colon(void **state)
{
    static const char *const cases[][2] = {
        {"a:b", "./a:b"}, {"a/b:c", "a/b:c"}, {"/a:b", "/a:b"}, {":", "./:"}, {"a", "a"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(ap_os_escape_path(test_pool, cases[i][0], 0), cases[i][1]);
}

static void test_html_ascii(void **state)
{
    assert_string_equal(ap_escape_html2(test_pool, "\x80<\xff", 1), "&#128;&lt;&#255;");
    assert_string_equal(ap_escape_html2(test_pool, "\x80<\xff", 0), "\x80&lt;\xff");
    assert_string_equal(ap_escape_html2(test_pool, "\xff", 1), "&#255;");
}

static void test_quotes(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},       {"a\"b", "a\\\"b"},   {"a\\\"b", "a\\\"b"},
        {"a\\", "a\\"}, {"\"\"", "\\\"\\\""}, {"a\\\\\"b", "a\\\\\\\"b"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(ap_escape_quotes(test_pool, cases[i][0]), cases[i][1]);
}

/* The buffer is never overrun and no escape is cut in two. */
static void test_errorlog_item(void **state)
{
    static const struct {
        const char *in;
        size_t size;
        const char *out;
    } cases[] = {
        {"abc", 4, "abc"}, {"abc", 3, "ab"},
        {"abc", 1, ""},    {"a\nb", 5, "a\\nb"},
        {"a\nb", 3, "a"},  {"\x01", 5, "\\x01"},
        {"\x01", 4, ""},   {"say \"x\"", 20, "say \"x\""},
        {"\\", 3, "\\\\"}, {"\x1b[31m", 20, "\\x1b[31m"},
    };
    char buffer[32];
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(buffer, 'Z', sizeof(buffer));
        assert_int_equal(ap_escape_errorlog_item(buffer, cases[i].in, cases[i].size),
                         strlen(cases[i].out));
        assert_string_equal(buffer, cases[i].out);
        assert_int_equal(buffer[cases[i].size], 'Z');
    }
    buffer[0] = 'Z';
    assert_int_equal(ap_escape_errorlog_item(buffer, "x", 0), 0);
    assert_int_equal(buffer[0], 'Z');
}

static void test_logitem_null(void **state)
{
    assert_null(ap_escape_logitem(test_pool, NULL));
}

typedef struct unescape_case {
    const char *in;
    int status;        /* of ap_unescape_url */
    const char *url;   /* ap_unescape_url */
    const char *keep;  /* ap_unescape_url_keep2f(.., 0) */
    const char *unres; /* ap_unescape_url_ex(.., KEEP_UNRESERVED) */
} unescape_case;

static const unescape_case unescape_cases[] = {
    {"", OK, "", "", ""},
    {"abc", OK, "abc", "abc", "abc"},
    {"%41%7e%5c", OK, "A~\\", "A~\\", "%41%7e\\"},
    {"a%2fb%2F", HTTP_NOT_FOUND, "a/b/", "a%2fb%2F", "a/b/"},
    {"a%00b", HTTP_NOT_FOUND, "a", "a", "a"},
    {"%", HTTP_BAD_REQUEST, "%", "%", "%"},
    {"%4", HTTP_BAD_REQUEST, "%4", "%4", "%4"},
    {"x%4g", HTTP_BAD_REQUEST, "x%4g", "x%4g", "x%4g"},
    {"%%41", HTTP_BAD_REQUEST, "%A", "%A", "%%41"},
    {"%25%32f", OK, "%2f", "%2f", "%%32f"},
    {"%c0%af", OK, "\xc0\xaf", "\xc0\xaf", "\xc0\xaf"},
    {"%2e%2e/", OK, "../", "../", "%2e%2e/"},
    {"+%2b", OK, "++", "++", "++"},
    {"%2f%zz", HTTP_BAD_REQUEST, "/%zz", "%2f%zz", "/%zz"},
};

static void test_unescape(void **state)
{
    char text[32];
    size_t i;

    for (i = 0; i < sizeof(unescape_cases) / sizeof(unescape_cases[0]); i++) {
        const unescape_case *c = &unescape_cases[i];

        assert_int_equal(ap_unescape_url(strcpy(text, c->in)), c->status);
        assert_string_equal(text, c->url);
        ap_unescape_url_keep2f(strcpy(text, c->in), 0);
        assert_string_equal(text, c->keep);
        ap_unescape_url_ex(strcpy(text, c->in), AP_UNESCAPE_URL_KEEP_UNRESERVED);
        assert_string_equal(text, c->unres);
    }
}

/* Slashes: refused, kept, decoded; a NUL is never right. */
static void test_unescape_slashes(void **state)
{
    char text[32];

    assert_int_equal(ap_unescape_url_keep2f(strcpy(text, "a%2fb"), 1), OK);
    assert_string_equal(text, "a/b");
    assert_int_equal(ap_unescape_url_keep2f(strcpy(text, "a%2fb"), 0), OK);
    assert_string_equal(text, "a%2fb");
    assert_int_equal(ap_unescape_url_ex(strcpy(text, "a%2fb"), AP_UNESCAPE_URL_FORBID_SLASHES),
                     HTTP_NOT_FOUND);
    assert_int_equal(ap_unescape_url_ex(strcpy(text, "a%2fb"), AP_UNESCAPE_URL_KEEP_SLASHES), OK);
    assert_string_equal(text, "a%2fb");
    assert_int_equal(ap_unescape_all(strcpy(text, "a%2fb")), OK);
    assert_int_equal(ap_unescape_all(strcpy(text, "a%00b")), HTTP_NOT_FOUND);
    assert_int_equal(ap_unescape_urlencoded(strcpy(text, "a+b%2fc%00")), HTTP_NOT_FOUND);
    assert_int_equal(ap_unescape_urlencoded(strcpy(text, "a+b%2fc")), OK);
    assert_string_equal(text, "a b/c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_escape),
        TEST_WITH_POOL(test_round_trip),
        TEST_WITH_POOL(test_os_path_colon),
        TEST_WITH_POOL(test_html_ascii),
        TEST_WITH_POOL(test_quotes),
        cmocka_unit_test(test_errorlog_item),
        TEST_WITH_POOL(test_logitem_null),
        cmocka_unit_test(test_unescape),
        cmocka_unit_test(test_unescape_slashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
