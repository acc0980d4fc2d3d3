/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_REQUEST_WAIT_H
#define BRIGADE_REQUEST_REQUEST_WAIT_H

/**
 * @file request_wait.h
 * A request that waits on its loop (brigade/wait.h), as the driver of its connection sees it.
 *
 *   handler, go_on      brg_wait(): bc->held.waiting is set, SUSPENDED
 *   driver              CONN_WAIT; request_wait_arm()
 *   loop                the event comes: it puts the connection on the list of the turn
 *   driver              request_wait_end(): go_on(), and the steps after a handler
 *
 * All functions: threads: the loop's own, but for request_waits(). None blocks.
 */
#include "conn.h"
#include "httpd.h"
#include "request_parts.h"

/** 1 if a handler of @a c's request waits. Threads: the owner of the connection. */
int request_waits(const conn_rec *c);

/**
 * Wait for the descriptor.
 * @return 0, or an errno: the descriptor cannot be polled
 */
int request_wait_arm(brg_conn *bc);

/** When the wait is over in any case. */
apr_time_t request_wait_due(const brg_conn *bc);

/** Look at the connection: is there room for output, did more of the body come? */
void request_wait_look(brg_conn *bc);

/** 1 if the client said that no other request follows on this connection. */
int request_wait_is_last(const brg_conn *bc);

/** 1 if the handler waits for the request's body. */
int request_wait_reads(const brg_conn *bc);

/** As brg_wait_resume(), for callers on the loop of the connection: without a note. */
void request_wait_came(struct brg_waiting *waiting);

/** The time is up. */
void request_wait_expired(brg_conn *bc);

/** The descriptor cannot be polled: the handler finds out why. */
void request_wait_failed(brg_conn *bc);

/**
 * The request of @a r's connection goes on when its client leaves while the handler waits, if @a stays returns 1 then: its output is
 * dropped.
 * @param stays  NULL: no more; if the client left already, the request ends as soon as may be
 * @return 1; 0: the connection cannot do so. Threads: the request's
 */
int request_wait_stays(request_rec *r, int (*stays)(void *baton), void *baton);

/** The waiting request: from the network, or its redirect's target. */
request_rec *request_wait_of(const brg_conn *bc);

/** 1 if something came, thus request_wait_end() is next. */
int request_wait_is_over(const brg_conn *bc);

/**
 * Go on with the request that waited, as a handler that is called.
 * @return as request_finish_on_loop(); REQUEST_LEFT: *first is the request
 */
request_end request_wait_end(brg_conn *bc, request_rec **first, int *status);

/** It will not go on: the connection is to be closed. The request ends. */
void request_wait_abandon(brg_conn *bc);

#endif
