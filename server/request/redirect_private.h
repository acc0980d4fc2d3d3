/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_REDIRECT_PRIVATE_H
#define BRIGADE_REQUEST_REDIRECT_PRIVATE_H

/**
 * @file redirect_private.h
 * Shared by internal redirects and error documents. */
#include "httpd.h"
#include "util_filter.h"

/** All filters from @a f on that belong to @a from belong to @a to from now on. */
void redirect_filters(ap_filter_t *f, request_rec *from, request_rec *to);

/** 1: @a first was redirected to a request that is left to a worker: redirect_follow(). */
int redirect_is_left(const request_rec *first);

/** Go on with that on a worker: its phases, its handler, its error document. */
void redirect_follow(request_rec *first);

/** 1 as long as no head of a response was sent for @a r. (die.c) */
int request_head_is_unsent(const request_rec *r);

/**
 * As ap_die(), for a request whose r->status a handler may have set. (die.c)
 *
 * @param recursive  HTTP_OK: this is the first failure, an error document may answer; else the
 * status that r was redirected for
 */
void request_die(int type, request_rec *r, int recursive);

#endif
