/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUPERVISOR_HANDOVER_H
#define BRIGADE_SUPERVISOR_HANDOVER_H

/**
 * @file handover.h
 * Lines from one program to its successor in the same process (`-k upgrade`).
 *
 * Lines of text in a file in memory, whose descriptor the environment variable BRIGADE_HANDOVER names, and behind it that
 * of the program to go back to, for a program that cannot read the lines:
 *
 *   brigade-handover FORMAT
 *   process PID                      that this is for
 *   program PATH                     the program for the next upgrade
 *   limit SECONDS                    until it has to serve
 *   back FD                          the program to go back to; missing: this is it
 *   watch FD                         a byte there says that it serves (upgrade_watch.c)
 *   generation N SERVING             of the next configuration; of the processes that serve
 *   secrets FD                       of kept_secret.h
 *   pid-file PATH                    that names this process
 *   failed N                         attempts in a row to read the configuration
 *   kept FD BYTES NAME               memory of kept_memory.h
 *   given FD NAME                    a socket of the service manager
 *   address GIVEN SOCKADDR FD...     sockets of one address; GIVEN -1: the server's own
 *   child PID INDEX GENERATION FD UP STOPPING WORN SLOT
 *
 * Descriptors keep their numbers. Unknown lines are skipped, so lines may be added; any other
 * change needs another FORMAT. Threads: main.
 */
#include "httpd.h"

#define HANDOVER_FORMAT 1
#define HANDOVER_VARIABLE "BRIGADE_HANDOVER"

/**
 * Write it, and make the environment of the next program, with the variable. Descriptors of it stay open over exec. May be called
 * from a signal handler that came in the middle of malloc(): it takes no memory from the heap.
 * @param back         a descriptor of the running program, or -1
 * @param environment  for exec; it is given up by handover_undo()
 * @return its descriptor; -1: errno says why
 */
int handover_give(const char *program, int back, char ***environment);

/** The exec failed: nothing is handed on. @a fd is closed. */
void handover_undo(int fd);

/**
 * The handover of the program before, before anything else is done: it takes no memory. The way back is taken out of the
 * variable: whoever comes back has no other one.
 * @param back  [out] its program, -1: none
 * @return the descriptor of the file; -1: nothing was left for this process
 */
int handover_left(int *back);

/** Nothing was done with the handover in @a fd, and the variable is there still: leave it to the next program. Takes no memory. */
void handover_return(int fd);

/** The result of handover_take() for the caller to keep. */
typedef struct handover_state {
    char *program; /**< in the heap */
    int back;      /**< -1: none */
    int limit;     /**< seconds until this program has to serve */
} handover_state;

/** Take over from the program before, and remove the variable.
 * @return 0: there is nothing, or it cannot be read: then it is there still, for handover_return() */
int handover_take(handover_state *out);

#endif
