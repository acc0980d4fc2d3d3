/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_POOL_H
#define BRIGADE_TEST_POOL_H

/**
 * @file test_pool.h
 * A pool for each test. Include after cmocka.h; use with cmocka_unit_test_setup_teardown, or
 * TEST_WITH_POOL.
 */
#include <apr_general.h>
#include <apr_pools.h>

static apr_pool_t *test_pool;

static int test_pool_setup(void **state)
{
    (void)state;
    apr_initialize();
    return apr_pool_create(&test_pool, NULL);
}

static int test_pool_teardown(void **state)
{
    (void)state;
    apr_pool_destroy(test_pool);
    test_pool = NULL;
    return 0;
}

#define TEST_WITH_POOL(test) \
    cmocka_unit_test_setup_teardown(test, test_pool_setup, test_pool_teardown)

#endif
