/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kept_secret.h"

#include <stdio.h>
#include <string.h>

static int set_up(void **state)
{
    (void)state;
    kept_secret_forget();
    return 0;
}

static void each_is_kept_once(void **state)
{
    char longest[KEPT_SECRET_BYTES + 1];

    (void)state;
    assert_null(kept_secret_get(0));
    kept_secret_add("one");
    kept_secret_add("two");
    kept_secret_add("one");
    kept_secret_add("");
    memset(longest, 'x', sizeof longest);
    longest[KEPT_SECRET_BYTES] = '\0';
    kept_secret_add(longest);
    assert_string_equal(kept_secret_get(0), "one");
    assert_string_equal(kept_secret_get(1), "two");
    assert_null(kept_secret_get(2));
}

static void the_oldest_goes(void **state)
{
    char secret[32];

    (void)state;
    for (int i = 0; i <= KEPT_SECRET_MOST; i++) {
        snprintf(secret, sizeof secret, "secret %d", i);
        kept_secret_add(secret);
    }
    assert_string_equal(kept_secret_get(0), "secret 16");
    assert_string_equal(kept_secret_get(1), "secret 1");
    assert_null(kept_secret_get(KEPT_SECRET_MOST));
}

static void another_program_knows_them(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(kept_secret_give(), -1);
    kept_secret_add("one");
    kept_secret_add("two");
    fd = kept_secret_give();
    assert_true(fd >= 0);
    kept_secret_forget();
    assert_null(kept_secret_get(0));
    kept_secret_take(fd);
    assert_string_equal(kept_secret_get(0), "one");
    assert_string_equal(kept_secret_get(1), "two");
    assert_null(kept_secret_get(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_is_kept_once, set_up),
        cmocka_unit_test_setup(the_oldest_goes, set_up),
        cmocka_unit_test_setup(another_program_knows_them, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
