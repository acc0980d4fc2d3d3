/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper of brigade-membench that is linked with libapr and with nothing of ours: APR's own
 * pools. A connection's pool has an allocator of its own, as Apache's event MPM makes it; a
 * request's pool is created below it.
 *
 * brigade-membench-stock [--empty] TRACE THREADS MILLISECONDS
 *
 * --empty: no pools at all, every call returns at once: what the replay itself takes.
 */
#include "membench_run.h"
#include "apr_allocator.h"
#include "apr_general.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Where all blocks of empty pools are. */
static _Alignas(64) char empty_block[1 << 20];

static void *empty_palloc(apr_pool_t *p, apr_size_t n)
{
    return empty_block;
}

static apr_status_t empty_create(apr_pool_t **p, apr_pool_t *above, apr_abortfunc_t abort_fn,
                                 apr_allocator_t *allocator)
{
    *p = above;
    return APR_SUCCESS;
}

static void empty_end(apr_pool_t *p)
{
}

static void empty_cleanup(apr_pool_t *p, const void *data, apr_status_t (*plain)(void *),
                          apr_status_t (*child)(void *))
{
}

static apr_pool_t *empty_connection(void)
{
    return (apr_pool_t *)empty_block;
}

static apr_pool_t *empty_request(apr_pool_t *connection)
{
    return connection;
}

static const bench_subject empty_subject = {
    {empty_palloc, empty_create, empty_end, empty_end, empty_cleanup, empty_connection,
     empty_request},
    bench_replay,
    NULL,
    NULL,
};

int main(int argc, char **argv)
{
    const bench_subject *subject = &stock_subject;

    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("brigade-membench-stock " BRIGADE_VERSION);
        return 0;
    }
    if (argc == 5 && strcmp(argv[1], "--empty") == 0) {
        subject = &empty_subject;
        argc--;
        argv++;
    }
    if (argc != 4 || apr_initialize() != APR_SUCCESS) {
        fputs("usage: brigade-membench-stock [--empty] TRACE THREADS MILLISECONDS\n", stderr);
        return 2;
    }
    return bench_run(subject, argv[1], atoi(argv[2]), atoi(argv[3]));
}
