/* SPDX-License-Identifier: Apache-2.0 */
/* LiteSpeedCache: the words of X-LiteSpeed-Cache-Control, -Vary and -Tag. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "cached_litespeed_private.h"
#include "test_pool.h"

static cached_ls_control said(const char *list)
{
    cached_ls_control c = {.max_age = -1};

    cached_ls_control_read(&c, list);
    return c;
}

static void nothing_is_said_by_nothing(void **state)
{
    assert_false(said("").has);
    assert_false(said("unknown, max-age, esi=off").has);
    assert_int_equal(said("max-age=").max_age, -1);
}

static void words_stand_alone_in_any_case(void **state)
{
    const cached_ls_control c = said("Private,\tNO-VARY , esi=On");

    assert_true(c.has);
    assert_true(c.is_private);
    assert_true(c.no_vary);
    assert_true(c.has_esi);
    assert_false(c.is_shared);
    assert_false(c.no_store);
    assert_false(said("privately").is_private);
    assert_false(said("priv").is_private);
    assert_true(said("shared").is_shared);
}

static void public_alone_is_something(void **state)
{
    const cached_ls_control c = said("public");

    assert_true(c.has);
    assert_false(c.is_private || c.is_shared || c.no_store || c.no_vary || c.has_esi);
    assert_int_equal(c.max_age, -1);
}

static void no_cache_and_no_store_are_the_same(void **state)
{
    assert_true(said("no-cache").no_store);
    assert_true(said("public,no-store").no_store);
}

static void a_lifetime_of_nothing_is_not_stored(void **state)
{
    assert_int_equal(said("public, max-age=60").max_age, 60);
    assert_false(said("max-age=60").no_store);
    assert_true(said("max-age=0").no_store);
    assert_true(said("max-age=-5").no_store);
    assert_int_equal(said("Max-Age=7 max-age=9").max_age, 9);
}

static void further_lines_add_to_it(void **state)
{
    cached_ls_control c = said("private");

    cached_ls_control_read(&c, "max-age=5");
    assert_true(c.is_private);
    assert_int_equal(c.max_age, 5);
}

static const char *vary(const char *before, const char *list)
{
    static char room[64];
    fresh_text names = {.at = room, .room = sizeof room - 1};

    fresh_text_add(&names, before, strlen(before));
    cached_ls_vary_names(&names, list);
    room[names.len] = '\0';
    return names.over ? "over" : room;
}

static void cookies_of_vary_stand_behind_fields(void **state)
{
    assert_string_equal(vary("", "cookie=lang"), "cookie=lang");
    assert_string_equal(vary("accept", "cookie=a, cookie=b,cookie=c"),
                        "accept,cookie=a,cookie=b,cookie=c");
    assert_string_equal(vary("accept", ""), "accept");
}

static void vary_has_cookies_and_nothing_else(void **state)
{
    assert_string_equal(vary("", "value=x, cookie=, cookie=a"), "cookie=a");
    assert_string_equal(vary("accept", "header=b"), "accept");
}

static void tags_of_sessions_are_no_public_ones(void **state)
{
    test_pool_setup(state);
    assert_string_equal(cached_ls_private_tag(test_pool, "ab12", "posts"), "ab12\rposts");
    test_pool_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_by_nothing),
        cmocka_unit_test(words_stand_alone_in_any_case),
        cmocka_unit_test(public_alone_is_something),
        cmocka_unit_test(no_cache_and_no_store_are_the_same),
        cmocka_unit_test(a_lifetime_of_nothing_is_not_stored),
        cmocka_unit_test(further_lines_add_to_it),
        cmocka_unit_test(cookies_of_vary_stand_behind_fields),
        cmocka_unit_test(vary_has_cookies_and_nothing_else),
        cmocka_unit_test(tags_of_sessions_are_no_public_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
