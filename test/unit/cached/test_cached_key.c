/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names in stored answers. */
#include "cached_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_pool.h"

static void test_names_have(void **state)
{
    const char *names = "Accept,accept-language,X";

    assert_true(cached_names_have(names, "ACCEPT", 6));
    assert_true(cached_names_have(names, "Accept-Language", 15));
    assert_true(cached_names_have(names, "xyz", 1));
    assert_false(cached_names_have(names, "Acc", 3));
    assert_false(cached_names_have(names, "language", 8));
    assert_false(cached_names_have("", "X", 1));
    assert_false(cached_names_have(NULL, "X", 1));
}

static void test_names_of(void **state)
{
    const char *const *list = cached_names_of(test_pool, "Accept,accept-language,X");

    assert_string_equal(list[0], "Accept");
    assert_string_equal(list[1], "accept-language");
    assert_string_equal(list[2], "X");
    assert_null(list[3]);
    assert_null(cached_names_of(test_pool, "")[0]);
    assert_null(cached_names_of(test_pool, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_names_have),
                                       TEST_WITH_POOL(test_names_of)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
