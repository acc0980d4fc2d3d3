/* SPDX-License-Identifier: Apache-2.0 */
/* The table of names on demand: places, what is found and read there, names that are refused, and bounds of those who ask. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "apr_strings.h"
#include "md_demand.h"
#include "tls_named.h"

static const char *name_of(int i)
{
    return apr_psprintf(test_process->pconf, "n%d.example", i);
}

static int begin(void **state)
{
    assert_true(test_config_read("MDOnDemandLimits names=20\n"));
    return md_demand_begin(test_process->pconf) != APR_SUCCESS;
}

/* A name has one place, which it can lose; a table of twenty names has room for them, and not for thousands. */
static void test_places(void **state)
{
    int place[20], n;

    for (int i = 0; i < 20; i++)
        assert_in_range(place[i] = md_demand_place(name_of(i)), 0, 39);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(place[i], place[k]);
    for (n = 20; n < 2000 && md_demand_place(name_of(n)) >= 0; n++)
        ;
    assert_in_range(n, 21, 41);
    md_demand_free(place[7]);
    assert_int_equal(md_demand_place(name_of(7)), place[7]);
    md_demand_clear();
    assert_true(md_demand_place(name_of(n)) >= 0);
    md_demand_clear();
}

static void test_refused(void **state)
{
    assert_false(md_demand_is_refused("a.example"));
    md_demand_refuse("a.example", 1000);
    assert_true(md_demand_is_refused("a.example"));
    assert_false(md_demand_is_refused("b.example"));
    assert_false(md_demand_is_refused("a.exampl"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_places, begin),
                                       cmocka_unit_test_setup(test_refused, begin)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
