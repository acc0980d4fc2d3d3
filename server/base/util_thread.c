/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's apr_thread_t, which APR tells only from version 1.8 on.
 */
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_portable.h"
#include "apr_thread_proc.h"

#if !defined(ap_thread_current)

static AP_THREAD_LOCAL apr_thread_t *util_thread_self;

typedef struct util_thread_start {
    apr_thread_start_t func;
    void *data;
} util_thread_start;

static void *APR_THREAD_FUNC util_thread_run(apr_thread_t *thread, void *data)
{
    util_thread_start start = *(util_thread_start *)data;

    BRG_ASSERT(!util_thread_self);
    util_thread_self = thread;
    return start.func(thread, start.data);
}

AP_DECLARE(apr_status_t)
ap_thread_create(apr_thread_t **thread, apr_threadattr_t *attr, apr_thread_start_t func, void *data,
                 apr_pool_t *pool)
{
    util_thread_start *start = apr_palloc(pool, sizeof(*start));

    start->func = func;
    start->data = data;
    return apr_thread_create(thread, attr, util_thread_run, start, pool);
}

static apr_status_t util_thread_forget(void *thread)
{
    if (util_thread_self == thread)
        util_thread_self = NULL;
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t)
ap_thread_current_create(apr_thread_t **current, apr_threadattr_t *attr, apr_pool_t *pool)
{
    apr_os_thread_t self = apr_os_thread_current();
    apr_allocator_t *allocator;
    apr_abortfunc_t abort_fn = apr_pool_abort_get(pool);
    apr_pool_t *own;
    apr_status_t rv;

    *current = util_thread_self;
    if (*current)
        return APR_EEXIST;
    /* a thread's pool outlives all others that the thread uses, so it must not hang below one of
     * them */
    rv = apr_allocator_create(&allocator);
    if (rv != APR_SUCCESS)
        return rv;
    rv = apr_pool_create_unmanaged_ex(&own, abort_fn, allocator);
    if (rv != APR_SUCCESS) {
        apr_allocator_destroy(allocator);
        return rv;
    }
    apr_allocator_owner_set(allocator, own);
    rv = apr_os_thread_put(current, &self, own);
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(own);
        return rv;
    }
    util_thread_self = *current;
    apr_pool_cleanup_register(pool, *current, util_thread_forget, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

AP_DECLARE(void) ap_thread_current_after_fork(void)
{
    util_thread_self = NULL;
}

AP_DECLARE(apr_thread_t *) ap_thread_current(void)
{
    return util_thread_self;
}

#endif

AP_DECLARE(apr_status_t) ap_thread_main_create(apr_thread_t **thread, apr_pool_t *pool)
{
    apr_threadattr_t *attr;
    apr_status_t rv = apr_threadattr_create(&attr, pool);

    if (rv != APR_SUCCESS)
        return rv;
    /* it is never joined */
    rv = apr_threadattr_detach_set(attr, 1);
    if (rv != APR_SUCCESS)
        return rv;
    return ap_thread_current_create(thread, attr, pool);
}
