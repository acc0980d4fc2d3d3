/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of authorities, whole and cut at every byte; JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "md_head.h"
#include "md_json.h"

static apr_pool_t *p;

static const char CHUNKED[] =
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nLink: <https://ca/dir>;rel=\"index\"\r\n"
    "Link: <https://ca/up>; rel=\"up\"\r\n\r\n4;x=y\r\nab\r\n\r\n3\r\ncde\r\n0\r\n\r\n";

static void test_an_answer(void **state)
{
    md_answer answer = {0};

    assert_null(md_answer_read(p, CHUNKED, sizeof CHUNKED - 1, 0, &answer));
    assert_int_equal(answer.status, 201);
    assert_int_equal(answer.len, 7);
    assert_string_equal(answer.body, "ab\r\ncde");
    assert_string_equal(apr_table_get(answer.fields, "link"), "<https://ca/dir>;rel=\"index\"");
}

/* Nothing behind such a head is part of the answer. */
static void test_no_body(void **state)
{
    static const char *const all[] = {
        "HTTP/1.1 204 No Content\r\n\r\n{\"status\": 1}",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nabcde"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        md_answer answer = {0};

        assert_null(md_answer_read(p, all[i], strlen(all[i]), 0, &answer));
        assert_int_equal(answer.len, 0);
        assert_string_equal(answer.body, "");
    }
}

/* Never taken for whole before its last chunk. */
static void test_cut_everywhere(void **state)
{
    const size_t last = strstr(CHUNKED, "\n0\r\n") + 4 - CHUNKED;

    for (size_t len = 0; len < last; len++) {
        char *copy = apr_pmemdup(p, CHUNKED, len ? len : 1);
        md_answer answer = {0};

        assert_non_null(md_answer_read(p, copy, len, 0, &answer));
        assert_true(answer.more);
    }
}

/* What the loop of reads asks: may more bytes belong to it? */
static void test_more(void **state)
{
    static const struct {
        const char *text;
        int more;
    } all[] = {{"HTTP/1.1 200 OK\r\n\r\nab", 1},
               {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 1},
               {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 0},
               {"HTTP/1.1 200 OK\nContent-Length: 2\n\nab", 0},
               {"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", 1},
               {"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
                "2\r\n\r\nab",
                0},
               {"mail", 0},
               {"HTTP/1.1 204 No Content\r\n\r\n", 0}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        md_answer answer = {0};

        md_answer_read(p, all[i].text, strlen(all[i].text), 0, &answer);
        assert_int_equal(answer.more, all[i].more);
        if (!answer.more && answer.status == 200)
            assert_string_equal(answer.body, "ab");
    }
}

static void test_damaged(void **state)
{
    static const char *const all[] = {
        "HTTP/2 200 OK\r\n\r\n",
        "220 mail\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX0\r\n\r\n"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        md_answer answer = {0};

        assert_non_null(md_answer_read(p, all[i], strlen(all[i]), 0, &answer));
    }
}

static apr_time_t retry_of(const char *value)
{
    const char *text = apr_pstrcat(p, "HTTP/1.1 503 x\r\nContent-Length: 0\r\nRetry-After: ", value,
                                   "\r\n\r\n", NULL);
    md_answer answer = {0};

    assert_null(md_answer_read(p, text, strlen(text), 0, &answer));
    return md_answer_retry(&answer, apr_time_from_sec(1000));
}

static void test_retry_after(void **state)
{
    assert_int_equal(retry_of("5"), apr_time_from_sec(1005));
    assert_int_equal(retry_of("999999999999999999"), apr_time_from_sec(1000 + 86400));
    assert_int_equal(retry_of("Thu, 01 Jan 1970 00:20:00 GMT"), apr_time_from_sec(1200));
    assert_int_equal(retry_of("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    assert_int_equal(retry_of("soon"), 0);
    assert_int_equal(retry_of("-5"), 0);
}

static void test_urls(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "ftp://a/",
                                      "https://",
                                      "https:///x",
                                      "https://a:0/",
                                      "https://a:70000/",
                                      "https://a:1x/",
                                      "https://u@a/",
                                      "https://a/ b",
                                      "https://a/\r\nX: y",
                                      "https://[::1/"};
    md_url url;

    assert_int_equal(md_url_read(p, "https://ca.test/dir?x#y", &url), 0);
    assert_string_equal(url.host, "ca.test");
    assert_string_equal(url.path, "/dir?x");
    assert_int_equal(url.port, 443);
    assert_int_equal(md_url_read(p, "http://[::1]:8080", &url), 0);
    assert_string_equal(url.host, "::1");
    assert_string_equal(url.authority, "[::1]:8080");
    assert_string_equal(url.path, "/");
    assert_int_equal(url.port, 8080);
    assert_int_equal(md_url_read(p, "https://a?b", &url), 0);
    assert_string_equal(url.path, "/?b");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(md_url_read(p, bad[i], &url), -1);
}

static const md_json *json(const char *text)
{
    return md_json_read(p, text, strlen(text));
}

static void test_json(void **state)
{
    const md_json *v = json(" {\"a\": \"\\u00e4\\ud83d\\ude00\\n\", \"n\": 12, \"t\": true, \"l\": "
                            "[1, null, \"x\"], \"e\": {}} ");

    assert_string_equal(md_json_text(v, "a"), "\xc3\xa4\xf0\x9f\x98\x80\n");
    assert_int_equal(md_json_number(v, "n", -1), 12);
    assert_int_equal(md_json_number(v, "a", -1), -1);
    assert_true(md_json_is_true(v, "t"));
    assert_string_equal(md_json_items(md_json_get(v, "l"))->next->next->text, "x");
    assert_null(md_json_items(md_json_get(v, "e")));
    assert_null(md_json_text(NULL, "a"));
    assert_string_equal(md_json_quote(p, "a\"b\n"), "\"a\\\"b\\u000a\"");
}

static void test_bad_json(void **state)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "{\"a\":1,\"a\":2}",
                                      "01",
                                      "1.",
                                      "-",
                                      "+1",
                                      "nul",
                                      "\"\\x\"",
                                      "\"\\u0000\"",
                                      "\"\\ud800\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\xff\"",
                                      "\"\t\"",
                                      "\"a",
                                      "\"\\",
                                      "{} x",
                                      "{a:1}",
                                      "[1 2]"};
    char deep[64];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(json(bad[i]));
    memset(deep, '[', 17);
    memset(deep + 17, ']', 17);
    deep[34] = '\0';
    assert_null(json(deep));
    deep[33] = '\0';
    assert_non_null(json(deep + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer),      cmocka_unit_test(test_no_body),
        cmocka_unit_test(test_cut_everywhere), cmocka_unit_test(test_more),
        cmocka_unit_test(test_damaged),        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_urls),           cmocka_unit_test(test_json),
        cmocka_unit_test(test_bad_json)};
    int rc;

    apr_initialize();
    apr_pool_create(&p, NULL);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    apr_pool_destroy(p);
    apr_terminate();
    return rc;
}
