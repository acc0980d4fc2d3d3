/* SPDX-License-Identifier: Apache-2.0 */
/* Why answers were not stored: the last reason of a key, and how often it was so in a row. */
#include "cached_named_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void the_last_reason_is_kept(void **state)
{
    const store_key one = {1, 2}, same_place = {3, 2}, two = {5, 7};
    char longer[200];
    cached_reason reason;
    void *memory = calloc(1, cached_why_size());

    (void)state;
    cached_why_note(&one, 200, "before there is memory");
    cached_why_use(memory);
    assert_false(cached_why_get(&one, &reason));
    cached_why_note(&one, 200, "no-store");
    cached_why_note(&one, 404, "private");
    assert_true(cached_why_get(&one, &reason));
    assert_int_equal(reason.times, 2);
    assert_int_equal(reason.code, 404);
    assert_string_equal(reason.text, "private");
    assert_false(cached_why_get(&two, &reason));
    cached_why_note(&same_place, 200, "another");
    assert_false(cached_why_get(&one, &reason));
    assert_true(cached_why_get(&same_place, &reason));
    assert_int_equal(reason.times, 1);
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    cached_why_note(&two, 200, longer);
    assert_true(cached_why_get(&two, &reason));
    assert_int_equal(strlen(reason.text), CACHED_WHY_TEXT - 1);
    for (int i = 0; i < 70000; i++)
        cached_why_note(&two, 200, "again");
    assert_true(cached_why_get(&two, &reason));
    assert_int_equal(reason.times, UINT16_MAX);
    memset(memory, 0xff, cached_why_size()); /* others can write it */
    assert_false(cached_why_get(&(store_key){2, 2}, &reason));
    assert_true(cached_why_get(&(store_key){UINT64_MAX, 2}, &reason));
    assert_int_equal(strlen(reason.text), CACHED_WHY_TEXT - 1);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_reason_is_kept)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
