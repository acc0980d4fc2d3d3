/* SPDX-License-Identifier: Apache-2.0 */
/* What a request looked at in the file system: one list for all that it leads to, without repetition, and bounded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "request_context.h"
#include "brigade/response_cache.h"
#include "test_pool.h"
#include "test_request.h"

#define MOST 300

static request_rec *first, *redirected, *part, *foreign;
static const char *paths[MOST];

static int begin(void **state)
{
    if (test_pool_setup(state))
        return -1;
    first = test_request_kept(test_pool, NULL, NULL);
    redirected = test_request_kept(test_pool, first, NULL);
    part = test_request_kept(test_pool, NULL, redirected);
    foreign = test_request(test_pool);
    return 0;
}

static int count(void)
{
    return brg_cache_dependencies(part, 0, paths, MOST);
}

static void test_one_list(void **state)
{
    char name[] = "/c";

    assert_int_equal(count(), 0);
    brg_cache_depends_on(first, "/a");
    brg_cache_depends_on(redirected, "/b");
    brg_cache_depends_on(part, name);
    name[1] = 'x'; /* it was copied */
    brg_cache_depends_on(first, "/a");
    brg_cache_depends_on(part, "/b");
    assert_int_equal(count(), 3);
    assert_string_equal(paths[0], "/a");
    assert_string_equal(paths[1], "/b");
    assert_string_equal(paths[2], "/c");
    assert_int_equal(request_dependencies_of(first)->named, 5);
    assert_int_equal(brg_cache_dependencies(foreign, 0, paths, MOST), -1);
    brg_cache_depends_on(foreign, "/d");
}

/* The first path of a part is copied, since the part may end before. */
static void test_first_of_a_part(void **state)
{
    char name[] = "/c";

    brg_cache_depends_on(part, name);
    name[1] = 'x';
    assert_int_equal(count(), 1);
    assert_string_equal(paths[0], "/c");
}

static void test_pieces_of_the_list(void **state)
{
    brg_cache_depends_on(first, "/a");
    brg_cache_depends_on(first, "/b");
    brg_cache_depends_on(first, "/c");
    memset(paths, 0, sizeof paths);
    assert_int_equal(brg_cache_dependencies(first, 1, paths, 1), 3);
    assert_string_equal(paths[0], "/b");
    assert_null(paths[1]);
    assert_int_equal(brg_cache_dependencies(first, 2, paths, 5), 3);
    assert_string_equal(paths[0], "/c");
    assert_null(paths[1]);
}

static void test_bound(void **state)
{
    char name[16];

    for (int i = 0; i <= REQUEST_DEPENDENCIES_MOST; i++) {
        snprintf(name, sizeof name, "/%d", i);
        brg_cache_depends_on(part, name);
    }
    assert_int_equal(count(), REQUEST_DEPENDENCIES_MOST + 1);
    brg_cache_depends_on(part, "/0"); /* there already */
    assert_int_equal(count(), REQUEST_DEPENDENCIES_MOST + 1);
    brg_cache_depends_on(part, "/more");
    assert_int_equal(count(), -1);
    assert_true(request_dependencies_of(first)->too_many);
}

/* What stands far back is not compared with: harmless, but quick. */
static void test_repetition(void **state)
{
    char name[16];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 17; i++) {
            snprintf(name, sizeof name, "/%d", i);
            brg_cache_depends_on(first, apr_pstrdup(test_pool, name));
        }
    assert_int_equal(count(), 17);
    for (int i = 17; i < 20; i++) {
        snprintf(name, sizeof name, "/%d", i);
        brg_cache_depends_on(first, apr_pstrdup(test_pool, name));
    }
    brg_cache_depends_on(first, "/1");
    assert_int_equal(count(), 21);
}

static void test_unknown(void **state)
{
    brg_cache_depends_on(first, "/a");
    brg_cache_depends_on(part, NULL);
    assert_int_equal(count(), -1);
}

static void test_folders(void **state)
{
    first->uri = apr_pstrdup(test_pool, "/first");
    brg_cache_depends_on(first, "/a");
    brg_cache_depends_on_names(part, "/f");
    assert_null(request_dependencies_of(first)->chosen_for);
    assert_int_equal(count(), -1);
    brg_cache_depends_on_names(first, "/f");
    brg_cache_depends_on_names(first, "/g");
    assert_int_equal(request_dependencies_of(part)->folders->nelts, 2);
    assert_string_equal(request_dependencies_of(part)->chosen_for, "/first");
    assert_false(request_dependencies_of(part)->too_many);
    brg_cache_depends_on_names(foreign, "/g");
}

static void test_bound_of_folders(void **state)
{
    char name[16];

    for (int i = 0; i < REQUEST_DEPENDENCIES_MOST; i++) {
        snprintf(name, sizeof name, "/%d", i);
        brg_cache_depends_on_names(part, name);
    }
    assert_false(request_dependencies_of(part)->too_many);
    brg_cache_depends_on_names(part, "/more");
    assert_true(request_dependencies_of(part)->too_many);
    assert_int_equal(request_dependencies_of(part)->folders->nelts, REQUEST_DEPENDENCIES_MOST);
}

static void test_names_of_a_part(void **state)
{
    brg_cache_depends_on(first, "/a");
    request_names_begin(part);
    assert_int_equal(request_names_of(part), 0);
    brg_cache_depends_on(part, "/a");
    brg_cache_depends_on(first, "/b");
    assert_int_equal(request_names_of(part), 2);
    assert_int_equal(request_names_of(foreign), 0);
}

static void test_marks(void **state)
{
    assert_false(request_dependencies_of(part)->query || request_dependencies_of(part)->name ||
                 request_dependencies_of(part)->link_policy);
    request_query_counts(part);
    assert_true(request_dependencies_of(first)->query);
    assert_false(request_dependencies_of(first)->name);
    request_name_counts(part);
    assert_true(request_dependencies_of(first)->name);
    assert_false(request_dependencies_of(first)->link_policy);
    request_link_policy_counts(redirected);
    assert_true(request_dependencies_of(first)->link_policy);
    request_dependencies_since(part, 7);
    request_dependencies_since(first, 8); /* the first look counts */
    assert_int_equal(request_dependencies_of(first)->since, 7);
}

static void test_leads(void **state)
{
    first->uri = apr_pstrdup(test_pool, "/first");
    brg_cache_leads_to(part, "/part");
    brg_cache_leads_to(redirected, "/redirected");
    assert_null(request_dependencies_of(first)->led_to);
    brg_cache_leads_to(first, "/second");
    first->uri = apr_pstrdup(test_pool, "/second");
    brg_cache_leads_to(first, "/third");
    assert_string_equal(request_dependencies_of(first)->led_from, "/first");
    assert_string_equal(request_dependencies_of(first)->led_to, "/third");
}

/* Another thread has it: its list is its own. */
static void test_apart(void **state)
{
    request_set_apart(part);
    brg_cache_depends_on(part, "/p");
    assert_int_equal(brg_cache_dependencies(first, 0, paths, MOST), 0);
    assert_int_equal(count(), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, test_pool_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_list),
        TEST(test_first_of_a_part),
        TEST(test_pieces_of_the_list),
        TEST(test_bound),
        TEST(test_repetition),
        TEST(test_unknown),
        TEST(test_folders),
        TEST(test_bound_of_folders),
        TEST(test_names_of_a_part),
        TEST(test_marks),
        TEST(test_leads),
        TEST(test_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
