/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_pool.h"
#include "file_coded.h"

static void test_directive(void **state)
{
    cmd_parms cmd = {.pool = test_pool};
    brg_codings codings = FILE_CODINGS_UNSET;

    assert_null(file_codings_add(&cmd, &codings, "gzip"));
    assert_null(file_codings_add(&cmd, &codings, "BR"));
    assert_int_equal(codings, BRG_CODING_GZIP | BRG_CODING_BROTLI << 2);
    assert_string_equal(file_codings_add(&cmd, &codings, "gzip"),
                        "PrecompressedFiles names gzip twice");
    assert_non_null(file_codings_add(&cmd, &codings, "deflate"));
    assert_non_null(file_codings_add(&cmd, &codings, "off"));
    codings = FILE_CODINGS_UNSET;
    assert_null(file_codings_add(&cmd, &codings, "off"));
    assert_int_equal(codings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_directive, test_pool_setup, test_pool_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
