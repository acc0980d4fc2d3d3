/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_THREAD_SELF_H
#define BRIGADE_LOOP_THREAD_SELF_H

/**
 * @file thread_self.h
 * The role of the calling thread: event loop, worker, or neither. */
#include "conn.h"
#include <pthread.h>
#include <signal.h>

/** Called once at the start of a loop (with it) or worker (NULL). @param index see
 * brg_thread_index() */
void thread_self_set(brg_loop *loop, int index);

/** Called at the end of a loop or worker. */
void thread_self_end(void);

/** The calling thread cannot be cancelled (pthread_cancel()), and its system calls cost less. */
void thread_self_uncancelled(void);

/** Read clock_monotonic(), and keep the result for thread_self_read_take(). */
apr_time_t thread_self_read(void);

/** The last result of thread_self_read(). @return 0: nothing since the last call */
apr_time_t thread_self_read_take(void);

/** The calling thread runs on that processor alone from here on; threads that it starts run where it could. @return 0, or an errno */
int thread_bind(int processor);

/** brg_thread_start() of brigade/loop.h, which modules call. */
int thread_start(void *(*fn)(void *), void *baton, size_t stack_bytes, pthread_t *id);

#define THREAD_BUFFER_BYTES (64 * 1024)

/** A buffer of that size of the calling thread's, for bytes between a read and the write that
 * follows at once. Allocated when it is first asked for: as a thread-local array every thread would
 * have it, those of modules too. NULL when memory ran out. */
char *thread_buffer(void);

/** Give it back, until it is asked for again; also done when the thread ends. */
void thread_buffer_free(void);

/** In each process that this one forks, block nothing: programs expect that. Once per process. */
void thread_unblock_in_forks(void);

#endif
