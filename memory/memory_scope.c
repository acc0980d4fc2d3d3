/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of memory systems, and which one each scope uses.
 *
 * A specification is split at the lowest system that serves one thread only: systems below are
 * built once, it and those above for each allocator. `limit(16M) arena` so becomes one arena, and a
 * limit per request.
 *
 * A stack is described in a pool on malloc, of its own: the first one is made before there are any
 * others.
 */
#include "memory_out.h"
#include "brigade/assert.h"
#include "pool_private.h"
#include "pool_trace.h"
#include <stdlib.h>
#include <string.h>

struct memory_stack {
    apr_pool_t *p;    /* of this struct; a plain one */
    const char *spec; /* with all parameters in force */
    const brg_sms_plan *plan;
    int own_n;       /* so many systems, from the top, each allocator has for itself */
    brg_sms *shared; /* the rest */
    int per_block;
    int traced;
    int scope;      /* -1 until it is set: allocators are not kept */
    unsigned holds; /* allocators, creator or scope */
};

memory_stack *memory_scope_stacks[BRG_SCOPES_N];

memory_stack *memory_scope_stack(int scope)
{
    return memory_scope_stack_now(scope);
}

/* Requests and connections end early without harm where limit_hit is set. In other scopes nothing looks at it. */
static int scope_has_reserve(int scope)
{
    return scope == BRG_SCOPE_CONNECTION || scope == BRG_SCOPE_REQUEST || scope == BRG_SCOPE_BUCKET;
}

void memory_scope_set(int scope, memory_stack *stack)
{
    memory_stack *before;

    BRG_ASSERT(scope >= 0 && scope < BRG_SCOPES_N);
    if (stack != NULL)
        stack->scope = scope;
    before = __atomic_exchange_n(&memory_scope_stacks[scope], stack, __ATOMIC_ACQ_REL);
    if (before != NULL)
        memory_stack_drop(before);
}

static const char *stack_build(memory_stack *stack, const char *spec, apr_pool_t *p)
{
    const char *error = brg_sms_plan_make(&stack->plan, spec, stack->p);
    brg_sms *whole;
    int length;

    if (error != NULL)
        return brg_sms_message(p, "%s", error);
    stack->own_n = brg_sms_plan_private(stack->plan);
    length = brg_sms_plan_length(stack->plan);
    error = brg_sms_plan_build(&stack->shared, stack->plan, stack->own_n, length, NULL, p);
    if (error != NULL)
        return error;
    error = brg_sms_plan_build(&whole, stack->plan, 0, stack->own_n, stack->shared, p);
    if (error != NULL)
        return error;
    stack->per_block = brg_sms_per_block(whole);
    stack->spec = brg_sms_describe(whole, stack->p);
    if (whole != stack->shared)
        brg_sms_destroy(&whole, stack->shared);
    return NULL;
}

static void stack_free(memory_stack *stack)
{
    if (stack->shared != NULL && stack->shared != brg_sms_os())
        brg_sms_destroy(&stack->shared, brg_sms_os());
    apr_pool_destroy(stack->p);
}

const char *memory_stack_create(memory_stack **out, const char *spec, apr_pool_t *p)
{
    apr_pool_t *own = pool_make_owner(NULL, BRG_SCOPE_PROCESS, 0);
    memory_stack *stack = own != NULL ? apr_pcalloc(own, sizeof(*stack)) : NULL;
    const char *error;

    *out = NULL;
    if (stack == NULL)
        return "out of memory";
    stack->p = own;
    stack->scope = -1;
    stack->holds = 1;
    error = stack_build(stack, spec, p);
    if (error != NULL)
        stack_free(stack);
    else
        *out = stack;
    return error;
}

/* A thread's spare allocator holds its stack; where the stack is no scope's any more, it must not.
 */
static void stack_drop_spares(memory_stack *stack)
{
    memory_thread *t = memory_thread_mine;
    apr_allocator_t *a;

    while (t != NULL && (a = memory_stack_spare(stack)) != NULL)
        allocator_end(a);
}

void memory_stack_drop(memory_stack *stack)
{
    BRG_ASSERT(stack->holds > 0);
    stack_drop_spares(stack);
    if (__atomic_sub_fetch(&stack->holds, 1, __ATOMIC_ACQ_REL) == 0)
        stack_free(stack);
}

memory_stack *memory_stack_hold(memory_stack *stack)
{
    BRG_ASSERT(stack->holds > 0); /* by the caller */
    __atomic_add_fetch(&stack->holds, 1, __ATOMIC_RELAXED);
    return stack;
}

const char *memory_stack_spec(const memory_stack *stack)
{
    return stack != NULL ? stack->spec : "malloc";
}

/* ---- refusals ---- */

static __thread memory_refused refused_last __attribute__((tls_model("initial-exec")));

void memory_stack_refused(const memory_stack *stack, apr_size_t bytes)
{
    const char *scope = stack != NULL ? brg_scope_name(stack->scope) : NULL;

    refused_last.scope = scope != NULL ? scope : "none";
    refused_last.system = memory_stack_spec(stack);
    refused_last.bytes = bytes;
}

memory_refused memory_refused_last(void)
{
    return refused_last;
}

/* ---- allocators ---- */

int memory_stack_shareable(const apr_allocator_t *a)
{
    return a->mutex == NULL && (a->stack == NULL || a->stack->own_n == 0);
}

int memory_stack_attach(memory_stack *stack, apr_allocator_t *a)
{
    BRG_ASSERT(a->stack == NULL && a->system == NULL);
    a->stack = stack;
    a->scope = stack != NULL ? (signed char)stack->scope : -1;
    if (stack == NULL)
        return 0;
    if (brg_sms_plan_build(&a->system, stack->plan, 0, stack->own_n, stack->shared, NULL) != NULL)
        return -1;
    a->direct = stack->scope == BRG_SCOPE_CONNECTION || stack->scope == BRG_SCOPE_BUCKET;
    a->keeps_nodes = stack->scope == BRG_SCOPE_REQUEST;
    a->keep_units = a->keeps_nodes ? MEMORY_KEPT_UNITS : 0;
    a->traced = (unsigned char)(stack->traced && pool_trace_runs());
    a->per_block = (unsigned char)(stack->per_block || a->traced);
    a->has_reserve = (unsigned char)scope_has_reserve(stack->scope);
    __atomic_add_fetch(&stack->holds, 1, __ATOMIC_RELAXED);
    return 0;
}

void memory_stack_trace(memory_stack *stack)
{
    stack->traced = 1;
}

void memory_stack_untrace(apr_allocator_t *a)
{
    BRG_ASSERT(a->stack != NULL && a->trace == NULL);
    a->traced = 0;
    a->per_block = (unsigned char)a->stack->per_block;
}

void memory_stack_detach(apr_allocator_t *a)
{
    memory_stack *stack = a->stack;

    if (stack == NULL)
        return;
    if (stack->own_n > 0)
        brg_sms_destroy(&a->system, stack->shared);
    a->stack = NULL;
    if (__atomic_sub_fetch(&stack->holds, 1, __ATOMIC_ACQ_REL) == 0)
        stack_free(stack);
}

void memory_stack_trim(memory_stack *stack)
{
    memory_thread *t = memory_thread_mine;
    apr_allocator_t *a;
    int i;

    if (stack == NULL)
        return;
    for (i = 0; i < MEMORY_SPARES && t != NULL && stack->scope >= 0; i++) {
        a = t->spare[stack->scope][i];
        if (a != NULL && a->stack == stack)
            allocator_release_kept(a);
    }
    if (stack->shared != NULL)
        brg_sms_trim(stack->shared);
}

apr_allocator_t *memory_stack_spare(memory_stack *stack)
{
    memory_thread *t = memory_thread_mine;

    return t != NULL && stack != NULL && stack->scope >= 0
               ? memory_spare_take(t, stack->scope, stack)
               : NULL;
}

void memory_stack_for(memory_stack *stack, int scope)
{
    stack->scope = scope;
}

/* ---- for reports ---- */

BRG_DECLARE(const char *) brg_scope_spec(brg_scope scope)
{
    return memory_stack_spec(memory_scope_stack((int)scope));
}

BRG_DECLARE(const struct brg_sms *) brg_scope_system(brg_scope scope, int n)
{
    memory_stack *stack = memory_scope_stack((int)scope);
    const brg_sms *s = stack != NULL ? stack->shared : NULL;

    while (s != NULL && n-- > 0)
        s = s->parent;
    return s;
}

/* ---- virtual hosts and sections with systems of their own ---- */

typedef struct memory_host {
    struct memory_host *next;
    const char *name;
    memory_stack *stack;
} memory_host;

static memory_host *memory_hosts, **memory_hosts_end = &memory_hosts;

void memory_hosts_begin(void)
{
    memory_hosts = NULL;
    memory_hosts_end = &memory_hosts;
}

void memory_host_add(const char *name, memory_stack *stack, apr_pool_t *p)
{
    memory_host *host = apr_palloc(p, sizeof *host);

    if (!host)
        return;
    *host = (memory_host){NULL, name, stack};
    *memory_hosts_end = host;
    memory_hosts_end = &host->next;
}

BRG_DECLARE(int) brg_host_system_get(int n, brg_host_system *out)
{
    const memory_host *host = memory_hosts;

    while (host && n-- > 0)
        host = host->next;
    if (!host)
        return 0;
    *out = (brg_host_system){host->name, memory_stack_spec(host->stack),
                             host->stack ? host->stack->shared : NULL};
    return 1;
}
