/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_REQUEST_H
#define BRIGADE_H1_H1_REQUEST_H

/** @file h1_request.h
 * HTTP/1 requests between the parser (h1_parse.h) and request_create(). */
#include "httpd.h"
#include "h1_parse.h"

/** The limits in force for requests that arrive for server @a s (its core configuration). */
void h1_limits_of(const server_rec *s, h1_limits *out);

/** 1 if @a r has no body, or all of it was read: what comes next is the next request. */
int h1_body_is_over(request_rec *r);

/**
 * Read the next request of a connection through its input filters.
 * @return the request (r->status as request_create() sets it), or NULL: nothing more comes
 * Threads: a worker. Blocking: yes.
 */
request_rec *h1_read_request(conn_rec *c);

/** process_connection hook: drive c through its filters until it ends. Threads: a worker. Blocking:
 * yes. */
int h1_process_connection(conn_rec *c);

/** Register the protocol's hooks; called from the core module's register_hooks. */
void h1_register_hooks(apr_pool_t *p);

#endif
