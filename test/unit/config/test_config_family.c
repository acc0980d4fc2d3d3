/* SPDX-License-Identifier: Apache-2.0 */
/* Families of modules: all built in, or all files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "config_family_private.h"

enum { FRONT, BACK, FOREIGN, ALONE, OTHER, N };

static const module_row rows[N] = {
    [FRONT] = {.symbol = "front_module", .family = "relay", .is_builtin = 1},
    [BACK] = {.symbol = "back_module", .family = "relay", .is_builtin = 1},
    [FOREIGN] = {.symbol = "foreign_module", .family = "relay"},
    [ALONE] = {.symbol = "alone_module", .is_builtin = 1},
    [OTHER] = {.symbol = "other_module", .family = "other", .is_builtin = 1},
};

static conf_module_state states[N];

static int clear(void **state)
{
    memset(states, 0, sizeof states);
    return 0;
}

static void test_native_while_nothing_lacks(void **state)
{
    for (int i = 0; i < N; i++)
        assert_false(conf_family_is_out(rows, states, N, i));
}

static void test_one_file_takes_all_of_its_family(void **state)
{
    strcpy(states[FOREIGN].lack, "site.conf:7: foreign_module");
    assert_true(conf_family_is_out(rows, states, N, FRONT));
    assert_true(conf_family_is_out(rows, states, N, BACK));
    assert_false(conf_family_is_out(rows, states, N, ALONE));
    assert_false(conf_family_is_out(rows, states, N, OTHER));
}

static void test_one_lack_takes_all_of_its_family(void **state)
{
    strcpy(states[BACK].lack, "site.conf:9: Relay");
    assert_true(conf_family_is_out(rows, states, N, FRONT));
    strcpy(states[ALONE].lack, "site.conf:9: Alone");
    assert_false(conf_family_is_out(rows, states, N, ALONE));
    assert_false(conf_family_is_out(rows, states, N, OTHER));
}

static void test_kept_by_builtin_module_on(void **state)
{
    states[BACK].on = CONF_UNLESS_LACKING;
    assert_false(conf_family_is_kept(rows, states, N, FRONT));
    states[BACK].on = CONF_ON;
    assert_true(conf_family_is_kept(rows, states, N, FRONT));
    assert_true(conf_family_is_kept(rows, states, N, FOREIGN));
    assert_false(conf_family_is_kept(rows, states, N, OTHER));
    assert_false(conf_family_is_kept(rows, states, N, ALONE));
}

/* Without a file for each one that takes part, the rest would be left without it. */
static void test_files_for_all_that_take_part(void **state)
{
    states[FRONT].active = states[BACK].active = 1;
    states[FRONT].named = states[FRONT].replaceable = 1;
    assert_true(conf_family_is_active(rows, states, N, FOREIGN));
    assert_false(conf_family_has_files(rows, states, N, FRONT));
    states[BACK].replaceable = 1;
    assert_true(conf_family_has_files(rows, states, N, FRONT));
    states[BACK].replaceable = states[BACK].active = 0;
    assert_true(conf_family_has_files(rows, states, N, FRONT));
    assert_false(conf_family_is_active(rows, states, N, OTHER));
    assert_false(conf_family_has_files(rows, states, N, ALONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_native_while_nothing_lacks, clear),
        cmocka_unit_test_setup(test_one_file_takes_all_of_its_family, clear),
        cmocka_unit_test_setup(test_one_lack_takes_all_of_its_family, clear),
        cmocka_unit_test_setup(test_kept_by_builtin_module_on, clear),
        cmocka_unit_test_setup(test_files_for_all_that_take_part, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
