/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_HANDLER_PRIVATE_H
#define BRIGADE_REQUEST_HANDLER_PRIVATE_H

/**
 * @file handler_private.h
 * ap_invoke_handler() in two steps, so that the filters of a request are known before its handler
 * runs.
 */
#include "httpd.h"

/**
 * The insert_filter hooks, then the init functions of the filters on r's chains.
 * @return OK, or the status to die with
 */
int handler_prepare(request_rec *r);

/**
 * Run the handlers until one takes the request.
 * @return its result; an error status if none took it or the result is out of range
 */
int handler_run(request_rec *r);

/** Handlers count on r->handler: where the configuration names none it is the type, or
 * "default-handler". */
void handler_name(request_rec *r);

#endif
