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

/** Names that are compared with each other, to find those that are there twice. Of more the list is put in order. */
#define SCRIPT_COMPARED 32

/**
 * The name of the variable that a request field becomes: HTTP_ and the field's own, in most cases.
 * @param to           room for @a len + 5 bytes, without a NUL
 * @param credentials  fields with passwords become one, too
 * @return its length; 0: it becomes none
 * Threads: any. Blocking: no.
 */
size_t script_variable_name(char *to, const char *field, size_t len, int credentials);

/** CGIPassAuth. Threads: the request's. */
int script_passes_credentials(const request_rec *r);

#endif
