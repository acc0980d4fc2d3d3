/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_RESPONSE_H
#define BRIGADE_HTTP_HTTP_RESPONSE_H

/**
 * @file http_response.h
 * The head of a response in the tables of its request_rec, as each version of HTTP needs it: the filter of a protocol
 * that writes heads calls http_response_merge(), decides about the connection and the framing of the body, then calls
 * http_response_fields() and http_response_is_sendable(), and gives the tables its own form.
 *
 * Threads: r's. Blocking: no.
 */
#include "httpd.h"
#include <stddef.h>
#include <stdint.h>

/**
 * Put err_headers_out over headers_out, drop a status line that does not fit r->status, and name each field in Vary
 * once. May set the environment variable force-response-1.0.
 */
void http_response_merge(request_rec *r);

/**
 * Set the fields that tell of the body: Content-Type, Content-Encoding, Content-Language, Expires. Takes away a
 * Content-Length that the response may not have. Fields that frame the body are the protocol's.
 */
void http_response_fields(request_rec *r);

/** A status line that a module has set must begin with r->status and have no control bytes, or is dropped. */
void http_response_fix_status_line(request_rec *r);

/** The charset of AddDefaultCharset for @a r, as long as its configuration; NULL: none is added. */
const char *http_default_charset(const request_rec *r);

/** 1 if such a charset is added to @a type. Threads: any. */
int http_type_wants_charset(const char *type);

/** 1 if @a name is in @a fields once, with this value: then it need not be set. Threads: any. Blocking: no. */
int http_field_says(const apr_table_t *fields, const char *name, const char *value);

#define HTTP_LENGTHS_KEPT 24 /**< of fields behind these only the sum is kept */

/** How long the fields of a table are, in its order. Its user's; n is to be -1 before. */
typedef struct http_lengths {
    int n;      /**< fields that were measured; as long as the table has so many, it is unchanged */
    size_t all; /**< bytes of all names and values */
    /** Places of the first Date and Server, which stand in front of the others; -1: none. */
    int date, server;
    int more; /**< there is a second one of them */
    struct {
        uint32_t name, value;
    } field[HTTP_LENGTHS_KEPT];
} http_lengths;

/** Measure @a fields. Threads: any. Blocking: no. */
void http_lengths_of(const apr_table_t *fields, http_lengths *lengths);

/**
 * 1 if the response may leave: its status is final, and all names and values are such that they cannot split it.
 * Else the error log says why.
 * @param lengths  [out] of r->headers_out, where 1 is returned
 */
int http_response_is_sendable(request_rec *r, http_lengths *lengths);

/** The request that the client sent: of sub-requests and internal redirects, the origin of @a r. */
request_rec *http_original_request(request_rec *r);

/** 1 if the framing of @a r says that a body follows its head, whatever the method is. */
int http_body_follows(const request_rec *r);

/** LimitRequestBody as it holds for @a r: bytes, 0: none. The server that a request is handed on to has limits of its own. */
apr_off_t http_body_limit(const request_rec *r);

/** 413 if the body of @a r is announced as longer than that, which is logged; else OK. */
int http_body_announced(request_rec *r);

#endif
