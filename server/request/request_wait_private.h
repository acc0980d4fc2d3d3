/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_REQUEST_WAIT_PRIVATE_H
#define BRIGADE_REQUEST_REQUEST_WAIT_PRIVATE_H

/**
 * @file request_wait_private.h
 * Called by request_finish.c when a handler that waited goes on. */
#include "request_parts.h"

/**
 * The handler of @a r went on, and returned *status. Ends @a first if it does not wait again.
 * @param first  the request from the network: r, or the one that led to it by redirects
 * @return as request_finish_on_loop()
 */
request_end request_go_on(request_rec *first, request_rec *r, int *status);

/** It will not go on: @a first is logged, and ends without a response. */
void request_go_on_gone(request_rec *first);

#endif
