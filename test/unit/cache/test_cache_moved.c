/* SPDX-License-Identifier: Apache-2.0 */
/* Which answers send their client elsewhere. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "cache_moved_private.h"

static void test_statuses(void **state)
{
    static const int moved[] = {301, 302, 303, 307, 308},
                     others[] = {200, 204, 300, 304, 401, 403, 404, 410, 500, 503};

    (void)state;
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        assert_true(cache_moved_is(&(request_rec){.status = moved[i]}));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(cache_moved_is(&(request_rec){.status = others[i]}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
