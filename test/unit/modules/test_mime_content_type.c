/* SPDX-License-Identifier: Apache-2.0 */
/* Media types in canonical form, and their charset. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "test_pool.h"
#include "test_request.h"
#include <http_log.h>
#include "mime_private.h"

static const struct {
    const char *type, *charset, *expected;
} mime_cases[] = {
    {"text/html", NULL, "text/html"},
    {"text/html", "utf-8", "text/html; charset=utf-8"},
    {"text/html;charset=x", NULL, "text/html; charset=x"},
    {"text/html;a=b;charset=x;c=d", "y", "text/html; a=b; charset=y; c=d"},
    {"text/html; charset=a; charset=b", "c", "text/html; charset=c"},
    {"text/html ; a = b", NULL, "text/html; a=b"},
    {"text/html; a=\"b;c\"", "y", "text/html; a=\"b;c\"; charset=y"},
    {"text/html; a=\"b\\\"c\" ; d=e", NULL, "text/html; a=\"b\\\"c\"; d=e"},
    {"text/html; a=\"open", NULL, "text/html; a=\"open"},
    {"text/html;charset", "y", "text/html; charset=y"},
    {"text/html; a=\"\\", NULL, "text/html; a=\"\\"},
    /* malformed: as they are, without charset */
    {"text", "y", "text"},
    {"/html", "y", "/html"},
    {"text/", "y", "text/"},
    {"", "y", ""},
    {"text/html;", "y", "text/html;"},
    {"text/html;a=b c", "y", "text/html;a=b c"},
    {"text/html;;a=b", "y", "text/html;;a=b"},
    {"text/html; =b", "y", "text/html; =b"},
    {"text/html; a=", "y", "text/html; a="},
};

static void content_type_is_canonical(void **state)
{
    request_rec *r = test_request(test_pool);
    size_t i;

    r->server->log.level = APLOG_EMERG; /* malformed types are logged */
    for (i = 0; i < sizeof(mime_cases) / sizeof(mime_cases[0]); i++) {
        assert_string_equal(mime_content_type(r, mime_cases[i].type, mime_cases[i].charset),
                            mime_cases[i].expected);
    }
}

static void plain_type_is_not_copied(void **state)
{
    const char *type = "image/png";

    assert_ptr_equal(mime_content_type(test_request(test_pool), type, NULL), type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(content_type_is_canonical),
        TEST_WITH_POOL(plain_type_is_not_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
