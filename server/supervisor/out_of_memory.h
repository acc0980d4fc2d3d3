/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUPERVISOR_OUT_OF_MEMORY_H
#define BRIGADE_SUPERVISOR_OUT_OF_MEMORY_H

/** The abort function of pools: says which scope and memory system refused, and ends the process.
 */
int oom_of_pool(int rv) __attribute__((noreturn));

/** Called behind the message, in place of the end if it does not return; NULL: none. It may not take memory. Threads: any may
 * call it. */
void oom_last_resort(void (*act)(void));

/** Exit status of a process that ends because memory is out, 1 until it is set. */
void oom_set_status(int status);

#endif
