/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_SCRIPT_VARS_H
#define BRIGADE_HTTP_SCRIPT_VARS_H

/**
 * @file script_vars.h
 * The environment of a script that another server runs.
 */
#include "httpd.h"

/** The note of a request that has REQUEST_URI of its own, in place of the client's target. */
#define SCRIPT_URI_NOTE "script-request-uri"

/** ap_add_common_vars() and ap_add_cgi_vars() in one, with the same result. Threads: the request's. Blocking: as these. */
void script_add_all(request_rec *r);

#endif
