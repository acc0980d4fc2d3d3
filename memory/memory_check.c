/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether calls that are made inside libapr and libaprutil arrive here. They do not where a
 * distribution linked these libraries so that they bind to themselves; then two implementations of
 * pools would meet in one process.
 */
#include "memory_check.h"
#include "pool_private.h"
#include "apr_buckets.h"
#include "apr_strings.h"

const char *memory_check(void)
{
    const char *error = NULL;
    apr_uint64_t before;
    apr_pool_t *p;

    if (pool_root == NULL)
        return "libapr sets up pools of its own and not those of this program: it was linked with "
               "-Bsymbolic. "
               "Build with -DBRIGADE_APR=static";
    if (apr_pool_create(&p, NULL) != APR_SUCCESS)
        return "no memory";
    before = p->head.allocations;
    if (apr_pstrdup(p, "brigade") == NULL || p->head.allocations == before)
        error = "libapr does not allocate from the pools of this program: it was linked with "
                "-Bsymbolic. "
                "Build with -DBRIGADE_APR=static";
    else if (apr_bucket_alloc_create(p) == NULL || p->cleanups == NULL)
        error = "libaprutil does not use the pools of this program. "
                "Build with -DBRIGADE_APR=static";
    apr_pool_destroy(p);
    return error;
}
