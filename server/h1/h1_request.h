/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_REQUEST_H
#define BRIGADE_H1_H1_REQUEST_H

/** @file h1_request.h
 * HTTP/1 requests between the parser (h1_parse.h) and request_create(). */
#include "httpd.h"
#include "h1_parse.h"

/** The limits in force for requests that arrive for server @a s (its core configuration). */
void h1_limits_of(const server_rec *s, h1_limits *out);

/** 1 if @a r has no body, or all of it was read: the next byte begins the next request. */
int h1_body_is_over(request_rec *r);

/** Register the protocol's hooks; called from the core module's register_hooks. */
void h1_register_hooks(apr_pool_t *p);

#endif
