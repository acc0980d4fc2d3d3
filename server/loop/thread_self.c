/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread: its role, its clock, its buffer, its processors. */
#include "program_thread.h"
#include "thread_self.h"
#include "clock.h"
#include "loop.h"
#include "brigade/loop.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

PROGRAM_THREAD_LOCAL brg_loop *loop_of_thread;
static PROGRAM_THREAD_LOCAL int self_index = -1;
static PROGRAM_THREAD_LOCAL apr_time_t self_read;
/* the thread's processors before it was bound; NULL: never bound */
static PROGRAM_THREAD_LOCAL cpu_set_t *self_unbound;

APR_HOOK_STRUCT(APR_HOOK_LINK(turn_end))

APR_IMPLEMENT_EXTERNAL_HOOK_VOID(brg, BRG, turn_end, (apr_time_t now), (now))

void thread_self_set(brg_loop *loop, int index)
{
    loop_of_thread = loop;
    self_index = index;
}

void thread_self_end(void)
{
    loop_of_thread = NULL;
    self_index = -1;
    free(self_unbound);
    self_unbound = NULL;
}

/* In a process of several threads the C library marks itself as cancellable around each call that may wait, by two locked
 * instructions; not where the mark is always there. */
void thread_self_uncancelled(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}

apr_time_t thread_self_read(void)
{
    return self_read = clock_monotonic();
}

apr_time_t thread_self_read_take(void)
{
    const apr_time_t read = self_read;

    self_read = 0;
    return read;
}

BRG_DECLARE(apr_time_t) brg_now(void)
{
    return loop_of_thread ? loop_of_thread->wall : apr_time_now();
}

BRG_DECLARE(apr_time_t) brg_monotonic_now(void)
{
    return loop_of_thread ? loop_of_thread->monotonic : clock_monotonic();
}

BRG_DECLARE(int) brg_thread_index(void)
{
    return self_index;
}

BRG_DECLARE(int) brg_thread_is_loop(void)
{
    return loop_of_thread != NULL;
}

/* Before a thread is made, which inherits it. */
static void thread_block_signals(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL,
                              SIGFPE,  SIGSYS, SIGTRAP, SIGURG /* crash_look_ask() */};
    sigset_t all;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, old);
}

int thread_bind(int processor)
{
    cpu_set_t one, *unbound = self_unbound ? NULL : malloc(sizeof *unbound);
    int rc = 0;

    BRG_ASSERT(processor >= 0 && processor < CPU_SETSIZE);
    if (!self_unbound && (!unbound || sched_getaffinity(0, sizeof *unbound, unbound)))
        rc = errno;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    if (!rc && sched_setaffinity(0, sizeof one, &one))
        rc = errno;
    if (rc)
        free(unbound);
    else if (unbound)
        self_unbound = unbound;
    return rc;
}

/* A thread inherits the processors of its creator. */
struct thread_unbound {
    void *(*fn)(void *);
    void *baton;
    cpu_set_t set;
};

static void *thread_unbound_main(void *given)
{
    struct thread_unbound start = *(struct thread_unbound *)given;

    free(given);
    (void)sched_setaffinity(0, sizeof start.set, &start.set); /* else it runs beside its loop */
    return start.fn(start.baton);
}

static int thread_start_unbound(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *),
                                void *baton)
{
    struct thread_unbound *start = malloc(sizeof *start);
    int rc = ENOMEM;

    if (start) {
        *start = (struct thread_unbound){fn, baton, *self_unbound};
        rc = pthread_create(id, attr, thread_unbound_main, start);
    }
    if (rc)
        free(start);
    return rc;
}

int thread_start(void *(*fn)(void *), void *baton, size_t stack_bytes, pthread_t *id)
{
    pthread_attr_t attr;
    pthread_t unused;
    sigset_t old;
    int rc;

    pthread_attr_init(&attr);
    if (!id)
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack_bytes)
        pthread_attr_setstacksize(&attr, stack_bytes);
    thread_block_signals(&old);
    if (!id)
        id = &unused;
    rc = self_unbound ? thread_start_unbound(id, &attr, fn, baton)
                      : pthread_create(id, &attr, fn, baton);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

BRG_DECLARE(int)
brg_thread_start(void *(*fn)(void *), void *baton, size_t stack_bytes, pthread_t *id)
{
    return thread_start(fn, baton, stack_bytes, id);
}

static void thread_forked(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void thread_unblock_in_forks(void)
{
    pthread_atfork(NULL, NULL, thread_forked);
}

/* ---- a buffer ---- */

static _Thread_local char *self_buffer;
static pthread_key_t self_buffer_key; /* only for its destructor at the end of a thread */
static pthread_once_t self_buffer_once = PTHREAD_ONCE_INIT;

/* Another destructor may ask to free it once more. */
static void self_buffer_end(void *buffer)
{
    free(buffer);
    self_buffer = NULL;
}

static void self_buffer_init(void)
{
    pthread_key_create(&self_buffer_key, self_buffer_end);
}

char *thread_buffer(void)
{
    if (self_buffer || !(self_buffer = malloc(THREAD_BUFFER_BYTES)))
        return self_buffer;
    pthread_once(&self_buffer_once, self_buffer_init);
    pthread_setspecific(self_buffer_key, self_buffer);
    return self_buffer;
}

void thread_buffer_free(void)
{
    if (!self_buffer)
        return;
    pthread_setspecific(self_buffer_key, NULL);
    free(self_buffer);
    self_buffer = NULL;
}
