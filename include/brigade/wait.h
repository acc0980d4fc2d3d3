/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_WAIT_H
#define BRIGADE_WAIT_H

/**
 * @file brigade/wait.h
 * How a handler, or a hook of access control, waits for something other than its client without holding a thread: a descriptor, a deadline, an order of
 * another thread, more of the request's body, room for more output.
 *
 *     static int clock_go_on(request_rec *r, void *baton, int came)
 *     {
 *         ap_rputs("Time is up.\n", r);
 *         return OK;
 *     }
 *
 *     static int clock_handler(request_rec *r)
 *     {
 *         const brg_wait_for wanted = {.timeout = apr_time_from_msec(100), .fd = -1};
 *
 *         if (!r->handler || strcmp(r->handler, "clock"))
 *             return DECLINED;
 *         return brg_wait_possible(r) ? brg_wait(r, &wanted, clock_go_on, NULL, NULL) : HTTP_SERVICE_UNAVAILABLE;
 *     }
 *
 * The request waits on the event loop of its connection, also where its handler ran on a worker;
 * nothing of it is on any thread's stack meanwhile. go_on() then continues as the handler would: it
 * reads the body without blocking, passes brigades to r->output_filters, waits again, or ends the
 * request by its result.
 *
 * go_on() is called on the event loop: it must not block. An internal redirect may: where go_on() makes one before it has passed
 * anything on, a worker calls the handler again, which has to make the same redirect.
 *
 * Hooks of access_checker, access_checker_ex, check_user_id and auth_checker may wait, too, say for
 * another server's word on a password: for requests from the network, not for sub-requests and
 * redirects. For them go_on() keeps its knowledge with the request (in r->request_config) and
 * returns
 * - OK: all hooks of access control are called once more, from the first one on and by a worker
 *   thread; the hook that waited finds its data with the request, and decides,
 * - an error: the request is refused with it,
 * - the result of brg_wait(): it waits again.
 */
#include "httpd.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The events; a set. */
#define BRG_WAIT_TIMEOUT 1 /**< the time is up */
#define BRG_WAIT_FD 2      /**< the descriptor has events, or an error */
#define BRG_WAIT_RESUMED 4 /**< brg_wait_resume() was called */
/** more of the request's body may be read, it has ended, or its time is over: a read says
 * APR_TIMEUP (RequestReadTimeout) */
#define BRG_WAIT_BODY 8
#define BRG_WAIT_ROOM 16 /**< little of the output waits for the client */

/** Output that waits for the client, in bytes, up to which there is room for more. */
#define BRG_WAIT_LOW_WATER 32768

/** A request that waits. Ends when go_on() is called for it, or gone(). */
typedef struct brg_waiting brg_waiting;

/** Events for a request: the first of these ends the wait. */
typedef struct brg_wait_for {
    /** microseconds; up to an eighth of a second more; 0: the server's Timeout */
    apr_interval_time_t timeout;
    int fd;                /**< the module's own descriptor, open until the wait ends; -1: none */
    short fd_events;       /**< APR_POLLIN, APR_POLLOUT */
    unsigned body : 1;     /**< BRG_WAIT_BODY */
    unsigned room : 1;     /**< BRG_WAIT_ROOM */
    brg_waiting **waiting; /**< [out] for brg_wait_resume(); NULL: not needed */
} brg_wait_for;

/**
 * Go on with a request whose wait is over.
 *
 * @param came  set of BRG_WAIT_*
 * @return as a handler: OK, DONE, a status, or the result of brg_wait(); for hooks of access
 *   control see above
 * Threads: the event loop of the connection. Blocking: must not.
 */
typedef int brg_wait_go_on_fn(request_rec *r, void *baton, int came);

/**
 * The wait ends without go_on(): the client has left, or the server stops. Nothing may be sent; the request's pool lives
 * until the function has returned.
 * Threads: the event loop of the connection. Blocking: must not.
 */
typedef void brg_wait_gone_fn(request_rec *r, void *baton);

/**
 * May the handler, or the hook of access control, that runs for @a r wait by brg_wait()? In other phases: may its handler
 * do so? Not for a sub-request, whose result somebody waits for, nor where the connection is not the server's own (streams of mod_http2).
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_wait_possible(const request_rec *r);

/**
 * Wait. The handler, the hook, or go_on(), returns its result at once; once for each wait.
 *
 * @param wanted  is copied
 * @param gone    NULL: there is nothing to be done
 * @param baton   for both; lives until one of them was called
 * @return SUSPENDED; a status of an error where the wait is not possible (the error log says so)
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int)
brg_wait(request_rec *r, const brg_wait_for *wanted, brg_wait_go_on_fn *go_on,
         brg_wait_gone_fn *gone, void *baton);

/**
 * Have go_on() called with BRG_WAIT_RESUMED. May be called before brg_wait() of the same thread has taken effect; several
 * calls count as one. The caller makes sure that neither go_on() nor gone() was called for this wait before: by a lock of
 * its own, where another thread calls it.
 * Threads: any. Blocking: for no more than a wake-up.
 */
BRG_DECLARE(void) brg_wait_resume(brg_waiting *waiting);

/**
 * The handler of @a r reads the request's body by BRG_WAIT_BODY, as it comes: it may run on the event loop while the body is on
 * its way. Without this a request with a body is left to a worker, which may wait for it. For hooks up to insert_filter.
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void) brg_wait_reads_body(request_rec *r);

/** Bytes of output of @a r's connection that wait for the client in memory. Threads: the request's. */
BRG_DECLARE(apr_size_t) brg_wait_output(const request_rec *r);

#ifdef __cplusplus
}
#endif
#endif
