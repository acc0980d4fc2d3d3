/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_CONDITION_H
#define BRIGADE_HTTP_HTTP_CONDITION_H

/**
 * @file http_condition.h
 * Conditions of requests, and the validators that they are compared with.
 */
#include "httpd.h"
#include "http_protocol.h"

/** The validators of a representation, and the conditions of the request. */
typedef struct http_validators {
    const char *tag;      /**< its entity tag; NULL: it has none */
    apr_time_t modified;  /**< when it changed last, in microseconds: whole seconds */
    apr_time_t now;       /**< the response's Date, or else the time of the request; as modified */
    unsigned ranged : 1;  /**< the request has Range */
    unsigned no_read : 1; /**< it is neither GET nor HEAD */
} http_validators;

/**
 * @name The field's value against the validators. Source: RFC 9110, 13.1.2, 13.1.3 and 13.1.5
 * Both ways of a request ask here: ap_condition_*() with tables, and the cache with heads. @a value ends with a NUL.
 * Threads: any. Blocking: no.
 */
/** @{ */
ap_condition_e http_if_none_match(const http_validators *v, const char *value);
ap_condition_e http_if_modified_since(const http_validators *v, const char *value);
/** Of a request with Range. */
ap_condition_e http_if_range(const http_validators *v, const char *value);
/** @} */

/**
 * The tag with which the response is sent that has the head @a headers now, as filters that compress will have it; NULL: none.
 * Threads: the request's. Blocking: no.
 */
const char *http_condition_tag(request_rec *r, const apr_table_t *headers);

/** optional_fn_retrieve hook. Main thread. */
void http_condition_retrieve(void);

#endif
