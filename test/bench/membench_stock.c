/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper of brigade-membench that is linked with libapr and with nothing of ours: APR's own
 * pools. A connection's pool has an allocator of its own, as Apache's event MPM makes it; a
 * request's pool is created below it.
 *
 * brigade-membench-stock TRACE THREADS MILLISECONDS
 */
#include "membench_run.h"
#include "apr_allocator.h"
#include "apr_general.h"
#include <stdio.h>
#include <stdlib.h>

#define STOCK_MAX_FREE ((apr_size_t)2 << 20)

static apr_pool_t *stock_connection(void)
{
    apr_allocator_t *allocator;
    apr_pool_t *pool;

    if (apr_allocator_create(&allocator) != APR_SUCCESS)
        bench_fail("no allocator");
    apr_allocator_max_free_set(allocator, STOCK_MAX_FREE);
    if (apr_pool_create_ex(&pool, NULL, NULL, allocator) != APR_SUCCESS)
        bench_fail("no pool");
    apr_allocator_owner_set(allocator, pool);
    return pool;
}

static apr_pool_t *stock_request(apr_pool_t *connection)
{
    apr_pool_t *pool;

    if (apr_pool_create_ex(&pool, connection, NULL, NULL) != APR_SUCCESS)
        bench_fail("no pool");
    return pool;
}

static const bench_subject stock_subject = {
    {apr_palloc, apr_pool_create_ex, apr_pool_clear, apr_pool_destroy, apr_pool_cleanup_register,
     stock_connection, stock_request},
    bench_replay,
    NULL,
    NULL,
};

int main(int argc, char **argv)
{
    if (argc != 4 || apr_initialize() != APR_SUCCESS) {
        fputs("usage: brigade-membench-stock TRACE THREADS MILLISECONDS\n", stderr);
        return 2;
    }
    return bench_run(&stock_subject, argv[1], atoi(argv[2]), atoi(argv[3]));
}
