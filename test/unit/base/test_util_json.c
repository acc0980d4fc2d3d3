/* SPDX-License-Identifier: Apache-2.0 */
/* Text of any bytes as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "brigade/json.h"
#include <string.h>

static void escape(const char *s, size_t len, const char *want)
{
    char out[256];
    size_t n = brg_json_escape(out, sizeof out, s, len);

    assert_int_equal(n, strlen(want));
    assert_memory_equal(out, want, n);
}

static void test_characters(void **state)
{
    escape("", 0, "");
    escape("plain", 5, "plain");
    escape("a\"b\\", 4, "a\\\"b\\\\");
    escape("\0\n\x1f\x7f", 4, "\\u0000\\u000a\\u001f\\u007f");
    escape("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void test_what_is_no_utf8(void **state)
{
    escape("\xff", 1, "\\ufffd");
    escape("\xc0\xaf", 2, "\\ufffd\\ufffd");
    escape("\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd");
    escape("\xe2\x82", 2, "\\ufffd\\ufffd");
    escape("\xf4\x90\x80\x80", 4, "\\ufffd\\ufffd\\ufffd\\ufffd");
    escape("\xc3(", 2, "\\ufffd(");
}

static void test_what_does_not_fit(void **state)
{
    char out[8];

    memset(out, '#', sizeof out);
    assert_int_equal(brg_json_escape(out, 5, "ab\n", 3), 2);
    assert_int_equal(brg_json_escape(out, 3, "a\xe2\x82\xac", 4), 1);
    assert_int_equal(brg_json_escape(out, 0, "a", 1), 0);
    assert_int_equal(out[5], '#');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_what_is_no_utf8),
        cmocka_unit_test(test_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
