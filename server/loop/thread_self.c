/* SPDX-License-Identifier: Apache-2.0 */
#include "program_thread.h"
#include "thread_self.h"
#include "clock.h"
#include "loop.h"
#include "brigade/loop.h"
#include <pthread.h>
#include <stdlib.h>

PROGRAM_THREAD_LOCAL brg_loop *loop_of_thread;
static PROGRAM_THREAD_LOCAL int self_index = -1;
static PROGRAM_THREAD_LOCAL apr_time_t self_read;

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
    rc = pthread_create(id ? id : &unused, &attr, fn, baton);
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
