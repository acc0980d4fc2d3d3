/* SPDX-License-Identifier: Apache-2.0 */
/* Targets that are answered from memory often are known, fade, and are forgotten. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "cache_private.h"
#include "http_config.h"
#include "scoreboard.h"
#include "apr_hooks.h"
#include <stdio.h>
#include <string.h>

static apr_time_t now = apr_time_from_sec(100000);

static void note(const char *uri, uint32_t n)
{
    cache_hot_note("a", 1, uri, strlen(uri), n, now);
}

static int is_hot(const char *uri)
{
    return cache_hot_is("a", 1, uri, strlen(uri), now);
}

static void test_nothing_is_known_before(void **state)
{
    (void)state;
    note("/early", 5); /* there is no memory */
    assert_false(is_hot("/early"));
    assert_int_equal(ap_run_pre_mpm(NULL, SB_SHARED), OK);
    assert_false(is_hot("/early"));
}

static void test_host_and_target_count(void **state)
{
    (void)state;
    note("/x", 1);
    assert_true(is_hot("/x"));
    assert_false(is_hot("/"));
    assert_false(cache_hot_is("a/", 2, "x", 1, now));
    assert_false(cache_hot_is("b", 1, "/x", 2, now));
    now += apr_time_from_sec(3599);
    assert_true(is_hot("/x"));
    now += apr_time_from_sec(1);
    assert_false(is_hot("/x"));
}

/* 100,000 targets that were answered once leave the few alone that are answered often. */
static void test_the_hottest_stay(void **state)
{
    char uri[32];
    int hot = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(uri, sizeof uri, "/hot/%d", i);
        note(uri, 100);
    }
    for (int i = 0; i < 100000; i++) {
        snprintf(uri, sizeof uri, "/once/%d", i);
        note(uri, 1);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(uri, sizeof uri, "/hot/%d", i);
        hot += is_hot(uri);
    }
    assert_int_equal(hot, 1000);
    /* They make place when they are not asked for any more. */
    now += apr_time_from_sec(600);
    for (int i = 0; i < 100000; i++) {
        snprintf(uri, sizeof uri, "/new/%d", i);
        note(uri, 1);
    }
    snprintf(uri, sizeof uri, "/new/99999");
    assert_true(is_hot(uri));
    assert_false(is_hot("/hot/1") && is_hot("/hot/2") && is_hot("/hot/3") && is_hot("/hot/4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_known_before),
                                       cmocka_unit_test(test_host_and_target_count),
                                       cmocka_unit_test(test_the_hottest_stay)};

    apr_initialize();
    apr_pool_create(&apr_hook_global_pool, NULL);
    cache_hot_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
