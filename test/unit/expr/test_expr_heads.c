/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over heads: no request is needed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "expr_private.h"
#include "test_expr.h"

static http_head *head_of(const char *const *fields)
{
    http_head *h = apr_pcalloc(test_pool, sizeof *h);

    h->field = h->own;
    h->method = "POST";
    h->method_len = 4;
    for (; *fields; fields += 2)
        h->own[h->n_fields++] = (http_field){.name = fields[0],
                                             .value = fields[1],
                                             .name_len = (uint32_t)strlen(fields[0]),
                                             .value_len = (uint32_t)strlen(fields[1])};
    return h;
}

static void test_heads_without_a_request(void **state)
{
    static const char *const asked[] = {"X-Key", "one", "x-key", "two", "User-Agent", "bot", NULL};
    static const char *const answered[] = {"X-State", "up", "Content-Type", "text/plain", NULL};
    static const struct {
        const char *text;
        int holds;
    } cases[] = {{"%{REQUEST_METHOD} == 'POST'", 1},
                 {"%{HTTP:X-KEY} == 'one, two'", 1},
                 {"%{req_novary:x-key} =~ /^one/", 1},
                 {"%{HTTP_USER_AGENT} == 'bot'", 1},
                 {"-z %{HTTP_COOKIE}", 1},
                 {"%{REQUEST_STATUS} == 503", 1},
                 {"%{REQUEST_STATUS} == 200", 0},
                 {"%{resp:x-state} == 'up'", 1},
                 {"%{resp:Content-Type} == 'text/plain'", 1},
                 {"-z %{resp:X-Key}", 1},
                 {"-z %{REQUEST_URI} && -z %{REMOTE_ADDR} && -z %{HTTPS}", 1},
                 {"%{tolower:%{HTTP:User-Agent}} -in {'a', 'bot'}", 1}};
    http_head *h = head_of(asked), *a = head_of(answered);
    expr_subject subject = {.asked = h, .answered = a, .pool = test_pool};
    const char *err;

    a->code = 503;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ap_expr_info_t *info = parse(cases[i].text, 0, &err);

        assert_null(err);
        if (expr_subject_exec(&subject, info, &err) != cases[i].holds)
            fail_msg("%s", cases[i].text);
    }
    assert_string_equal(
        expr_subject_str(&subject,
                         parse("%{HTTP:X-Key}-%{REQUEST_METHOD}", AP_EXPR_FLAG_STRING_RESULT, &err),
                         &err),
        "one, two-POST");
    subject.asked = NULL;
    assert_int_equal(
        expr_subject_exec(&subject, parse("%{REQUEST_METHOD} == 'GET'", 0, &err), &err), 1);
    h->authority = "named.example";
    h->authority_len = 13;
    subject.asked = h;
    assert_int_equal(
        expr_subject_exec(&subject, parse("%{HTTP_HOST} == 'named.example'", 0, &err), &err), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_heads_without_a_request)};

    return cmocka_run_group_tests(tests, hooks_setup, NULL);
}
