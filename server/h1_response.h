/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_RESPONSE_H
#define BRIGADE_H1_RESPONSE_H

/**
 * @file h1_response.h
 * Response heads: how a request_rec's status and header tables become bytes (h1_head_format.c),
 * what the HTTP_HEADER filter does before that (h1_response.c), and the parts that a remembered
 * answer is patched with.
 */
#include "httpd.h"
#include "util_filter.h"
#include <stddef.h>

#define H1_DATE_LEN 29 /**< "Sun, 06 Nov 1994 08:49:37 GMT" */

/**
 * The Date value for @a now, formatted once a second per thread.
 * @return H1_DATE_LEN bytes, NUL-terminated, valid until the calling thread's next call
 */
const char *h1_date_now(apr_time_t now);

/** Where the parts of a formatted head that change from answer to answer lie. Offsets in bytes. */
typedef struct h1_head_marks {
    size_t date_off; /**< the H1_DATE_LEN bytes of the Date value; 0 = the head has a Date of its
                        own */
    size_t conn_off; /**< where h1_format_connection()'s lines belong */
} h1_head_marks;

/**
 * Write the head of r's final response: status line, Date, Server, headers_out in order, blank
 * line. headers_out is taken as it is; the HTTP_HEADER filter has merged and completed it by then.
 *
 * @param buf   [out] where to
 * @param cap   [in]  room, bytes
 * @param marks [out] NULL: everything is written. Else Connection and Keep-Alive fields are left
 * out and the marks set, for a head that is remembered and patched.
 * @return length; 0 = does not fit
 * Threads: r's. Blocking: no.
 */
size_t h1_format_head(const request_rec *r, char *buf, size_t cap, h1_head_marks *marks);

/** An upper bound of what h1_format_head() writes. */
size_t h1_head_size(const request_rec *r);

/**
 * The Keep-Alive and Connection lines as Apache sends them, for the conn_off of a remembered head.
 *
 * @param buf        room for H1_CONNECTION_MAX bytes
 * @param close      the connection ends after this answer
 * @param asked      the request named keep-alive in Connection (then the answer tells its terms)
 * @param timeout_s  KeepAliveTimeout, seconds
 * @param left       requests still allowed on this connection after this one's predecessors;
 * negative = no limit
 * @return length, may be 0
 */
size_t h1_format_connection(char *buf, int close, int asked, long timeout_s, int left);
#define H1_CONNECTION_MAX 96

/** Decimal digits of n into buf (at least 20 bytes), not terminated. @return how many */
size_t h1_format_number(char *buf, apr_uint64_t n);

/** 1 if name is a token and value has no control bytes: safe to send. */
int h1_header_is_safe(const char *name, const char *value);

/**
 * For the CHUNK filter: the response head that leads the first brigade and must not be chunked.
 * @param head  the bucket; compared by address only
 */
void h1_chunk_insert(request_rec *r, const apr_bucket *head);

#endif
