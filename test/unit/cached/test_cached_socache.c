/* SPDX-License-Identifier: Apache-2.0 */
/* Machines share stored answers where CacheSocache names a place for them, and there alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "cached_below_private.h"
#include "test_config.h"

static void nothing_is_stored_without_a_name(void **state)
{
    assert_true(test_config_read("CacheEnable socache /"));
    assert_false(cached_so_is_memory());
    assert_false(cached_tier_is_open());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_stored_without_a_name)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
