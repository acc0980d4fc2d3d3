/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_TRAILERS_H
#define BRIGADE_H1_H1_TRAILERS_H

/**
 * @file h1_trailers.h
 * The trailer section of a chunked request body (RFC 9112, 7.1.2): fields that come after the last chunk. They go to
 * r->trailers_in and, with MergeTrailers, to r->headers_in; no field that says how the message is read goes there.
 */
#include "httpd.h"
#include "http_head.h"

/** A trailer section that is being read. All zero: nothing came. Its memory is the request's. */
typedef struct h1_trailers {
    char *line; /**< a line that is not complete */
    apr_size_t line_len, line_cap;
    int lines;           /**< that are complete */
    apr_size_t bytes;    /**< of them */
    apr_table_t *fields; /**< as they came; merged at the end */
} h1_trailers;

/**
 * Take a piece of at most one line.
 *
 * @param done  [out] 1: that was the empty line at the end, and @a r has the fields; else untouched
 * @return NULL, or the section's error, for the log: the body cannot be read any further
 * Threads: the request's. Blocking: no.
 */
const char *h1_trailers_feed(h1_trailers *t, request_rec *r, const char *data, apr_size_t len,
                             int *done);

/**
 * A whole section that came as fields, each of which may be one.
 * @return as h1_trailers_feed()
 */
const char *h1_trailers_take(h1_trailers *t, request_rec *r, const http_field *field, int n);

#endif
