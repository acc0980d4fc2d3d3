/* SPDX-License-Identifier: Apache-2.0 */
/* URL prefixes of Alias and Redirect: whole segments, any number of slashes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <apr_general.h>
#include "alias_private.h"

static const struct {
    const char *uri, *fake;
    apr_size_t covered;
} alias_cases[] = {
    {"/a", "/a", 2},    {"/a/b", "/a", 2}, {"/ab", "/a", 0},       {"/a", "/ab", 0},
    {"/a/b", "/a/", 3}, {"/a", "/a/", 0},  {"//a///b", "/a/b", 7}, {"/a/b", "//a//b", 4},
    {"/a//", "/a", 2},  {"/", "/", 1},     {"/x", "/", 1},         {"", "/", 0},
    {"*", "/", 0},      {"/A", "/a", 0},
};

static void prefix_covers_whole_segments(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(alias_cases) / sizeof(alias_cases[0]); i++) {
        assert_int_equal(alias_match(alias_cases[i].uri, alias_cases[i].fake),
                         alias_cases[i].covered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_covers_whole_segments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
