/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_CONDITION_H
#define BRIGADE_HTTP_HTTP_CONDITION_H

/**
 * @file http_condition.h
 * The entity tag that conditions are compared with.
 */
#include "httpd.h"

/**
 * The tag with which the response is sent that has the head @a headers now, as filters that compress will have it; NULL: none.
 * Threads: the request's. Blocking: no.
 */
const char *http_condition_tag(request_rec *r, const apr_table_t *headers);

/** optional_fn_retrieve hook. Main thread. */
void http_condition_retrieve(void);

#endif
