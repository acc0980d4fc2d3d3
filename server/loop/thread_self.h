/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_THREAD_SELF_H
#define BRIGADE_LOOP_THREAD_SELF_H

/**
 * @file thread_self.h
 * What the calling thread is: an event loop, a worker, or neither.
 */
#include "conn.h"
#include <signal.h>

/** Called once at the start of a loop (with it) or worker (NULL). @param index see
 * brg_thread_index() */
void thread_self_set(brg_loop *loop, int index);

/** Called at the end of a loop or worker. */
void thread_self_end(void);

/**
 * Before a thread is made: block in the caller, and so in the new thread, all signals but those
 * that a thread causes itself. Signals are the main thread's.
 * @param old  what is to be restored afterwards with pthread_sigmask()
 */
void thread_block_signals(sigset_t *old);

/** In each process that this one forks, block nothing: programs expect that. Once per process. */
void thread_unblock_in_forks(void);

#endif
