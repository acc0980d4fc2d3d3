/* SPDX-License-Identifier: Apache-2.0 */
/* For which targets Apache's mod_cache may act, by its directives. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "stock_policy.h"
#include "test_pool.h"

static void directive(const char *name, const char *args, const char *path, int in_htaccess)
{
    cmd_parms cmd = {.pool = test_pool, .path = (char *)(uintptr_t)path};

    if (in_htaccess)
        cmd.temp_pool = cmd.pool;
    stock_cache_directive(&cmd, name, args);
}

static int enabled(const char *uri)
{
    const request_rec r = {.uri = (char *)(uintptr_t)uri};

    return stock_cache_enabled(&r);
}

static void test_paths(void **state)
{
    assert_false(enabled("/a"));
    assert_false(enabled(NULL));
    directive("CacheRoot", "/a", NULL, 0);
    assert_false(enabled("/a"));
    directive("cacheenable", "disk /a/b", NULL, 0);
    directive("CacheEnable", "socache \"/d e\"", NULL, 0);
    assert_true(enabled("/a/b"));
    assert_true(enabled("/A/bcd"));
    assert_true(enabled("/d e/f"));
    assert_false(enabled("/a/"));
    assert_false(enabled("/c/a/b"));
}

/* Such targets may be written in another way for the module. */
static void test_targets_that_are_not_plain(void **state)
{
    directive("CacheEnable", "disk /a", NULL, 0);
    assert_false(enabled("/b"));
    assert_true(enabled("/%61"));
    assert_true(enabled("/b//a"));
    assert_true(enabled("/b/../a"));
    assert_true(enabled(NULL));
}

static void test_everything(void **state)
{
    directive("CacheEnable", "disk http://a.example/", NULL, 0);
    assert_true(enabled("/b"));
    assert_true(enabled(NULL));
}

static void test_a_section(void **state)
{
    directive("CacheEnable", "disk /b", "/sub", 0);
    assert_true(enabled("/c"));
}

static void test_a_line_without_a_path(void **state)
{
    directive("CacheEnable", "disk", NULL, 0);
    assert_true(enabled("/c"));
}

/* It lasts until the process ends, and has no pool with which it could end. */
static void test_access_file(void **state)
{
    directive("CacheDisable", "on", NULL, 1);
    assert_false(enabled("/c"));
    directive("CacheEnable", "disk /b", NULL, 1);
    assert_true(enabled("/c"));
}

/* With the pool of a configuration it is gone; else tests would not begin with nothing. */
static void test_forgotten_with_the_configuration(void **state)
{
    directive("CacheEnable", "disk /a", NULL, 0);
    directive("CacheEnable", "disk", NULL, 0);
    assert_true(enabled("/c"));
    apr_pool_clear(test_pool);
    assert_false(enabled("/c"));
    assert_false(enabled("/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_paths),       TEST_WITH_POOL(test_targets_that_are_not_plain),
        TEST_WITH_POOL(test_everything),  TEST_WITH_POOL(test_forgotten_with_the_configuration),
        TEST_WITH_POOL(test_a_section),   TEST_WITH_POOL(test_a_line_without_a_path),
        TEST_WITH_POOL(test_access_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
