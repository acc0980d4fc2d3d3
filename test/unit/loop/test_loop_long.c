/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages a loop leaves to workers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "loop.h"
#include "thread_self.h"

static apr_pool_t *pool;
static brg_loop loop;
static server_rec servers[2];

static int setup(void **state)
{
    apr_pool_create(&pool, NULL);
    memset(&loop, 0, sizeof loop);
    loop.pool = pool;
    loop.monotonic = apr_time_from_sec(1000);
    thread_self_set(&loop, 0);
    return 0;
}

static int teardown(void **state)
{
    thread_self_set(NULL, 0);
    apr_pool_destroy(pool);
    return 0;
}

static uint64_t page_of(int server, const char *filename)
{
    request_rec r = {.server = &servers[server], .filename = (char *)(uintptr_t)filename};

    return loop_page_of(&r);
}

static void test_pages_are_told_apart(void **state)
{
    static const char *const names[] = {
        "", "/", "/a", "/ab", "/srv/www/a.shtml", "/srv/www/b.shtml", "/srv/www/a.shtml/"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_not_equal(page_of(0, names[i]), 0);
        assert_int_equal(page_of(0, names[i]), page_of(0, names[i]));
        assert_int_not_equal(page_of(0, names[i]), page_of(1, names[i]));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(page_of(0, names[i]), page_of(0, names[k]));
    }
    assert_int_equal(page_of(0, NULL), page_of(0, ""));
}

static void test_what_is_never_kept_goes_soon(void **state)
{
    const uint64_t page = page_of(0, "/a"), other = page_of(0, "/b");

    assert_false(loop_takes_long(&loop, page));
    for (int i = 0; i < 3; i++) { /* not in a row */
        loop_page_took_long(&loop, page, 0);
        assert_false(loop_takes_long(&loop, page));
        loop_page_is_quick(&loop, page);
    }
    loop_page_took_long(&loop, page, 0);
    loop_page_took_long(&loop, page, 0);
    assert_true(loop_takes_long(&loop, page));
    assert_false(loop_takes_long(&loop, other));
    loop.monotonic += apr_time_from_sec(100000);
    assert_true(loop_takes_long(&loop, page));
    loop_page_is_quick(&loop, other);
    assert_true(loop_takes_long(&loop, page));
    loop_page_is_quick(&loop, page);
    assert_false(loop_takes_long(&loop, page));
}

/* It is made on the loop some times, for the cache; then by workers; and some seconds later it gets another try. */
static void test_what_may_be_kept_gets_some_runs(void **state)
{
    const uint64_t page = page_of(0, "/a");

    for (int round = 0; round < 3; round++) {
        int runs = 0;

        while (!loop_takes_long(&loop, page) && ++runs < 100)
            loop_page_took_long(&loop, page, 1);
        assert_in_range(runs, 3, 10);
        loop.monotonic += apr_time_from_sec(1);
        assert_true(loop_takes_long(&loop, page));
        loop.monotonic += apr_time_from_sec(60);
    }
    loop_page_took_long(&loop, page, 0);
    loop_page_took_long(&loop, page, 0);
    loop.monotonic += apr_time_from_sec(60);
    assert_true(loop_takes_long(&loop, page));
}

/* A request that pauses a second time has taken the time up to then. */
static void test_pauses_are_measured(void **state)
{
    loop_request_begins(&loop, "GET /", 5);
    (void)loop_request_ends(&loop, NULL);
    (void)loop_request_pauses(&loop);
    loop.monotonic = loop.slow.began = 1;
    assert_true(loop_request_pauses(&loop) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pauses_are_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_never_kept_goes_soon, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_may_be_kept_gets_some_runs, setup, teardown),
    };
    int rc;

    apr_initialize();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    apr_terminate();
    return rc;
}
