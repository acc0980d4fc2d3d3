/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass of a trace, for each way in which blocks are allocated: a file defines STEPS_NAME, the
 * function's name, and STEPS_ALLOC(b, pool, n) and STEPS_CALLOC(b, pool, n), and includes this.
 *
 * One step at a time, as recorded. Runs of equal steps are not made into loops of their own: no
 * program allocates thirty blocks without an instruction in between, and such a loop would measure
 * how long the processor waits for its own last store instead of what an allocation costs. What the
 * replay does itself is kept small, since it counts as the subject's time: the usual step comes
 * first, and needs no jump table.
 */
void STEPS_NAME(const bench_pools *b, const trace *t, apr_pool_t **pools)
{
    const trace_op *op = t->ops, *end = op + t->ops_n;

    for (; op < end; op++) {
        if (__builtin_expect(op->op == 'a', 1)) {
            *(size_t *)STEPS_ALLOC(b, pools[op->pool], op->n) = op->n;
            continue;
        }
        switch (op->op) {
        case TRACE_SMALL:
            (void)STEPS_ALLOC(b, pools[op->pool], op->n);
            break;
        case 'z':
            (void)STEPS_CALLOC(b, pools[op->pool], op->n);
            break;
        case 'k':
            b->cleanup(pools[op->pool], pools, bench_cleanup, apr_pool_cleanup_null);
            break;
        case 'p':
            if (b->create(&pools[op->pool], pools[op->n], NULL, NULL) != APR_SUCCESS)
                bench_fail("no pool");
            break;
        case 'q':
            pools[op->pool] = b->request(pools[op->n]);
            break;
        case 'x':
            b->clear(pools[op->pool]);
            break;
        default:
            b->destroy(pools[op->pool]);
            break;
        }
    }
}
