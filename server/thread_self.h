/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_THREAD_SELF_H
#define BRIGADE_THREAD_SELF_H

/**
 * @file thread_self.h
 * What the calling thread is: an event loop, a worker, or neither.
 */
#include "conn.h"

/** Called once at the start of a loop (with it) or worker (NULL). @param index see brg_thread_index() */
void thread_self_set(brg_loop *loop, int index);

/** Called at the end of a loop or worker. */
void thread_self_end(void);

#endif
