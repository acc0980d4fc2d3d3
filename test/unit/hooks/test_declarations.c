/* SPDX-License-Identifier: Apache-2.0 */
/* What modules declare: found by name, changed by a second declaration, dropped with their module. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "declarations.h"
#include "apr_hooks.h"
#include "test_pool.h"

static module one = {.name = "mod_one.c"}, two = {.name = "mod_two.c"};
static module *loaded[3];

static int depends(request_rec *r)
{
    return BRG_CACHE_STATIC;
}

static int begin(void **state)
{
    if (test_pool_setup(state))
        return -1;
    apr_hook_global_pool = test_pool;
    declarations_forget();
    return 0;
}

/* The pool in which modules are registered ends, and with it what they declared. */
static int end(void **state)
{
    int rc = test_pool_teardown(state);

    apr_hook_global_pool = NULL;
    assert_int_equal(declarations_n, 0);
    assert_int_equal(declarations_phases_wait(), 0);
    return rc;
}

static void test_found_by_name(void **state)
{
    static const char name[] = {'m', 'o', 'd', '_', 'o', 'n', 'e', '.', 'c', '\0'};

    assert_null(declaration_of("mod_one.c"));
    brg_cache_declare(&one, depends);
    brg_nonblocking_declare(&two);
    assert_ptr_equal(declaration_of(name)->of, &one);
    assert_ptr_equal(declaration_of(name)->fn, depends);
    assert_int_equal(declaration_of(name)->never, 0);
    assert_int_equal(declaration_of("mod_two.c")->never, 1);
    assert_null(declaration_of("mod_three.c"));
    assert_null(declaration_of(NULL));
}

static void test_declared_again(void **state)
{
    brg_nonblocking_declare(&one);
    brg_cache_declare(&one, depends);
    assert_int_equal(declarations_n, 1);
    assert_int_equal(declaration_of("mod_one.c")->never, 0);
    assert_ptr_equal(declaration_of("mod_one.c")->fn, depends);
}

/* By its row, or because it says so; a module of which nothing is known may look at it. */
static void test_query(void **state)
{
    static module alias = {.name = "mod_alias.c"};

    brg_cache_leaves_query(&one); /* not declared: nothing to keep it in */
    brg_cache_declare(&one, depends);
    brg_cache_declare(&two, depends);
    brg_cache_declare(&alias, depends);
    assert_false(declaration_of("mod_one.c")->query_free);
    assert_true(declaration_of("mod_alias.c")->query_free);
    brg_cache_leaves_query(&one);
    assert_true(declaration_of("mod_one.c")->query_free);
    assert_false(declaration_of("mod_two.c")->query_free);
}

static void test_unloaded_modules(void **state)
{
    module **before = ap_loaded_modules;

    brg_cache_declare(&one, depends);
    brg_cache_declare(&two, depends);
    loaded[0] = &two;
    ap_loaded_modules = loaded;
    declarations_drop_unloaded();
    ap_loaded_modules = before;
    assert_null(declaration_of("mod_one.c"));
    assert_ptr_equal(declaration_of("mod_two.c")->of, &two);
}

static void test_no_more_room(void **state)
{
    static module many[DECLARATIONS_MOST + 1];
    static char names[DECLARATIONS_MOST + 1][32];

    for (int i = 0; i <= DECLARATIONS_MOST; i++) {
        snprintf(names[i], sizeof names[i], "mod_%d.c", i);
        many[i].name = names[i];
        assert_int_equal(declaration_add(&many[i], depends, 0) == NULL, i == DECLARATIONS_MOST);
    }
    assert_null(declaration_of(names[DECLARATIONS_MOST]));
}

static void test_phases_on_workers(void **state)
{
    brg_cache_declare(&one, depends);
    assert_int_equal(declarations_phases_wait(), 0);
    brg_phases_need_worker();
    declarations_forget();
    assert_int_equal(declarations_phases_wait(), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_found_by_name), TEST(test_declared_again), TEST(test_unloaded_modules),
        TEST(test_no_more_room),  TEST(test_query),          TEST(test_phases_on_workers),
    };

    return cmocka_run_group_tests_name("declarations", tests, NULL, NULL);
}
