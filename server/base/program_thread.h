/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_PROGRAM_THREAD_H
#define BRIGADE_BASE_PROGRAM_THREAD_H

/**
 * @file program_thread.h
 * Variables of each thread that requests look at all the time.
 */

/**
 * In place of _Thread_local in objects that are part of the program, and never of a library that is loaded later:
 * the place of the variable is known when the program starts, so that an access is one instruction and no
 * computation of where the thread's variables are.
 */
#define PROGRAM_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

#endif
