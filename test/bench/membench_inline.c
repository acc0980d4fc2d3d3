/* SPDX-License-Identifier: Apache-2.0 */
/* The replay as the server's own code does it: with the inline bump path of pools. */
#include "membench_ours.h"
#include "pool_inline.h"
#include <string.h>

void bench_replay_inline(const bench_pools *b, const trace *t, apr_pool_t **pools)
{
    const trace_op *op = t->ops, *end = op + t->ops_n;
    size_t *block;

    for (; op < end; op++)
        switch (op->op) {
        case 'a':
            block = pool_alloc(pools[op->pool], op->n);
            if (op->n >= sizeof(*block))
                *block = op->n;
            break;
        case 'z':
            block = pool_calloc(pools[op->pool], op->n);
            break;
        case 'k':
            apr_pool_cleanup_register(pools[op->pool], pools, bench_cleanup, apr_pool_cleanup_null);
            break;
        case 'p':
            if (apr_pool_create_ex(&pools[op->pool], pools[op->n], NULL, NULL) != APR_SUCCESS)
                bench_fail("no pool");
            break;
        case 'q':
            pools[op->pool] = b->request(pools[op->n]);
            break;
        case 'x':
            apr_pool_clear(pools[op->pool]);
            break;
        default:
            apr_pool_destroy(pools[op->pool]);
            break;
        }
}
