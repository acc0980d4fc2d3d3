/* SPDX-License-Identifier: Apache-2.0 */
/* The set of names of a page: few of them, as many as are compared one by one, and more. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "ssi_names.h"

static apr_pool_t *pool;

static void test_none(void **state)
{
    ssi_names names = {0};

    assert_false(ssi_names_has(&names, ""));
    assert_false(ssi_names_has(&names, "a"));
}

/* Each is found as soon as it is in, and no other one is, while a table takes the place of the list. */
static void test_many(void **state)
{
    ssi_names names = {0};

    for (int n = 0; n < 3 * SSI_NAMES_FEW; n++) {
        ssi_names_add(&names, pool, apr_psprintf(pool, "name %d", n));
        assert_int_equal(names.all != NULL, n >= SSI_NAMES_FEW);
        for (int i = 0; i < 4 * SSI_NAMES_FEW; i++) {
            char copy[32];

            snprintf(copy, sizeof copy, "name %d", i);
            assert_int_equal(ssi_names_has(&names, copy), i <= n);
        }
    }
}

static void test_twice(void **state)
{
    ssi_names names = {0};

    for (int n = 0; n < 2 * SSI_NAMES_FEW; n++)
        ssi_names_add(&names, pool, "one");
    assert_true(ssi_names_has(&names, "one"));
    assert_false(ssi_names_has(&names, "on"));
    assert_false(ssi_names_has(&names, "one "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_twice),
    };
    int failed;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    apr_pool_destroy(pool);
    apr_terminate();
    return failed;
}
