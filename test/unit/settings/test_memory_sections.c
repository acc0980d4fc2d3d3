/* SPDX-License-Identifier: Apache-2.0 */
/* MemorySystem in sections: they are those of the configuration that was read last. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "memory_sections.h"
#include "test_config.h"

static void another_configuration(void **state)
{
    assert_true(test_config_read("<Directory /a>\nMemorySystem request system\n</Directory>\n"));
    assert_int_equal(memory_sections_n, 1);
    assert_true(test_config_read("<Directory /a>\nMemorySystem request system\n</Directory>\n"
                                 "<Directory /b>\nMemorySystem request system\n</Directory>\n"));
    assert_int_equal(memory_sections_n, 2);
    assert_true(test_config_read("ServerName a\n"));
    assert_int_equal(memory_sections_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_configuration)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
