/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_SCOPE_H
#define BRIGADE_MEMORY_SCOPE_H

/*
 * Scopes as pools and allocators see them: counters of the calling thread, and stacks.
 *
 * A memory_stack is a specification made ready. Its systems that any thread may call are built once
 * and shared; those above them that serve one thread only (a limit, say) are built for each
 * allocator. An allocator that ends is kept, with them, for the thread's next one.
 */
#include "allocator_private.h"
#include "counter.h"

#define MEMORY_SPARES 2

/* Memory that an allocator of requests keeps, also from one request to the next: 128 KB. */
#define MEMORY_KEPT_UNITS 32

/* One per thread and scope. One writer, the thread; read by others, so that every store is atomic,
 * relaxed. */
typedef struct memory_counts {
    uint64_t pools, clears, allocations, bytes, zeroed, cleanups, refills, high_water;
    uint64_t usual; /* need of a pool that begins this scope, for all its work; decays */
} memory_counts;

typedef struct memory_thread {
    _Alignas(128) memory_counts scope[BRG_SCOPES_N]; /* no cache line is another thread's, too */
    brg_buffer_figures buffers;
    /* ended, ready for the scope's next ones: of the scope itself and of systems that pools moved
     * to */
    apr_allocator_t *spare[BRG_SCOPES_N][MEMORY_SPARES];
    struct memory_thread *next;
    int used; /* by a living thread */
} memory_thread;

extern __thread memory_thread *memory_thread_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** The first call of a thread. Never NULL: where there is no memory, a shared sink. */
memory_thread *memory_thread_begin(void);

static inline memory_thread *memory_thread_here(void)
{
    memory_thread *t = memory_thread_mine;

    return __builtin_expect(t == NULL, 0) ? memory_thread_begin() : t;
}

static inline memory_counts *memory_counts_mine(int scope)
{
    return &memory_thread_here()->scope[scope];
}

static inline void memory_count(uint64_t *counter, uint64_t more)
{
    counter_add(counter, more);
}

/** The stack that new allocators of a scope use; NULL: malloc. */
memory_stack *memory_scope_stack(int scope);

extern memory_stack *memory_scope_stacks[BRG_SCOPES_N] __attribute__((visibility("hidden")));

/** The same, inline for memory/. */
static inline memory_stack *memory_scope_stack_now(int scope)
{
    return __atomic_load_n(&memory_scope_stacks[scope], __ATOMIC_ACQUIRE);
}

/**
 * Build a stack. Every scope has its own.
 * @return NULL and *out, or a message (constant, or in @a p)
 * Threads: one at a time.
 */
const char *memory_stack_create(memory_stack **out, const char *spec, apr_pool_t *p);

/** Give up the creator's or a scope's hold. The stack ends with the last allocator on it. */
void memory_stack_drop(memory_stack *stack);

/** Give the reserve of the calling thread to the operating system. NULL: nothing. */
void memory_stack_trim(memory_stack *stack);

/** Give back the reserves of threads that made no call since the last time, in all systems. May take milliseconds. One thread.
 * @return calls of all threads to all systems so far */
uint64_t memory_idle(void);

/** Hold it once more. @return the same stack */
memory_stack *memory_stack_hold(memory_stack *stack);

/** Let a scope's new allocators use a stack, which the scope holds from now on. It drops the former
 * one. */
void memory_scope_set(int scope, memory_stack *stack);

/** Give every scope a stack of this specification. NULL or a message. */
const char *memory_scopes_begin(const char *spec);

/** The specification where a configuration names none. */
#define MEMORY_DEFAULT_SPEC "arena"

/**
 * Let a pool draw from another stack until it is cleared, or goes on with a third. Pools below it that exist stay where they
 * are.
 * @return 0, or -1 when memory is out
 */
int pool_continue_on(apr_pool_t *p, memory_stack *stack);

/** Bytes of a pool, and of pools that share its allocator, beyond the grant of the system. */
apr_size_t memory_pool_reserve_used(const apr_pool_t *p);

/** Let it use its first memory again. */
void memory_scope_set_default(int scope);

/** Say which scope a stack is for that memory_scope_set() is not given: that of virtual hosts and sections. */
void memory_stack_for(memory_stack *stack, int scope);

/** The virtual host or section @a name is the first that has @a stack; @a p lives as long as the process. Before there are threads. */
void memory_host_add(const char *name, memory_stack *stack, apr_pool_t *p);

/** Forget the former ones. */
void memory_hosts_begin(void);

/** The value of brg_memory_reported(). */
void memory_report_set(int on);

/** Note for memory_refused_last() that an allocator on the stack got no memory. */
void memory_stack_refused(const memory_stack *stack, apr_size_t bytes);

const char *memory_stack_spec(const memory_stack *stack);

/** Whether a pool of the allocator's stack may simply use this allocator, which another pool has.
 */
int memory_stack_shareable(const apr_allocator_t *a);

/** An allocator that ended on this stack and in this thread, or NULL. */
apr_allocator_t *memory_stack_spare(memory_stack *stack);

/** The same, where the scope of the stack is at hand. */
static inline apr_allocator_t *memory_spare_take(memory_thread *t, int scope,
                                                 const memory_stack *stack)
{
    apr_allocator_t *a, **slot = t->spare[scope], **end = slot + MEMORY_SPARES;

    for (; slot < end; slot++) {
        a = *slot;
        if (a != NULL && a->stack == stack) {
            *slot = NULL;
            return a;
        }
    }
    return NULL;
}

/** Keep an allocator that ends for that. 1, or 0: the caller frees it after memory_stack_detach. */
static inline int memory_spare_keep(apr_allocator_t *a)
{
    memory_thread *t = memory_thread_mine;
    apr_allocator_t **slot, **end;

    if (t == NULL || a->scope < 0)
        return 0;
    slot = t->spare[a->scope];
    for (end = slot + MEMORY_SPARES; *slot != NULL; slot++)
        if (slot + 1 == end)
            return 0;
    a->mutex = NULL;
    a->owner = NULL;
    a->limit_hit = 0;
    a->backer = NULL;
    a->keep_units = a->keeps_nodes ? MEMORY_KEPT_UNITS : 0;
    *slot = a;
    return 1;
}

/** Fill in a->system and the members that follow from it. 0, or -1 when memory is out. */
int memory_stack_attach(memory_stack *stack, apr_allocator_t *a);
void memory_stack_detach(apr_allocator_t *a);

/** Let pools on a stack be recorded (pool_trace.h), and those of an allocator not any more. Before
 * there are allocators on it. */
void memory_stack_trace(memory_stack *stack);
void memory_stack_untrace(apr_allocator_t *a);

#endif
