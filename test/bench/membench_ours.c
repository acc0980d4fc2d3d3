/* SPDX-License-Identifier: Apache-2.0 */
/* Our pools, on the memory system of a specification. */
#include "membench_ours.h"
#include "memory_scope.h"
#include "apr_general.h"
#include "brigade/memory.h"
#include <stdio.h>

static apr_pool_t *ours_begin(apr_pool_t *above, brg_scope scope)
{
    apr_pool_t *pool;

    if (brg_pool_create_scoped(&pool, above, scope) != APR_SUCCESS)
        bench_fail("no pool");
    return pool;
}

static apr_pool_t *ours_connection(void)
{
    return ours_begin(NULL, BRG_SCOPE_CONNECTION);
}

static apr_pool_t *ours_request(apr_pool_t *connection)
{
    return ours_begin(connection, BRG_SCOPE_REQUEST);
}

static const brg_scope ours_scopes[] = {BRG_SCOPE_CONNECTION, BRG_SCOPE_REQUEST};
#define OURS_SCOPES_N ((int)(sizeof(ours_scopes) / sizeof(ours_scopes[0])))

/* What the innermost systems asked the operating system for. */
static uint64_t ours_refills(void)
{
    static uint64_t before;
    brg_sms_figures figures;
    uint64_t now, since;

    brg_sms_statistics(brg_sms_os(), &figures);
    now = figures.allocations;
    since = now - before;
    before = now;
    return since;
}

static void ours_idle(void)
{
    int i;

    for (i = 0; i < OURS_SCOPES_N; i++) {
        const brg_sms *s = brg_scope_system(ours_scopes[i], 0);

        if (s != NULL)
            brg_sms_trim((brg_sms *)s);
    }
}

static int ours_use(const char *spec, apr_pool_t *p)
{
    memory_stack *stack;
    const char *message;
    int i;

    for (i = 0; i < OURS_SCOPES_N; i++) {
        message = memory_stack_create(&stack, spec, p);
        if (message != NULL) {
            fprintf(stderr, "brigade-membench: %s\n", message);
            return -1;
        }
        memory_scope_set(ours_scopes[i], stack);
    }
    return 0;
}

int bench_ours(const char *spec, int is_inline, const char *trace_path, int threads,
               int milliseconds)
{
    const bench_subject subject = {
        {apr_palloc, apr_pool_create_ex, apr_pool_clear, apr_pool_destroy,
         apr_pool_cleanup_register, ours_connection, ours_request},
        is_inline ? bench_replay_inline : bench_replay,
        ours_refills,
        ours_idle,
    };
    apr_pool_t *pool;

    if (apr_initialize() != APR_SUCCESS ||
        apr_pool_create_ex(&pool, NULL, NULL, NULL) != APR_SUCCESS)
        bench_fail("APR does not begin");
    bench_kinds_register();
    if (ours_use(spec, pool) != 0)
        return 1;
    return bench_run(&subject, trace_path, threads, milliseconds);
}
