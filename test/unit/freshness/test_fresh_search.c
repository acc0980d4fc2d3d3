/* SPDX-License-Identifier: Apache-2.0 */
/* No-Vary-Search: which values say something, and which parameters count then. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fresh_search.h"

static fresh_search search;

static int read_it(const char *value)
{
    return fresh_search_read(&search, value, strlen(value));
}

static int counts(const char *name)
{
    return fresh_search_counts(&search, name, strlen(name));
}

static void test_some_do_not_count(void **state)
{
    assert_true(read_it("params=(\"a\" \"b c\" \"d\\\"e\")"));
    assert_false(search.key_order || search.all);
    assert_false(counts("a"));
    assert_false(counts("b+c"));
    assert_false(counts("b%20c"));
    assert_false(counts("d%22e"));
    assert_false(counts("d\"e"));
    assert_true(counts("b%20cd"));
    assert_true(counts("b"));
    assert_true(counts("ab"));
    assert_true(counts("A"));
    assert_true(counts(""));
}

/* Names are compared as forms decode them. */
static void test_escapes(void **state)
{
    assert_true(read_it("params=(\"a%2fb\" \"x+y\" \"50%\")"));
    assert_false(counts("a/b"));
    assert_false(counts("a%2Fb"));
    assert_true(counts("a%2eb"));
    assert_false(counts("x%20y"));
    assert_true(counts("x%2by"));
    assert_false(counts("50%"));
    assert_true(counts("50%2"));
}

static void test_all_but_some(void **state)
{
    assert_true(read_it("params, except=(\"a\" \"b\"), key-order"));
    assert_true(search.key_order && search.all);
    assert_true(counts("a"));
    assert_true(counts("b"));
    assert_false(counts("c"));
    assert_true(read_it("params"));
    assert_false(counts("a"));
}

static void test_order(void **state)
{
    assert_true(read_it("key-order"));
    assert_true(search.key_order);
    assert_true(counts("a"));
    assert_false(read_it("key-order=?0"));
    assert_true(read_it("params=(\"a\"), key-order=?0"));
    assert_false(search.key_order);
}

/* Of these all of the query counts. */
static void test_nothing_said(void **state)
{
    static const char *const values[] = {"",
                                         "params=?0",
                                         "params=()",
                                         "other",
                                         "params=(a)",
                                         "params=1",
                                         "params=\"a\"",
                                         "key-order=1",
                                         "except=(\"a\")",
                                         "params=(\"a\")), key-order",
                                         "params=?0, except=(\"a\")",
                                         "params, except",
                                         "params=(\"a\" 1)"};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (read_it(values[i]))
            fail_msg("%s says nothing", values[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_do_not_count), cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_all_but_some), cmocka_unit_test(test_order),
        cmocka_unit_test(test_nothing_said)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
