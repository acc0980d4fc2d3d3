/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CRASH_CRASH_H
#define BRIGADE_CRASH_CRASH_H

/**
 * @file crash.h
 * The report of a process with a fatal signal: signal, thread, the thread's request,
 * and the module at work, with its hook, handler or filter. Nothing of it costs anything before:
 * the stack is looked at when the signal came.
 */
#include "httpd.h"
#include <signal.h>
#include <stddef.h>

/** Bytes of stack that the handler needs. */
#define CRASH_STACK_BYTES 32768

/** The calling thread's request, or NULL. Written by crash_serving() alone. */
extern _Thread_local const request_rec *crash_request;

/**
 * Note the request that the calling thread serves from now on; it must stay valid until the next call. NULL: none.
 * Threads: any. Async-signal-safety: the handler of this thread reads it.
 */
static inline void crash_serving(const request_rec *r)
{
    crash_request = r;
}

/** The socket of the connection that the calling thread drives, -1: none. Written by crash_driving() alone. */
extern _Thread_local int crash_socket;

/** The calling thread drives the connection of socket @a fd from now on; -1: none. */
static inline void crash_driving(int fd)
{
    crash_socket = fd;
}

/**
 * Let the handler run on @a stack on this thread, so that it can report a stack that overflowed
 * too.
 * @param stack  CRASH_STACK_BYTES, valid up to crash_stack_end()
 * @param old    filled, for crash_stack_end()
 */
void crash_stack_begin(void *stack, stack_t *old);
void crash_stack_end(const stack_t *old);

/**
 * Report a module that calls exit() in this process. To be called again in a process that was
 * forked. Threads: the main thread.
 */
void crash_exit_watch(void);

/** The same at once, for callers that know of exit() beforehand. */
void crash_exit_tell(void);

/** Called after the report, in place of the end; that comes when @a act returns, and in any case
 * after CRASH_LAST_SECONDS. NULL: nothing is called. */
void crash_last_resort(void (*act)(void));
#define CRASH_LAST_SECONDS 5

/** This process comes to its own end now. To be called while modules are still loaded. */
void crash_exit_expected(void);

/* ---- crash_look.c ---- */

/**
 * Have a thread of a server process write its request to the error log, with the module, hook or
 * filter that it is in. It does so at once, whatever it is at, unless it waits for a disk; a call
 * that waits for something else goes on, or says EINTR.
 * @param pid      its process: this one, or a child
 * @param thread   gettid() of it
 * @param index    its number, for the line
 * @param seconds  how long it has been at it, for the line
 * @return 0, or -1 with errno
 * Threads: any. Blocking: no.
 */
int crash_look_ask(pid_t pid, pid_t thread, int is_worker, unsigned index, unsigned seconds);

/* ---- crash_where.c ---- */

/** Where a fatal signal struck. */
typedef struct crash_site {
    const char *file; /**< the object that the fault is in; "" for the program, NULL: not in code */
    size_t offset;    /**< in file, or the address */
    const char *module; /**< owner of the code, or its caller; NULL: unknown */
    const char *hook;   /**< "handler"; NULL: not below a hook */
    const char *filter; /**< set instead of hook: below a filter */
    int is_input;       /**< filter is an input filter */
    const char *called; /**< module whose hook or filter that is, where it is another one */
    int loaded;         /**< module is known by its file, which LoadModule opened */
} crash_site;

/** Load the data for crash_where(), since a signal handler could not. */
void crash_where_prepare(void);

/** Find out where this is called from; no file or offset. */
void crash_where_here(crash_site *out);

/** Find out. @param context  the signal handler's third argument. Async-signal-safe; a damaged
 * stack may cause another fault. */
void crash_where(void *context, crash_site *out);

#endif
