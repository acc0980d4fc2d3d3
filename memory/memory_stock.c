/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes in a build that has stock APR pools (BRIGADE_MEMORY=OFF): none, and no figures. */
#include "brigade/memory.h"
#include "brigade/memory_bucket.h"
#include "memory_check.h"
#include "memory_out.h"
#include "memory_scope.h"
#include "pool_trace.h"
#include <string.h>

BRG_DECLARE(apr_status_t)
brg_pool_create_scoped(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope)
{
    return apr_pool_create(pool, parent);
}

BRG_DECLARE(apr_status_t)
brg_pool_create_apart(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope)
{
    apr_allocator_t *allocator;
    apr_status_t rv = apr_allocator_create(&allocator);

    if (rv != APR_SUCCESS)
        return rv;
    if ((rv = apr_pool_create_ex(pool, parent, NULL, allocator)) != APR_SUCCESS)
        apr_allocator_destroy(allocator);
    else
        apr_allocator_owner_set(allocator, *pool);
    return rv;
}

BRG_DECLARE(void) brg_pool_tree_add(brg_pool_tree *t, const apr_pool_t *pool)
{
}

void pool_tree_of_process(brg_pool_tree *t)
{
}

BRG_DECLARE(int) brg_pool_refused(const apr_pool_t *pool)
{
    return 0;
}

BRG_DECLARE(int) brg_pool_refusal_status(const apr_pool_t *pool)
{
    return 503;
}

BRG_DECLARE(void) brg_pool_figures_get(const apr_pool_t *pool, brg_pool_figures *out)
{
    memset(out, 0, sizeof(*out));
}

BRG_DECLARE(void) brg_memory_figures_get(brg_scope scope, brg_memory_figures *out)
{
    memset(out, 0, sizeof(*out));
}

BRG_DECLARE(void) brg_memory_figures_reset(void)
{
}

BRG_DECLARE(void) brg_buffer_created(void)
{
}

BRG_DECLARE(void) brg_buffer_shared(void)
{
}

BRG_DECLARE(void) brg_buffer_copied(apr_size_t bytes)
{
}

BRG_DECLARE(void) brg_buffer_grown(apr_size_t bytes)
{
}

BRG_DECLARE(void) brg_buffer_figures_get(brg_buffer_figures *out)
{
    memset(out, 0, sizeof(*out));
}

BRG_DECLARE(const char *) brg_scope_spec(brg_scope scope)
{
    return "stock";
}

BRG_DECLARE(const struct brg_sms *) brg_scope_system(brg_scope scope, int n)
{
    return NULL;
}

BRG_DECLARE(apr_bucket_alloc_t *) brg_bucket_alloc_create(apr_pool_t *pool)
{
    return apr_bucket_alloc_create(pool);
}

const char *memory_check(void)
{
    return NULL;
}

const char *memory_stack_create(memory_stack **out, const char *spec, apr_pool_t *p)
{
    return "this program was built with stock APR pools (BRIGADE_MEMORY=OFF), which draw from "
           "nothing else";
}

void memory_stack_drop(memory_stack *stack)
{
}

memory_stack *memory_scope_stack(int scope)
{
    return NULL;
}

void memory_scope_set(int scope, memory_stack *stack)
{
}

const char *memory_stack_spec(const memory_stack *stack)
{
    return "stock";
}

int pool_continue_on(apr_pool_t *p, memory_stack *stack)
{
    return 0;
}

void memory_scope_set_default(int scope)
{
}

void memory_stack_for(memory_stack *stack, int scope)
{
}

void memory_hosts_begin(void)
{
}

void memory_host_add(const char *name, memory_stack *stack, apr_pool_t *p)
{
}

BRG_DECLARE(int) brg_host_system_get(int n, brg_host_system *out)
{
    return 0;
}

const char *memory_begin(apr_abortfunc_t out_of_memory, const char **variable)
{
    return NULL;
}

memory_refused memory_refused_last(void)
{
    memory_refused nothing = {NULL, NULL, 0};

    return nothing;
}

void memory_stack_trim(memory_stack *stack)
{
}

void memory_stack_trace(memory_stack *stack)
{
}

void pool_trace_to(const pool_trace_file *file)
{
}

apr_size_t memory_pool_reserve_used(const apr_pool_t *p)
{
    return 0;
}
