/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_PRIVATE_H
#define BRIGADE_REQUEST_PRIVATE_H

/**
 * @file request_private.h
 * Seams between the connection driver (h1_conn.c), HTTP/1 (h1_request.c), the request phases
 * (request.c) and what comes after them (request_finish.c).
 */
#include "httpd.h"
#include "h1_parse.h"

/**
 * A request_rec for a parsed head (h1_request.c): pool below c->pool with tag "request",
 * the_request, method, protocol, parsed URI, headers_in, virtual host by Host, HTTP_IN and the
 * protocol filters, create_request hook. The head's bytes are copied once into r->pool. Does not
 * run post_read_request.
 *
 * @param head  from h1_parse, H1_DONE or H1_BAD
 * @return the request; r->status is HTTP_OK, or the status to die with (then c->keepalive is
 * AP_CONN_CLOSE)
 */
request_rec *h1_request_create(conn_rec *c, const h1_head *head);

/**
 * The limits in force for requests that arrive for server @a s (its core configuration).
 */
void h1_limits_of(const server_rec *s, h1_limits *out);

/**
 * post_read_request, quick_handler and the phases up to fixups and insert_filter (request.c).
 * @return OK: the handler is next. DONE: answered already. Else the status to die with.
 */
int request_phases(request_rec *r);

/** request_phases(): somebody has to say who he is, which may take long. request_phases_resume() on
 * a worker goes on. */
#define REQUEST_AUTH_PENDING (-1003)

/** The rest of the phases after REQUEST_AUTH_PENDING; as request_phases. */
int request_phases_resume(request_rec *r);

/**
 * Handler, error document where needed, end of request: what ap_process_async_request does after
 * the phases. Ends with an EOR bucket passed to the connection's filters; r must not be touched
 * after the call.
 * @param status  what request_phases returned
 */
void request_finish(request_rec *r, int status);

/**
 * As request_finish(), on an event loop.
 * @return 1: done. 0: it would wait; request_finish(r, *status) is to be called by a worker.
 */
int request_finish_on_loop(request_rec *r, int *status);

/**
 * 1 if every filter on r's chains and every module with a request hook is declared non-blocking and
 * no request body waits: the handler may run on an event loop. Call after request_phases.
 * (resolution.c)
 */
int request_may_run_inline(request_rec *r);

/** 1 if the phases themselves may run on an event loop: asked once per configuration.
 * (resolution.c) */
int phases_may_run_inline(void);

/** 1 if the request has credentials that a module may check, for the request itself or for one that
 * it leads to. That may take long. */
int phases_may_check(const request_rec *r);

#endif
